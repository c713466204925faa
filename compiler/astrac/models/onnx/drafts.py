"""The straight list with its facts -> drafts of layers: one for every node that computes or moves activations.

Rules that are documented in ARCHITECTURE.md and kept here:

- A view (Reshape, Squeeze, Identity, ...) is no row: its result is its input under another shape.
- What follows from constants and extents alone is no row, and neither is work on 64- or 32-bit integers and truth
  values (token numbers, positions, masks): it is bookkeeping beside the activations.
- Everything else is a row of its own, elementwise operators and copies too, so that compute time has no holes.
- An `Add` of one number a channel, straight after a product without bias, is that product's bias.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from astrac.models.onnx import weights as tracing
from astrac.models.onnx.facts import Inconsistent, Site, elements
from astrac.models.onnx.infer import MISFIT, TRIPPED, BadNode
from astrac.models.onnx.operators import Keep, Operator, OpKind, operator, vector_flops
from astrac.models.onnx.splice import MARKERS
from astrac.models.onnx.weights import BUFFER, Flow, WeightOrigin, parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from astrac.models.graph import Constant, Node
    from astrac.models.onnx.facts import Facts, Shape
    from astrac.models.onnx.flatten import Flat
    from astrac.models.onnx.products import Products

_BOOKKEEPING = frozenset({"int64", "int32", "uint64", "uint32", "bool", "string", "int16", "uint16"})
_RESHAPED = frozenset({"Unsqueeze", "Squeeze", "Cast", "Identity"})

UNKNOWN_OPERATOR = Operator(lambda _site: (), OpKind.WORK)
"""Stands for the row of an operator that the table does not have."""


@dataclass(slots=True)
class LayerDraft:
    """A layer in the making: what the graph says, before names, owners and counts.

    Attributes:
        node, site: the node, and the node among the facts.
        row: of its operator; a bare one for an operator that nobody knows.
        operands: the same for each operand that is no constant.
        sources: drafts whose results it reads.
        reads: distinct activations it reads, by the name of their storage.
        weights, biases: the trained tensors behind its operands.
        products, flops: None while a shape is unknown.
        doubtful: whether its weight may be a fixed table that nothing tells from a trained one.
        frozen: its scale and shift are constant, since the next node scales and shifts again.
        learns: whether it, or anything before it, trains.
    """

    node: Node
    site: Site
    row: Operator
    sources: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    reads: tuple[str, ...]
    weights: list[WeightOrigin] = field(default_factory=list)
    biases: list[WeightOrigin] = field(default_factory=list)
    products: Products = None
    flops: int | None = 0
    doubtful: bool = False
    frozen: bool = False
    learns: bool = False

    @property
    def macs(self) -> int | None:
        """Multiply-accumulates once; None while a shape is unknown."""
        if self.row.products is None:
            return 0
        return None if self.products is None else sum(product.macs for product in self.products)


_OF_WEIGHTS = frozenset({"Exp", "Neg", "Sigmoid", "Softplus"})
"""What a trained tensor goes through before it scales: Mamba's `-exp(A_log)`. Fixed tables are stored as they are."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """All rows with what ties them together.

    Attributes:
        rows: in topological order.
        stored: every tensor that may be a weight.
        unknown: operators that the table does not know, with their nodes.
        passed: the last row behind each value that no row makes: of several that one is chosen from, of a part.
    """

    rows: list[LayerDraft]
    stored: Mapping[str, Constant]
    unknown: Mapping[str, list[Node]]
    passed: Mapping[str, int]


def draft(flat: Flat, facts: Facts, inputs: set[str]) -> Drafts:
    """All rows of a model; `inputs` are graph inputs that are weights."""
    flows, stored, grids = tracing.trace(flat, facts, inputs)
    return _Drafter(flat, facts, flows, stored, grids).run()


class _Drafter:
    """What is known while the list is walked: who made a value, where it is stored, what learns before it."""

    def __init__(
        self,
        flat: Flat,
        facts: Facts,
        flows: Mapping[str, Flow],
        stored: Mapping[str, Constant],
        grids: set[str],
    ) -> None:
        self.flat, self.facts, self.flows, self.stored, self.grids = flat, facts, flows, stored, grids
        self.rows: list[LayerDraft] = []
        self.sources: dict[str, tuple[int, ...]] = {}
        self.storage: dict[str, str] = {}
        self.passed: dict[str, int] = {}
        self.maker: dict[str, LayerDraft] = {}
        self.results = frozenset(flat.outputs)
        self.readers = Counter(chain.from_iterable(node.inputs for node in flat.nodes))
        self.reader = {name: node for node in flat.nodes for name in node.inputs}
        self.producer = {name: node.op for node in flat.nodes if node.op in _OF_WEIGHTS for name in node.outputs}
        self.unknown: dict[str, list[Node]] = {}

    def run(self) -> Drafts:
        for node in self.flat.nodes:
            if None in [self.flows[output] for output in node.outputs]:
                self.visit(node)
        return Drafts(self.rows, self.stored, self.unknown, self.passed)

    def visit(self, node: Node) -> None:
        """One node that depends on data."""
        flows = self.flows
        data = [name for name in node.inputs if flows[name] is None or name in self.grids]
        if node.op in MARKERS:
            self.pass_on(node, data)
            return
        row = operator(node.domain, node.op)
        if row is None:
            row = UNKNOWN_OPERATOR
            self.unknown.setdefault(f"{node.domain}:{node.op}" if node.domain else node.op, []).append(node)
        dtype = self.facts.values[node.outputs[0]].dtype
        if row.kind is OpKind.VIEW or row.kind is OpKind.SHAPE or (dtype in _BOOKKEEPING and row.products is None):
            self.pass_on(node, data[:1] if row.kind is OpKind.VIEW and not row.merges else data)
        elif not (node.op == "Add" and self.is_bias(node, data)):
            self.add(node, row, data)

    def pass_on(self, node: Node, data: list[str]) -> None:
        """No row: whoever reads the result reads what this node reads."""
        sources = self.joined(data)
        same = len(data) == 1 and node.op not in MARKERS and self.facts.values[data[0]].runs is None
        for output in node.outputs:
            self.sources[output] = sources
            if same:
                self.storage[output] = self.storage.get(data[0], data[0])
            elif sources:
                self.passed[output] = sources[-1]

    def joined(self, data: list[str]) -> tuple[int, ...]:
        if len(data) == 1:
            return self.sources.get(data[0], ())
        return tuple(sorted({source for name in data for source in self.sources.get(name, ())}))

    def add(self, node: Node, row: Operator, data: list[str]) -> None:
        """Makes a row of a node, whose results later rows read."""
        site, storage, rows = Site(node, self.facts), self.storage, self.rows
        reads = tuple([storage.get(name, name) for name in data])
        if len(reads) > 1:
            reads = tuple(dict.fromkeys(reads))
        products = None if row.products is None else _products(site, row.products)
        operands = () if row.products is None else tuple([self.sources.get(name, ()) for name in data])
        flops = vector_flops(site, row)
        made = LayerDraft(node, site, row, self.joined(data), operands, reads, products=products, flops=flops)
        learned_before = True in [rows[source].learns for source in made.sources]
        if len(data) < len(node.inputs):
            self.operands(made, data, learned_before)
        made.learns = learned_before or bool(made.weights or made.biases)
        index = (len(rows),)
        rows.append(made)
        for output in node.outputs:
            self.sources[output] = index
            self.maker[output] = made

    def operands(self, made: LayerDraft, data: list[str], learned_before: bool) -> None:
        """The trained tensors of a row, by the roles of its operator's inputs."""
        node, row = made.node, made.row
        for group, indices, bias in ((made.weights, row.weights, False), (made.biases, row.biases, True)):
            for index in indices:
                if index < len(node.inputs):
                    trained = self.trained(node.inputs[index], bias=bias)
                    group += [origin for origin in trained if not (bias and not self.stored[origin.root].shape)]
        if row.table and row.kind is OpKind.MOVE and made.weights and not self.is_embedding(node, made.weights[0]):
            made.weights.clear()
        if row.any_constant and learned_before:
            self.constant_operand(made, data)

    def trained(self, name: str, *, bias: bool) -> list[WeightOrigin]:
        """The trained tensors behind an operand."""
        found = parameters(None if name in self.grids else self.flows.get(name), self.stored, bias=bias)
        return [origin for origin in found if self.is_trained(origin, name)]

    def is_trained(self, origin: WeightOrigin, used: str) -> bool:
        """Not one number that fills a whole tensor, nor the frequencies of a rotary embedding."""
        count = elements(self.stored[origin.root].shape)
        return "inv_freq" not in origin.root and (count != 1 or elements(self.facts.values[used].shape) == 1)

    def is_embedding(self, node: Node, table: WeightOrigin) -> bool:
        """Whether rows of a trained table are selected: those of a rotary embedding scale activations instead."""
        if len(self.stored[table.root].shape) < 2 or BUFFER.search(table.alias or table.root):
            return False
        width, name = self.stored[table.root].shape[-1], node.outputs[0]
        while (reader := self.reader.get(name)) is not None and reader.op in _RESHAPED:
            name = reader.outputs[0]
        if reader is None or reader.op != "Mul":
            return True
        other = next((other for other in reader.inputs if other != name), "")
        shape = self.facts.values[other].shape if other in self.facts.values else None
        return not (shape and shape[-1] == width and self.flows[other] is None)

    def constant_operand(self, made: LayerDraft, data: list[str]) -> None:
        """A scale, shift or table among the operands of elementwise arithmetic."""
        node = made.node
        for name in node.inputs:
            found = self.trained(name, bias=True)
            shape = self.facts.values[name].shape if found else None
            if not found or not shape or elements(shape) == 1 or BUFFER.search(found[0].alias or found[0].root):
                continue
            wide = [extent for extent in shape if extent != 1]
            if self.is_mask(node, shape, wide, data) or self.is_of_samples(made, shape, wide):
                continue
            if len(wide) == 1:
                made.weights += found
                self.freeze_before(node, data)
            elif self.is_table(node, shape, wide, data):
                made.weights += found
                made.doubtful = True

    def is_mask(self, node: Node, shape: Shape, wide: list[int | None], data: list[str]) -> bool:
        """Whether a constant hides keys among the scores of an attention: the same for all heads, or made for a batch.

        A bias of relative positions, which trains, has an axis of heads and none of samples.
        """
        scores = self.facts.values[data[0]].shape if data else None
        if node.op not in ("Add", "Sub", "Mul") or not scores or not shape or not self.is_scores(data[0]):
            return False
        if len(wide) == 1:
            return node.op == "Add"
        aligned = (1,) * (len(scores) - len(shape)) + shape
        if aligned[-1] != scores[-1] or aligned[-2] not in (1, scores[-2]):
            return False
        return len(scores) < 4 or 1 in aligned[-3:-1] or aligned[0] != 1

    def is_of_samples(self, made: LayerDraft, shape: Shape, wide: list[int | None]) -> bool:
        """Whether a constant holds one number a sample, or a row: weights of a bag's entries, no scale that trains."""
        result = made.site.output()
        return bool(shape and result and len(shape) == len(result) > 1 and [shape[0]] == wide)

    def is_scores(self, name: str) -> bool:
        """Whether a value is a product of two activations, scaled and capped perhaps, and not weighed by a softmax."""
        size, sources = self.facts.sizes[name], self.sources.get(name, ())
        while len(sources) == 1:
            maker = self.rows[sources[0]]
            if maker.row.products is not None:
                weighed = "Softmax" in [self.rows[source].node.op for source in maker.sources]
                return not maker.weights and not weighed
            if maker.row.kind is not OpKind.WORK or self.facts.sizes[maker.node.outputs[0]] != size:
                return False
            sources = maker.sources
        return False

    def is_table(self, node: Node, shape: Shape, wide: list[int | None], data: list[str]) -> bool:
        """A constant of several axes: positions that are added, or a norm's scale over several axes; no square mask."""
        assert shape is not None
        maker = self.maker.get(data[0]) if data else None
        if node.op not in ("Mul", "Div"):
            return not (len(wide) == 2 and shape[-1] == shape[-2])
        if any(self.producer.get(name) in _OF_WEIGHTS for name in node.inputs if name not in data) or self.is_outer(
            shape, data
        ):
            return True
        if maker is None:
            return False
        return maker.node.op == "Div" or (maker.row.keep is Keep.INPUTS and maker.row.weights != ())

    def is_outer(self, shape: Shape, data: list[str]) -> bool:
        """Whether a constant widens the activations that it multiplies, as neither a mask nor a rotation does."""
        other = self.facts.values[data[0]].shape if data else None
        if not shape or not other or len(other) < len(shape):
            return False
        return any(one != 1 and two == 1 for one, two in zip(shape, other[-len(shape) :], strict=True))

    def freeze_before(self, node: Node, data: list[str]) -> None:
        """A normalisation whose own scale and shift are one and zero, then a scale that trains (Caffe, TorchScript)."""
        before = self.storage.get(data[0], data[0]) if data and node.op == "Mul" else ""
        maker, norms = self.maker.get(before), ("BatchNormalization", "InstanceNormalization")
        if maker is not None and maker.node.op in norms and self.is_read_once(before) and self.is_read_once(data[0]):
            maker.frozen = True
            if before != data[0]:  # of groups, by a view: ones and zeros are the exporter's, no tensors of the model
                maker.weights.clear()
                maker.biases.clear()

    def is_read_once(self, name: str) -> bool:
        """Whether one node reads a value, and the user of the model does not."""
        return self.readers[name] == 1 and name not in self.results

    def is_bias(self, node: Node, data: list[str]) -> bool:
        """Folds an `Add` into the product before it, where it is that product's bias."""
        if len(data) != 1 or len(node.inputs) != 2 or not self.is_read_once(data[0]):
            return False
        maker = self.maker.get(data[0])
        constant = node.inputs[0] if node.inputs[1] == data[0] else node.inputs[1]
        found = self.trained(constant, bias=True)
        if maker is None or maker.row.products is None or not maker.weights or maker.biases or not found:
            return False
        if not _per_channel(self.facts.values[constant].shape, maker):
            return False
        maker.biases += found
        self.sources[node.outputs[0]] = self.sources[data[0]]
        self.storage[node.outputs[0]] = self.storage.get(data[0], data[0])
        self.maker[node.outputs[0]] = maker
        return True


def _products(site: Site, rule: Callable[[Site], Products]) -> Products:
    try:
        return rule(site)
    except (Inconsistent, *TRIPPED) as error:
        raise BadNode(site, str(error) if isinstance(error, Inconsistent) else MISFIT) from None


def _per_channel(shape: Shape, maker: LayerDraft) -> bool:
    """Whether a constant holds one number an output channel of the product."""
    result = maker.site.output()
    if not shape or not result or None in shape:
        return False
    if "Conv" in maker.node.op:
        aligned = (1,) * (len(result) - len(shape)) + shape
        return all(extent == (result[1] if axis == 1 else 1) for axis, extent in enumerate(aligned))
    core = shape
    while len(core) > 1 and core[0] == 1:
        core = core[1:]
    if maker.node.op == "Einsum":
        return core == result[-len(core) :] and len(core) < len(result)
    return core == result[-1:]
