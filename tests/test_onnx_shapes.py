"""Single nodes: shapes that onnx's own tests do not show (com.microsoft, old versions, unknown extents), products, numbers.

Expected values follow from the operators' reference by hand; extents differ wherever they may, so that none stands for another.
"""

# A case is one line of a table, or two.
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from astrac.models.onnx.facts import Site, Value
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import BadNode, infer
from astrac.models.onnx.load import load
from astrac.models.onnx.operators import operator, vector_flops
from onnx_models import ints, model, node, value, weight

INT64, INT8, UINT8, BOOL = TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL


def facts_of(op, operands, count=1, domain="", **attributes):
    """What is inferred of one node; an operand is a shape, a stored tensor, or None for one that is left out."""
    inputs, stored, names = [], [], []
    for index, operand in enumerate(operands):
        names.append("" if operand is None else f"i{index}")
        if isinstance(operand, TensorProto):
            stored.append(TensorProto(name=f"i{index}"))
            stored[-1].MergeFrom(operand)
            stored[-1].name = f"i{index}"
        elif operand is not None:
            shape, dtype = operand if operand and isinstance(operand[0], tuple) else (operand, TensorProto.FLOAT)
            inputs.append(value(f"i{index}", *shape, dtype=dtype))
    outputs = [f"o{index}" for index in range(count)]
    made = model(inputs, [node(op, names, outputs, domain=domain, **attributes)], stored, " ".join(outputs))
    flat = flatten("m", load("m", made, None), None)
    facts = infer(flat, {item.name: Value(item.shape, item.dtype) for item in flat.inputs}, {}, {})
    return flat.nodes[-1], facts, outputs


def floats(*numbers):
    return helper.make_tensor("f", TensorProto.FLOAT, [len(numbers)], numbers)


MS = {"domain": "com.microsoft"}
I = lambda *numbers: ints("n", *numbers)  # noqa: E731, E741 - short, as the tables are long
ONE = lambda number: ints("n", number, scalar=True)  # noqa: E731
W = lambda *shape, dtype=1: weight("w", *shape, dtype=dtype)  # noqa: E731

SHAPES = [
    # op, operands, attributes, shapes of the results
    # Arithmetic.
    ("Where", [((3, 1), BOOL), ((4,), INT8), (2, 1, 1)], {}, [(2, 3, 4)]),
    ("Add", [(2, None, 4), (5, 1)], {}, [(2, 5, 4)]),
    ("Add", [(2, None), (2, 1)], {}, [(2, None)]),
    ("Add", [(2, 3), (3,)], {"broadcast": 1, "axis": 0}, [(2, 3)]),
    ("MatMul", [(7, 2, 3), (5, 1, 3, 4)], {}, [(5, 7, 2, 4)]),
    ("MatMul", [(3,), (5, 3, 4)], {}, [(5, 4)]),
    ("MatMul", [(5, 2, 3), (3,)], {}, [(5, 2)]),
    ("FusedMatMul", [(5, 3, 2), (5, 4, 3)], {"transA": 1, "transB": 1, **MS}, [(5, 2, 4)]),
    (
        "QLinearMatMul",
        [((2, 3), UINT8), W(), W(dtype=UINT8), ((3, 4), UINT8), W(), W(dtype=UINT8), W(), W(dtype=UINT8)],
        {},
        [(2, 4)],
    ),
    ("QLinearAdd", [((2, 1), UINT8), W(), W(dtype=UINT8), ((3,), UINT8), W(), W(dtype=UINT8), W()], MS, [(2, 3)]),
    ("Gemm", [(3, 2), (4, 3)], {"transA": 1, "transB": 1}, [(2, 4)]),
    ("ReduceSum", [(2, 3, 4), I(-1, 0)], {"keepdims": 0}, [(3,)]),
    ("ReduceSum", [(2, 3, 4), I(-1)], {}, [(2, 3, 1)]),
    ("ReduceSum", [(2, 3, 4)], {"noop_with_empty_axes": 1}, [(2, 3, 4)]),
    ("ReduceMax", [(2, 3, 4)], {"axes": [1], "keepdims": 0}, [(2, 4)]),
    ("ArgMax", [(2, 3, 4)], {"axis": 1, "keepdims": 0}, [(2, 4)]),
    ("Einsum", [(2, 3, 4), (4, 5)], {"equation": "...a,ab->...b"}, [(2, 3, 5)]),
    ("Einsum", [(2, 3), (3, 4)], {"equation": "ij,jk"}, [(2, 4)]),
    ("Einsum", [(1, 3), (2, 3)], {"equation": "ij,ij->ji"}, [(3, 2)]),
    ("LayerNormalization", [(2, 3, 4), W(3, 4)], {"axis": 1}, [(2, 3, 4), (2, 1, 1), (2, 1, 1)]),
    ("BatchNormalization", [(2, 3, 4), W(3), W(3), W(3), W(3)], {}, [(2, 3, 4), (3,), (3,)]),
    ("SkipLayerNormalization", [(2, 3, 4), (2, 3, 4), W(4)], MS, [(2, 3, 4), None, None, (2, 3, 4)]),
    (
        "EmbedLayerNormalization",
        [((2, 3), INT64), None, W(30, 8), W(9, 8), None, W(8), W(8)],
        MS,
        [(2, 3, 8), (2,), (2, 3, 8)],
    ),
    ("RNN", [(7, 2, 4), W(1, 3, 4), W(1, 3, 3)], {}, [(7, 1, 2, 3), (1, 2, 3)]),
    ("LSTM", [(2, 7, 4), W(2, 12, 4), W(2, 12, 3)], {"layout": 1}, [(2, 7, 2, 3), (2, 2, 3), (2, 2, 3)]),
    ("DynamicQuantizeLinear", [(2, 3)], {}, [(2, 3), (), ()]),
    ("MatMulNBits", [(2, 3, 8), W(6, 1, 4, dtype=UINT8), W(6)], {"N": 6, "K": 8, **MS}, [(2, 3, 6)]),
    ("BiasSplitGelu", [(2, 3, 12), W(12)], MS, [(2, 3, 6)]),
    ("BiasSplitGelu", [(2, 3, None), W(12)], MS, [(2, 3, None)]),
    ("Dropout", [(2, 3)], {}, [(2, 3), (2, 3)]),
    # Rearranging.
    ("Reshape", [(2, 3, 4), I(0, -1, 2)], {}, [(2, 6, 2)]),
    ("Reshape", [(2, 3, 4)], {"shape": [4, 0, -1]}, [(4, 3, 2)]),
    ("Reshape", [(2, None, 4), I(0, 0, 2, -1)], {}, [(2, None, 2, None)]),
    ("Reshape", [(0, 3), I(0, 5)], {"allowzero": 1}, [(0, 5)]),
    ("Reshape", [(2, 3), ((4,), INT64)], {}, [(None,) * 4]),
    ("Flatten", [(2, 3, 4)], {"axis": 2}, [(6, 4)]),
    ("Flatten", [(2, 3, 4)], {"axis": -1}, [(6, 4)]),
    ("Flatten", [(2, 3)], {"axis": 2}, [(6, 1)]),
    ("Squeeze", [(2, 1, 3, 1)], {}, [(2, 3)]),
    ("Squeeze", [(2, 1, 3, 1), I(-1)], {}, [(2, 1, 3)]),
    ("Squeeze", [(2, 1, None)], {}, [None]),
    ("Unsqueeze", [(2, 3), I(-1, 0)], {}, [(1, 2, 3, 1)]),
    ("Unsqueeze", [(2, 3)], {"axes": [1]}, [(2, 1, 3)]),
    ("Transpose", [(2, 3, 4)], {}, [(4, 3, 2)]),
    ("Transpose", [(2, 3, 4)], {"perm": [1, 2, 0]}, [(3, 4, 2)]),
    ("Concat", [(2, 3, 4), (2, 5, None)], {"axis": 1}, [(2, 8, 4)]),
    ("Concat", [(2, 3), (2, 5)], {}, [(2, 8)]),
    ("Concat", [(2, None), (2, 5)], {"axis": -1}, [(2, None)]),
    (
        "QLinearConcat",
        [W(), W(dtype=UINT8), ((2, 3), UINT8), W(), W(dtype=UINT8), ((2, 5), UINT8), W(), W(dtype=UINT8)],
        {"axis": 1, **MS},
        [(2, 8)],
    ),
    ("Split", [(2, 7)], {"axis": 1}, [(2, 3), (2, 3), (2, 1)]),
    ("Split", [(2, 7), I(1, 4, 2)], {"axis": -1}, [(2, 1), (2, 4), (2, 2)]),
    ("Split", [(7, 2)], {"split": [3, 4]}, [(3, 2), (4, 2)]),
    ("Split", [(7, 2), ((2,), INT64)], {}, [(None, 2), (None, 2)]),
    ("Slice", [(9, 8)], {"starts": [1, 2], "ends": [4, -1]}, [(3, 5)]),
    ("Slice", [(9, 8), I(-1), I(-10), I(0), I(-2)], {}, [(5, 8)]),
    ("Slice", [(9, 8), I(2), I(99), I(1)], {}, [(9, 6)]),
    ("Slice", [(9, 8), ((1,), INT64), I(99), I(1)], {}, [(9, None)]),
    ("Slice", [(9, 8), I(1), ((1,), INT64)], {}, [(None, 8)]),
    ("Slice", [(9, 8), I(1), I(2), ((1,), INT64)], {}, [(None, None)]),
    ("Slice", [(9, 8), I(1), I(2), I(0), ((1,), INT64)], {}, [(None, 8)]),
    ("Slice", [(9, None), I(1), I(2), I(1)], {}, [(9, None)]),
    ("Gather", [(2, 3, 4), ((5, 6), INT64)], {"axis": 1}, [(2, 5, 6, 4)]),
    ("GatherElements", [(2, 3), ((5, 3), INT64)], {}, [(5, 3)]),
    ("GatherND", [(2, 3, 4), ((2, 5, 1), INT64)], {"batch_dims": 1}, [(2, 5, 4)]),
    ("Expand", [(3, 1), I(2, 1, 4)], {}, [(2, 3, 4)]),
    ("Tile", [(2, 3), I(4, 5)], {}, [(8, 15)]),
    ("Tile", [(2, 3), ((2,), INT64)], {}, [(None, None)]),
    ("Pad", [(2, 3), I(1, 2, 3, 4)], {}, [(6, 9)]),
    ("Pad", [(2, 3), I(1, 2), W(), I(-1)], {}, [(2, 6)]),
    ("Pad", [(2, 3)], {"paddings": [0, 1, 2, 0]}, [(4, 4)]),
    ("Pad", [(2, 3), ((4,), INT64)], {}, [(None, None)]),
    ("Pad", [(2, 3), I(1, 2), W(), ((1,), INT64)], {}, [(None, None)]),
    # Extents and sequences.
    ("ConstantOfShape", [I(2, 3)], {}, [(2, 3)]),
    ("ConstantOfShape", [((3,), INT64)], {}, [(None,) * 3]),
    ("Range", [ONE(2), ONE(9), ONE(3)], {}, [(3,)]),
    ("Range", [ONE(9), ONE(2), ONE(3)], {}, [(0,)]),
    ("Range", [((), INT64), ONE(9), ONE(3)], {}, [(None,)]),
    ("OneHot", [((2, 3), INT64), ONE(7), I(0, 1)], {"axis": 1}, [(2, 7, 3)]),
    ("OneHot", [((2, 3), INT64), I(7), I(0, 1)], {}, [(2, 3, 7)]),
    ("TopK", [(2, 9)], {"k": 4}, [(2, 4), (2, 4)]),
    ("TopK", [(9, 2), I(4)], {"axis": 0}, [(4, 2), (4, 2)]),
    ("Shape", [(2, 3, 4)], {"start": 1}, [(2,)]),
    ("Shape", [(2, 3, 4)], {"end": -1}, [(2,)]),
    ("Size", [(2, 3)], {}, [()]),
    ("SplitToSequence", [(2, 6)], {"axis": 1, "keepdims": 0}, [(2,)]),
    ("SplitToSequence", [(2, 6)], {"axis": 1}, [(2, 1)]),
    ("SplitToSequence", [(2, 6), I(3, 3)], {"axis": 1}, [(2, 3)]),
    ("SplitToSequence", [(2, 6), I(2, 4)], {"axis": 1}, [(2, None)]),
    ("SequenceConstruct", [(2, 6), (2, 6)], {}, [(2, 6)]),
    ("SequenceConstruct", [(2, 6), (2, 5)], {}, [(2, None)]),
    ("SequenceConstruct", [(2, 6), (2, 5, 1)], {}, [None]),
    ("NonZero", [(2, 6)], {}, [None]),
    # Space.
    (
        "Conv",
        [(2, 3, 9, 8), W(5, 3, 3, 2)],
        {"strides": [2, 3], "pads": [1, 0, 2, 1], "dilations": [2, 1]},
        [(2, 5, 4, 3)],
    ),
    ("Conv", [(2, 6, 9), W(4, 3, 3)], {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2]}, [(2, 4, 5)]),
    ("Conv", [(2, 3, 9), W(4, 3, 3)], {"auto_pad": "VALID", "pads": [9, 9]}, [(2, 4, 7)]),
    ("Conv", [(2, 3, None), W(4, 3, 3)], {}, [(2, 4, None)]),
    ("Conv", [(2, 3), W(5, 3)], {}, [(2, 5)]),
    (
        "ConvTranspose",
        [(2, 6, 5, 4), W(6, 2, 3, 2)],
        {"group": 2, "strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 0]},
        [(2, 4, 11, 10)],
    ),
    ("ConvTranspose", [(2, 3, 5), W(3, 2, 3)], {"strides": [3], "auto_pad": "SAME_LOWER"}, [(2, 2, 15)]),
    ("ConvTranspose", [(2, 3, 5), W(3, 2, 3)], {"dilations": [2]}, [(2, 2, 9)]),
    ("ConvTranspose", [(2, 3, 5), W(3, 2, 3)], {"output_shape": [8]}, [(2, 2, 8)]),
    ("ConvTranspose", [(2, 3, None), W(3, 2, 3)], {}, [(2, 2, None)]),
    ("MaxPool", [(2, 3, 8, 7)], {"kernel_shape": [3, 2], "strides": [2, 2]}, [(2, 3, 3, 3), (2, 3, 3, 3)]),
    ("MaxPool", [(2, 3, 8)], {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}, [(2, 3, 4)]),
    ("AveragePool", [(2, 3, 4)], {"kernel_shape": [1], "strides": [2], "pads": [0, 1], "ceil_mode": 1}, [(2, 3, 2)]),
    ("GlobalAveragePool", [(2, 3, 8, 7)], {}, [(2, 3, 1, 1)]),
    ("Upsample", [(1, 3, 4, 5)], {"scales": [1.0, 1.0, 2.0, 1.5]}, [(1, 3, 8, 7)]),
    ("Upsample", [(1, 3, 4, 5), floats(1, 1, 2, 3)], {}, [(1, 3, 8, 15)]),
    ("Resize", [(1, 3, 4, 5), floats(1, 1, 2, 3)], {}, [(1, 3, 8, 15)]),
    ("Resize", [(1, 3, 4, 5), None, floats(0.5, 3)], {"axes": [2, 3]}, [(1, 3, 2, 15)]),
    ("Resize", [(1, 3, 4, 5), None, None, I(6, 7)], {"axes": [-2, -1]}, [(1, 3, 6, 7)]),
    (
        "Resize",
        [(1, 3, 4, 5), None, None, I(6, 7)],
        {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"},
        [(1, 3, None, None)],
    ),
    ("STFT", [(2, 100, 1), ONE(10), W(16)], {}, [(2, 9, 9, 2)]),
    ("STFT", [(2, 100, 1), ONE(10), None, ONE(20)], {"onesided": 0}, [(2, 9, 20, 2)]),
    ("STFT", [(2, None, 1), ONE(10), W(16)], {}, [(2, None, 9, 2)]),
    # Attention: 4 heads of 3 features, keys and values of 2.
    ("Attention", [(2, 5, 8), W(8, 36), W(36)], {"num_heads": 4, **MS}, [(2, 5, 12), None]),
    ("Attention", [(2, 5, 8), W(8, 40), W(40)], {"num_heads": 4, "qkv_hidden_sizes": [12, 12, 16], **MS}, [(2, 5, 16)]),
    ("Attention", [(2, 4, 5, 3), (2, 4, 7, 3), (2, 4, 7, 6)], {}, [(2, 4, 5, 6)]),
    ("Attention", [(2, 5, 12), (2, 7, 6), (2, 7, 8)], {"q_num_heads": 4, "kv_num_heads": 2}, [(2, 5, 16)]),
    ("MultiHeadAttention", [(2, 5, 12), (2, 7, 12), (2, 7, 16)], {"num_heads": 4, **MS}, [(2, 5, 16)]),
    ("MultiHeadAttention", [(2, 5, 4, 3, 6)], {"num_heads": 4, **MS}, [(2, 5, 24)]),
    ("MultiHeadAttention", [(2, 5, 12), (2, 7, 4, 2, 3)], {"num_heads": 4, **MS}, [(2, 5, 12)]),
    ("MultiHeadAttention", [(2, 5, 12), (2, 4, 7, 3), (2, 4, 7, 6)], {"num_heads": 4, **MS}, [(2, 5, 24)]),
    ("GroupQueryAttention", [(2, 5, 24)], {"num_heads": 4, "kv_num_heads": 2, **MS}, [(2, 5, 12)]),
    ("GroupQueryAttention", [(2, None, 24)], {"num_heads": 4, "kv_num_heads": 2, **MS}, [None]),
]


def named(rows):
    return [f"{number}-{row[0]}" for number, row in enumerate(rows)]


@pytest.mark.parametrize(("op", "operands", "attributes", "shapes"), SHAPES, ids=named(SHAPES))
def test_shapes(op, operands, attributes, shapes):
    _, facts, outputs = facts_of(op, operands, len(shapes), **attributes)
    assert [facts.values[name].shape for name in outputs] == shapes


TYPES = [
    ("Where", [((3,), BOOL), ((3,), INT8), ((3,), INT8)], {}, ["int8"]),
    ("Equal", [(3,), (3,)], {}, ["bool"]),
    ("Not", [((3,), BOOL)], {}, ["bool"]),
    ("Dropout", [(3,)], {}, ["float32", "bool"]),
    ("ArgMax", [(3,)], {}, ["int64"]),
    ("TopK", [((9,), INT8), I(4)], {}, ["int8", "int64"]),
    ("Cast", [(3,)], {"to": INT8}, ["int8"]),
    ("CastLike", [(3,), ((1,), INT8)], {}, ["int8"]),
    ("QuantizeLinear", [(3,), W(), W(dtype=INT8)], {}, ["int8"]),
    ("QuantizeLinear", [(3,), W()], {}, ["uint8"]),
    ("QuantizeLinear", [(3,), W()], {"output_dtype": INT8}, ["int8"]),
    ("DequantizeLinear", [((3,), INT8), W(), W(dtype=INT8)], {}, ["float32"]),
    ("DynamicQuantizeLinear", [(3,)], {}, ["uint8", "float32", "uint8"]),
    ("OneHot", [((3,), INT64), ONE(7), floats(0, 1)], {}, ["float32"]),
    ("EmbedLayerNormalization", [((2, 3), INT64), None, W(30, 8), W(9, 8), None, W(8), W(8)], MS, ["float32", "int32"]),
    ("MatMulInteger", [((2, 3), INT8), ((3, 2), INT8)], {}, ["int32"]),
    ("QAttention", [((2, 5, 8), UINT8), W(8, 36, dtype=INT8), W(36), W(), W()], {"num_heads": 4, **MS}, ["float32"]),
    (
        "QLinearConv",
        [((1, 3, 4), UINT8), W(), W(dtype=UINT8), W(2, 3, 1, dtype=INT8), W(), W(dtype=INT8), W(), W(dtype=UINT8)],
        {},
        ["uint8"],
    ),
    ("LayerNormalization", [((2, 4), TensorProto.FLOAT16), W(4)], {}, ["float16", "float32"]),
    ("ConstantOfShape", [I(2)], {"value": helper.make_tensor("v", INT64, [1], [3])}, ["int64"]),
]


@pytest.mark.parametrize(("op", "operands", "attributes", "types"), TYPES, ids=named(TYPES))
def test_types(op, operands, attributes, types):
    _, facts, outputs = facts_of(op, operands, len(types), **attributes)
    assert [facts.values[name].dtype for name in outputs] == types


MISFITS = [
    ("Add", [(2, 3), (2, 4)], {}, "operands 2x3, 2x4 do not fit"),
    ("MatMul", [(2, 3), (4, 5)], {}, "operands 2x3, 4x5 do not fit"),
    ("MatMul", [(), (4, 5)], {}, "a scalar has no matrix product"),
    ("Gemm", [(2, 3), (4, 5)], {"transA": 1}, "operands 2x3, 4x5 do not fit"),
    ("Reshape", [(2, 3), I(4, -1)], {}, "2x3 does not fit the target [4, -1]"),
    ("Reshape", [(2, 3), I(4, 2)], {}, "2x3 does not fit the target [4, 2]"),
    ("Reshape", [(2, 3), I(-1, -1)], {}, "target [-1, -1] is not a shape"),
    ("Reshape", [(2, 3), I(1, 2, 0)], {}, "target [1, 2, 0] copies axis 2 of 2x3"),
    ("Flatten", [(2, 3)], {"axis": 3}, "axis 3 of a tensor of rank 2"),
    ("Unsqueeze", [(2, 3), I(0, -4)], {}, "axes [0, -4] repeat"),
    ("Transpose", [(2, 3)], {"perm": [0, 0]}, "perm [0, 0] of a tensor of rank 2"),
    ("Concat", [(2, 3), (2, 3, 4)], {"axis": 0}, "operands 2x3, 2x3x4 differ in rank"),
    ("Concat", [(2, 3), (2, 4)], {"axis": 0}, "operands 2x3, 2x4 do not fit"),
    ("Split", [(7,), I(3, 3)], {}, "parts [3, 3] of an axis of 7"),
    ("Pad", [(2, 3), I(0, -4, 0, 0)], {}, "pads [0, -4, 0, 0] of 2x3"),
    ("Conv", [(2, 3, 9), W(4, 3, 3, 3)], {}, "a kernel of 4x3x3x3 over 2x3x9"),
    ("Conv", [(2,), W(4)], {}, "a kernel of 4 over 2"),
    ("Conv", [(2, 4, 9), W(4, 3, 3)], {}, "operands 2x4x9, 4x3x3 do not fit"),
    ("Conv", [(2, 3, 2), W(4, 3, 3)], {}, "a window of 3 does not fit into 2"),
    ("ConvTranspose", [(2, 4, 9), W(3, 2, 3)], {}, "operands 2x4x9, 3x2x3 do not fit"),
    ("Einsum", [(2, 3)], {"equation": "ij,jk->ik"}, "equation `ij,jk->ik` has 2 operands"),
    ("MultiHeadAttention", [(2, 5, 4, 3)], {"num_heads": 4, **MS}, "a query of rank 4"),
]


@pytest.mark.parametrize(("op", "operands", "attributes", "words"), MISFITS, ids=named(MISFITS))
def test_operands_that_do_not_fit(op, operands, attributes, words):
    with pytest.raises(BadNode) as found:
        facts_of(op, operands, **attributes)
    assert str(found.value) == words


PRODUCTS = [
    # op, operands, attributes, (batch, M, N, K) of each product
    ("MatMul", [(5, 2, 3), (3, 4)], {}, [(1, 10, 4, 3)]),
    ("MatMul", [(5, 2, 3), (5, 3, 4)], {}, [(5, 2, 4, 3)]),
    ("MatMul", [(3,), (5, 3, 4)], {}, [(5, 1, 4, 3)]),
    ("MatMul", [(2, 3), (3,)], {}, [(1, 2, 1, 3)]),
    ("Gemm", [(3, 2), (4, 3)], {"transA": 1, "transB": 1}, [(1, 2, 4, 3)]),
    ("Conv", [(2, 6, 9), W(4, 3, 3)], {"group": 2}, [(2, 14, 2, 9)]),
    ("ConvTranspose", [(2, 6, 5), W(6, 2, 3)], {"group": 2}, [(2, 10, 6, 3)]),
    ("Einsum", [(2, 3, 4), (2, 5, 4)], {"equation": "bij,bkj->bik"}, [(2, 3, 5, 4)]),
    ("Einsum", [(2, 3), (3, 4), (4, 5)], {"equation": "ij,jk,kl->il"}, [(1, 10, 1, 12)]),
    ("Einsum", [(2, 3)], {"equation": "ij->ji"}, []),
    ("GRU", [(7, 2, 4), W(1, 9, 4), W(1, 9, 3)], {}, [(1, 14, 9, 7)]),
    ("MoE", [(2, 4), (2, 8), W(8, 6, 4), None, W(8, 4, 6)], {"k": 2, **MS}, [(2, 2, 6, 4), (2, 2, 6, 4)]),
    ("MatMulNBits", [(2, 3, 8), W(6, 1, 4, dtype=UINT8), W(6)], {"N": 6, "K": 8, **MS}, [(1, 6, 6, 8)]),
    ("Attention", [(2, 4, 5, 3), (2, 4, 7, 3), (2, 4, 7, 6)], {}, [(8, 5, 7, 3), (8, 5, 6, 7)]),
    ("Attention", [(2, 5, 12), (2, 7, 6), (2, 7, 8), None, (2, 2, 9, 3)], {"q_num_heads": 4, "kv_num_heads": 2}, [(8, 5, 16, 3), (8, 5, 4, 16)]),
    ("MultiHeadAttention", [(2, 5, 4, 3, 6)], {"num_heads": 4, **MS}, [(8, 5, 5, 6), (8, 5, 6, 5)]),
    ("MultiHeadAttention", [(2, 5, 12), (2, 7, 4, 2, 3)], {"num_heads": 4, **MS}, [(8, 5, 7, 3), (8, 5, 3, 7)]),
    ("MultiHeadAttention", [(2, 5, 12), (2, 4, 7, 3), (2, 4, 7, 6)], {"num_heads": 4, **MS}, [(8, 5, 7, 3), (8, 5, 6, 7)]),
    ("GroupQueryAttention", [(2, 5, 24), None, None, (2, 2, 9, 3)], {"num_heads": 4, "kv_num_heads": 2, **MS}, [(8, 5, 14, 3), (8, 5, 3, 14)]),
    ("Attention", [(2, 5, 8), W(8, 40), W(40), None, (2, 2, 4, 9, 3)], {"num_heads": 4, "qkv_hidden_sizes": [12, 12, 16], **MS},
        [(1, 10, 40, 8), (8, 5, 14, 3), (8, 5, 4, 14)]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "attributes", "products"), PRODUCTS, ids=named(PRODUCTS))
def test_products(op, operands, attributes, products):
    made, facts, _ = facts_of(op, operands, **attributes)
    row = operator(made.domain, op)
    assert [tuple(product) for product in row.products(Site(made, facts))] == products


FLOPS = [
    ("STFT", [(2, 100, 1), ONE(10), W(16)], {}, 2 * 9 * 5 * 16 * 4),
    ("STFT", [(2, 100, 1), ONE(10), None, ONE(32)], {"onesided": 0}, 2 * 7 * 5 * 32 * 5),
    ("STFT", [(2, None, 1), ONE(10), W(16)], {}, None),
    ("MaxPool", [(2, 3, 8)], {"kernel_shape": [3]}, 2 * 3 * 6 * 3),
    ("LpPool", [(2, 3, 8)], {"kernel_shape": [3]}, 2 * 2 * 3 * 6 * 3),
    ("GlobalAveragePool", [(2, 3, 8)], {}, 2 * 3 * 8),
    ("Add", [(2, 1), (1, 3)], {}, 6),
    ("Clip", [(2, 3), W(), W()], {}, 2 * 6),
    ("LayerNormalization", [(2, 3), W(3), W(3)], {}, 7 * 6),
    ("Softmax", [(2, None)], {}, None),
    ("Identity", [(2, 3)], {}, 0),
    ("Attention", [(2, 4, 5, 3), (2, 4, 7, 3), (2, 4, 7, 6)], {}, 5 * 8 * 5 * 7),
]


@pytest.mark.parametrize(("op", "operands", "attributes", "flops"), FLOPS, ids=named(FLOPS))
def test_flops(op, operands, attributes, flops):
    made, facts, _ = facts_of(op, operands, **attributes)
    assert vector_flops(Site(made, facts), operator(made.domain, op)) == flops


def numbers(dtype, *found):
    return helper.make_tensor("n", dtype, [len(found)], found)


NUMBERS = [
    # op, operands, attributes, numbers of the result
    ("Add", [I(2, 3), I(5, 7)], {}, [7, 10]),
    ("Sub", [I(2, 3), I(5, 7)], {}, [-3, -4]),
    ("Mul", [I(2, 3), I(5, 7)], {}, [10, 21]),
    ("Div", [I(-7, 7), I(2, 2)], {}, [-3, 3]),
    ("Div", [floats(7), floats(2)], {}, [3.5]),
    ("Mod", [I(-7), I(3)], {}, [2]),
    ("Mod", [I(-7), I(3)], {"fmod": 1}, [-1]),
    ("Neg", [I(2)], {}, [-2]),
    ("Abs", [I(-2)], {}, [2]),
    ("Max", [I(2), I(9), I(5)], {}, [9]),
    ("Min", [I(2), I(9), I(1)], {}, [1]),
    ("Equal", [I(2, 3), I(2, 4)], {}, [True, False]),
    ("Less", [I(2, 4), I(3, 4)], {}, [True, False]),
    ("LessOrEqual", [I(5, 4), I(3, 4)], {}, [False, True]),
    ("Greater", [I(5, 4), I(3, 4)], {}, [True, False]),
    ("GreaterOrEqual", [I(2, 4), I(3, 4)], {}, [False, True]),
    ("And", [numbers(BOOL, 1, 1), numbers(BOOL, 1, 0)], {}, [True, False]),
    ("Or", [numbers(BOOL, 0, 0), numbers(BOOL, 1, 0)], {}, [True, False]),
    ("Not", [numbers(BOOL, 1, 0)], {}, [False, True]),
    ("Where", [numbers(BOOL, 1, 0), I(2, 3), I(5, 7)], {}, [2, 7]),
    ("Ceil", [floats(1.5)], {}, [2]),
    ("Floor", [floats(1.5)], {}, [1]),
    ("Round", [floats(2.5)], {}, [2]),
    ("Sqrt", [floats(9)], {}, [3]),
    ("Identity", [I(2)], {}, [2]),
    ("Cast", [floats(1.7)], {"to": INT64}, [1]),
    ("CastLike", [floats(1.7), I(2)], {}, [1]),
    ("Concat", [I(2), I(5, 7)], {"axis": 0}, [2, 5, 7]),
    ("Gather", [I(2, 3, 5), I(2, 0)], {}, [5, 2]),
    ("Expand", [I(2), I(3)], {}, [2, 2, 2]),
    ("Tile", [I(2, 3), I(2)], {}, [2, 3, 2, 3]),
    ("Range", [ONE(2), ONE(9), ONE(3)], {}, [2, 5, 8]),
    ("ReduceMax", [I(2, 9, 3)], {}, [9]),
    ("ReduceMin", [I(4, 9, 3)], {}, [3]),
    ("ReduceProd", [I(2, 9, 3)], {"keepdims": 0}, 54),
    ("ReduceSum", [I(2, 9, 3), I(0)], {}, [14]),
    ("ReduceSum", [I(2, 9)], {"noop_with_empty_axes": 1}, [2, 9]),
    ("Reshape", [I(2, 9), I(2, 1)], {}, [[2], [9]]),
    ("Squeeze", [I(2)], {}, 2),
    ("Unsqueeze", [ONE(2), I(0)], {}, [2]),
    ("Transpose", [I(2, 3)], {}, [2, 3]),
    ("Slice", [I(2, 3, 5, 7), I(1), I(3)], {}, [3, 5]),
    ("Slice", [I(2, 3, 5, 7), I(-1), I(-9), I(0), I(-2)], {}, [7, 3]),
    ("Split", [I(2, 3, 5)], {"split": [1, 2]}, [2]),
    ("Shape", [(2, 3, 4)], {"start": 1}, [3, 4]),
    ("Shape", [(2, None, 4)], {"end": 1}, [2]),
    ("Shape", [(2, None, 4)], {}, None),
    ("Size", [(2, 3, 4)], {}, 24),
    ("ConstantOfShape", [I(3)], {}, [0, 0, 0]),
    ("ConstantOfShape", [I(2)], {"value": helper.make_tensor("v", INT64, [1], [7])}, [7, 7]),
    ("ConstantOfShape", [I(2)], {"value": helper.make_tensor("v", TensorProto.FLOAT16, [1], [7])}, None),
    ("Softmax", [floats(1, 2)], {}, None),
]


@pytest.mark.parametrize(("op", "operands", "attributes", "expected"), NUMBERS, ids=named(NUMBERS))
def test_numbers(op, operands, attributes, expected):
    _, facts, outputs = facts_of(op, operands, 2 if op == "Split" else 1, **attributes)
    found = facts.array(outputs[0])
    assert (found if found is None else np.asarray(found).tolist()) == expected


def inferred(made, outputs):
    flat = flatten("m", load("m", made, None), None)
    facts = infer(flat, {item.name: Value(item.shape, item.dtype) for item in flat.inputs}, {}, {})
    return [facts.values[name].shape for name in outputs]


def test_branches_of_unknown_condition_share_what_is_common():
    def branch(name, *widths):
        nodes = [node("Expand", ["x", f"{name}{index}"], [f"{name}y{index}"]) for index in range(2)]
        outputs = [value(f"{name}y{index}") for index in range(2)]
        stored = [ints(f"{name}{index}", *shape) for index, shape in enumerate(widths)]
        return helper.make_graph(nodes, name, [], outputs, initializer=stored)

    made = model(
        [value("x", 1, 1), value("c", dtype=BOOL)],
        [
            node(
                "If",
                ["c"],
                ["y", "z"],
                then_branch=branch("t", (2, 3), (5, 1)),
                else_branch=branch("e", (2, 4), (6, 7, 1)),
            )
        ],
        output="y z",
    )
    assert inferred(made, "yz") == [(2, None), None]


def test_a_loop_hands_on_and_stacks():
    # The state keeps its shape; each of 6 iterations adds a slice of [2, 4] to the stack; a state that grows is unknown.
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Relu", ["h"], ["o"]), node("Concat", ["g", "g"], ["k"], axis=1)],
        "b",
        [value("i", dtype=INT64), value("c", dtype=BOOL), value("h", 2, 4), value("g", 3, None)],
        [value("d", dtype=BOOL), value("o", 2, 4), value("k", 3, None), value("o", 2, 4)],
    )
    made = model(
        [value("x", 2, 4), value("z", 3, 1)], [node("Loop", ["n", "", "x", "z"], ["y", "w", "s"], body=body)], [ints("n", 6, scalar=True)], "y w s"
    )  # fmt: skip
    assert inferred(made, "yws") == [(2, 4), (3, None), (6, 2, 4)]


def test_a_scan_slices_and_stacks():
    # Two scanned inputs, the first along axis 1 of 5, the second along axis 0; the body sees [2, 3] and [7].
    body = helper.make_graph(
        [node("Add", ["h", "a"], ["o"]), node("Relu", ["b"], ["r"])],
        "b",
        [value("h", 2, 3), value("a", 2, 3), value("b", 7)],
        [value("o", 2, 3), value("r", 7)],
    )
    scan = node("Scan", ["x", "p", "q"], ["y", "s"], body=body, num_scan_inputs=2, scan_input_axes=[1, 0])
    made = model([value("x", 2, 3), value("p", 2, 5, 3), value("q", 5, 7)], [scan], output="y s")
    assert inferred(made, "ys") == [(2, 3), (5, 7)]
