"""ASTRA-SIM-2 section 3.4 for members that start apart: every member's chunks in its queues, phases by recurrence.

It knows what `members` knows, at a cost that follows members x chunks and not messages, but for the order of events
within a tick.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_2.simulate.members import Ends, messages_apart
from astrac.simulators.astra_sim_2.simulate.network import TooMuch
from astrac.simulators.astra_sim_2.simulate.phases import Family
from astrac.simulators.astra_sim_2.simulate.recurrence import PHASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.simulators.astra_sim_2.simulate.members import Trees
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course


MAX_CHUNKS = 2_000_000
"""Members x chunks x phases of one collective that are played."""


class _Unknown(Exception):  # noqa: N818 - a finding, not an error
    """A phase whose messages must be played, or chunks that enter a queue in one tick."""


def apart(
    network: Network, course: Course, starts: Sequence[tuple[int, int]], trees: Trees, limit: int, *, ordered: bool
) -> Ends:
    """When each member of a collective ends.

    Args:
        network: of the machine.
        course: of the collective.
        starts: rank and tick of each member; those that start in one tick do so in this order.
        trees: how many trees of each kind and level they have used before.
        limit: events that may be played.
        ordered: whether the order in which they end matters: then messages are played.

    Raises:
        Broken: when members never end.
        TooMuch: when it is too much to play.
    """
    if course.count * len(course.phases) * len(starts) > MAX_CHUNKS:
        raise TooMuch
    if not ordered and network.machine.queues == 1:
        try:
            return _Members(network, course, starts, trees).play()
        except _Unknown:
            pass
    return messages_apart(network, course, starts, trees, limit)


class _Members:
    """All members of one collective."""

    def __init__(self, network: Network, course: Course, starts: Sequence[tuple[int, int]], trees: Trees) -> None:
        self._network = network
        self._course = course
        self._starts = starts
        self._trees = dict(trees)
        self._servers = network.machine.active_chunks
        self._second: dict[tuple[int, int], bool] = {}
        self._rings: dict[tuple[int, int], tuple[int, ...]] = {}
        self._come: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
        self._running: dict[tuple[int, int], int] = defaultdict(int)
        self._waiting: dict[tuple[int, int], deque[tuple[int, int]]] = defaultdict(deque)
        self._entered: dict[tuple[int, int], tuple[int, int]] = {}
        self._events: list[tuple[int, int, int, int, int]] = []
        self._order = 0
        self._now = 0
        self._left = {rank: course.count for rank, _ in starts}
        self._ends: dict[int, int] = {}

    def play(self) -> Ends:
        """To the end; raises `_Unknown` where only messages tell."""
        self._number_trees()
        for rank, tick in self._starts:
            self._push(tick, rank, -1, -1)
        while self._events:
            self._now, _, rank, chunk, phase = heappop(self._events)
            if chunk < 0:
                for number in range(self._course.count):
                    self._enter(rank, number, 0)
                continue
            if phase + 1 < len(self._course.phases):
                self._look(rank, phase + 1)
                self._enter(rank, chunk, phase + 1)
            else:
                self._left[rank] -= 1
                if not self._left[rank]:
                    self._ends[rank] = self._now
            level = self._course.phases[phase].level
            self._running[rank, level] -= 1
            self._serve(rank, level)
        if len(self._ends) < len(self._starts):
            raise _Unknown
        index = {rank: number for number, (rank, _) in enumerate(self._starts)}
        return Ends(tuple(self._ends[rank] for rank, _ in self._starts), tuple(index[rank] for rank in self._ends))

    def _number_trees(self) -> None:
        for chunk in range(self._course.count):
            for number, phase in enumerate(self._course.phases):
                if phase.algorithm.family is Family.TREE:
                    used = self._trees.get((self._course.kind, phase.level), 0)
                    self._second[chunk, number] = bool(used % 2)
                    self._trees[self._course.kind, phase.level] = used + 1

    def _push(self, tick: int, rank: int, chunk: int, phase: int) -> None:
        self._order += 1
        heappush(self._events, (tick, self._order, rank, chunk, phase))

    def _look(self, rank: int, phase: int) -> None:
        """Two chunks that enter a queue in one tick: unless they are alike or both begin, the order is not known."""
        place = rank, self._course.phases[phase].level
        before = self._entered.get(place, (-1, -1))
        alike = before[1] == phase and not self._second
        if before[0] == self._now and not alike and self._running[place]:
            raise _Unknown
        self._entered[place] = (self._now, phase)

    def _enter(self, rank: int, chunk: int, phase: int) -> None:
        place = rank, self._course.phases[phase].level
        self._waiting[place].append((chunk, phase))
        self._serve(*place)

    def _serve(self, rank: int, level: int) -> None:
        place = rank, level
        waiting = self._waiting[place]
        while waiting and self._running[place] < self._servers:
            chunk, phase = waiting.popleft()
            self._running[place] += 1
            self._come_to(rank, chunk, phase)

    def _come_to(self, rank: int, chunk: int, phase: int) -> None:
        """A member starts a phase; when all of its ring have, their ends follow."""
        ring = self._ring(rank, phase)
        come = self._come[chunk, phase, ring[0]]
        come[rank] = self._now
        if len(come) < len(ring):
            return
        way = self._course.phases[phase]
        second = self._second.get((chunk, phase), False)
        ends = PHASES[way.algorithm.family](self._network, way, ring, [come[member] for member in ring], second)
        if ends is None or min(ends) < self._now:
            raise _Unknown
        for member, end in zip(ring, ends, strict=True):
            self._push(end, member, chunk, phase)

    def _ring(self, rank: int, phase: int) -> tuple[int, ...]:
        """The ranks of a member's ring in a phase, by index."""
        if (rank, phase) not in self._rings:
            circle = self._course.phases[phase].circle
            ring = circle.members or tuple(circle.rank(rank, index) for index in range(circle.size))
            for member in ring:
                self._rings[member, phase] = ring
        return self._rings[rank, phase]
