"""The table of operators: one row each. This is where knowledge of ONNX grows.

A row says how shapes follow, which inputs hold what trains, what is multiplied, how many other FLOPs there are, and
what backward needs. Domains `""` and `com.microsoft` share the table: their operators of one name mean the same here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from astrac.layers.onnx import arithmetic, layout, products
from astrac.layers.onnx.facts import Site, Value, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from astrac.layers.onnx.products import Products

    Rule: TypeAlias = Callable[[Site], Sequence[Value]]


class Kind(Enum):
    """What an operator costs.

    VIEW is the same numbers under another shape; MOVE copies; WORK computes; SHAPE tells of extents only.
    """

    VIEW = "view"
    MOVE = "move"
    WORK = "work"
    SHAPE = "shape"


class Keep(Enum):
    """What backward needs of forward.

    OPERANDS are needed for the gradient of the other operand only: of two activations, or of a weight.
    """

    NOTHING = "nothing"
    OUTPUT = "output"
    INPUTS = "inputs"
    OPERANDS = "operands"


@dataclass(frozen=True, slots=True)
class Operator:
    """A row.

    Attributes:
        shape: shapes and types of the outputs.
        kind: see there.
        weights: inputs that hold the matrix, kernel, table or scale; the first that is there is the layer's weight.
        biases: inputs added to the result, or other vectors that train.
        auxiliary: inputs that are neither data nor trained: statistics, scales, zero points, targets.
        products: the matrix products.
        flops: FLOPs that are not multiply-accumulates, an element of the largest operand (pools: and a position of the window).
        keep: what backward needs.
        any_constant: a constant among the operands is a trained scale or shift (elementwise arithmetic).
        table: rows of the weight are selected, so only those are read.
        packed: numbers in the weight where its shape does not say (bits packed into bytes).
    """

    shape: Rule
    kind: Kind = Kind.WORK
    weights: tuple[int, ...] = ()
    biases: tuple[int, ...] = ()
    auxiliary: tuple[int, ...] = ()
    products: Callable[[Site], Products] | None = None
    flops: int = 0
    keep: Keep = Keep.NOTHING
    any_constant: bool = False
    table: bool = False
    packed: Callable[[Site], int] | None = None


def vector_flops(site: Site, row: Operator) -> int | None:
    """FLOPs beside the products: `flops` an element of the largest operand; None while a shape is unknown."""
    if not row.flops:
        return 0
    shapes = [site.shape(index) for index in range(len(site.node.inputs)) if site.has(index)]
    sizes = [elements(shape) for shape in (*shapes, site.output())]
    window = site.node.attributes.get("kernel_shape") if site.node.op.endswith("Pool") else None
    if window is not None:
        return None if sizes[-1] is None else sizes[-1] * prod(site.ints("kernel_shape") or ())
    return None if None in sizes else row.flops * max(sizes)  # type: ignore[type-var]


def _rows(names: Iterable[str], row: Operator) -> dict[str, Operator]:
    return dict.fromkeys(names, row)


def _unary(flops: int, names: str, keep: Keep = Keep.INPUTS) -> dict[str, Operator]:
    return _rows(names.split(), Operator(layout.same, flops=flops, keep=keep))


_CONV = {"weights": (1,), "biases": (2,), "keep": Keep.OPERANDS}
_NORM = {"weights": (1,), "biases": (2,), "keep": Keep.INPUTS}
_BINARY = Operator(arithmetic.broadcast_all, flops=1, any_constant=True)
_PRODUCT = Operator(arithmetic.broadcast_all, flops=1, keep=Keep.OPERANDS, any_constant=True)
_COMPARISON = Operator(arithmetic.compare, flops=1)
_REDUCTION = Operator(arithmetic.reduce, flops=1)
_VIEW_NAMES = "Identity Optional OptionalGetElement SequenceAt SequenceConstruct SequenceInsert"


def _recurrent(gates: int) -> Operator:
    """Weights of the inputs and of the state; biases, and for the LSTM peepholes."""
    return Operator(
        arithmetic.recurrent, weights=(1, 2), biases=(3, 7), auxiliary=(4, 5, 6),
        products=products.recurrent(gates), keep=Keep.INPUTS,
    )  # fmt: skip


def _block(weight: int, *, bits: bool = False) -> Operator:
    return Operator(
        arithmetic.last_axis("N"), weights=(weight,), biases=(5,) if bits else (), auxiliary=(2, 3, 4),
        products=products.n_bits, keep=Keep.OPERANDS, packed=lambda site: site.int("K") * site.int("N"),
    )  # fmt: skip


OPERATORS: dict[str, Operator] = {
    # Products.
    "Conv": Operator(arithmetic.conv_at(0, 1), products=products.conv(), **_CONV),
    "FusedConv": Operator(arithmetic.conv_at(0, 1), products=products.conv(), **_CONV),
    "DeformConv": Operator(arithmetic.conv_at(0, 1), weights=(1,), biases=(3,), products=products.conv(), keep=Keep.INPUTS),
    "ConvInteger": Operator(arithmetic.conv_at(0, 1, "int32"), weights=(1,), auxiliary=(2, 3), products=products.conv(), keep=Keep.OPERANDS),
    "QLinearConv": Operator(arithmetic.conv_at(0, 3), weights=(3,), biases=(8,), auxiliary=(1, 2, 4, 5, 6, 7), products=products.conv(3), keep=Keep.OPERANDS),
    "ConvTranspose": Operator(arithmetic.conv_transpose, products=products.conv_transpose, **_CONV),
    "CausalConvWithState": Operator(layout.same, products=products.conv(), **_CONV),
    "Gemm": Operator(arithmetic.gemm, products=products.gemm(), weights=(1, 0), biases=(2,), keep=Keep.OPERANDS),
    "FusedGemm": Operator(arithmetic.gemm, products=products.gemm(), weights=(1, 0), biases=(2,), keep=Keep.OPERANDS),
    "QGemm": Operator(arithmetic.matmul_of(0, 3, None), weights=(3,), biases=(6,), auxiliary=(1, 2, 4, 5, 7, 8), products=products.gemm(0, 3), keep=Keep.OPERANDS),
    "MatMul": Operator(arithmetic.matmul, products=products.matmul(), weights=(1, 0), keep=Keep.OPERANDS),
    "FusedMatMul": Operator(arithmetic.matmul, products=products.matmul(), weights=(1, 0), keep=Keep.OPERANDS),
    "MatMulInteger": Operator(arithmetic.matmul_of(0, 1, "int32"), weights=(1, 0), auxiliary=(2, 3), products=products.matmul(), keep=Keep.OPERANDS),
    "MatMulIntegerToFloat": Operator(arithmetic.matmul_of(0, 1, "float32"), weights=(1,), biases=(6,), auxiliary=(2, 3, 4, 5), products=products.matmul(), keep=Keep.OPERANDS),
    "DynamicQuantizeMatMul": Operator(arithmetic.matmul_of(0, 1, None), weights=(1,), biases=(4,), auxiliary=(2, 3), products=products.matmul(), keep=Keep.OPERANDS),
    "QLinearMatMul": Operator(arithmetic.matmul_of(0, 3, None), weights=(3, 0), auxiliary=(1, 2, 4, 5, 6, 7), products=products.matmul(0, 3), keep=Keep.OPERANDS),
    "MatMulNBits": _block(1, bits=True),
    "MatMulBnb4": _block(1),
    "Einsum": Operator(arithmetic.einsum, products=products.einsum, weights=(1, 0, 2, 3), keep=Keep.OPERANDS),
    "RNN": _recurrent(1),
    "GRU": _recurrent(3),
    "LSTM": _recurrent(4),
    # Attention whose projections are inside (com.microsoft), or outside. Softmax over the scores is not told apart.
    "Attention": Operator(arithmetic.heads_attention, products=products.heads_attention, keep=Keep.INPUTS),
    "com.microsoft.Attention": Operator(arithmetic.attention, weights=(1,), biases=(2,), auxiliary=(3, 5, 6), products=products.attention, keep=Keep.INPUTS),
    "QAttention": Operator(arithmetic.attention, weights=(1,), biases=(2,), auxiliary=(3, 4, 5, 6, 7, 8), products=products.attention, keep=Keep.INPUTS),
    "MultiHeadAttention": Operator(arithmetic.heads_attention, biases=(3,), auxiliary=(4, 5), products=products.heads_attention, keep=Keep.INPUTS),
    "GroupQueryAttention": Operator(arithmetic.heads_attention, auxiliary=(5, 6, 7, 8), products=products.heads_attention, keep=Keep.INPUTS),
    # Normalisations: mean, difference, square, variance, quotient, scale, shift; the root mean square needs fewer.
    "BatchNormalization": Operator(arithmetic.normalise, auxiliary=(3, 4), flops=7, **_NORM),
    "InstanceNormalization": Operator(arithmetic.normalise, flops=7, **_NORM),
    "LayerNormalization": Operator(arithmetic.normalise, flops=7, **_NORM),
    "GroupNormalization": Operator(arithmetic.normalise, flops=7, **_NORM),
    "GroupNorm": Operator(arithmetic.normalise, flops=7, **_NORM),
    "RMSNormalization": Operator(arithmetic.normalise, weights=(1,), flops=4, keep=Keep.INPUTS),
    "SimplifiedLayerNormalization": Operator(arithmetic.normalise, weights=(1,), flops=4, keep=Keep.INPUTS),
    "SkipLayerNormalization": Operator(arithmetic.skip_normalise, weights=(2,), biases=(3, 4), flops=8, keep=Keep.INPUTS),
    "SkipSimplifiedLayerNormalization": Operator(arithmetic.skip_normalise, weights=(2,), biases=(3,), flops=5, keep=Keep.INPUTS),
    "EmbedLayerNormalization": Operator(arithmetic.embed_normalise, weights=(2, 3, 4), biases=(5, 6), auxiliary=(7,), flops=9, keep=Keep.INPUTS, table=True),
    "LRN": Operator(layout.same, flops=7, keep=Keep.INPUTS),
    "LpNormalization": Operator(layout.same, flops=3, keep=Keep.INPUTS),
    "MeanVarianceNormalization": Operator(layout.same, flops=5, keep=Keep.INPUTS),
    # Elementwise arithmetic; a constant operand of more than one number is a scale or shift that trains.
    **_rows(("Add", "Sub", "Sum"), _BINARY),
    **_rows(("Mul", "Div"), _PRODUCT),
    **_rows(("Max", "Min", "Mean", "Pow", "Mod"), Operator(arithmetic.broadcast_all, flops=1, keep=Keep.INPUTS)),
    **_rows(("BiasGelu", "FastGelu"), Operator(layout.same, weights=(1,), flops=8, keep=Keep.INPUTS)),
    **_rows(("BiasAdd",), Operator(layout.same, weights=(1,), flops=2)),
    "PRelu": Operator(layout.same, weights=(1,), flops=2, keep=Keep.INPUTS),
    "SwiGLU": Operator(arithmetic.broadcast_all, flops=5, keep=Keep.INPUTS),
    "BiasSplitGelu": Operator(arithmetic.swish_gate, weights=(1,), flops=6, keep=Keep.INPUTS),
    "Where": Operator(arithmetic.where, flops=1),
    "Clip": Operator(layout.same, flops=2, keep=Keep.INPUTS, auxiliary=(1, 2)),
    **_rows("Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor".split(), _COMPARISON),
    **_rows("BitShift BitwiseAnd BitwiseOr BitwiseXor".split(), _BINARY),
    **_rows("IsInf IsNaN Not".split(), Operator(arithmetic.truth, flops=1)),
    **_unary(1, "Relu Sqrt Exp Tanh Reciprocal Dropout Trilu", Keep.OUTPUT),
    **_unary(1, "Abs Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Erf ThresholdedRelu"),
    **_unary(1, "Neg Sign Ceil Floor Round BitwiseNot", Keep.NOTHING),
    **_unary(1, "CumSum CumProd", Keep.NOTHING),
    **_unary(2, "LeakyRelu Shrink Binarizer"),
    **_unary(3, "HardSigmoid Softplus Softsign Elu"),
    **_unary(4, "Selu HardSwish"),
    **_unary(5, "Celu Gelu Swish QuickGelu"),
    **_unary(6, "Mish RotaryEmbedding"),
    **_unary(4, "Sigmoid", Keep.OUTPUT),
    **_unary(5, "Softmax LogSoftmax", Keep.OUTPUT),
    **_unary(1, "Hardmax", Keep.NOTHING),
    # Reductions and pooling.
    **_rows("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1".split(), _REDUCTION),
    **_rows("ReduceL2 ReduceLogSum ReduceSumSquare".split(), Operator(arithmetic.reduce, flops=2, keep=Keep.INPUTS)),
    "ReduceLogSumExp": Operator(arithmetic.reduce, flops=3, keep=Keep.INPUTS),
    **_rows(("ArgMax", "ArgMin"), Operator(arithmetic.arg_reduce, flops=1)),
    "MaxPool": Operator(arithmetic.pool, flops=1, keep=Keep.INPUTS),
    "AveragePool": Operator(arithmetic.pool, flops=1),
    "LpPool": Operator(arithmetic.pool, flops=2, keep=Keep.INPUTS),
    **_rows("GlobalAveragePool GlobalMaxPool GlobalLpPool".split(), Operator(arithmetic.global_pool, flops=1)),
    # Types and quantisation.
    "Cast": Operator(arithmetic.cast, Kind.MOVE),
    "CastLike": Operator(arithmetic.cast_like, Kind.MOVE, auxiliary=(1,)),
    "QuantizeLinear": Operator(arithmetic.quantise, Kind.MOVE, auxiliary=(1, 2), flops=2),
    "DequantizeLinear": Operator(arithmetic.dequantise, Kind.MOVE, auxiliary=(1, 2), flops=2),
    "DynamicQuantizeLinear": Operator(arithmetic.dynamic_quantise, flops=4),
    # Views.
    "Reshape": Operator(layout.reshape, Kind.VIEW),
    "Flatten": Operator(layout.flatten, Kind.VIEW),
    "Squeeze": Operator(layout.squeeze, Kind.VIEW),
    "Unsqueeze": Operator(layout.unsqueeze, Kind.VIEW),
    **_rows(("Identity", "Optional", "OptionalGetElement"), Operator(layout.identity, Kind.VIEW)),
    "SequenceAt": Operator(layout.sequence_at, Kind.VIEW),
    "SequenceConstruct": Operator(layout.sequence_construct, Kind.VIEW),
    "SequenceInsert": Operator(layout.sequence_insert, Kind.VIEW),
    # Copies.
    "Transpose": Operator(layout.transpose, Kind.MOVE),
    "Concat": Operator(layout.concat, Kind.MOVE, any_constant=True),
    "Split": Operator(layout.split, Kind.MOVE),
    "SplitToSequence": Operator(layout.split_to_sequence, Kind.MOVE),
    "Slice": Operator(layout.slice_, Kind.MOVE),
    "Gather": Operator(layout.gather, Kind.MOVE, weights=(0,), table=True),
    "GatherElements": Operator(layout.gather_elements, Kind.MOVE),
    "GatherND": Operator(layout.gather_nd, Kind.MOVE),
    "Expand": Operator(layout.expand, Kind.MOVE),
    "Tile": Operator(layout.tile, Kind.MOVE),
    "Pad": Operator(layout.pad, Kind.MOVE, auxiliary=(2,)),
    "Resize": Operator(layout.resize, Kind.WORK, auxiliary=(1, 2, 3), flops=7),
    "Upsample": Operator(layout.resize, Kind.WORK, auxiliary=(1,), flops=1),
    "DepthToSpace": Operator(layout.depth_to_space, Kind.MOVE),
    "SpaceToDepth": Operator(layout.space_to_depth, Kind.MOVE),
    **_rows("Scatter ScatterElements ScatterND ReverseSequence TensorScatter".split(), Operator(layout.same, Kind.MOVE)),
    "OneHot": Operator(layout.one_hot, Kind.MOVE, auxiliary=(2,)),
    "TopK": Operator(layout.top_k, flops=1),
    # Extents.
    "Shape": Operator(layout.shape_of, Kind.SHAPE),
    "Size": Operator(layout.scalar, Kind.SHAPE),
    "SequenceLength": Operator(layout.scalar, Kind.SHAPE),
    "Range": Operator(layout.range_, Kind.SHAPE),
    "ConstantOfShape": Operator(layout.constant_of_shape, Kind.SHAPE),
    # How many there are shows at run time only.
    **_rows("NonZero NonMaxSuppression Unique Compress".split(), Operator(layout.unknown, flops=1)),
}  # fmt: skip
"""A row an operator; `com.microsoft.NAME` where that domain's operator differs from ONNX's own of the same name."""

DOMAINS = ("", "ai.onnx", "com.microsoft")
"""Domains whose operators the table knows."""


def operator(domain: str, op: str) -> Operator | None:
    """The row of an operator, None for one that nobody knows."""
    if domain not in DOMAINS:
        return None
    return OPERATORS.get(f"{domain}.{op}") or OPERATORS.get(op)
