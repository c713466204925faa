"""Nodes in an order in which they can run. ONNX demands it of a file, and not all files keep it."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.models.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.models.graph import Node


class Circle(Exception):  # noqa: N818 - what a graph is, not an error of ours
    """Nodes that depend on each other; carries one of them."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


def ordered(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes as they are where that is an order, else as near to it as can be. Raises `Circle`."""
    maker = {output: index for index, node in enumerate(nodes) for output in node.outputs if output}
    if all(maker.get(name, -1) < index for index, node in enumerate(nodes) for name in reads(node)):
        return nodes
    sources = [{maker[name] for name in reads(node) if name in maker} for node in nodes]
    readers: dict[int, list[int]] = {}
    for index, found in enumerate(sources):
        for source in found:
            readers.setdefault(source, []).append(index)
    waiting = [len(found) for found in sources]
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[Node] = []
    while ready:
        index = heappop(ready)
        order.append(nodes[index])
        for reader in readers.get(index, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, reader)
    if len(order) < len(nodes):
        raise Circle(next(node for node, count in zip(nodes, waiting, strict=True) if count))
    return order


def reads(node: Node) -> Sequence[str]:
    """Names that a node reads, those that its bodies take from outside too."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Graph)] if node.attributes else ()
    if not bodies:
        return node.inputs
    inner = [name for body in bodies for inner in body.nodes for name in reads(inner)]
    return [*node.inputs, *inner, *(item.name for body in bodies for item in body.outputs)]
