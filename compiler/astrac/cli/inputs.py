"""Commands on ASTRA-sim's own files: fix, decode, encode, diff, import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.cli.shared import Command, declare_format, read, report, shown, writing

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _declare_fix(parser: ArgumentParser) -> None:
    from astrac.simulators.table import words

    parser.add_argument("files", nargs="+", metavar="FILE", help="text files of ASTRA-sim's")
    parser.add_argument("--kind", choices=words(), help="what the files are (default: what is in them tells)")
    parser.add_argument("--diff", action="store_true", help="show what would change and write nothing; status 1 if any")


def _run_fix(options: Namespace) -> int:
    from astrac.api import converting

    status = 0
    for path in options.files:
        result = converting.mend(path, options.kind)
        report(result.diagnostics)
        mended = result.value
        if mended is None:
            status = 1
        elif mended.before != mended.after:
            sys.stdout.write(mended.difference)
            if options.diff:
                status = 1
            else:
                with writing(path):
                    mended.write()
    return status


def _declare_decode(parser: ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a Chakra trace (.et)")
    declare_format(parser, "jsonl", "text")


def _run_decode(options: Namespace) -> int:
    from astrac.api import converting

    result = converting.decode(options.trace, options.format)
    report(result.diagnostics)
    for line in result.value or ():
        print(line)
    return int(result.value is None)


def _declare_encode(parser: ArgumentParser) -> None:
    parser.add_argument("lines", metavar="FILE", help="JSON lines as `decode` writes them, or - for standard input")
    parser.add_argument("-o", "--output", metavar="TRACE", required=True, help="the trace to write")


def _run_encode(options: Namespace) -> int:
    from astrac.api import converting

    text = read(options.lines).decode("utf-8", "replace")
    result = converting.encode(shown(options.lines), iter(text.splitlines()))
    report(result.diagnostics)
    if result.value is None:
        return 1
    with writing(options.output):
        Path(options.output).write_bytes(result.value)
    return 0


def _declare_diff(parser: ArgumentParser) -> None:
    parser.add_argument("one", metavar="A", help="a bundle's folder")
    parser.add_argument("other", metavar="B", help="another")


def _run_diff(options: Namespace) -> int:
    from astrac.api import converting

    result = converting.differences(options.one, options.other)
    report(result.diagnostics)
    if result.value is None:
        return 2
    for line in result.value:
        print(line)
    return int(bool(result.value))


def _declare_import(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a bundle of ASTRA-sim 2.x, or the three files of 1.0")
    parser.add_argument("-o", "--output", metavar="SPEC", help="the spec to write (default: standard output)")


def _run_import(options: Namespace) -> int:
    from astrac.api import converting

    result = converting.import_bundle(options.folder)
    report(result.diagnostics)
    if result.value is None:
        return 1
    if options.output is None:
        sys.stdout.write(result.value)
    else:
        with writing(options.output), Path(options.output).open("x", encoding="utf-8", newline="\n") as file:
            file.write(result.value)
    return 0


COMMANDS = {
    "fix": Command(
        "mend what has one right answer in ASTRA-sim's own files, showing what changes",
        "astrac fix network.yml system.json",
        _declare_fix,
        _run_fix,
    ),
    "decode": Command(
        "show a Chakra trace, as JSON lines that `encode` takes or as text",
        "astrac decode workload/resnet50.0.et --format text",
        _declare_decode,
        _run_decode,
    ),
    "encode": Command(
        "make a Chakra trace of JSON lines",
        "astrac encode trace.jsonl -o trace.0.et",
        _declare_encode,
        _run_encode,
    ),
    "diff": Command(
        "tell what is different between two bundles in the simulator's eyes; status 1 if anything is",
        "astrac diff out/before out/after",
        _declare_diff,
        _run_diff,
    ),
    "import": Command(
        "make a spec of a bundle: one that builds the same network, system and memory",
        "astrac import hand_written/ -o machine.astra",
        _declare_import,
        _run_import,
    ),
}
