"""Where the time goes: in a rank, by what is exchanged, by layer, and along the critical path."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import accumulate, compress
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from astrac.estimates.model import AxisTraffic, ClassOfRanks, LayerTime, Segment
from astrac.job import Collective, Compute, Kind, ListedGroup, Load, Receive, Send, Store, bytes_per_ns
from astrac.simulators.table import ports, word_in_groups
from astrac.training.plan import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.job import Group, Job, Op
    from astrac.simulators.protocol import RankResult, SimulationResult
    from astrac.training.plan import Plan, Step

_COMPUTE, _COMMUNICATION, _MEMORY, _HOST = range(4)


class _OpKind(NamedTuple):
    """What a node of a type is.

    Attributes:
        share: of the rank's time that it goes to; None for a receive: waiting for one is a bubble.
        slot: that it holds, unless it is host work; "" for none.
        word: for people.
    """

    share: int | None
    slot: str
    word: str


_KINDS: dict[type[Op], _OpKind] = {
    Compute: _OpKind(_COMPUTE, "device", "compute"),
    Collective: _OpKind(_COMMUNICATION, "network", "collective"),
    Send: _OpKind(_COMMUNICATION, "network", "send"),
    Load: _OpKind(_MEMORY, "network", "load"),
    Store: _OpKind(_MEMORY, "network", "store"),
    Receive: _OpKind(None, "", "waiting"),
}


def breakdown(job: Job, ranks: RankResult, plan: Plan | None) -> ClassOfRanks:
    """The share of compute, exposed communication, memory, host work and waiting in a class's cycles.

    Every nanosecond goes to the first of these that runs, or to the bubble.
    """
    shares = ranks.shares or _shares(job, ranks)
    name = f"program {ranks.program}" if plan is None else plan.programs[ranks.program].name
    bubble = ranks.cycles - sum(shares)
    return ClassOfRanks(name, ranks.ranks, ranks.rank, ranks.cycles, *(*shares, bubble))


def _shares(job: Job, ranks: RankResult) -> tuple[int, ...]:
    """The same without the bubble, from the times of all nodes."""
    events: list[tuple[int, int, int]] = []
    for op, (start, end) in zip(job.programs[ranks.program].ops, ranks.spans, strict=True):
        share = _HOST if op.host else _KINDS[type(op)].share
        if share is not None and end > start:
            events += [(start, 1, share), (end, -1, share)]
    running, shares, now = [0] * 4, [0] * 4, 0
    for time, change, share in sorted(events):
        first = next((index for index, count in enumerate(running) if count), None)
        if first is not None:
            shares[first] += time - now
        now = time
        running[share] += change
    return tuple(shares)


def whole(ranks: RankResult) -> ClassOfRanks:
    """Ranks of which nothing is known but how long they compute: the rest is exposed communication."""
    return ClassOfRanks("all ranks", ranks.ranks, ranks.rank, ranks.cycles, ranks.device, ranks.exposed, 0, 0, 0)


# -- traffic


def traffic(job: Job, ranks: RankResult, plan: Plan | None) -> tuple[AxisTraffic, ...]:
    """Sums over the nodes of one rank by purpose, with the time that the wire alone would need; largest first."""
    ops = job.programs[ranks.program].ops
    steps = () if plan is None else plan.programs[ranks.program].in_order_of_nodes()
    sums: dict[tuple[str, str, tuple[str, ...]], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    walls: dict[tuple[Kind, int, Group], tuple[int, dict[int, int]]] = {}
    crossing: dict[tuple[str, str, tuple[str, ...]], Counter[int]] = defaultdict(Counter)
    for index, (op, (start, end)) in enumerate(zip(ops, ranks.spans, strict=True)):
        axis = steps[index].axis if steps else ""
        words: tuple[str, ...] = ()
        if isinstance(op, Collective):
            key = (op.kind, op.bytes, op.group)
            if key not in walls:
                walls[key] = wire_time(job, op), sent(job, op)
            (wire, over), kind = walls[key], op.kind.name.lower()
            moved = op.bytes * (job.size(op.group) if op.kind is Kind.ALL_GATHER else 1)
            axis = axis or _group_name(op.group)
            words = _algorithms(job, op)
            crossing[axis, kind, words].update(over)
        elif isinstance(op, Send | Load | Store):
            wire, kind, moved = 0, _KINDS[type(op)].word, op.bytes
            axis = axis or ("transfers" if isinstance(op, Send) else "memory")
        else:
            continue
        entry = sums[axis, kind, words]
        for place, value in enumerate((1, moved, end - start, wire)):
            entry[place] += value
    found = [
        AxisTraffic(axis, kind, count, moved, time, wire, words, _named(crossing[axis, kind, words], job, plan))
        for (axis, kind, words), (count, moved, time, wire) in sums.items()
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.time, entry.axis, entry.kind)))


def _named(crossing: Counter[int], job: Job, plan: Plan | None) -> tuple[tuple[str, int], ...]:
    """Bytes by the names of dimensions, by their numbers where nobody names them."""
    names = [str(at) for at in range(len(job.machine.dimensions))]
    if plan is not None:
        names = [block.name for block in plan.spec.topology.dimensions]
    return tuple((names[at], crossing[at]) for at in sorted(crossing))


def _group_name(group: Group) -> str:
    if isinstance(group, ListedGroup):
        return f"group {group.id}"
    return "x".join(group.axes) or "all ranks"


def _algorithms(job: Job, op: Collective) -> tuple[str, ...]:
    words = job.machine.algorithms.get(op.kind, ())
    if len(words) == 1:
        return words
    if op.group.dimensions is None:
        return (word_in_groups(),) if job.size(op.group) < job.machine.npus else words
    return tuple(word for word, takes_part in zip(words, op.group.dimensions, strict=False) if takes_part)


_WIRE: dict[Kind, tuple[Callable[[int], float], Callable[[int], float]]] = {
    Kind.ALL_REDUCE: (lambda n: 2 * (n - 1) / n, lambda n: 1 / n),
    Kind.REDUCE_SCATTER: (lambda n: (n - 1) / n, lambda n: 1 / n),
    Kind.ALL_TO_ALL: (lambda n: (n - 1) / n, lambda _: 1.0),
    Kind.ALL_GATHER: (lambda n: float(n - 1), float),
}
"""For a dimension of n, the bytes that a rank sends and the bytes that it goes on with, both by those it has."""


def sent(job: Job, op: Collective) -> dict[int, int]:
    """Bytes that a rank sends along each dimension that takes part, by its number.

    Per rank and dimension of n: 2 (n-1)/n S for all-reduce, (n-1)/n S for reduce-scatter and all-to-all, (n-1) S for
    all-gather of shards S; on several dimensions S shrinks (grows) by n from one to the next.
    """
    if op.kind not in _WIRE:
        return {}
    moves, goes_on = _WIRE[op.kind]
    order = _involved(job, op.group)
    if op.kind is Kind.ALL_GATHER:
        order = order[::-1]
    sizes = [job.size(op.group)] if len(order) == 1 else [job.machine.dimensions[at].size for at in order]
    buffers = accumulate(map(goes_on, sizes), mul, initial=float(op.bytes))
    return {at: round(moves(n) * size) for at, n, size in zip(order, sizes, buffers, strict=False)}


def wire_time(job: Job, op: Collective) -> int:
    """Ns that the bytes of a collective need at full bandwidth, without latency: the largest of its dimensions.

    All links of a rank send at once where the dimension is fully connected.
    """
    rates = [bytes_per_ns(each.bandwidth) * ports(each.block, each.size) for each in job.machine.dimensions]
    return int(max((moved / rates[at] for at, moved in sent(job, op).items()), default=0.0))


def _involved(job: Job, group: Group) -> tuple[int, ...]:
    """Numbers of the dimensions that a collective runs on; of a group the first that its members differ in."""
    dimensions = job.machine.dimensions
    if group.dimensions is not None:
        return tuple(compress(range(len(dimensions)), group.dimensions))
    if job.size(group) == job.machine.npus:
        return tuple(range(len(dimensions)))
    first = group.members[1] - group.members[0] if isinstance(group, ListedGroup) else job.axis(group.axes[0]).stride
    edges = accumulate((dimension.size for dimension in dimensions), mul)
    return (next((at for at, edge in enumerate(edges) if abs(first) < edge), len(dimensions) - 1),)


def layers(job: Job, ranks: RankResult, plan: Plan | None) -> tuple[LayerTime, ...]:
    """Time by layer, in the order of the trace; () without a Plan."""
    if plan is None:
        return ()
    steps = plan.programs[ranks.program].in_order_of_nodes()
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for op, step, (start, end) in zip(job.programs[ranks.program].ops, steps, ranks.spans, strict=True):
        entry = sums[step.layer]
        if isinstance(op, Compute):
            entry[_COLUMNS.get(step.phase, "backward")] += end - start
        elif isinstance(op, Collective | Send | Load | Store):
            entry["communication"] += end - start
            entry["bytes"] += op.bytes
    order = {layer.name: index for index, layer in enumerate(plan.model.layers)}
    names = sorted(sums, key=lambda name: (order.get(name, len(order)), name))
    return tuple(LayerTime(name, *(sums[name][column] for column in LayerTime._fields[1:])) for name in names)


_COLUMNS = {Phase.FORWARD: "forward", Phase.OPTIMIZER: "optimizer"}


# -- critical path


def critical_path(job: Job, result: SimulationResult, plan: Plan | None) -> tuple[Segment, ...]:
    """Why it is slow: the chain of nodes that the last rank to finish waits for, from its end to its start.

    The path's nodes are summed by what they are, longest first; their times add up to the cycles.

    Each node is reached from the one that ended last among those it depends on and those that held its slot: time in
    between is waiting. A receive that waited for its message is followed to the sender, on a rank of its class.
    """

    @cache
    def timeline_of(index: int) -> _Timeline:
        return _Timeline(job, result.classes[index], plan)

    slowest = max(range(len(result.classes)), key=lambda index: result.classes[index].cycles)
    timeline, rank, now = timeline_of(slowest), result.classes[slowest].rank, result.cycles
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def add(what: str, until: int) -> int:
        """Time from `until` to now goes to `what`; returns the new now."""
        if now > until:
            sums[what][0] += now - until
            sums[what][1] += 1
        return min(now, until)

    here = timeline.last()
    for _ in range(sum(len(job.programs[each.program].ops) for each in result.classes) + 1):
        if here is None or now <= 0:
            break
        start, end = timeline.spans[here]
        now = add("waiting", end)
        op = timeline.ops[here]
        sender = _sender(job, result, timeline_of, op, rank, now) if isinstance(op, Receive) else None
        if sender is not None:
            timeline, rank, here = sender
            op, start = timeline.ops[here], timeline.spans[here][0]
        now = add(timeline.what(here), start)
        here = timeline.before(here, now)
    add("waiting", 0)
    found = [Segment(what, time, count) for what, (time, count) in sums.items()]
    return tuple(sorted(found, key=lambda segment: (-segment.time, segment.what)))


class _Timeline:
    """The nodes of one class of ranks, in time."""

    def __init__(self, job: Job, ranks: RankResult, plan: Plan | None) -> None:
        self.ops: Sequence[Op] = job.programs[ranks.program].ops
        self.spans = ranks.spans
        self._steps: Sequence[Step] = () if plan is None else plan.programs[ranks.program].in_order_of_nodes()
        self._index_of = {op.id: index for index, op in enumerate(self.ops)}
        self._slots = _slots(self.ops, ranks.spans)
        self.sends: dict[tuple[str, int], list[int]] = defaultdict(list)
        for index, op in enumerate(self.ops):
            if isinstance(op, Send):
                self.sends[op.axis, op.tag].append(index)

    def last(self) -> int | None:
        """The node that ends last."""
        return max(range(len(self.ops)), key=lambda index: (self.spans[index][1], index), default=None)

    def before(self, here: int, time: int) -> int | None:
        """The node that ended last, not after a time, of those that a node waited for."""
        op = self.ops[here]
        sources = [self._index_of[need] for need in (*op.data, *op.control) if need in self._index_of]
        if here in self._slots:
            sources.append(self._slots[here])
        ended = (at for at in sources if self.spans[at][1] <= time)
        return max(ended, key=lambda at: self.spans[at][1], default=None)

    def what(self, here: int) -> str:
        """What a node is, for the table of the critical path."""
        op, step = self.ops[here], self._steps[here] if self._steps else None
        if isinstance(op, Collective):
            return " ".join(filter(None, ("" if step is None else step.axis, op.kind.name.lower())))
        word = _KINDS[type(op)].word
        if isinstance(op, Load | Store):
            return f"remote {word}"
        return f"{word}, {step.phase.value}" if isinstance(op, Compute) and step is not None else word


def _sender(
    job: Job, result: SimulationResult, timeline_of: Callable[[int], _Timeline], op: Receive, rank: int, now: int
) -> tuple[_Timeline, int, int] | None:
    """Lane, rank and node of the send whose arrival ended a receive; None when the receive did not wait for it."""
    peer = job.axis(op.axis).peer(rank, op.offset)
    point = [axis.coordinate(peer) for axis in job.axes]
    holding = (at for at, ranks in enumerate(result.classes) if any(box.holds(point) for box in ranks.boxes))
    index = next(holding, None)
    if index is None:
        return None
    timeline = timeline_of(index)
    sends = [at for at in timeline.sends.get((op.axis, op.tag), ()) if timeline.spans[at][1] == now]
    return (timeline, peer, sends[0]) if sends else None


def _slots(ops: Sequence[Op], spans: tuple[tuple[int, int], ...]) -> dict[int, int]:
    """For each node, the one that held its slot just before."""
    last: dict[str, int] = {}
    found: dict[int, int] = {}
    for index in sorted(range(len(ops)), key=lambda index: spans[index]):
        slot = "host" if ops[index].host else _KINDS[type(ops[index])].slot
        if slot and slot in last:
            found[index] = last[slot]
        if slot:
            last[slot] = index
    return found
