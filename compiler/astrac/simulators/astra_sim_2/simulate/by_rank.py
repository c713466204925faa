"""Every rank of a Job, message by message: the whole simulator in small.

It costs what the simulator costs, so it is for what one representative cannot know: ties within a tick, a shared
memory, and the congestion-aware backend. The bench puts it beside `simulate` as the naive way.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from astrac.job import Box, Collective, Load, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.collectives import schedule_of, startup
from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR
from astrac.simulators.astra_sim_2.simulate.issue import DependencyGraph
from astrac.simulators.astra_sim_2.simulate.messages import MessageMatcher, UncongestedNetwork
from astrac.simulators.astra_sim_2.simulate.network import Broken, Network
from astrac.simulators.astra_sim_2.simulate.remote_memory import RemoteMemory
from astrac.simulators.astra_sim_2.simulate.simulation import TAGS, Simulation, names
from astrac.simulators.astra_sim_2.simulate.states import RankState
from astrac.simulators.astra_sim_2.simulate.streams import SystemLayer
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.job import Job
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.messages import NetworkBackend
    from astrac.simulators.results import RankResult


class RankSimulation(Simulation[RankState]):
    """A simulation of all ranks.

    Args:
        job: what they do.
        backend: makes the network, of the costs and the event queue.
        limit: events that may happen before it is given up.

    Attributes:
        ranks: all of them, ascending.
    """

    def __init__(
        self,
        job: Job,
        backend: Callable[[Network, EventQueue], NetworkBackend] = UncongestedNetwork,
        limit: int = 1 << 40,
    ) -> None:
        super().__init__(job, Network(job.machine), SIMULATOR, limit)
        self._post = MessageMatcher(self.clock, backend(self.network, self.clock), job.machine.npus)
        self._schedules: dict[Hashable, CollectiveSchedule] = {}
        memory = RemoteMemory(self)
        self.handlers |= {
            Collective: self._collective,
            Send: self._send,
            Receive: self._receive,
            Load: memory.request,
            Store: memory.request,
        }
        graphs = [DependencyGraph(program) for program in job.programs]
        self.ranks = [RankState(rank, program, graphs[program]) for rank, program in enumerate(job.program_of)]
        for state in self.ranks:
            state.owner = SystemLayer(state.rank, self.network, self.clock, self._post)

    def run(self) -> None:
        """To the end.

        Raises:
            Broken: with the reason, when the simulator would crash, hang or leave ranks unfinished.
        """
        startup(self.job.machine)
        for state in self.ranks:
            self.issue(state, -1)
        self.clock.play()
        unfinished = [state for state in self.ranks if state.finish is None]
        if unfinished:
            state = unfinished[0]
            waits = names(state.open or state.queue.stuck)
            reason = f"{len(unfinished)} of {len(self.ranks)} ranks never finish; rank {state.rank} waits in {waits}"
            raise Broken(reason, Outcome.HANG, rank=state.rank)
        for state in self.ranks:
            if state.queue.left:
                reason = f"nodes of rank {state.rank} never run: {names(state.queue.stuck)} form a cycle"
                raise Broken(reason, Outcome.HALF_FINISHED, rank=state.rank)

    def results(self, *, trace: bool) -> tuple[RankResult, ...]:
        """One class a Program and a pair of figures, after a run, with the times of a rank's nodes if asked."""
        found: dict[tuple[int, int | None, int], list[RankState]] = defaultdict(list)
        for state in self.ranks:
            found[state.program, state.finish, state.device].append(state)
        return tuple(
            self.result(alike[0], tuple(Box.of(self.job.axes, state.rank) for state in alike), len(alike), trace=trace)
            for alike in found.values()
        )

    def _collective(self, state: RankState, number: int, op: Collective) -> None:
        dimensions = op.group.dimensions
        listed = () if dimensions is not None else self.job.members(op.group, state.rank)
        if listed and state.rank not in listed:
            reason = f"collective {op.id} is issued by rank {state.rank}, which is not in its group"
            raise Broken(reason, rank=state.rank)
        key = (op.kind, op.bytes, dimensions, listed)
        if key not in self._schedules:
            self._schedules[key] = schedule_of(self.network, op.kind, op.bytes, dimensions or (), listed)
        group = None if dimensions is not None else getattr(op.group, "id", listed)
        state.owner.issue(self._schedules[key], group, partial(self.end, state, (number, 0)))

    def _send(self, state: RankState, number: int, op: Send) -> None:
        there = self.job.axis(op.axis).peer(state.rank, op.offset)
        ended = partial(self.end_by_message, state, (number, 0))
        self._post.send(op.tag % TAGS, state.rank, there, op.bytes, ended)

    def _receive(self, state: RankState, number: int, op: Receive) -> None:
        there = self.job.axis(op.axis).peer(state.rank, op.offset)
        ended = partial(self.end_by_message, state, (number, 0))
        self._post.receive(op.tag % TAGS, there, state.rank, op.bytes, ended)
