"""doubleBinaryTree: chunks are reduced to the root of a tree and sent down again; they take two trees in turn.

docs/simulators/astra-sim-2.md, section 3.3. It always runs an all-reduce, whatever it is listed for. Members end apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.algorithms.row import Algorithm, Sizes, Words

if TYPE_CHECKING:
    from astrac.simulators.algorithms.row import Costs, Member, Phase, Place


class TreeNode:
    """Where a member stands in one of the two trees, by index.

    Attributes:
        parent: -1 for the root.
        children: none, one or two.
    """

    __slots__ = ("children", "parent")

    def __init__(self, size: int, index: int, second: bool) -> None:
        """The first tree has root `size - 1` over a perfect in-order tree of the others, the second root 0."""
        place = index if second else index + 1
        to_index = 0 if second else -1
        top = size // 2
        if place % size == 0:
            self.parent = -1
            self.children: tuple[int, ...] = (top + to_index,)
            return
        level = place & -place
        above = place + level if not place & (level << 1) else place - level
        self.parent = (size - 1 if not second else 0) if place == top else above + to_index
        half = level // 2
        self.children = (place - half + to_index, place + half + to_index) if half else ()


class TreeState:
    """A tree on one rank: reduce to the root, then broadcast."""

    __slots__ = ("_member", "_node", "_size", "_waiting")

    def __init__(self, member: Member, size: int, node: TreeNode) -> None:
        self._member = member
        self._size = size
        self._node = node
        self._waiting = len(node.children)

    def start(self) -> None:
        """A leaf sends after the endpoint delay; the others wait for their children at once."""
        if not self._node.children:
            self._member.bundle(-1, TreeState._up, self)
        for child in self._node.children:
            self._member.receive(child, self._size, self._from_child)

    def _from_child(self) -> None:
        self._member.bundle(self._member.reduction(self._size), TreeState._reduced, self)

    def _reduced(self, _argument: None) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            if self._node.parent < 0:
                self._down(None)
            else:
                self._up(None)

    def _up(self, _argument: None) -> None:
        self._member.send(self._node.parent, self._size)
        self._member.receive(self._node.parent, self._size, self._from_parent)

    def _from_parent(self) -> None:
        reduction = self._member.reduction(self._size) if self._node.children else -1
        self._member.bundle(reduction, TreeState._down, self)

    def _down(self, _argument: None) -> None:
        for child in self._node.children:
            self._member.send(child, self._size)
        self._member.finished()


def _state(member: Member, phase: Phase, place: Place) -> TreeState:
    return TreeState(member, phase.size, TreeNode(phase.ring.size, place.index, bool(place.turn)))


def _staggered(phase: Phase, costs: Costs, starts: list[int], turn: int) -> list[int]:
    """Up: a node is ready when both children have come; down: when its parent has. Each reduction is paid both ways."""
    e, rho = costs.endpoint, costs.reduction(phase.size)
    nodes = [TreeNode(phase.ring.size, index, bool(turn)) for index in range(phase.ring.size)]
    downwards = [next(at for at, node in enumerate(nodes) if node.parent < 0)]
    for at in downwards:
        downwards.extend(nodes[at].children)
    ready = list(starts)
    for at in reversed(downwards):
        children = nodes[at].children
        come = (ready[child] + costs.delay(child, at, phase.size) for child in children)
        ready[at] = max([starts[at], *come]) + e + (rho if children else 0)
    ends = list(ready)
    for at in downwards[1:]:
        parent = nodes[at].parent
        come_back = ends[parent] + costs.delay(parent, at, phase.size)
        ends[at] = max(ready[at], come_back) + e + (rho if nodes[at].children else 0)
    return ends


DOUBLE_BINARY_TREE = Algorithm(
    words=Words("double_binary_tree", "doubleBinaryTree", "doubleBinaryTree"),
    whole=None,
    windowed=False,
    kinds=frozenset({Kind.ALL_REDUCE}),
    instead=Kind.ALL_REDUCE,
    stand_in="ring",
    sizes=Sizes.CRASHES,
    dimensions_only=True,
    neighbours_only=False,
    turns=2,
    sends=lambda _phase: 2,
    state=_state,
    duration=lambda _phase, _costs: None,
    staggered=_staggered,
    order=lambda _phase, _costs, _order, _ring_of: None,
)
