"""The table of operators: one row each. This is where knowledge of ONNX grows.

A row says how shapes follow, which inputs hold what trains, what is multiplied, how many other FLOPs there are, and
what backward needs. ONNX's own operators and those of `com.microsoft` share the table: of one name they mean the same,
but for the few that stand here with their domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from typing import TYPE_CHECKING

from astrac.models.onnx import arithmetic, attention, layout, products, schema, sequences, spatial

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.models.onnx.facts import Rule, Site
    from astrac.models.onnx.products import Products, Recurrence


class OpKind(Enum):
    """What an operator costs: nothing, a copy, or computation.

    VIEW is the same numbers under another shape; MOVE copies; WORK computes; SHAPE tells of extents only.
    """

    VIEW = "view"
    MOVE = "move"
    WORK = "work"
    SHAPE = "shape"


class Keep(Enum):
    """What backward needs of the activations that forward has had.

    OPERANDS are needed for the gradient of the other operand only: of two activations, or of a weight.
    """

    NOTHING = "nothing"
    OUTPUT = "output"
    INPUTS = "inputs"
    OPERANDS = "operands"


@dataclass(frozen=True, slots=True)
class Operator:
    """A row of the table.

    Attributes:
        shape: shapes and types of the outputs.
        kind: see there.
        weights: inputs that hold the matrix, kernel, table or scale; the first that is there is the layer's weight.
        biases: inputs added to the result, or other vectors that train.
        auxiliary: inputs that are neither data nor trained: statistics, scales, zero points, targets.
        products: the matrix products.
        flops: FLOPs that are not multiply-accumulates: an element of the largest activation, for pools an element of
            the result and a position of the window; or a function that counts them all.
        keep: what backward needs.
        merges: the values come from all inputs; a view or copy takes them from the first alone.
        any_constant: a constant among the operands is a trained scale or shift (elementwise arithmetic).
        table: rows of the weight are selected, so only those are read.
        recurrence: of a recurrent net, what backward needs from step to step.
        packed: numbers in the weight where its shape does not say (bits packed into bytes).
    """

    shape: Rule
    kind: OpKind = OpKind.WORK
    weights: tuple[int, ...] = ()
    biases: tuple[int, ...] = ()
    auxiliary: tuple[int, ...] = ()
    products: Callable[[Site], Products] | None = None
    flops: int | Callable[[Site], int | None] = 0
    keep: Keep = Keep.NOTHING
    merges: bool = False
    any_constant: bool = False
    table: bool = False
    recurrence: Callable[[Site], Recurrence | None] | None = None
    packed: Callable[[Site], int] | None = None


def vector_flops(site: Site, row: Operator) -> int | None:
    """FLOPs beside the products; None while a shape is unknown."""
    if not isinstance(row.flops, int):
        return row.flops(site)
    if not row.flops:
        return 0
    sizes, node = site.facts.sizes, site.node
    result = sizes[node.outputs[0]]
    if result is not None and node.op.endswith("Pool") and "kernel_shape" in node.attributes:
        return row.flops * result * prod(site.numbers("kernel_shape") or ())
    fixed = (*row.weights, *row.biases, *row.auxiliary)
    operands = [result, *[sizes[name] for index, name in enumerate(node.inputs) if name and index not in fixed]]
    found = [size for size in operands if size is not None]
    return None if len(found) < len(operands) else row.flops * max(found)


def _rows(names: str, row: Operator) -> dict[str, Operator]:
    return dict.fromkeys(names.split(), row)


def _unary(flops: int, keep: Keep, names: str) -> dict[str, Operator]:
    return _rows(names, Operator(layout.same, flops=flops, keep=keep))


def _conv(data: int = 0, weight: int = 1, bias: int = 2, dtype: str = "", auxiliary: tuple[int, ...] = ()) -> Operator:
    return Operator(
        spatial.conv_at(data, weight, dtype or None), weights=(weight,), biases=(bias,), auxiliary=auxiliary,
        products=products.conv(weight), keep=Keep.OPERANDS,
    )  # fmt: skip


def _matmul(
    left: int = 0, right: int = 1, dtype: str = "", biases: tuple[int, ...] = (), auxiliary: tuple[int, ...] = ()
) -> Operator:
    """The weight is the right operand, as a rule; scales and zero points are auxiliary."""
    return Operator(
        arithmetic.matmul_at(left, right, dtype or None), weights=(right, left), biases=biases, auxiliary=auxiliary,
        products=products.matmul(left, right), keep=Keep.OPERANDS,
    )  # fmt: skip


def _norm(flops: int, shape: Rule = arithmetic.normalise, biases: tuple[int, ...] = (2,)) -> Operator:
    return Operator(shape, weights=(1,), biases=biases, flops=flops, keep=Keep.INPUTS)


def _recurrent(gates: int, inside: int) -> Operator:
    """Weights of the inputs and of the state; biases, and for the LSTM peepholes.

    `inside` counts what backward needs of a hidden number and step beside the state: gates, a cell or a product.
    """
    return Operator(
        arithmetic.recurrent, weights=(1, 2), biases=(3, 7), auxiliary=(4, 5, 6),
        products=products.recurrent(gates), flops=6 * gates, keep=Keep.INPUTS,
        recurrence=products.recurrence(gates, inside),
    )  # fmt: skip


def _packed(biases: tuple[int, ...]) -> Operator:
    """K x N numbers of a few bits, packed into bytes, with their scales."""
    return Operator(
        arithmetic.last_axis("N"), weights=(1,), biases=biases, auxiliary=(2, 3, 4), products=products.n_bits,
        keep=Keep.OPERANDS, packed=lambda site: site.number("K") * site.number("N"),
    )  # fmt: skip


def _attention(biases: tuple[int, ...] = (), auxiliary: tuple[int, ...] = ()) -> Operator:
    return Operator(
        attention.bare, biases=biases, auxiliary=auxiliary, products=attention.bare_products,
        flops=attention.softmax_flops(attention.bare_products), keep=Keep.INPUTS,
    )  # fmt: skip


def _projected(auxiliary: tuple[int, ...]) -> Operator:
    return Operator(
        attention.projected, weights=(1,), biases=(2,), auxiliary=auxiliary, products=attention.projected_products,
        flops=attention.softmax_flops(attention.projected_products), keep=Keep.INPUTS,
    )  # fmt: skip


_GEMM = Operator(arithmetic.gemm, weights=(1, 0), biases=(2,), products=products.matmul(), keep=Keep.OPERANDS)
_SUM = Operator(arithmetic.broadcast_all, flops=1, any_constant=True)
_CHOICE = Operator(arithmetic.broadcast_all, flops=1, keep=Keep.INPUTS)
_SCATTER = Operator(layout.same, OpKind.MOVE, merges=True)
_RARE = Operator(schema.infer, flops=1, keep=Keep.INPUTS)

OPERATORS: dict[str, Operator] = {
    # Products.
    "Conv": _conv(),
    "FusedConv": _conv(),
    "DeformConv": _conv(bias=3),
    "ConvInteger": _conv(dtype="int32", auxiliary=(2, 3)),
    "QLinearConv": _conv(weight=3, bias=8, auxiliary=(1, 2, 4, 5, 6, 7)),
    "CausalConvWithState": replace(_conv(), shape=layout.same),
    "ConvTranspose": replace(_conv(), shape=spatial.conv_transpose, products=products.conv_transpose),
    "Gemm": _GEMM,
    "FusedGemm": _GEMM,
    "QGemm": _matmul(0, 3, biases=(6,), auxiliary=(1, 2, 4, 5, 7, 8)),
    "MatMul": _matmul(),
    "FusedMatMul": _matmul(),
    "MatMulInteger": _matmul(dtype="int32", auxiliary=(2, 3)),
    "MatMulIntegerToFloat": _matmul(dtype="float32", biases=(6,), auxiliary=(2, 3, 4, 5)),
    "DynamicQuantizeMatMul": _matmul(biases=(4,), auxiliary=(2, 3)),
    "QLinearMatMul": _matmul(0, 3, auxiliary=(1, 2, 4, 5, 6, 7)),
    "MatMulNBits": _packed(biases=(5,)),
    "MatMulBnb4": _packed(biases=()),
    "MoE": Operator(
        layout.same, weights=(2, 4, 6), biases=(3, 5, 7), products=products.experts, flops=5, keep=Keep.INPUTS
    ),
    "Einsum": Operator(arithmetic.einsum, weights=(1, 0, 2, 3), products=products.einsum, keep=Keep.OPERANDS),
    "RNN": _recurrent(1, 0),
    "GRU": _recurrent(3, 4),
    "LSTM": _recurrent(4, 5),
    "DynamicQuantizeLSTM": replace(_recurrent(4, 5), auxiliary=(4, 5, 6, 8, 9, 10, 11)),
    # Attention: of com.microsoft with the projection inside, else after it.
    "Attention": _attention(),
    "com.microsoft.Attention": _projected(auxiliary=(3, 5, 6)),
    "QAttention": _projected(auxiliary=(3, 4, 5, 6, 7, 8)),
    "MultiHeadAttention": _attention(biases=(3,), auxiliary=(4, 5)),
    "GroupQueryAttention": _attention(auxiliary=(5, 6, 7, 8)),
    # Normalisation: mean, difference, square, variance, quotient, scale, shift; less without a mean, more with a sum.
    "BatchNormalization": replace(_norm(7), auxiliary=(3, 4)),
    **_rows("InstanceNormalization LayerNormalization GroupNormalization GroupNorm", _norm(7)),
    **_rows("RMSNormalization SimplifiedLayerNormalization", _norm(4, biases=())),
    "SkipLayerNormalization": replace(_norm(8, arithmetic.skip_normalise, biases=(3, 4)), weights=(2,)),
    "SkipSimplifiedLayerNormalization": replace(_norm(5, arithmetic.skip_normalise, biases=(3,)), weights=(2,)),
    "EmbedLayerNormalization": replace(
        _norm(9, arithmetic.embed_normalise, biases=(5, 6)), weights=(2, 3, 4), auxiliary=(7,), table=True
    ),
    **_unary(7, Keep.INPUTS, "LRN"),
    **_unary(5, Keep.INPUTS, "MeanVarianceNormalization"),
    **_unary(3, Keep.INPUTS, "LpNormalization"),
    # Elementwise arithmetic; a constant operand of more than one number is a scale or shift that trains.
    **_rows("Add Sub Sum", _SUM),
    **_rows("Mul Div", replace(_SUM, keep=Keep.OPERANDS)),
    **_rows("Max Min Mean Pow Mod", _CHOICE),
    **_rows("Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor", Operator(arithmetic.compare, flops=1)),
    **_rows("BitShift BitwiseAnd BitwiseOr BitwiseXor", Operator(arithmetic.broadcast_all, flops=1)),
    **_rows("IsInf IsNaN Not", Operator(layout.keeps("bool"), flops=1)),
    **_rows("BiasGelu FastGelu", Operator(layout.same, weights=(1,), flops=8, keep=Keep.INPUTS)),
    **_rows("BiasSoftmax BiasDropout", Operator(layout.same, flops=6, keep=Keep.OUTPUT)),
    "BiasAdd": Operator(layout.same, weights=(1,), flops=2),
    "BiasSplitGelu": Operator(arithmetic.gated, weights=(1,), flops=6, keep=Keep.INPUTS),
    "PRelu": Operator(layout.same, weights=(1,), flops=2, keep=Keep.INPUTS),
    "SwiGLU": replace(_CHOICE, flops=5),
    "Where": Operator(arithmetic.where, flops=1),
    "Clip": Operator(layout.same, auxiliary=(1, 2), flops=2, keep=Keep.INPUTS),
    "Dropout": Operator(layout.keeps(also="bool"), flops=1, keep=Keep.OUTPUT),
    **_unary(1, Keep.OUTPUT, "Relu Sqrt Exp Tanh Reciprocal Trilu"),
    **_unary(1, Keep.NOTHING, "Neg Sign Ceil Floor Round BitwiseNot CumSum CumProd Hardmax"),
    **_unary(1, Keep.INPUTS, "Abs Log Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Erf ThresholdedRelu"),
    **_unary(2, Keep.INPUTS, "LeakyRelu Shrink"),
    **_unary(3, Keep.INPUTS, "HardSigmoid Softplus Softsign Elu"),
    **_unary(4, Keep.OUTPUT, "Sigmoid"),
    **_unary(4, Keep.INPUTS, "Selu HardSwish"),
    **_unary(5, Keep.OUTPUT, "Softmax LogSoftmax"),
    **_unary(5, Keep.INPUTS, "Celu Gelu Swish QuickGelu"),
    **_unary(6, Keep.INPUTS, "Mish RotaryEmbedding"),
    # Reductions and pooling.
    **_rows("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1", Operator(arithmetic.reduce, flops=1)),
    **_rows("ReduceL2 ReduceLogSum ReduceSumSquare", Operator(arithmetic.reduce, flops=2, keep=Keep.INPUTS)),
    "ReduceLogSumExp": Operator(arithmetic.reduce, flops=3, keep=Keep.INPUTS),
    **_rows("ArgMax ArgMin", Operator(arithmetic.arg_reduce, flops=1)),
    "MaxPool": Operator(spatial.pool, flops=1, keep=Keep.INPUTS),
    "AveragePool": Operator(spatial.pool, flops=1),
    "LpPool": Operator(spatial.pool, flops=2, keep=Keep.INPUTS),
    **_rows("GlobalAveragePool GlobalMaxPool GlobalLpPool", Operator(spatial.global_pool, flops=1)),
    # Types and quantisation.
    "Cast": Operator(arithmetic.cast, OpKind.MOVE),
    "CastLike": Operator(layout.keeps(1), OpKind.MOVE, auxiliary=(1,)),
    "QuantizeLinear": Operator(arithmetic.quantise, OpKind.MOVE, auxiliary=(1, 2), flops=2),
    "DequantizeLinear": Operator(layout.keeps(1), OpKind.MOVE, auxiliary=(1, 2), flops=2),
    "DynamicQuantizeLinear": Operator(arithmetic.dynamic_quantise, flops=4),
    **_rows("QLinearAdd QLinearMul", Operator(arithmetic.broadcast_at(0, 3), auxiliary=(1, 2, 4, 5, 6, 7), flops=3)),
    **_rows("QLinearSigmoid QLinearLeakyRelu QLinearSoftmax", Operator(layout.same, auxiliary=(1, 2, 3, 4), flops=6)),
    "QLinearAveragePool": Operator(spatial.pool, auxiliary=(1, 2, 3, 4), flops=1),
    "QLinearGlobalAveragePool": Operator(spatial.global_pool, auxiliary=(1, 2, 3, 4), flops=1),
    "QLinearConcat": Operator(layout.concat_triples, OpKind.MOVE, merges=True),
    # Views.
    "Reshape": Operator(layout.reshape, OpKind.VIEW),
    "Flatten": Operator(layout.flatten, OpKind.VIEW),
    "Squeeze": Operator(layout.squeeze, OpKind.VIEW),
    "Unsqueeze": Operator(layout.unsqueeze, OpKind.VIEW),
    **_rows("Identity Optional OptionalGetElement", Operator(layout.identity, OpKind.VIEW)),
    "SequenceAt": Operator(sequences.at, OpKind.VIEW),
    "SequenceErase": Operator(sequences.erase, OpKind.VIEW),
    "SequenceConstruct": Operator(sequences.construct, OpKind.VIEW, merges=True),
    "SequenceInsert": Operator(sequences.insert, OpKind.VIEW, merges=True),
    # Copies.
    "Transpose": Operator(layout.transpose, OpKind.MOVE),
    "Concat": Operator(layout.concat, OpKind.MOVE, merges=True, any_constant=True),
    "ConcatFromSequence": Operator(sequences.concat, OpKind.MOVE),
    "Split": Operator(layout.split, OpKind.MOVE),
    "SplitToSequence": Operator(sequences.split, OpKind.MOVE),
    "Slice": Operator(layout.slice_, OpKind.MOVE),
    "Gather": Operator(layout.gather, OpKind.MOVE, weights=(0,), table=True),
    "GatherElements": Operator(layout.gather_elements, OpKind.MOVE, weights=(0,), table=True),
    "GatherND": Operator(layout.gather_nd, OpKind.MOVE, weights=(0,), table=True),
    "Expand": Operator(layout.expand, OpKind.MOVE),
    "Tile": Operator(layout.tile, OpKind.MOVE),
    "Pad": Operator(layout.pad, OpKind.MOVE, auxiliary=(2,)),
    "DepthToSpace": Operator(spatial.depth_to_space, OpKind.MOVE),
    "SpaceToDepth": Operator(spatial.space_to_depth, OpKind.MOVE),
    "OneHot": Operator(layout.one_hot, OpKind.MOVE, auxiliary=(2,)),
    "ReverseSequence": Operator(layout.same, OpKind.MOVE),
    **_rows("Scatter ScatterElements ScatterND TensorScatter", _SCATTER),
    "Resize": Operator(spatial.resize, auxiliary=(1, 2, 3), flops=7),
    "Upsample": Operator(spatial.resize, auxiliary=(1,), flops=1),
    "TopK": Operator(layout.top_k, flops=1),
    # Extents.
    "Shape": Operator(layout.shape_of, OpKind.SHAPE),
    **_rows("Size SequenceLength", Operator(layout.scalar, OpKind.SHAPE)),
    "SequenceEmpty": Operator(sequences.empty, OpKind.SHAPE),
    "Range": Operator(layout.range_, OpKind.SHAPE),
    "ConstantOfShape": Operator(layout.constant_of_shape, OpKind.SHAPE),
    "EyeLike": replace(_RARE, kind=OpKind.SHAPE),
    # How many there are shows at run time only.
    **_rows("NonZero NonMaxSuppression Unique Compress", Operator(layout.unknown, flops=1)),
    "STFT": Operator(spatial.stft, auxiliary=(1, 2, 3), flops=spatial.stft_flops),
    # Rare ones: shapes by onnx's own inference.
    **_rows("GridSample RoiAlign MaxRoiPool MaxUnpool Col2Im AffineGrid CenterCropPad", replace(_RARE, flops=11)),
    **_rows("BitCast Bernoulli RandomNormalLike RandomUniformLike", _RARE),
    **_rows("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", replace(_RARE, flops=6)),
}
"""A row an operator; `com.microsoft.NAME` where that domain's operator differs from ONNX's own of the same name."""

DOMAINS = ("com.microsoft",)
"""Domains beside ONNX's own whose operators the table knows."""


def operator(domain: str, op: str) -> Operator | None:
    """The row of an operator, None for one that nobody knows."""
    if not domain:
        return OPERATORS.get(op)
    if domain not in DOMAINS:
        return None
    return OPERATORS.get(f"{domain}.{op}") or OPERATORS.get(op)
