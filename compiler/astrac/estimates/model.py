"""What an estimate holds, and how it is told: as JSON, as quantities, and as text in units that are chosen to read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.figures import amount, columns, duration, rate, share, size
from astrac.simulators.protocol import Outcome
from astrac.units import Quantity, dimension

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

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
        sent: dimensions that take part, and the bytes that a rank sends along each; () for transfers.
    """

    axis: str
    kind: str
    count: int
    bytes: int
    time: int
    wire: int
    algorithms: tuple[str, ...] = ()
    sent: tuple[tuple[str, int], ...] = ()


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
        backend: of the simulator; None for its first.
        assumes: what the figures rest on that the spec leaves to defaults, or that other counts do otherwise.
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
    backend: str | None = None
    assumes: tuple[str, ...] = ()

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
            **({} if self.backend is None else {"backend": self.backend}),
            "fails": self.fails,
            "doubt": self.doubt,
            "ranks": [run._asdict() for run in self.runs],
            "classes": [vars(entry) for entry in self.classes],
            "traffic": [
                vars(entry)
                | {"algorithms": list(entry.algorithms), "sent": dict(entry.sent)}
                | {"bandwidth": entry.bytes / entry.time * 1e9 if entry.time else 0}
                for entry in self.traffic
            ],
            "layers": [entry._asdict() for entry in self.layers],
            "critical_path": [vars(entry) for entry in self.path],
            "memory": None if memory is None else {name: getattr(memory, name) for name in MEMORY_TERMS},
            "throughput": None if self.throughput is None else vars(self.throughput),
            "advice": list(self.advice),
            "assumes": list(self.assumes),
        }

    def quantities(self) -> dict[str, Quantity]:
        """What assertions may ask for, by the path behind `estimate.`; times and shares are of the slowest rank.

        Rates (`tokens_per_second`) are plain numbers.
        """
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
            found["samples_per_second"] = Quantity(Fraction(speed.samples_per_second))
            if speed.tokens_per_second is not None:
                found["tokens_per_second"] = Quantity(Fraction(speed.tokens_per_second))
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

# -- for people

ROWS = 12
"""Layers and path segments that are shown; JSON has all."""

_FAILS = {
    Outcome.UNKNOWN: "no estimate",
    Outcome.HALF_FINISHED: "the simulator would say that it finished, and leave nodes out",
}

_HEADS = {"communication": "exposed communication"}


def text(estimate: Estimate, title: str) -> str:
    """The report of one estimate; ends with a line break."""
    failure = estimate.failure
    if failure is not None:
        return f"{title}\n  {_FAILS.get(failure.outcome, 'the simulator would not finish')}: {failure.reason}\n"
    sections = (
        _summary(estimate),
        _classes(estimate),
        _traffic(estimate),
        _layers(estimate),
        _path(estimate),
        _memory(estimate),
        [f"note: {line}" for line in estimate.advice],
    )
    body = "\n\n".join("\n".join(f"  {line}" for line in section) for section in sections if section)
    return f"{title}\n{body}\n"


def brief(estimate: Estimate) -> list[str]:
    """The figures that follow a build."""
    if estimate.fails is not None:
        return [f"{'step time':<12}{estimate.fails}"]
    lines = [f"{'step time':<12}{duration(estimate.cycles / estimate.steps)}, {estimate.cycles:,} cycles of 1 ns"]
    slowest = estimate.slowest
    if slowest is not None:
        times = [(name, getattr(slowest, name)) for name in ("compute", "communication", "memory", "bubble")]
        parts = [f"{_HEADS.get(name, name)} {share(time, slowest.cycles)}" for name, time in times if time]
        lines.append(f"{'of which':<12}{', '.join(parts)}")
    if estimate.memory is not None:
        lines.append(f"{'memory':<12}{size(estimate.memory.total)} a rank")
    return lines


def _summary(estimate: Estimate) -> list[str]:
    lines = [f"{'step time':<12}{duration(estimate.cycles / estimate.steps)}"]
    if estimate.steps > 1:
        lines.append(f"{'run':<12}{duration(estimate.cycles)}, {estimate.steps} steps")
    lines.append(f"{'cycles':<12}{estimate.cycles:,} (1 cycle = 1 ns) on {estimate.npus:,} NPUs")
    if estimate.backend is not None:
        lines.append(f"{'network':<12}{estimate.backend}")
    speed = estimate.throughput
    if speed is not None:
        lines.append(f"{'samples':<12}{rate(speed.samples_per_second)}/s")
        if speed.tokens_per_second is not None:
            lines.append(f"{'tokens':<12}{rate(speed.tokens_per_second)}/s")
        if speed.utilisation is not None:
            lines.append(
                f"{'model FLOPs':<12}{amount(speed.model_flops, 'FLOP')} a step, {speed.utilisation:.1%} of the peak"
            )
    lines += [f"{'assumes':<12}{line}" for line in estimate.assumes]
    if estimate.doubt is not None:
        lines.append(f"{'note':<12}{estimate.doubt}")
    return lines


def _classes(estimate: Estimate) -> list[str]:
    names = ("compute", "communication", "memory", "host", "bubble")
    used = [name for name in names if any(getattr(entry, name) for entry in estimate.classes)]
    rows = []
    for entry in estimate.classes:
        shares = [f"{duration(getattr(entry, name))} {share(getattr(entry, name), entry.cycles)}" for name in used]
        rows.append([entry.name, f"{entry.ranks:,}", duration(entry.cycles), *shares])
    return _table(["ranks", "", "total", *(_HEADS.get(name, name) for name in used)], rows)


def _table(head: list[str], rows: list[list[str]], left: Container[int] = (0,)) -> list[str]:
    """Lines of a table under its head; none without rows."""
    return columns([head, *rows], left) if rows else []


def _traffic(estimate: Estimate) -> list[str]:
    rows = []
    for entry in estimate.traffic:
        faster = " (beats the wire)" if entry.wire > entry.time else ""
        wire = duration(entry.wire) + faster if entry.wire else ""
        words = " ".join(entry.algorithms)
        several = ", ".join(f"{name} {size(moved)}" for name, moved in entry.sent) if len(entry.sent) > 1 else ""
        row = [entry.axis, entry.kind, words, f"{entry.count:,}", size(entry.bytes), duration(entry.time), wire]
        rows.append([*row, several])
    head = ["exchange", "", "algorithm", "count", "bytes", "time", "wire alone", "a rank sends along"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return _table(head, rows, left=(*range(3), 7))


def _layers(estimate: Estimate) -> list[str]:
    kinds = _kinds(estimate.layers)
    shown = set(sorted(kinds, key=lambda row: -sum(row[1:-1]))[:ROWS])
    rows = [[row.name, *map(duration, row[1:-1]), size(row.bytes)] for row in kinds if row in shown]
    lines = _table(["layer", "forward", "backward", "optimizer", "communication", "bytes"], rows)
    rest = len(kinds) - len(shown)
    return [*lines, f"... and {rest} smaller ones (--format json has all)"] if rest else lines


def _kinds(layers: Sequence[LayerTime]) -> list[LayerTime]:
    """Layers that repeat (`block0.up`, `block1.up`, ...) as one row."""
    groups: dict[str, list[LayerTime]] = {}
    for layer in layers:
        groups.setdefault(re.sub(r"^block\d+", "block*", layer.name), []).append(layer)
    return [
        LayerTime(
            f"{name} x {len(rows)}" if len(rows) > 1 else rows[0].name,
            *map(sum, zip(*(row[1:] for row in rows), strict=True)),
        )
        for name, rows in groups.items()
    ]


def _path(estimate: Estimate) -> list[str]:
    rows = [
        [segment.what, duration(segment.time), share(segment.time, estimate.cycles), f"{segment.count:,}"]
        for segment in estimate.path[:ROWS]
    ]
    return _table(["critical path", "time", "share", "pieces"], rows)


def _memory(estimate: Estimate) -> list[str]:
    terms = [] if estimate.memory is None else [(name, getattr(estimate.memory, name)) for name in MEMORY_TERMS]
    return _table(["memory", "bytes"], [[name, size(value)] for name, value in terms if value])
