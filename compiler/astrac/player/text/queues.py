"""Section 5: each dimension is a queue of chunks, of which `active-chunks` run at once."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astrac.job import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.player.text.chunks import Phase
    from astrac.player.text.ties import Tie


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
    """Running chunks, then waiting ones in order.

    Attributes:
        running, waiting: see there.
        tie: see `ties`.
    """

    running: list[Chunk] = field(default_factory=list)
    waiting: list[Chunk] = field(default_factory=list)
    tie: Tie | None = None

    def insert(self, chunk: Chunk, rule: str) -> None:
        """Behind all running chunks, and where `intra-dimension-scheduling` says among the waiting ones.

        The other rules order reduce-scatters and all-gathers only.
        """
        if rule != "FIFO" and chunk.phase.kind in {Kind.ALL_REDUCE, Kind.ALL_TO_ALL}:
            rule = "priority"
        self.waiting.insert(RULES[rule](self, chunk), chunk)


def _fifo(queue: Queue, chunk: Chunk) -> int:
    """Behind those of equal or higher priority; all were put in so, hence in order."""
    return bisect_right(queue.waiting, -chunk.priority, key=lambda other: -other.priority)


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
    return next((place for place, other in enumerate(queue.waiting) if stop(other)), len(queue.waiting))


RULES: dict[str, Callable[[Queue, Chunk], int]] = {
    "FIFO": _fifo,
    "priority": _priority,
    "SCF": _smallest_first,
    "lessRemainingPhaseFirst": _fewest_phases_first,
    "RG": _alternating,
}
