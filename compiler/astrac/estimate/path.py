"""Why it is slow: the chain of nodes that the last rank to finish waits for, from its end to its start."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from astrac.estimate.model import Segment
from astrac.job import Collective, Compute, Load, Receive, Send, Store

if TYPE_CHECKING:
    from astrac.job import Job, Op
    from astrac.plan import Plan
    from astrac.player.playback import Played


def critical_path(job: Job, played: Played, plan: Plan | None) -> tuple[Segment, ...]:
    """The path's nodes, summed by what they are, longest first.

    Each node is reached from the one that ended last among those it depends on and those that held its slot: time in
    between is waiting. A receive is followed no further than this rank.
    """
    ops = job.programs[played.program].ops
    if not ops:
        return ()
    steps = () if plan is None else plan.duties[played.program].in_order_of_nodes()
    index_of = {op.id: index for index, op in enumerate(ops)}
    before = _slots(ops, played.spans)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    now = played.cycles
    here: int | None = max(range(len(ops)), key=lambda index: (played.spans[index][1], index))
    while here is not None and now > 0:
        start, end = played.spans[here]
        if now > end:
            _add(sums, "waiting", now - end)
        _add(
            sums,
            _what(ops[here], steps[here].phase.value if steps else "", steps[here].axis if steps else ""),
            end - start,
        )
        now = start
        sources = [index_of[need] for need in (*ops[here].data, *ops[here].control) if need in index_of]
        if here in before:
            sources.append(before[here])
        here = max(
            (at for at in sources if played.spans[at][1] <= start), key=lambda at: played.spans[at][1], default=None
        )
    if now > 0:
        _add(sums, "waiting", now)
    found = [Segment(what, time, count) for what, (time, count) in sums.items() if time]
    return tuple(sorted(found, key=lambda segment: (-segment.time, segment.what)))


def _add(sums: dict[str, list[int]], what: str, time: int) -> None:
    sums[what][0] += time
    sums[what][1] += 1


def _slots(ops: tuple[Op, ...], spans: tuple[tuple[int, int], ...]) -> dict[int, int]:
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
