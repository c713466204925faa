"""A model as layers: what ONNX files and model families become, before precision and parallelism are laid over it.

Everything here counts elements and multiply-accumulates of one micro-batch on one device that holds the whole model.
Bytes and FLOPs follow when `lower` knows the precision: FLOPs = 2 x MACs, bytes = elements x bytes per element.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

BITS: dict[str, int] = {
    "float64": 64, "float32": 32, "tfloat32": 32, "float16": 16, "bfloat16": 16, "float8": 8,
    "float8e4m3fn": 8, "float8e4m3fnuz": 8, "float8e5m2": 8, "float8e5m2fnuz": 8, "float8e8m0": 8, "float4e2m1": 4,
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "int4": 4, "int2": 2,
    "uint64": 64, "uint32": 32, "uint16": 16, "uint8": 8, "uint4": 4, "uint2": 2,
    "float4": 4, "bool": 8, "complex64": 64, "complex128": 128, "string": 0,
}  # fmt: skip
"""Bits an element takes, by data type; the long float8 and float4 words are the variants that ONNX files store."""


Matmul: TypeAlias = tuple[int, int, int, int]
"""(batch, M, N, K): `batch` products (M x K) (K x N), one after the other."""


def stored_bytes(elements: int, dtype: str) -> int:
    """Bytes that a tensor takes: whole bytes a tensor, so nine 4-bit elements take five."""
    return -(-elements * BITS[dtype] // 8)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A trainable tensor as the model stores it.

    Attributes:
        name: as the model has it.
        shape: extents as stored.
        dtype: a key of `BITS`.
        numbers: learnable numbers where extents do not say (4-bit numbers packed into bytes), else None.
        stored: bytes where extents and type do not say (sparse tensors), else None.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    numbers: int | None = None
    stored: int | None = None

    @property
    def elements(self) -> int:
        """How many learnable numbers it holds."""
        return prod(self.shape) if self.numbers is None else self.numbers

    @property
    def bytes(self) -> int:
        """The bytes that it takes as stored; see `stored_bytes`."""
        return stored_bytes(prod(self.shape), self.dtype) if self.stored is None else self.stored


class Role(Enum):
    """What a layer is to the strategies that cut it: which part of its weights and activations an axis divides.

    COLUMN and ROW are the two halves of Megatron's pairs (the output, the input dimension is cut); SEQUENCE layers
    (norms, dropout, residual) are replicated by tensor parallelism and cut along tokens by sequence parallelism;
    ATTENTION works on heads; EXPERT layers exist `experts` times; EMBEDDING and HEAD are cut along the vocabulary.
    TABLE is added to the embedding (positions, segments), POOLER reads the first token of each sample. OTHER layers
    are never cut.

    Three roles follow from others where layers are marked one by one: BETWEEN works on the features that a column left
    cut, GATHERED_COLUMN makes its output whole again for a reader that is not cut, SPLIT_ROW takes its share of an
    input that is whole.
    """

    COLUMN = "column"
    ROW = "row"
    SEQUENCE = "sequence"
    ATTENTION = "attention"
    EMBEDDING = "embedding"
    TABLE = "table"
    HEAD = "head"
    POOLER = "pooler"
    EXPERT_COLUMN = "expert_column"
    EXPERT_ROW = "expert_row"
    ROUTER = "router"
    BETWEEN = "between"
    GATHERED_COLUMN = "gathered_column"
    SPLIT_ROW = "split_row"
    OTHER = "other"


class Kept(NamedTuple):
    """An activation that backward may need: a number that is the same for all rows that keep it, elements, for what."""

    tensor: int
    elements: int
    gradients: int


OF_WEIGHT, OF_INPUT, OF_FIRST, OF_SECOND = 1, 2, 4, 8
"""Gradients that an activation is kept for: of the weight, of any input, of one of two operands."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One row of the layer table.

    Attributes:
        name: unique in the model, no white space; what `layer "pattern"` matches.
        op: the operator (`Conv`, `Gemm`, `Attention`, ...), as people know it.
        weight: kernel, matrix, table or norm scale; None for activation x activation and elementwise rows.
        bias: of the same operator, or None; also None when an earlier row owns it.
        others: further trained tensors (recurrence weights, a low-rank adapter), without those that earlier rows own.
        macs: multiply-accumulates forward, one micro-batch; no bias adds.
        matmuls: (batch, M, N, K) of each forward product, for array models; attention is two (scores, context), a layer
            that is no product has none. Their batch x M x N x K add up to the MACs.
        vector_flops: forward FLOPs that are not multiply-accumulates (norms, activations, softmax, pooling).
        input_elements, output_elements: activations read and written forward; weights are not among them.
        kept_elements: activations that backward needs and forward must keep, without those that an earlier row keeps.
        keeps: what it needs of them, and for which gradients, where that can change; see `Kept`.
        kept_replicated: of those, the ones that tensor parallelism leaves whole on every rank (along the residual
            stream); sequence parallelism cuts them too.
        input_replicated: of `input_elements`, those along the residual stream, as in `kept_replicated`.
        gathers: its gradient must be whole on every tensor rank where sequence parallelism has cut it: the last of the
            rows that make the stream of embeddings.
        loss_rows: rows of the output (tokens) whose loss is taken over all its features.
        weight_reads: elements of the weight that forward touches, None for all of them (an embedding reads its rows).
        trainable: False when the weights are frozen or there are none.
        input_gradient: False when nothing trainable lies upstream (the first layer).
        operands: the same for each operand of a product of two activations; () where both always need a gradient.
        operand_gradients: of which of the two operands the gradient is needed.
        through_time: of a recurrent net, the product whose input gradient takes the state's gradient from step to step:
            weights need it even where the input needs none.
        inputs: indices of the layers whose outputs it reads; () for those fed by the model's inputs.
        role: for the strategies.
        block: the transformer block that it belongs to, for pipeline cuts and recomputation; None outside.
        shared_with: the earlier layer that owns the same weight (tied embeddings); its parameters count there once.
        data_type: of the activations, as the model stores them.
        state_elements: numbers that are updated without a gradient (running statistics).
        runs: False for a branch that another one excludes: its parameters exist, its work does not count.
        counted: False where an operator that nobody knows leaves its work unknown: the table has `?` for it.
    """

    name: str
    op: str
    weight: Tensor | None = None
    bias: Tensor | None = None
    others: tuple[Tensor, ...] = ()
    macs: int = 0
    matmuls: tuple[Matmul, ...] = ()
    vector_flops: int = 0
    input_elements: int = 0
    output_elements: int = 0
    kept_elements: int = 0
    keeps: tuple[Kept, ...] = field(default=(), compare=False, repr=False)
    kept_replicated: int = 0
    input_replicated: int = 0
    gathers: bool = False
    loss_rows: int = 0
    weight_reads: int | None = None
    trainable: bool = True
    input_gradient: bool = True
    inputs: tuple[int, ...] = ()
    operands: tuple[tuple[int, ...], ...] = ()
    operand_gradients: tuple[bool, bool] = (True, True)
    through_time: Matmul | None = None
    role: Role = Role.OTHER
    block: int | None = None
    shared_with: str | None = None
    data_type: str = "float32"
    state_elements: int = 0
    runs: bool = True
    counted: bool = True

    @property
    def owned(self) -> tuple[Tensor, ...]:
        """The trained tensors that this row owns: without a weight that it shares with an earlier one."""
        weight = None if self.shared_with is not None else self.weight
        return tuple(tensor for tensor in (weight, self.bias, *self.others) if tensor is not None)

    @property
    def params(self) -> int:
        """Learnable numbers that this row owns."""
        return sum(tensor.elements for tensor in self.owned)

    @property
    def activation_product(self) -> bool:
        """Whether both operands are activations (attention): two operand gradients, no weight gradient."""
        return self.weight is None and self.macs > 0

    @property
    def weight_gradient_macs(self) -> int:
        """As forward for a trainable layer, else none; through time, too, where no input gradient goes there."""
        if self.weight is None or not self.trainable:
            return 0
        return self.macs + (0 if self.input_gradient else self.time_macs)

    @property
    def time_macs(self) -> int:
        """Multiply-accumulates of the gradient from step to step."""
        return 0 if self.through_time is None else prod(self.through_time)

    @property
    def input_gradient_macs(self) -> int:
        """As forward when something upstream trains, once for each operand of two activations that needs it.

        The state before the first step needs none.
        """
        if not self.input_gradient:
            return 0
        if self.through_time is None:
            return sum(self.operand_gradients) * self.macs if self.activation_product else self.macs
        return self.time_macs + sum(batch * m * n * (k - self.through_time[3]) for batch, m, n, k in self.matmuls)

    def upstream(self, learns: Sequence[bool]) -> tuple[bool, tuple[bool, bool]]:
        """`input_gradient` and `operand_gradients`, by what each earlier layer or anything before it trains."""
        both = True in [learns[source] for source in self.inputs]
        if len(self.operands) != len(self.operand_gradients):
            return both, (True, True)
        left, right = (True in [learns[source] for source in operand] for operand in self.operands)
        return both, (left, right)

    def newly_kept(self, before: set[int]) -> int:
        """Elements that its gradients need of what is not among the tensors kept before; those are among them then."""
        both = self.operand_gradients if self.input_gradient else (False, False)
        wanted = self.trainable * OF_WEIGHT + self.input_gradient * OF_INPUT + both[0] * OF_FIRST + both[1] * OF_SECOND
        found = 0
        for tensor, elements, gradients in self.keeps:
            if gradients & wanted and tensor not in before:
                before.add(tensor)
                found += elements
        return found

    @property
    def is_linear(self) -> bool:
        """Whether it is a product with a weight, whose input gradient does not depend on the input."""
        return self.weight is not None and self.macs > 0


class Traffic(NamedTuple):
    """Bytes that a layer reads and writes in each phase of a training step, on its way through device memory."""

    forward: int
    input_gradient: int
    weight_gradient: int


def traffic(layer: Layer, inputs: int, outputs: int, output_gradients: int, weights: int, gradients: int) -> Traffic:
    """What a layer moves in each phase: the one formula, for a whole layer and for a rank's part of one.

    Forward reads inputs and weights and writes outputs. The input gradient reads weights and the output's gradient,
    writes the input's, and reads the inputs again where the derivative depends on them (anything but a linear layer).
    The weight gradient reads inputs and the output's gradient and writes the weight's.

    Args:
        layer: whose kind decides what is read again.
        inputs: bytes of the activations that it reads; as many are written as their gradient.
        outputs: bytes of the activations that it writes; as many are read as their gradient.
        output_gradients: bytes of the output's gradient that the weight gradient reads.
        weights: bytes of the trained tensors that a pass touches.
        gradients: bytes of their gradients.
    """
    forward = inputs + weights + outputs
    again = 0 if layer.is_linear else inputs
    return Traffic(forward, forward + again, inputs + output_gradients + gradients)


@dataclass(frozen=True)
class Model:
    """The layers of one micro-batch, in topological order.

    Attributes:
        name: the block's name.
        layers: rows.
        batch: samples (sequences) in a micro-batch that the counts are for.
        tokens: tokens a sample for families of sequence models, else None.
        digest: `sha256:...` of the structure that the layers were read from; weights are never part of it.
        cuts: for each row but the last, activation elements that cross from it and the rows before to the rows behind.
        tied_params: learnable numbers that the file stores once more for a weight that is shared.
        causal: whether attention counts only the scores that a causal mask leaves.
    """

    name: str
    layers: tuple[Layer, ...]
    batch: int
    tokens: int | None = None
    digest: str = field(default="")
    cuts: tuple[int, ...] = ()
    tied_params: int = 0
    causal: bool = False

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the counts rest on and another count might not."""
        flops = sum(2 * layer.macs for layer in self.layers if layer.runs and layer.activation_product)
        how = "causal, half of the scores" if self.causal else "in full, not causal"
        return (f"attention is counted {how}: {flops:,} FLOP forward a micro-batch",) if flops else ()

    @property
    def params(self) -> int:
        """All learnable numbers, shared ones once."""
        return sum(layer.params for layer in self.layers)

    @property
    def macs(self) -> int:
        """The multiply-accumulates of one micro-batch forward, without branches that do not run."""
        return sum(layer.macs for layer in self.layers if layer.runs)

    @property
    def trainable_params(self) -> int:
        """Those of `params` that training changes."""
        return sum(layer.params for layer in self.layers if layer.trainable)
