"""What would go wrong with the collectives of a job, column by column, without simulating it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.astra_sim_1.simulate import loops
from astrac.simulators.astra_sim_1.simulate.chunks import Planner, planner
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.network import INT_LIMIT
from astrac.simulators.astra_sim_1.simulate.phases import size_after, smallest_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.job import Kind
    from astrac.simulators.astra_sim_1.job import Stage, TextJob


class Surveyed(NamedTuple):
    """A column whose collective is issued, and what is wrong with it.

    Attributes:
        row, stage: the column.
        kind, bytes: of the collective, scaled.
        dimensions: how many dimensions it works on; 0: it is dropped.
        fault: what is wrong, None when nothing is.
        reason: a line about it.
    """

    row: int
    stage: Stage
    kind: Kind
    bytes: int
    dimensions: int
    fault: Fault | None = None
    reason: str = ""


def survey(job: TextJob, columns: Iterable[tuple[int, Stage]]) -> Iterator[Surveyed]:
    """The columns with what is wrong with each; raises SimulationError when words and dimensions do not fit."""
    layout = planner(job)
    levels = loops.involved_levels(job)
    known: dict[tuple[Kind, int, loops.Levels], tuple[int, Fault | None, str]] = {}
    for row, stage in columns:
        kind = job.workload.rows[row].work(stage).kind
        if kind is None:
            continue
        size = job.bytes(row, stage)
        level = loops.levels(job.workload, row, stage)
        key = (kind, size, level)
        if key not in known:
            known[key] = _look(layout, kind, levels[level], size)
        yield Surveyed(row, stage, kind, size, *known[key])


def _look(layout: Planner, kind: Kind, involved: tuple[bool, ...], size: int) -> tuple[int, Fault | None, str]:
    """Lanes, fault and reason of one collective."""
    splits = layout.system.splits
    count = 0
    try:
        count = len(layout.tasks(kind, involved))
        if count == 0:
            return 0, None, ""
        if size == 0:
            return count, Fault.ZERO_SIZE, "a collective of 0 bytes never finishes"
        if size < splits:
            return count, Fault.BELOW_SPLITS, f"{size} bytes cannot be split into {splits} chunks"
        chunk = size // splits
        for part in {chunk, size % chunk} - {0}:
            _look_at_chunk(layout, kind, involved, part)
    except SimulationError as error:
        return count, None if error.fault is Fault.UNKNOWN else error.fault, error.reason
    return count, None, ""


def _look_at_chunk(layout: Planner, kind: Kind, involved: tuple[bool, ...], size: int) -> None:
    for _ in layout.dimensions[kind] if layout.system.inter == "roundRobin" else (None,):
        entering = size
        for task, logical in layout.tasks(kind, involved):
            if entering >= INT_LIMIT:
                raise SimulationError(Fault.TOO_LARGE, f"a chunk of {entering} bytes, 2^31 or more, enters a phase")
            message = smallest_message(task, logical, entering)
            if not logical.symmetric:
                layout.phases.endpoint.budget.look_at(logical.size)
            if min(logical.neighbour_times(message)) < 1:
                raise SimulationError(Fault.TOO_FAST, f"a message of {message} bytes takes less than 1 ns")
            entering = size_after(task, logical, entering)
        layout.plan(kind, involved, size)
    # What crashes is said before what runs as something else.
    for task, logical in layout.tasks(kind, involved):
        row = logical.algorithm.row
        if row.instead is not None and task not in row.kinds:
            does = row.instead.name.lower().replace("_", "-")
            raise SimulationError(
                Fault.INSTEAD, f"{row.words.astra_sim_1} does an {does} where {task.name} should be done"
            )
