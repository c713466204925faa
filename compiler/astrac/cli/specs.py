"""Commands on specs and their models: check, build, estimate, fmt, layers."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api import checking
from astrac.cli.shared import (
    KIND,
    STANDARD_INPUT,
    VARIANT,
    Usage,
    argument,
    command,
    counted,
    flag,
    output_format,
    read,
    report,
    shown,
    told,
    variant,
)
from astrac.diagnostics import has_errors
from astrac.render import FORMATS
from astrac.simulators.table import backends, named, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.api.compiling import Compiled
    from astrac.api.estimating import Estimated
    from astrac.api.modelling import Layered
    from astrac.diagnostics import Diagnostic, Result


def _specs_below(folder: str) -> list[str]:
    """All `.astra` files in a folder and in those below it, sorted."""
    return sorted(str(file) for file in Path(folder).rglob("*.astra") if file.is_file())


# -- check


@command(
    "astrac check specs/",
    argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="specs, ASTRA-sim's own files, traces, folders of any of them, or - for a spec on standard input",
    ),
    KIND,
    argument("--backend", choices=backends, help="that ASTRA-sim's files are for"),
    flag("--inputs", "pass over files that are not ASTRA-sim's (for hooks that get all files)"),
    flag("--bundles", "compile the specs of bundles again and compare: FILE is a file of a bundle, or a spec"),
    *VARIANT,
    output_format(*FORMATS),
    flag("--print", "show the elaborated document, all defaults filled in"),
)
def check(options: argparse.Namespace) -> int:
    """Check specs, libraries of blocks, and ASTRA-sim's own files or bundles; writes nothing."""
    if options.bundles:
        from astrac.api import rebuilding

        bundles, stale = rebuilding.stale(options.files)
        return told(stale, options.format, counted(bundles, "bundle"))
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
    return told(findings, options.format, "" if options.print else counted(files, "file"))


def _check_spec(name: str, data: bytes, options: argparse.Namespace) -> list[Diagnostic]:
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


def _sorted_out(path: str, options: argparse.Namespace) -> tuple[list[str], bool]:
    """The specs that a path means, and whether it means files of ASTRA-sim's: a folder stands for all below it."""
    if path == STANDARD_INPUT:
        return [path], False
    if Path(path).is_dir():
        return ([] if options.kind else _specs_below(path)), True
    if not Path(path).exists() and not path.startswith("std/"):
        raise Usage(f"cannot read {path}: no such file or directory")
    is_spec = not options.kind and path.endswith(".astra")
    return ([path], False) if is_spec else ([], True)


# -- build


@command(
    "astrac build specs/resnet50_ring.astra -o out/resnet50",
    argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input"),
    argument("-o", "--output", metavar="DIR", help="the bundle's folder (default: out/NAME)"),
    argument(
        "--target", choices=targets, action="append", default=[], help="only this simulator (default: all that can)"
    ),
    flag("--copy", "write equal traces as files of their own, not as hard links"),
    flag("--strict", "an ONNX operator that is not known is an error"),
    *VARIANT,
)
def build(options: argparse.Namespace) -> int:
    """Compile a spec into a bundle that ASTRA-sim runs."""
    from astrac.api import compiling

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
        folder = top / result.value.name
        _announce(result.value, folder)
        progress = _progress(result.value.bundle.bytes)
        written = compiling.write(result.value, folder, copy=options.copy, progress=progress)
        report(written.diagnostics)
        status |= int(written.value is None)
        if written.value is not None:
            _summarise(result.value, folder)
            built.add(folder)
    if built and not status:
        _tell_leftovers(top, built)
    return status


def _announce(compiled: Compiled, folder: Path) -> None:
    """One line before anything is written: where, how many files, how many bytes."""
    from astrac.figures import size

    files = f"{compiled.bundle.files - 1:,} files for {compiled.estimate.npus:,} ranks"  # all but the manifest
    print(f"bundle      {folder}: {files}, {size(compiled.bundle.bytes)}")


def _summarise(compiled: Compiled, folder: Path) -> None:
    """What was built, what it will take, and how to run it."""
    from astrac.estimate.model import brief

    lines = [*brief(compiled.estimate)]
    for name in compiled.jobs:
        variable = named(name).variable
        lines.append(f"run         {variable}=PATH_OF_{variable} {shlex.quote(f'{folder}/{name}/run.sh')}")
    print("\n".join(lines))


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
    for folder in (top, *sorted(top.iterdir())):
        if folder not in built and (folder / "manifest.json").exists():
            print(f"left over   {folder}: from an earlier build, remove it if it is not wanted", file=sys.stderr)


# -- estimate


@command(
    "astrac estimate specs/resnet50_ring.astra --set ring8.nvlink.bandwidth='100 GB/s'",
    argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="specs (- for standard input), or folders with a bundle, ours or anybody's; or, instead, ASTRA-sim's own "
        "options: --network-configuration F --system-configuration F --workload-configuration PREFIX ...",
    ),
    argument("--backend", choices=partial(backends, simulated=True), help="of ASTRA-sim 2.x"),
    *VARIANT,
    output_format("text", "json", "csv"),
)
def estimate(options: argparse.Namespace) -> int:
    """Tell how long a training step takes, and why, without simulating."""
    from astrac.api import estimating

    if bool(options.paths) == bool(options.simulator):
        raise Usage("give paths, or ASTRA-sim's own options")
    found = [entry for path in options.paths for entry in _estimated(path, options)]
    if options.simulator:
        found.append(estimating.estimate_arguments(options.simulator, options.backend))
    for entry in found:
        report(entry.diagnostics)
    form = {"text": estimating.as_text, "json": estimating.as_json, "csv": estimating.as_csv}[options.format]
    sys.stdout.write(form(found))
    return int(any(entry.estimate is None or entry.estimate.fails is not None for entry in found))


def _estimated(path: str, options: argparse.Namespace) -> tuple[Estimated, ...]:
    from astrac.api import estimating

    if path != STANDARD_INPUT and Path(path).is_dir():
        return tuple(estimating.estimate_folder(folder, options.backend) for folder in estimating.folders(path))
    settings = [f"system.backend={options.backend}"] if options.backend else []
    chosen = variant(options)
    chosen = replace(chosen, settings=(*chosen.settings, *settings))
    return estimating.estimate_spec(shown(path), read(path), chosen)


# -- fmt


@command(
    "astrac fmt --check specs/",
    argument("files", nargs="+", metavar="FILE", help="specs, folders of them, or - for standard input"),
    flag("--check", "write nothing; status 1 when a file would change"),
    flag("--diff", "write nothing; show what would change"),
)
def fmt(options: argparse.Namespace) -> int:
    """Put specs into the one style; comments and meaning are kept."""
    status = 0
    for path in _specs(options.files):
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


def _specs(paths: Iterable[str]) -> Iterator[str]:
    """The files that are meant: folders stand for all `.astra` files below them."""
    for path in paths:
        is_folder = path != STANDARD_INPUT and Path(path).is_dir()
        found = _specs_below(path) if is_folder else [path]
        if not found:
            raise Usage(f"no .astra file below {path}")
        yield from found


# -- layers


def _whole(text: str) -> int:
    """A whole number, -1 for a text that is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def _positive(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1")
    return value


@command(
    "astrac layers zoo:resnet50 --weights-only --format csv",
    argument("models", nargs="+", metavar="MODEL", help="an ONNX file, zoo:NAME, or a .astra spec"),
    flag("--weights-only", "only layers with a matrix or kernel, without biases"),
    flag("--all", "also layers without weights and MACs"),
    argument("--batch", type=_positive, metavar="N", help="samples (default: the file's, or 1)"),
    argument("--bind", action="append", default=[], metavar="NAME=VALUE", help="value of a symbolic dimension"),
    argument("--tie", action="append", default=[], metavar="A=B", help="two weights that are one tensor"),
    flag("--strict", "an operator that is not known is an error"),
    flag("--compare", "show two models side by side"),
    *VARIANT,
    output_format("text", "csv", "json"),
)
def layers(options: argparse.Namespace) -> int:
    """Show the layers of an ONNX model or of a spec's model: parameters, bytes, multiply-accumulates."""
    from astrac.models import table

    if options.compare != (len(options.models) == 2):
        raise Usage("--compare takes two models, and only --compare takes two")
    found = []
    for path in options.models:
        result = _layers(path, options)
        report(result.diagnostics)
        if result.value is None or has_errors(result.diagnostics):
            return 1
        found.append(result.value)
    if options.compare:
        sys.stdout.write(table.compare(*(layered.model for layered in found)))
        return 0
    rows = {"weights_only": options.weights_only, "all_rows": options.all}
    sys.stdout.write(table.render(found[0].model, options.format, **rows, widths=found[0].widths))
    return 0


def _layers(path: str, options: argparse.Namespace) -> Result[Layered]:
    from astrac.api import modelling

    if path == STANDARD_INPUT or path.endswith(".astra"):
        if options.batch or options.bind or options.tie:
            raise Usage("a spec says batch, bindings and ties itself: `training.micro_batch`, `model { bind, tie }`")
        return modelling.layers_of_spec(shown(path), read(path), variant(options))
    bind = {}
    for name, value in _pairs(options.bind, "--bind"):
        bind[name] = _whole(value)
        if bind[name] < 0:
            raise Usage(f"--bind {name} takes a whole number, not `{value}`")
    ties = _pairs(options.tie, "--tie")
    return modelling.layers_of_file(path, batch=options.batch, bind=bind, ties=ties, strict=options.strict)


def _pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    pairs = [(left, right) for left, _, right in (text.partition("=") for text in texts)]
    for left, right in pairs:
        if not left or not right:
            raise Usage(f"{option} takes A=B, not `{left}`")
    return pairs
