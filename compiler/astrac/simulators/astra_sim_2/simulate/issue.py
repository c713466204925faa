"""One rank's nodes: each waits for others and for one of three slots, and those that can run are issued by id.

docs/simulators/astra-sim-2.md, section 4.
"""

from __future__ import annotations

from copy import copy
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING

from astrac.job import Collective, Compute, Receive
from astrac.simulators.astra_sim_2.simulate.network import Broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.job import Group, Op, Program

HOST, DEVICE, SHARED, FREE = range(4)
"""Slots: host compute; device compute; collectives, sends and memory; receives need none."""


def _slot(op: Op) -> int:
    if op.host:
        return HOST
    if isinstance(op, Compute):
        return DEVICE
    return FREE if isinstance(op, Receive) else SHARED


class DependencyGraph:
    """A Program with its dependencies turned round. Nodes are named by index; indices ascend with ids.

    Attributes:
        ops: the nodes.
        slots: the slot that each needs.
        parents: how many others each waits for.
        children: indices of the nodes that wait for each.
        signatures: for each collective the number of its kind, bytes and group; -1 for other nodes.
        groups: for each signature the number of its group. Programs that are alike number both alike.

    Raises:
        Broken: when the simulator aborts at it.
    """

    def __init__(self, program: Program) -> None:
        self.ops = tuple(sorted(program.ops, key=attrgetter("id")))
        index = {op.id: number for number, op in enumerate(self.ops)}
        if not self.ops:
            raise Broken("a rank without any node: the simulator aborts")
        if len(index) < len(self.ops):
            raise Broken("two nodes with one id: the later one silently replaces the earlier")
        children: list[tuple[int, ...]] = [()] * len(self.ops)
        parents = []
        for number, op in enumerate(self.ops):
            needs = {*op.data, *op.control}
            for need in needs:
                if need not in index:
                    raise Broken(f"node {op.id} depends on node {need}, which does not exist: the simulator aborts")
                children[index[need]] += (number,)
            parents.append(len(needs))
        if all(parents):
            raise Broken("every node depends on another: the simulator aborts")
        self.parents = tuple(parents)
        self.children = tuple(children)
        self.slots = tuple(map(_slot, self.ops))
        groups: dict[Group, int] = {}
        signatures: dict[tuple[int, int, int], int] = {}
        self.signatures = tuple(
            signatures.setdefault((op.kind, op.bytes, groups.setdefault(op.group, len(groups))), len(signatures))
            if isinstance(op, Collective)
            else -1
            for op in self.ops
        )
        self.groups = tuple(group for _, _, group in signatures)


class IssueQueue:
    """Which nodes of one rank are ready, and which slots are free.

    Attributes:
        graph: the rank's nodes.
        left: how many nodes have not ended.
        running: how many nodes have been issued and have not ended.
    """

    __slots__ = ("_busy", "_count", "_late", "_ready", "_waits", "graph", "left", "running")

    def __init__(self, graph: DependencyGraph) -> None:
        self.graph = graph
        self.left = len(graph.ops)
        self.running = 0
        self._waits = list(graph.parents)
        self._busy = [False] * 4
        self._ready: list[list[int]] = [[], [], [], []]
        self._late: list[int] = []
        self._count = 0
        for number, parents in enumerate(graph.parents):
            if not parents:
                self._add(number)

    def copy(self, graph: DependencyGraph) -> IssueQueue:
        """The same state, apart from now on, of a rank that runs a like Program."""
        other: IssueQueue = copy(self)
        other.graph = graph
        other._waits, other._busy, other._late = list(self._waits), list(self._busy), list(self._late)
        other._ready = [list(heap) for heap in self._ready]
        return other

    def take(self) -> int | None:
        """Issues the lowest node that is ready and whose slot is free, and names it; None when there is none.

        A round of `take`s must end with None. What becomes ready in between waits for the next round.
        """
        best, slot = -1, FREE
        if self._count:
            busy = self._busy
            for number, heap in enumerate(self._ready):
                if heap and not busy[number] and (best < 0 or heap[0] < best):
                    best, slot = heap[0], number
        if best < 0:
            for late in self._late:
                self._add(late)
            self._late.clear()
            return None
        heappop(self._ready[slot])
        self._count -= 1
        self._busy[slot] = slot != FREE
        self.running += 1
        return best

    def _add(self, number: int) -> None:
        heappush(self._ready[self.graph.slots[number]], number)
        self._count += 1

    def end(self, number: int) -> None:
        """A node has ended: its slot is free, its children may be ready."""
        for child in self._release(number):
            self._add(child)

    def skip(self, number: int) -> None:
        """A node ends as it is issued; its children are seen by the next round only."""
        self._late += self._release(number)

    def _release(self, number: int) -> list[int]:
        """The children that waited for this node alone."""
        waits = self._waits
        self._busy[self.graph.slots[number]] = False
        self.running -= 1
        self.left -= 1
        freed = []
        for child in self.graph.children[number]:
            waits[child] -= 1
            if not waits[child]:
                freed.append(child)
        return freed

    def order_matters(self, first: int, issued: Sequence[int], second: int) -> bool:
        """Whether it matters which of two nodes that end in one tick ends first.

        Args:
            first: has ended.
            issued: nodes of the round that followed.
            second: is about to end.
        """
        slots = self.graph.slots
        after, other = self.copy(self.graph), self.copy(self.graph)
        after.end(second)
        mine = [*issued, *after.round()]
        other.undo(first, issued)
        other.end(second)
        theirs = other.round()
        other.end(first)
        theirs += other.round()
        return {at for at in mine if slots[at] != FREE} != {at for at in theirs if slots[at] != FREE}

    def round(self) -> list[int]:
        """Issues all that can be issued, and names it."""
        return list(iter(self.take, None))

    def undo(self, first: int, issued: Sequence[int]) -> None:
        """Takes back that a node has ended and what was issued then."""
        slots = self.graph.slots
        for number in issued:
            self._busy[slots[number]] = False
            self.running -= 1
            self._add(number)
        self._busy[slots[first]] = slots[first] != FREE
        self.running += 1
        self.left += 1
        for child in self.graph.children[first]:
            if not self._waits[child]:
                self._count -= 1
                self._ready[slots[child]].remove(child)
                heapify(self._ready[slots[child]])
            self._waits[child] += 1

    @property
    def idle(self) -> bool:
        """Nothing is ready or running: the simulator declares the rank finished, whether or not all nodes ran."""
        return not self.running and not self._count

    @property
    def stuck(self) -> list[Op]:
        """Nodes that have not been issued."""
        ready = {number for heap in self._ready for number in heap}
        return [op for number, op in enumerate(self.graph.ops) if self._waits[number] or number in ready]
