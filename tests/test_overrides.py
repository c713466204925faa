"""Layers that a tensor axis cuts one by one: how far a cut reaches, and who makes features whole."""

import pytest

from astrac.models.model import Layer, Model, Role, Tensor
from astrac.spec import LayerOverride
from astrac.training.lower.overrides import override

MARKS = tuple(LayerOverride(kind="layer", name=word, shard=word) for word in ("column", "row"))
# Functions of one number; what moves numbers without mixing features; several values that are cut alike; over space.
OF_ONE = "Abs Cast Celu Clip Dropout Elu Erf Exp Gelu HardSigmoid HardSwish Identity LeakyRelu Log Mish Neg Relu Selu"
OF_ONE_TOO = "Sigmoid Softplus Softsign Sqrt Swish Tanh ThresholdedRelu"
MOVED = "Flatten Reshape Squeeze Transpose Unsqueeze Slice Split Concat Pad"
OF_SEVERAL = "Add Sub Mul Div Max Min Mean Pow Sum Where BatchNormalization InstanceNormalization PRelu"
OVER_SPACE = "AveragePool MaxPool GlobalAveragePool GlobalMaxPool Resize Upsample"
BY_FEATURE = [op for ops in (OF_ONE, OF_ONE_TOO, MOVED, OF_SEVERAL, OVER_SPACE) for op in ops.split()]
BY_CHANNEL = ("Add", "BatchNormalization", "Div", "InstanceNormalization", "Mul", "PRelu", "Sub")
MIXING = (
    "Softmax",
    "LayerNormalization",
    "LogSoftmax",
    "TopK",
    "ReduceSum",
    "ArgMax",
    "CumSum",
    "LRN",
    "Gather",
    "STFT",
)


def dense(name, *inputs):
    return Layer(name, "Gemm", Tensor(f"{name}.w", (8, 8)), macs=64, matmuls=((1, 1, 8, 8),), inputs=inputs)


def freeze(name, *, is_frozen=True):
    return LayerOverride(kind="layer", name=name, freeze=is_frozen)


def roles(*layers, cut=True, marks=MARKS):
    return [layer.role for layer in override(Model("m", layers, 1), marks, cut=cut).layers]


@pytest.mark.parametrize("op", BY_FEATURE)
def test_what_works_on_each_feature_leaves_them_cut(op):
    between = Layer("between", op, inputs=(0,))
    assert roles(dense("column"), between, dense("row", 1)) == [Role.COLUMN, Role.BETWEEN, Role.ROW]


@pytest.mark.parametrize("op", MIXING)
def test_what_mixes_features_gets_them_whole(op):
    between = Layer("between", op, inputs=(0,))
    assert roles(dense("column"), between, dense("row", 1)) == [Role.GATHERED_COLUMN, Role.OTHER, Role.SPLIT_ROW]


@pytest.mark.parametrize("op", [*BY_FEATURE, *MIXING])
def test_weights_of_a_channel_are_cut_with_it(op):
    between = Layer("between", op, Tensor("s", (8,)), inputs=(0,))
    found = roles(dense("column"), between, dense("row", 1))
    assert (found[1] is Role.BETWEEN) == (op in BY_CHANNEL)
    assert found[0] is (Role.COLUMN if op in BY_CHANNEL else Role.GATHERED_COLUMN)


def test_readers_decide():
    column, row = dense("column"), dense("row", 0)
    assert roles(column, row) == [Role.COLUMN, Role.ROW]
    assert roles(column) == [Role.GATHERED_COLUMN]  # nobody reads it
    assert roles(column, dense("other", 0)) == [Role.GATHERED_COLUMN, Role.OTHER]
    assert roles(column, row, dense("other", 0)) == [Role.GATHERED_COLUMN, Role.SPLIT_ROW, Role.OTHER]
    assert roles(dense("other"), row) == [Role.OTHER, Role.SPLIT_ROW]
    assert roles(dense("row")) == [Role.SPLIT_ROW]
    assert roles(column, row, cut=False) == [Role.COLUMN, Role.ROW]
    # One operand is whole: the sum is, and the column gathers.
    both = Layer("between", "Add", inputs=(0, 1))
    assert roles(column, dense("other"), both, dense("row", 2)) == [
        Role.GATHERED_COLUMN, Role.OTHER, Role.OTHER, Role.SPLIT_ROW,
    ]  # fmt: skip


def test_a_product_of_cut_activations_has_heads():
    """Features become heads: what works on each feature by itself, and on each head, leaves them cut."""
    scores = Layer("scores", "MatMul", macs=64, inputs=(0, 0))
    softmax = Layer("softmax", "Softmax", inputs=(1,))
    assert roles(dense("column"), scores, softmax, dense("row", 2)) == [
        Role.COLUMN, Role.BETWEEN, Role.BETWEEN, Role.ROW,
    ]  # fmt: skip


def test_frozen_weights_and_what_learns():
    """A shared weight is frozen with any of its layers; the last mark wins; gradients flow where something trains."""
    first, second = dense("a"), dense("b", 0)
    tied = Layer("c", "Gemm", Tensor("a.w", (8, 8)), macs=64, inputs=(1,), shared_with="a")

    def found(*marks):
        layers = override(Model("m", (first, second, tied), 1), marks, cut=False)
        return [(layer.trainable, layer.input_gradient) for layer in layers.layers]

    assert found() == [(True, False), (True, True), (True, True)]
    assert found(freeze("c")) == [(False, False), (True, False), (False, True)]
    assert found(freeze("*"), freeze("b", is_frozen=False)) == [(False, False), (True, False), (False, True)]
    assert found(freeze("*")) == [(False, False)] * 3
