"""Estimates of anything that a simulator can be asked for: specs, bundles of ours or anybody's, a command line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.compiling import planned, points
from astrac.api.guarding import best_set
from astrac.bundle import MANIFEST
from astrac.diagnostics import Diagnosed
from astrac.estimate import Estimate, estimate
from astrac.estimate.model import text
from astrac.figures import columns, duration, share, size
from astrac.simulators.protocol import Ability, Failure, Outcome
from astrac.simulators.table import named, recognise, simulators

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """

    title: str
    point: tuple[tuple[str, str], ...]
    estimate: Estimate | None
    diagnostics: tuple[Diagnostic, ...]


def estimate_spec(name: str, data: bytes, options: Options) -> tuple[Estimated, ...]:
    """One estimate for each wanted point of a spec."""
    found = []
    for document, result in points(name, data, options, planned):
        title = name if document is None else f"{name} {document.name}".strip()
        point = () if document is None else document.point
        value = None if result.value is None else result.value.estimate
        found.append(Estimated(title, point, value, result.diagnostics))
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
        found = best_set(Path(folder), Ability.SIMULATE)
    except Diagnosed as stop:
        return _unreadable(folder, (stop.diagnostic,))
    simulator = named(found.simulator)
    return _estimated(folder, simulator, simulator.wing.read(found), backend)


def estimate_arguments(arguments: Sequence[str], backend: str | None) -> Estimated:
    """The estimate of the files that a simulator's own options name; the network file tells which simulator."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    simulator = _whose(given)
    title = given.get("--workload-configuration", "")
    return _estimated(title, simulator, simulator.wing.of_arguments(arguments), backend)


def _whose(given: dict[str, str]) -> Simulator:
    """The simulator that one of the named files belongs to; the first of the table where none tells."""
    able = simulators(Ability.SIMULATE)
    for path in given.values():
        try:
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
    """Inputs that the simulator would not run either: an estimate that fails for the first reason found."""
    reason = next((finding.message for finding in diagnostics if finding.is_error), diagnostics[0].message)
    return Estimated(title, (), Estimate(0, 1, 0, failure=Failure(Outcome.ABORT, reason)), diagnostics)


# -- for people and for programs


def as_json(found: Sequence[Estimated]) -> str:
    """One readable document, or JSON lines for several."""
    values = [entry.estimate.as_json() for entry in found if entry.estimate is not None]
    return "".join(json.dumps(value, indent=None if len(found) > 1 else 2) + "\n" for value in values)


def as_text(found: Sequence[Estimated]) -> str:
    """All estimates for people, and, where there are several, a row for each at the end."""
    known = [entry for entry in found if entry.estimate is not None]
    texts = [text(entry.estimate, entry.title) for entry in known if entry.estimate is not None]
    if len(known) > 1:
        texts.append(_overview(known))
    return "\n".join(texts)


def _overview(found: Sequence[Estimated]) -> str:
    rows = [["", "step time", "compute", "exposed", "bubble", "utilisation", "memory"]]
    for entry in found:
        values = entry.estimate
        assert values is not None
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
    return "\n".join(columns(rows, left=(0,))) + "\n"


def as_csv(found: Sequence[Estimated]) -> str:
    """One row an estimate: what the sweep chose, then the figures, empty where there is no estimate."""
    keys = list(dict.fromkeys(key for entry in found for key, _ in entry.point))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *keys, *FIGURES])
    for entry in found:
        chosen = dict(entry.point)
        figures = {} if entry.estimate is None or entry.estimate.fails is not None else _figures(entry.estimate)
        picked = (chosen.get(key, "") for key in keys)
        writer.writerow([entry.title, *picked, *(figures.get(figure, "") for figure in FIGURES)])
    return out.getvalue()


FIGURES = (
    "cycles_max",
    "step_time_ns",
    "compute_ns",
    "exposed_communication_ns",
    "bubble_ns",
    "memory_bytes",
    "samples_per_second",
    "tokens_per_second",
    "utilisation",
)
"""Columns of the CSV; times of the slowest rank."""


def _figures(values: Estimate) -> dict[str, object]:
    found: dict[str, object] = {"cycles_max": values.cycles, "step_time_ns": values.cycles / values.steps}
    slowest = values.slowest
    if slowest is not None:
        found["compute_ns"] = slowest.compute
        found["exposed_communication_ns"] = slowest.communication
        found["bubble_ns"] = slowest.bubble
    if values.memory is not None:
        found["memory_bytes"] = values.memory.total
    if values.throughput is not None:
        known = {name: value for name, value in vars(values.throughput).items() if value is not None}
        found |= known
    return found
