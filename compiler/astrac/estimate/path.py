"""Why it is slow: the chain of nodes that the last rank to finish waits for, from its end to its start."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

from astrac.estimate.model import Segment
from astrac.job import Collective, Compute, Load, Receive, Send, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.job import Job, Op
    from astrac.simulators.protocol import RankResult, SimulationResult
    from astrac.training.plan import Plan, Step


def critical_path(job: Job, result: SimulationResult, plan: Plan | None) -> tuple[Segment, ...]:
    """The path's nodes, summed by what they are, longest first; their times add up to the cycles.

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
        step = self._steps[here] if self._steps else None
        return _what(self.ops[here], "" if step is None else step.phase.value, "" if step is None else step.axis)


def _sender(
    job: Job, result: SimulationResult, timeline_of: Callable[[int], _Timeline], op: Receive, rank: int, now: int
) -> tuple[_Timeline, int, int] | None:
    """Lane, rank and node of the send whose arrival ended a receive; None when the receive did not wait for it."""
    peer = job.axis(op.axis).peer(rank, op.offset)
    index = next((at for at, ranks in enumerate(result.classes) if _holds(job, ranks, peer)), None)
    if index is None:
        return None
    timeline = timeline_of(index)
    sends = [at for at in timeline.sends.get((op.axis, op.tag), ()) if timeline.spans[at][1] == now]
    return (timeline, peer, sends[0]) if sends else None


def _holds(job: Job, ranks: RankResult, rank: int) -> bool:
    point = [axis.coordinate(rank) for axis in job.axes]
    return any(box.holds(point) for box in ranks.boxes)


def _slots(ops: Sequence[Op], spans: tuple[tuple[int, int], ...]) -> dict[int, int]:
    """For each node, the one that held its slot just before."""
    last: dict[str, int] = {}
    found: dict[int, int] = {}
    for index in sorted(range(len(ops)), key=lambda index: spans[index]):
        slot = "host" if ops[index].host else _SLOTS[type(ops[index])]
        if slot and slot in last:
            found[index] = last[slot]
        if slot:
            last[slot] = index
    return found


_SLOTS: dict[type[Op], str] = {
    Compute: "device",
    Collective: "network",
    Send: "network",
    Load: "network",
    Store: "network",
    Receive: "",
}


def _what(op: Op, phase: str, axis: str) -> str:
    if isinstance(op, Compute):
        return f"compute, {phase}" if phase else "compute"
    if isinstance(op, Collective):
        return " ".join(word for word in (axis, op.kind.name.lower()) if word)
    if isinstance(op, Receive):
        return "waiting"
    return {Send: "send", Load: "remote load", Store: "remote store"}[type(op)]
