"""The command line: the only module that prints or exits.

Exit status: 0 clean (also with warnings), 1 errors in the input, 2 wrong use of the command.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from astrac.api import checking
from astrac.codes import CODES, Severity
from astrac.diagnostics import Diagnostic, has_errors
from astrac.render import FORMATS, render
from astrac.suggest import nearest
from astrac.version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from astrac.api.compiling import Compiled
    from astrac.api.estimating import Estimated
    from astrac.api.modelling import Layered
    from astrac.diagnostics import Result

STANDARD_INPUT = "-"


class Command(NamedTuple):
    """A row of COMMANDS: what it is for, an example, its arguments, and what runs it."""

    summary: str
    example: str
    declare: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


class Usage(Exception):  # noqa: N818 - ends the run with status 2
    """Wrong use of a command, found after the arguments were parsed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    parser = _parser()
    ours, simulators = _split(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(ours)
    options.simulator = simulators
    if options.command is None:
        parser.print_help()
        return 2
    try:
        status = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except Usage as error:
        print(f"astrac {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough (`astrac ... | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk, at `> FILE`: what is still buffered must not fail once more on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"astrac {options.command}: {where}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the simulator's own options (as `--option=value`), which `estimate` takes as they are."""
    ours: list[str] = []
    simulators: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        option, mark, value = argument.partition("=")
        if arguments[0] == "estimate" and option in SIMULATOR_OPTIONS:
            simulators.append(argument if mark else f"{option}={next(rest, value)}")
        else:
            ours.append(argument)
    return ours, simulators


SIMULATOR_OPTIONS = frozenset(
    {
        "--network-configuration",
        "--system-configuration",
        "--workload-configuration",
        "--remote-memory-configuration",
        "--comm-group-configuration",
        "--logging-configuration",
        "--logging-folder",
        "--num-queues-per-dim",
        "--num-passes",
        "--injection-scale",
        "--compute-scale",
        "--comm-scale",
        "--rendezvous-protocol",
    }
)
"""Of ASTRA-sim 2.x and 1.0."""


def _parser() -> ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="astrac",
        description="Compiles .astra specs into ASTRA-sim bundles, with an estimate that equals the simulator's.",
        epilog="`astrac COMMAND --help` shows an example of each.",
    )
    parser.add_argument("--version", action="version", version=f"astrac {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=f"example: {command.example}",
        )
        command.declare(sub)
    return parser


# -- arguments that several commands share


def _declare_variant(parser: ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME", help="lay the spec's profile NAME over it")
    parser.add_argument(
        "--set", metavar="PATH=VALUE", action="append", default=[], help="set a value, as in training.micro_batch=2"
    )
    parser.add_argument("--point", metavar="NAME", help="take one point of the sweep instead of all")


def _declare_format(parser: ArgumentParser, *choices: str) -> None:
    parser.add_argument("--format", choices=choices, default=choices[0], help="of the output (default: %(default)s)")


def _variant(options: Namespace, targets: tuple[str, ...] = ()) -> checking.Options:
    return checking.Options(
        profile=options.profile,
        settings=tuple(options.set),
        point=options.point,
        targets=targets,
        strict=getattr(options, "strict", False),
    )


def _read(path: str) -> bytes:
    """A file, or the standard input for `-`."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(checking.MAX_SPEC_BYTES + 1)
    try:
        return checking.read(path)
    except OSError as error:
        raise Usage(f"cannot read {path}: {(error.strerror or 'failed').lower()}") from None


def _shown(path: str) -> str:
    return "<stdin>" if path == STANDARD_INPUT else path


def _report(findings: Sequence[Diagnostic], form: str = "text", *, errors_to: str = "stderr") -> None:
    stream = sys.stdout if errors_to == "stdout" else sys.stderr
    colour = form == "text" and stream.isatty() and not os.environ.get("NO_COLOR")
    shown = render(findings, form, colour=colour)
    # What follows on a terminal (another report, a summary) stands apart.
    stream.write(f"{shown}\n" if shown and form == "text" and errors_to == "stderr" else shown)


# -- check


def _declare_check(parser: ArgumentParser) -> None:
    from astrac.api import kinds

    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="specs, ASTRA-sim's own files, traces, folders of any of them, or - for a spec on standard input",
    )
    parser.add_argument("--kind", choices=kinds.KINDS, help="what the files are (default: what is in them tells)")
    parser.add_argument("--backend", choices=kinds.BACKENDS, help="that ASTRA-sim's files are for")
    parser.add_argument(
        "--inputs", action="store_true", help="pass over files that are not ASTRA-sim's (for hooks that get all files)"
    )
    parser.add_argument(
        "--bundles",
        action="store_true",
        help="compile the specs of bundles again and compare: FILE is a file of a bundle, or a spec",
    )
    _declare_variant(parser)
    _declare_format(parser, *FORMATS)
    parser.add_argument("--print", action="store_true", help="show the elaborated document, all defaults filled in")


def _run_check(options: Namespace) -> int:
    if options.bundles:
        from astrac.api import rebuilding

        bundles, stale = rebuilding.stale(options.files)
        return _told(stale, options.format, f"{bundles} bundle{'' if bundles == 1 else 's'}")
    findings: list[Diagnostic] = []
    files = 0
    for path in options.files:
        specs, others = _sorted_out(path, options)
        files += len(specs)
        for spec in specs:
            findings += _check_spec(_shown(spec), _read(spec), options)
        if others:
            from astrac.api import guarding

            guarded = guarding.check(path, options.kind, options.backend, only_inputs=options.inputs)
            files += guarded.files
            findings += guarded.diagnostics
            if not guarded.files and not specs and not options.inputs:
                raise Usage(f"no file of ours or of ASTRA-sim's below {path}")
    what = f"{files} file{'' if files == 1 else 's'}"
    return _told(findings, options.format, "" if options.print else what)


def _check_spec(name: str, data: bytes, options: Namespace) -> list[Diagnostic]:
    """Findings of a spec under the profile that is asked for, or bare and under each of its own."""
    from astrac.document import to_json

    variant = _variant(options)
    others = () if variant.profile or b"profile" not in data else checking.profiles(name, data)
    findings: list[Diagnostic] = []
    for profile in (variant.profile, *others):
        result = checking.check(name, data, replace(variant, profile=profile))
        points = result.value or ()
        findings += [*result.diagnostics, *(finding for point in points for finding in point.diagnostics)]
        if options.print and profile == variant.profile:
            for point in points:
                print(to_json(point.document.tree))
    return findings


def _told(findings: Sequence[Diagnostic], form: str, what: str) -> int:
    """Findings on the standard output and how many there are in what; the exit status."""
    _report(findings, form, errors_to="stdout")
    if form == "text" and what:
        print(("\n" if findings else "") + _verdict(findings, what))
    return int(has_errors(findings))


def _sorted_out(path: str, options: Namespace) -> tuple[list[str], bool]:
    """The specs that a path means, and whether it means files of ASTRA-sim's: a folder stands for all below it."""
    if path == STANDARD_INPUT:
        return [path], False
    if Path(path).is_dir():
        return (
            [] if options.kind else sorted(str(file) for file in Path(path).rglob("*.astra") if file.is_file())
        ), True
    if not Path(path).exists() and not path.startswith("std/"):
        raise Usage(f"cannot read {path}: no such file or directory")
    is_spec = not options.kind and path.endswith(".astra")
    return ([path], False) if is_spec else ([], True)


def _specs(paths: Iterable[str]) -> Iterator[str]:
    """The files that are meant: folders stand for all `.astra` files below them."""
    for path in paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            found = sorted(str(file) for file in Path(path).rglob("*.astra") if file.is_file())
            if not found:
                raise Usage(f"no .astra file below {path}")
            yield from found
        else:
            yield path


def _verdict(findings: Sequence[Diagnostic], what: str) -> str:
    counts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for word in ("error", "warning")
        if (count := sum(finding.severity is Severity(word) for finding in dict.fromkeys(findings)))
    ]
    return f"{what}: {', '.join(counts) if counts else 'clean'}"


# -- build


def _declare_build(parser: ArgumentParser) -> None:
    from astrac.targets import TARGETS

    parser.add_argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input")
    parser.add_argument("-o", "--output", metavar="DIR", help="the bundle's folder (default: out/NAME)")
    parser.add_argument(
        "--target",
        choices=sorted(TARGETS),
        action="append",
        default=[],
        help="only this simulator (default: all that can)",
    )
    parser.add_argument(
        "--copy", action="store_true", help="write equal traces as files of their own, not as hard links"
    )
    parser.add_argument("--strict", action="store_true", help="an ONNX operator that is not known is an error")
    _declare_variant(parser)


def _run_build(options: Namespace) -> int:
    from astrac.api import compiling, showing

    name = "stdin" if options.spec == STANDARD_INPUT else Path(options.spec).name.removesuffix(".astra")
    top = Path(options.output or Path("out") / name)
    status = 0
    for result in _compiled(options.spec, _variant(options, tuple(options.target))):
        _report(result.diagnostics)
        if result.value is None or has_errors(result.diagnostics):
            status = 1
            continue
        folder = top / result.value.name if result.value.name else top
        print(showing.announcement(result.value, str(folder)))
        written = compiling.write(result.value, folder, copy=options.copy)
        _report(written.diagnostics)
        status |= int(written.value is None)
        if written.value is not None:
            print(showing.summary(result.value, str(folder)))
    return status


def _compiled(path: str, options: checking.Options) -> tuple[Result[Compiled], ...]:
    from astrac.api import compiling

    return compiling.compile_data(_shown(path), _read(path), options)


# -- estimate


def _declare_estimate(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="specs (- for standard input), or folders with a bundle, ours or anybody's; or, instead, ASTRA-sim's own "
        "options: --network-configuration F --system-configuration F --workload-configuration PREFIX ...",
    )
    parser.add_argument("--backend", choices=("congestion_unaware", "congestion_aware"), help="of ASTRA-sim 2.x")
    _declare_variant(parser)
    _declare_format(parser, "text", "json", "csv")


def _run_estimate(options: Namespace) -> int:
    from astrac.api import estimating, showing

    if bool(options.paths) == bool(options.simulator):
        raise Usage("give paths, or ASTRA-sim's own options")
    found = [entry for path in options.paths for entry in _estimated(path, options)]
    if options.simulator:
        found.append(estimating.estimate_arguments(options.simulator, options.backend))
    for entry in found:
        _report(entry.diagnostics)
    if options.format == "csv":
        sys.stdout.write(showing.estimates_csv(found))
    elif options.format == "json":
        sys.stdout.write(estimating.as_json(found))
    else:
        sys.stdout.write(showing.reports(found))
    return int(any(entry.estimate is None or entry.estimate.fails is not None for entry in found))


def _estimated(path: str, options: Namespace) -> tuple[Estimated, ...]:
    from astrac.api import estimating

    if path != STANDARD_INPUT and Path(path).is_dir():
        return tuple(estimating.estimate_folder(folder, options.backend) for folder in estimating.folders(path))
    settings = [f"system.backend={options.backend}"] if options.backend else []
    variant = _variant(options)
    variant = replace(variant, settings=(*variant.settings, *settings))
    return estimating.estimate_spec(_shown(path), _read(path), variant)


# -- layers


def _declare_layers(parser: ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="an ONNX file, zoo:NAME, or a .astra spec")
    parser.add_argument(
        "--weights-only", action="store_true", help="only layers with a matrix or kernel, without biases"
    )
    parser.add_argument("--all", action="store_true", help="also layers without weights and MACs")
    parser.add_argument("--batch", type=_positive, metavar="N", help="samples (default: the file's, or 1)")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="NAME=VALUE", help="value of a symbolic dimension"
    )
    parser.add_argument("--tie", action="append", default=[], metavar="A=B", help="two weights that are one tensor")
    parser.add_argument("--strict", action="store_true", help="an operator that is not known is an error")
    parser.add_argument("--compare", action="store_true", help="show two models side by side")
    _declare_variant(parser)
    _declare_format(parser, "text", "csv", "json")


def _positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1")
    return value


def _pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    pairs = [(left, right) for left, _, right in (text.partition("=") for text in texts)]
    for left, right in pairs:
        if not left or not right:
            raise Usage(f"{option} takes A=B, not `{left}`")
    return pairs


def _run_layers(options: Namespace) -> int:
    from astrac.layers import table

    if options.compare != (len(options.models) == 2):
        raise Usage("--compare takes two models, and only --compare takes two")
    found = []
    for path in options.models:
        result = _layers(path, options)
        _report(result.diagnostics)
        if result.value is None or has_errors(result.diagnostics):
            return 1
        found.append(result.value)
    if options.compare:
        sys.stdout.write(table.compare(*(layered.model for layered in found)))
        return 0
    rows = {"weights_only": options.weights_only, "all_rows": options.all}
    sys.stdout.write(table.render(found[0].model, options.format, **rows, widths=found[0].widths))
    return 0


def _layers(path: str, options: Namespace) -> Result[Layered]:
    from astrac.api import modelling

    if path != STANDARD_INPUT and not path.endswith(".astra"):
        return modelling.layers_of_file(
            path,
            batch=options.batch,
            bind={name: _whole(value, f"--bind {name}") for name, value in _pairs(options.bind, "--bind")},
            ties=_pairs(options.tie, "--tie"),
            strict=options.strict,
        )
    if options.batch or options.bind or options.tie:
        raise Usage("a spec says batch, bindings and ties itself: `training.micro_batch`, `model { bind, tie }`")
    return modelling.layers_of_spec(_shown(path), _read(path), _variant(options))


def _whole(text: str, option: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Usage(f"{option} takes a whole number, not `{text}`")
    return int(text)


# -- fmt


def _declare_fmt(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="specs, folders of them, or - for standard input")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; show what would change")


def _run_fmt(options: Namespace) -> int:
    status = 0
    for path in _specs(options.files):
        data = _read(path)
        result = checking.reformat(_shown(path), data)
        _report(result.diagnostics)
        if result.value is None:
            status = 1
            continue
        if options.diff:
            sys.stdout.write(checking.difference(_shown(path), data, result.value))
        elif path == STANDARD_INPUT and not options.check:
            sys.stdout.write(result.value)
        changes = data != result.value.encode()
        if changes and options.check:
            print(f"{_shown(path)} would change")
        elif changes and not options.diff and path != STANDARD_INPUT:
            Path(path).write_bytes(result.value.encode())
            print(f"{path} formatted")
        status |= int(changes and (options.check or options.diff))
    return status


# -- ASTRA-sim's own files: fix, decode, encode, diff, import


def _declare_fix(parser: ArgumentParser) -> None:
    from astrac.api import kinds

    parser.add_argument("files", nargs="+", metavar="FILE", help="text files of ASTRA-sim's")
    parser.add_argument("--kind", choices=kinds.KINDS, help="what the files are (default: what is in them tells)")
    parser.add_argument("--diff", action="store_true", help="show what would change and write nothing; status 1 if any")


def _run_fix(options: Namespace) -> int:
    from astrac.api import converting

    status = 0
    for path in options.files:
        result = converting.mend(path, options.kind)
        _report(result.diagnostics)
        mended = result.value
        if mended is None:
            status = 1
        elif mended.before != mended.after:
            sys.stdout.write(mended.difference)
            if options.diff:
                status = 1
            else:
                try:
                    mended.write()
                except OSError as error:
                    raise Usage(f"cannot write {path}: {(error.strerror or 'failed').lower()}") from None
    return status


def _declare_decode(parser: ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a Chakra trace (.et)")
    _declare_format(parser, "jsonl", "text")


def _run_decode(options: Namespace) -> int:
    from astrac.api import converting

    result = converting.decode(options.trace, options.format)
    _report(result.diagnostics)
    for line in result.value or ():
        print(line)
    return int(result.value is None)


def _declare_encode(parser: ArgumentParser) -> None:
    parser.add_argument("lines", metavar="FILE", help="JSON lines as `decode` writes them, or - for standard input")
    parser.add_argument("-o", "--output", metavar="TRACE", required=True, help="the trace to write")


def _run_encode(options: Namespace) -> int:
    from astrac.api import converting

    text = _read(options.lines).decode("utf-8", "replace")
    result = converting.encode(_shown(options.lines), iter(text.splitlines()))
    _report(result.diagnostics)
    if result.value is None:
        return 1
    try:
        Path(options.output).write_bytes(result.value)
    except OSError as error:
        raise Usage(f"cannot write {options.output}: {(error.strerror or 'failed').lower()}") from None
    return 0


def _declare_diff(parser: ArgumentParser) -> None:
    parser.add_argument("one", metavar="A", help="a bundle's folder")
    parser.add_argument("other", metavar="B", help="another")


def _run_diff(options: Namespace) -> int:
    from astrac.api import converting

    result = converting.differences(options.one, options.other)
    _report(result.diagnostics)
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
    _report(result.diagnostics)
    if result.value is None:
        return 1
    if options.output is None:
        sys.stdout.write(result.value)
        return 0
    try:
        with Path(options.output).open("x", encoding="utf-8", newline="\n") as file:
            file.write(result.value)
    except FileExistsError:
        raise Usage(f"{options.output} exists already: remove it first, or choose another name") from None
    except OSError as error:
        raise Usage(f"cannot write {options.output}: {(error.strerror or 'failed').lower()}") from None
    return 0


# -- explain, docs


def _declare_explain(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as AS301")
    parser.add_argument("--list", action="store_true", help="all codes, a line each")


def _run_explain(options: Namespace) -> int:
    if options.list or options.code is None:
        for code in CODES.values():
            print(f"{code.code}  {code.severity.value:<8} {code.title}")
        return 0
    wanted = options.code.upper()
    if wanted not in CODES:
        guess = nearest(wanted, CODES, 0.7)
        raise Usage(f"no code `{options.code}`" + (f", did you mean `{guess}`?" if guess else "; `--list` shows all"))
    from astrac.api import showing

    sys.stdout.write(showing.page(wanted))
    return 0


def _declare_docs(parser: ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="compare instead of writing; status 1 when one differs")


def _run_docs(options: Namespace) -> int:
    from astrac.api import references

    stale = references.stale_references()
    for path in stale:
        print(f"{path} is {'not what the schemas say: run `astrac docs`' if options.check else 'written anew'}")
    if not options.check:
        references.write_references()
    return int(options.check and bool(stale))


COMMANDS: dict[str, Command] = {
    "check": Command(
        "check specs and libraries of blocks, without reading a model and without writing anything",
        "astrac check specs/",
        _declare_check,
        _run_check,
    ),
    "build": Command(
        "compile a spec into a bundle that ASTRA-sim runs",
        "astrac build specs/resnet50_ring.astra -o out/resnet50",
        _declare_build,
        _run_build,
    ),
    "estimate": Command(
        "tell how long a training step takes, and why, without simulating",
        "astrac estimate specs/resnet50_ring.astra --set ring8.nvlink.bandwidth='100 GB/s'",
        _declare_estimate,
        _run_estimate,
    ),
    "layers": Command(
        "show the layers of an ONNX model or of a spec's model: parameters, bytes, multiply-accumulates",
        "astrac layers zoo:resnet50 --weights-only --format csv",
        _declare_layers,
        _run_layers,
    ),
    "fmt": Command(
        "put specs into the one style; comments and meaning are kept",
        "astrac fmt --check specs/",
        _declare_fmt,
        _run_fmt,
    ),
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
    "explain": Command("show the page of a diagnostic's code", "astrac explain AS301", _declare_explain, _run_explain),
    "docs": Command("write the generated references of a checkout", "astrac docs --check", _declare_docs, _run_docs),
}
