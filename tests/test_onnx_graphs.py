"""Small graphs, one trap each: what a file may look like, and the layers that are right. Numbers are derived by hand."""

# A case is one line of a table, or two.
# ruff: noqa: E501

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from onnx import TensorProto, helper

from astrac.models import table
from astrac.models.model import Tensor
from astrac.models.onnx import read_model
from astrac.models.onnx.load import load
from onnx_models import ints, model, node, value, weight

X = value("x", 2, 4)
IDS = value("ids", 1, 5, dtype=TensorProto.INT64)


def chain(*ops, data="x"):
    """Nodes one after the other, from `x` to `y`; each is (op, further inputs, attributes)."""
    nodes = []
    for index, (op, *more) in enumerate(ops):
        rest = [item for item in more if isinstance(item, str)]
        attributes = next((item for item in more if isinstance(item, dict)), {})
        result = "y" if index == len(ops) - 1 else f"v{index}"
        nodes.append(node(op, [data, *rest], [result], f"{op.lower()}{index}", **attributes))
        data = result
    return nodes


def linear(*shape, data="x", result="y", name="mm"):
    return node("MatMul", [data, "w"], [result], name), weight("w", *shape)


def function(name, inputs, outputs, nodes, attributes=()):
    return helper.make_function("local", name, inputs, outputs, nodes, [helper.make_opsetid("", 17)], attributes)


def body(inputs, nodes, outputs, stored=()):
    return helper.make_graph(nodes, "b", inputs, outputs, initializer=stored)


ATTENTION = [
    node("MatMul", ["q", "k"], ["s"], "scores"),
    node("Softmax", ["s"], ["p"], axis=-1),
    node("MatMul", ["p", "v"], ["y"], "context"),
]

GRAPHS = {
    # Extents.
    "symbols": (model([value("x", "batch", "seq", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]),
        {"batch": 2, "bind": {"seq": 5}}, [("MatMul", "4x3", 12, 120)]),
    "expression of symbols": (model([value("x", "n", "past + 1", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]),
        {"batch": 1, "bind": {"past": 6}}, [("MatMul", "4x3", 12, 84)]),
    "given shape": (model([value("x", None, None, 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]),
        {"batch": 3, "inputs": {"x": ("batch", 7, 4)}}, [("MatMul", "4x3", 12, 252)]),
    "static batch rebound": (model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"batch": 8}, [("MatMul", "4x3", 12, 96)]),
    "target that copies the batch": (model([value("x", 1, 4, 4)], chain(("Reshape", "t"), ("MatMul", "w")), [ints("t", 0, -1), weight("w", 16, 3)]),
        {"batch": 2}, [("MatMul", "16x3", 48, 96)]),
    "target that leaves the batch": (model([value("x", 1, 4, 4)], chain(("Reshape", "t"), ("MatMul", "w")), [ints("t", -1, 16), weight("w", 16, 3)]),
        {"batch": 2}, [("MatMul", "16x3", 48, 96)]),
    "target by data": (model([value("x", 1, 4)], [node("Cast", ["x"], ["c"], to=7), node("Reshape", ["x", "c"], ["r"]), linear(4, 3)[0]], [weight("w", 4, 3)], "y r"),
        {"batch": 2}, [("MatMul", "4x3", 12, 24)]),
    "fixed target elsewhere": (model([value("x", 1, 4)], [node("Reshape", ["k", "t"], ["r"]), node("MatMul", ["x", "r"], ["y"], "mm")],
        [weight("k", 2, 6), ints("t", 4, 3)]), {"batch": 2}, [("MatMul", "2x6", 12, 24)]),
    "stale shapes": (model([X], [node("Relu", ["x"], ["r"]), linear(4, 3, data="r")[0]], [weight("w", 4, 3)],
        value_info=[value("r", 9, 9)]), {}, [("MatMul", "4x3", 12, 24)]),
    "no version": (model([X], chain(("MatMul", "w")), [weight("w", 4, 3)], opset=0), {}, [("MatMul", "4x3", 12, 24)]),
    "spatial BatchNormalization": (model([value("x", 1, 4, 5, 5)],
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], "bn", spatial=0)],
        [weight(name, 4, 5, 5) for name in "sbmv"], opset=5), {}, [("BatchNormalization", "4x5x5", 200, 0)]),
    # Where the weight is.
    "weight on the left": (model([value("x", 4, 6)], [node("MatMul", ["w", "x"], ["y"])], [weight("w", 3, 4)]), {},
        [("MatMul", "3x4", 12, 72)]),
    "weight by a run-time shape": (model([X], [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["z"]),
        node("Add", ["x", "z"], ["a"]), linear(4, 3, data="a")[0]], [weight("w", 4, 3)]), {}, [("MatMul", "4x3", 12, 24)]),
    "one matrix, two layers": (model([X], chain(("MatMul", "w"), ("Relu",), ("MatMul", "w")), [weight("w", 4, 4)]), {},
        [("MatMul", "4x4", 16, 32), ("MatMul", "4x4", 0, 32)]),
    "tied table": (model([IDS], [node("Gather", ["e", "ids"], ["h"], "emb"), node("Transpose", ["e"], ["t"], perm=[1, 0]),
        node("MatMul", ["h", "t"], ["y"], "head")], [weight("e", 50, 8)]), {}, [("Gather", "50x8", 400, 0), ("MatMul", "50x8", 0, 2000)]),
    "vectors merged by the exporter": (model([X], [node("Identity", ["g"], ["ln2.weight"]), node("Identity", ["b"], ["ln2.bias"]),
        node("LayerNormalization", ["x", "g", "b"], ["h"], "ln1"),
        node("LayerNormalization", ["h", "ln2.weight", "ln2.bias"], ["y"], "ln2")], [weight("g", 4), weight("b", 4)]), {},
        [("LayerNormalization", "4", 8, 0), ("LayerNormalization", "4", 8, 0)]),
    "class token": (model([value("x", 1, 9, 4)], [linear(4, 6, result="h")[0], node("Concat", ["cls", "h"], ["y"], "cat", axis=1)],
        [weight("w", 4, 6), weight("cls", 1, 1, 6)]), {}, [("MatMul", "4x6", 24, 216), ("Concat", "1x1x6", 6, 0)]),
    "unsigned weight of a scaled cast": (model([X], [node("Cast", ["w"], ["c"], to=1), node("Mul", ["c", "scale"], ["d"]),
        node("MatMul", ["x", "d"], ["y"])], [weight("w", 4, 3, dtype=TensorProto.UINT8), weight("scale", 3)]), {},
        [("MatMul", "4x3", 12, 24)]),
    # Dense layers.
    "Gemm": (model([X], chain(("Gemm", "w")), [weight("w", 4, 3)]), {}, [("Gemm", "4x3", 12, 24)]),
    "Gemm transB": (model([X], chain(("Gemm", "w", "b", {"transB": 1})), [weight("w", 3, 4), weight("b", 3)]), {}, [("Gemm", "3x4", 15, 24)]),
    "attention": (model([value("q", 2, 4, 8, 16), value("k", 2, 4, 16, 8), value("v", 2, 4, 8, 16)], ATTENTION), {},
        [("MatMul", "", 0, 8192), ("MatMul", "", 0, 8192)]),
    "experts": (model([value("x", 3, 5, 4)], chain(("MatMul", "w")), [weight("w", 3, 4, 6)]), {}, [("MatMul", "3x4x6", 72, 360)]),
    "attention by Einsum": (model([value("q", 2, 3, 5, 4), value("k", 2, 3, 7, 4)],
        [node("Einsum", ["q", "k"], ["y"], "qk", equation="bhqd,bhkd->bhqk")]), {}, [("Einsum", "", 0, 840)]),
    # Convolutions.
    "Conv1d": (model([value("x", 2, 3, 10)], chain(("Conv", "w", {"pads": [1, 1]})), [weight("w", 5, 3, 3)]), {}, [("Conv", "5x3x3", 45, 900)]),
    "Conv and its bias": (model([value("x", 1, 3, 4, 4)], chain(("Conv", "w"), ("Add", "b")), [weight("w", 2, 3, 1, 1), weight("b", 1, 2, 1, 1)]), {},
        [("Conv", "2x3x1x1", 8, 96)]),
    "Conv and no bias": (model([value("x", 1, 3, 4, 4)], chain(("Conv", "w"), ("Add", "b")), [weight("w", 2, 3, 1, 1), weight("b", 4)]), {},
        [("Conv", "2x3x1x1", 6, 96), ("Add", "4", 4, 0)]),
    "SpaceToDepth": (model([value("x", 1, 3, 8, 8)], [node("SpaceToDepth", ["x"], ["d"], blocksize=2), node("Conv", ["d", "w"], ["y"])],
        [weight("w", 5, 12, 1, 1)]), {}, [("Conv", "5x12x1x1", 60, 960)]),
    "DepthToSpace": (model([value("x", 1, 12, 4, 4)], [node("DepthToSpace", ["x"], ["d"], blocksize=2), node("Conv", ["d", "w"], ["y"])],
        [weight("w", 5, 3, 1, 1)]), {}, [("Conv", "5x3x1x1", 15, 960)]),
    # Recurrence.
    "RNN, batch first": (model([value("x", 2, 7, 4)], [node("RNN", ["x", "w", "r", "b"], ["y"], hidden_size=3, layout=1)],
        [weight("w", 1, 3, 4), weight("r", 1, 3, 3), weight("b", 1, 6)]), {}, [("RNN", "1x3x4", 27, 294)]),
    # Norms and activations.
    "running statistics": (model([value("x", 1, 4, 5, 5)], [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], "bn")],
        [weight(name, 4) for name in "sbmv"]), {}, [("BatchNormalization", "4", 8, 0)]),
    "Gemm with a scalar": (model([X], chain(("Gemm", "w", "c")), [weight("w", 4, 3), weight("c")]), {}, [("Gemm", "4x3", 12, 24)]),
    "MatMul of one column": (model([X], chain(("MatMul", "w"), ("Add", "b")), [weight("w", 4, 1), weight("b", 1)]), {}, [("MatMul", "4x1", 5, 8)]),
    "PRelu of a scalar": (model([X], chain(("PRelu", "a")), [weight("a")]), {}, [("PRelu", "", 1, 0)]),
    "PRelu of one number": (model([X], chain(("PRelu", "a")), [weight("a", 1)]), {}, [("PRelu", "1", 1, 0)]),
    "scale of a norm over several axes": (model([value("x", 1, 2, 3, 4)], [node("Conv", ["x", "w"], ["v0"], "conv"),
           node("ReduceMean", ["v0"], ["mu"], axes=[1, 2, 3]), node("Sub", ["v0", "mu"], ["d"]), node("Mul", ["d", "d"], ["q"]),
           node("ReduceMean", ["q"], ["var"], axes=[1, 2, 3]), node("Sqrt", ["var"], ["sd"]), node("Div", ["d", "sd"], ["n"]),
           node("Mul", ["n", "gamma"], ["g"], "gamma"), node("Add", ["g", "beta"], ["y"], "beta")],
        [weight("w", 2, 2, 1, 1), weight("gamma", 2, 3, 4), weight("beta", 2, 3, 4)]), {},
        [("Conv", "2x2x1x1", 4, 48), ("Mul", "2x3x4", 24, 0), ("Add", "2x3x4", 24, 0)]),
    # What does not train.
    "lone scalars": (model([X], chain(("Mul", "s"), ("MatMul", "w"), ("Add", "s")), [weight("s"), weight("w", 4, 3)]), {}, [("MatMul", "4x3", 12, 24)]),
    "mean and deviation of images": (model([value("x", 1, 3, 4, 4)], chain(("Sub", "mean"), ("Div", "std"), ("Conv", "w")),
        [weight("mean", 1, 3, 1, 1), weight("std", 1, 3, 1, 1), weight("w", 2, 3, 1, 1)]), {}, [("Conv", "2x3x1x1", 6, 96)]),
    "extent by Gather": (model([value("x", 2, 3, 4)], [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "zeros"], ["u"]), node("Concat", ["u", "minus"], ["t"], axis=0), node("Reshape", ["x", "t"], ["r"]),
        node("MatMul", ["r", "w"], ["y"])], [ints("zero", 0, scalar=True), ints("zeros", 0), ints("minus", -1), weight("w", 12, 5)]), {},
        [("MatMul", "12x5", 60, 120)]),
    "positions added": (model([IDS], [node("Gather", ["e", "ids"], ["h"], "emb"), node("Add", ["h", "pos"], ["y"], "add")],
        [weight("e", 50, 8), weight("pos", 1, 5, 8)]), {}, [("Gather", "50x8", 400, 0), ("Add", "1x5x8", 40, 0)]),
    "positions gathered": (model([IDS], [node("Gather", ["e", "ids"], ["h"], "emb"), node("Gather", ["wpe", "five"], ["p"], "wpe"),
        node("Add", ["h", "p"], ["y"])], [weight("e", 50, 8), weight("wpe", 16, 8), ints("five", 0, 1, 2, 3, 4)]), {},
        [("Gather", "50x8", 400, 0), ("Gather", "16x8", 128, 0)]),
    "embedding times a scalar": (model([IDS], [node("Gather", ["e", "ids"], ["h"], "emb"), node("Mul", ["h", "s"], ["y"])],
        [weight("e", 50, 8), weight("s")]), {}, [("Gather", "50x8", 400, 0)]),
    "frequencies of a rotary embedding": (model([value("x", 1, 5, 4), value("p", 1, 1, 5)],
        [linear(4, 4, result="q")[0], node("MatMul", ["inv_freq", "p"], ["f"]), node("Transpose", ["f"], ["t"], perm=[0, 2, 1]),
         node("Cos", ["t"], ["c"]), node("Mul", ["q", "c"], ["y"])], [weight("w", 4, 4), weight("inv_freq", 1, 4, 1)]), {},
        [("MatMul", "4x4", 16, 80), ("MatMul", "", 0, 20)]),
    "rotary tables of no name": (model([value("x", 1, 5, 4), value("p", 1, 5, dtype=TensorProto.INT64)],
        [linear(4, 4, result="q")[0], node("Gather", ["onnx::Gather_7", "p"], ["c"]), node("Unsqueeze", ["c", "zero"], ["u"]),
         node("Mul", ["q", "u"], ["y"])], [weight("w", 4, 4), weight("onnx::Gather_7", 64, 4), ints("zero", 0)]), {}, [("MatMul", "4x4", 16, 80)]),
    "padding added to scores": (model([value("q", 1, 2, 5, 4), value("k", 1, 2, 4, 5)], [node("MatMul", ["q", "k"], ["s"], "qk"),
        node("Mul", ["s", "half"], ["h"]), node("Add", ["h", "pad"], ["y"])], [weight("half"), weight("pad", 1, 1, 1, 5), weight("unused", 2)]), {},
        [("MatMul", "", 0, 200)]),
    "padding added to learned scores": (model([value("x", 1, 5, 4)], [linear(4, 4, result="q")[0], node("Transpose", ["q"], ["k"], perm=[0, 2, 1]),
        node("MatMul", ["q", "k"], ["s"], "qk"), node("Mul", ["s", "half"], ["h"]), node("Add", ["h", "pad"], ["y"])],
        [weight("w", 4, 4), weight("half"), weight("pad", 1, 1, 5)]), {}, [("MatMul", "4x4", 16, 80), ("MatMul", "", 0, 100)]),
    "shift of a product's features": (model([value("x", 1, 5, 4)], [linear(4, 4, result="q")[0], node("Relu", ["q"], ["r"]), node("Add", ["r", "b"], ["y"], "add")],
        [weight("w", 4, 4), weight("b", 4)]), {}, [("MatMul", "4x4", 16, 80), ("Add", "4", 4, 0)]),
    "causal mask added": (model([value("x", 1, 4, 4)], [linear(4, 4, result="q")[0], node("Relu", ["q"], ["r"]), node("Add", ["r", "c"], ["y"], "add")],
        [weight("w", 4, 4), weight("c", 1, 4, 4)]), {}, [("MatMul", "4x4", 16, 64)]),
    "mask by its name": (model([value("x", 1, 5, 4)], [linear(4, 4, result="q")[0], node("Relu", ["q"], ["r"]), node("Add", ["r", "attn_mask"], ["y"], "add")],
        [weight("w", 4, 4), weight("attn_mask", 5, 4)]), {}, [("MatMul", "4x4", 16, 80)]),
    "scattered data": (model([X, value("i", 2, 1, dtype=TensorProto.INT64)], [node("ScatterND", ["zeros", "i", "x"], ["s"]),
        linear(4, 3, data="s")[0]], [weight("zeros", 2, 4), weight("w", 4, 3)]), {}, [("MatMul", "4x3", 12, 24)]),
    "rows by GatherND": (model([value("ids", 2, 5, 1, dtype=TensorProto.INT64)], [node("GatherND", ["e", "ids"], ["y"], "emb")],
        [weight("e", 50, 8)]), {}, [("GatherND", "50x8", 400, 0)]),
    # com.microsoft.
    "MoE": (model([X, value("r", 2, 8)], [node("MoE", ["x", "r", "up", "", "down"], ["y"], domain="com.microsoft", k=2)],
        [weight("up", 8, 6, 4), weight("down", 8, 4, 6)]), {}, [("MoE", "8x6x4", 384, 192)]),
    "QLinearAdd": (model([value("x", 1, 4, dtype=TensorProto.UINT8)], [node("QLinearAdd", ["x", "s", "z", "x", "s", "z", "s", "z"], ["a"], domain="com.microsoft"),
        node("DequantizeLinear", ["a", "s", "z"], ["d"]), linear(4, 3, data="d")[0]],
        [weight("s"), weight("z", dtype=TensorProto.UINT8), weight("w", 4, 3)]), {}, [("MatMul", "4x3", 12, 12)]),
    "Attention": (model([value("x", 1, 5, 8)], [node("Attention", ["x", "w", "b"], ["y"], "att", domain="com.microsoft", num_heads=2)],
        [weight("w", 8, 24), weight("b", 24)]), {}, [("Attention", "8x24", 216, 1360)]),
    "SkipLayerNormalization": (model([X, value("s", 2, 4)], [node("SkipLayerNormalization", ["x", "s", "g", "b", "bias"], ["h"], domain="com.microsoft"),
        linear(4, 3, data="h")[0]], [weight("g", 4), weight("b", 4), weight("bias", 4), weight("w", 4, 3)]), {},
        [("SkipLayerNormalization", "4", 12, 0), ("MatMul", "4x3", 12, 24)]),
    "EmbedLayerNormalization": (model([IDS], [node("EmbedLayerNormalization", ["ids", "", "word", "pos", "", "g", "b"], ["h", "m"], domain="com.microsoft"),
        linear(8, 3, data="h")[0]], [weight("word", 50, 8), weight("pos", 16, 8), weight("g", 8), weight("b", 8), weight("w", 8, 3)]), {},
        [("EmbedLayerNormalization", "50x8", 544, 0), ("MatMul", "8x3", 24, 120)]),
    "MultiHeadAttention": (model([value("x", 1, 5, 8)], [node("MultiHeadAttention", ["x", "x", "x", "b"], ["y"], domain="com.microsoft", num_heads=2)],
        [weight("b", 24)]), {}, [("MultiHeadAttention", "", 24, 400)]),
    "GroupQueryAttention": (model([value("q", 1, 5, 8), value("k", 1, 5, 4), value("v", 1, 5, 4)],
        [node("GroupQueryAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=4, kv_num_heads=2)]), {},
        [("GroupQueryAttention", "", 0, 400)]),
    # Structure.
    "function that calls": (model([X], [node("Block", ["x", "w"], ["y"], "b", domain="local")], [weight("w", 4, 4)], functions=[
        function("Block", ["a", "k"], ["c"], [node("Lin", ["a", "k"], ["h"], "l1", domain="local"), node("Lin", ["h", "k"], ["c"], "l2", domain="local")]),
        function("Lin", ["a", "k"], ["c"], [node("MatMul", ["a", "k"], ["c"], "mm")])]), {}, [("MatMul", "4x4", 16, 32), ("MatMul", "4x4", 0, 32)]),
    "loop over an outer weight": (model([X], [node("Loop", ["n", "", "x"], ["y"], "loop", body=body(
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("h", 2, 4)],
        [node("MatMul", ["h", "w"], ["o"], "mm"), node("Identity", ["c"], ["d"])],
        [value("d", dtype=TensorProto.BOOL), value("o", 2, 4)]))], [ints("n", 5, scalar=True), weight("w", 4, 4)]), {}, [("MatMul", "4x4", 16, 160)]),
    "table in a loop": (model([value("ids", 1, 5, dtype=TensorProto.INT64)], [node("Loop", ["n", ""], ["y"], "loop", body=body(
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL)],
        [node("Gather", ["e", "ids"], ["o"], "emb"), node("Identity", ["c"], ["d"])],
        [value("d", dtype=TensorProto.BOOL), value("o", 1, 5, 8)]))], [ints("n", 3, scalar=True), weight("e", 50, 8)]), {}, [("Gather", "50x8", 400, 0)]),
    "statistics that leave a norm": (model([value("x", 1, 4, 5, 5)], [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m2", "v2"], "bn", training_mode=1)],
        [weight(name, 4) for name in "sbmv"], "y m2 v2"), {}, [("BatchNormalization", "4", 8, 0)]),
    "Split of an activation": (model([X], [linear(4, 6, result="h")[0], node("Split", ["h"], ["a", "b"], "cut", axis=1), node("MatMul", ["a", "v"], ["y"], "up")],
        [weight("w", 4, 6), weight("v", 3, 5)], "y b"), {}, [("MatMul", "4x6", 24, 48), ("MatMul", "3x5", 15, 30)]),
    "loop bound by the user": (model([X, value("n", dtype=TensorProto.INT64)], [node("Loop", ["n", "", "x"], ["y"], "loop", body=body(
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("h", 2, 4)],
        [node("MatMul", ["h", "w"], ["o"], "mm"), node("Identity", ["c"], ["d"])],
        [value("d", dtype=TensorProto.BOOL), value("o", 2, 4)]))], [weight("w", 4, 4)]), {"bind": {"n": 3}}, [("MatMul", "4x4", 16, 96)]),
    "loop that grows": (model([value("x", 2, 4)], [node("Loop", ["n", "", "x"], ["h"], "loop", body=body(
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("g", None, 4)],
        [node("Concat", ["g", "g"], ["o"], "twice", axis=0), node("Identity", ["c"], ["d"])],
        [value("d", dtype=TensorProto.BOOL), value("o", None, 4)])), linear(4, 3)[0]], [ints("n", 2, scalar=True), weight("w", 4, 3)], "y h"), {},
        [("MatMul", "4x3", 12, 24)]),
    # Odd files.
    "no layers": (model([X], chain(("Relu",))), {}, []),
}  # fmt: skip


@pytest.mark.parametrize("data, options, expected", GRAPHS.values(), ids=GRAPHS)
def test_layers(data, options, expected):
    result = read_model("m", data, **options)
    assert result.value is not None, result.diagnostics
    rows = [table.cells(layer) for layer in table.rows(result.value)]
    assert [(op, shape, params, macs) for _, op, shape, params, _, _, macs in rows] == expected


REFUSED = {
    "custom operator": ("AS607", "`my` (MyOp)", model([value("x", 1, 3, 8, 8)], [node("MyOp", ["x"], ["q"], "my", domain="acme"),
        node("Conv", ["q", "w"], ["y"])], [weight("w", 2, 3, 1, 1)]), {}),
    "no batch": ("AS606", "input `x` axis 0 is `batch`", model([value("x", "batch", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]), {}),
    "another symbol": ("AS606", "axis 1 is `seq`", model([value("x", "batch", "seq", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"batch": 1}),
    "unknown symbol": ("AS608", "`sequ`", model([value("x", "batch", "seq", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"bind": {"sequ": 1}}),
    "two batches": ("AS608", "is bound to 8 and the batch is 4", model([value("x", "batch", 4)], chain(("MatMul", "w")), [weight("w", 4, 3)]),
        {"batch": 4, "bind": {"batch": 8}}),
    "input of another batch": ("AS608", "given for a batch of 4", model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]),
        {"batch": 8, "inputs": {"x": (4, 4)}}),
    "no batch at all": ("AS608", "must be at least 1", model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"batch": 0}),
    "unknown input": ("AS609", "no input `z`", model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"inputs": {"z": (1,)}}),
    "rank of an input": ("AS609", "has 2 axes ([2, 4]), not 1", model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"inputs": {"x": (1,)}}),
    "pinned batch": ("AS610", "`reshape0` (Reshape)", model([value("x", 1, 4, 4)], chain(("Reshape", "t"), ("MatMul", "w")),
        [ints("t", 1, 16), weight("w", 16, 3)]), {"batch": 2}),
    "batch that moves into another axis": ("AS610", "`reshape0` (Reshape)", model([value("x", 1, 8, 4)], chain(("Reshape", "t"), ("MatMul", "w")),
        [ints("t", 1, -1, 4), weight("w", 4, 3)]), {"batch": 2}),
    "inputs that begin differently": ("AS610", "which axis", model([X, value("z", 3, 4)], [node("Concat", ["x", "z"], ["c"], axis=0),
        node("MatMul", ["c", "w"], ["y"])], [weight("w", 4, 3)]), {"batch": 8}),
    "operands that do not fit": ("AS611", "`mm` (MatMul)", model([X], [linear(5, 3)[0]], [weight("w", 5, 3)]), {}),
    "circle": ("AS611", "depends on its own result", model([X], [node("Add", ["x", "b"], ["a"], "a"), node("Relu", ["a"], ["b"], "b")], output="b"), {}),
    "nothing makes it": ("AS611", "reads `z`, which nothing makes", model([X], [node("Relu", ["z"], ["y"], "r")]), {}),
    "operator that cannot be": ("AS611", "impossible operator", model([X], [node("Loop:end", ["x"], ["y"])]), {}),
    "made twice": ("AS611", "`y` is made twice", model([X], [node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"], "b")]), {}),
    "more results than a function has": ("AS611", "2 results, function `F` has 1", model(
        [X], [node("F", ["x"], ["y", "z"], domain="local")], functions=[function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]), {}),
    "more inputs than a function has": ("AS611", "2 inputs, function `F` has 1", model(
        [X], [node("F", ["x", "x"], ["y"], domain="local")], functions=[function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]), {}),
    "function that calls itself": ("AS611", "calls itself", model([X], [node("F", ["x"], ["y"], domain="local")],
        functions=[function("F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")])]), {}),
    "functions that double": ("AS611", "grows to more than", model([X], [node("F0", ["x"], ["y"], domain="local")], functions=[
        function(f"F{level}", ["a"], ["b"], [node(f"F{level + 1}" if level < 30 else "Relu", ["a"], ["t"], domain="local" if level < 30 else ""),
            node(f"F{level + 1}" if level < 30 else "Relu", ["t"], ["b"], domain="local" if level < 30 else "")]) for level in range(31)]), {}),
    "tie of nothing": ("AS613", "no weight `v`", model([X], chain(("MatMul", "w")), [weight("w", 4, 3)]), {"ties": [("w", "v")]}),
    "tie of two sizes": ("AS613", "cannot be one weight", model([X], chain(("MatMul", "w"), ("MatMul", "v")), [weight("w", 4, 3), weight("v", 3, 5)]),
        {"ties": [("w", "v")]}),
    "strict": ("AS614", "`acme:MyOp`", model([X], [node("MyOp", ["x"], ["q"], "my", domain="acme"), linear(4, 3)[0]], [weight("w", 4, 3)], "y q"),
        {"strict": True}),
    "beyond all machines": ("AS611", "more elements", model([value("x", 2**40, 2**40)], chain(("Relu",))), {}),
}  # fmt: skip


@pytest.mark.parametrize("code, words, data, options", REFUSED.values(), ids=REFUSED)
def test_refused(code, words, data, options):
    result = read_model("m", data, **options)
    assert result.value is None
    assert [finding.code for finding in result.diagnostics if finding.is_error] == [code]
    assert words in result.diagnostics[0].message


def test_an_unknown_operator_withholds_only_what_hangs_on_it():
    nodes = [
        node("Conv", ["x", "s"], ["a"], "stem"),
        node("MyOp", ["a"], ["q"], "my", domain="acme"),
        node("Conv", ["q", "w"], ["c"], "conv"),
        node("Relu", ["c"], ["r"], "relu"),
        node("Conv", ["r", "v"], ["y"], "head"),
        node("Conv", ["a", "u"], ["z"], "side"),
    ]
    tensors = [weight("s", 4, 3, 1, 1), weight("w", 2, 4, 1, 1), weight("v", 5, 2, 1, 1), weight("u", 1, 4, 1, 1)]
    result = read_model("m", model([value("x", 2, 3, 8, 8)], nodes, tensors, "y z"), partial=True)
    assert not result.ok
    assert [found.code for found in result.diagnostics] == ["AS607", "AS830", "AS835"]
    assert "`conv` (Conv) in `m` is unknown (and that of 1 row more)" in result.diagnostics[0].message
    assert "`my` (MyOp)" in result.diagnostics[0].message
    assert "`value_info`" in result.diagnostics[0].hints[0]
    assert "`relu` (Relu) in" in result.diagnostics[2].message
    rows = [(name, params, macs) for name, _, _, params, _, _, macs in map(table.cells, table.rows(result.value))]
    assert rows == [("stem", 12, 1536), ("my", 0, "?"), ("conv", 8, "?"), ("head", 10, "?"), ("side", 4, 512)]
    assert (result.value.params, result.value.macs) == (34, 2048)
    assert "unknown      the work of 3 rows (`?`), in none of these sums\n" in table.render(result.value, "text")
    assert [row["macs"] for row in json.loads(table.render(result.value, "json"))["layers"]][1:3] == [None, None]


ADVICE = {
    "unknown operator": ("AS830", "12 numbers in its weights", model([X], [node("MyOp", ["x", "k"], ["q"], "my", domain="acme"), linear(4, 3)[0]],
        [weight("w", 4, 3), weight("k", 12)], "y q")),
    "possible tie": ("AS831", "`e` and `onnx::MatMul_7`", model([IDS], [node("Gather", ["e", "ids"], ["h"], "emb"),
        node("MatMul", ["h", "onnx::MatMul_7"], ["y"], "head")], [weight("e", 50, 8), weight("onnx::MatMul_7", 8, 50)])),
    "fixed table": ("AS832", "`add`", GRAPHS["positions added"][0]),
    "data decides": ("AS835", "NonZero", model([value("x", 2, 4)], [linear(4, 3, result="h")[0], node("NonZero", ["h"], ["i"], "nz"),
        node("Cast", ["i"], ["y"], "cast", to=1)], [weight("w", 4, 3)])),
    "no weights": ("AS837", "no layer", GRAPHS["no layers"][0]),
}  # fmt: skip


@pytest.mark.parametrize("code, words, data", ADVICE.values(), ids=ADVICE)
def test_advice(code, words, data):
    result = read_model("m", data)
    assert result.value is not None
    assert [finding.code for finding in result.diagnostics] == [code]
    assert words in result.diagnostics[0].message


def test_tie_counts_once_and_says_what_the_file_has():
    data = model(
        [IDS],
        [node("Gather", ["e", "ids"], ["h"], "emb"), node("MatMul", ["h", "k"], ["y"], "head")],
        [weight("e", 50, 8), weight("k", 8, 50)],
    )
    untied, tied = (read_model("m", data, ties=ties).value for ties in ((), [("e", "head")]))
    assert (untied.params, tied.params, tied.params + tied.tied_params) == (800, 400, 800)
    assert [layer.macs for layer in tied.layers] == [layer.macs for layer in untied.layers] == [0, 2000]
    assert tied.layers[1].shared_with == "emb"


def test_constant_scale_before_a_trained_one_does_not_train():
    data = model([value("x", 1, 4, 5, 5)], [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["z"], "bn"),
        node("Mul", ["z", "g"], ["y"], "scale")], [*(weight(name, 4) for name in "sbmv"), weight("g", 4, 1, 1)])  # fmt: skip
    found = read_model("m", data).value
    assert (found.params, found.trainable_params) == (12, 4)


def test_edges_follow_the_graph_and_cuts_count_what_is_alive():
    # x -> a -> relu -> b -> sum <- relu (residual); all 2 x 4.
    data = model([X], [node("MatMul", ["x", "w"], ["a"], "a"), node("Relu", ["a"], ["r"], "r"), node("Reshape", ["r", "t"], ["v"]),
        node("MatMul", ["r", "w2"], ["b"], "b"), node("Add", ["b", "v"], ["y"], "sum")],
        [weight("w", 4, 4), weight("w2", 4, 4), ints("t", 2, 4)])  # fmt: skip
    found = read_model("m", data).value
    assert [(layer.name, layer.inputs) for layer in found.layers] == [
        ("a", ()),
        ("r", (0,)),
        ("b", (1,)),
        ("sum", (1, 2)),
    ]
    assert found.cuts == (8, 8, 16)
    assert [layer.input_gradient for layer in found.layers] == [False, True, True, True]
    assert [layer.kept_elements for layer in found.layers] == [8, 8, 0, 0]  # x for a; r's result serves b as well


def test_branches_exclude_each_other():
    then, other = (body([], [node("MatMul", ["x", name], [f"{name}y"], name)], [value(f"{name}y", 2, width)], [weight(name, 4, width)])
        for name, width in (("t", 3), ("e", 5)))  # fmt: skip
    data = model(
        [X, value("c", dtype=TensorProto.BOOL)], [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    )
    found = read_model("m", data).value
    assert (found.params, found.macs) == (12 + 20, 40)
    assert {layer.name: layer.runs for layer in found.layers} == {"t": False, "e": True}


def test_condition_that_follows_from_shapes_chooses_the_branch():
    # What TorchScript makes of `squeeze`: the branch that is not taken need not even fit.
    then = body(
        [],
        [node("Squeeze", ["x", "one"], ["s"]), node("MatMul", ["s", "w"], ["ty"], "then")],
        [value("ty", 2, 3)],
        [weight("w", 4, 3)],
    )
    other = body(
        [],
        [node("Reshape", ["x", "five"], ["r"]), node("MatMul", ["r", "v"], ["ey"], "else")],
        [value("ey", 5, 5)],
        [weight("v", 9, 3)],
    )
    nodes = [
        node("Shape", ["x"], ["s0"]),
        node("Gather", ["s0", "i"], ["n"]),
        node("Equal", ["n", "i"], ["c"]),
        node("If", ["c"], ["h"], then_branch=then, else_branch=other),
        node("MatMul", ["h", "u"], ["y"], "last"),
    ]
    found = read_model(
        "m",
        model(
            [value("x", 2, 1, 4)],
            nodes,
            [ints("i", 1, scalar=True), ints("one", 1), ints("five", 5, 5), weight("u", 3, 2)],
        ),
    ).value
    assert {layer.name: (layer.macs, layer.runs) for layer in table.rows(found)} == {
        "then": (24, True),
        "else": (0, False),
        "last": (12, True),
    }


VECTOR_FLOPS = {
    "Relu": (model([X], chain(("Relu",))), 8),
    "Softmax": (model([X], chain(("Softmax",))), 5 * 8),
    "Add broadcast": (model([X, value("z", 3, 1, 4)], chain(("Add", "z"))), 24),
    "ReduceMean": (model([X], chain(("ReduceMean", {"axes": [1]}))), 8),
    "MaxPool": (model([value("x", 1, 3, 4, 4)], chain(("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}))), 3 * 2 * 2 * 4),
    "LayerNormalization": (model([X], chain(("LayerNormalization", "g")), [weight("g", 4)]), 7 * 8),
    "Attention": (GRAPHS["Attention"][0], 5 * 2 * 5 * 5),
    "table": (GRAPHS["EmbedLayerNormalization"][0], 9 * 5 * 8),
    "MatMul and bias": (model([X], chain(("MatMul", "w"), ("Add", "b")), [weight("w", 4, 3), weight("b", 3)]), 0),
    "Transpose": (model([X], chain(("Transpose",))), 0),
}  # fmt: skip


@pytest.mark.parametrize("data, expected", VECTOR_FLOPS.values(), ids=VECTOR_FLOPS)
def test_vector_flops(data, expected):
    assert sum(layer.vector_flops for layer in read_model("m", data).value.layers) == expected


def test_extent_of_nothing():
    data = model([value("x", "batch", 4), value("past", "batch", "earlier", 4)], [node("Concat", ["past", "x3"], ["c"], axis=1), node("MatMul", ["c", "w"], ["y"], "mm"),
        node("Unsqueeze", ["x", "one"], ["x3"])], [weight("w", 4, 3), ints("one", 1)])  # fmt: skip
    assert [read_model("m", data, batch=2, bind={"earlier": count}).value.macs for count in (0, 5)] == [24, 144]


NAMES = [
    ("fc", "fc"), ("", "w1"), ("a b\t\n", "a_b"), ('=1+2,"x"', "1_2_x"), ("x" * 5000, "x" * 59 + ".." + "x" * 59), ("слой::2/é", "слой::2/é"),
    ("/h.0/attn/c_proj/MatMul", "h.0.attn.c_proj"), ("MatMul_12", "w7"), ("node_linear_3", "w8"), ("n4", "w9"), ("fc", "fc_2"), ("fc 1", "fc_1"), ("fc_1", "fc_1_2"),
]  # fmt: skip


def test_names_are_clean_unique_and_bounded():
    nodes = [
        node("MatMul", [f"v{index}", f"w{index}"], [f"v{index + 1}"], name) for index, (name, _) in enumerate(NAMES)
    ]
    stored = [weight(f"w{index}", 4, 4) for index in range(len(NAMES))]
    found = read_model("m", model([value("v0", 2, 4)], nodes, stored, f"v{len(NAMES)}")).value
    assert [layer.name for layer in found.layers] == [name for _, name in NAMES]


def test_names_that_are_not_utf8():
    data = model([X], [node("MatMul", ["x", "w"], ["y"], "AAAA")], [weight("w", 4, 3)]).replace(b"AAAA", b"A\xff\xfeA")
    assert read_model("m", data).value.layers[0].name == "A_xff_xfeA"


def test_digest_is_of_the_structure_only():
    def made(name, **tensor):
        stored = TensorProto(name="w", dims=[4, 3], data_type=TensorProto.FLOAT, **tensor)
        return read_model("m", model([X], [node("MatMul", ["x", "w"], ["y"], name)], [stored])).value.digest

    inside = made("mm", raw_data=np.ones(12, np.float32).tobytes())
    assert inside == made("mm") == made("mm", data_location=TensorProto.EXTERNAL) == made("mm", float_data=range(12))
    assert inside != made("other")


def test_weights_left_out_of_the_file():
    inputs = [value("x", "batch", 4), value("a", 4, 4), value("b", 4), value("c", 4, 2)]
    nodes = [
        node("MatMul", ["x", "a"], ["h"], "m1"),
        node("Add", ["h", "b"], ["i"]),
        node("MatMul", ["i", "c"], ["y"], "m2"),
    ]
    found = read_model("m", model(inputs, nodes), batch=3).value
    assert [(layer.name, layer.params, layer.macs) for layer in found.layers] == [("m1", 20, 48), ("m2", 8, 24)]


UNTYPED = ("UNDEFINED", "STRING", "FLOAT6E2M3", "FLOAT6E3M2")
TYPES = [number for name, number in TensorProto.DataType.items() if name not in UNTYPED]


@pytest.mark.parametrize("number", TYPES, ids=[TensorProto.DataType.Name(number) for number in TYPES])
def test_bytes_of_a_weight_of_each_type(number):
    # Nine numbers in whole bytes. A name tells its bits: FLOAT8E4M3FN has 8, UINT2 2, COMPLEX64 both parts in 64.
    name = TensorProto.DataType.Name(number)
    bits = {"FLOAT": 32, "DOUBLE": 64, "BOOL": 8}.get(name) or int(re.search(r"\d+", name)[0])
    data = model([value("x", 2, 3)], [node("Add", ["x", "x"], ["y"])], [weight("w", 3, 3, dtype=number)])
    (stored,) = load("m", data, None).graph.constants
    tensor = Tensor("w", stored.shape, stored.dtype)
    assert tensor.dtype == {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    assert tensor.bytes == -(-9 * bits // 8)


def test_a_table_in_a_loop_is_read_each_time():
    (layer,) = read_model("m", GRAPHS["table in a loop"][0]).value.layers
    assert (layer.weight_reads, layer.output_elements, layer.params) == (3 * 5 * 8, 3 * 5 * 8, 400)


def test_outputs_that_are_activations():
    (norm,) = read_model("m", GRAPHS["statistics that leave a norm"][0]).value.layers
    assert (norm.output_elements, norm.state_elements) == (100, 8)
    rows = {layer.name: layer for layer in read_model("m", GRAPHS["Split of an activation"][0]).value.layers}
    assert (rows["cut"].input_elements, rows["cut"].output_elements, rows["up"].input_elements) == (12, 12, 6)
