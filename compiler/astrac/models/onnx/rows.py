"""Drafts -> the rows of the layer table: counts, ties, sharing, edges, cuts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.models.model import OF_FIRST, OF_INPUT, OF_SECOND, OF_WEIGHT, Kept, Layer, Tensor
from astrac.models.onnx.drafts import UNKNOWN_OPERATOR
from astrac.models.onnx.names import is_anonymous, layer_name, unique
from astrac.models.onnx.operators import Keep
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from astrac.models.graph import Constant
    from astrac.models.onnx.drafts import Drafts, LayerDraft
    from astrac.models.onnx.facts import Facts
    from astrac.models.onnx.flatten import Flat
    from astrac.models.onnx.weights import WeightOrigin
    from astrac.source import Span

    Key: TypeAlias = tuple[str, str, str]
    """What makes a tensor a parameter of its own: see `_key`."""

_MOST = 2**63
"""Iterations that anybody can mean."""

_COUNTED = frozenset({"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int4", "uint4"})


@dataclass(frozen=True, slots=True)
class Rows:
    """The table that a model becomes.

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
    """Gives each row a name that no other has."""
    uses = Counter(origin for draft in drafts.rows for origin in _own(draft))
    found = []
    for draft in drafts.rows:
        tensors = [origin.alias or origin.root if uses[origin] == 1 else "" for origin in _own(draft)]
        output = next((name for name in draft.node.outputs if name), "")
        found.append(layer_name(draft.node.name, draft.node.op, draft.node.scope, tensors, output))
    return unique(found)


def _own(draft: LayerDraft) -> list[WeightOrigin]:
    return [*draft.weights[:1], *draft.biases[:1]]


def rows(flat: Flat, facts: Facts, drafts: Drafts, names: Sequence[str], ties: Mapping[str, str]) -> Rows:
    """The rows; `ties` maps a stored tensor to the one that it is the same as."""
    table = _Table(facts, drafts, names, ties, _times(flat, facts))
    for index, draft in enumerate(drafts.rows):
        table.layers.append(table.layer(index, draft))
    tied = table.owners.stored_elements() - sum(layer.params for layer in table.layers)
    if table.unresolved:
        strangers = (index for index in table.holes if drafts.rows[index].row is UNKNOWN_OPERATOR)
        for index in {*table.unresolved, *strangers}:
            table.layers[index] = replace(table.layers[index], counted=False)
    layers = _choose_branches(flat, facts, drafts.rows, table.layers)
    cuts = _cuts(facts, drafts.rows, drafts.passed)
    return Rows(tuple(layers), cuts, tied, tuple(table.unresolved), tuple(table.holes))


class _Table:
    """Rows as far as they are made, and what the next one must know of them."""

    def __init__(
        self,
        facts: Facts,
        drafts: Drafts,
        names: Sequence[str],
        ties: Mapping[str, str],
        times: Sequence[int | None],
    ) -> None:
        self.facts, self.names, self.times = facts, names, times
        self.owners = _Owners(drafts.stored, ties)
        self.layers: list[Layer] = []
        self.learns: list[bool] = []
        self.kept: set[int] = set()
        self.tensors: dict[str, int] = {}
        self.unresolved: list[int] = []
        self.holes: list[int] = []

    def layer(self, index: int, draft: LayerDraft) -> Layer:
        """Makes the row of a draft."""
        node, facts, macs = draft.node, self.facts, draft.macs
        read, written = _total(draft.reads, facts), _total(_results(draft, facts), facts)
        times = self.times[node.region]
        runs = node.region not in facts.dead
        if runs and (macs is None or (macs and times is None)):
            self.unresolved.append(index)
        if runs and (read is None or written is None or draft.flops is None or times is None):
            self.holes.append(index)
        repeats = 1 if times is None else times
        weight, owner, bias, others = self.owners.tensors(draft, index)
        trainable = bool(draft.weights or draft.biases) and not draft.frozen
        products = draft.products or ()
        recurrence = None if draft.row.recurrence is None else draft.row.recurrence(draft.site)
        time = None if recurrence is None else recurrence.through_time
        made = Layer(
            self.names[index],
            node.op,
            weight,
            bias,
            others,
            (macs or 0) * repeats,
            tuple([(batch * repeats, m, n, k) for batch, m, n, k in products]) if products else (),
            vector_flops=(draft.flops or 0) * repeats,
            input_elements=(read or 0) * repeats,
            output_elements=(written or 0) * repeats,
            keeps=self.keeps(index, draft, repeats),
            weight_reads=(written or 0) * repeats if draft.row.table and draft.weights else None,
            trainable=trainable,
            inputs=draft.sources,
            operands=draft.operands if weight is None and macs else (),
            through_time=None if time is None else time._replace(batch=time.batch * repeats),
            shared_with=None if owner == index else self.names[owner],
            data_type=facts.values[node.outputs[0]].dtype or "float32",
            state_elements=_state(draft, facts),
            runs=runs,
        )
        gradient, operand_gradients = made.upstream(self.learns)
        self.learns.append(gradient or trainable)
        if (made.input_gradient, made.operand_gradients) != (gradient, operand_gradients):
            made = replace(made, input_gradient=gradient, operand_gradients=operand_gradients)
        kept = made.newly_kept(self.kept) if made.keeps else 0
        return replace(made, kept_elements=kept) if kept else made

    def keeps(self, index: int, draft: LayerDraft, repeats: int) -> tuple[Kept, ...]:
        """What backward may need of this row."""
        if draft.row.keep is Keep.NOTHING:
            return ()
        found = [
            Kept(self.tensors.setdefault(name, len(self.tensors)), (self.facts.sizes[name] or 0) * repeats, gradients)
            for name, gradients in _kept(draft)
        ]
        if draft.row.recurrence is not None and (recurrence := draft.row.recurrence(draft.site)) is not None:
            found.append(Kept(-1 - index, recurrence.kept * repeats, OF_WEIGHT | OF_INPUT))
        return tuple(found)


def _times(flat: Flat, facts: Facts) -> list[int | None]:
    """How often each region runs; None where only the run will tell."""
    found: list[int | None] = [1]
    for number, region in enumerate(flat.regions[1:], 1):
        outer = found[region.parent]
        count: int | None = 1
        if region.kind == "loop":
            count = facts.trips.get(number)
        elif region.kind == "scan":
            shape = facts.values[region.count].shape if region.count in facts.values else None
            count = shape[region.axis] if shape and -len(shape) <= region.axis < len(shape) else None
        repeats = None if outer is None or count is None else outer * max(count, 0)
        found.append(None if repeats is None or repeats > _MOST else repeats)
    return found


def _total(names: Sequence[str], facts: Facts) -> int | None:
    """Elements of some activations, None when one is unknown."""
    if len(names) == 1:
        return facts.sizes[names[0]]
    sizes = [facts.sizes[name] for name in names]
    return None if None in sizes else sum(sizes)  # type: ignore[arg-type]


def _state(draft: LayerDraft, facts: Facts) -> int:
    """Running statistics: what a BatchNormalization keeps beside its weights."""
    if draft.node.op != "BatchNormalization":
        return 0
    return sum(facts.sizes.get(draft.site.name(index)) or 0 for index in draft.row.auxiliary)


def _results(draft: LayerDraft, facts: Facts) -> Sequence[str]:
    """The outputs that are activations: the first, and further ones of a known floating-point shape."""
    outputs = draft.node.outputs
    if len(outputs) == 1 or draft.node.op == "BatchNormalization":
        return outputs[:1]
    further = [
        name for name in outputs[1:] if facts.sizes.get(name) is not None and facts.values[name].dtype in _COUNTED
    ]
    return [outputs[0], *further]


def _kept(draft: LayerDraft) -> Sequence[tuple[str, int]]:
    """The activations that backward needs, and for which gradients.

    A product needs its input for the gradient of its weight, and of two activations each for the gradient of the other.
    """
    keep, reads = draft.row.keep, draft.reads
    trains = OF_WEIGHT if draft.weights or draft.biases else 0
    if keep is Keep.OUTPUT or draft.row.recurrence is not None:
        results = [(name, OF_INPUT | trains) for name in draft.node.outputs[:1] if name]
        return results if keep is Keep.OUTPUT else [*((name, OF_INPUT | trains) for name in reads), *results]
    if keep is Keep.INPUTS:
        return [(name, OF_INPUT | trains) for name in reads]
    if draft.weights:
        return [(name, OF_WEIGHT) for name in reads]
    if len(reads) == len(draft.operands) == 2:
        return list(zip(reads, (OF_SECOND, OF_FIRST), strict=True))
    twice = len(set(draft.node.inputs)) < len(draft.node.inputs)  # a square
    return [(name, OF_INPUT) for name in reads] if len(reads) > 1 or twice else []


class _Owners:
    """Who owns which tensor: the first row that uses it."""

    def __init__(self, stored: Mapping[str, Constant], ties: Mapping[str, str]) -> None:
        self.stored, self.ties = stored, ties
        self.owners: dict[Key, int] = {}
        self.elements: dict[Key, int] = {}
        self.vectors: set[tuple[int, str]] = set()

    def stored_elements(self) -> int:
        """Learnable numbers in the file, before ties."""
        return sum(self.elements.values())

    def tensors(self, draft: LayerDraft, index: int) -> tuple[Tensor | None, int, Tensor | None, tuple[Tensor, ...]]:
        """A row's weight with its owner, bias and other tensors, these only where the row owns them."""
        weight, owner, bias, others = None, index, None, []
        if not draft.weights and not draft.biases:
            return None, index, None, ()
        for position, origin in enumerate((*draft.weights, *draft.biases)):
            if owner != index and (owner, origin.root) in self.vectors:
                continue  # the weight comes again, and so does what goes with it, under whatever name
            constant = self.stored[origin.root]
            packed = draft.row.packed(draft.site) if draft.row.packed is not None and not position else None
            tensor = Tensor(origin.alias or origin.root, constant.shape, constant.dtype, packed, constant.stored)
            key = _key(origin, tensor, draft.node.scope)
            self.elements.setdefault(key, tensor.elements)
            first = self.owners.setdefault((self.ties.get(key[0], key[0]), *key[1:]), index)
            self.vectors.add((index, origin.root))
            if not position and draft.weights:
                weight, owner = tensor, first
            elif first == index and position == len(draft.weights):
                bias = tensor
            elif first == index:
                others.append(tensor)
        return weight, owner, bias, tuple(others)


def _key(origin: WeightOrigin, tensor: Tensor, scope: str) -> Key:
    """A matrix met twice is one matrix, a vector only where neither its `Identity` name nor its module differs.

    Exporters merge tensors of equal numbers, and all scales of a fresh model are equal.
    """
    return (origin.root, "", "") if len(tensor.shape) > 1 else (origin.root, origin.alias, scope)


def _choose_branches(flat: Flat, facts: Facts, drafts: Sequence[LayerDraft], layers: Sequence[Layer]) -> list[Layer]:
    """Of the branches of an If that may run the dearest does; inner choices are made before outer ones."""
    result = list(layers)
    if len(flat.regions) == 1:
        return result
    inside: dict[int, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        region = draft.node.region
        while region:
            inside[region].append(index)
            region = flat.regions[region].parent
    groups: dict[int, list[int]] = defaultdict(list)
    for number, choice in enumerate(flat.regions):
        if choice.kind == "branch":
            groups[choice.group].append(number)
    for branches in sorted(groups.values(), key=max, reverse=True):
        work = [sum(result[index].macs for index in inside[branch] if result[index].runs) for branch in branches]
        alive = [branch not in facts.dead for branch in branches]
        dearest = max(range(len(branches)), key=lambda place: (alive[place], work[place], -place))
        for index in [index for place, branch in enumerate(branches) if place != dearest for index in inside[branch]]:
            result[index] = replace(result[index], runs=False)
    return result


def _cuts(facts: Facts, drafts: Sequence[LayerDraft], passed: Mapping[str, int]) -> tuple[int, ...]:
    """Elements of the activations that cross from row i and those before it to the rows behind, each once."""
    made = {**passed} | {name: index for index, draft in enumerate(drafts) for name in draft.node.outputs if name}
    last: dict[str, int] = {}
    for index, draft in enumerate(drafts):
        for name in draft.reads:
            last[name] = index
    steps = [0] * (len(drafts) + 1)
    for name, reader in last.items():
        if name not in made:
            continue
        size = facts.sizes[name] or 0
        steps[made[name]] += size
        steps[reader] -= size
    alive, cuts = 0, []
    for step in steps[: max(len(drafts) - 1, 0)]:
        alive += step
        cuts.append(alive)
    return tuple(cuts)


def resolve_ties(
    name: str, drafts: Drafts, names: Sequence[str], ties: Sequence[tuple[str, str]], span: Span | None
) -> dict[str, str]:
    """From each stored tensor to the one that it is the same as. Names may be those of weights or of layers."""
    sizes = _tensors(drafts)
    roots = {label: row.weights[0].root for label, row in zip(names, drafts.rows, strict=True) if row.weights}
    roots |= {origin.alias: origin.root for row in drafts.rows for origin in row.weights if origin.alias}
    roots |= {root: root for root in sizes}
    found: dict[str, str] = {}
    for pair in ties:
        for label in pair:
            if label not in roots:
                hints = (*did_you_mean(label, roots), "a tie names two weights, or two layers")
                raise Diagnosed(diagnostic("AS613", f"`{name}` has no weight `{label}` to tie", span, hints=hints))
        first, second = (roots[label] for label in pair)
        if sizes[first] != sizes[second]:
            message = f"`{pair[0]}` ({sizes[first]:,} numbers) and `{pair[1]}` ({sizes[second]:,}) cannot be one weight"
            raise Diagnosed(diagnostic("AS613", message, span))
        _join(found, first, second)
    for first, second in _copies(drafts):
        _join(found, first, second)
    return found


def _join(found: dict[str, str], first: str, second: str) -> None:
    """Makes two stored tensors, and all that are the same as either, one."""
    first, second = found.get(first, first), found.get(second, second)
    if first != second:
        found.update((key, first) for key, value in found.items() if value == second)
        found[second] = first


def _copies(drafts: Drafts) -> Iterator[tuple[str, str]]:
    """Nameless weights of a block that runs several times, which the exporter has transposed for each use.

    All biases of the block come again, in their order. Exporters merge biases of equal numbers too, but then all those
    of one size: a block that has two of one size was not merged.
    """
    products = [row for row in drafts.rows if row.macs and row.weights and row.biases and row.node.op != "Gather"]
    keys = [(row.biases[0], drafts.stored[row.weights[0].root].shape) for row in products]
    last: dict[object, int] = {}
    seen = 0
    for index, key in enumerate(keys):
        before, last[key] = last.get(key), index
        if before is None or index < seen or not is_anonymous(products[index].weights[0].root):
            continue
        block = keys[before:index]
        sizes = [drafts.stored[origin.root].shape for origin in dict.fromkeys(bias for bias, _ in block)]
        if keys[index : index + len(block)] == block and len(set(sizes)) < len(sizes):
            seen = index + len(block)
            for row, copy in zip(products[before:index], products[index:seen], strict=True):
                yield row.weights[0].root, copy.weights[0].root


def _tensors(drafts: Drafts) -> dict[str, int]:
    """Elements of every stored tensor that some row trains, by name."""
    found = {}
    for draft in drafts.rows:
        for origin in (*draft.weights, *draft.biases):
            found[origin.root] = prod(drafts.stored[origin.root].shape)
    return found
