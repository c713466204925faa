"""ASTRA-SIM-2 section 4, memory nodes that queue: one request at a time for each node, or for the whole machine.

Ranks that have acted alike so far are told apart by it: who is first depends on the order of events within a tick.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from astrac.job import Collective, MemoryType, Receive, Send
from astrac.simulators.astra_sim_2.simulate.network import FREED_REQUEST
from astrac.simulators.astra_sim_2.simulate.order import after_collective
from astrac.simulators.astra_sim_2.simulate.prices import memory_queue, memory_time

if TYPE_CHECKING:
    from astrac.job import Load, Store
    from astrac.simulators.astra_sim_2.simulate.actor import Actor
    from astrac.simulators.astra_sim_2.simulate.order import Order
    from astrac.simulators.astra_sim_2.simulate.phases import Course
    from astrac.simulators.astra_sim_2.simulate.representatives import Representatives

SERVED = "the order in which ranks come to a shared memory is not known"


class _Memory:
    """What a queue of requests needs.

    Attributes:
        busy: whether a request is being served.
        waiting: requests, in order of issue: a rank's actor and the index of its node.
        last: when a rank came last, and the batch of the collective that let it.
    """

    def __init__(self) -> None:
        self.busy = False
        self.waiting: deque[tuple[Actor, int]] = deque()
        self.last = (-1, -1)


class Sharing:
    """The memory nodes of a play.

    Attributes:
        shared: whether ranks queue at all on this machine.
        asked: whether any has.
    """

    def __init__(self, play: Representatives) -> None:
        self._play = play
        self._memories: dict[int, _Memory] = defaultdict(_Memory)
        self._alike: list[tuple[Actor, int]] = []
        self.asked = False
        self.shared = play.job.machine.memory.type in {MemoryType.PER_NODE, MemoryType.POOL}

    def issue(self, actor: Actor, number: int, _op: Load | Store) -> None:
        """A rank asks; for ranks that act alike it waits until the end of the tick."""
        memory_queue(self._play.job.machine, actor.role.rank)
        self.asked = True
        if len(self._play.actors) == self._play.network.npus:
            self._look(actor, number)
            self._ask(actor, number)
        else:
            self._alike.append((actor, number))
            self._play.clock.due = True

    def copied(self, actor: Actor, copies: list[Actor]) -> None:
        """A class has been split before its requests were told apart."""
        asked = [number for other, number in self._alike if other is actor]
        self._alike.extend((copy, number) for number in asked for copy in copies)

    def between(self) -> None:
        """Between two ticks: ranks that act alike and ask for memory are told apart."""
        if not self._alike:
            return
        play = self._play
        whole = len(play.actors) == 1
        order = self._order(*self._alike[0]) if whole else None
        if order is None:
            play.unsettled = play.unsettled or SERVED
        play.split(play.cast.scatter())
        by_rank = {actor.role.rank: (actor, number) for actor, number in self._alike}
        self._alike = []
        for rank in order or sorted(by_rank):
            self._ask(*by_rank[rank])

    def _look(self, actor: Actor, number: int) -> None:
        """Two ranks that come in one tick come in a known order if they ended one collective together."""
        memory = self._memories[memory_queue(self._play.job.machine, actor.role.rank)]
        cause, batch = actor.causes[number], actor.batch
        came = (self._play.clock.now, batch[1] if cause == batch[0] else -1)
        if 0 < came[0] == memory.last[0] and (came[1] < 0 or came != memory.last):
            self._play.unsettled = self._play.unsettled or SERVED
        memory.last = came

    def _order(self, actor: Actor, number: int) -> Order | None:
        """In which order all ranks, which have acted alike so far, issue a node: back to the start, and forth again."""
        play = self._play
        way = []
        at = actor.causes[number]
        while at >= 0:
            way.append(at)
            at = actor.causes[at]
        order: Order | None = list(range(play.network.npus))
        for node in reversed(way):
            op = actor.op(node)
            if isinstance(op, Send | Receive):
                return None
            if isinstance(op, Collective) and not play.job.machine.replay_only:
                known = actor.ways.get(actor.desk.script.sorts[node])
                order = None if known is None else self._after(op, known.course, order or [])
            if order is None:
                return None
        return order

    def _after(self, op: Collective, way: Course, order: Order) -> Order | None:
        return after_collective(self._play.network, way, order, lambda rank: self._play.cast.members(rank, op))

    def _ask(self, actor: Actor, number: int) -> None:
        memory = self._memories[memory_queue(self._play.job.machine, actor.role.rank)]
        if memory.busy:
            memory.waiting.append((actor, number))
        else:
            memory.busy = True
            self._serve(memory, actor, number)

    def _serve(self, memory: _Memory, actor: Actor, number: int) -> None:
        clock = self._play.clock
        time = memory_time(self._play.job.machine, actor.op(number).bytes)
        clock.after_own(actor, time, self._end, actor, (number, clock.now))
        clock.after_own(actor, time, self._next, memory)

    def _end(self, actor: Actor, event: tuple[int, int]) -> None:
        self._play.end(actor, event)
        if actor.finish is not None and self._play.job.machine.memory.type is MemoryType.PER_NODE:
            self._play.doubt = FREED_REQUEST

    def _next(self, memory: _Memory, _argument: None) -> None:
        memory.busy = bool(memory.waiting)
        if memory.waiting:
            self._serve(memory, *memory.waiting.popleft())
