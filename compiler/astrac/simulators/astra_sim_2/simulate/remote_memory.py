"""Memory nodes that queue: one request at a time for each node, or for the whole machine.

docs/simulators/astra-sim-2.md, section 4. Ranks that have acted alike so far are told apart by such a queue: who is
first depends on the order of events within a tick.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial
from typing import TYPE_CHECKING, Generic

from astrac.job import Collective, Load, MemoryType, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.network import FREED_REQUEST
from astrac.simulators.astra_sim_2.simulate.order import after_collective
from astrac.simulators.astra_sim_2.simulate.prices import memory_queue, memory_time
from astrac.simulators.astra_sim_2.simulate.simulation import State

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_2.simulate.by_class import ClassSimulation
    from astrac.simulators.astra_sim_2.simulate.simulation import Simulation
    from astrac.simulators.astra_sim_2.simulate.states import RankClassState

SERVED = "the order in which ranks come to a shared memory is not known"


class _RequestQueue(Generic[State]):
    """Serves one request at a time.

    Attributes:
        busy: whether a request is being served.
        waiting: a rank's state and the index of its node, in order of issue.
    """

    def __init__(self) -> None:
        self.busy = False
        self.waiting: deque[tuple[State, int]] = deque()


class RemoteMemory(Generic[State]):
    """The memory nodes of a machine, each with a queue of requests."""

    def __init__(self, simulation: Simulation[State]) -> None:
        self._simulation = simulation
        self._queues: dict[int, _RequestQueue[State]] = defaultdict(_RequestQueue)

    def request(self, state: State, number: int, _op: Load | Store) -> None:
        """A rank issues a load or store."""
        queue = self._queues[memory_queue(self._simulation.job.machine, state.rank)]
        queue.waiting.append((state, number))
        if not queue.busy:
            self._serve(queue, None)

    def _serve(self, queue: _RequestQueue[State], _argument: None) -> None:
        queue.busy = bool(queue.waiting)
        if queue.busy:
            state, number = queue.waiting.popleft()
            clock = self._simulation.clock
            time = memory_time(self._simulation.job.machine, state.op(number).bytes)
            clock.after_own(state.owner, time, self._end, state, (number, clock.now))
            clock.after_own(state.owner, time, self._serve, queue)

    def _end(self, state: State, event: tuple[int, int]) -> None:
        """The memory's own event of a node's end follows the rank's last, and reads what that has freed."""
        self._simulation.end(state, event)
        if state.finish is not None and self._simulation.job.machine.memory.type is MemoryType.PER_NODE:
            self._simulation.clock.fault = FREED_REQUEST


class ClassMemory:
    """The memory nodes of a simulation by classes: it tells ranks apart as they come to a queue.

    Attributes:
        asked: whether any rank has come to one.
    """

    def __init__(self, simulation: ClassSimulation) -> None:
        self._simulation = simulation
        self._memory: RemoteMemory[RankClassState] = RemoteMemory(simulation)
        self._last: dict[int, tuple[int, int]] = {}
        self._alike: list[tuple[RankClassState, int]] = []
        self.asked = False
        simulation.parts.append(self)
        simulation.handlers |= {Load: self.request, Store: self.request}

    def request(self, state: RankClassState, number: int, op: Load | Store) -> None:
        """A rank issues a load or store; for ranks that act alike it waits until the end of the tick."""
        queue = memory_queue(self._simulation.job.machine, state.rank)
        self.asked = True
        if self._simulation.apart:
            self._look(queue, state, number)
            self._memory.request(state, number, op)
        else:
            self._alike.append((state, number))
            self._simulation.clock.due = True

    def copied(self, state: RankClassState, copies: list[RankClassState]) -> None:
        """See `Part`: a class has been split before its requests were told apart."""
        asked = [number for other, number in self._alike if other is state]
        self._alike.extend((copy, number) for number in asked for copy in copies)

    def refined(self) -> None:
        """See `Part`."""

    def between(self) -> None:
        """See `Part`: ranks that act alike and ask for memory are told apart."""
        if not self._alike:
            return
        simulation = self._simulation
        order = self._order(*self._alike[0]) if len(simulation.states) == 1 else None
        if order is None:
            simulation.unsettle(SERVED)
        simulation.split(simulation.classes.scatter())
        by_rank = {state.rank: (state, number) for state, number in self._alike}
        self._alike = []
        for rank in order or sorted(by_rank):
            state, number = by_rank[rank]
            self._memory.request(state, number, state.op(number))

    def _look(self, queue: int, state: RankClassState, number: int) -> None:
        """Two ranks that come in one tick come in a known order if they ended one collective together."""
        ended, batch = state.batch
        came = (self._simulation.clock.now, batch if state.causes[number] == ended else -1)
        last = self._last.get(queue, (-1, -1))
        if 0 < came[0] == last[0] and (came[1] < 0 or came != last):
            self._simulation.unsettle(SERVED)
        self._last[queue] = came

    def _order(self, state: RankClassState, number: int) -> list[int] | None:
        """In which order all ranks, which have acted alike so far, issue a node: back to the start, and forth again."""
        simulation = self._simulation
        way = []
        at = state.causes[number]
        while at >= 0:
            way.append(at)
            at = state.causes[at]
        order: list[int] | None = list(range(simulation.network.npus))
        for node in reversed(way):
            op = state.op(node)
            if isinstance(op, Send | Receive):
                return None
            if isinstance(op, Collective) and not simulation.job.machine.replay_only:
                known = state.rendezvous.get(state.queue.graph.signatures[node])
                if known is None or order is None:
                    return None
                members = partial(simulation.classes.members, op)
                order = after_collective(simulation.network, known.schedule, order, members)
        return order
