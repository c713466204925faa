"""How a rank spends its time: every nanosecond goes to the first of these that runs, or to the bubble."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.estimate.model import ClassOfRanks
from astrac.job import Collective, Compute, Load, Send, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from astrac.job import Job, Op
    from astrac.simulators.protocol import RankResult
    from astrac.training.plan import Plan

_COMPUTE, _COMMUNICATION, _MEMORY, _HOST = range(4)


def breakdown(job: Job, ranks: RankResult, plan: Plan | None) -> ClassOfRanks:
    """The share of compute, exposed communication, memory, host work and waiting in a class's cycles."""
    ops = job.programs[ranks.program].ops
    intervals = [
        (start, end, kind)
        for op, (start, end) in zip(ops, ranks.spans, strict=True)
        if (kind := _kind(op)) is not None and end > start
    ]
    shares = _shares(intervals)
    name = f"program {ranks.program}" if plan is None else plan.programs[ranks.program].name
    return ClassOfRanks(
        name=name,
        ranks=ranks.ranks,
        rank=ranks.rank,
        cycles=ranks.cycles,
        compute=shares[_COMPUTE],
        communication=shares[_COMMUNICATION],
        memory=shares[_MEMORY],
        host=shares[_HOST],
        bubble=ranks.cycles - sum(shares),
    )


def whole(ranks: RankResult) -> ClassOfRanks:
    """Ranks of which nothing is known but how long they compute: the rest is exposed communication."""
    return ClassOfRanks("all ranks", ranks.ranks, ranks.rank, ranks.cycles, ranks.device, ranks.exposed, 0, 0, 0)


def _kind(op: Op) -> int | None:
    """None for receives: waiting for one is a bubble."""
    if op.host:
        return _HOST
    if isinstance(op, Compute):
        return _COMPUTE
    if isinstance(op, Collective | Send):
        return _COMMUNICATION
    return _MEMORY if isinstance(op, Load | Store) else None


def _shares(intervals: Iterable[tuple[int, int, int]]) -> list[int]:
    """Length of each kind where no kind before it runs."""
    events: list[tuple[int, int, int]] = []
    for start, end, kind in intervals:
        events += [(start, 1, kind), (end, -1, kind)]
    events.sort()
    running, shares, now = [0] * 4, [0] * 4, 0
    for time, change, kind in events:
        first = next((index for index, count in enumerate(running) if count), None)
        if first is not None:
            shares[first] += time - now
        now = time
        running[kind] += change
    return shares
