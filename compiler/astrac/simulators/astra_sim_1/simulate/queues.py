"""Section 5: each dimension is a queue of chunks, of which `active-chunks` run at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.job import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.simulators.astra_sim_1.simulate.chunks import Phase
    from astrac.simulators.astra_sim_1.simulate.ties import Tie


@dataclass(slots=True, eq=False)
class Chunk:
    """A chunk on its way.

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
        """The one it is in."""
        return self.phases[self.step]

    @property
    def last_scheduled(self) -> float:
        """When the event was scheduled with which a running one leaves its phase."""
        return self.end - self.phase.duration.tail[0]

    @property
    def left(self) -> int:
        """Phases after this one."""
        return len(self.phases) - self.step - 1


@dataclass(slots=True)
class Queue:
    """Running chunks, then waiting ones in an order.

    Attributes:
        rule: `intra-dimension-scheduling`.
        running: at once.
        tie: see `ties`.
    """

    rule: str
    running: list[Chunk] = field(default_factory=list)
    tie: Tie | None = None
    # Under FIFO a heap of (-priority, turn, chunk), which gives the order of its rule; else chunks in order.
    _line: list[tuple[int, int, Chunk]] = field(default_factory=list)
    _turn: int = 0

    @property
    def waiting(self) -> list[Chunk]:
        """In the order in which they will run."""
        line = sorted(self._line) if self.rule == "FIFO" else self._line
        return [chunk for *_, chunk in line]

    @property
    def is_waited_for(self) -> bool:
        """Whether any chunk waits."""
        return bool(self._line)

    def next(self) -> Chunk:
        """Take the first waiting chunk."""
        return (heappop(self._line) if self.rule == "FIFO" else self._line.pop(0))[2]

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
        self._line.insert(RULES[self.rule](self, chunk) if ordered else _priority(self, chunk), entry)


def _priority(queue: Queue, chunk: Chunk) -> int:
    """Before the first of lower priority."""
    return _first(queue, lambda other: other.priority < chunk.priority)


def _smallest_first(queue: Queue, chunk: Chunk) -> int:
    """Before the first that is not smaller; a chunk with one more phase to go, at the end."""
    if chunk.left == 1:
        return len(queue.waiting)
    return _first(queue, lambda other: other.phase.largest >= chunk.phase.largest)


def _fewest_phases_first(queue: Queue, chunk: Chunk) -> int:
    """Before the first that has as many phases to go, or more."""
    return _first(queue, lambda other: other.left >= chunk.left)


def _alternating(queue: Queue, chunk: Chunk) -> int:
    """`RG`: behind higher priorities, and behind a reduce-scatter next to an all-gather.

    The simulator skips the first waiting chunk with the last running one, and looks at the kinds of the last two.
    """
    chunks = [*queue.running, *queue.waiting]
    running = len(queue.running)
    before: Kind | None = None
    last: Kind | None = None
    place = 0
    while place < len(chunks):
        before, last = last, chunks[place].phase.kind
        if place < running:
            place += 1
            if place == running and place < len(chunks):
                before, last = last, chunks[place].phase.kind
                place += 1
        elif chunks[place].priority > chunk.priority or {before, last} == {Kind.REDUCE_SCATTER, Kind.ALL_GATHER}:
            place += 1
        else:
            break
    return place - running


def _first(queue: Queue, stop: Callable[[Chunk], bool]) -> int:
    waiting = queue.waiting
    return next((place for place, other in enumerate(waiting) if stop(other)), len(waiting))


RULES: dict[str, Callable[[Queue, Chunk], int]] = {
    "SCF": _smallest_first,
    "lessRemainingPhaseFirst": _fewest_phases_first,
    "RG": _alternating,
}
