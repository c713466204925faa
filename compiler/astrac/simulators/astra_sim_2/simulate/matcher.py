"""Collectives among classes of ranks: when all members have come, their ends are known.

docs/simulators/astra-sim-2.md, sections 3 and 4. Where members end apart (an unequal start, a longer link, a place in
a tree) the classes are split there and then.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from astrac.job import IMPLEMENTED, AxisGroup, Collective, ListedGroup
from astrac.simulators.astra_sim_2.simulate.collectives import schedule_of
from astrac.simulators.astra_sim_2.simulate.members import EVENTS_A_MESSAGE, messages
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET, Broken
from astrac.simulators.astra_sim_2.simulate.order import after_collective
from astrac.simulators.astra_sim_2.simulate.states import PendingCollective, Rendezvous
from astrac.simulators.results import Cause, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable

    from astrac.simulators.astra_sim_2.simulate.by_class import ClassSimulation
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.members import Ends
    from astrac.simulators.astra_sim_2.simulate.states import RankClassState
    from astrac.simulators.astra_sim_2.simulate.symmetric import CollectiveDuration
    from astrac.simulators.results import Failure

MEMBER_EVENTS = 3_000_000
"""Events that one collective simulated member by member may cost."""

TIE = "chunks of collective {} enter a queue in one tick, and only the ranks' numbering says which first"
ROUND = "with several queues a dimension, which way round members go depends on what came before"
ENDED = "the order in which ranks end a collective is not known"


class Undecided(Exception):  # noqa: N818 - a finding, not an error
    """One representative cannot know; every rank must be simulated.

    Attributes:
        failure: what names the cause better than that simulation does, where it hangs; None where nothing does.
    """

    def __init__(self, reason: str, failure: Failure | None = None) -> None:
        super().__init__(reason)
        self.failure = failure


class CollectiveMatcher:
    """Brings the members of collectives together, in a simulation by classes."""

    def __init__(self, simulation: ClassSimulation) -> None:
        self._simulation = simulation
        self._network = simulation.network
        self._cost = simulation.cost
        self._schedules: dict[Hashable, CollectiveSchedule] = {}
        self._durations: dict[int, CollectiveDuration | None] = {}
        self._apart: dict[Hashable, Ends] = {}
        self._places: dict[tuple[Any, ...], int] = {}
        self._come: dict[Hashable, int] = defaultdict(int)
        self._due: list[RankClassState] = []
        self._ended: dict[tuple[int, int, Hashable], list[RankClassState]] = {}
        self._turn = 0
        simulation.parts.append(self)
        simulation.handlers[Collective] = self.issue

    def issue(self, state: RankClassState, number: int, op: Collective) -> None:
        """A class of ranks comes to a collective."""
        rendezvous = self.rendezvous(state, number, op)
        simulation = self._simulation
        alone = rendezvous.alone
        if alone is not None:
            self._count(state, op, rendezvous)
            if alone.fault:
                simulation.clock.fault = FREED_PACKET
            simulation.register(state, number, alone.time, alone.tail)
            return
        envelope = self._envelope(state, op, rendezvous)
        state.pending = PendingCollective(number, simulation.clock.now, self._turn, rendezvous, envelope)
        self._turn += 1
        self._count(state, op, rendezvous)
        self._come_to(state, rendezvous)

    def _come_to(self, state: RankClassState, rendezvous: Rendezvous) -> None:
        """Counts a member; when all have come, the collective is due at the end of the tick."""
        name = rendezvous.place, rendezvous.keys[0], len(rendezvous.keys)
        self._come[name] += 1
        if self._come[name] == len(rendezvous.keys):
            del self._come[name]
            self._due.append(state)
            self._simulation.clock.due = True

    # What a collective is.

    def rendezvous(self, state: RankClassState, number: int, op: Collective) -> Rendezvous:
        """What a collective is to a class of ranks that comes to it."""
        graph = state.queue.graph
        signature = graph.signatures[number]
        if signature not in state.rendezvous:
            state.rendezvous[signature] = self._arranged(state, op, graph.groups[signature])
        return state.rendezvous[signature]

    def _arranged(self, state: RankClassState, op: Collective, group: int) -> Rendezvous:
        """Works out what collectives like a node are to a class."""
        if op.kind not in IMPLEMENTED:
            raise Broken(f"collective {op.id} is a {op.kind.name}: the simulator throws")
        classes = self._simulation.classes
        dimensions = op.group.dimensions
        key = (op.kind, op.bytes, classes.name(state.rank, op))
        if key not in self._schedules:
            members = classes.members(op, state.rank)
            self._schedules[key] = schedule_of(self._network, op.kind, op.bytes, dimensions or (), members)
        found = self._schedules[key]
        listed = found.listed
        if self._cost.exact and self._simulation.clock.now == 0 and self._network.endpoint(group=listed) == 0:
            if found.phases[0].algorithm.turns > 1:
                raise Undecided("a tree at tick 0 with endpoint-delay 0: it depends on which ranks come then")
            raise Broken("endpoint-delay 0 and a collective at tick 0: the simulator aborts in its event queue")
        keys = classes.group(state.key, op, found).keys
        alone = self.together(found) if len(keys) == 1 else None
        if alone is not None and alone.tie and self._cost.exact:
            alone = None
        number = group if dimensions is None else None
        return Rendezvous(found, keys, self._place(op, found, keys), number, tuple(dict.fromkeys(found.turns)), alone)

    def _place(self, op: Collective, way: CollectiveSchedule, keys: tuple[Any, ...]) -> Hashable:
        """Names where members meet. A listed group goes by the classes in it: these may stand for different groups."""
        if op.group.dimensions is not None:
            return frozenset((phase.level, phase.ring) for phase in way.phases)
        return op.group if isinstance(op.group, AxisGroup) else self._places.setdefault(keys, len(self._places))

    def together(self, way: CollectiveSchedule) -> CollectiveDuration | None:
        """How long a collective lasts whose members come together; None where they end apart."""
        if id(way) not in self._durations:
            self._durations[id(way)] = self._cost.symmetric(self._network, way)
        return self._durations[id(way)]

    @staticmethod
    def _envelope(state: RankClassState, op: Collective, rendezvous: Rendezvous) -> tuple[Any, ...]:
        listed = rendezvous.listed
        streams = state.streams if listed is None else state.group_streams[listed]
        trees = tuple(state.trees[op.kind, level] % 2 for level in rendezvous.levels)
        return op.kind, op.bytes, listed is not None, streams, trees

    @staticmethod
    def _count(state: RankClassState, op: Collective, rendezvous: Rendezvous) -> None:
        """Chunk streams and trees are numbered as they are made, whatever becomes of them."""
        way = rendezvous.schedule
        state.streams += way.count
        if rendezvous.listed is not None:
            state.group_streams[rendezvous.listed] += way.count
        for level in way.turns:
            state.trees[op.kind, level] += way.count

    # Between two ticks.

    def between(self) -> None:
        """See `Part`: collectives whose members have all come."""
        while self._due:
            state = self._due.pop(0)
            if state.pending is not None:
                self._meet(state, state.pending)
        ended, self._ended = self._ended, {}
        for (time, tail, _), states in ended.items():
            self._turn += 1
            for state in self._in_order(states):
                self._finish(state, time, tail)

    def copied(self, state: RankClassState, copies: list[RankClassState]) -> None:
        """See `Part`."""
        for ended in self._ended.values():
            if state in ended:
                ended.extend(copies)

    def refined(self) -> None:
        """See `Part`: who waits is counted anew."""
        ended = {id(state) for states in self._ended.values() for state in states}
        self._come.clear()
        self._due.clear()
        for state in self._simulation.states.values():
            pending = state.pending
            if pending is not None and id(state) not in ended:
                rendezvous = self.rendezvous(state, pending.number, state.collective)
                state.pending = pending._replace(rendezvous=rendezvous)
                self._come_to(state, rendezvous)

    def _meet(self, state: RankClassState, pending: PendingCollective) -> None:
        op, way = state.collective, pending.rendezvous.schedule
        states = {key: self._simulation.states[key] for key in pending.rendezvous.keys}
        waiting = {key: other.pending for key, other in states.items() if other.pending is not None}
        for key, theirs in waiting.items():
            if theirs.envelope != pending.envelope:
                raise _mismatch(op, pending.envelope, theirs.envelope, state.rank, states[key].rank)
        if isinstance(op.group, ListedGroup) and len(states) > 1:
            self._look_at_groups(states, way)
        known = self.together(way)
        alike = known is not None and len({theirs.since for theirs in waiting.values()}) == 1
        tie = alike and known is not None and known.tie and self._cost.exact and _affordable(way)
        if known is None or not alike or tie:
            self._end_apart(states, waiting, pending, tie=tie)
        else:
            self._end_together(list(states.values()), known, op)

    def _look_at_groups(self, states: dict[Any, RankClassState], way: CollectiveSchedule) -> None:
        """Members may have come to another group of the same ranks, and then wait for ever."""
        classes = self._simulation.classes
        some = next(iter(states.values()))
        mine = classes.own(some.rank, some.collective).group
        for key, rank in classes.group(some.key, some.collective, way).members:
            other = classes.own(rank, states[key].collective).group
            if other != mine:
                names = " and ".join(str(getattr(group, "id", group)) for group in (mine, other))
                reason = f"ranks {some.rank} and {rank} wait for each other in groups {names}"
                raise Broken(reason, Outcome.HANG, rank=some.rank, cause=Cause.GROUPS)

    # Ends of collectives.

    def _end_together(self, states: list[RankClassState], known: CollectiveDuration, op: Collective) -> None:
        if known.tie and self._cost.exact:
            self._simulation.unsettle(TIE.format(op.id))
        if known.fault:
            self._simulation.clock.fault = FREED_PACKET
        alike = (known.time, known.tail, op.group if isinstance(op.group, AxisGroup) else len(op.group.members))
        self._ended.setdefault(alike, []).extend(states)

    def _in_order(self, states: list[RankClassState]) -> list[RankClassState]:
        """Members of alike groups in the order in which they end: it matters where ranks queue for a memory."""
        came = sorted(states, key=lambda state: 0 if state.pending is None else state.pending.turn)
        simulation = self._simulation
        if not simulation.queued or not simulation.apart:
            return came
        by_rank = {state.rank: state for state in came}
        assert came[0].pending is not None
        way = came[0].pending.rendezvous.schedule
        order = after_collective(
            self._network,
            way,
            list(by_rank),
            lambda rank: simulation.classes.members(by_rank[rank].collective, rank),
        )
        if order is None:
            simulation.unsettle(ENDED)
            return came
        return [by_rank[rank] for rank in order]

    def _finish(self, state: RankClassState, time: int, tail: int) -> None:
        assert state.pending is not None
        number = state.pending.number
        state.pending = None
        state.batch = (number, self._turn)
        self._simulation.register(state, number, time, tail)

    def _end_apart(
        self,
        states: dict[Any, RankClassState],
        waiting: dict[Any, PendingCollective],
        pending: PendingCollective,
        *,
        tie: bool,
    ) -> None:
        """Members end apart: each is simulated, and classes whose members differ are split."""
        way = pending.rendezvous.schedule
        classes = self._simulation.classes
        some = next(iter(states.values()))
        members = list(classes.group(some.key, some.collective, way).members)
        came = sorted(range(len(members)), key=lambda index: waiting[members[index][0]].turn)
        # Groups along the same axes share a schedule, which names the ranks of one of them.
        ranks = way.phases[0].ring.members or [rank for _, rank in members]
        starts = [(ranks[index], waiting[members[index][0]].since) for index in came]
        found = self._simulate_apart(starts, pending, tie=tie)
        ends = dict(zip(came, found.ticks, strict=True))
        by_key: dict[Any, set[int]] = defaultdict(set)
        for index, (key, _) in enumerate(members):
            by_key[key].add(ends[index])
        tail = self._network.endpoint(group=way.phases[-1].ring.listed)
        self._turn += 1
        if all(len(times) == 1 for times in by_key.values()):
            for key in dict.fromkeys(members[came[at]][0] for at in found.order):
                self._finish(states[key], by_key[key].pop(), tail)
            return
        meeting = {key: state.collective for key, state in states.items()}
        origins = classes.refine(meeting, way, [ends[index] for index in range(len(members))])
        parted = self._simulation.split(origins)
        turns = {came[at]: turn for turn, at in enumerate(found.order)}
        placed = [(origin.place, parted[key]) for key, origin in origins.items() if origin.key in meeting]
        for index, state in sorted(placed, key=lambda entry: turns[entry[0]]):
            self._finish(state, ends[index], tail)

    def _simulate_apart(self, starts: list[tuple[int, int]], pending: PendingCollective, *, tie: bool) -> Ends:
        """Ends relative to now, of starts in order."""
        simulation, way, trees = self._simulation, pending.rendezvous.schedule, pending.envelope[-1]
        now = simulation.clock.now
        relative = tuple((rank, since - now) for rank, since in starts)
        memory = (id(way), relative, trees)
        if memory not in self._apart:
            used = {(way.kind, level): count for level, count in zip(pending.rendezvous.levels, trees, strict=True)}
            ordered = simulation.queued or tie
            self._apart[memory] = self._cost.staggered(
                self._network, way, relative, used, MEMBER_EVENTS, ordered=ordered
            )
        found = self._apart[memory]
        if found.fault:
            simulation.clock.fault = FREED_PACKET
        if self._network.machine.queues > 1 and self._cost.exact:
            simulation.unsettle(ROUND)
        if min(found.ticks) < 0:
            raise Undecided("a member of a collective ends before another has started")
        return found


def _affordable(way: CollectiveSchedule) -> bool:
    """Whether all members of a collective can be simulated message by message."""
    members = prod(phase.ring.size for phase in way.phases if not phase.returning)
    return members * messages(way) * EVENTS_A_MESSAGE <= MEMBER_EVENTS


_ENVELOPE = (
    ("one is {} and the other {}", Cause.COLLECTIVE),
    ("one has {} bytes and the other {}", Cause.COLLECTIVE),
    ("one names a communicator group and the other does not", Cause.COLLECTIVE),
    ("one has issued {} chunk streams before and the other {}: name the group", Cause.STREAMS),
    ("their double binary trees are out of step ({}, {})", Cause.COLLECTIVE),
)
"""Why the messages of two members never match, in the order of an envelope."""


def _mismatch(
    op: Collective, mine: tuple[Any, ...], theirs: tuple[Any, ...], rank: int, other: int
) -> Broken | Undecided:
    """Different collectives can complete all the same: the simulator matches messages by their bytes alone."""
    (text, cause), *pair = next(row for row in zip(_ENVELOPE, mine, theirs, strict=True) if row[1] != row[2])
    reason = text.format(*(getattr(mark, "name", mark) for mark in pair))
    reason = f"collective {op.id} of ranks {rank} and {other} never completes: {reason}"
    broken = Broken(reason, Outcome.HANG, rank=rank, cause=cause)
    same = mine[2:] == theirs[2:]
    return Undecided("members issue different collectives", broken.failure) if same else broken
