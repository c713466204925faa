"""Cycles in which the order of events depends on the NPU.

The end of a phase takes effect on all NPUs when the last NPU of the event queue has reached it. An NPU's own events of
the same cycle come before that on all NPUs but the last; on the last one, what was scheduled first comes first. So, if
a chunk's phase ends and a collective starts in one cycle, and the end was scheduled earlier, NPUs may give a free slot
to different chunks - and then wait for each other for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from astrac.simulators.astra_sim_1.simulate.queues import Chunk, Queue


@dataclass(slots=True)
class Tie:
    """New chunks have entered a queue in the cycle in which an old one leaves or enters it.

    Attributes:
        cycle: when.
        waiting: chunks that waited before the new ones came.
        entered: the new ones, in order.
        leaving, arriving: an old one leaves the queue, enters it.
        certain: the old one's event was scheduled first, not just possibly so.
    """

    cycle: float
    waiting: list[Chunk]
    entered: list[Chunk] = field(default_factory=list)
    leaving: bool = False
    arriving: bool = False
    certain: bool = True


def ending_first(queues: Iterable[Queue], cycle: float, scheduled: float) -> list[Chunk]:
    """Chunks whose phase ends in the cycle, by an event that may have been scheduled before one scheduled then."""
    return [
        chunk for queue in queues for chunk in queue.running if chunk.end == cycle and scheduled >= chunk.last_scheduled
    ]


def note(queue: Queue, chunk: Chunk, ending: list[Chunk], cycle: float, scheduled: float) -> None:
    """Remember that `chunk` enters the queue, if one that ends leaves it or enters it too."""
    for other in ending:
        leaving = other.phase.queue == chunk.phase.queue
        arriving = other.left > 0 and other.phases[other.step + 1].queue == chunk.phase.queue
        if not (leaving or arriving):
            continue
        if queue.tie is None or queue.tie.cycle != cycle:
            queue.tie = Tie(cycle, queue.waiting)
        tie = queue.tie
        tie.leaving |= leaving
        tie.arriving |= arriving
        tie.certain &= scheduled > other.last_scheduled
        if chunk not in tie.entered:
            tie.entered.append(chunk)


def leaving_matters(queue: Queue, tie: Tie) -> bool:
    """Whether the slots that fall free go to other chunks if they do so before the new ones enter."""
    free = sum(chunk.end == tie.cycle for chunk in queue.running)
    early = (tie.waiting + tie.entered)[:free]
    return tie.leaving and {id(chunk) for chunk in early} != {id(chunk) for chunk in queue.waiting[:free]}


def arriving_matters(queue: Queue, tie: Tie, chunk: Chunk) -> bool:
    """Whether `chunk`, which has come after the new ones, would have fared better before them.

    It would if a new one runs and it does not. Where both wait, it may if their order depends on who came first.
    """
    if not tie.arriving or chunk in queue.running:
        return False
    waiting = queue.waiting
    behind = [other for other in tie.entered if other in waiting]
    if len(behind) < len(tie.entered):
        return True
    tie.certain = False
    return queue.rule != "FIFO" or any(other.priority == chunk.priority for other in behind)
