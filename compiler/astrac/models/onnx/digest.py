"""The identity of a model's structure: nodes, attributes, extents and types; never a weight."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from astrac.models.graph import Attribute, Constant, Graph, ModelFile, Node, Reference, Signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def digest(file: ModelFile) -> str:
    """`sha256:...` of the structure: the same whether weights lie inside the file, beside it, or nowhere."""
    found = sha256()
    for part in _file(file):
        found.update(part.encode("utf-8", "surrogatepass"))
        found.update(b"\n")
    return f"sha256:{found.hexdigest()}"


def _file(file: ModelFile) -> Iterator[str]:
    yield repr(sorted(file.versions.items()))
    yield from _graph(file.graph)
    for key, function in sorted(file.functions.items()):
        yield repr((key, function.inputs, function.outputs))
        yield _attributes(function.defaults)
        yield from map(_node, function.nodes)


def _graph(graph: Graph) -> Iterator[str]:
    yield _signatures(graph.inputs)
    yield _signatures(graph.outputs)
    for constant in sorted(graph.constants, key=lambda item: item.name):
        yield _constant(constant)
    yield from map(_node, graph.nodes)


def _signatures(items: Iterable[Signature]) -> str:
    return repr([(item.name, item.dtype, item.shape) for item in items])


def _node(node: Node) -> str:
    return f"{node.domain}:{node.op} {node.name} {node.inputs} {node.outputs} {_attributes(node.attributes)}"


def _attributes(attributes: Mapping[str, Attribute]) -> str:
    return ";".join(f"{name}={_attribute(value)}" for name, value in sorted(attributes.items())) if attributes else ""


def _attribute(value: Attribute) -> str:
    if isinstance(value, Constant):
        return _constant(value)
    if isinstance(value, Graph):
        return "{" + "|".join(_graph(value)) + "}"
    if isinstance(value, Reference):
        return f"@{value.name}"
    return repr(value)


def _constant(constant: Constant) -> str:
    """Extents and type; of integers that shape arithmetic may read also the numbers, since they are structure."""
    numbers = constant.array() if constant.dtype == "int64" and len(constant.shape) < 2 else None
    return f"{constant.name} {constant.dtype} {constant.shape} {'' if numbers is None else numbers.ravel().tolist()}"
