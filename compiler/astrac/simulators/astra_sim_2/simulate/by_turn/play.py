"""All roles together: segments follow each other in time, and messages and collectives between roles join them."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from astrac.score import Turn
from astrac.simulators.astra_sim_2.simulate.by_turn.body import COMMUNICATION, Refused
from astrac.simulators.astra_sim_2.simulate.by_turn.segment import START, Ending, Event, Scene, segment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.simulators.astra_sim_2.simulate.by_turn.body import Link, Place
    from astrac.simulators.astra_sim_2.simulate.by_turn.outline import TurnOutline
    from astrac.simulators.astra_sim_2.simulate.by_turn.role import Role

FAR = 64
"""Turns that a rank may run ahead of its computation."""


class Met(NamedTuple):
    """A role that has come to a collective with others: which, when, the node of its program, its turn and place."""

    role: int
    tick: int
    node: int
    turn: int
    place: int


class Actor:
    """One role in a run.

    Attributes:
        number: of the role.
        role: what it does.
        turns: of the run.
        at: the current turn.
        last: the last turn of which something can start meanwhile.
        start: tick of the current segment's start.
        segment: what happens from there.
        finish: tick at which it has finished; None before.
        samples: the turns of the sample that these are like.
        reach: for each turn the last one of which something can start while it is the current one.
        shares: ns of compute, exposed communication and memory, up to the start.
        version: counts what has changed what happens next.
        emitted: how many of the outputs of the current segment have happened.
        outputs: of the current segment: tick, whether it is a send and not a collective with others, and the node.
    """

    def __init__(self, number: int, role: Role, micro_batches: int) -> None:
        self.number, self.role = number, role
        self.turns = role.score.course(micro_batches)
        self.samples = [role.score.sample(turn, micro_batches) for turn in self.turns]
        self._index = {turn: at for at, turn in enumerate(self.turns)}
        self._met_before, self._sent_before = (
            self._before(lambda turn: turn.met[1]),
            self._before(lambda turn: turn.sent),
        )
        self._near = [() if not at else self._links(at - 1, at) for at in range(len(self.turns))]
        self.reach = self._reaches()
        self.at = self.start = self.last = 0
        self.finish: int | None = None
        self.shares = [0, 0, 0]
        self._state = START
        self._inbox: dict[int, dict[int, tuple[int, int]]] = {}
        self._loud: dict[tuple[int, int], tuple[int, int]] = {}
        self._ends: dict[int, dict[int, tuple[int, int]]] = {}
        self._came: set[tuple[int, int]] = set()
        self._waking: Event | None = None
        self.version = 0
        self.emitted = 0
        self.outputs: list[tuple[int, bool, Place]] = []
        self._evaluate()

    # -- what is fixed

    def _before(self, last_place: Callable[[TurnOutline], int]) -> list[int]:
        """For each turn the last one before it that has something; -1 for none."""
        has = [last_place(turn) >= 0 for turn in self.role.outline.turns]
        found, last = [], -1
        for at, sample in enumerate(self.samples):
            found.append(last)
            if has[sample]:
                last = at
        return found

    def _links(self, before: int, at: int) -> tuple[Link, ...]:
        return self.role.outline.links(
            self.turns[before],
            self.turns[at],
            self.samples[before],
            self.samples[at],
            neighbours=before == at - 1,
            last_met=before == self._met_before[at],
            last_sent=before == self._sent_before[at],
        )

    def _reaches(self) -> list[int]:
        """See `reach`."""
        reach = list(range(len(self.turns)))
        leads: list[dict[int, int]] = []
        for at, sample in enumerate(self.samples):
            body = self.role.bodies[sample]
            mine = {} if not body.leads else self._leads(at, leads)
            leads.append(mine)
            first = min(mine.values(), default=at - 1) if at else 0
            if at - first > FAR:
                raise Refused("collectives may run far ahead of computation")
            for earlier in range(max(0, first), at):
                reach[earlier] = max(reach[earlier], at)
        return reach

    def _leads(self, at: int, before: list[dict[int, int]]) -> dict[int, int]:
        """For the nodes of a turn that no compute of it comes before, the first turn in which they can start."""
        body = self.role.bodies[self.samples[at]]
        found = dict.fromkeys(body.leads, 0)
        free = set(body.leads).difference(*(body.children[place] for place in body.leads))
        for earlier in range(at - 1, max(-1, at - 1 - FAR), -1):
            for need, place in self._links(earlier, at):
                if place in found:
                    found[place] = max(found[place], before[earlier].get(need, earlier))
                    free.discard(place)
            if not free:
                break
        for place in body.leads:
            for child in body.children[place]:
                if child in found:
                    found[child] = max(found[child], found[place])
        return found

    # -- segments

    def _scene(self, known: tuple[Event, ...]) -> Scene:
        at, state, last = self.at, self._state, self.last
        if last - at > FAR:
            raise Refused("messages may run far ahead of computation")
        bodies = tuple(self.role.bodies[sample] for sample in self.samples[at : last + 1])
        if last == at + 1:
            links: tuple[tuple[Link, ...], ...] = (self._near[last],)
        else:
            links = tuple(self._links(j, t) for t in range(at + 1, last + 1) for j in range(at, t))
        open_: list[tuple[Place, Place]] = []
        for back, _, places in state.left:
            missing = set(places)
            for later in range(at, last + 1):
                open_ += (
                    ((-back, need), (later - at, place))
                    for need, place in self._links(at - back, later)
                    if need in missing
                )
        got = tuple(sorted((turn - at, place) for turn, place in self._came if turn <= last))
        woken = self._waking is not None
        return Scene(state, bodies, links, tuple(open_), got, known, woken, at == len(self.turns) - 1)

    def _decided(self) -> list[Event]:
        """Ends in reach that others have decided and that matter, relative to the start."""
        at, found = self.at, []
        current = (((at, place), when) for place, when in self._inbox.get(at, {}).items())
        for (turn, place), (tick, since) in {**self._loud, **dict(current)}.items():
            if (turn, place) not in self._came:
                found.append(Event(tick - self.start, since - self.start, False, (turn - at, place)))
        for turn, places in self._ends.items():
            for place, (tick, since) in places.items():
                found.append(Event(tick - self.start, since - self.start, True, (turn - at, place)))
        return sorted(found)

    def _matters(self, turn: int, place: int) -> bool:
        """Whether a message lets something start before the turn after the current one."""
        return turn == self.at or place in self.role.bodies[self.samples[turn]].loud

    def _evaluate(self) -> None:
        """Works out the current segment with all that is known by now."""
        known: tuple[Event, ...] = () if self._waking is None else (self._waking,)
        decided = self._decided()
        came = (turn for turn, place in self._came if self._matters(turn, place))
        ahead = self.at + max((self._state.ahead, *(event.place[0] for event in known)))
        self.last = max((self.reach[self.at], ahead, *came))
        while True:
            segment = segment_of(self._scene(known))
            more = [event for event in decided if event not in known and event.tick <= segment.length]
            if not more:
                break
            known = tuple(sorted((*known, *more)))
            self.last = max(self.last, *(self.at + event.place[0] for event in more))
        self.segment = segment
        emitted = self.outputs[: self.emitted]
        self.outputs = sorted(
            [(tick, True, place) for tick, place in segment.sends]
            + [(tick, False, place) for tick, place in segment.meets]
        )
        if self.outputs[: self.emitted] != emitted:
            raise Refused("a message changed what came before it")

    def next(self) -> int | None:
        """The tick at which something happens next; None where only others can make it happen."""
        if self.emitted < len(self.outputs):
            return self.start + self.outputs[self.emitted][0]
        if self.segment.ending is not Ending.REST:
            return self.start + self.segment.length
        wake = self._wake()
        return None if wake is None else self.start + wake.tick

    def _wake(self) -> Event | None:
        later = (event for event in self._decided() if event.tick > self.segment.length)
        return next(later, None)

    def _told(self) -> None:
        """Something that matters was decided."""
        if self.finish is None:
            self._evaluate()
            self.version += 1

    def end(self) -> None:
        """The current segment is over: at a boundary, at the finish, or woken from rest."""
        segment = self.segment
        now = self.start + segment.length
        for share, time in enumerate(segment.shares):
            self.shares[share] += time
        if segment.ending is Ending.FINISH:
            self.finish = now
            return
        boundary = segment.ending is Ending.BOUNDARY
        moment = (now, self.start + segment.spot)
        self._waking = None
        if boundary:
            self.at += 1
        else:
            wake = self._wake()
            assert wake is not None
            if segment.state.held:  # a collective that waits is communication
                self.shares[COMMUNICATION] += wake.tick - segment.length
            moment = (self.start + wake.tick, self.start + wake.since)
            offset, place = wake.place
            self._waking = Event(0, wake.since - wake.tick, wake.own, (offset, place))
        self._take(moment, boundary=boundary)
        self._state = segment.state
        self.start, self.emitted, self.outputs = moment[0], 0, []
        self._evaluate()

    def _take(self, moment: tuple[int, int], *, boundary: bool) -> None:
        """Messages that have come before a moment are there.

        For one that lets computation alone go on it does not matter on which side of a boundary of its moment it comes;
        one that lets something else go on would have tied in the segment before.
        """
        self._came = {entry for entry in self._came if entry[0] >= self.at}
        self._inbox.pop(self.at - 1, None)
        self._loud = {entry: when for entry, when in self._loud.items() if entry[0] >= self.at}
        for turn in {*range(self.at, self.reach[self.at] + 1), *(turn for turn, _ in self._loud)}:
            for place, when in self._inbox.get(turn, {}).items():
                if when <= moment if boundary else when < moment:
                    self._came.add((turn, place))
        for ends in self._ends.values():
            for place in [place for place, when in ends.items() if when < moment]:
                del ends[place]

    @property
    def far(self) -> int:
        """How many turns back something has not ended."""
        return max((left.back for left in self._state.left), default=0)

    def moment(self, now: int) -> Hashable:
        """All that what happens next depends on, but for the turns to come, as seen from now."""
        at = self.at
        coming = tuple(
            (turn - at, place, tick - now, since - now)
            for turn, places in sorted(self._inbox.items())
            if turn >= at
            for place, (tick, since) in places.items()
            if (turn, place) not in self._came
        )
        came = tuple(sorted((turn - at, place) for turn, place in self._came))
        ends = tuple(
            (turn - at, place, tick - now, since - now)
            for turn, places in sorted(self._ends.items())
            for place, (tick, since) in places.items()
        )
        return (self._state, self.start - now, self.emitted, self._waking, coming, came, ends, self.finish is None)

    # -- messages

    def receive(self, turn: Turn, name: int, tick: int, since: int) -> None:
        """A message has been sent, and will come at a tick."""
        at = self._index[turn]
        place = self.role.receives[self.samples[at]][name]
        self._inbox.setdefault(at, {})[place] = (tick, since)
        if place in self.role.bodies[self.samples[at]].loud:
            self._loud[at, place] = (tick, since)
        if self._matters(at, place):
            self._told()

    def meet(self, turn: int, place: int, tick: int, since: int) -> None:
        """A collective with other roles will end at a tick."""
        self._ends.setdefault(turn, {})[place] = (tick, since)
        self._told()


class Run:
    """All roles, played to the end.

    Args:
        roles: by number.
        micro_batches: that are played.
        together: of those who have come, those whose collective can run, each with (tick of its end, when the simulator
            registers that).
        watch: is called with the tick at which a turn of the first role begins.
    """

    def __init__(
        self,
        roles: list[Role],
        micro_batches: int,
        together: Callable[[list[Met]], list[tuple[Met, tuple[int, int]]]],
        watch: Callable[[Run, int], None] | None = None,
    ) -> None:
        self._roles = roles
        self._together = together
        self._watch = watch
        self._homes = [role.homes() for role in roles]
        self._come: list[Met] = []
        self.actors = [Actor(number, role, micro_batches) for number, role in enumerate(roles)]
        self._due: list[tuple[int, int, int]] = []

    def play(self) -> list[Actor]:
        """To the end; the roles.

        Raises:
            Refused: when turns cannot tell.
        """
        for actor in self.actors:
            self._push(actor)
        while self._due:
            tick, number, version = heappop(self._due)
            actor = self.actors[number]
            if version != actor.version:
                continue
            if actor.emitted < len(actor.outputs):
                _, sends, (offset, place) = actor.outputs[actor.emitted]
                actor.emitted += 1
                if sends:
                    self._send(actor, actor.at + offset, place, tick)
                else:
                    self._meet(actor, actor.at + offset, place, tick)
            else:
                before = actor.at
                actor.end()
                if self._watch is not None and not number and actor.at > before:
                    self._watch(self, tick)
            actor.version += 1
            self._push(actor)
        if any(actor.finish is None for actor in self.actors):
            raise Refused("nothing is left to happen")
        return self.actors

    def _push(self, actor: Actor) -> None:
        tick = None if actor.finish is not None else actor.next()
        if tick is not None:
            heappush(self._due, (tick, actor.number, actor.version))

    def _send(self, actor: Actor, at: int, place: int, tick: int) -> None:
        turn = actor.turns[at]
        message = actor.role.messages[actor.samples[at]].get(place)
        if message is None:  # ranks of one role send each other
            return
        receiver = self.actors[message.role]
        part, virtual = self._homes[message.role][message.name]
        receiver.receive(
            Turn(part, virtual, turn.micro_batch, turn.iteration), message.name, tick + message.delay, tick
        )
        self._push(receiver)

    def _meet(self, actor: Actor, at: int, place: int, tick: int) -> None:
        number = actor.role.outline.turns[actor.samples[at]].numbers[place]
        self._come.append(Met(actor.number, tick, number, at, place))
        for met, (end, since) in self._together(self._come):
            self._come.remove(met)
            other = self.actors[met.role]
            other.meet(met.turn, met.place, end, since)
            self._push(other)
