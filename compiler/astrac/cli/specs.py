"""Commands on specs: check, build, estimate, fmt."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api import checking
from astrac.cli.shared import (
    STANDARD_INPUT,
    Command,
    Usage,
    declare_format,
    declare_variant,
    read,
    report,
    shown,
    specs,
    specs_below,
    told,
    variant,
)
from astrac.diagnostics import Diagnostic, has_errors
from astrac.render import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from astrac.api.estimating import Estimated


# -- check


def _declare_check(parser: ArgumentParser) -> None:
    from astrac.simulators.table import backends, words

    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="specs, ASTRA-sim's own files, traces, folders of any of them, or - for a spec on standard input",
    )
    parser.add_argument("--kind", choices=words(), help="what the files are (default: what is in them tells)")
    parser.add_argument("--backend", choices=backends(), help="that ASTRA-sim's files are for")
    parser.add_argument(
        "--inputs", action="store_true", help="pass over files that are not ASTRA-sim's (for hooks that get all files)"
    )
    parser.add_argument(
        "--bundles",
        action="store_true",
        help="compile the specs of bundles again and compare: FILE is a file of a bundle, or a spec",
    )
    declare_variant(parser)
    declare_format(parser, *FORMATS)
    parser.add_argument("--print", action="store_true", help="show the elaborated document, all defaults filled in")


def _run_check(options: Namespace) -> int:
    if options.bundles:
        from astrac.api import rebuilding

        bundles, stale = rebuilding.stale(options.files)
        return told(stale, options.format, f"{bundles} bundle{'' if bundles == 1 else 's'}")
    findings: list[Diagnostic] = []
    files = 0
    for path in options.files:
        specs, others = _sorted_out(path, options)
        files += len(specs)
        for spec in specs:
            findings += _check_spec(shown(spec), read(spec), options)
        if others:
            from astrac.api import guarding

            guarded = guarding.check(path, options.kind, options.backend, only_inputs=options.inputs)
            files += guarded.files
            findings += guarded.diagnostics
            if not guarded.files and not specs and not options.inputs:
                raise Usage(f"no file of ours or of ASTRA-sim's below {path}")
    what = f"{files} file{'' if files == 1 else 's'}"
    return told(findings, options.format, "" if options.print else what)


def _check_spec(name: str, data: bytes, options: Namespace) -> list[Diagnostic]:
    """Findings of a spec under the profile that is asked for, or bare and under each of its own."""
    from astrac.language.document import to_json

    chosen = variant(options)
    others = () if chosen.profile or b"profile" not in data else checking.profiles(name, data)
    findings: list[Diagnostic] = []
    for profile in (chosen.profile, *others):
        result = checking.check(name, data, replace(chosen, profile=profile))
        points = result.value or ()
        findings += [*result.diagnostics, *(finding for point in points for finding in point.diagnostics)]
        if options.print and profile == chosen.profile:
            for point in points:
                print(to_json(point.document.tree))
    return findings


def _sorted_out(path: str, options: Namespace) -> tuple[list[str], bool]:
    """The specs that a path means, and whether it means files of ASTRA-sim's: a folder stands for all below it."""
    if path == STANDARD_INPUT:
        return [path], False
    if Path(path).is_dir():
        return ([] if options.kind else specs_below(path)), True
    if not Path(path).exists() and not path.startswith("std/"):
        raise Usage(f"cannot read {path}: no such file or directory")
    is_spec = not options.kind and path.endswith(".astra")
    return ([path], False) if is_spec else ([], True)


# -- build


def _declare_build(parser: ArgumentParser) -> None:
    from astrac.simulators.table import targets

    parser.add_argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input")
    parser.add_argument("-o", "--output", metavar="DIR", help="the bundle's folder (default: out/NAME)")
    parser.add_argument(
        "--target",
        choices=targets(),
        action="append",
        default=[],
        help="only this simulator (default: all that can)",
    )
    parser.add_argument(
        "--copy", action="store_true", help="write equal traces as files of their own, not as hard links"
    )
    parser.add_argument("--strict", action="store_true", help="an ONNX operator that is not known is an error")
    declare_variant(parser)


def _run_build(options: Namespace) -> int:
    from astrac.api import compiling, showing

    name = "stdin" if options.spec == STANDARD_INPUT else Path(options.spec).name.removesuffix(".astra")
    top = Path(options.output or Path("out") / name)
    status = 0
    built: set[Path] = set()
    chosen = variant(options, tuple(options.target))
    for result in compiling.compile_data(shown(options.spec), read(options.spec), chosen):
        report(result.diagnostics)
        if result.value is None or has_errors(result.diagnostics):
            status = 1
            continue
        folder = top / result.value.name if result.value.name else top
        print(showing.announcement(result.value, str(folder)))
        progress = _progress(result.value.bundle.bytes)
        written = compiling.write(result.value, folder, copy=options.copy, progress=progress)
        report(written.diagnostics)
        status |= int(written.value is None)
        if written.value is not None:
            print(showing.summary(result.value, str(folder)))
            built.add(folder)
    if built and not status:
        _tell_leftovers(top, built)
    return status


def _progress(total: int) -> Callable[[int], None] | None:
    """A bar on a terminal, for bundles that take a while; nothing elsewhere."""
    if not sys.stderr.isatty() or total < SLOW_BYTES:
        return None
    done = 0

    def show(count: int) -> None:
        nonlocal done
        before, done = done * BAR // total, done + count
        filled = min(BAR, done * BAR // total)
        if filled > before:
            end = "\n" if filled == BAR else ""
            print(f"\rwriting     [{'#' * filled}{'.' * (BAR - filled)}]", end=end, file=sys.stderr, flush=True)

    return show


SLOW_BYTES = 50_000_000
BAR = 40


def _tell_leftovers(top: Path, built: set[Path]) -> None:
    """Bundles of points that the sweep no longer has, and one of a time before it: they are not ours to remove."""
    candidates = [top, *(folder for folder in sorted(top.iterdir()) if folder.is_dir())]
    for folder in candidates:
        if folder not in built and (folder / "manifest.json").exists():
            print(f"left over   {folder}: from an earlier build, remove it if it is not wanted", file=sys.stderr)


# -- estimate


def _declare_estimate(parser: ArgumentParser) -> None:
    from astrac.simulators.table import backends

    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="specs (- for standard input), or folders with a bundle, ours or anybody's; or, instead, ASTRA-sim's own "
        "options: --network-configuration F --system-configuration F --workload-configuration PREFIX ...",
    )
    parser.add_argument("--backend", choices=backends(simulated=True), help="of ASTRA-sim 2.x")
    declare_variant(parser)
    declare_format(parser, "text", "json", "csv")


def _run_estimate(options: Namespace) -> int:
    from astrac.api import estimating, showing

    if bool(options.paths) == bool(options.simulator):
        raise Usage("give paths, or ASTRA-sim's own options")
    found = [entry for path in options.paths for entry in _estimated(path, options)]
    if options.simulator:
        found.append(estimating.estimate_arguments(options.simulator, options.backend))
    for entry in found:
        report(entry.diagnostics)
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
    chosen = variant(options)
    chosen = replace(chosen, settings=(*chosen.settings, *settings))
    return estimating.estimate_spec(shown(path), read(path), chosen)


# -- fmt


def _declare_fmt(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="specs, folders of them, or - for standard input")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; show what would change")


def _run_fmt(options: Namespace) -> int:
    status = 0
    for path in specs(options.files):
        data = read(path)
        result = checking.reformat(shown(path), data)
        report(result.diagnostics)
        if result.value is None:
            status = 1
            continue
        if options.diff:
            sys.stdout.write(checking.difference(shown(path), data, result.value))
        elif path == STANDARD_INPUT and not options.check:
            sys.stdout.write(result.value)
        changes = data != result.value.encode()
        if changes and options.check:
            print(f"{shown(path)} would change")
        elif changes and not options.diff and path != STANDARD_INPUT:
            Path(path).write_bytes(result.value.encode())
            print(f"{path} formatted")
        status |= int(changes and (options.check or options.diff))
    return status


COMMANDS = {
    "check": Command(
        "check specs, libraries of blocks, and ASTRA-sim's own files or bundles; writes nothing",
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
    "fmt": Command(
        "put specs into the one style; comments and meaning are kept",
        "astrac fmt --check specs/",
        _declare_fmt,
        _run_fmt,
    ),
}
