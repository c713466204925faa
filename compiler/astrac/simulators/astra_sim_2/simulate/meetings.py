"""ASTRA-SIM-2 sections 3 and 4, collectives among representatives: when all members have come, their ends are known.

Where members end apart (an unequal start, a longer link, a place in a tree) the classes are split there and then.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from astrac.job import IMPLEMENTED, AxisGroup, ListedGroup
from astrac.simulators.astra_sim_2.simulate.actor import Meeting, Way
from astrac.simulators.astra_sim_2.simulate.groups import involved
from astrac.simulators.astra_sim_2.simulate.members import EVENTS_A_MESSAGE, messages
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET, Broken
from astrac.simulators.astra_sim_2.simulate.order import after_collective
from astrac.simulators.astra_sim_2.simulate.phases import Family, course
from astrac.simulators.results import Cause, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable

    from astrac.job import Collective
    from astrac.simulators.astra_sim_2.simulate.actor import Actor
    from astrac.simulators.astra_sim_2.simulate.members import Ends
    from astrac.simulators.astra_sim_2.simulate.phases import Course
    from astrac.simulators.astra_sim_2.simulate.representatives import Representatives
    from astrac.simulators.astra_sim_2.simulate.together import Together

MEMBER_EVENTS = 3_000_000
"""Events that one collective played member by member may cost."""

TIE = "chunks of collective {} enter a queue in one tick, and only the ranks' numbering says which first"
ROUND = "with several queues a dimension, which way round members go depends on what came before"


class Undecided(Exception):  # noqa: N818 - a finding, not an error
    """One representative cannot know; every rank must be played."""


class Meetings:
    """The collectives of a play."""

    def __init__(self, play: Representatives) -> None:
        self._play = play
        self._network = play.network
        self._cost = play.cost
        self._courses: dict[Hashable, Course] = {}
        self._durations: dict[int, Together | None] = {}
        self._apart: dict[Hashable, Ends] = {}
        self._places: dict[tuple[Any, ...], int] = {}
        self._come: dict[Hashable, int] = defaultdict(int)
        self._due: list[Actor] = []
        self._ended: dict[tuple[int, int, Hashable], list[Actor]] = {}
        self._turn = 0

    def issue(self, actor: Actor, number: int, op: Collective) -> None:
        """A rank comes to a collective."""
        script = actor.desk.script
        sort = script.sorts[number]
        way = actor.ways.get(sort)
        if way is None:
            way = actor.ways[sort] = self._way(actor, op, script.groups[sort])
        if way.alone is not None:
            self._count(actor, op, way)
            if way.alone.fault:
                self._play.doubt = FREED_PACKET
            self._play.register(actor, number, way.alone.time, way.alone.tail)
            return
        actor.meeting = Meeting(number, self._play.clock.now, self._turn, way, self._mark(actor, op, way))
        self._turn += 1
        self._count(actor, op, way)
        self._come_to(actor, way)

    def _come_to(self, actor: Actor, way: Way) -> None:
        """Counts a member; when all have come, the collective is due at the end of the tick."""
        name = way.place, way.keys[0], len(way.keys)
        self._come[name] += 1
        if self._come[name] == len(way.keys):
            del self._come[name]
            self._due.append(actor)
            self._play.clock.due = True

    def _way(self, actor: Actor, op: Collective, group: int) -> Way:
        """Works out what one sort of collective is to a role."""
        if op.kind not in IMPLEMENTED:
            raise Broken(f"collective {op.id} is a {op.kind.name}: the simulator throws")
        cast = self._play.cast
        dimensions = involved(op.group)
        key = (op.kind, op.bytes, cast.name(actor.role.rank, op))
        if key not in self._courses:
            ranks = cast.members(actor.role.rank, op)
            self._courses[key] = course(self._network, op.kind, op.bytes, dimensions or (), ranks)
        found = self._courses[key]
        listed = found.phases[0].circle.listed
        if self._cost.exact and self._play.clock.now == 0 and self._network.endpoint(group=listed) == 0:
            if found.phases[0].algorithm.family is Family.TREE:
                raise Undecided("a tree at tick 0 with endpoint-delay 0: it depends on which ranks come then")
            raise Broken("endpoint-delay 0 and a collective at tick 0: the simulator aborts in its event queue")
        keys = cast.assembly(actor.role.key, op, found).keys
        alone = self._together(found) if len(keys) == 1 else None
        if alone is not None and alone.tie and self._cost.exact:
            alone = None
        number = group if dimensions is None else None
        return Way(found, keys, self._place(op, found, keys), number, tuple(dict.fromkeys(found.trees)), alone)

    def _place(self, op: Collective, way: Course, keys: tuple[Any, ...]) -> Hashable:
        """Names where members meet. A listed group goes by the classes in it: these may stand for different groups."""
        if involved(op.group) is not None:
            return frozenset((phase.level, phase.circle) for phase in way.phases)
        return op.group if isinstance(op.group, AxisGroup) else self._places.setdefault(keys, len(self._places))

    def _together(self, way: Course) -> Together | None:
        if id(way) not in self._durations:
            self._durations[id(way)] = self._cost.together(self._network, way)
        return self._durations[id(way)]

    @staticmethod
    def _mark(actor: Actor, op: Collective, way: Way) -> tuple[Any, ...]:
        streams = actor.streams if way.listed is None else actor.group_streams[way.listed]
        trees = tuple(actor.trees[op.kind, level] % 2 for level in way.levels)
        return op.kind, op.bytes, way.listed is not None, streams, trees

    @staticmethod
    def _count(actor: Actor, op: Collective, way: Way) -> None:
        """Chunk streams and trees are numbered as they are made, whatever becomes of them."""
        actor.streams += way.course.count
        if way.listed is not None:
            actor.group_streams[way.listed] += way.course.count
        for level in way.course.trees:
            actor.trees[op.kind, level] += way.course.count

    def between(self) -> None:
        """Between two ticks: collectives whose members have all come."""
        while self._due:
            actor = self._due.pop(0)
            if actor.meeting is not None:
                self._meet(actor, actor.meeting)
        ended, self._ended = self._ended, {}
        for (time, tail, _), actors in ended.items():
            self._turn += 1
            for actor in self._in_order(actors):
                self._finish(actor, time, tail)

    def copied(self, actor: Actor, copies: list[Actor]) -> None:
        """A class has been split."""
        for ended in self._ended.values():
            if actor in ended:
                ended.extend(copies)

    def refined(self) -> None:
        """The cast has been refined: who waits is counted anew."""
        ended = {id(actor) for actors in self._ended.values() for actor in actors}
        self._come.clear()
        self._due.clear()
        for actor in self._play.actors.values():
            meeting = actor.meeting
            if meeting is not None and id(actor) not in ended:
                script = actor.desk.script
                sort = script.sorts[meeting.number]
                if sort not in actor.ways:
                    actor.ways[sort] = self._way(actor, actor.collective, script.groups[sort])
                actor.meeting = meeting._replace(way=actor.ways[sort])
                self._come_to(actor, actor.ways[sort])

    def _meet(self, actor: Actor, meeting: Meeting) -> None:
        op = actor.collective
        actors = {key: self._play.actors[key] for key in meeting.way.keys}
        meetings = {key: other.meeting for key, other in actors.items() if other.meeting is not None}
        for key, theirs in meetings.items():
            if theirs.mark != meeting.mark:
                raise _mismatch(op, meeting.mark, theirs.mark, actor.role.rank, actors[key].role.rank)
        if isinstance(op.group, ListedGroup) and len(actors) > 1:
            self._look_at_groups(actors, meeting.way.course)
        known = self._together(meeting.way.course)
        alike = known is not None and len({theirs.since for theirs in meetings.values()}) == 1
        tie = alike and known is not None and known.tie and self._cost.exact and _affordable(meeting.way.course)
        if known is None or not alike or tie:
            self._end_apart(actors, meetings, meeting, tie=tie)
        else:
            self._end_together(list(actors.values()), known, op)

    def _look_at_groups(self, actors: dict[Any, Actor], way: Course) -> None:
        """Members may have come to another group of the same ranks, and then wait for ever."""
        cast = self._play.cast
        some = next(iter(actors.values()))
        mine = cast.group(some.role.rank, some.collective)
        for key, rank in cast.assembly(some.role.key, some.collective, way).seats:
            other = cast.group(rank, actors[key].collective)
            if other != mine:
                reason = f"ranks {some.role.rank} and {rank} wait for each other in groups {mine} and {other}"
                raise Broken(reason, Outcome.HANG, rank=some.role.rank, cause=Cause.GROUPS)

    def _end_together(self, actors: list[Actor], known: Together, op: Collective) -> None:
        if known.tie and self._cost.exact:
            self._play.unsettled = self._play.unsettled or TIE.format(op.id)
        if known.fault:
            self._play.doubt = FREED_PACKET
        alike = (known.time, known.tail, op.group if isinstance(op.group, AxisGroup) else len(op.group.members))
        self._ended.setdefault(alike, []).extend(actors)

    def _in_order(self, actors: list[Actor]) -> list[Actor]:
        """Members of alike groups in the order in which they end: it matters where ranks queue for a memory."""
        came = sorted(actors, key=lambda actor: 0 if actor.meeting is None else actor.meeting.turn)
        if not self._play.sharing.shared or len(self._play.actors) < self._network.npus:
            return came
        by_rank = {actor.role.rank: actor for actor in came}
        assert came[0].meeting is not None
        order = after_collective(
            self._network,
            came[0].meeting.way.course,
            list(by_rank),
            lambda rank: self._play.cast.members(rank, by_rank[rank].collective),
        )
        if order is None:
            self._play.unsettled = self._play.unsettled or "the order in which ranks end a collective is not known"
            return came
        return [by_rank[rank] for rank in order]

    def _finish(self, actor: Actor, time: int, tail: int) -> None:
        assert actor.meeting is not None
        number = actor.meeting.number
        actor.meeting = None
        actor.batch = (number, self._turn)
        self._play.register(actor, number, time, tail)

    def _end_apart(
        self, actors: dict[Any, Actor], meetings: dict[Any, Meeting], meeting: Meeting, *, tie: bool
    ) -> None:
        """Members end apart: each is played, and classes whose members differ are split."""
        way = meeting.way.course
        some = next(iter(actors.values()))
        seats = list(self._play.cast.assembly(some.role.key, some.collective, way).seats)
        came = sorted(range(len(seats)), key=lambda seat: meetings[seats[seat][0]].turn)
        # Groups along the same axes share a course, which names the ranks of one of them.
        ranks = way.phases[0].circle.members or [rank for _, rank in seats]
        starts = [(ranks[seat], meetings[seats[seat][0]].since) for seat in came]
        found = self._play_apart(way, starts, meeting, tie=tie)
        ends = dict(zip(came, found.ticks, strict=True))
        by_key: dict[Any, set[int]] = defaultdict(set)
        for seat, (key, _) in enumerate(seats):
            by_key[key].add(ends[seat])
        tail = self._network.endpoint(group=way.phases[-1].circle.listed)
        self._turn += 1
        if all(len(times) == 1 for times in by_key.values()):
            last = dict.fromkeys(seats[came[at]][0] for at in found.order)
            for key in last:
                self._finish(actors[key], by_key[key].pop(), tail)
            return
        part = {key: actor.collective for key, actor in actors.items()}
        origins = self._play.cast.refine(part, way, [ends[seat] for seat in range(len(seats))])
        parted = self._play.split(origins)
        place = {came[at]: turn for turn, at in enumerate(found.order)}
        seated = [(origin.seat, parted[key]) for key, origin in origins.items() if origin.key in part]
        for seat, actor in sorted(seated, key=lambda entry: place[entry[0]]):
            self._finish(actor, ends[seat], tail)

    def _play_apart(self, way: Course, starts: list[tuple[int, int]], meeting: Meeting, *, tie: bool) -> Ends:
        """Ends relative to now, of starts in order."""
        play = self._play
        now = play.clock.now
        relative = tuple((rank, since - now) for rank, since in starts)
        memory = (id(way), relative, meeting.mark[-1])
        if memory not in self._apart:
            levels = zip(meeting.way.levels, meeting.mark[-1], strict=True)
            trees = {(way.kind, level): parity for level, parity in levels}
            self._apart[memory] = self._cost.apart(
                self._network, way, relative, trees, MEMBER_EVENTS, ordered=play.sharing.shared or tie
            )
        found = self._apart[memory]
        if found.fault:
            play.doubt = FREED_PACKET
        if self._network.machine.queues > 1 and self._cost.exact:
            play.unsettled = play.unsettled or ROUND
        if min(found.ticks) < 0:
            raise Undecided("a member of a collective ends before another has started")
        return found


def _affordable(way: Course) -> bool:
    """Whether all members of a collective can be played message by message."""
    members = prod(phase.circle.size for phase in way.phases if not phase.returning)
    return members * messages(way) * EVENTS_A_MESSAGE <= MEMBER_EVENTS


_MARKS = (
    ("one is {} and the other {}", Cause.COLLECTIVE),
    ("one has {} bytes and the other {}", Cause.COLLECTIVE),
    ("one names a communicator group and the other does not", Cause.COLLECTIVE),
    ("one has issued {} chunk streams before and the other {}: name the group", Cause.STREAMS),
    ("their double binary trees are out of step ({}, {})", Cause.COLLECTIVE),
)
"""Why the messages of two members never match, in the order of a meeting's mark."""


def _mismatch(op: Collective, mine: tuple[Any, ...], theirs: tuple[Any, ...], rank: int, other: int) -> Broken:
    (text, cause), *pair = next(row for row in zip(_MARKS, mine, theirs, strict=True) if row[1] != row[2])
    reason = text.format(*(getattr(mark, "name", mark) for mark in pair))
    reason = f"collective {op.id} of ranks {rank} and {other} never completes: {reason}"
    return Broken(reason, Outcome.HANG, rank=rank, cause=cause)
