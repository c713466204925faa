"""Numbers that follow from constants, as shapes are computed in a graph: the same as onnx's own evaluator gives."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from astrac.models.onnx.decode import decode
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.fold import FOLD, SPECIAL
from astrac.models.onnx.infer import infer

A, B = np.array([[7, -3, 5], [2, 9, -4]]), np.array([[2, -2, 3], [4, 5, -3]])
ONE, YES = np.array([1]), A > 0
BINARY = ("Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Sub")
CASES = {
    **{
        op: ([A, B], {})
        for op in [
            "Add",
            "Div",
            "Equal",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "LessOrEqual",
            "Max",
            "Min",
            "Mod",
            "Mul",
            "Sub",
        ]
    },
    **{op: ([A], {}) for op in ["Abs", "Identity", "Neg", "Shape", "Size"]},
    **{op: ([A * np.float32(0.3)], {}) for op in ["Ceil", "Floor", "Round"]},
    "Sqrt": ([np.array([4, 9, 2], np.float32)], {}),
    "And": ([YES, B > 0], {}),
    "Or": ([YES, B > 0], {}),
    "Not": ([YES], {}),
    "Where": ([YES, A, B], {}),
    "Range": ([np.array(2), np.array(11), np.array(3)], {}),
    "Tile": ([A, np.array([2, 1])], {}),
    "CastLike": ([A, np.array([0.5], np.float32)], {}),
    "Cast": ([A * np.float32(0.6)], {"to": TensorProto.INT64}),
    "Cast to float": ([A], {"to": TensorProto.FLOAT}),
    "Reshape": ([A, np.array([3, -1])], {}),
    "Reshape with 0": ([A, np.array([0, 3, 1])], {}),
    "Squeeze": ([A[None], np.array([0])], {}),
    "Unsqueeze": ([A, np.array([0, 3])], {}),
    "Concat": ([A, B], {"axis": 1}),
    "Concat of rows": ([A, B], {"axis": 0}),
    "Concat from the end": ([A, B], {"axis": -1}),
    "Expand": ([A, np.array([2, 2, 3])], {}),
    "Gather": ([A, np.array([2, 0])], {"axis": 1}),
    "Gather of rows": ([A, np.array(1)], {}),
    "Mod like C": ([A.astype(np.float32), B.astype(np.float32)], {"fmod": 1}),
    "Max of three": ([A, B, A * 0], {}),
    "Min of three": ([A, B, A * 0], {}),
    "Transpose": ([A], {"perm": [1, 0]}),
    "Transpose without an order": ([A], {}),
    **{op: ([A, ONE], {}) for op in ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")},
    "ReduceSum of all": ([A], {"keepdims": 0}),
    "ReduceSum without": ([A, ONE], {"keepdims": 0}),
    "ReduceSum of none": ([A, np.array([], int)], {"noop_with_empty_axes": 1}),
    "ConstantOfShape": ([np.array([2, 3])], {"value": helper.make_tensor("v", TensorProto.INT64, [1], [7])}),
    "ConstantOfShape of zeros": ([np.array([2, 3])], {}),
    "Shape from 1": ([A], {"start": 1}),
    "Shape to the last": ([A], {"end": -1}),
    "Slice": ([A, np.array([1]), np.array([3]), np.array([1])], {}),
    "Slice of rows": ([A, np.array([0, 1]), np.array([1, 9])], {}),
    "Slice back": ([A, np.array([2]), np.array([-9]), np.array([1]), np.array([-1])], {}),
    "Slice every other": ([A, np.array([0]), np.array([3]), np.array([-1]), np.array([2])], {}),
    "Split": ([A, np.array([1, 2])], {"axis": 1}),
    "Split of rows": ([A, np.array([1, 1])], {}),
}


def test_every_operator_is_here():
    several = {"SequenceLength", "If:end"}  # more than a node: see test_onnx_loops.py
    assert {case.partition(" ")[0] for case in CASES} == (set(FOLD) | set(SPECIAL)) - several


@pytest.mark.parametrize("case", CASES)
def test_numbers(case):
    arrays, attributes = CASES[case]
    op = case.partition(" ")[0]
    inputs = [f"x{number}" for number in range(len(arrays))]
    outputs = ["y", "z"] if op == "Split" else ["y"]
    stored = [numpy_helper.from_array(array, name) for name, array in zip(inputs, arrays, strict=True)]
    results = [helper.make_tensor_value_info(name, 0, None) for name in outputs]
    graph = helper.make_graph([helper.make_node(op, inputs, outputs, **attributes)], "g", [], results, stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    facts = infer(flatten("m", decode(made), None), {}, {}, {})
    for name, expected in zip(outputs, ReferenceEvaluator(made).run(None, {}), strict=True):
        assert facts.data[name].shape == expected.shape
        assert facts.data[name].tolist() == expected.tolist()
        assert facts.data[name].dtype.kind == expected.dtype.kind
