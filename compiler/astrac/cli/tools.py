"""Commands on ASTRA-sim's own files: fix, decode, encode, diff, import; and on what is written: explain, docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.cli.shared import KIND, Usage, argument, command, flag, output_format, read, report, shown, writing
from astrac.cli.streams import document
from astrac.codes import CODES
from astrac.diagnostics import has_errors
from astrac.suggest import nearest

if TYPE_CHECKING:
    from argparse import Namespace


@command(
    "astrac fix network.yml system.json",
    argument("files", nargs="+", metavar="FILE", help="text files of ASTRA-sim's, or folders of them"),
    KIND,
    flag("--diff", "show what would change and write nothing; status 1 if any"),
)
def fix(options: Namespace) -> int:
    """Mend what has one right answer in ASTRA-sim's own files, showing what changes."""
    from astrac.api import converting

    status = 0
    for given in options.files:
        texts, unread = converting.texts_of(given)
        report(unread)
        status |= int(has_errors(unread))
        for path, kind in texts or ():
            status |= _fix(path, options.kind or kind, only_shown=options.diff)
    return status


def _fix(path: str, kind: str | None, *, only_shown: bool) -> int:
    from astrac.api import converting

    result = converting.mend(path, kind)
    report(result.diagnostics)
    mended = result.value
    if mended is None:
        return 1
    if mended.before != mended.after:
        document(mended.difference)
        if only_shown:
            return 1
        with writing(path):
            Path(path).write_text(mended.after, encoding="utf-8", newline="")
    return 0


@command(
    "astrac decode workload/resnet50.0.et --format text",
    argument("trace", metavar="TRACE", help="a Chakra trace (.et)"),
    output_format("jsonl", "text"),
)
def decode(options: Namespace) -> int:
    """Show a Chakra trace, as JSON lines that `encode` takes or as text."""
    from astrac.api import converting

    result = converting.decode(options.trace, options.format)
    report(result.diagnostics)
    for line in result.value or ():
        print(line)
    return int(result.value is None)


@command(
    "astrac encode trace.jsonl -o trace.0.et",
    argument("lines", metavar="FILE", help="JSON lines as `decode` writes them, or - for standard input"),
    argument("-o", "--output", metavar="TRACE", required=True, help="the trace to write"),
)
def encode(options: Namespace) -> int:
    """Make a Chakra trace of JSON lines."""
    from astrac.api import converting

    text = read(options.lines).decode("utf-8", "replace")
    result = converting.encode(shown(options.lines), iter(text.splitlines()))
    report(result.diagnostics)
    if result.value is None:
        return 1
    with writing(options.output):
        Path(options.output).write_bytes(result.value)
    return 0


@command(
    "astrac diff out/before out/after",
    argument("one", metavar="A", help="a bundle's folder"),
    argument("other", metavar="B", help="another"),
)
def diff(options: Namespace) -> int:
    """Tell what is different between two bundles in the simulator's eyes; status 1 if anything is."""
    from astrac.api import converting

    result = converting.differences(options.one, options.other)
    report(result.diagnostics)
    if result.value is None:
        return 2
    for line in result.value:
        print(line)
    return int(bool(result.value))


@command(
    "astrac import hand_written/ -o machine.astra",
    argument("folder", metavar="DIR", help="a bundle of ASTRA-sim 2.x, or the three files of 1.0"),
    argument("-o", "--output", metavar="SPEC", help="the spec to write (default: standard output)"),
)
def import_(options: Namespace) -> int:
    """Make a spec of a bundle: one that builds the same network, system and memory."""
    from astrac.api import converting

    result = converting.import_bundle(options.folder)
    report(result.diagnostics)
    if result.value is None:
        return 1
    if options.output is None:
        document(result.value)
    else:
        with writing(options.output), Path(options.output).open("x", encoding="utf-8", newline="\n") as file:
            file.write(result.value)
    return 0


# -- what is written about astrac


@command(
    "astrac explain AS301",
    argument("code", nargs="?", metavar="CODE", help="such as AS301"),
    flag("--list", "all codes, a line each"),
)
def explain(options: Namespace) -> int:
    """Show the page of a diagnostic's code."""
    if options.list or options.code is None:
        for code in CODES.values():
            print(f"{code.code}  {code.severity.value:<8} {code.title}")
        return 0
    wanted = options.code.upper()
    if wanted not in CODES:
        guess = nearest(wanted, CODES, 0.7)
        raise Usage(f"no code `{options.code}`" + (f", did you mean `{guess}`?" if guess else "; `--list` shows all"))
    from textwrap import indent

    page = CODES[wanted]
    parts = [f"{page.code}: {page.title} ({page.severity.value})", page.what, page.why]
    if page.bad:
        bad, good = (indent(text.rstrip("\n"), "    ") for text in (page.bad, page.good))
        parts += [
            f"This is {'refused' if page.severity.value == 'error' else 'reported'}:",
            bad,
            "This is right:",
            good,
        ]
    sys.stdout.write("\n\n".join(parts) + "\n")
    return 0


@command("astrac docs --check", flag("--check", "compare instead of writing; status 1 when one differs"))
def docs(options: Namespace) -> int:
    """Write the generated references of a checkout."""
    from astrac import reference

    stale = reference.stale_references()
    for path in stale:
        print(f"{path} is {'not what the schemas say: run `astrac docs`' if options.check else 'written anew'}")
    if not options.check:
        reference.write_references()
    return int(options.check and bool(stale))
