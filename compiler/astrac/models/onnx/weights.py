"""Which values are weights: where every constant goes until something that is not constant meets it.

A constant reaches its use through casts, transposes, dequantisation, slices, even arithmetic among constants (weight
normalisation, merged adapters); the tensors that it started from are what trains.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac.models.graph import Constant
from astrac.models.onnx.facts import elements
from astrac.models.onnx.operators import Operator, OpKind, operator
from astrac.models.onnx.splice import LOOP, SCAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from astrac.models.graph import Node
    from astrac.models.onnx.facts import Facts
    from astrac.models.onnx.flatten import Flat


class WeightOrigin(NamedTuple):
    """A stored tensor as it reaches a use: its name, and the name that an `Identity` on the way gave it."""

    root: str
    alias: str = ""


Flow: TypeAlias = tuple[WeightOrigin, ...] | None
"""The stored tensors behind a value that depends on nothing else, () where it follows from shapes; None for data."""

_INTEGER_WEIGHTS = frozenset({"int8", "uint8", "int4", "uint4", "int2", "uint2"})
_NEVER = frozenset({"bool", "string", "int64", "uint64", "int16", "uint16", "uint32", "complex64", "complex128"})

BUFFER = re.compile(
    r"(?:^|[._/])(?:cos|sin|rope|rotary|inv_freq|freqs|alibi|causal|(?:attn_|attention_)?mask)(?:$|[._/\d])|(?:cos|sin)_?cache|inv_freq",
    re.IGNORECASE,
)
"""Names of tables that are computed once and never trained."""


def trace(
    flat: Flat, facts: Facts, weights: Iterable[str] = ()
) -> tuple[dict[str, Flow], dict[str, Constant], set[str]]:
    """Follows all constants to where they are used.

    Args:
        flat: the straight list.
        facts: shapes, and what is left out is added: tensors that `ConstantOfShape` makes.
        weights: graph inputs that are weights.

    Returns:
        The flow of every value, the stored tensors by name, and values that are fixed data: what a layer with weights
        reads that stands on nothing else, such as the grid of a positional encoding.
    """
    stored = dict(flat.constants)
    for item in flat.inputs:
        value = facts.values[item.name]
        if item.name in weights and value.shape is not None and value.dtype is not None:
            stored[item.name] = Constant(item.name, value.shape, value.dtype)  # type: ignore[arg-type]
    flows: dict[str, Flow] = {item.name: None for item in flat.inputs}
    flows.update((name, _start(name, constant)) for name, constant in stored.items())
    fixed = set(stored)
    flows[""] = ()
    grids: set[str] = set()
    for node in flat.nodes:
        row = operator(node.domain, node.op)
        flow = _flow(node, row, flows, facts)
        if flow and row is not None and row.products is not None and _reads_grid(node, row, flows, flat):
            grids.add(node.inputs[0])
            flow = None
        if flow is not None and fixed.issuperset(filter(None, node.inputs)) and node.inputs:
            fixed.update(node.outputs)
            if node.op == "ConstantOfShape" and (made := _made(node, facts)) is not None:
                stored[made.name] = made
                flow = (WeightOrigin(made.name),)
        for output in filter(None, node.outputs):
            flows[output] = flow
        if node.op == LOOP:
            flows.update(dict.fromkeys([*node.outputs[:2], *facts.counters.intersection(node.outputs)], ()))
    return flows, stored, grids


def _reads_grid(node: Node, row: Operator, flows: Mapping[str, Flow], flat: Flat) -> bool:
    """Whether a product of constants is a layer over fixed data, and no part of how a weight is made (an adapter).

    A layer is a convolution, or has a bias, or reads positions that are computed.
    """
    weight = row.weights[0] if row.weights else 0
    if not weight or weight >= len(node.inputs) or not flows[node.inputs[weight]]:
        return False
    if "Conv" in node.op or not flows[node.inputs[0]] or any(index < len(node.inputs) for index in row.biases):
        return True
    readers = [reader for reader in flat.nodes if node.outputs[0] in reader.inputs]
    if [reader.op for reader in readers] != ["Add"]:
        return False
    added = (flat.constants[name] for name in readers[0].inputs if name in flat.constants)
    return any(len(constant.shape) == 1 for constant in added)


def _start(name: str, constant: Constant) -> Flow:
    return () if constant.dtype in _NEVER or not prod(constant.shape) else (WeightOrigin(name),)


def _made(node: Node, facts: Facts) -> Constant | None:
    """A weight whose place is held by a node that fills a constant shape (onnx's own light models)."""
    value = facts.values[node.outputs[0]]
    total = elements(value.shape)
    if value.shape is None or not total or value.dtype is None or value.dtype in _NEVER:
        return None
    return Constant(node.outputs[0], value.shape, value.dtype)  # type: ignore[arg-type]


def _flow(node: Node, row: Operator | None, flows: Mapping[str, Flow], facts: Facts) -> Flow:
    """The flow of a node's results, from those of its inputs."""
    if row is not None and row.kind is OpKind.WORK:
        return _joined(node, flows, row.auxiliary)
    kind = row.kind if row is not None else OpKind.WORK
    if node.op in (LOOP, SCAN):
        return None
    if kind is OpKind.SHAPE:
        return () if node.op != "Range" else _joined(node, flows, ())
    if row is not None and row.table and kind is OpKind.MOVE:
        return _gathered(node, flows, facts)
    alone = kind in (OpKind.VIEW, OpKind.MOVE) and row is not None and not row.merges
    if alone and node.inputs and flows.get(node.inputs[0]) is not None:
        found = flows[node.inputs[0]]
        if node.op == "Identity" and found is not None and len(found) == 1:
            return (WeightOrigin(found[0].root, node.outputs[0]),)
        return found
    return _joined(node, flows, row.auxiliary if row is not None else ())


def _joined(node: Node, flows: Mapping[str, Flow], skipped: tuple[int, ...]) -> Flow:
    """All constants among the inputs, None as soon as one input is data."""
    inputs = [flows[name] for name in node.inputs]
    if None in inputs:
        return None
    parts = [flow for index, flow in enumerate(inputs) if flow and index not in skipped]
    return tuple(dict.fromkeys(origin for flow in parts for origin in flow))


def _gathered(node: Node, flows: Mapping[str, Flow], facts: Facts) -> Flow:
    """One constant index selects from a stack; several select rows of a table, which is an embedding's work."""
    if len(node.inputs) < 2:
        return None
    table, indices = flows.get(node.inputs[0]), flows.get(node.inputs[1])
    if table is None or indices is None:
        return None if table is None or table else indices
    count = elements(facts.values[node.inputs[1]].shape) if node.inputs[1] in facts.values else None
    return None if table and count != 1 else table


def parameters(flow: Flow, stored: Mapping[str, Constant], *, bias: bool) -> list[WeightOrigin]:
    """The trained tensors behind an operand: of a quantised weight the integers; no lone scalars beside others."""
    if not flow:
        return []
    integers = [origin for origin in flow if stored[origin.root].dtype in _INTEGER_WEIGHTS]
    if not integers:
        wide = [origin for origin in flow if stored[origin.root].dtype == "int32"] if bias else []
        integers = wide
    found = integers or [origin for origin in flow if stored[origin.root].dtype not in (*_INTEGER_WEIGHTS, "int32")]
    large = [origin for origin in found if prod(stored[origin.root].shape) > 1]
    return large or found[:1]


def weight_inputs(flat: Flat) -> set[str]:
    """Graph inputs that are weights, in a file that stores none: of fixed extents, read in weight positions only."""
    if any(prod(item.shape) > 1 and item.dtype not in _NEVER for item in flat.constants.values()):
        return set()
    ranks = {
        item.name: len(item.shape)
        for item in flat.inputs
        if item.shape and all(isinstance(dim, int) for dim in item.shape)
    }
    behind = {name: name for name in ranks}
    candidates = set(ranks)
    for node in flat.nodes:
        row = operator(node.domain, node.op)
        for index, name in enumerate(node.inputs):
            source = behind.get(name)
            if source is None or source not in candidates:
                continue
            if row is not None and row.kind in (OpKind.VIEW, OpKind.MOVE) and index == 0 and not row.table:
                behind.update(dict.fromkeys(node.outputs, source))
            elif row is None or not _weight_position(node, row, index, ranks[source], behind, flat.constants):
                candidates.discard(source)
    return candidates if len(candidates) < len(flat.inputs) else set()


def _weight_position(
    node: Node, row: Operator, index: int, rank: int, behind: Mapping[str, str], constants: Mapping[str, Constant]
) -> bool:
    """Whether an operator expects a weight there; the first operand is data, but for the table of an embedding."""
    if row.table:
        return index in row.weights and constants.keys().isdisjoint(node.inputs[1:2])
    if row.any_constant:
        return rank == 1 and any(name not in behind for name in node.inputs)
    if node.op in ("MatMul", "FusedMatMul", "Einsum") and rank > 2:
        return False
    return index > 0 and index in (*row.weights, *row.biases, *row.auxiliary)
