"""What an estimate holds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.units import Quantity, dimension

if TYPE_CHECKING:
    from astrac.simulators.protocol import Failure, Run
    from astrac.training.plan import MemoryFootprint


@dataclass(frozen=True)
class ClassOfRanks:
    """Ranks that act alike, and how one of them spends its time; the parts add up to `cycles`.

    Attributes:
        name: `stage 2`, or the program's number.
        ranks: how many.
        rank: the one whose figures these are.
        cycles: when it finishes, ns.
        compute: device compute.
        communication: a collective or a send runs and no compute: exposed communication.
        memory: a remote load or store runs and nothing of the above.
        host: host work and nothing of the above.
        bubble: nothing runs: waiting for others.
    """

    name: str
    ranks: int
    rank: int
    cycles: int
    compute: int
    communication: int
    memory: int
    host: int
    bubble: int


@dataclass(frozen=True)
class AxisTraffic:
    """What the slowest rank exchanges for one purpose.

    Attributes:
        axis: the strategy, or the dimensions or group of a foreign trace.
        kind: `all_reduce`, `send`, ...
        count: how many.
        bytes: of whole buffers, summed: for an all-gather what a rank holds afterwards.
        time: ns that they run (they never overlap each other).
        wire: ns that the bytes need at full bandwidth; where `time` is less, it beats the wire.
        algorithms: one a dimension that takes part; () for transfers.
    """

    axis: str
    kind: str
    count: int
    bytes: int
    time: int
    wire: int
    algorithms: tuple[str, ...] = ()


class LayerTime(NamedTuple):
    """Of one layer on the slowest rank, ns over all micro-batches and steps; communication hidden or not."""

    name: str
    forward: int
    backward: int
    optimizer: int
    communication: int
    bytes: int


@dataclass(frozen=True)
class Segment:
    """A part of the critical path: what, for how long in ns, and in how many pieces."""

    what: str
    time: int
    count: int


@dataclass(frozen=True)
class Throughput:
    """Of a training step.

    Attributes:
        samples_per_second, tokens_per_second: of all ranks together; tokens for sequence models.
        model_flops: a step's, without recomputation.
        utilisation: model FLOPs over peak FLOPs of all NPUs in the same time; None when the peak is unknown.
    """

    samples_per_second: float
    tokens_per_second: float | None
    model_flops: int
    utilisation: float | None


@dataclass(frozen=True)
class Estimate:
    """What a run will report, and where the time goes. All times are whole ns, which are ASTRA-sim's cycles.

    Attributes:
        cycles: when the last rank finishes; 0 when the run fails.
        steps: training steps in the run.
        npus: ranks; 0 where even their number is unknown.
        runs: cycles and exposed communication of all ranks, ascending, in runs of equal ones.
        failure: why the simulator would crash, hang or half-finish, or that nobody knows; None when it would not.
        doubt: why the figures may differ from the simulator's; None when they cannot.
        classes: how each kind of rank spends its time.
        traffic, layers, path: of the slowest rank.
        memory: of the rank that needs most; None without a Plan.
        throughput: None without a training step.
    """

    cycles: int
    steps: int
    npus: int
    runs: tuple[Run, ...] = ()
    failure: Failure | None = None
    doubt: str | None = None
    classes: tuple[ClassOfRanks, ...] = ()
    traffic: tuple[AxisTraffic, ...] = ()
    layers: tuple[LayerTime, ...] = ()
    path: tuple[Segment, ...] = ()
    memory: MemoryFootprint | None = None
    throughput: Throughput | None = None

    @property
    def fails(self) -> str | None:
        """Why there are no figures, for people; None when there are."""
        return None if self.failure is None else self.failure.reason

    @property
    def slowest(self) -> ClassOfRanks | None:
        """The class of the rank that finishes last; None when the run fails."""
        return max(self.classes, key=lambda entry: entry.cycles, default=None)

    def as_json(self) -> dict[str, Any]:
        """As `schemas/artifacts/estimate.schema.json` describes it. No number is NaN or infinite."""
        memory = self.memory
        return {
            "cycles_max": self.cycles,
            "steps": self.steps,
            "step_time_ns": self.cycles / self.steps,
            "npus": self.npus,
            "fails": self.fails,
            "doubt": self.doubt,
            "ranks": [run._asdict() for run in self.runs],
            "classes": [vars(entry) for entry in self.classes],
            "traffic": [
                vars(entry)
                | {"algorithms": list(entry.algorithms)}
                | {"bandwidth": entry.bytes / entry.time * 1e9 if entry.time else 0}
                for entry in self.traffic
            ],
            "layers": [entry._asdict() for entry in self.layers],
            "critical_path": [vars(entry) for entry in self.path],
            "memory": None if memory is None else {name: getattr(memory, name) for name in MEMORY_TERMS},
            "throughput": None if self.throughput is None else vars(self.throughput),
            "advice": list(self.advice),
        }

    def quantities(self) -> dict[str, Quantity]:
        """What assertions may ask for, by the path behind `estimate.`; times and shares are of the slowest rank."""
        found = {
            "step_time": Quantity(Fraction(self.cycles, self.steps * 10**9), dimension("s")),
            "cycles": Quantity(Fraction(self.cycles)),
        }
        slowest = self.slowest
        for name in ("compute", "communication", "memory_time", "bubble"):
            value = 0 if slowest is None else getattr(slowest, name.removesuffix("_time"))
            found[name] = Quantity(Fraction(value, 10**9), dimension("s"))
        if self.memory is not None:
            for name in MEMORY_TERMS:
                found[f"memory.{name}"] = Quantity(Fraction(getattr(self.memory, name)), dimension("B"))
        if self.throughput is not None:
            speed = self.throughput
            found["samples_per_second"] = Quantity(Fraction(speed.samples_per_second), dimension("Hz"))
            if speed.tokens_per_second is not None:
                found["tokens_per_second"] = Quantity(Fraction(speed.tokens_per_second), dimension("Hz"))
            if speed.utilisation is not None:
                found["utilisation"] = Quantity(Fraction(speed.utilisation))
        return found

    @property
    def advice(self) -> tuple[str, ...]:
        """Where the simulator is known to be optimistic."""
        return tuple(
            f"{entry.axis} {entry.kind} takes {entry.time:,} ns, less than the {entry.wire:,} ns that its bytes "
            "need at full bandwidth: the congestion-unaware network beats the wire"
            for entry in self.traffic
            if entry.wire > entry.time
        ) + tuple(
            f"{entry.axis} {entry.kind} runs `direct`, and every message gets the full bandwidth: on a ring "
            "or a switch that is more than there is"
            for entry in self.traffic
            if any(word.startswith(("direct", "oneDirect")) for word in entry.algorithms) and entry.wire <= entry.time
        )


MEMORY_TERMS = ("weights", "gradients", "optimizer", "activations", "buffers", "total")
