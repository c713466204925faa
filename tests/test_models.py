"""What passes hand to each other about a model."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import astrac.models
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
    first = dataclasses.replace(LINEAR, input_gradient=False, trainable=False)
    assert (first.weight_gradient_macs, first.input_gradient_macs) == (0, 0)
    assert (LINEAR.activation_product, product.activation_product, OTHER.activation_product) == (False, True, False)
