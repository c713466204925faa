"""ASTRA-SIM-2 section 3.4: how long a collective lasts when all its members start together and look alike.

Chunks wait in one queue a dimension. Where a closed form is exact it is used, else one rank's chunks are played.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.astra_sim_2.simulate.duration import duration
from astrac.simulators.astra_sim_2.simulate.network import TooMuch

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_2.simulate.duration import Duration
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course, Phase


MAX_CHUNKS = 1_000_000
"""Chunks x phases of one collective that are played."""


class Together(NamedTuple):
    """Of a collective whose members start together.

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


def together(network: Network, course: Course) -> Together | None:
    """Duration of a collective; None when members end apart, or must be played to know."""
    phases = [duration(network, phase) for phase in course.phases]
    known = [phase for phase in phases if phase is not None]
    if len(known) < len(phases):
        return None
    fault = any(phase.fault for phase in known)
    machine = network.machine
    levels = {phase.level for phase in course.phases}
    if machine.queues > 1 or len(levels) < len(known):
        if course.count * len(known) > MAX_CHUNKS:
            raise TooMuch
        return _Line(network, course, known).play()._replace(fault=fault)
    # Each phase has a queue of its own: the slowest is never idle between the first chunk and the last.
    rounds = -(-course.count // machine.active_chunks)
    times = [phase.time for phase in known]
    return Together(sum(times) + (rounds - 1) * max(times), known[-1].tail, fault=fault)


def trigger_path(network: Network, course: Course) -> list[Phase] | None:
    """The phases that led to the end of the last chunk, in order: each was started by the end of the one before.

    What starts a phase is the end of the chunk's phase before, or that of a chunk that held the queue. None where
    members do not end a phase together.
    """
    durations = [duration(network, phase) for phase in course.phases]
    known = [found for found in durations if found is not None]
    if len(known) < len(durations):
        return None
    return [course.phases[number] for number in _Line(network, course, known).path()]


class _Line:
    """One rank's chunks in its queues; reduce-scatter and all-gather of a dimension share a queue."""

    def __init__(self, network: Network, course: Course, durations: list[Duration]) -> None:
        machine = network.machine
        queues = machine.queues
        halves = any(phase.returning for phase in course.phases) or (
            machine.optimization != "baseline" and course.kind.name == "ALL_REDUCE"
        )
        self._durations = durations
        self._servers = -(-machine.active_chunks // queues)
        self._count = course.count
        self._choice = []
        for phase in course.phases:
            first, last = 0, queues
            if halves and queues > 1:
                first, last = (queues // 2, queues) if phase.returning else (0, queues // 2)
            self._choice.append((phase.level * queues + first, last - first))
        self._running: dict[int, int] = {}
        self._waiting: dict[int, deque[tuple[int, int]]] = {}
        self._ends: list[tuple[int, int, int, int, int]] = []
        self._now = 0
        self._order = 0
        self._tie = False
        self._started: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._trigger: tuple[int, int] | None = None

    def _queue(self, chunk: int, phase: int) -> int:
        first, width = self._choice[phase]
        return first + chunk % width

    def play(self) -> Together:
        for chunk in range(self._count):
            self._enter(chunk, 0)
        tail = 0
        while self._ends:
            self._now = self._ends[0][0]
            entered: dict[int, tuple[int, int]] = {}
            while self._ends and self._ends[0][0] == self._now:
                _, registered, _, chunk, phase = heappop(self._ends)
                self._trigger = (chunk, phase)
                if phase + 1 < len(self._durations):
                    self._look(entered, self._queue(chunk, phase + 1), phase + 1, registered)
                    self._enter(chunk, phase + 1)
                self._leave(self._queue(chunk, phase))
                tail = self._now - registered
        return Together(self._now, tail, self._tie)

    def path(self) -> list[int]:
        """Indices of the phases on the way to the last end."""
        self.play()
        way = []
        at = self._trigger
        while at is not None:
            way.append(at[1])
            at = self._started[at]
        return way[::-1]

    def _look(self, entered: dict[int, tuple[int, int]], queue: int, phase: int, registered: int) -> None:
        """A tie is seen when another phase has entered this queue in this tick by an event of the same age."""
        before = entered.get(queue)
        if before is not None and before[0] != phase and before[1] == registered:
            self._tie = True
        entered[queue] = (phase, registered)

    def _enter(self, chunk: int, phase: int) -> None:
        queue = self._queue(chunk, phase)
        self._waiting.setdefault(queue, deque()).append((chunk, phase))
        self._serve(queue)

    def _leave(self, queue: int) -> None:
        self._running[queue] -= 1
        self._serve(queue)

    def _serve(self, queue: int) -> None:
        waiting = self._waiting.get(queue)
        while waiting and self._running.get(queue, 0) < self._servers:
            chunk, phase = waiting.popleft()
            self._started[chunk, phase] = self._trigger
            self._running[queue] = self._running.get(queue, 0) + 1
            time, tail, _ = self._durations[phase]
            end = self._now + time
            self._order += 1
            heappush(self._ends, (end, end - tail, self._order, chunk, phase))
