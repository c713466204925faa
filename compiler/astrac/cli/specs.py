"""Commands on specs and their models: check, build, estimate, fmt, layers."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api import checking
from astrac.cli import sweeps
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
    positive,
    read,
    report,
    shown,
    told,
    variant,
    whole,
)
from astrac.cli.streams import document, steering
from astrac.diagnostics import has_errors
from astrac.render import FORMATS
from astrac.simulators.table import backends, named, targets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from astrac.api.estimating import Estimated
    from astrac.api.modelling import Layered
    from astrac.diagnostics import Diagnostic, Result


def _specs(path: str) -> list[str]:
    """The files that a path means: a folder stands for all `.astra` files in it and below it, sorted."""
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    return sorted(str(file) for file in Path(path).rglob("*.astra") if file.is_file())


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
    flag("--shallow", "read no model and no times, lower nothing; a note says what that leaves out"),
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
    inputs = []
    for path in options.files:
        if path != STANDARD_INPUT and not path.startswith("std/") and not Path(path).exists():
            raise Usage(f"cannot read {path}: no such file or directory")
        asked = _specs(path) if path == STANDARD_INPUT or not options.kind else ()
        specs = [spec for spec in asked if spec == STANDARD_INPUT or spec.endswith(".astra")]
        files += len(specs)
        for spec in specs:
            findings += _check_spec(shown(spec), read(spec), options)
        if path not in specs and not options.kind and Path(path).is_file():
            inputs.append(path)
        elif path not in specs:
            from astrac.api import guarding

            guarded = guarding.check(path, options.kind, options.backend, only_inputs=options.inputs)
            files += guarded.files
            findings += guarded.diagnostics
            if not guarded.files and not guarded.diagnostics and not specs and not options.inputs:
                raise Usage(f"no file of ours or of ASTRA-sim's below {path}")
    if inputs:
        from astrac.api import guarding

        guarded = guarding.check_files(inputs, options.backend, only_inputs=options.inputs)
        files += guarded.files
        findings += guarded.diagnostics
    clean = "nothing found as far as it was looked at" if options.shallow else "clean"
    return told(findings, options.format, "" if options.print else counted(files, "file"), clean)


def _check_spec(name: str, data: bytes, options: argparse.Namespace) -> list[Diagnostic]:
    """Findings of a spec under the profile that is asked for, or bare and under each of its own."""
    from astrac.api import compiling

    chosen = variant(options)
    others = () if chosen.profile or b"profile" not in data else checking.profiles(name, data)
    look = checking.shallow if options.shallow else compiling.examine
    variants = [replace(chosen, profile=profile) for profile in (chosen.profile, *others)]
    if options.print:
        from astrac.language.document import to_json

        for point in checking.check(name, data, chosen).value or ():
            print(to_json(point.document.tree))
    return [finding for each in variants for finding in look(name, data, each)]


# -- build


@command(
    "astrac build specs/resnet50_ring.astra -o out/resnet50",
    argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input"),
    argument("-o", "--output", metavar="DIR", help="the bundle's folder (default: out/NAME)"),
    argument(
        "--target", choices=targets, action="append", default=[], help="only this simulator (default: all that can)"
    ),
    flag("--copy", "write equal traces as files of their own, not as hard links"),
    flag("--overwrite", "replace the files of an earlier build that were changed since, too"),
    flag("--strict", "an ONNX operator that is not known is an error"),
    *VARIANT,
)
def build(options: argparse.Namespace) -> int:
    """Compile a spec into a bundle that ASTRA-sim runs."""
    from astrac.api import compiling
    from astrac.estimates.model import brief
    from astrac.figures import size

    name = "stdin" if options.spec == STANDARD_INPUT else Path(options.spec).name.removesuffix(".astra")
    top = Path(options.output or Path("out") / name)
    for at, part in enumerate(top.parts):
        if part == ".." and not (before := Path(*top.parts[:at])).is_dir():
            raise Usage(f"cannot write {top}: {before} is no folder")
    status = 0
    built: set[Path] = set()
    shared: dict[str, Path] = {}
    results = compiling.compile_data(shown(options.spec), read(options.spec), variant(options))
    report(compiling.once(result.diagnostics for result in results))
    for result in results:
        made = result.value
        if made is None or has_errors(result.diagnostics):
            status = 1
            continue
        folder, total = top / made.name, made.bundle.bytes
        files = made.bundle.files - 1  # the manifest is not counted
        print(f"bundle      {folder}: {files:,} files for {made.estimate.npus:,} ranks, {size(total)}")
        show = _progress(total)
        written = compiling.write(
            made, folder, copy=options.copy, overwrite=options.overwrite, progress=show, shared=shared
        )
        report(written.diagnostics)
        if written.value is None:
            status = 1
            continue
        built.add(folder)
        print("\n".join(brief(made.estimate)))
        for simulator in map(named, made.jobs):
            script = shlex.quote(f"{folder}/{simulator.name}/run.sh")
            print(f"run         {simulator.variable}=PATH_OF_{simulator.variable} {script}")
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
            steering(sys.stderr, f"\rwriting     [{'#' * filled}{'.' * (BAR - filled)}]{end}")
            sys.stderr.flush()

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
    from astrac.api import compiling, estimating

    if bool(options.paths) == bool(options.simulator):
        raise Usage("give paths, or ASTRA-sim's own options")
    chosen = variant(options)
    if options.backend:
        chosen = replace(chosen, settings=(*chosen.settings, f"system.backend={options.backend}"))
    found: list[Estimated] = []
    status = 0
    for path in options.paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            found += (estimating.estimate_folder(folder, options.backend) for folder in estimating.folders(path))
            continue
        data = read(path)
        if options.format == "text" and (work := sweeps.several(shown(path), data, chosen)) is not None:
            status |= sweeps.table(work, title=shown(path) if len(options.paths) > 1 else "")
            continue
        found += (entries := estimating.estimate_spec(shown(path), data, chosen))
        status |= any(has_errors(entry.diagnostics) for entry in entries)
    if options.simulator:
        found.append(estimating.estimate_arguments(options.simulator, options.backend))
    report(compiling.once(result.diagnostics for result in found))
    form = {"text": estimating.as_text, "json": estimating.as_json, "csv": estimating.as_csv}[options.format]
    sys.stdout.write(form(found))
    return int(status or any(entry.estimate is None or entry.estimate.fails is not None for entry in found))


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
    for given in options.files:
        specs = _specs(given)
        if not specs:
            raise Usage(f"no .astra file below {given}")
        for path in specs:
            status |= _format(path, options)
    return status


def _format(path: str, options: argparse.Namespace) -> int:
    data = read(path)
    result = checking.reformat(shown(path), data)
    report(result.diagnostics)
    if result.value is None:
        return 1
    if options.diff:
        document(checking.difference(shown(path), data, result.value))
    elif path == STANDARD_INPUT and not options.check:
        document(result.value)
    changes = data != result.value.encode()
    if changes and options.check:
        print(f"{shown(path)} would change")
    elif changes and not options.diff and path != STANDARD_INPUT:
        Path(path).write_bytes(result.value.encode())
        print(f"{path} formatted")
    return int(changes and (options.check or options.diff))


# -- layers


@command(
    "astrac layers zoo:resnet50 --weights-only --format csv",
    argument("models", nargs="+", metavar="MODEL", help="an ONNX file, zoo:NAME, or a .astra spec"),
    flag("--weights-only", "only layers with a matrix or kernel, without biases"),
    flag("--all", "also layers without weights and MACs"),
    argument("--batch", type=positive, metavar="N", help="samples (default: the file's, or 1)"),
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
        if result.value is None or (options.compare and not result.ok):
            return 1
        found.append(result.value)
    if options.compare:
        sys.stdout.write(table.compare(*(layered.model for layered in found)))
        return 0
    rows = {"weights_only": options.weights_only, "all_rows": options.all}
    sys.stdout.write(table.render(found[0].model, options.format, **rows, widths=found[0].widths))
    return int(has_errors(result.diagnostics))


def _layers(path: str, options: argparse.Namespace) -> Result[Layered]:
    from astrac.api import modelling

    if path == STANDARD_INPUT or path.endswith(".astra"):
        if options.batch or options.bind or options.tie:
            raise Usage("a spec says batch, bindings and ties itself: `training.micro_batch`, `model { bind, tie }`")
        return modelling.layers_of_spec(shown(path), read(path), variant(options))
    bind = {}
    for name, value in _pairs(options.bind, "--bind"):
        bind[name] = whole(value)
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
