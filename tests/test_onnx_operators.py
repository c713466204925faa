"""Our shape rules against onnx's own operator tests: some 1,900 graphs of one operator, with numbers in and out.

Every result whose shape we infer must have that shape and type; only results that a run alone can tell stay unknown.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import onnx
import pytest

from astrac.models.graph import Constant
from astrac.models.onnx.decode import decode
from astrac.models.onnx.facts import Value
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import infer
from astrac.models.onnx.operators import OPERATORS, OpKind

SMALL = 16
"""Elements up to which an input is given as a constant: it may be a shape, axes or scales."""

NUMPY_HAS_NONE = ("float8", "float4", "bfloat16", "int4", "uint4", "int2", "uint2", "string")

UNTOLD = {
    "affine", "attention", "bernoulli", "bitcast", "blackmanwindow", "causal", "clip", "compress", "dequantizelinear",
    "eyelike", "hammingwindow", "hannwindow", "image", "loop11", "maxunpool", "melweightmatrix", "nonmaxsuppression",
    "nonzero", "onehot", "range", "regex", "resize", "scan", "scan9", "string", "strnormalizer", "unique",
}  # fmt: skip
"""First words of tests with a result that is not told: data decides, or a row or a type that numpy has not."""


def constants(flat, arrays):
    """Small inputs as constants."""
    found = dict(flat.constants)
    for item, array in zip(flat.inputs, arrays, strict=False):
        if (
            isinstance(array, np.ndarray)
            and item.dtype in ("int64", "int32", "float32", "bool")
            and array.size <= SMALL
        ):
            payload = array.item() if array.ndim == 0 else tuple(array.ravel().tolist()) if array.ndim == 1 else None
            found[item.name] = Constant(item.name, array.shape, item.dtype, payload=payload)
    return found


def verdicts(case):
    """A word a result, with what was found and what is right where it is wrong."""
    flat = flatten(case.name, decode(case.model), None)
    arrays, results = case.data_sets[0]
    inputs = {item.name: Value(None, item.dtype) for item in flat.inputs}
    for item, array in zip(flat.inputs, arrays, strict=False):
        if isinstance(array, np.ndarray):
            inputs[item.name] = Value(array.shape, item.dtype or "float32")
    facts = infer(replace(flat, constants=constants(flat, arrays)), inputs, {}, {})
    for name, result in zip(flat.outputs, results, strict=False):
        value = facts.values.get(name)
        if value is None or not isinstance(result, np.ndarray):
            continue
        exact = value.dtype is not None and not value.dtype.startswith(NUMPY_HAS_NONE)
        if value.shape is None or None in value.shape:
            yield "unknown"
        elif value.shape != result.shape or (exact and value.dtype != str(result.dtype)):
            yield f"{case.name}: {value.dtype} {value.shape}, should be {result.dtype} {result.shape}"
        else:
            yield "right"


def test_shapes_of_onnxs_own_operator_tests():
    warnings.simplefilter("ignore")  # onnx computes its expected numbers when its tests are collected
    from onnx.backend.test.case.node import collect_testcases

    found = {case.name: list(verdicts(case)) for case in collect_testcases(None) if case.model}
    assert [word for words in found.values() for word in words if word not in ("right", "unknown")] == []
    assert {name.split("_")[1] for name, words in found.items() if "unknown" in words} <= UNTOLD
    words = [word for words in found.values() for word in words]
    assert words.count("right") > 0.85 * len(words)  # onnx 1.23: 1,801 of 2,017


MICROSOFT = {
    "FusedConv": "X W B Z",
    "FusedGemm": "A B C",
    "FusedMatMul": "A B",
    "QGemm": "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point",
    "MatMulIntegerToFloat": "A B a_scale b_scale a_zero_point b_zero_point bias",
    "DynamicQuantizeMatMul": "A B b_scale b_zero_point bias",
    "MatMulNBits": "A B scales zero_points g_idx bias",
    "com.microsoft.Attention": "input weights bias mask_index past attention_bias past_sequence_length",
    "QAttention": "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    "MultiHeadAttention": "query key value bias key_padding_mask attention_bias past_key past_value",
    "GroupQueryAttention": "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache",
    "GroupNorm": "X gamma beta",
    "SimplifiedLayerNormalization": "X scale",
    "SkipLayerNormalization": "input skip gamma beta bias",
    "SkipSimplifiedLayerNormalization": "input skip gamma bias",
    "EmbedLayerNormalization": "ids segment_ids word position segment gamma beta mask",
    "MoE": "input router fc1_weights fc1_bias fc2_weights fc2_bias fc3_weights fc3_bias",
    "BiasGelu": "A B",
    "FastGelu": "X bias",
    "BiasAdd": "X bias skip",
    "BiasSplitGelu": "X bias",
    "QLinearAdd": "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point",
    "QLinearMul": "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point",
    "QLinearSigmoid": "X X_scale X_zero_point Y_scale Y_zero_point",
    "QLinearLeakyRelu": "X X_scale X_zero_point Y_scale Y_zero_point",
    "QLinearAveragePool": "X x_scale x_zero_point y_scale y_zero_point",
    "QLinearGlobalAveragePool": "X x_scale x_zero_point y_scale y_zero_point",
}
"""Inputs of com.microsoft's operators; those of ONNX's own are told by their schemas."""

ROLES = {
    # operators: inputs that hold what trains, the likeliest first; vectors beside it; neither data nor trained
    "Conv DeformConv ConvTranspose FusedConv": ("W", "B", ""),
    "CausalConvWithState": ("weight", "bias", ""),
    "QLinearConv": ("w", "B", "x_scale x_zero_point w_scale w_zero_point y_scale y_zero_point"),
    "Gemm FusedGemm": ("B A", "C", ""),
    "MatMul FusedMatMul": ("B A", "", ""),
    "MatMulInteger": ("B A", "", "a_zero_point b_zero_point"),
    "QLinearMatMul": ("b a", "", "a_scale a_zero_point b_scale b_zero_point y_scale y_zero_point"),
    "QGemm": ("B A", "C", "a_scale a_zero_point b_scale b_zero_point y_scale y_zero_point"),
    "MatMulIntegerToFloat": ("B A", "bias", "a_scale b_scale a_zero_point b_zero_point"),
    "DynamicQuantizeMatMul": ("B A", "bias", "b_scale b_zero_point"),
    "MatMulNBits": ("B", "bias", "scales zero_points g_idx"),
    "LSTM": ("W R", "B P", "sequence_lens initial_h initial_c"),
    "com.microsoft.Attention": ("weights", "bias", "mask_index attention_bias past_sequence_length"),
    "QAttention": ("weight", "bias", "input_scale weight_scale mask_index input_zero_point weight_zero_point past"),
    "MultiHeadAttention": ("", "bias", "key_padding_mask attention_bias"),
    "GroupQueryAttention": ("", "", "seqlens_k total_sequence_length cos_cache sin_cache"),
    "BatchNormalization": ("scale", "B", "input_mean input_var"),
    "InstanceNormalization": ("scale", "B", ""),
    "LayerNormalization": ("Scale", "B", ""),
    "GroupNormalization": ("scale", "bias", ""),
    "GroupNorm": ("gamma", "beta", ""),
    "RMSNormalization SimplifiedLayerNormalization": ("scale", "", ""),
    "SkipLayerNormalization": ("gamma", "beta bias", ""),
    "SkipSimplifiedLayerNormalization": ("gamma", "bias", ""),
    "EmbedLayerNormalization": ("word position segment", "gamma beta", "mask"),
    "MoE": ("fc1_weights fc2_weights fc3_weights", "fc1_bias fc2_bias fc3_bias", ""),
    "BiasGelu": ("B", "", ""),
    "FastGelu BiasAdd BiasSplitGelu": ("bias", "", ""),
    "PRelu": ("slope", "", ""),
    "Gather GatherElements GatherND": ("data", "", ""),
    "Clip": ("", "", "min max"),
    "CastLike": ("", "", "target_type"),
    "QuantizeLinear": ("", "", "y_scale y_zero_point"),
    "DequantizeLinear": ("", "", "x_scale x_zero_point"),
    "QLinearAdd QLinearMul": ("", "", "A_scale A_zero_point B_scale B_zero_point C_scale C_zero_point"),
    "QLinearSigmoid QLinearLeakyRelu": ("", "", "X_scale X_zero_point Y_scale Y_zero_point"),
    "QLinearAveragePool QLinearGlobalAveragePool": ("", "", "x_scale x_zero_point y_scale y_zero_point"),
    "Pad": ("", "", "constant_value"),
    "OneHot": ("", "", "values"),
    "Resize": ("", "", "roi scales sizes"),
    "STFT": ("", "", "frame_step window frame_length"),
}


@pytest.mark.parametrize("op", [op for ops in ROLES for op in ops.split()])
def test_roles_of_inputs(op):
    if op in MICROSOFT:
        names = MICROSOFT[op].split()
    elif onnx.defs.has(op):
        names = [item.name for item in onnx.defs.get_schema(op).inputs]
    else:
        pytest.skip("this onnx does not have it yet")
    row, words = OPERATORS[op], next(roles for ops, roles in ROLES.items() if op in ops.split())
    assert (row.weights, row.biases, row.auxiliary) == tuple(tuple(map(names.index, part.split())) for part in words)


FLOPS = {
    # a term each: what an element of the largest operand costs
    "Relu Neg Exp Add Mul Where Equal ReduceSum ArgMax MaxPool": 1,
    "LeakyRelu PRelu BiasAdd ReduceL2 LpPool": 2,  # compare and scale; scale and add; square and add
    "LpNormalization ReduceLogSumExp Softplus": 3,
    "Sigmoid DynamicQuantizeLinear": 4,  # negate, exponential, add, divide; minimum, maximum, scale, round
    "Softmax LogSoftmax Gelu MeanVarianceNormalization": 5,
    "Mish RotaryEmbedding BiasSoftmax": 6,
    "BatchNormalization LayerNormalization InstanceNormalization GroupNormalization LRN Resize": 7,
    "RMSNormalization SimplifiedLayerNormalization": 4,  # no mean, no difference, no shift
    "SkipLayerNormalization BiasGelu FastGelu": 8,  # and the sum before it
    "SkipSimplifiedLayerNormalization": 5,
    "EmbedLayerNormalization": 9,  # three tables are added
    "RNN": 6,
    "GRU": 18,
    "LSTM": 24,
    "Reshape Transpose Concat Gather Cast Conv MatMul": 0,
}


@pytest.mark.parametrize("op", [op for ops in FLOPS for op in ops.split()])
def test_flops_an_element(op):
    assert OPERATORS[op].flops == next(flops for ops, flops in FLOPS.items() if op in ops.split())


@pytest.mark.parametrize("op", sorted(OPERATORS))
def test_kinds(op):
    # A view has no cost; what moves has no products; only tables and what computes hold what trains.
    row = OPERATORS[op]
    views = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Optional", "OptionalGetElement"}
    views |= {"SequenceAt", "SequenceConstruct", "SequenceErase", "SequenceInsert"}
    assert (row.kind is OpKind.VIEW) == (op in views)
    shapes = {"Shape", "Size", "SequenceEmpty", "SequenceLength", "Range", "ConstantOfShape", "EyeLike"}
    assert (row.kind is OpKind.SHAPE) == (op in shapes)
    assert row.products is None or row.kind is OpKind.WORK
    assert not (row.weights or row.biases) or row.table or row.kind is OpKind.WORK
    assert row.table == (op in {"Gather", "GatherElements", "GatherND", "EmbedLayerNormalization"})
    assert row.any_constant == (op in {"Add", "Sub", "Sum", "Mul", "Div", "Concat"})
