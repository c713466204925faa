"""ModelFile -> Flat: one list of nodes in an order in which they can run, without what no output needs.

Functions are inlined and bodies spliced in (`splice`); the gradient part of a training graph is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.models.onnx.splice import Place, Splicer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from astrac.models.graph import Constant, ModelFile, Node, Signature
    from astrac.models.onnx.splice import Region
    from astrac.source import Span

_GRADIENT = ("_grad", "_Grad")


@dataclass(frozen=True, slots=True)
class Flat:
    """The straight list with what it reads.

    Attributes:
        inputs: of the graph, without those that are constants.
        constants: by name, those of bodies and of Constant nodes too.
        gradients: how many nodes of a training graph's backward part were left out.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Constant]
    hints: Mapping[str, Signature]
    regions: tuple[Region, ...]
    gradients: int = 0


def flatten(name: str, file: ModelFile, span: Span | None) -> Flat:
    """The straight list of a file's main graph. Raises `Diagnosed` where the graph cannot run at all."""
    splicer, graph = Splicer(name, file.functions, span), file.graph
    scope = {"": ""}
    for signature in graph.inputs:
        scope[signature.name] = splicer.fresh(signature.name)
    splicer.graph(graph, scope, Place())
    forward = _without_gradients(splicer.nodes)
    dropped = len(splicer.nodes) - len(forward)
    outputs = tuple(item.name for item in graph.outputs)
    wanted = [name for name in outputs if not (dropped and name.endswith(_GRADIENT))]
    return Flat(
        nodes=tuple(_needed(forward, wanted)),
        inputs=tuple(item for item in graph.inputs if item.name not in splicer.constants),
        outputs=outputs,
        constants=splicer.constants,
        hints={item.name: item for item in graph.outputs} | splicer.hints,
        regions=tuple(splicer.regions),
        gradients=dropped,
    )


def _is_gradient(node: Node) -> bool:
    """Whether ONNX Runtime's training builder made it: `*_grad` outputs, `*_Grad/*` names, `*Grad` operators."""
    names = f"{node.name} {' '.join(node.outputs)} "
    marked = "_grad " in names or "_Grad " in names or "_Grad/" in names
    return marked or (node.domain == "com.microsoft" and node.op.endswith("Grad"))


def _without_gradients(nodes: Sequence[Node]) -> list[Node]:
    """The forward nodes: none that makes a gradient, and none that reads what such a node makes."""
    if not any(_is_gradient(node) for node in nodes):
        return list(nodes)
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
