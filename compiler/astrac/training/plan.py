"""A Plan: what every rank does and why, before a simulator's words for it.

`lower` makes it from a Spec and a Model; `schedule` turns it into a Job. Ranks that act alike (all of one pipeline
stage) share one list of steps; nothing here has the length of the number of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from astrac.job import Axis, Kind
    from astrac.models.model import Model
    from astrac.score import Score
    from astrac.spec import Spec


class Phase(Enum):
    """Which part of the training step a piece of work belongs to."""

    FORWARD = "forward"
    RECOMPUTE = "recompute"
    INPUT_GRADIENT = "input_gradient"
    WEIGHT_GRADIENT = "weight_gradient"
    REDUCTION = "reduction"
    OPTIMIZER = "optimizer"


@dataclass(frozen=True, slots=True)
class Computation:
    """Device compute. `time` in ns (at least 1), `flops` and `bytes` exact, all of one rank and one micro-batch."""

    flops: int
    bytes: int
    time: int


@dataclass(frozen=True, slots=True)
class Communicate:
    """A collective over axes. `bytes` as ASTRA-sim counts them: the full buffer, for an all-gather the shard.

    `only` picks coordinates of a single axis (tied embeddings: first and last stage); () is all of them.
    """

    kind: Kind
    bytes: int
    axes: tuple[str, ...]
    only: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfer:
    """One side of a message to (`send`) or from the rank `offset` further along `axis`, modulo its size."""

    axis: str
    offset: int
    bytes: int
    tag: int
    send: bool


@dataclass(frozen=True, slots=True)
class Remote:
    """Bytes moved to (`store`) or from the remote memory."""

    bytes: int
    store: bool


Action: TypeAlias = Computation | Communicate | Transfer | Remote


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a rank and why it exists.

    Attributes:
        id: position in the list of steps, which is the order the rank issues them in.
        action: what is done.
        layer: name of the layer, or of the strategy's own unit (a bucket, a stage's boundary).
        phase: of the training step.
        micro_batch: from 0; None for what happens once a step.
        iteration: the training step, from 0.
        axis: the strategy that asked for it ("data", "tensor", ...), "" for compute.
        needs: ids whose results it uses.
        after: ids that must have ended before for order's sake alone.
    """

    id: int
    action: Action
    layer: str
    phase: Phase
    micro_batch: int | None = None
    iteration: int = 0
    axis: str = ""
    needs: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryFootprint:
    """Bytes that one rank keeps at the peak, by term; `pool` is its part of the memory pool, not of its own memory."""

    weights: int = 0
    gradients: int = 0
    optimizer: int = 0
    activations: int = 0
    buffers: int = 0
    pool: int = 0

    @property
    def total(self) -> int:
        """All terms of its own memory."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers


@dataclass(frozen=True)
class Twin:
    """How a stage differs from one that does alike and whose steps it shares.

    Attributes:
        names: of its layers, units and buckets, by those in the steps.
        shift: how many boundaries further along the pipeline it stands.
    """

    names: dict[str, str]
    shift: int


@dataclass(frozen=True)
class StageProgram:
    """What the ranks of one pipeline stage do, or those of its stragglers: the steps of one trace.

    Attributes:
        name: for people: `stage 2`, `all ranks`, `stage 0, slow`.
        stage: their coordinate on the pipeline axis (0 without one).
        slow: the ranks it is for when they are stragglers, () for all others of the stage.
        steps: in issue order; with a score, those of a sample.
        memory: at the peak of the step.
        score: how the sample makes the whole run; None where `steps` are all there are.
        twin: how it differs from the stage that the sample was made for; None where it was made for this one.
        busy: ns that a run takes at least, as far as a rank's computations tell, where that was asked for and no steps.
    """

    name: str
    stage: int
    slow: tuple[int, ...]
    steps: tuple[Step, ...]
    memory: MemoryFootprint
    score: Score | None = None
    twin: Twin | None = None
    busy: int = 0

    def in_order_of_nodes(self) -> tuple[Step, ...]:
        """The steps as the Job numbers them: sends first.

        A send that is ready then takes the slot before a collective that may have to wait.
        """
        sends = tuple(step for step in self.steps if isinstance(step.action, Transfer) and step.action.send)
        others = tuple(step for step in self.steps if not (isinstance(step.action, Transfer) and step.action.send))
        return (*sends, *others)


@dataclass(frozen=True)
class Plan:
    """The lowered training step.

    Attributes:
        spec: what was asked for.
        model: its layers.
        axes: of degree above 1, innermost first; strides and sizes multiply to the number of NPUs.
        programs: one a pipeline stage, and one for the stragglers of a stage that has any.
        micro_batch: samples at once.
        micro_batches: of one step on each rank.
        length: about how many steps all programs have together when every one is written down.
    """

    spec: Spec
    model: Model
    axes: tuple[Axis, ...]
    programs: tuple[StageProgram, ...]
    micro_batch: int
    micro_batches: int
    length: int

    def axis(self, name: str) -> Axis | None:
        """The axis of a name; None when there is none or its degree is 1."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def degree(self, name: str) -> int:
        """The degree of an axis, 1 when there is none."""
        axis = self.axis(name)
        return 1 if axis is None else axis.size
