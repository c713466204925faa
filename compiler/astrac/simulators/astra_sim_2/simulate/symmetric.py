"""How long a collective lasts when all its members start together and look alike.

docs/simulators/astra-sim-2.md, section 3.4. Chunks wait in one queue a dimension. Where a closed form is exact it is
used, else one rank's chunks are played.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.chunk_queue import ChunkQueue
from astrac.simulators.astra_sim_2.simulate.duration import duration
from astrac.simulators.astra_sim_2.simulate.network import TooMuch

if TYPE_CHECKING:
    from astrac.simulators.algorithms.row import Duration, Phase
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Network

MAX_CHUNKS = 1_000_000
"""Chunks x phases of one collective that are played."""


class CollectiveDuration(NamedTuple):
    """How long a collective lasts whose members start together and end together.

    Attributes:
        time: ns, the same for all.
        tail: ns before the end at which the simulator registered the event that ends it.
        tie: two chunks entered a queue in one tick, and only the ranks' numbering says which came first: the time may
            be wrong, and members that look alike may end apart or deadlock.
        fault: whether the simulator writes to freed memory meanwhile.
    """

    time: int
    tail: int
    tie: bool = False
    fault: bool = False


def symmetric(network: Network, schedule: CollectiveSchedule) -> CollectiveDuration | None:
    """Duration of a collective; None when members end apart, or must be played to know."""
    known = _durations(network, schedule)
    if known is None:
        return None
    fault = any(phase.fault for phase in known)
    machine = network.machine
    levels = {phase.level for phase in schedule.phases}
    if machine.queues > 1 or len(levels) < len(known):
        if schedule.count * len(known) > MAX_CHUNKS:
            raise TooMuch
        return _Chunks(network, schedule, known).play()._replace(fault=fault)
    # Each phase has a queue of its own: the slowest is never idle between the first chunk and the last.
    rounds = -(-schedule.count // machine.active_chunks)
    times = [phase.time for phase in known]
    return CollectiveDuration(sum(times) + (rounds - 1) * max(times), known[-1].tail, fault=fault)


def trigger_path(network: Network, schedule: CollectiveSchedule) -> list[Phase] | None:
    """The phases that led to the end of the last chunk, in order: each was started by the end of the one before.

    What starts a phase is the end of the chunk's phase before, or that of a chunk that held the queue. None where
    members do not end a phase together.
    """
    known = _durations(network, schedule)
    return None if known is None else [schedule.phases[at] for at in _Chunks(network, schedule, known).path()]


def _durations(network: Network, schedule: CollectiveSchedule) -> list[Duration] | None:
    """How long each phase lasts; None where one of them is not known."""
    known = [found for phase in schedule.phases if (found := duration(network, phase)) is not None]
    return known if len(known) == len(schedule.phases) else None


Step = tuple[int, int]
"""A chunk, and the index of its phase."""


class _Chunks:
    """One rank's chunks in its queues; reduce-scatter and all-gather of a dimension share a queue."""

    def __init__(self, network: Network, schedule: CollectiveSchedule, durations: list[Duration]) -> None:
        machine = network.machine
        queues = machine.queues
        halves = schedule.kind is Kind.ALL_REDUCE and machine.optimization != "baseline" and queues > 1
        self._durations = durations
        self._count = schedule.count
        self._choice = []
        for phase in schedule.phases:
            first, last = 0, queues
            if halves:
                first, last = (queues // 2, queues) if phase.returning else (0, queues // 2)
            self._choice.append((phase.level * queues + first, last - first))
        servers = -(-machine.active_chunks // queues)
        self._queues = {first + at: ChunkQueue[Step](servers) for first, width in self._choice for at in range(width)}
        self._ends: list[tuple[int, int, int, Step]] = []
        self._now = 0
        self._order = 0
        self._tie = False
        self._started: dict[Step, Step | None] = {}
        self._trigger: Step | None = None

    def _queue(self, step: Step) -> int:
        chunk, phase = step
        first, width = self._choice[phase]
        return first + chunk % width

    def play(self) -> CollectiveDuration:
        """To the end of the last chunk."""
        for chunk in range(self._count):
            self._enter((chunk, 0))
        tail = 0
        while self._ends:
            self._now = self._ends[0][0]
            entered: dict[int, tuple[int, int]] = {}
            while self._ends and self._ends[0][0] == self._now:
                _, registered, _, step = heappop(self._ends)
                self._trigger = step
                following = step[0], step[1] + 1
                if following[1] < len(self._durations):
                    self._look(entered, following, registered)
                    self._enter(following)
                queue = self._queues[self._queue(step)]
                queue.release()
                queue.serve(self._start)
                tail = self._now - registered
        return CollectiveDuration(self._now, tail, self._tie)

    def path(self) -> list[int]:
        """Indices of the phases on the way to the last end."""
        self.play()
        way = []
        at = self._trigger
        while at is not None:
            way.append(at[1])
            at = self._started[at]
        return way[::-1]

    def _look(self, entered: dict[int, tuple[int, int]], step: Step, registered: int) -> None:
        """A tie is seen when another phase has entered this queue in this tick by an event of the same age."""
        queue, phase = self._queue(step), step[1]
        before = entered.get(queue)
        if before is not None and before[0] != phase and before[1] == registered:
            self._tie = True
        entered[queue] = (phase, registered)

    def _enter(self, step: Step) -> None:
        queue = self._queues[self._queue(step)]
        queue.add(step)
        queue.serve(self._start)

    def _start(self, step: Step) -> None:
        self._started[step] = self._trigger
        found = self._durations[step[1]]
        end = self._now + found.time
        self._order += 1
        heappush(self._ends, (end, end - found.tail, self._order, step))
