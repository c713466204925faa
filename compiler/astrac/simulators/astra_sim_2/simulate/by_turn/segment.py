"""What one rank does from one boundary between turns to the next: a pure function, kept by value.

The boundary of a turn is where the last compute node of the turn before ends: after that end, and before the round of
issues that follows it. Times are relative to the start of the segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from heapq import heappop, heappush
from typing import NamedTuple

from astrac.simulators.astra_sim_2.simulate.by_turn.body import Body, Link, Place, Refused, bodies, forget
from astrac.simulators.astra_sim_2.simulate.issue import DEVICE, FREE, SHARED

PLACES = 1 << 24
"""More than the nodes of any turn."""


class Event(NamedTuple):
    """The end of a node.

    Attributes:
        tick: when it ends.
        since: when the simulator registers that; earlier ones of a tick come first.
        own: whether it stands in the rank's own list of the tick, all of which comes where its first stands.
        place: the node.
    """

    tick: int
    since: int
    own: bool
    place: Place


class Left(NamedTuple):
    """What has not ended of an earlier turn: by how many turns it lies back, its body, and the places."""

    back: int
    body: Body
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """What is not as it was before anything happened, at a boundary or at rest; equal states are one object.

    Attributes:
        left: nodes of earlier turns that have not ended.
        crossing: of these, pairs of which the second needs the first, in different turns.
        done: nodes of the current turn and later ones that have ended, but for receives.
        held: collectives that wait for other roles.
        events: what is running.
        ahead: how many turns ahead of the current one anything of this is.
    """

    left: tuple[Left, ...] = ()
    crossing: tuple[tuple[Place, Place], ...] = ()
    done: tuple[Place, ...] = ()
    held: tuple[Place, ...] = ()
    events: tuple[Event, ...] = ()
    ahead: int = 0


_STATES: dict[tuple[object, ...], State] = {}
_SEGMENTS: dict[Scene, Segment] = {}


def state_of(
    left: tuple[Left, ...],
    crossing: tuple[tuple[Place, Place], ...],
    done: tuple[Place, ...],
    held: tuple[Place, ...],
    events: tuple[Event, ...],
) -> State:
    """The state with these values."""
    key = (left, crossing, done, held, events)
    found = _STATES.get(key)
    if found is None:
        ahead = max((place[0] for place in (*done, *held, *(event.place for event in events))), default=0)
        found = _STATES.setdefault(key, State(*key, max(0, ahead)))
    return found


KEPT = 1_000
"""Bodies and segments that are kept, each: some 30 MB of large ones."""


def forget_many() -> None:
    """Before a run: when too much is kept, nothing is."""
    if bodies() > KEPT or len(_SEGMENTS) > KEPT:
        _SEGMENTS.clear()
        _STATES.clear()
        forget()


START = state_of((), (), (), (), ())


class Scene(NamedTuple):
    """All that a segment depends on.

    Attributes:
        state: at its start.
        bodies: of the current turn and of those after it that can be reached meanwhile.
        links: for each turn but the first and each turn before it here, what it needs of that; then what these turns
            need of nodes left.
        got: messages that have come before.
        known: ends that others decide: of messages that come meanwhile, and of collectives with other roles.
        woken: whether the first of these begins the segment, which was at rest.
        final: whether the current turn is the last of the run.
    """

    state: State
    bodies: tuple[Body, ...]
    links: tuple[tuple[Link, ...], ...]
    open: tuple[tuple[Place, Place], ...]
    got: tuple[Place, ...]
    known: tuple[Event, ...]
    woken: bool
    final: bool


class Ending(Enum):
    """How a segment ends."""

    BOUNDARY = auto()
    REST = auto()
    FINISH = auto()


class Segment(NamedTuple):
    """What happens in it.

    Attributes:
        ending: how it ends.
        length: ns until then.
        spot: when the event that ended it was registered.
        state: after it.
        sends: (tick, place) of each send that started.
        meets: (tick, place) of each collective with other roles that was issued.
        own: whether the event that ended it stood in the rank's own list.
        shares: ns of compute, exposed communication and exposed memory traffic.
    """

    ending: Ending
    length: int
    spot: int
    state: State
    sends: tuple[tuple[int, Place], ...]
    meets: tuple[tuple[int, Place], ...]
    own: bool
    shares: tuple[int, int, int]


def segment_of(scene: Scene) -> Segment:
    """The segment of a scene."""
    found = _SEGMENTS.get(scene)
    return found if found is not None else _SEGMENTS.setdefault(scene, _Stage(scene).play())


class _Stage:
    """One rank at work, for the length of a segment."""

    def __init__(self, scene: Scene) -> None:
        state, self._scene = scene.state, scene
        self._nodes = [node for body in scene.bodies for node in body.nodes]
        self._waits = [parents for body in scene.bodies for parents in body.parents]
        self._children: list[tuple[int, ...]] = []
        self._bases: list[int] = []
        for body in scene.bodies:
            self._bases.append(len(self._children))
            self._children += body.shifted(self._bases[-1])
        self._places: list[Place] = [
            (offset, place) for offset, body in enumerate(scene.bodies) for place in range(len(body.nodes))
        ]
        self._left: dict[Place, int] = {}
        for back, body, places in state.left:
            first = len(self._nodes)
            numbers = {place: first + at for at, place in enumerate(places)}
            self._left.update(((-back, place), number) for place, number in numbers.items())
            self._places += [(-back, place) for place in places]
            self._nodes += [body.nodes[place] for place in places]
            self._waits += [0] * len(places)
            for place in places:
                kids = tuple(numbers[child] for child in body.children[place] if child in numbers)
                self._children.append(kids)
                for kid in kids:
                    self._waits[kid] += 1
        self._extra: dict[int, list[int]] = {}
        self._ended = [False] * len(self._nodes)
        for before, after in (*state.crossing, *scene.open):
            self._link(self._at(before), self._at(after))
        pairs = ((j, t) for t in range(1, len(scene.bodies)) for j in range(t))
        for (earlier, later), links in zip(pairs, scene.links, strict=True):
            base, here = self._bases[earlier], self._bases[later]
            for need, place in links:
                self._link(base + need, here + place)
        self._heaps: dict[int, list[tuple[int, int]]] = {slot: [] for slot in range(4)}
        self._held: list[int | None] = [None] * 4
        running = set()
        for where in (*state.held, *(event.place for event in state.events)):
            number = self._at(where)
            running.add(number)
            self._held[self._nodes[number].slot] = number
        for where in (*state.done, *scene.got):
            self._release(self._at(where), ready=False)
        self._events = [(*event[:3], self._at(event.place)) for event in (*state.events, *scene.known)]
        self._events.sort()
        for number, node in enumerate(self._nodes):
            if not self._waits[number] and not self._ended[number] and number not in running and node.slot != FREE:
                self._push(number)
        self._now = 0
        self._boundary = -1 if scene.final else scene.bodies[0].last
        self._issued: list[int] = []
        self._sends: list[tuple[int, Place]] = []
        self._meets: list[tuple[int, Place]] = []
        self._shares = [0, 0, 0]

    def _at(self, place: Place) -> int:
        return self._bases[place[0]] + place[1] if place[0] >= 0 else self._left[place]

    def _link(self, before: int, after: int) -> None:
        self._waits[after] += 1
        self._extra.setdefault(before, []).append(after)

    def _push(self, number: int) -> None:
        node, (offset, place) = self._nodes[number], self._places[number]
        order = (offset + PLACES) * PLACES + place
        heappush(self._heaps[node.slot], (order if node.send else order + PLACES**3, number))

    def _release(self, number: int, *, ready: bool = True) -> None:
        """A node has ended: its children wait for one thing less."""
        self._ended[number] = True
        waits = self._waits
        for child in (*self._children[number], *self._extra.get(number, ())):
            waits[child] -= 1
            if ready and not waits[child]:
                self._push(child)

    def _issue(self) -> None:
        """A round: the lowest node that is ready and whose slot is free, again and again."""
        held, now = self._held, self._now
        while True:
            heaps = [heap for slot, heap in self._heaps.items() if heap and held[slot] is None]
            if not heaps:
                return
            _, number = heappop(min(heaps))
            node = self._nodes[number]
            held[node.slot] = number
            self._issued.append(number)
            if node.meets:
                self._meets.append((now, self._places[number]))
                continue
            if node.send:
                self._sends.append((now, self._places[number]))
            end = now + node.time
            heappush(self._events, (end, max(now, end - node.tail), not node.send, number))

    def _pass(self, tick: int) -> None:
        """Time passes."""
        running = self._held[DEVICE]
        if running is None:
            running = next((number for number in self._held if number is not None), None)
        if running is not None:
            self._shares[self._nodes[running].share] += tick - self._now
        self._now = tick

    def play(self) -> Segment:
        """To its end.

        Raises:
            Refused: when only the numbering of ranks says what comes first.
        """
        scene, spot, own = self._scene, 0, True
        if not scene.woken:
            self._issue()
        while self._events:
            tick = self._events[0][0]
            self._pass(tick)
            due = self._due()
            for at, event in enumerate(due):
                _, spot, own, number = event
                self._end(number)
                if number == self._boundary:
                    return self._ended_at_boundary(tick, spot, due[at + 1 :])
                self._issue()
                if self._nodes[number].send and self._nodes[number].answer:
                    self._answer(number)
        finished = all(self._ended)
        ending = Ending.FINISH if finished and scene.final else Ending.REST
        return self._ended_as(ending, spot, own, 0, ())

    def _answer(self, number: int) -> None:
        """What ranks of a role send each other has come: the receive ends in the event in which the send has."""
        receive = self._at((self._places[number][0], self._places[number][1] + self._nodes[number].answer))
        before = self._held[SHARED]
        ready = len(self._heaps[SHARED])
        self._release(receive)
        if before is not None and len(self._heaps[SHARED]) > ready:
            raise Refused("ends in one tick, registered in one tick")
        self._issue()

    def _due(self) -> list[tuple[int, int, bool, int]]:
        """The events of the next tick in order, with the moment that places them there."""
        due = [heappop(self._events)]
        while self._events and self._events[0][0] == due[0][0]:
            due.append(heappop(self._events))
        if len(due) > 1:
            own = [event for event in due if event[2]]
            others = [event for event in due if not event[2]]
            sinces = [event[1] for event in own]
            marks = [event[1] for event in others] + sinces[:1]
            tied = len(set(sinces)) < len(sinces) or len(set(marks)) < len(marks)
            own = [(end, sinces[0], True, number) for end, _, _, number in own]
            due = sorted((*own, *others), key=lambda event: event[1])
            if tied:
                if len(due) > 2 or self._outcome(due) != self._outcome(due[::-1]):
                    raise Refused("ends in one tick, registered in one tick")
                due.sort(key=lambda event: event[3] == self._boundary)
        return due

    def _outcome(self, due: list[tuple[int, int, bool, int]]) -> set[int]:
        """What would be issued if these nodes ended in this order; everything is then as before."""
        waits, ended, held, events = list(self._waits), list(self._ended), list(self._held), list(self._events)
        heaps = {slot: list(heap) for slot, heap in self._heaps.items()}
        sends, meets = len(self._sends), len(self._meets)
        before = self._issued
        self._issued = []
        for _, _, _, number in due:
            self._end(number)
            self._issue()
        found, self._issued = set(self._issued), before
        self._waits, self._ended, self._held, self._events, self._heaps = waits, ended, held, events, heaps
        del self._sends[sends:], self._meets[meets:]
        return found

    def _end(self, number: int) -> None:
        """A node ends: its slot is free."""
        slot = self._nodes[number].slot
        if slot != FREE:
            self._held[slot] = None
        self._release(number)

    def _ended_at_boundary(self, tick: int, spot: int, rest: list[tuple[int, int, bool, int]]) -> Segment:
        if sum(event[2] for event in rest) > 1:
            raise Refused("several ends in one tick")
        known = {self._at(event.place) for event in self._scene.known}
        events = tuple(
            Event(end - tick, since - tick, own, self._places[number])
            for end, since, own, number in sorted((*rest, *self._events))
            if number not in known
        )
        return self._ended_as(Ending.BOUNDARY, spot, True, 1, events)

    def _ended_as(self, ending: Ending, spot: int, own: bool, passed: int, events: tuple[Event, ...]) -> Segment:
        scene, ended, places = self._scene, self._ended, self._places
        left: dict[int, list[int]] = {}
        done: list[Place] = []
        first = [(number, place) for number, place in enumerate(places)]
        for number, (offset, place) in first:
            if offset < passed:
                if not ended[number]:
                    if self._nodes[number].outside and passed:
                        raise Refused("a turn is over before its message has come")
                    left.setdefault(offset - passed, []).append(place)
            elif ended[number] and not self._nodes[number].outside:
                done.append((offset - passed, place))
        bodies = {-back: body for back, body, _ in scene.state.left} | dict(enumerate(scene.bodies))
        late = tuple(
            Left(-offset, bodies[offset + passed], tuple(left[offset])) for offset in sorted(left) if offset < 0
        )

        def moved(number: int) -> Place:
            offset, place = places[number]
            return offset - passed, place

        crossing = tuple(
            (moved(before), moved(after))
            for before, afters in sorted(self._extra.items())
            if not ended[before]
            for after in afters
            if places[after][0] < passed and not ended[after]
        )
        if passed and any(number is not None and self._nodes[number].meets for number in self._held):
            raise Refused("a turn is over before roles have met")
        held = tuple(moved(number) for number in self._held if number is not None and self._nodes[number].meets)
        events = tuple(event._replace(place=(event.place[0] - passed, event.place[1])) for event in events)
        compute, communication, memory = self._shares
        state = state_of(late, crossing, tuple(done), held, events)
        return Segment(
            ending,
            self._now,
            spot,
            state,
            tuple(self._sends),
            tuple(self._meets),
            own,
            (compute, communication, memory),
        )
