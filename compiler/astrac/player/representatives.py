"""ASTRA-SIM-2 section 4: a whole workload, played by one representative of each class of ranks that act alike.

Where a collective tells members of a class apart (an unequal start, a longer link, a place in a tree), the class is
split there and then, so that the cost follows what is really distinct.
"""

from __future__ import annotations

from collections import defaultdict, deque
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.job import IMPLEMENTED, Collective, Load, Receive, Send, Store
from astrac.player.clock import Clock
from astrac.player.desk import Desk, Script
from astrac.player.groups import involved
from astrac.player.members import EVENTS_A_MESSAGE, messages
from astrac.player.network import FREED_PACKET, Broken
from astrac.player.phases import course
from astrac.player.playback import Played
from astrac.player.prices import SKIPPED, memory_queue, on_device

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.job import Box, Group, Job, Kind, Op
    from astrac.player.cast import Assembly, Cast, Role
    from astrac.player.costs import Cost
    from astrac.player.members import Ends
    from astrac.player.network import Network
    from astrac.player.phases import Circle, Course
    from astrac.player.together import Together

MEMBER_EVENTS = 3_000_000
"""Events that one collective played member by member may cost."""


TIE = "chunks of collective {} enter a queue in one tick, and only the ranks' numbering says which first"


class Undecided(Exception):  # noqa: N818 - a finding, not an error
    """One representative cannot know; every rank must be played."""


class _Meeting(NamedTuple):
    """A collective that a rank has issued.

    Attributes:
        number: index of its node.
        since: the tick.
        course: what it is.
        mark: what must be equal on all members for their messages to match.
    """

    number: int
    since: int
    course: Course
    mark: tuple[Any, ...]


class Actor:
    """A representative."""

    def __init__(self, role: Role, script: Script) -> None:
        self.role = role
        self.desk = Desk(script)
        self.device = 0
        self.finish: int | None = None
        self.spans: dict[int, tuple[int, int]] = {}
        self.open: dict[int, int] = {}
        self.odd = False
        self.streams = 0
        self.group_streams: dict[Group, int] = defaultdict(int)
        self.trees: dict[tuple[Kind, int], int] = defaultdict(int)
        self.arrived: dict[int, deque[int]] = defaultdict(deque)
        self.posted: dict[int, deque[int]] = defaultdict(deque)
        self.meeting: _Meeting | None = None
        self.last: tuple[int, int, int, tuple[int, ...]] | None = None

    def copy(self, role: Role, script: Script) -> Actor:
        """The same so far, for a part of the ranks."""
        other = Actor(role, script)
        other.desk = self.desk.copy(script)
        other.device = self.device
        other.finish = self.finish
        other.spans = dict(self.spans)
        other.open = dict(self.open)
        other.odd = self.odd
        other.streams = self.streams
        other.group_streams.update(self.group_streams)
        other.trees.update(self.trees)
        other.arrived.update({channel: deque(waiting) for channel, waiting in self.arrived.items()})
        other.posted.update({channel: deque(waiting) for channel, waiting in self.posted.items()})
        other.meeting = self.meeting
        other.last = self.last
        return other


class Representatives:
    """A play.

    Args:
        job: what is played.
        network: its costs.
        cast: who stands for whom.
        cost: what things cost.
        limit: events that may be played.
    """

    def __init__(self, job: Job, network: Network, cast: Cast, cost: Cost, limit: int) -> None:
        self.job = job
        self.network = network
        self.cast = cast
        self.cost = cost
        self.clock = Clock(limit)
        self.doubt: str | None = None
        self.unsettled: str | None = None
        self._scripts: dict[int, Script] = {}
        self._courses: dict[Hashable, Course] = {}
        self._durations: dict[Hashable, Together | None] = {}
        self._apart: dict[Hashable, Ends] = {}
        self._due: list[Actor] = []
        self._issuers: dict[type[Op], Callable[[Actor, int, Any], None]] = {
            Collective: self._collective,
            Send: self._send,
            Receive: self._receive,
            Load: self._remote,
            Store: self._remote,
        }
        self._actors = {role.key: Actor(role, self._script(role.program)) for role in cast.roles()}

    def _script(self, program: int) -> Script:
        if program not in self._scripts:
            self._scripts[program] = Script(self.job.programs[program])
        return self._scripts[program]

    def play(self) -> None:
        """To the end.

        Raises:
            Broken: with the reason, when the simulator would crash, hang or leave ranks unfinished.
        """
        for actor in list(self._actors.values()):
            self._round(actor)
        self._meet_all()
        self.clock.play(self._meet_all)
        for actor in self._actors.values():
            if actor.finish is None:
                raise Broken(self._why(actor))
            if actor.desk.left:
                raise Broken(
                    f"nodes {[op.id for op in actor.desk.stuck]} of rank {actor.role.rank} never run: they form a cycle"
                )

    def played(self, *, trace: bool) -> tuple[Played, ...]:
        """The classes of ranks, after a play, with the times of their nodes if asked."""
        found = []
        for actor in self._actors.values():
            boxes = self.cast.boxes(actor.role.key)
            count = sum(self._size(box) for box in boxes)
            spans = tuple(actor.spans[number] for number in range(len(actor.desk.script.ops))) if trace else ()
            assert actor.finish is not None
            found.append(Played(actor.role.program, boxes, count, actor.role.rank, actor.finish, actor.device, spans))
        return tuple(sorted(found, key=lambda played: played.rank))

    def _size(self, box: Box) -> int:
        return prod(
            axis.size if allowed is None else len(allowed)
            for axis, allowed in zip(self.job.axes, box.coordinates, strict=True)
        )

    # One rank: issue and end.

    def _round(self, actor: Actor) -> tuple[int, ...]:
        """Issues what can be issued, then looks whether all is done."""
        issued = []
        now = self.clock.now
        while (number := actor.desk.take()) is not None:
            issued.append(number)
            actor.open[number] = now
            self._issue(actor, number, actor.desk.script.ops[number])
        if actor.finish is None and actor.desk.idle:
            actor.finish = now
        return tuple(issued)

    def _issue(self, actor: Actor, number: int, op: Op) -> None:
        actor.odd = actor.odd or op.host or isinstance(op, Load | Store)
        time = self.cost.lasting(self.job.machine, op)
        if time is None:
            self._issuers[type(op)](actor, number, op)
        elif time == SKIPPED:
            del actor.open[number]
            actor.spans[number] = (self.clock.now, self.clock.now)
            actor.desk.skip(number)
        else:
            if on_device(self.job.machine, op):
                actor.device += time
            self.clock.after_own(actor, time, self._end, actor, (number, self.clock.now))

    def _end(self, actor: Actor, event: tuple[int, int]) -> None:
        """A node has ended: the simulator registered that `event[1]` ns after the start of time."""
        number, registered = event
        now = self.clock.now
        before = actor.last
        if (
            before is not None
            and before[:2] == (now, registered)
            and self.cost.exact
            and actor.desk.order_matters(before[2], before[3], number)
        ):
            self.unsettled = self.unsettled or (
                f"two nodes of rank {actor.role.rank} end in tick {now}, and only the ranks' numbering says which first"
            )
        actor.spans[number] = (actor.open.pop(number), now)
        actor.desk.end(number)
        actor.last = (now, registered, number, self._round(actor))

    def _end_by_message(self, actor: Actor, event: tuple[int, int]) -> None:
        """A send or receive has ended, out of the network's own event."""
        self._end(actor, event)
        if actor.finish is not None and actor.odd and self.cost.exact:
            raise Broken(
                f"the last event of rank {actor.role.rank}, which has a host or memory node, is a send or receive: "
                "the simulator aborts in its statistics"
            )

    # Sends, receives and memory.

    def _send(self, actor: Actor, number: int, op: Send) -> None:
        if op.bytes <= 0:
            raise Broken(f"node {op.id} sends {op.bytes} bytes: the simulator aborts")
        _, link = self.cast.peer(actor.role.key, op)
        time = self.cost.message(self.network, link, op.bytes)
        self.clock.after(time, self._arrive, actor, (number, self.clock.now))

    def _arrive(self, actor: Actor, event: tuple[int, int]) -> None:
        """A send's message is there: the send has ended, and so may a receive."""
        op = actor.desk.script.ops[event[0]]
        assert isinstance(op, Send)
        key, _ = self.cast.peer(actor.role.key, op)
        self._end_by_message(actor, event)
        receiver = self._actors[key]
        channel = self.cast.channel(actor.role.key, op, receiver.role.program)
        if channel is None:
            return
        if receiver.posted[channel]:
            self._end_by_message(receiver, (receiver.posted[channel].popleft(), event[1]))
        else:
            receiver.arrived[channel].append(event[1])

    def _receive(self, actor: Actor, number: int, op: Receive) -> None:
        channel = self.cast.channel(actor.role.key, op, actor.role.program)
        assert channel is not None
        if actor.arrived[channel]:
            actor.arrived[channel].popleft()
            self.clock.after(0, self._end_by_message, actor, (number, self.clock.now))
        else:
            actor.posted[channel].append(number)

    def _remote(self, actor: Actor, _number: int, _op: Load | Store) -> None:
        memory_queue(self.job.machine, actor.role.rank)
        raise Undecided("ranks queue for a shared memory in the order of their numbers")

    # Collectives.

    def _collective(self, actor: Actor, number: int, op: Collective) -> None:
        if op.kind not in IMPLEMENTED:
            raise Broken(f"collective {op.id} is a {op.kind.name}: the simulator throws")
        way = self._course(actor, op)
        listed = way.phases[0].circle.listed
        if self.cost.exact and self.clock.now == 0 and self.network.endpoint(group=listed) == 0:
            raise Broken("endpoint-delay 0 and a collective at tick 0: the simulator aborts in its event queue")
        self._number(actor, number, op, way)
        keys = self.cast.assembly(actor.role.key, op, way).keys
        if len(keys) == 1 and self._alone(actor, number, op, way):
            return
        if all(self._meets(self._actors[key], op, way) for key in keys):
            self._due.append(actor)

    def _course(self, actor: Actor, op: Collective) -> Course:
        listed = self.cast.members(actor.role.rank, op)
        key = (op.kind, op.bytes, listed or op.group)
        if key not in self._courses:
            self._courses[key] = course(self.network, op.kind, op.bytes, involved(op.group) or (), listed)
        return self._courses[key]

    def _number(self, actor: Actor, number: int, op: Collective, way: Course) -> None:
        """Counts the chunk streams and the trees, and notes what must agree among the members."""
        whole = involved(op.group) is not None
        stream = actor.streams if whole else actor.group_streams[op.group]
        trees = tuple(actor.trees[op.kind, level] % 2 for level in dict.fromkeys(way.trees))
        actor.meeting = _Meeting(number, self.clock.now, way, (op.kind, op.bytes, whole, stream, trees))
        actor.streams += way.count
        if not whole:
            actor.group_streams[op.group] += way.count
        for level in way.trees:
            actor.trees[op.kind, level] += way.count

    def _meets(self, other: Actor, op: Collective, way: Course) -> bool:
        """Whether another rank has issued a collective of the same group."""
        if other.meeting is None:
            return False
        theirs = other.desk.script.ops[other.meeting.number]
        assert isinstance(theirs, Collective)
        if involved(op.group) is None:
            return op.group == theirs.group
        return involved(theirs.group) is not None and _circles(way) == _circles(other.meeting.course)

    def _alone(self, actor: Actor, number: int, op: Collective, way: Course) -> bool:
        """All members are this class and end together: nothing more is needed."""
        key = (op.kind, op.bytes, op.group)
        if key not in self._durations:
            self._durations[key] = self.cost.together(self.network, way)
        known = self._durations[key]
        if known is None or (known.tie and self.cost.exact):
            return False
        self._note(known.fault)
        actor.meeting = None
        self._register(actor, number, known.time, known.tail)
        return True

    def _register(self, actor: Actor, number: int, time: int, tail: int) -> None:
        """Lets a collective end after `time`, by an event that is registered `tail` before."""
        if tail < time:
            self.clock.after(time - tail, self._announce, actor, (number, tail))
        else:
            self._announce(actor, (number, time))

    def _announce(self, actor: Actor, event: tuple[int, int]) -> None:
        number, tail = event
        self.clock.after_own(actor, tail, self._end, actor, (number, self.clock.now))

    def _meet_all(self) -> None:
        """Between two ticks: collectives whose members have all come."""
        while self._due:
            actor = self._due.pop(0)
            if actor.meeting is not None:
                self._meet(actor, actor.meeting)

    def _meet(self, actor: Actor, meeting: _Meeting) -> None:
        op = _collective_of(actor)
        assembly = self.cast.assembly(actor.role.key, op, meeting.course)
        actors = {key: self._actors[key] for key in assembly.keys}
        meetings = {key: other.meeting for key, other in actors.items() if other.meeting is not None}
        for key, theirs in meetings.items():
            if theirs.mark != meeting.mark:
                raise Broken(_mismatch(op, meeting.mark, theirs.mark, actor.role.rank, actors[key].role.rank))
        if len({other.since for other in meetings.values()}) == 1:
            known = self.cost.together(self.network, meeting.course)
            if known is not None and not (known.tie and _affordable(meeting.course)):
                if known.tie:
                    self.unsettled = self.unsettled or TIE.format(op.id)
                self._note(known.fault)
                for other in actors.values():
                    self._finish(other, known.time, known.tail)
                return
        self._part(actors, meetings, meeting, assembly)

    def _note(self, fault: bool) -> None:
        if fault:
            self.doubt = FREED_PACKET

    def _finish(self, actor: Actor, time: int, tail: int) -> None:
        assert actor.meeting is not None
        number = actor.meeting.number
        actor.meeting = None
        self._register(actor, number, time, tail)

    def _part(
        self, actors: dict[Hashable, Actor], meetings: dict[Hashable, _Meeting], meeting: _Meeting, assembly: Assembly
    ) -> None:
        """Members end apart: each is played, and classes whose members differ are split."""
        way = meeting.course
        seats = list(assembly.seats)
        if len(seats) * messages(way) * EVENTS_A_MESSAGE > MEMBER_EVENTS:
            raise Broken(
                f"{way.kind.name} of {len(seats)} ranks that start or end apart is too much to play: not known"
            )
        now = self.clock.now
        starts = tuple(meetings[key].since - now for key, _ in seats)
        memory = (id(way), starts, meeting.mark)
        if memory not in self._apart:
            trees = dict.fromkeys(((way.kind, level) for level in way.trees), 0)
            for (kind, level), parity in zip(trees, meeting.mark[-1], strict=True):
                trees[kind, level] = parity
            ranks = [rank for _, rank in seats]
            self._apart[memory] = self.cost.apart(self.network, way, ranks, starts, trees, MEMBER_EVENTS)
        ends, fault = self._apart[memory]
        self._note(fault)
        if self.network.machine.queues > 1 and self.cost.exact:
            self.unsettled = (
                self.unsettled or "members of a collective go round by queues that depend on what came before"
            )
        if min(ends) < 0:
            raise Undecided("a member of a collective ends before another has started")
        by_actor = defaultdict(set)
        for (key, _), end in zip(seats, ends, strict=True):
            by_actor[key].add(end)
        tail = self.network.endpoint(group=way.phases[-1].circle.listed)
        if all(len(found) == 1 for found in by_actor.values()):
            for key, found in by_actor.items():
                self._finish(actors[key], found.pop(), tail)
            return
        for actor, seat in self._split({key: _collective_of(actor) for key, actor in actors.items()}, way, ends):
            self._finish(actor, ends[seat], tail)

    def _split(
        self, meeting: dict[Hashable, Collective], way: Course, ends: tuple[int, ...]
    ) -> list[tuple[Actor, int]]:
        """Refines the cast; the new actors that take part in the collective, with their seats."""
        origins = self.cast.refine(meeting, way, ends)
        roles = {role.key: role for role in self.cast.roles()}
        parts: dict[Hashable, list[Hashable]] = defaultdict(list)
        for key, origin in origins.items():
            parts[origin.key].append(key)
        actors: dict[Hashable, Actor] = {}
        for old, keys in parts.items():
            actor = self._actors[old]
            copies = [actor.copy(roles[key], self._script(roles[key].program)) for key in keys[1:]]
            self.clock.split(actor, copies)
            if actor in self._due:
                self._due.extend(copies)
            actor.role = roles[keys[0]]
            actor.desk.script = self._script(actor.role.program)
            actors.update(zip(keys, [actor, *copies], strict=True))
        self._actors = actors
        return [
            (actors[key], origin.seat)
            for key, origin in origins.items()
            if origin.key in meeting and origin.seat is not None
        ]

    def _why(self, actor: Actor) -> str:
        """Where a rank that never finishes is."""
        ops = actor.desk.script.ops
        names = ", ".join(f"{type(ops[number]).__name__.lower()} {ops[number].id}" for number in actor.open)
        stuck = ", ".join(f"{type(op).__name__.lower()} {op.id}" for op in actor.desk.stuck[:1])
        return f"rank {actor.role.rank} never finishes: it waits in {names or stuck}"


def _affordable(way: Course) -> bool:
    """Whether all members of a collective can be played message by message."""
    members = prod(phase.circle.size for phase in way.phases if not phase.returning)
    return members * messages(way) * EVENTS_A_MESSAGE <= MEMBER_EVENTS


def _collective_of(actor: Actor) -> Collective:
    assert actor.meeting is not None
    op = actor.desk.script.ops[actor.meeting.number]
    assert isinstance(op, Collective)
    return op


def _circles(way: Course) -> frozenset[tuple[int, Circle]]:
    return frozenset((phase.level, phase.circle) for phase in way.phases)


_MARKS = (
    "one is {} and the other {}",
    "one has {} bytes and the other {}",
    "one names a communicator group and the other does not",
    "one has issued {} chunk streams before and the other {}: name the group",
    "their double binary trees are out of step ({}, {})",
)
"""Why the messages of two members never match, in the order of a meeting's mark."""


def _mismatch(op: Collective, mine: tuple[Any, ...], theirs: tuple[Any, ...], rank: int, other: int) -> str:
    reason = next(text.format(one, two) for text, one, two in zip(_MARKS, mine, theirs, strict=True) if one != two)
    return f"collective {op.id} of ranks {rank} and {other} never completes: {reason}"
