"""What an NPU does under each policy, and in which order (docs/simulators/astra-sim-1.md, section 1).

A loop is a generator of steps. The engine takes them one by one: `COMPUTE` takes its column's cycles, `TICK` one cycle
of the simulator's state machine, `ISSUE` none, and `WAIT` lasts until every collective of its column is over, updates
included.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Kind
from astrac.simulators.astra_sim_1.job import DLRMS, TRANSFORMERS, Policy, Stage, TextJob, TextWorkload
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.logical import boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORWARD, INPUT, WEIGHT = Stage


class Priority(Enum):
    """Whose chunks go first: the system file's choice, later collectives, earlier ones, or this one before all."""

    SYSTEM = "system"
    LIFO = "LIFO"
    FIFO = "FIFO"
    HIGHEST = "highest"


class Act(Enum):
    """What a step does; `PASS_END` is the line `pass: k finished`."""

    COMPUTE = auto()
    ISSUE = auto()
    WAIT = auto()
    TICK = auto()
    PASS_END = auto()


class Step(NamedTuple):
    """A step of a loop: what is done, for which column of which row, and with which priority if it is issued."""

    act: Act
    row: int = 0
    stage: Stage = Stage.FORWARD
    priority: Priority = Priority.SYSTEM


_TICK, _PASS_END = Step(Act.TICK), Step(Act.PASS_END)


def steps(workload: TextWorkload, passes: int) -> Iterator[Step]:
    """The steps of all passes under the workload's policy."""
    loop = RULES[workload.policy].loop
    for _ in range(passes):
        yield from loop(workload)


def _data(workload: TextWorkload) -> Iterator[Step]:
    """Loop A, and C of the DLRMs, whose embedding exchanges rows by all-to-alls beside the bottom network."""
    rows, last_bottom = range(len(workload.rows)), workload.extras.last_bottom
    exchanges = workload.policy in DLRMS
    for row in rows:
        yield Step(Act.WAIT, row, WEIGHT)
        yield Step(Act.COMPUTE, row, FORWARD)
        if exchanges and workload.rows[row].forward.kind is Kind.ALL_TO_ALL:
            yield Step(Act.ISSUE, row, FORWARD, Priority.HIGHEST)
        elif exchanges and row == last_bottom:
            yield Step(Act.WAIT, 0, FORWARD)
        yield _TICK
    for row in reversed(rows):
        yield Step(Act.COMPUTE, row, WEIGHT)
        yield Step(Act.ISSUE, row, WEIGHT)
        if workload.policy is Policy.HYBRID_DLRM:
            yield Step(Act.WAIT, row, INPUT)
        if row == 0:
            yield _PASS_END
        yield _TICK
        if row > 0:
            yield Step(Act.COMPUTE, row, INPUT)
            if exchanges and row == last_bottom + 1:
                yield Step(Act.ISSUE, 0, INPUT, Priority.HIGHEST)
            yield _TICK


def _model(workload: TextWorkload) -> Iterator[Step]:
    """Loop B, with the recomputation of HYBRID_TRANSFORMER_FWD_IN_BCKWD."""
    rows = range(len(workload.rows))
    for row in rows:
        yield from _forward(row)
    for row in reversed(rows):
        if row in workload.extras.initiates:
            start = nearest_checkpoint(workload, row)
            yield _TICK
            for again in range(start, row):
                yield from _forward(again)
        yield Step(Act.COMPUTE, row, INPUT)
        if row > 0 or workload.policy in TRANSFORMERS:
            yield Step(Act.ISSUE, row, INPUT, Priority.LIFO)
        yield _TICK
        yield Step(Act.COMPUTE, row, WEIGHT)
        if workload.policy is not Policy.MODEL:
            yield Step(Act.ISSUE, row, WEIGHT, Priority.FIFO)
        yield Step(Act.WAIT, row, INPUT)
        if row == 0:
            yield _PASS_END
        yield _TICK


def _forward(row: int) -> Iterator[Step]:
    yield Step(Act.WAIT, row, WEIGHT)
    yield Step(Act.COMPUTE, row, FORWARD)
    yield Step(Act.ISSUE, row, FORWARD)
    yield Step(Act.WAIT, row, FORWARD)
    yield _TICK


def _micro(workload: TextWorkload) -> Iterator[Step]:
    """Loop D: the first row's weight-gradient collective, all passes at once."""
    del workload
    yield Step(Act.ISSUE, 0, WEIGHT)


def _inference(workload: TextWorkload) -> Iterator[Step]:
    """Loop E: nothing but the forward part of B."""
    for row in range(len(workload.rows)):
        yield from _forward(row)


def nearest_checkpoint(workload: TextWorkload, row: int) -> int:
    """The row at which the recomputation for an initiating row starts.

    Raises:
        SimulationError: CHECKPOINT when there is no checkpoint before it, or another initiating row in between.
    """
    start = max((checkpoint for checkpoint in workload.extras.checkpoints if checkpoint <= row), default=-1)
    between = [other for other in workload.extras.initiates if start < other < row]
    if 0 <= start < row and not between:
        return start
    reason = f"layer {row} initiates recomputation without a checkpoint before it"
    if between:
        reason = (
            f"layer {row} initiates recomputation, and layer {between[0]} does so between it and checkpoint {start}"
        )
    raise SimulationError(Fault.CHECKPOINT, reason)


class Levels(Enum):
    """Sets of dimensions: none, all, the first, all but the first; for transformers inside and outside the group."""

    NONE = "none"
    ALL = "all"
    FIRST = "first"
    REST = "rest"
    MODEL = "model"
    DATA = "data"


class Rule(NamedTuple):
    """What a policy fixes for all layers.

    Attributes:
        loop: the steps of one pass.
        levels: the dimensions of the forward, input-gradient and weight-gradient collectives; HYBRID_CUSTOMIZED takes
            those of each layer's own policy.
    """

    loop: Callable[[TextWorkload], Iterator[Step]]
    levels: tuple[Levels, Levels, Levels] | None


_ON_ALL_AT_THE_END = Levels.NONE, Levels.NONE, Levels.ALL
_ON_ALL_BEFORE = Levels.ALL, Levels.ALL, Levels.NONE
_BY_GROUP = Levels.MODEL, Levels.MODEL, Levels.DATA

RULES: dict[Policy, Rule] = {
    Policy.DATA: Rule(_data, _ON_ALL_AT_THE_END),
    Policy.MODEL: Rule(_model, _ON_ALL_BEFORE),
    Policy.HYBRID_DATA_MODEL: Rule(_model, (Levels.FIRST, Levels.FIRST, Levels.REST)),
    Policy.HYBRID_MODEL_DATA: Rule(_model, (Levels.REST, Levels.REST, Levels.FIRST)),
    Policy.HYBRID_TRANSFORMER: Rule(_model, _BY_GROUP),
    Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD: Rule(_model, _BY_GROUP),
    Policy.HYBRID_CUSTOMIZED: Rule(_model, None),
    Policy.HYBRID_DLRM: Rule(_data, _ON_ALL_AT_THE_END),
    Policy.HYBRID_DLRM_ENHANCED: Rule(_data, _ON_ALL_AT_THE_END),
    Policy.MICRO: Rule(_micro, _ON_ALL_AT_THE_END),
    Policy.DISTRIBUTED_INFERENCE: Rule(_inference, _ON_ALL_BEFORE),
}


def levels(workload: TextWorkload, row: int, stage: Stage) -> Levels:
    """Over which dimensions a column communicates. The first layer of a DLRM uses all, in every column."""
    if workload.policy in DLRMS and row == 0:
        return Levels.ALL
    policy = workload.policy
    found = RULES[policy if policy is not Policy.HYBRID_CUSTOMIZED else workload.rows[row].policy or policy].levels
    if found is None:
        raise SimulationError(Fault.SETTING, f"layer {row} of HYBRID_CUSTOMIZED names no policy of its own")
    return found[list(Stage).index(stage)]


def involved_levels(job: TextJob) -> dict[Levels, tuple[bool, ...]]:
    """For each set of dimensions whether it holds the first, the second, ... level."""
    last = boundary(job.network, job.workload.extras.group)[0] if job.workload.policy in TRANSFORMERS else -1
    holds: dict[Levels, Callable[[int], bool]] = {
        Levels.NONE: lambda _: False,
        Levels.ALL: lambda _: True,
        Levels.FIRST: lambda level: level == 0,
        Levels.REST: lambda level: level > 0,
        Levels.MODEL: lambda level: level <= last,
        Levels.DATA: lambda level: level > last,
    }
    index = range(len(job.network.dimensions) + 1)
    return {word: tuple(map(rule, index)) for word, rule in holds.items()}
