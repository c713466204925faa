"""A whole workload, simulated by one representative of each class of ranks that act alike.

docs/simulators/astra-sim-2.md, section 4.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from astrac.job import MemoryType, Receive, Send
from astrac.simulators.astra_sim_2.simulate.issue import DependencyGraph
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.simulation import Simulation, names
from astrac.simulators.astra_sim_2.simulate.states import RankClassState
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from astrac.job import Box, Job
    from astrac.simulators.astra_sim_2.simulate.costs import Cost
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.rank_classes import Origin, RankClasses
    from astrac.simulators.results import RankResult


class Part(Protocol):
    """What a simulation by classes leaves to others: collectives, and a memory that ranks queue for."""

    def between(self) -> None:
        """Does what waits for the end of a tick."""

    def copied(self, state: RankClassState, copies: list[RankClassState]) -> None:
        """Takes note that copies of a state stand for parts of its ranks."""

    def refined(self) -> None:
        """Takes note that classes have been refined, after all copies were made."""


class ClassSimulation(Simulation[RankClassState]):
    """A simulation by classes.

    Args:
        job: what is simulated.
        network: the machine's costs.
        classes: which ranks act alike.
        cost: what things cost.
        limit: events that may happen.

    Attributes:
        states: by key of the class.
        parts: what takes care of nodes that several classes have to do with.
        unsettled: what only a simulation of every rank can tell.
        queued: whether ranks queue for a remote memory, so that their order within a tick matters.
    """

    def __init__(self, job: Job, network: Network, classes: RankClasses, cost: Cost, limit: int) -> None:
        super().__init__(job, network, cost, limit)
        self.classes = classes
        self.unsettled: str | None = None
        self.queued = job.machine.memory.type in {MemoryType.PER_NODE, MemoryType.POOL}
        self.parts: list[Part] = []
        self.handlers |= {Send: self._send, Receive: self._receive}
        graphs: dict[int, DependencyGraph] = {}
        for program in job.programs:
            if id(program.ops) not in graphs:
                graphs[id(program.ops)] = DependencyGraph(program)
        self._graphs = [graphs[id(program.ops)] for program in job.programs]
        self.states = {whom.key: RankClassState(whom, self._graphs[whom.program]) for whom in classes.representatives()}

    @property
    def apart(self) -> bool:
        """Whether every rank is a class of its own."""
        return len(self.states) == self.network.npus

    def unsettle(self, reason: str) -> None:
        """Notes that representatives cannot know; the first reason is told."""
        self.unsettled = self.unsettled or reason

    def run(self) -> None:
        """To the end.

        Raises:
            Broken: with the reason, when the simulator would crash, hang or leave ranks unfinished.
        """
        for state in list(self.states.values()):
            self.issue(state, -1)
        self._between()
        self.clock.play(self._between)
        for state in self.states.values():
            stuck = state.queue.stuck
            if state.finish is None:
                reason = f"rank {state.rank} never finishes: it waits in {names(state.open or stuck[:1])}"
                raise Broken(reason, Outcome.HANG, rank=state.rank)
            if state.queue.left:
                reason = f"nodes of rank {state.rank} never run: {names(stuck)} form a cycle"
                raise Broken(reason, Outcome.HALF_FINISHED, rank=state.rank)

    def _between(self) -> None:
        for part in self.parts:
            part.between()

    def results(self, *, trace: bool) -> tuple[RankResult, ...]:
        """The classes of ranks, after a run, with the times of their nodes if asked."""
        found = []
        for state in sorted(self.states.values(), key=lambda state: state.rank):
            boxes = self.classes.boxes(state.key)
            found.append(self.result(state, boxes, sum(map(self.count, boxes)), trace=trace))
        return tuple(found)

    def count(self, box: Box) -> int:
        """The ranks of a box."""
        axes = zip(self.job.axes, box.coordinates, strict=True)
        return prod(axis.size if allowed is None else len(allowed) for axis, allowed in axes)

    def split(self, origins: dict[Any, Origin]) -> dict[Any, RankClassState]:
        """Makes the states of refined classes out of those that they were part of; by their keys."""
        whom = {each.key: each for each in self.classes.representatives()}
        pieces: dict[Any, list[Any]] = defaultdict(list)
        for key, origin in origins.items():
            pieces[origin.key].append(key)
        states: dict[Any, RankClassState] = {}
        for old, (first, *others) in pieces.items():
            state = self.states[old]
            copies = [state.copy(whom[key], self._graphs[whom[key].program]) for key in others]
            self.clock.split(state, copies)
            for part in self.parts:
                part.copied(state, copies)
            state.become(whom[first], self._graphs[whom[first].program])
            states.update(zip((first, *others), (state, *copies), strict=True))
        self.states = states
        for part in self.parts:
            part.refined()
        return states

    # Ends of nodes.

    def register(self, state: RankClassState, number: int, time: int, tail: int) -> None:
        """Lets a node end after `time`, by an event that the simulator registers `tail` before."""
        if tail < time:
            self.clock.after(time - tail, self._announce, state, (number, tail))
        else:
            self._announce(state, (number, time))

    def _announce(self, state: RankClassState, event: tuple[int, int]) -> None:
        number, tail = event
        self.clock.after_own(state, tail, self.end, state, (number, self.clock.now))

    def end(self, state: RankClassState, event: tuple[int, int]) -> None:
        """See `Simulation`; two ends in one tick may come in another order on other ranks."""
        number, registered = event
        now = self.clock.now
        tick, before, first, issued = state.last
        together = tick == now and before == registered and self.cost.exact
        if together and state.queue.order_matters(first, issued, number):
            self.unsettle(
                f"nodes {state.op(first).id} and {state.op(number).id} of rank {state.rank} end in one tick, "
                "and only the ranks' numbering says which first"
            )
        state.ends[number] = now
        state.queue.end(number)
        state.last = (now, registered, number, self.issue(state, number))

    # Sends and receives.

    def _send(self, state: RankClassState, number: int, op: Send) -> None:
        if op.bytes <= 0:
            raise Broken(f"node {op.id} sends {op.bytes} bytes: the simulator aborts")
        _, link = self.classes.peer(state.key, op)
        time = self.cost.message(self.network, link, op.bytes)
        self.clock.after(time, self._arrive, state, (number, self.clock.now))

    def _arrive(self, state: RankClassState, event: tuple[int, int]) -> None:
        """A send's message is there: the send has ended, and so may a receive."""
        op = state.op(event[0])
        key, _ = self.classes.peer(state.key, op)
        self.end_by_message(state, event)
        receiver = self.states[key]
        channel = self.classes.channel(state.key, op, receiver.program)
        if channel is None:
            return
        if receiver.posted[channel]:
            self.end_by_message(receiver, (receiver.posted[channel].popleft(), event[1]))
        else:
            receiver.arrived[channel].append(event[1])

    def _receive(self, state: RankClassState, number: int, op: Receive) -> None:
        channel = self.classes.channel(state.key, op, state.program)
        assert channel is not None
        if state.arrived[channel]:
            state.arrived[channel].popleft()
            self.clock.after(0, self.end_by_message, state, (number, self.clock.now))
        else:
            state.posted[channel].append(number)
