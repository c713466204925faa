"""Loops and sequences as exporters write them: how often a body runs, which tensors a list holds.

Expected values are those that onnx's own evaluator finds, or follow from the loop by hand.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from astrac.models.onnx import read_model
from astrac.models.onnx.decode import decode
from astrac.models.onnx.facts import Value
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import infer
from onnx_models import ints, model, node, value, weight

INT64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
ENDLESS = 2**63 - 1


def number(name, count):
    return ints(name, count, scalar=True)


def body(nodes, outputs, *carried):
    """A body whose condition is `go`, which gets the iteration `it`, the condition `c` and what is carried."""
    inputs = [value("it", dtype=INT64), value("c", dtype=BOOL), *carried]
    results = [helper.make_tensor_value_info(name, 0, None) for name in ("go", *outputs)]
    return helper.make_graph(nodes, "b", inputs, results)


COUNTERS = {
    "below a bound": (0, ["Add one", "Less n"], 20, 20),
    "up to and with a bound": (0, ["Add one", "LessOrEqual n"], 20, 21),
    "down": (20, ["Sub one", "Greater zero"], 20, 20),
    "down and with zero": (20, ["Sub one", "GreaterOrEqual zero"], 20, 21),
    "in steps of three": (0, ["Add three", "Less n"], 20, 7),
    "doubled": (1, ["Mul two", "Less n"], 20, 5),
    "until it is reached": (0, ["Add one", "GreaterOrEqual n", "Not"], 20, 20),
    "once": (0, ["Add one", "Less zero"], 20, 1),
    "very often": (0, ["Add one", "Less n"], 123_456_789, 123_456_789),
    "unequal": (0, ["Add one", "Equal n", "Not"], 20, 20),
}
"""Where a counter begins, what is done to it and then asked, `n`, and how often that runs."""


def counting(start, steps, bound, most="", first="yes"):
    """A product with [4, 4] in each iteration of a loop that a counter ends."""
    nodes, last = [node("MatMul", ["h", "w"], ["o"], "mm")], "i"
    for index, step in enumerate(steps):
        op, *operand = step.split()
        names = ["go" if index == len(steps) - 1 else f"s{index}", *(["j"] if index == 0 else [])]
        nodes.append(node(op, [last, *operand], [names[-1]]))
        last = names[-1]
    loop = node(
        "Loop",
        [most, first, "start", "x"],
        ["k", "y"],
        "loop",
        body=body(nodes, ["j", "o"], value("i", dtype=INT64), value("h", 2, 4)),
    )
    stored = [weight("w", 4, 4), number("start", start), number("n", bound), number("endless", ENDLESS)]
    stored += [number(name, index) for index, name in enumerate(("zero", "one", "two", "three"))]
    stored += [helper.make_tensor("yes", BOOL, [], [True]), helper.make_tensor("no", BOOL, [], [False])]
    return model([value("x", 2, 4)], [loop], stored, "y k")


@pytest.mark.parametrize("start, steps, bound, trips", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("most", ["", "endless"])
def test_a_condition_that_counts(start, steps, bound, trips, most):
    assert read_model("m", counting(start, steps, bound, most)).value.macs == 32 * trips


def test_the_smaller_of_trip_count_and_condition_holds():
    assert read_model("m", counting(0, ["Add one", "Less n"], 20, "three")).value.macs == 32 * 3
    assert read_model("m", counting(0, ["Add one", "Less n"], 2, "three")).value.macs == 32 * 2


def test_a_condition_that_is_not_met_at_first():
    assert read_model("m", counting(0, ["Add one", "Less n"], 20, first="no")).value.macs == 0


def test_a_condition_that_never_fails_is_told_and_can_be_bound():
    data = counting(0, ["Add one", "Greater zero"], 20)
    (told,) = read_model("m", data).diagnostics
    assert told.code == "AS615"
    assert told.hints == ('say how often: `--bind "loop=N"` (in a spec: `bind { "loop": N }`)',)
    assert read_model("m", data, bind={"loop": 7}).value.macs == 32 * 7


def data_decides(most):
    nodes = [
        node("MatMul", ["h", "w"], ["o"], "mm"),
        node("ReduceMax", ["o"], ["t"], keepdims=0),
        node("Less", ["t", "one"], ["go"]),
    ]
    loop = node("Loop", [most, "", "x"], ["y"], "loop", body=body(nodes, ["o"], value("h", 2, 4)))
    stored = [weight("w", 4, 4), weight("one"), number("five", 5)]
    return model([value("x", 2, 4)], [loop], stored)


def test_data_that_ends_a_loop():
    assert [found.code for found in read_model("m", data_decides("")).diagnostics] == ["AS615"]
    assert read_model("m", data_decides(""), bind={"loop": 3}).value.macs == 32 * 3
    assert read_model("m", data_decides("five")).value.macs == 32 * 5  # at most


def test_a_weight_that_a_loop_carries_unchanged_is_a_weight():
    nodes = [
        node("MatMul", ["h", "k"], ["o"], "mm"),
        node("Identity", ["k"], ["k2"]),
        node("Identity", ["k2"], ["k3"]),
        node("Identity", ["c"], ["go"]),
    ]
    inside = body(nodes, ["o", "k3"], value("h", 2, 4), value("k", 4, 4))
    made = model(
        [value("x", 2, 4)],
        [node("Loop", ["n", "", "x", "w"], ["y", "v"], "loop", body=inside), node("MatMul", ["y", "v"], ["z"])],
        [number("n", 3), weight("w", 4, 4)],
        "z",
    )  # fmt: skip
    result = read_model("m", made).value
    assert (result.params, result.macs) == (16, 32 * 4)


def test_a_slice_between_a_counter_and_the_next():
    nodes = [
        node("Unsqueeze", ["it", "zero"], ["from"]),
        node("Add", ["it", "one"], ["next"]),
        node("Unsqueeze", ["next", "zero"], ["to"]),
        node("Slice", ["x", "from", "to", "zero"], ["row"]),
        node("MatMul", ["row", "w"], ["o"], "mm"),
        node("Identity", ["c"], ["go"]),
    ]
    made = model(
        [value("x", 6, 4)],
        [node("Loop", ["n", ""], ["y"], "loop", body=body(nodes, ["o"]))],
        [number("n", 6), number("one", 1), ints("zero", 0), weight("w", 4, 5)],
    )
    result = read_model("m", made)
    assert (result.value.macs, result.diagnostics) == (6 * 20, ())


def shapes(nodes, stored, outputs, *inputs):
    """Inferred shapes by name."""
    results = [helper.make_tensor_value_info(name, 0, None) for name in outputs]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, results, stored))
    facts = infer(
        flatten("m", decode(made), None), {item.name: Value(_extents(item), "float32") for item in inputs}, {}, {}
    )
    return made, facts


def _extents(item):
    return tuple(dim.dim_value or None for dim in item.type.tensor_type.shape.dim)


SEQUENCES = {
    "first": ("SequenceAt", ["zero"], 0),
    "last": ("SequenceAt", ["back"], 0),
    "second of split ones": ("SequenceAt", ["one"], 0),
    "length": ("SequenceLength", [], 0),
    "joined": ("ConcatFromSequence", [], 1),
}


@pytest.mark.parametrize("maker", ["equal", "uneven", "rest", "slices", "inserted", "put in front", "erased"])
@pytest.mark.parametrize("op, more, axis", SEQUENCES.values(), ids=SEQUENCES)
def test_elements_of_a_sequence(maker, op, more, axis):
    # the same as onnx's own evaluator finds with numbers
    split = {"equal": "two", "uneven": "parts", "rest": "three"}.get(maker)
    nodes = [node("SplitToSequence", ["x", split] if split else ["x"], ["s"], axis=1)]
    if maker == "inserted":
        nodes.append(node("SequenceInsert", ["s", "x"], ["t"]))
    elif maker == "put in front":
        nodes.append(node("SequenceInsert", ["s", "x", "zero"], ["t"]))
    elif maker == "erased":
        nodes += [node("SequenceInsert", ["s", "x", "one"], ["r"]), node("SequenceErase", ["r", "zero"], ["t"])]
    else:
        nodes.append(node("Identity", ["s"], ["t"]))
    nodes.append(node(op, ["t", *more], ["y"], **({"axis": 1} if axis else {})))
    stored = [number("zero", 0), number("one", 1), number("back", -1), number("two", 2), ints("parts", 1, 4, 1)]
    made, facts = shapes(nodes, [*stored, number("three", 4)], ["y"], value("x", 2, 6))
    (expected,) = ReferenceEvaluator(made).run(None, {"x": np.zeros((2, 6), np.float32)})
    expected = np.asarray(expected)
    assert facts.values["y"].shape == expected.shape
    if op == "SequenceLength":
        assert facts.data["y"].tolist() == expected.tolist()


def test_new_axis_of_joined_elements():
    nodes = [node("SequenceConstruct", ["x", "x", "x"], ["s"])]
    nodes.append(node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1))
    assert shapes(nodes, [], ["y"], value("x", 2, 6))[1].values["y"].shape == (2, 6, 3)


def test_an_element_that_is_not_there():
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceAt", ["s", "two"], ["h"], "at")]
    nodes.append(node("MatMul", ["h", "w"], ["y"]))
    (told,) = read_model("m", model([value("x", 2, 4)], nodes, [number("two", 2), weight("w", 4, 4)])).diagnostics
    assert (told.code, "`at` (SequenceAt)" in told.message) == ("AS611", True)


@pytest.mark.parametrize("where, first, last", [([], (9, 4), (2, 4)), (["zero"], (2, 4), (9, 4))])
def test_a_list_that_grows_in_a_loop(where, first, last):
    # five rows of [2, 4] behind, or in front of, one of [9, 4]
    nodes = [node("SequenceInsert", ["q", "x", *where], ["p"]), node("Identity", ["c"], ["go"])]
    inside = body(nodes, ["p"], helper.make_tensor_sequence_value_info("q", FLOAT, None))
    graph = [
        node("SequenceConstruct", ["z"], ["s"]),
        node("Loop", ["n", "", "s"], ["t"], "loop", body=inside),
        node("SequenceAt", ["t", "zero"], ["a"]),
        node("SequenceAt", ["t", "back"], ["b"]),
        node("SequenceLength", ["t"], ["k"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    stored = [number("n", 5), number("zero", 0), number("back", -1)]
    _, facts = shapes(graph, stored, ["a", "b", "k", "y"], value("x", 2, 4), value("z", 9, 4))
    assert [facts.values[name].shape for name in "aby"] == [first, last, (19, 4)]
    assert facts.data["k"].tolist() == 6


def test_a_list_of_unknown_length():
    nodes = [node("SequenceInsert", ["q", "x"], ["p"]), node("Identity", ["c"], ["go"])]
    inside = body(nodes, ["p"], helper.make_tensor_sequence_value_info("q", FLOAT, None))
    graph = [
        node("SequenceEmpty", [], ["s"]),
        node("Loop", ["n", "", "s"], ["t"], "loop", body=inside),
        node("SequenceAt", ["t", "zero"], ["a"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    _, facts = shapes(graph, [number("zero", 0)], ["a", "y"], value("x", 2, 4), value("n", dtype=INT64))
    assert [facts.values[name].shape for name in "ay"] == [(2, 4), (None, 4)]


def test_the_trip_count_of_a_branch_that_is_known():
    def branch(name, count):
        return helper.make_graph(
            [node("Constant", [], [name], value=numpy_helper.from_array(np.array(count)))],
            name,
            [],
            [value(name, dtype=INT64)],
        )

    nodes = [
        node("Shape", ["x"], ["s"], end=1),
        node("Equal", ["s", "two"], ["even"]),
        node("If", ["even"], ["n"], then_branch=branch("t", 3), else_branch=branch("e", 5)),
        node("Loop", ["n", "", "x"], ["y"], "loop", body=body(
            [node("MatMul", ["h", "w"], ["o"], "mm"), node("Identity", ["c"], ["go"])], ["o"], value("h", 2, 4))),
    ]  # fmt: skip
    made = model([value("x", 2, 4)], nodes, [ints("two", 2), weight("w", 4, 4)])
    assert read_model("m", made).value.macs == 32 * 3


def test_numbers_a_sample_do_not_train():
    nodes = [node("Gather", ["e", "ids"], ["h"], "emb"), node("Mul", ["h", "ones"], ["y"])]
    made = model([value("ids", 24, dtype=INT64)], nodes, [weight("e", 50, 8), weight("ones", 24, 1)])
    assert read_model("m", made).value.params == 400
