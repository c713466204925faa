"""A dimension is a queue of chunks, of which `active-chunks` run at once (docs/simulators/astra-sim-1.md, section 5).

The end of a phase takes effect on all NPUs when the last NPU of the event queue has reached it. An NPU's own events of
the same cycle come before that on all NPUs but the last; on the last one, what was scheduled first comes first. So, if
a chunk's phase ends and a collective starts in one cycle, and the end was scheduled earlier, NPUs may give a free slot
to different chunks - and then wait for each other for ever. A `Tie` remembers such a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.job import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from astrac.simulators.astra_sim_1.simulate.chunks import Phase


@dataclass(slots=True, eq=False)
class Chunk:
    """A chunk on its way through its phases.

    Attributes:
        collective: index of the collective that it is part of.
        priority: of that collective.
        phases: all of them.
        step: the one it is in.
        end: cycle in which a running one leaves it.
    """

    collective: int
    priority: int
    phases: tuple[Phase, ...]
    step: int = 0
    end: float = -1

    @property
    def phase(self) -> Phase:
        """The phase that it is in."""
        return self.phases[self.step]

    @property
    def last_scheduled(self) -> float:
        """When the event was scheduled with which a running one leaves its phase."""
        return self.end - self.phase.duration.tail[0]

    @property
    def left(self) -> int:
        """How many phases come after this one."""
        return len(self.phases) - self.step - 1


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
    waiting: Sequence[Chunk] = ()
    entered: list[Chunk] = field(default_factory=list)
    leaving: bool = False
    arriving: bool = False
    certain: bool = True


@dataclass(slots=True)
class Queue:
    """Running chunks, then waiting ones in an order.

    Attributes:
        rule: `intra-dimension-scheduling`.
        running: at once.
        tie: the last cycle in which the order of events depended on the NPU.
    """

    rule: str
    running: list[Chunk] = field(default_factory=list)
    tie: Tie = field(default_factory=lambda: Tie(-1))
    # Under FIFO a heap of (-priority, turn, chunk), which gives the order of its rule; else chunks in order.
    _line: list[tuple[int, int, Chunk]] = field(default_factory=list)
    _turn: int = 0

    @property
    def waiting(self) -> list[Chunk]:
        """Chunks in the order in which they will run."""
        line = sorted(self._line) if self.rule == "FIFO" else self._line
        return [chunk for *_, chunk in line]

    def take(self, slots: int) -> Chunk | None:
        """The first waiting chunk, which runs from now on; None when there is none, or `slots` chunks run."""
        if not self._line or len(self.running) >= slots:
            return None
        chunk = (heappop(self._line) if self.rule == "FIFO" else self._line.pop(0))[2]
        self.running.append(chunk)
        return chunk

    def insert(self, chunk: Chunk) -> None:
        """Behind all running chunks, and where the rule says among the waiting ones.

        FIFO: behind those of equal or higher priority. The other rules order reduce-scatters and all-gathers only.
        """
        self._turn += 1
        entry = (-chunk.priority, self._turn, chunk)
        if self.rule == "FIFO":
            heappush(self._line, entry)
            return
        ordered = chunk.phase.kind not in {Kind.ALL_REDUCE, Kind.ALL_TO_ALL}
        self._line.insert((RULES[self.rule] if ordered else _by_priority)(self, chunk), entry)

    def first(self, stop: Callable[[Chunk], bool]) -> int:
        """The place of the first waiting chunk of a sort, past the last one where there is none."""
        waiting = self.waiting
        return next((place for place, other in enumerate(waiting) if stop(other)), len(waiting))

    # -- ties

    def note(self, chunk: Chunk, ending: Iterable[Chunk], cycle: float, scheduled: float) -> None:
        """Remember that `chunk` enters in a cycle, by an event scheduled then, if one of `ending` leaves or enters."""
        for other in ending:
            leaving = other.phase.queue == chunk.phase.queue
            arriving = other.left > 0 and other.phases[other.step + 1].queue == chunk.phase.queue
            if not (leaving or arriving):
                continue
            if self.tie.cycle != cycle:
                self.tie = Tie(cycle, self.waiting)
            self.tie.leaving |= leaving
            self.tie.arriving |= arriving
            self.tie.certain &= scheduled > other.last_scheduled
            if chunk not in self.tie.entered:
                self.tie.entered.append(chunk)

    def leaving_matters(self, cycle: float) -> bool:
        """Whether the slots that fall free go to other chunks if they do so before the new ones enter."""
        tie = self.tie
        if tie.cycle != cycle or not tie.leaving:
            return False
        free = sum(chunk.end == cycle for chunk in self.running)
        early = [*tie.waiting, *tie.entered][:free]
        return {id(chunk) for chunk in early} != {id(chunk) for chunk in self.waiting[:free]}

    def arriving_matters(self, chunk: Chunk, cycle: float) -> bool:
        """Whether `chunk`, which has come after the new ones, would have fared better before them.

        It would if a new one runs and it does not. Where both wait, it may if their order depends on who came first.
        """
        tie = self.tie
        if tie.cycle != cycle or not tie.arriving or chunk in self.running:
            return False
        waiting = self.waiting
        behind = [other for other in tie.entered if other in waiting]
        if len(behind) < len(tie.entered):
            return True
        tie.certain = False
        return self.rule != "FIFO" or any(other.priority == chunk.priority for other in behind)


def ending_first(queues: Iterable[Queue], cycle: float, scheduled: float) -> list[Chunk]:
    """Chunks whose phase ends in the cycle, by an event that may have been scheduled before one scheduled then."""
    return [
        chunk for queue in queues for chunk in queue.running if chunk.end == cycle and scheduled >= chunk.last_scheduled
    ]


# -- rules of `intra-dimension-scheduling`: a chunk's place among the waiting ones


def _by_priority(queue: Queue, chunk: Chunk) -> int:
    """Before the first of lower priority."""
    return queue.first(lambda other: other.priority < chunk.priority)


def _smallest_first(queue: Queue, chunk: Chunk) -> int:
    """Before the first that is not smaller; a chunk with one more phase to go, at the end."""
    return queue.first(lambda other: chunk.left != 1 and other.phase.largest >= chunk.phase.largest)


def _fewest_phases_first(queue: Queue, chunk: Chunk) -> int:
    """Before the first that has as many phases to go, or more."""
    return queue.first(lambda other: other.left >= chunk.left)


def _alternating(queue: Queue, chunk: Chunk) -> int:
    """`RG`: behind higher priorities, and behind a reduce-scatter next to an all-gather.

    The simulator skips the first waiting chunk with the last running one, and looks at the kinds of neighbours.
    """
    chunks = [*queue.running, *queue.waiting]
    running = len(queue.running)
    place = min(running + 1, len(chunks)) if running else 0
    while place < len(chunks):
        around = {other.phase.kind for other in chunks[max(place - 1, 0) : place + 1]}
        if chunks[place].priority <= chunk.priority and around != {Kind.REDUCE_SCATTER, Kind.ALL_GATHER}:
            break
        place += 1
    return place - running


RULES: dict[str, Callable[[Queue, Chunk], int]] = {
    "SCF": _smallest_first,
    "lessRemainingPhaseFirst": _fewest_phases_first,
    "RG": _alternating,
}
