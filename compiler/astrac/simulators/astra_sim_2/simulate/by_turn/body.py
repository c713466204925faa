"""The nodes of a turn with their durations, by value."""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import NamedTuple

from astrac.simulators.astra_sim_2.simulate.issue import DEVICE, FREE, SHARED

COMPUTE, COMMUNICATION, MEMORY = range(3)
"""What the time of a node goes to."""

Place = tuple[int, int]
"""A node: by how many turns its turn comes after the current one, and its place there."""
Link = tuple[int, int]
"""A node of an earlier turn that a node of a later one needs: their places."""


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
        """Places of nodes before which no compute node of the turn comes, and no message: they may run ahead."""
        held = [False] * len(self.nodes)
        for place, node in enumerate(self.nodes):
            if node.slot == DEVICE or node.outside or held[place]:
                held[place] = True
                for child in self.children[place]:
                    held[child] = True
        return tuple(place for place, found in enumerate(held) if not found)

    def shifted(self, base: int) -> list[tuple[int, ...]]:
        """The children of each node, when the nodes are numbered from `base`."""
        if base not in self._shifted:
            self._shifted[base] = [tuple(child + base for child in each) for each in self.children]
        return self._shifted[base]


_BODIES: dict[tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]], Body] = {}


def bodies() -> int:
    """How many bodies are kept."""
    return len(_BODIES)


def forget() -> None:
    """Keeps no body any more."""
    _BODIES.clear()


def body_of(nodes: tuple[Node, ...], needs: tuple[tuple[int, ...], ...]) -> Body:
    """The body of these nodes."""
    found = _BODIES.get((nodes, needs))
    return found if found is not None else _BODIES.setdefault((nodes, needs), Body(nodes, needs))
