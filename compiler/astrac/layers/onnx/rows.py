"""Drafts -> the rows of the layer table: counts, sharing, edges, cuts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from astrac.layers.onnx.facts import elements
from astrac.layers.onnx.names import layer_name, unique
from astrac.layers.onnx.operators import Keep
from astrac.model import Layer, Tensor, with_input_gradients

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from astrac.layers.graph import Constant
    from astrac.layers.onnx.drafts import Draft, Drafts
    from astrac.layers.onnx.facts import Facts
    from astrac.layers.onnx.flatten import Flat
    from astrac.layers.onnx.weights import Origin

    Key: TypeAlias = tuple[str, str, str]
    """What makes a tensor a parameter of its own: see `_key`."""

_COUNTED = frozenset({"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int4", "uint4"})


@dataclass(frozen=True, slots=True)
class Rows:
    """The table.

    Attributes:
        layers: in topological order.
        cuts: activation elements alive between each row and the next.
        tied: parameters that ties removed.
        unresolved: indices of rows whose products have an unknown extent, or run an unknown number of times.
        holes: indices of rows whose other work has an unknown extent.
    """

    layers: tuple[Layer, ...]
    cuts: tuple[int, ...]
    tied: int
    unresolved: tuple[int, ...]
    holes: tuple[int, ...]


def names_of(drafts: Drafts) -> list[str]:
    """Unique names of all rows."""
    uses: dict[str, int] = defaultdict(int)
    for draft in drafts.rows:
        if draft.weights:
            uses[draft.weights[0].root] += 1
    found = []
    for draft in drafts.rows:
        node, weight = draft.node, draft.weights[0] if draft.weights else None
        label = "" if weight is None else weight.alias or weight.root
        shared = weight is not None and not weight.alias and uses[weight.root] > 1
        output = next((name for name in node.outputs if name), "")
        found.append(layer_name(node.name, node.op, node.scope, label, output, shared=shared))
    return unique(found)


def rows(flat: Flat, facts: Facts, drafts: Drafts, names: Sequence[str], ties: Mapping[str, str]) -> Rows:
    """The rows; `ties` maps a stored tensor to the one that it is the same as."""
    times = _times(flat, facts)
    owners: dict[Key, int] = {}
    stored: dict[Key, int] = {}
    kept: set[str] = set()
    layers, unresolved, holes = [], [], []
    for index, draft in enumerate(drafts.rows):
        factor = times[draft.node.region]
        macs = draft.macs
        if macs is None or (macs and factor is None):
            unresolved.append(index)
        layer, whole = _counted(draft, facts, factor or 1, kept)
        if not whole or draft.flops is None or factor is None:
            holes.append(index)
        layer = replace(layer, name=names[index])
        layers.append(_owned(layer, draft, drafts.stored, ties, owners, stored, index, names))
    layers = _choose_branches(flat, drafts.rows, layers)
    tied = sum(stored.values()) - sum(layer.params for layer in layers)
    return Rows(with_input_gradients(layers), _cuts(flat, facts, drafts.rows), tied, tuple(unresolved), tuple(holes))


def _times(flat: Flat, facts: Facts) -> list[int | None]:
    """How often each region runs; None where only the run will tell."""
    found: list[int | None] = [1]
    for region in flat.regions[1:]:
        outer = found[region.parent]
        count: int | None = 1
        if region.kind == "loop":
            numbers = facts.array(region.count) if region.count else None
            count = int(numbers.ravel()[0]) if numbers is not None and numbers.size else None
        elif region.kind == "scan":
            shape = facts.values[region.count].shape if region.count in facts.values else None
            count = shape[region.axis] if shape and -len(shape) <= region.axis < len(shape) else None
        found.append(None if outer is None or count is None else outer * max(count, 0))
    return found


def _counted(draft: Draft, facts: Facts, factor: int, kept: set[str]) -> tuple[Layer, bool]:
    """Work and activations of a row; whether every extent was known."""
    node, site = draft.node, draft.site
    sizes = [elements(facts.values[name].shape) for name in draft.reads]
    outputs = [elements(facts.values[name].shape) for name in _results(draft, facts)]
    keeps = _kept(draft, node.outputs[0])
    news = [name for name in keeps if name not in kept]
    kept.update(news)
    held = [elements(facts.values[name].shape) for name in news]
    whole = None not in sizes and None not in outputs
    products = draft.products or []
    statistics = [site.shape(index) for index in draft.row.auxiliary] if node.op == "BatchNormalization" else []
    output = sum(size or 0 for size in outputs)
    dtype = facts.values[node.outputs[0]].dtype if node.outputs[0] else None
    return Layer(
        name="",
        op=node.op,
        macs=sum(product.macs for product in products) * factor,
        matmuls=tuple((product.batch * factor, product.m, product.n, product.k) for product in products),
        vector_flops=(draft.flops or 0) * factor,
        input_elements=sum(size or 0 for size in sizes) * factor,
        output_elements=output * factor,
        kept_elements=sum(size or 0 for size in held) * factor,
        trainable=bool(draft.weights or draft.biases) and not draft.frozen,
        inputs=draft.sources,
        data_type=dtype or "float32",
        weight_reads=output * factor if draft.row.table and draft.weights else None,
        state_elements=sum(elements(shape) or 0 for shape in statistics),
    ), whole


def _results(draft: Draft, facts: Facts) -> list[str]:
    """The outputs that are activations: the first, and further ones of a known floating-point shape."""
    first, *rest = draft.node.outputs
    further = [name for name in rest if name and facts.values[name].shape is not None and facts.values[name].dtype in _COUNTED]
    if draft.node.op == "BatchNormalization":
        further = []
    return [name for name in (first, *further) if name]


def _kept(draft: Draft, output: str) -> Iterable[str]:
    keep = draft.row.keep
    if keep is Keep.OUTPUT:
        return (output,)
    bilinear = keep is Keep.OPERANDS and (draft.weights or len(draft.reads) > 1)
    scaled = keep is Keep.NOTHING and draft.node.op == "Mul" and draft.weights
    return draft.reads if keep is Keep.INPUTS or bilinear or scaled else ()


def _owned(
    layer: Layer,
    draft: Draft,
    stored: Mapping[str, Constant],
    ties: Mapping[str, str],
    owners: dict[Key, int],
    sizes: dict[Key, int],
    index: int,
    names: Sequence[str],
) -> Layer:
    """The row with its tensors: the first use of each owns it, later ones share."""
    shared, bias, others = None, None, []
    main = None
    for position, origin in enumerate((*draft.weights, *draft.biases)):
        tensor = _tensor(origin, stored[origin.root], draft)
        key = _key(origin, tensor, draft.node.scope)
        sizes.setdefault(key, tensor.elements)
        owner = owners.setdefault((ties.get(key[0], key[0]), *key[1:]), index)
        first = position == 0 and bool(draft.weights)
        if first:
            main = tensor
            shared = names[owner] if owner != index else None
        elif owner == index and position == len(draft.weights) and bias is None:
            bias = tensor
        elif owner == index:
            others.append(tensor)
    return replace(layer, weight=main, bias=bias, others=tuple(others), shared_with=shared)


def _tensor(origin: Origin, constant: Constant, draft: Draft) -> Tensor:
    packed = draft.row.packed(draft.site) if draft.row.packed is not None and draft.weights[0] == origin else None
    return Tensor(origin.alias or origin.root, constant.shape, constant.dtype, packed, constant.stored)


def _key(origin: Origin, tensor: Tensor, scope: str) -> Key:
    """Exporters merge tensors of equal numbers: a matrix met twice is one matrix, a vector only where nothing says otherwise.

    What says otherwise is another `Identity` name or another module.
    """
    return (origin.root, "", "") if len(tensor.shape) > 1 else (origin.root, origin.alias, scope)


def _choose_branches(flat: Flat, drafts: Sequence[Draft], layers: Sequence[Layer]) -> list[Layer]:
    """Of the branches of an If the dearest runs; inner choices are made before outer ones."""
    result = list(layers)
    inside: dict[int, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        region = draft.node.region
        while region:
            inside[region].append(index)
            region = flat.regions[region].parent
    groups: dict[int, list[int]] = defaultdict(list)
    for number, region in enumerate(flat.regions):
        if region.kind == "branch":
            groups[region.group].append(number)
    for branches in sorted(groups.values(), key=max, reverse=True):
        work = {branch: sum(result[index].macs for index in inside[branch] if result[index].runs) for branch in branches}
        dearest = max(branches, key=lambda branch: work[branch])
        for branch in branches:
            if branch != dearest:
                for index in inside[branch]:
                    result[index] = replace(result[index], runs=False)
    return result


def _cuts(flat: Flat, facts: Facts, drafts: Sequence[Draft]) -> tuple[int, ...]:
    """Elements of the activations that cross from row i and those before it to the rows behind, each once."""
    made = {name: index for index, draft in enumerate(drafts) for name in draft.node.outputs if name}
    last: dict[str, int] = {}
    for index, draft in enumerate(drafts):
        last.update(dict.fromkeys((name for name in draft.reads if name in made), index))
    steps = [0] * (len(drafts) + 1)
    for name, reader in last.items():
        size = elements(facts.values[name].shape) or 0
        steps[made[name]] += size
        steps[reader] -= size
    alive, cuts = 0, []
    for step in steps[: max(len(drafts) - 1, 0)]:
        alive += step
        cuts.append(alive)
    return tuple(cuts)


def tensors(drafts: Drafts) -> dict[str, int]:
    """Elements of every stored tensor that some row trains, by name."""
    found = {}
    for draft in drafts.rows:
        for origin in (*draft.weights, *draft.biases):
            found[origin.root] = prod(drafts.stored[origin.root].shape)
    return found
