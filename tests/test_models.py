"""What passes hand to each other about a model."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import astrac.models
from astrac.models.graph import Constant
from astrac.models.model import Layer, Model, Tensor, traffic

GROWING = {"onnx.drafts.LayerDraft", "onnx.facts.Facts", "onnx.splice.Splicer", "transformer.rows.TransformerBuilder"}
"""What one pass fills and keeps to itself."""


def data():
    """Every data class of the wing."""
    for found in pkgutil.walk_packages(astrac.models.__path__, "astrac.models."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__:
                yield value


CLASSES = {f"{value.__module__.removeprefix('astrac.models.')}.{value.__name__}": value for value in data()}


@pytest.mark.parametrize("name", CLASSES)
def test_data_between_passes_is_frozen(name):
    value = CLASSES[name]
    assert value.__dataclass_params__.frozen == (name not in GROWING)


LINEAR = Layer("fc", "Gemm", Tensor("w", (3, 4)), macs=24)
OTHER = Layer("relu", "Relu", vector_flops=8)
SCALE = Layer("norm", "LayerNormalization", Tensor("g", (4,)), vector_flops=56)


@pytest.mark.parametrize(("layer", "again"), [(LINEAR, 0), (OTHER, 100), (SCALE, 100)], ids=["linear", "relu", "norm"])
def test_traffic(layer, again):
    # Reads 100 and 1000, writes 10. Backward of anything but a linear layer reads the input again.
    found = traffic(layer, inputs=100, outputs=10, output_gradients=7, weights=1000, gradients=2000)
    assert found == (1110, 1110 + again, 100 + 7 + 2000)


def test_sums_of_a_model():
    idle = dataclasses.replace(LINEAR, name="idle", runs=False)
    fixed = dataclasses.replace(LINEAR, name="fixed", trainable=False)
    shared = dataclasses.replace(LINEAR, name="shared", shared_with="fc")
    found = Model("m", (LINEAR, OTHER, idle, fixed, shared), 1)
    assert (found.params, found.trainable_params, found.macs) == (3 * 12, 2 * 12, 3 * 24)


def test_gradients_of_a_layer():
    product = Layer("scores", "MatMul", macs=24)
    assert (LINEAR.weight_gradient_macs, LINEAR.input_gradient_macs) == (24, 24)
    assert (product.weight_gradient_macs, product.input_gradient_macs) == (0, 48)
    assert Layer("scores", "MatMul", macs=1).activation_product
    first = dataclasses.replace(LINEAR, input_gradient=False, trainable=False)
    assert (first.weight_gradient_macs, first.input_gradient_macs) == (0, 0)
    assert (LINEAR.activation_product, product.activation_product, OTHER.activation_product) == (False, True, False)


def test_owned_tensors():
    bias, adapter = Tensor("b", (3,)), Tensor("a", (2, 2), "float16")
    layer = dataclasses.replace(LINEAR, bias=bias, others=(adapter,))
    assert layer.owned == (LINEAR.weight, bias, adapter)
    assert (layer.params, sum(tensor.bytes for tensor in layer.owned)) == (12 + 3 + 4, 48 + 12 + 8)
    assert dataclasses.replace(layer, shared_with="other").owned == (bias, adapter)


def test_numbers_and_bytes_that_extents_do_not_tell():
    packed = Tensor("w", (4, 5), "uint8", numbers=40)
    assert (packed.elements, packed.bytes) == (40, 20)
    sparse = Tensor("w", (4, 5), "float32", stored=12)
    assert (sparse.elements, sparse.bytes) == (20, 12)


def test_numbers_of_a_constant_only_where_they_are_few():
    assert Constant("n", (2,), "int64", payload=(3, 4)).array().tolist() == [3, 4]
    assert Constant("n", (), "float32", payload=1.5).array().tolist() == 1.5
    assert Constant("n", (3,), "int64", payload=(3, 4)).array() is None
    assert Constant("n", (2,), "int64").array() is None
    for dtype, most in (("int64", 4096), ("int32", 4096), ("float32", 16), ("float64", 16)):
        assert Constant("n", (most,), dtype, payload=(1,) * most).array().shape == (most,)
        assert Constant("n", (most + 1,), dtype, payload=(1,) * (most + 1)).array() is None
    assert Constant("n", (1,), "int16", payload=(1,)).array() is None
