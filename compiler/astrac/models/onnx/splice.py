"""The straight list in the making: functions inlined, bodies spliced in, every value with a name of its own."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.models.graph import Attribute, Constant, Function, Graph, Node, Reference, Signature
from astrac.models.onnx.names import CALL, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from astrac.source import Span

ENDIF = "If:end"
LOOP, ENDLOOP, SCAN, ENDSCAN = "Loop:begin", "Loop:end", "Scan:begin", "Scan:end"
"""Operators of the marker nodes, which stand where a body begins and where control ends."""

MARKERS = frozenset({ENDIF, LOOP, ENDLOOP, SCAN, ENDSCAN})

MOST_NODES = 100_000
"""Nodes that inlining may make: functions that call functions grow without bound."""

_DEEPEST, _LONGEST = 50, 500
"""Calls and bodies within each other, and characters of the path to the innermost."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of nodes that runs another number of times than once.

    Attributes:
        parent: index of the region around it; the first is the whole graph and its own parent.
        node: name of the control node, for messages.
        kind: `branch`, `loop` or `scan`.
        group: for branches, the number of the If; branches of one If exclude each other.
        count: the value that says how often: Loop's trip count, Scan's first scanned input, the condition of an If.
        axis: of Scan's first scanned input; for branches what the condition must be, 0 or 1.
    """

    parent: int
    node: str
    kind: str
    group: int = 0
    count: str = ""
    axis: int = 0


class Place(NamedTuple):
    """Where nodes stand: the path of calls, how deep, in which region, with which attributes of the call."""

    path: str = ""
    depth: int = 0
    region: int = 0
    attributes: Mapping[str, Attribute] = {}


@dataclass(slots=True)
class Splicer:
    """What grows while a file's graph is walked."""

    name: str
    functions: Mapping[tuple[str, str], Function]
    span: Span | None
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Constant] = field(default_factory=dict)
    hints: dict[str, Signature] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=lambda: [Region(0, "", "graph")])
    taken: dict[str, int] = field(default_factory=dict)
    inlined: int = 0

    def error(self, message: str) -> Diagnosed:
        """The file cannot run, and why."""
        return Diagnosed(diagnostic("AS611", f"`{self.name}` cannot run: {message}", self.span))

    def fresh(self, name: str) -> str:
        """A name that no other value has; the first keeps its own."""
        count = self.taken.get(name, 0)
        self.taken[name] = count + 1
        return name if not count else self.fresh(f"{name[:_LONGEST]}~{count + 1}")

    def graph(self, graph: Graph, scope: MutableMapping[str, str], place: Place) -> None:
        """A graph's constants and nodes, with its inputs already in scope."""
        own = _own(scope)
        for constant in graph.constants:
            if constant.name not in own:
                own[constant.name] = self.fresh(constant.name)
            self.constants[own[constant.name]] = constant
        self.run(graph.nodes, graph.hints, scope, place)

    def run(
        self, nodes: Sequence[Node], hints: Iterable[Signature], scope: MutableMapping[str, str], place: Place
    ) -> None:
        """Nodes one after the other, sorted, each with the names of this scope."""
        own = _own(scope)
        nodes = [node if node.outputs[0] else _with_result(node) for node in nodes if any(node.outputs)]
        for node in nodes:
            for output in filter(None, node.outputs):
                if output in own:
                    raise self.error(f"the value `{output}` is made twice, the second time by `{shown(node)}`")
                own[output] = self.fresh(output)
        self.hints.update((scope[hint.name], hint) for hint in hints if hint.name in scope)
        try:
            nodes = ordered(nodes)
        except GraphCycle as cycle:
            raise self.error(f"`{shown(cycle.node)}` depends on its own result") from None
        for node in nodes:
            self.emit(self.placed(node, scope, place), scope, place)

    def placed(self, node: Node, scope: Mapping[str, str], place: Place) -> Node:
        """The node with unique names, in its region, with the attributes of the call put in."""
        try:
            inputs = tuple([scope[name] for name in node.inputs])
            outputs = tuple([scope[name] for name in node.outputs])
        except KeyError as missing:
            raise self.error(f"`{shown(node)}` reads `{missing.args[0]}`, which nothing makes") from None
        if not place.depth and inputs == node.inputs and outputs == node.outputs:
            return node
        attributes = dict(_bound(node.attributes, place.attributes))
        label = f"{place.path}{node.name}" if node.name else ""
        return Node(node.op, inputs, outputs, attributes, label, node.domain, node.scope, place.region)

    def emit(self, node: Node, scope: MutableMapping[str, str], place: Place) -> None:
        """The node itself, or what stands for it."""
        if self.functions and (node.domain, node.op) in self.functions:
            self.call(node, self.functions[node.domain, node.op], place)
        elif node.op in MARKERS:
            raise self.error(f"`{shown(node)}` has the impossible operator `{node.op}`")
        elif node.op in _CONTROL and node.domain == "":
            _CONTROL[node.op](self, node, scope, place)
        elif node.op == "Constant" and node.domain == "":
            self.constants[node.outputs[0]] = _constant(node)
        else:
            self.nodes.append(node)

    def call(self, node: Node, function: Function, place: Place) -> None:
        """A call: formal names stand for actual ones, everything inside gets names of its own."""
        self.inlined += len(function.nodes) + 1
        if self.inlined > MOST_NODES or place.depth > _DEEPEST:
            raise self.error(f"function `{node.op}` calls itself, or grows to more than {MOST_NODES:,} nodes")
        for what, given, has in (
            ("inputs", node.inputs, function.inputs),
            ("results", node.outputs, function.outputs),
        ):
            if len(given) > len(has):
                raise self.error(f"`{shown(node)}` has {len(given)} {what}, function `{node.op}` has {len(has)}")
        label = (node.name or f"{place.path}{node.op}")[-_LONGEST:]
        inner = Place(f"{label}{CALL}", place.depth + 1, place.region, {**function.defaults, **node.attributes})
        scope: dict[str, str] = {"": "", **dict.fromkeys(function.inputs, "")}
        scope.update(zip(function.inputs, node.inputs, strict=False))
        self.run(function.nodes, function.hints, scope, inner)
        for formal, actual in zip(function.outputs, node.outputs, strict=False):
            if actual:
                result = self.found(scope, formal, node)
                self.nodes.append(Node("Identity", (result,), (actual,), {}, region=place.region))

    def found(self, scope: Mapping[str, str], name: str, node: Node) -> str:
        """The unique name of what a body hands out."""
        if name not in scope:
            raise self.error(f"`{shown(node)}` hands out `{name}`, which nothing makes")
        return scope[name]

    def body(
        self,
        node: Node,
        key: str,
        scope: MutableMapping[str, str],
        place: Place,
        region: Region,
        inputs: Sequence[str] = (),
    ) -> list[str]:
        """A control node's body in a new region; the unique names of its outputs."""
        graph = node.attributes.get(key)
        if not isinstance(graph, Graph) or place.depth > _DEEPEST:
            raise self.error(f"`{shown(node)}` ({node.op}) has no body, or too many within each other")
        self.regions.append(region)
        inner: ChainMap[str, str] = ChainMap({}, scope)
        inner.maps[0].update(zip((item.name for item in graph.inputs), inputs, strict=False))
        self.graph(graph, inner, place._replace(depth=place.depth + 1, region=len(self.regions) - 1))
        return [self.found(inner, item.name, node) for item in graph.outputs]

    def formals(self, node: Node, carried: int, first: int) -> tuple[str, ...]:
        """Names for the inputs of a loop's body: unique ones, but for what is handed on as it came in.

        Args:
            node: the loop.
            carried: how many values are carried.
            first: of the inputs of the loop and of its body, and one more than of the results of the body.
        """
        graph = node.attributes.get("body")
        if not isinstance(graph, Graph):
            return ()
        same = {item.outputs[0]: item.inputs[0] for item in graph.nodes if item.op == "Identity" and item.inputs}
        names = []
        for index, item in enumerate(graph.inputs):
            handed = index - (first > 0)
            fixed = first <= index < min(first + carried, len(node.inputs)) and handed < len(graph.outputs)
            source = graph.outputs[handed].name if fixed else ""
            for _ in range(len(same)):
                source = same.get(source, source)
            names.append(node.inputs[index] if fixed and source == item.name else self.fresh(item.name))
        return tuple(names)


def _choice(splicer: Splicer, node: Node, scope: MutableMapping[str, str], place: Place) -> None:
    """If: both branches, then a marker that reads the results of one branch after the other."""
    group, condition = len(splicer.regions), next(iter(node.inputs), "")
    outputs, order = [], []
    for key in node.attributes:
        if key in ("then_branch", "else_branch"):
            order.append(int(key == "then_branch"))
            region = Region(place.region, shown(node), "branch", group, condition, order[-1])
            outputs += splicer.body(node, key, scope, place, region)
    marker: dict[str, Attribute] = {"order": tuple(order)}
    splicer.nodes.append(replace(node, op=ENDIF, inputs=(condition, *outputs), attributes=marker))


def _loop(splicer: Splicer, node: Node, scope: MutableMapping[str, str], place: Place) -> None:
    """Loop: trip count, condition, carried values; the body sees the iteration, the condition and the same values."""
    names, trips = splicer.formals(node, len(node.inputs) - 2, 2), next(iter(node.inputs), "")
    index = len(splicer.regions)
    splicer.nodes.append(replace(node, op=LOOP, outputs=_new(names, node), attributes={}, region=index))
    outputs = splicer.body(node, "body", scope, place, Region(place.region, shown(node), "loop", count=trips), names)
    marker: dict[str, Attribute] = {"carried": len(node.inputs) - 2, "body": index}
    marker |= {"initial": node.inputs, "formal": names}
    splicer.nodes.append(replace(node, op=ENDLOOP, inputs=(trips, *outputs), attributes=marker))


def _scan(splicer: Splicer, node: Node, scope: MutableMapping[str, str], place: Place) -> None:
    """Scan: carried values, then scanned inputs, of which the body sees one slice at a time."""
    count, axes = node.attributes.get("num_scan_inputs"), node.attributes.get("scan_input_axes")
    if not isinstance(count, int) or not 1 <= count <= len(node.inputs):
        raise splicer.error(f"`{shown(node)}` (Scan) scans nothing")
    names, index = splicer.formals(node, len(node.inputs) - count, 0), len(splicer.regions)
    first = node.inputs[len(node.inputs) - count]
    axis = axes[0] if isinstance(axes, tuple) and axes and isinstance(axes[0], int) else 0
    marker: dict[str, Attribute] = {"num_scan_inputs": count, "scan_input_axes": axes}
    splicer.nodes.append(replace(node, op=SCAN, outputs=_new(names, node), attributes=marker, region=index))
    region = Region(place.region, shown(node), "scan", count=first, axis=axis)
    outputs = splicer.body(node, "body", scope, place, region, names)
    marker = {"carried": len(node.inputs) - count, "axis": axis, "body": index}
    marker |= {"initial": node.inputs, "formal": names}
    splicer.nodes.append(replace(node, op=ENDSCAN, inputs=(first, *outputs), attributes=marker))


_CONTROL: dict[str, Callable[[Splicer, Node, MutableMapping[str, str], Place], None]] = {
    "If": _choice,
    "Loop": _loop,
    "Scan": _scan,
}


def _new(names: Sequence[str], node: Node) -> tuple[str, ...]:
    """The values that a loop's body gets anew, empty for one that is the same all the time."""
    return tuple(["" if name in node.inputs else name for name in names])


def _with_result(node: Node) -> Node:
    """The node with a name for its first result, which may be left out where only others are read."""
    return replace(node, outputs=(f"{node.op}.0", *node.outputs[1:]))


def _own(scope: MutableMapping[str, str]) -> MutableMapping[str, str]:
    """The names of this graph, without those of the graphs around it."""
    return scope.maps[0] if isinstance(scope, ChainMap) else scope


def _bound(given: Mapping[str, Attribute], call: Mapping[str, Attribute]) -> Iterator[tuple[str, Attribute]]:
    """Attributes with those of the call put in, in bodies too; what the call leaves out is absent."""
    for key, value in given.items():
        if isinstance(value, Graph):
            nodes = (replace(node, attributes=dict(_bound(node.attributes, call))) for node in value.nodes)
            yield key, replace(value, nodes=tuple(nodes))
        elif not isinstance(value, Reference):
            yield key, value
        elif value.name in call:
            yield key, call[value.name]


_SCALARS = {"value_float": "float32", "value_int": "int64", "value_string": "string"}
_VECTORS = {"value_floats": "float32", "value_ints": "int64", "value_strings": "string"}


def _constant(node: Node) -> Constant:
    """What a Constant node holds, under the name of its output."""
    name = node.outputs[0]
    for key, value in node.attributes.items():
        if isinstance(value, Constant):
            return replace(value, name=name)
        if key in _SCALARS:
            return Constant(name, (), _SCALARS[key], payload=None if key == "value_string" else value)
        if key in _VECTORS and isinstance(value, tuple):
            return Constant(name, (len(value),), _VECTORS[key], payload=value if key == "value_ints" else None)
    return Constant(name, (0,), "float32")


class GraphCycle(Exception):  # noqa: N818 - what a graph is, not an error of ours
    """Nodes that depend on each other; carries one of them."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


def ordered(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes as they are where that is an order, else as near to it as can be. Raises `GraphCycle`."""
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
        raise GraphCycle(next(node for node, count in zip(nodes, waiting, strict=True) if count))
    return order


def reads(node: Node) -> Sequence[str]:
    """Names that a node reads, those that its bodies take from outside too."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Graph)] if node.attributes else ()
    if not bodies:
        return node.inputs
    inner = [name for body in bodies for inner in body.nodes for name in reads(inner)]
    return [*node.inputs, *inner, *(item.name for body in bodies for item in body.outputs)]
