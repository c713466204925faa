"""A Job whose programs have scores, simulated at the cost of distinct turns.

docs/simulators/astra-sim-2.md, section 4. Equal to `by_class` to the nanosecond, or refused with a reason.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

from astrac.job import Collective, Compute, MemoryType, Receive, Send
from astrac.simulators.astra_sim_2.simulate.axis_classes import AxisClasses, Unstructured
from astrac.simulators.astra_sim_2.simulate.by_class import ClassSimulation
from astrac.simulators.astra_sim_2.simulate.by_turn.body import (
    COMMUNICATION,
    COMPUTE,
    MEMORY,
    Node,
    Refused,
)
from astrac.simulators.astra_sim_2.simulate.by_turn.role import Role
from astrac.simulators.astra_sim_2.simulate.by_turn.segment import forget_many
from astrac.simulators.astra_sim_2.simulate.by_turn.steady import played
from astrac.simulators.astra_sim_2.simulate.collectives import startup
from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR
from astrac.simulators.astra_sim_2.simulate.issue import DEVICE, FREE, SHARED
from astrac.simulators.astra_sim_2.simulate.matcher import MEMBER_EVENTS, CollectiveMatcher, Undecided
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET, Broken, Network, TooMuch
from astrac.simulators.astra_sim_2.simulate.simulation import TAGS
from astrac.simulators.results import RankResult

if TYPE_CHECKING:
    from astrac.job import Job, Op
    from astrac.simulators.astra_sim_2.simulate.by_turn.play import Met
    from astrac.simulators.astra_sim_2.simulate.states import RankClassState, Rendezvous


def simulate_turns(job: Job) -> tuple[tuple[RankResult, ...], str | None]:
    """What ranks do on the congestion-unaware backend, without the times of single nodes, and a doubt about that.

    Raises:
        Refused: with the reason, when turns cannot tell.
    """
    forget_many()
    try:
        return _Turns(job).play()
    except Unstructured:
        reason = "ranks have to be looked at one by one"
    except (Broken, TooMuch, Undecided) as stop:
        reason = str(stop) or type(stop).__name__
    raise Refused(reason)


class _Turns:
    """The roles of a job, and what joins them."""

    def __init__(self, job: Job) -> None:
        if any(program.score is None for program in job.programs):
            raise Refused("a program without a score")
        if job.machine.memory.type in {MemoryType.PER_NODE, MemoryType.POOL}:
            raise Refused("ranks that queue for a memory")
        startup(job.machine)
        self._job = job
        self._network = Network(job.machine)
        self._classes = AxisClasses(job, self._network)
        whom = sorted(self._classes.representatives(), key=lambda each: each.program)
        if [each.program for each in whom] != list(range(len(job.programs))):
            raise Refused("several roles run one program")
        self._simulation = ClassSimulation(job, self._network, self._classes, SIMULATOR, 0)
        self._matcher = CollectiveMatcher(self._simulation)
        self._states = [self._simulation.states[each.key] for each in whom]
        self._numbers = {each.key: number for number, each in enumerate(whom)}
        self._fault = False

    def play(self) -> tuple[tuple[RankResult, ...], str | None]:
        """The whole run."""
        roles = [self._role(state) for state in self._states]
        first = roles[0].score
        if first.micro_batches * first.iterations * first.tags >= TAGS:
            raise Refused("more messages than there are tags")
        found = []
        for role, state, done in zip(roles, self._states, played(roles, self._together), strict=True):
            boxes = self._classes.boxes(state.key)
            ranks = sum(map(self._simulation.count, boxes))
            device = sum(map(mul, role.devices, role.score.counts))
            shares = (*done.shares, 0)
            found.append(RankResult(state.program, boxes, ranks, state.rank, done.finish, device, shares=shares))
        found.sort(key=lambda ranks: ranks.rank)
        return tuple(found), FREED_PACKET if self._fault else None

    def _role(self, state: RankClassState) -> Role:
        def timed(number: int, op: Op) -> Node:
            return self._timed(state, number, op)

        def receiver(op: Send) -> int | None:
            peer, _ = self._classes.peer(state.key, op)
            return None if peer == state.key else self._numbers[peer]

        return Role(self._job.programs[state.program], timed, receiver)

    def _timed(self, state: RankClassState, number: int, op: Op) -> Node:
        if op.host:
            raise Refused("host nodes")
        if isinstance(op, Receive):
            return Node(FREE, COMMUNICATION, 0, 0)
        if isinstance(op, Send):
            _, link = self._classes.peer(state.key, op)
            delay = self._network.delay(link, op.bytes) if op.bytes > 0 else 0
            if delay <= 0:
                raise Refused("a message of no time")
            return Node(SHARED, COMMUNICATION, delay, delay, send=True)
        if isinstance(op, Collective):
            rendezvous = self._matcher.rendezvous(state, number, op)
            alone = rendezvous.alone
            if alone is None:
                if len(rendezvous.keys) == 1:
                    raise Refused("ranks of one role end a collective apart")
                return Node(SHARED, COMMUNICATION, 0, 0)
            self._fault |= alone.fault
            time, tail = alone.time, min(alone.time, alone.tail)
        else:
            found = SIMULATOR.lasting(self._job.machine, op)
            if found is None:
                raise Refused("a memory that ranks share")
            time = tail = found
        if time <= 0:
            raise Refused("a node of no time")
        compute = isinstance(op, Compute)
        share = COMPUTE if compute else COMMUNICATION if isinstance(op, Collective) else MEMORY
        return Node(DEVICE if compute else SHARED, share, time, tail)

    # -- collectives of several roles

    def _together(self, come: list[Met]) -> list[tuple[Met, tuple[int, int]]]:
        last = come[-1]
        rendezvous = self._rendezvous(last)
        here = [met for met in come if self._rendezvous(met).place == rendezvous.place]
        if {met.role for met in here} != {self._numbers[key] for key in rendezvous.keys}:
            return []
        way, op = rendezvous.schedule, self._op(last)
        if rendezvous.listed is None or way.turns or self._job.machine.queues > 1:
            raise Refused("roles that meet in an order of their own")
        if len({(self._op(met).kind, self._op(met).bytes) for met in here}) > 1:
            raise Refused("roles that meet with different collectives")
        known = self._matcher.together(way)
        now = last.tick
        if known is not None and len({met.tick for met in here}) == 1:
            if known.tie:
                raise Refused("chunks of roles that meet tie")
            self._fault |= known.fault
            return [(met, (now + known.time, now + max(0, known.time - known.tail))) for met in here]
        state = self._states[last.role]
        members = list(self._classes.group(state.key, op, way).members)
        since = {self._states[met.role].key: met.tick for met in here}
        if len(set(since.values())) < len(since):
            raise Refused("some roles come to a collective in one tick")
        came = sorted(range(len(members)), key=lambda index: since[members[index][0]])
        ranks = way.phases[0].ring.members or [rank for _, rank in members]
        starts = [(ranks[index], since[members[index][0]] - now) for index in came]
        found = SIMULATOR.staggered(self._network, way, starts, {}, MEMBER_EVENTS, ordered=False)
        if min(found.ticks) < 0:
            raise Refused("a member of a collective ends before another has started")
        self._fault |= bool(found.fault)
        ends: dict[int, set[int]] = {}
        for index, tick in zip(came, found.ticks, strict=True):
            ends.setdefault(self._numbers[members[index][0]], set()).add(tick)
        if any(len(ticks) > 1 for ticks in ends.values()):
            raise Refused("ranks of one role end a collective apart")
        tail = self._network.endpoint(group=way.phases[-1].ring.listed)
        found_ends = []
        for met in here:
            (tick,) = ends[met.role]
            if tick <= 0:
                raise Refused("a collective that ends as its last member comes")
            found_ends.append((met, (now + tick, now + max(0, tick - tail))))
        return found_ends

    def _op(self, met: Met) -> Collective:
        op = self._job.programs[self._states[met.role].program].ops[met.node]
        assert isinstance(op, Collective)
        return op

    def _rendezvous(self, met: Met) -> Rendezvous:
        return self._matcher.rendezvous(self._states[met.role], met.node, self._op(met))
