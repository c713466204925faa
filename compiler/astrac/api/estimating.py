"""Estimates of anything that a simulator can be asked for: specs, bundles of ours or anybody's, a command line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.compiling import planned, points
from astrac.api.guarding import sets_of
from astrac.bundle import MANIFEST
from astrac.diagnostics import Diagnosed
from astrac.estimates import Estimate, estimate
from astrac.estimates.model import text
from astrac.figures import columns, duration, share, size
from astrac.simulators.protocol import Ability, Failure, Outcome
from astrac.simulators.table import named, recognise, simulators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.api.checking import Options
    from astrac.diagnostics import Diagnostic, Result
    from astrac.simulators.protocol import Simulator

LOOKED_AT = 1 << 20
"""Bytes of a file that tell whose it is."""


@dataclass(frozen=True)
class Estimated:
    """One estimate and what it is of.

    Attributes:
        title: the path, with the sweep's point.
        point: what the sweep chose.
        estimate: None for a spec with errors; of files that cannot be read it is one that fails.
        diagnostics: of reading it.
        of_spec: whether it is of a spec, which is not estimated as it runs where there are errors.
    """

    title: str
    point: tuple[tuple[str, str], ...]
    estimate: Estimate | None
    diagnostics: tuple[Diagnostic, ...]
    of_spec: bool = False


def estimate_spec(name: str, data: bytes, options: Options) -> tuple[Estimated, ...]:
    """One estimate for each wanted point of a spec."""
    found = []
    for document, result in points(name, data, options, planned):
        title = name if document is None else f"{name} {document.name}".strip()
        point = () if document is None else document.point
        value = None if result.value is None else result.value.estimate
        found.append(Estimated(title, point, value, result.diagnostics, of_spec=True))
    return tuple(found)


def folders(top: str) -> tuple[str, ...]:
    """The bundles that a folder means: those of a sweep's points below it, else itself."""
    if (Path(top) / MANIFEST).exists():
        return (top,)
    below = sorted(str(manifest.parent) for manifest in Path(top).glob(f"*/{MANIFEST}"))
    return tuple(below) or (top,)


def estimate_folder(folder: str, backend: str | None) -> Estimated:
    """The estimate of files that run together, recognised by what is in them."""
    try:
        found = sets_of(Path(folder), Ability.SIMULATE)[0]
    except Diagnosed as stop:
        return _unreadable(folder, (stop.diagnostic,))
    simulator = named(found.simulator)
    return _estimated(folder, simulator, simulator.wing.read(found), backend)


def estimate_arguments(arguments: Sequence[str], backend: str | None) -> Estimated:
    """The estimate of the files that a simulator's own options name; the network file tells which simulator."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    simulator = _whose(given)
    job = simulator.wing.of_arguments(arguments)
    return _estimated(given.get("--workload-configuration", ""), simulator, job, backend)


def _whose(given: dict[str, str]) -> Simulator:
    """The simulator that one of the named files belongs to; the first of the table where none tells."""
    able = simulators(Ability.SIMULATE)
    for path in given.values():
        try:
            if not Path(path).is_file():
                continue
            with Path(path).open("rb") as file:
                kind = recognise(path, file.read(LOOKED_AT))
        except (OSError, ValueError):
            continue
        for simulator in able:
            if kind in simulator.reads:
                return simulator
    return able[0]


def _estimated(title: str, simulator: Simulator, read: Result[object], backend: str | None) -> Estimated:
    """What is wrong with a job but runs all the same is told, and estimated as it runs."""
    if read.value is None:
        return _unreadable(title, read.diagnostics)
    values = estimate(simulator.wing.simulate(read.value, backend), read.value)
    return Estimated(title, (), values, (*read.diagnostics, *simulator.wing.judge(read.value)))


def _unreadable(title: str, diagnostics: tuple[Diagnostic, ...]) -> Estimated:
    """Inputs that cannot be played, which says nothing of the simulator: no estimate, for the first reason found."""
    reason = next((finding.message for finding in diagnostics if finding.is_error), diagnostics[0].message)
    return Estimated(title, (), Estimate(0, 1, 0, failure=Failure(Outcome.UNKNOWN, reason)), diagnostics)


# -- for people and for programs


def as_json(found: Sequence[Estimated]) -> str:
    """One readable document, or JSON lines for several."""
    values = [entry.estimate.as_json() for entry in found if entry.estimate is not None]
    return "".join(json.dumps(value, indent=None if len(found) > 1 else 2) + "\n" for value in values)


def as_text(found: Sequence[Estimated]) -> str:
    """All estimates for people, and, where there are several, a row for each at the end."""
    known = [(entry, entry.estimate) for entry in found if entry.estimate is not None]
    texts = [text(values, entry.title) for entry, values in known]
    rows = [["", "step time", "compute", "exposed", "bubble", "utilisation", "memory"]]
    for entry, values in known:
        slowest = values.slowest
        parts = (0, 0, 0) if slowest is None else (slowest.compute, slowest.communication, slowest.bubble)
        used = None if values.throughput is None else values.throughput.utilisation
        rows.append(
            [
                ", ".join(f"{key} {value}" for key, value in entry.point) or entry.title,
                "fails" if values.fails is not None else duration(values.cycles / values.steps),
                *(share(part, values.cycles) for part in parts),
                "" if used is None else f"{used:.1%}",
                "" if values.memory is None else size(values.memory.total),
            ]
        )
    if len(known) > 1:
        texts.append("\n".join(columns(rows, left=(0,))) + "\n")
    return "\n".join(texts)


def as_csv(found: Sequence[Estimated]) -> str:
    """One row an estimate: what the sweep chose, then the figures, empty where there is no estimate."""
    keys = list(dict.fromkeys(key for entry in found for key, _ in entry.point))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *keys, *FIGURES])
    for entry in found:
        values, chosen = entry.estimate, dict(entry.point)
        known = None if values is None or values.fails is not None else values
        figures = [known and figure(known) for figure in FIGURES.values()]
        writer.writerow([entry.title, *(chosen.get(key) for key in keys), *figures])
    return out.getvalue()


FIGURES: dict[str, Callable[[Estimate], object]] = {
    "cycles_max": lambda values: values.cycles,
    "step_time_ns": lambda values: values.cycles / values.steps,
    "compute_ns": lambda values: values.slowest and values.slowest.compute,
    "exposed_communication_ns": lambda values: values.slowest and values.slowest.communication,
    "bubble_ns": lambda values: values.slowest and values.slowest.bubble,
    "memory_bytes": lambda values: values.memory and values.memory.total,
    "samples_per_second": lambda values: values.throughput and values.throughput.samples_per_second,
    "tokens_per_second": lambda values: values.throughput and values.throughput.tokens_per_second,
    "utilisation": lambda values: values.throughput and values.throughput.utilisation,
}
"""Columns of the CSV, None for what is not known; times of the slowest rank."""
