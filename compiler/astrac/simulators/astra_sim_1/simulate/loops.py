"""Section 1, "Policies" and "Loops": what an NPU does, and in which order.

A loop is a generator of steps. The player takes them one by one: a `Compute` takes its column's cycles, a `TICK` one
cycle, an `Issue` none, a `Wait` until every collective of that column of the row is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from astrac.job import Kind
from astrac.simulators.astra_sim_1.job import DLRMS, TRANSFORMERS, Policy, Stage, TextJob, TextWorkload
from astrac.simulators.astra_sim_1.simulate.faults import Fault, PlayError
from astrac.simulators.astra_sim_1.simulate.lanes import boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORWARD, INPUT, WEIGHT = Stage.FORWARD, Stage.INPUT_GRADIENT, Stage.WEIGHT_GRADIENT


class Priority(Enum):
    """Whose chunks go first: the system file's choice, later collectives, earlier ones, or this one before all."""

    SYSTEM = "system"
    LIFO = "LIFO"
    FIFO = "FIFO"
    HIGHEST = "highest"


@dataclass(frozen=True, slots=True)
class Compute:
    """The cycles of a column."""

    row: int
    stage: Stage


@dataclass(frozen=True, slots=True)
class Issue:
    """Start the collective of a column."""

    row: int
    stage: Stage
    priority: Priority


@dataclass(frozen=True, slots=True)
class Wait:
    """Until the collectives of a column are over, updates included."""

    row: int
    stage: Stage


class Mark(Enum):
    """Steps without an operand: a cycle of the simulator's state machine, and the line `pass: k finished`."""

    TICK = "tick"
    PASS_END = "pass end"


Step: TypeAlias = Compute | Issue | Wait | Mark


def steps(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """Of the workload's policy, over all passes."""
    return LOOPS[workload.policy](workload, passes)


def _loop_a(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """DATA."""
    rows = range(len(workload.rows))
    for _ in range(passes):
        for row in rows:
            yield Wait(row, WEIGHT)
            yield Compute(row, FORWARD)
            yield Mark.TICK
        for row in reversed(rows):
            yield Compute(row, WEIGHT)
            yield Issue(row, WEIGHT, Priority.SYSTEM)
            if row == 0:
                yield Mark.PASS_END
            yield Mark.TICK
            if row > 0:
                yield Compute(row, INPUT)
                yield Mark.TICK


def _loop_b(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_CUSTOMIZED."""
    for _ in range(passes):
        for row in range(len(workload.rows)):
            yield from _forward(row)
        for row in reversed(range(len(workload.rows))):
            yield from _backward(row, workload.policy, first_input=False)


def _loop_b_transformer(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """HYBRID_TRANSFORMER, and HYBRID_TRANSFORMER_FWD_IN_BCKWD with its recomputation."""
    initiates = frozenset(workload.extras.initiates)
    for _ in range(passes):
        for row in range(len(workload.rows)):
            yield from _forward(row)
        for row in reversed(range(len(workload.rows))):
            if row in initiates:
                yield from _recompute(workload, row)
            yield from _backward(row, workload.policy, first_input=True)


def _forward(row: int) -> Iterator[Step]:
    yield Wait(row, WEIGHT)
    yield Compute(row, FORWARD)
    yield Issue(row, FORWARD, Priority.SYSTEM)
    yield Wait(row, FORWARD)
    yield Mark.TICK


def _backward(row: int, policy: Policy, *, first_input: bool) -> Iterator[Step]:
    yield Compute(row, INPUT)
    if row > 0 or first_input:
        yield Issue(row, INPUT, Priority.LIFO)
    yield Mark.TICK
    yield Compute(row, WEIGHT)
    if policy is not Policy.MODEL:
        yield Issue(row, WEIGHT, Priority.FIFO)
    yield Wait(row, INPUT)
    if row == 0:
        yield Mark.PASS_END
    yield Mark.TICK


def _recompute(workload: TextWorkload, row: int) -> Iterator[Step]:
    """The forward from the nearest checkpoint below `row` up to it."""
    start = nearest_checkpoint(workload, row)
    yield Mark.TICK
    for again in range(start, row):
        yield from _forward(again)


def nearest_checkpoint(workload: TextWorkload, row: int) -> int:
    """Where the recomputation for an initiating row starts."""
    start = max((checkpoint for checkpoint in workload.extras.checkpoints if checkpoint <= row), default=-1)
    between = [other for other in workload.extras.initiates if start < other < row]
    if not 0 <= start < row or between:
        reason = (
            f"layer {row} initiates recomputation, and layer {between[0]} does so between it and checkpoint {start}"
            if between
            else f"layer {row} initiates recomputation without a checkpoint before it"
        )
        raise PlayError(Fault.CHECKPOINT, reason)
    return start


def _loop_c(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """HYBRID_DLRM, HYBRID_DLRM_ENHANCED: the embedding's all-to-alls run beside the bottom network."""
    rows = range(len(workload.rows))
    last_bottom = workload.extras.last_bottom
    for _ in range(passes):
        for row in rows:
            yield Wait(row, WEIGHT)
            yield Compute(row, FORWARD)
            if workload.rows[row].forward.kind is Kind.ALL_TO_ALL:
                yield Issue(row, FORWARD, Priority.HIGHEST)
            elif row == last_bottom:
                yield Wait(0, FORWARD)
            yield Mark.TICK
        for row in reversed(rows):
            yield Compute(row, WEIGHT)
            yield Issue(row, WEIGHT, Priority.SYSTEM)
            if workload.policy is Policy.HYBRID_DLRM:
                yield Wait(row, INPUT)
            if row == 0:
                yield Mark.PASS_END
            yield Mark.TICK
            if row > 0:
                yield Compute(row, INPUT)
                if row == last_bottom + 1:
                    yield Issue(0, INPUT, Priority.HIGHEST)
                yield Mark.TICK


def _loop_d(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """MICRO: the first row's weight-gradient collective, all passes at once."""
    del workload
    for _ in range(passes):
        yield Issue(0, WEIGHT, Priority.SYSTEM)


def _loop_e(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """DISTRIBUTED_INFERENCE: forward only."""
    for _ in range(passes):
        for row in range(len(workload.rows)):
            yield from _forward(row)


LOOPS: dict[Policy, Callable[[TextWorkload, int], Iterator[Step]]] = {
    Policy.DATA: _loop_a,
    Policy.MODEL: _loop_b,
    Policy.HYBRID_DATA_MODEL: _loop_b,
    Policy.HYBRID_MODEL_DATA: _loop_b,
    Policy.HYBRID_CUSTOMIZED: _loop_b,
    Policy.HYBRID_TRANSFORMER: _loop_b_transformer,
    Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD: _loop_b_transformer,
    Policy.HYBRID_DLRM: _loop_c,
    Policy.HYBRID_DLRM_ENHANCED: _loop_c,
    Policy.MICRO: _loop_d,
    Policy.DISTRIBUTED_INFERENCE: _loop_e,
}


class Levels(Enum):
    """Sets of dimensions: none, all, the first, all but the first; for transformers inside and outside the group."""

    NONE = "none"
    ALL = "all"
    FIRST = "first"
    REST = "rest"
    MODEL = "model"
    DATA = "data"


NONE, ALL = Levels.NONE, Levels.ALL

LEVELS: dict[Policy, tuple[Levels, Levels, Levels]] = {
    Policy.DATA: (NONE, NONE, ALL),
    Policy.MODEL: (ALL, ALL, NONE),
    Policy.HYBRID_DATA_MODEL: (Levels.FIRST, Levels.FIRST, Levels.REST),
    Policy.HYBRID_MODEL_DATA: (Levels.REST, Levels.REST, Levels.FIRST),
    Policy.HYBRID_TRANSFORMER: (Levels.MODEL, Levels.MODEL, Levels.DATA),
    Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD: (Levels.MODEL, Levels.MODEL, Levels.DATA),
    Policy.HYBRID_DLRM: (NONE, NONE, ALL),
    Policy.HYBRID_DLRM_ENHANCED: (NONE, NONE, ALL),
    Policy.MICRO: (NONE, NONE, ALL),
    Policy.DISTRIBUTED_INFERENCE: (ALL, ALL, NONE),
}
"""Dimensions of the forward, input-gradient and weight-gradient collectives; HYBRID_CUSTOMIZED takes a row a layer."""


def levels(workload: TextWorkload, row: int, stage: Stage) -> Levels:
    """Over which dimensions a column communicates. The first layer of a DLRM uses all, in every column."""
    if workload.policy in DLRMS and row == 0:
        return ALL
    policy = workload.policy
    if policy is Policy.HYBRID_CUSTOMIZED:
        policy = workload.rows[row].policy or policy
    if policy not in LEVELS:
        raise PlayError(Fault.SETTING, f"layer {row} of HYBRID_CUSTOMIZED names no policy of its own")
    return LEVELS[policy][list(Stage).index(stage)]


def involved_levels(job: TextJob) -> dict[Levels, tuple[bool, ...]]:
    """For each set of dimensions which levels are in it."""
    last = boundary(job.network, job.workload.extras.group)[0] if job.workload.policy in TRANSFORMERS else -1
    index = range(len(job.network.dimensions) + 1)
    return {
        Levels.NONE: tuple(False for _ in index),
        Levels.ALL: tuple(True for _ in index),
        Levels.FIRST: tuple(level == 0 for level in index),
        Levels.REST: tuple(level > 0 for level in index),
        Levels.MODEL: tuple(level <= last for level in index),
        Levels.DATA: tuple(level > last for level in index),
    }
