"""The turns of a role as nodes whose durations are known, and what each turn needs of the turns before it."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Collective, Compute, Load, Receive, Send, Store
from astrac.score import Chain, Other, Own, Pass
from astrac.simulators.astra_sim_2.simulate.issue import DEVICE, FREE, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Op, Program
    from astrac.score import Score, Turn

COMPUTE, COMMUNICATION, MEMORY = range(3)
"""What the time of a node goes to."""

Place = tuple[int, int]
"""A node: by how many turns its turn comes after the current one, and its place there."""
Link = tuple[int, int]
"""A node of an earlier turn that a node of a later one needs: their places."""

Kind = tuple[Pass, int, int]
"""A turn of the sample, whichever training step."""


class Refused(Exception):  # noqa: N818 - a finding, not an error
    """Turns cannot tell; whoever asked has to simulate step by step."""


class Node(NamedTuple):
    """A node, as far as time depends on it.

    Attributes:
        slot: that it holds.
        share: what its time goes to.
        time: ns; 0 for a receive, and for a collective that waits for other roles.
        tail: ns before its end at which the simulator registers that; `time` where that is when it starts.
        send: sends come first when several nodes are ready, and their ends are events of the network.
        answer: of a send to ranks of the same role, how many places after it the receive stands that it ends, and of
            that receive 1; else 0.
    """

    slot: int
    share: int
    time: int
    tail: int
    send: bool = False
    answer: int = 0

    @property
    def outside(self) -> bool:
        """Whether it is a receive of what another role sends."""
        return self.slot == FREE and not self.answer

    @property
    def meets(self) -> bool:
        """Whether it waits for other roles."""
        return self.slot == SHARED and not self.time


_NUMBERS = count()


class Body:
    """A turn by value: equal bodies are one object, whichever turn, role or job they belong to.

    Attributes:
        number: unlike those of all other bodies.
        nodes: in the order of places.
        parents: how many nodes of the turn each needs.
        children: the nodes of the turn that need each.
        last: place of the last compute node.
        loud: receives whose message lets something other than compute start.
    """

    def __init__(self, nodes: tuple[Node, ...], needs: tuple[tuple[int, ...], ...]) -> None:
        self.number = next(_NUMBERS)
        self.nodes = nodes
        self.parents = [len(each) for each in needs]
        children: list[list[int]] = [[] for _ in nodes]
        for place, each in enumerate(needs):
            for need in each:
                children[need].append(place)
        self.children = [tuple(each) for each in children]
        self.last = max((place for place, node in enumerate(nodes) if node.slot == DEVICE), default=-1)
        receives = [place for place, node in enumerate(nodes) if node.outside]
        self.loud = frozenset(
            place for place in receives if any(nodes[child].slot != DEVICE for child in self.children[place])
        )
        if self.last < 0:
            raise Refused("a turn without computation")
        if any(not self.children[place] for place in receives):
            raise Refused("a message that nothing waits for")
        self._shifted: dict[int, list[tuple[int, ...]]] = {0: self.children}

    @cached_property
    def leads(self) -> tuple[int, ...]:
        """Places of nodes that no compute node of the turn comes before: they may run ahead of it."""
        held = [False] * len(self.nodes)
        for place, node in enumerate(self.nodes):
            if node.slot == DEVICE or held[place]:
                held[place] = True
                for child in self.children[place]:
                    held[child] = True
        return tuple(place for place, found in enumerate(held) if not found and not self.nodes[place].outside)

    def shifted(self, base: int) -> list[tuple[int, ...]]:
        """The children of each node, when the nodes are numbered from `base`."""
        if base not in self._shifted:
            self._shifted[base] = [tuple(child + base for child in each) for each in self.children]
        return self._shifted[base]


_BODIES: dict[tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]], Body] = {}


def body_of(nodes: tuple[Node, ...], needs: tuple[tuple[int, ...], ...]) -> Body:
    """The body of these nodes."""
    found = _BODIES.get((nodes, needs))
    return found if found is not None else _BODIES.setdefault((nodes, needs), Body(nodes, needs))


class Message(NamedTuple):
    """A send of a turn: who receives it, and after how many ns.

    Attributes:
        role: index of the receiver; -1 where ranks of one role send to each other.
        name: of the message within its micro-batch and training step.
        delay: ns.
    """

    role: int
    name: int
    delay: int


class Role:
    """What a class of ranks does, by turns.

    Attributes:
        score: of its program.
        bodies: of the turns of the sample.
        messages: for each turn of the sample the messages that it sends, by place.
        receives: where a message comes in: name -> a turn of the sample, and the place there.
        devices: ns of device compute of each turn of the sample.
        meetings: for each turn of the sample the nodes of its program that are collectives with other roles, by place.
    """

    def __init__(
        self, program: Program, timed: Callable[[int, Op], Node], sent: Callable[[Send, int], Message]
    ) -> None:
        assert program.score is not None
        self.score: Score = program.score
        self.bodies: list[Body] = []
        self.messages: list[dict[int, Message]] = []
        self.receives: list[dict[int, int]] = []
        self.devices: list[int] = []
        self.meetings: list[dict[int, int]] = []
        self._met: list[bool] = []
        self._sent: list[int] = []
        self._entries: list[tuple[int, int]] = []
        self._wanted: list[dict[Kind, list[tuple[int, int, int]]]] = []
        self._chained: list[dict[Chain, list[int]]] = []
        self._last_met: list[int] = []
        self._links: dict[tuple[int, ...], tuple[Link, ...]] = {}
        for sample, turn in enumerate(self.score.turns):
            self._add(sample, turn, program, timed, sent)

    def _add(
        self,
        sample: int,
        turn: Turn,
        program: Program,
        timed: Callable[[int, Op], Node],
        sent: Callable[[Send, int], Message],
    ) -> None:
        base = (turn.iteration * self.score.micro_batches + turn.micro_batch) * self.score.tags
        nodes: list[Node] = []
        needs: list[tuple[int, ...]] = []
        messages: dict[int, Message] = {}
        meetings: dict[int, int] = {}
        receives: dict[int, int] = {}
        wanted: dict[Kind, list[tuple[int, int, int]]] = defaultdict(list)
        chained: dict[Chain, list[int]] = defaultdict(list)
        rings: dict[int, int] = {}
        computed = met = -1
        first_computed = first_met = last_sent = -1
        device = 0
        for place, index in enumerate(self.score.span(sample)):
            number = program.nodes[index]
            op = program.ops[number]
            node = timed(number, op)
            if node.meets and not node.send:
                meetings[place] = number
            own = {need.place for need in self.score.needs[index] if isinstance(need, Own)}
            match op:
                case Compute():
                    if computed >= 0:
                        own.add(computed)
                    else:
                        first_computed = place
                    computed = place
                    device += node.time
                case Collective() | Load() | Store():
                    if met >= 0:
                        own.add(met)
                    else:
                        first_met = place
                    met = place
                case Send():
                    message = sent(op, base)
                    node = node._replace(time=message.delay, tail=message.delay)
                    last_sent = place
                    if message.role < 0:
                        rings[op.tag] = place
                    else:
                        messages[place] = message
                case Receive():
                    if self.score.needs[index]:
                        raise Refused("a receive that waits for something")
                    if op.tag in rings:  # it follows the send of what comes from the rank before
                        start = rings.pop(op.tag)
                        nodes[start] = nodes[start]._replace(answer=place - start)
                        node = node._replace(answer=1)
                    else:
                        receives[op.tag - base] = place
            for need in self.score.needs[index]:
                if isinstance(need, Other):
                    wanted[self.score.turns[need.sample][:3]].append((need.place, place, need.back))
                elif isinstance(need, Chain):
                    chained[need].append(place)
            nodes.append(node)
            needs.append(tuple(sorted(own)))
        if rings:
            raise Refused("a message to its own role that it does not wait for")
        self.bodies.append(body_of(tuple(nodes), tuple(needs)))
        self.messages.append(messages)
        self.meetings.append(meetings)
        self.receives.append(receives)
        self.devices.append(device)
        self._entries.append((first_computed, first_met))
        self._last_met.append(met)
        self._sent.append(last_sent)
        self._wanted.append(dict(wanted))
        self._chained.append(dict(chained))

    def met(self, sample: int) -> bool:
        """Whether a turn has a node of the chain of collectives."""
        return self._last_met[sample] >= 0

    def sent(self, sample: int) -> bool:
        """Whether a turn sends."""
        return self._sent[sample] >= 0

    def links(
        self, earlier: Turn, later: Turn, before: int, here: int, *, neighbours: bool, last_met: bool, last_sent: bool
    ) -> tuple[Link, ...]:
        """What a turn needs of an earlier one.

        Args:
            earlier: a turn.
            later: another, that comes after it.
            before: the turn of the sample that the earlier one is like.
            here: the same of the later one.
            neighbours: whether one comes directly after the other.
            last_met: whether no node of the chain of collectives lies between.
            last_sent: whether no send lies between.
        """
        back = later.iteration - earlier.iteration
        passes = later.part in (Pass.FORWARD, Pass.BACKWARD)
        same = back > 0 or not passes or earlier.micro_batch == later.micro_batch
        key = (before, here, back, same, neighbours, last_met, last_sent)
        if key not in self._links:
            self._links[key] = tuple(sorted(set(self._found(*key))))
        return self._links[key]

    def homes(self) -> dict[int, tuple[Pass, int]]:
        """For the name of each message that comes in, the kind of turn that receives it."""
        turns = zip(self.receives, self.score.turns, strict=True)
        return {name: (turn.part, turn.virtual) for names, turn in turns for name in names}

    def _found(
        self, before: int, here: int, back: int, same: bool, neighbours: bool, last_met: bool, last_sent: bool
    ) -> Iterator[Link]:
        if same:
            wanted = self._wanted[here].get(self.score.turns[before][:3], ())
            yield from ((need, place) for need, place, far in wanted if far == back)
        first_computed, first_met = self._entries[here]
        computed, met = self.bodies[before].last, self._last_met[before]
        if neighbours:
            yield computed, first_computed
            yield from ((computed, place) for place in self._chained[here].get(Chain.COMPUTED, ()))
        if last_met and met >= 0 <= first_met:
            yield met, first_met
        if last_sent and self._sent[before] >= 0:
            yield from ((self._sent[before], place) for place in self._chained[here].get(Chain.SENT, ()))
