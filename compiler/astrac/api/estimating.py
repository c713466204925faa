"""Estimates of anything that a simulator can be asked for: specs, bundles of ours or anybody's, a command line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.compiling import placed
from astrac.api.evaluating import Tasks, attempted, row_of, with_figures
from astrac.api.guarding import sets_of
from astrac.api.rows import Row
from astrac.api.tables import SHOWN, Table
from astrac.bundle import MANIFEST
from astrac.diagnostics import Diagnosed
from astrac.estimates import Estimate, estimate
from astrac.estimates.model import text
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
        row: the same as a row.
        estimate: None for a spec with errors; of files that cannot be read it is one that fails.
        diagnostics: of reading it.
    """

    title: str
    row: Row
    estimate: Estimate | None
    diagnostics: tuple[Diagnostic, ...]


def estimate_spec(name: str, data: bytes, options: Options) -> tuple[Estimated, ...]:
    """One estimate for each wanted point of a spec, with all that there is to tell."""
    work, found = Tasks(name, data, options), []
    for task in work:
        result = attempted(task, detail=True)
        title = f"{name} {task.name}".strip()
        row = replace(row_of(task, result), name=title)
        value = None if result.value is None else result.value.estimate
        found.append(Estimated(title, row, value, placed(result.diagnostics, task.name)))
    if work.found:
        found.append(Estimated(name, Row(name=name, status="failed"), None, tuple(work.found)))
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
    return Estimated(title, _row(title, values), values, (*read.diagnostics, *simulator.wing.judge(read.value)))


def _unreadable(title: str, diagnostics: tuple[Diagnostic, ...]) -> Estimated:
    """Inputs that cannot be played, which says nothing of the simulator: no estimate, for the first reason found."""
    reason = next((finding.message for finding in diagnostics if finding.is_error), diagnostics[0].message)
    values = Estimate(0, 1, 0, failure=Failure(Outcome.UNKNOWN, reason))
    return Estimated(title, _row(title, values), values, diagnostics)


def _row(title: str, values: Estimate) -> Row:
    if values.fails is not None:
        return Row(name=title, status="failed", reason=values.fails)
    return with_figures(Row(name=title), values)


# -- for people and for programs


def as_json(found: Sequence[Estimated]) -> str:
    """One readable document, or JSON lines for several."""
    values = [entry.estimate.as_json() for entry in found if entry.estimate is not None]
    return "".join(json.dumps(value, indent=None if len(found) > 1 else 2) + "\n" for value in values)


def as_text(found: Sequence[Estimated]) -> str:
    """All estimates for people, and, where there are several, a row for each at the end."""
    known = [(entry, entry.estimate) for entry in found if entry.estimate is not None]
    texts = [text(values, entry.title) for entry, values in known]
    if len(known) > 1:
        texts.append(Table(tuple(entry.row for entry, _ in known)).to_text(names=("name", *SHOWN)))
    return "\n".join(texts)


def as_csv(found: Sequence[Estimated]) -> str:
    """One row an estimate: what was set and what the sweep chose, then figures, empty where there is no estimate."""
    table = Table(tuple(entry.row for entry in found))
    return table.to_csv(("name", *table.settings, *FIGURES))


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
