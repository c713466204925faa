"""How long a collective lasts whose members start apart: every member's chunks in its queues, phases by formula.

docs/simulators/astra-sim-2.md, section 3.4. It knows what `members` knows, at a cost that follows members x chunks and
not messages, but for the order of events within a tick.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.astra_sim_2.simulate.chunk_queue import ChunkQueue
from astrac.simulators.astra_sim_2.simulate.duration import RingCosts
from astrac.simulators.astra_sim_2.simulate.members import Ends, messages_apart
from astrac.simulators.astra_sim_2.simulate.network import TooMuch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.members import Turns
    from astrac.simulators.astra_sim_2.simulate.network import Network

MAX_CHUNKS = 2_000_000
"""Members x chunks x phases of one collective that are played."""


class _Unknown(Exception):  # noqa: N818 - a finding, not an error
    """A phase whose messages must be played, or chunks that enter a queue in one tick."""


def staggered(
    network: Network,
    schedule: CollectiveSchedule,
    starts: Sequence[tuple[int, int]],
    turns: Turns,
    limit: int,
    *,
    ordered: bool,
) -> Ends:
    """When each member of a collective ends.

    Args:
        network: of the machine.
        schedule: of the collective.
        starts: rank and tick of each member; those that start in one tick do so in this order.
        turns: how many variants of an algorithm they have used before, by kind and level.
        limit: events that may be played.
        ordered: whether the order in which they end matters: then messages are played.

    Raises:
        Broken: when members never end.
        TooMuch: when it is too much to play.
    """
    if schedule.count * len(schedule.phases) * len(starts) > MAX_CHUNKS:
        raise TooMuch
    if not ordered and network.machine.queues == 1:
        try:
            return _Members(network, schedule, starts, turns).play()
        except _Unknown:
            pass
    return messages_apart(network, schedule, starts, turns, limit)


class _Chunk(NamedTuple):
    """A chunk on a member's way: its number, and the index of its phase."""

    rank: int
    number: int
    phase: int


class _Members:
    """All members of one collective."""

    def __init__(
        self, network: Network, schedule: CollectiveSchedule, starts: Sequence[tuple[int, int]], turns: Turns
    ) -> None:
        self._schedule = schedule
        self._phases = schedule.phases
        self._starts = starts
        self._turns = _turns(schedule, turns)
        self._costs = [RingCosts(network, phase.ring) for phase in schedule.phases]
        self._rings: dict[tuple[int, int], tuple[int, ...]] = {}
        self._come: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
        servers = network.machine.active_chunks
        self._queues: dict[tuple[int, int], ChunkQueue[_Chunk]] = defaultdict(lambda: ChunkQueue(servers))
        self._entered: dict[tuple[int, int], tuple[int, int]] = {}
        self._events: list[tuple[int, int, _Chunk]] = []
        self._order = 0
        self._now = 0
        self._left = {rank: schedule.count for rank, _ in starts}
        self._ends: dict[int, int] = {}

    def play(self) -> Ends:
        """To the end; raises `_Unknown` where only messages tell."""
        for rank, tick in self._starts:
            self._push(tick, _Chunk(rank, -1, -1))
        while self._events:
            self._now, _, chunk = heappop(self._events)
            if chunk.phase < 0:
                for number in range(self._schedule.count):
                    self._enter(_Chunk(chunk.rank, number, 0))
            else:
                self._end(chunk)
        if len(self._ends) < len(self._starts):
            raise _Unknown
        index = {rank: number for number, (rank, _) in enumerate(self._starts)}
        return Ends(tuple(self._ends[rank] for rank, _ in self._starts), tuple(index[rank] for rank in self._ends))

    def _push(self, tick: int, chunk: _Chunk) -> None:
        self._order += 1
        heappush(self._events, (tick, self._order, chunk))

    def _end(self, chunk: _Chunk) -> None:
        """A chunk has run through a phase on a member."""
        rank, number, phase = chunk
        if phase + 1 < len(self._phases):
            self._look(rank, phase + 1)
            self._enter(_Chunk(rank, number, phase + 1))
        else:
            self._left[rank] -= 1
            if not self._left[rank]:
                self._ends[rank] = self._now
        queue = self._queues[rank, self._phases[phase].level]
        queue.release()
        queue.serve(self._start)

    def _look(self, rank: int, phase: int) -> None:
        """Two chunks that enter a queue in one tick: unless they are alike or both begin, the order is not known."""
        place = rank, self._phases[phase].level
        before = self._entered.get(place, (-1, -1))
        alike = before[1] == phase and not self._turns
        if before[0] == self._now and not alike and self._queues[place].running:
            raise _Unknown
        self._entered[place] = (self._now, phase)

    def _enter(self, chunk: _Chunk) -> None:
        queue = self._queues[chunk.rank, self._phases[chunk.phase].level]
        queue.add(chunk)
        queue.serve(self._start)

    def _start(self, chunk: _Chunk) -> None:
        """A member starts a phase; when all of its ring have, their ends follow."""
        rank, number, index = chunk
        ring = self._ring(rank, index)
        come = self._come[number, index, ring[0]]
        come[rank] = self._now
        if len(come) < len(ring):
            return
        phase = self._phases[index]
        turn = self._turns.get((number, index), 0)
        ends = phase.algorithm.staggered(phase, self._costs[index], [come[member] for member in ring], turn)
        if ends is None or min(ends) < self._now:
            raise _Unknown
        for member, end in zip(ring, ends, strict=True):
            self._push(end, _Chunk(member, number, index))

    def _ring(self, rank: int, index: int) -> tuple[int, ...]:
        """The ranks of a member's ring in a phase, by index."""
        if (rank, index) not in self._rings:
            ring = self._phases[index].ring.ranks(rank)
            for member in ring:
                self._rings[member, index] = ring
        return self._rings[rank, index]


def _turns(schedule: CollectiveSchedule, used: Turns) -> dict[tuple[int, int], int]:
    """Which variant of its algorithm each chunk takes in a phase; none for algorithms that have only one."""
    used, found = dict(used), {}
    for number in range(schedule.count):
        for index, phase in enumerate(schedule.phases):
            if phase.algorithm.turns > 1:
                place = schedule.kind, phase.level
                found[number, index] = used.get(place, 0) % phase.algorithm.turns
                used[place] = used.get(place, 0) + 1
    return found
