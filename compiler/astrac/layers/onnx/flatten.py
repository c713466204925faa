"""File -> Flat: one list of nodes in an order in which they can run.

Model-local functions are inlined, bodies of If, Loop and Scan are spliced in between marker nodes, every value gets a
name of its own, and what no output needs is dropped.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.layers.graph import Attribute, Constant, File, Function, Graph, Node, Reference, Signature
from astrac.layers.onnx.flat import ENDIF, ENDLOOP, ENDSCAN, LOOP, SCAN, Flat, Region
from astrac.layers.onnx.names import CALL, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence

    from astrac.source import Span

MOST_NODES = 200_000
"""Nodes that inlining may make: functions that call functions grow without bound."""

_DEEPEST = 50
"""Calls within calls."""

_GRADIENT = ("_grad", "_Grad")


def flatten(name: str, file: File, span: Span | None) -> Flat:
    """The straight list of a file's main graph. Raises `Diagnosed` where the graph cannot run at all."""
    flattener = _Flattener(name, file, span)
    graph = file.graph
    scope = {"": ""}
    for signature in graph.inputs:
        scope[signature.name] = flattener.fresh(signature.name)
    flattener.body(graph, scope, {}, "", 0)
    inputs = tuple(item for item in graph.inputs if item.name not in flattener.constants)
    outputs = [item.name for item in graph.outputs]
    nodes = _without_gradients(flattener.nodes)
    dropped = len(flattener.nodes) - len(nodes)
    wanted = [output for output in outputs if not (dropped and output.endswith(_GRADIENT))]
    nodes = _needed(nodes, wanted)
    return Flat(
        tuple(nodes), inputs, tuple(outputs), flattener.constants, flattener.hints, tuple(flattener.regions), dropped,
    )  # fmt: skip


def _is_gradient(node: Node) -> bool:
    """Whether ONNX Runtime's training builder made it: `*_grad` outputs, `*_Grad/*` names, `*Grad` operators."""
    return (
        any(output.endswith(_GRADIENT) for output in node.outputs)
        or "_Grad/" in node.name
        or (node.op.endswith("Grad") and node.domain == "com.microsoft")
    )


def _without_gradients(nodes: Sequence[Node]) -> list[Node]:
    """The forward nodes: none that makes a gradient, and none that reads what such a node makes."""
    gone: set[str] = set()
    kept = []
    for node in nodes:
        if _is_gradient(node) or not gone.isdisjoint(node.inputs):
            gone.update(filter(None, node.outputs))
        else:
            kept.append(node)
    return kept


def _needed(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """Nodes that an output depends on; all of them where no output is made by any node."""
    made = {output for node in nodes for output in node.outputs}
    wanted = {output for output in outputs if output in made}
    if not wanted:
        return list(nodes)
    kept = []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]


def _with_result(node: Node) -> Node:
    """The node with a name for its first result, which may be left out where only others are read."""
    return node if node.outputs[0] else replace(node, outputs=(f"{node.op}.0", *node.outputs[1:]))


def _own(scope: MutableMapping[str, str]) -> MutableMapping[str, str]:
    """The names of this graph, without those of the graphs around it."""
    return scope.maps[0] if isinstance(scope, ChainMap) else scope


def _bound(given: Mapping[str, Attribute], call: Mapping[str, Attribute]) -> Iterator[tuple[str, Attribute]]:
    """Attributes of a function's node with those of the call put in; what the call leaves out is absent."""
    for key, value in given.items():
        if isinstance(value, Graph):
            yield (
                key,
                replace(
                    value,
                    nodes=tuple(replace(node, attributes=dict(_bound(node.attributes, call))) for node in value.nodes),
                ),
            )
        elif not isinstance(value, Reference):
            yield key, value
        elif value.name in call:
            yield key, call[value.name]


class _Flattener:
    """What grows while the graph is walked."""

    def __init__(self, name: str, file: File, span: Span | None) -> None:
        self.name, self.span, self.functions = name, span, file.functions
        self.nodes: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.hints: dict[str, Signature] = {}
        self.regions = [Region(0, "", "graph")]
        self.taken: dict[str, int] = {}
        self.inlined = self.choices = 0

    def error(self, message: str) -> Diagnosed:
        return Diagnosed(diagnostic("AS611", f"`{self.name}` cannot run: {message}", self.span))

    def fresh(self, name: str) -> str:
        """A name that no other value has; the first keeps its own."""
        count = self.taken.get(name, 0)
        self.taken[name] = count + 1
        return name if not count else self.fresh(f"{name}~{count + 1}")

    def body(
        self, graph: Graph, scope: MutableMapping[str, str], attributes: Mapping[str, Attribute], path: str, region: int
    ) -> None:
        """A graph's constants and nodes, with its inputs already in scope."""
        own = _own(scope)
        for constant in graph.constants:
            if constant.name not in own:
                own[constant.name] = self.fresh(constant.name)
            self.constants[own[constant.name]] = constant
        self.run(graph.nodes, graph.hints, scope, attributes, path, region)

    def run(
        self,
        nodes: Sequence[Node],
        hints: Iterable[Signature],
        scope: MutableMapping[str, str],
        attributes: Mapping[str, Attribute],
        path: str,
        region: int,
    ) -> None:
        """Nodes one after the other, sorted, each with the names of this scope."""
        own = _own(scope)
        nodes = [_with_result(node) for node in nodes if any(node.outputs)]
        for node in nodes:
            for output in node.outputs:
                if output and output in own:
                    raise self.error(f"the value `{output}` is made twice, the second time by `{shown(node)}`")
                if output:
                    own[output] = self.fresh(output)
        self.hints.update((scope[hint.name], hint) for hint in hints if hint.name in scope)
        for node in self.sorted(nodes):
            try:
                inputs, outputs = (
                    tuple([scope[name] for name in node.inputs]),
                    tuple([scope[name] for name in node.outputs]),
                )
            except KeyError as missing:
                raise self.error(f"`{shown(node)}` reads `{missing.args[0]}`, which nothing makes") from None
            if path or region or inputs != node.inputs or outputs != node.outputs:
                given = dict(_bound(node.attributes, attributes)) if path else node.attributes
                label = f"{path}{node.name}" if node.name else ""
                node = Node(node.op, inputs, outputs, given, label, node.domain, node.scope, region)  # noqa: PLW2901
            self.emit(node, scope, path)

    def look(self, scope: Mapping[str, str], name: str, node: Node) -> str:
        found = scope.get(name)
        if found is None:
            raise self.error(f"`{shown(node)}` reads `{name}`, which nothing makes")
        return found

    def emit(self, node: Node, scope: MutableMapping[str, str], path: str) -> None:
        """The node itself, or what stands for it."""
        function = self.functions.get((node.domain, node.op)) if self.functions else None
        if function is not None:
            self.inline(node, function, path)
        elif node.domain == "" and node.op in _CONTROL:
            _CONTROL[node.op](self, node, scope, path)
        elif node.domain == "" and node.op == "Constant" and node.outputs:
            self.constants[node.outputs[0]] = _constant_of(node)
        else:
            self.nodes.append(node)

    def inline(self, node: Node, function: Function, path: str) -> None:
        """A call: formal names stand for actual ones, everything inside gets names of its own."""
        self.inlined += len(function.nodes) + 1
        label = node.name or f"{path}{node.op}"
        if self.inlined > MOST_NODES or path.count(CALL) > _DEEPEST:
            raise self.error(f"function `{node.op}` calls itself, or grows to more than {MOST_NODES:,} nodes")
        scope: dict[str, str] = {"": ""}
        scope.update(zip(function.inputs, (*node.inputs, *[""] * len(function.inputs)), strict=False))
        attributes = {**function.defaults, **node.attributes}
        self.run(function.nodes, function.hints, scope, attributes, f"{label}{CALL}", node.region)
        for formal, actual in zip(function.outputs, node.outputs, strict=False):
            if actual:
                self.nodes.append(Node("Identity", (self.look(scope, formal, node),), (actual,), region=node.region))

    def subgraph(
        self, graph: Attribute, scope: MutableMapping[str, str], path: str, region: int, inputs: Sequence[str] = ()
    ) -> list[str]:
        """A body in a new region; the unique names of its outputs."""
        if not isinstance(graph, Graph):
            raise self.error("a control node has no body")
        inner: ChainMap[str, str] = ChainMap({}, scope)
        inner.maps[0].update(zip((item.name for item in graph.inputs), inputs, strict=False))
        self.body(graph, inner, {}, path, region)
        return [self.look(inner, item.name, Node("body", (), ())) for item in graph.outputs]

    def region(self, region: Region) -> int:
        self.regions.append(region)
        if len(self.regions) > MOST_NODES:
            raise self.error("too many control nodes")
        return len(self.regions) - 1

    def choice(self, node: Node, scope: MutableMapping[str, str], path: str) -> None:
        """If: both branches, then a marker whose inputs are the outputs of one branch after the other."""
        self.choices += 1
        group, outputs = self.choices, []
        for key in node.attributes:
            if key in ("then_branch", "else_branch"):
                region = self.region(Region(node.region, node.name or node.op, "branch", group))
                outputs += self.subgraph(node.attributes[key], scope, path, region)
        self.nodes.append(replace(node, op=ENDIF, inputs=(*node.inputs, *outputs), attributes={}))

    def loop(self, node: Node, scope: MutableMapping[str, str], path: str) -> None:
        """Loop: inputs trip count, condition, carried values; the body's are the iteration number and the same."""
        body = node.attributes.get("body")
        names = [self.fresh(item.name) for item in body.inputs] if isinstance(body, Graph) else []
        trips = node.inputs[0] if node.inputs else ""
        region = self.region(Region(node.region, node.name or node.op, "loop", count=trips))
        self.nodes.append(replace(node, op=LOOP, outputs=tuple(names), attributes={}, region=region))
        outputs = self.subgraph(body, scope, path, region, names)
        marker = {"carried": len(node.inputs) - 2, "body": region}
        self.nodes.append(replace(node, op=ENDLOOP, inputs=(trips, *outputs), attributes=marker))

    def scan(self, node: Node, scope: MutableMapping[str, str], path: str) -> None:
        """Scan: carried values, then scanned inputs, of which the body sees one slice at a time."""
        body, count = node.attributes.get("body"), node.attributes.get("num_scan_inputs")
        if not isinstance(count, int) or not 1 <= count <= len(node.inputs):
            raise self.error(f"Scan `{node.name}` scans nothing")
        names = [self.fresh(item.name) for item in body.inputs] if isinstance(body, Graph) else []
        axes = node.attributes.get("scan_input_axes")
        first = node.inputs[len(node.inputs) - count]
        axis = axes[0] if isinstance(axes, tuple) and axes and isinstance(axes[0], int) else 0
        region = self.region(Region(node.region, node.name or node.op, "scan", count=first, axis=axis))
        marker = {key: node.attributes[key] for key in ("num_scan_inputs", "scan_input_axes") if key in node.attributes}
        self.nodes.append(replace(node, op=SCAN, outputs=tuple(names), attributes=marker, region=region))
        outputs = self.subgraph(body, scope, path, region, names)
        marker = {"carried": len(node.inputs) - count, "axis": axis, "body": region}
        self.nodes.append(replace(node, op=ENDSCAN, inputs=(first, *outputs), attributes=marker))

    def sorted(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """In an order in which they can run; the file's own where it is one. ONNX demands it, not all files keep it."""
        maker = {output: index for index, node in enumerate(nodes) for output in node.outputs if output}
        if all(maker.get(name, -1) < index for index, node in enumerate(nodes) for name in _reads(node)):
            return nodes
        reads = [{maker[name] for name in _reads(node) if name in maker} for node in nodes]
        readers: dict[int, list[int]] = {}
        for index, sources in enumerate(reads):
            for source in sources:
                readers.setdefault(source, []).append(index)
        waiting = [len(sources) for sources in reads]
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
            stuck = next(node for node, count in zip(nodes, waiting, strict=True) if count)
            raise self.error(f"`{shown(stuck)}` depends on its own result")
        return order


_CONTROL = {"If": _Flattener.choice, "Loop": _Flattener.loop, "Scan": _Flattener.scan}


def _reads(node: Node) -> Sequence[str]:
    """Names that a node reads, those that its bodies take from outside too."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Graph)] if node.attributes else ()
    if not bodies:
        return node.inputs
    inner = [name for body in bodies for inner in body.nodes for name in _reads(inner)]
    return [*node.inputs, *inner, *(item.name for body in bodies for item in body.outputs)]


_SCALARS = {"value_float": "float32", "value_int": "int64", "value_string": "string"}
_VECTORS = {"value_floats": "float32", "value_ints": "int64", "value_strings": "string"}


def _constant_of(node: Node) -> Constant:
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
