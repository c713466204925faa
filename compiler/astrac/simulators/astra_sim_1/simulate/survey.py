"""What would go wrong with the collectives of a job, column by column, without playing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.astra_sim_1.simulate import loops
from astrac.simulators.astra_sim_1.simulate.chunks import Planner
from astrac.simulators.astra_sim_1.simulate.engine import float32, scaled
from astrac.simulators.astra_sim_1.simulate.faults import Fault, PlayError
from astrac.simulators.astra_sim_1.simulate.lanes import lanes
from astrac.simulators.astra_sim_1.simulate.network import INT_LIMIT
from astrac.simulators.astra_sim_1.simulate.phases import Endpoint, Phases, size_after, smallest_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.simulators.astra_sim_1.job import Stage, TextJob


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A column that is issued.

    Attributes:
        row, stage: the column.
        kind, bytes: of the collective, scaled.
        lanes: how many dimensions it works on; 0: it is dropped.
        fault: what is wrong, None when nothing is.
        reason: a line about it.
    """

    row: int
    stage: Stage
    kind: Kind
    bytes: int
    lanes: int
    fault: Fault | None = None
    reason: str = ""


def survey(job: TextJob, columns: Iterable[tuple[int, Stage]]) -> Iterator[Surveyed]:
    """The columns with what is wrong with each; raises PlayError when the lanes themselves cannot be laid out."""
    delay = int(job.system.endpoint_delay * float32(job.injection_scale))
    planner = Planner(job.system, lanes(job), Phases(Endpoint(delay)), job.queues)
    levels = loops.involved_levels(job)
    known: dict[tuple[Kind, int, loops.Levels], tuple[int, Fault | None, str]] = {}
    for row, stage in columns:
        work = job.workload.rows[row].work(stage)
        if work.kind is None:
            continue
        size = scaled(work.bytes, job.comm_scale)
        level = loops.levels(job.workload, row, stage)
        key = (work.kind, size, level)
        if key not in known:
            known[key] = _look(planner, work.kind, levels[level], size)
        yield Surveyed(row, stage, work.kind, size, *known[key])


def _look(planner: Planner, kind: Kind, involved: tuple[bool, ...], size: int) -> tuple[int, Fault | None, str]:
    """Lanes, fault and reason of one collective."""
    splits = planner.system.splits
    count = 0
    try:
        count = len(planner.tasks(kind, involved))
        if count == 0:
            return 0, None, ""
        if size == 0:
            return count, Fault.ZERO_SIZE, "a collective of 0 bytes never finishes"
        if size < splits:
            return count, Fault.BELOW_SPLITS, f"{size} bytes cannot be split into {splits} chunks"
        chunk = size // splits
        for part in {chunk, size % chunk} - {0}:
            _look_at_chunk(planner, kind, involved, part)
    except PlayError as error:
        return count, None if error.fault is Fault.UNKNOWN else error.fault, error.reason
    return count, None, ""


def _look_at_chunk(planner: Planner, kind: Kind, involved: tuple[bool, ...], size: int) -> None:
    for _ in planner.lanes[kind] if planner.system.inter == "roundRobin" else (None,):
        entering = size
        for task, lane in planner.tasks(kind, involved):
            if lane.algorithm.name == "doubleBinaryTree" and task is not Kind.ALL_REDUCE:
                reason = f"doubleBinaryTree does an all-reduce where {task.name} should be done"
                raise PlayError(Fault.KIND, reason)
            if entering >= INT_LIMIT:
                raise PlayError(Fault.TOO_LARGE, f"a chunk of {entering} bytes, 2^31 or more, enters a phase")
            message = smallest_message(task, lane, entering)
            if not lane.symmetric:
                planner.phases.endpoint.budget.look_at(lane.size)
            if min(lane.neighbour_times(message)) < 1:
                raise PlayError(Fault.TOO_FAST, f"a message of {message} bytes takes less than 1 ns")
            entering = size_after(task, lane, entering)
        planner.plan(kind, involved, size)
