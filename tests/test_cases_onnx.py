"""Models as exporters write them, with the parameters and multiply-accumulates that the module has."""

from pathlib import Path

import pytest

from astrac.models.onnx import read_model

HERE = Path(__file__).parent / "cases" / "onnx"

RIGHT = {
    "mask_b2_anon": (128, 8192),  # a causal mask, folded for a batch of two
    "where_scalar_mask": (64, 6144),  # Where(constant, 0, -1e9): the two numbers fill a mask
    "groupnorm_ts": (80, 6144),  # conv 16 x 3, scale 16, shift 16; ones and zeros of the instance norm are not trained
    "a_log": (768, 6144),  # Mamba: -exp(A_log), 32 x 8, scales activations
}
"""Parameters and MACs."""


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_trained(name):
    result = read_model(name, HERE / f"{name}.onnx")
    assert result.value is not None, [found.message for found in result.diagnostics]
    layers = result.value.layers
    assert (sum(layer.params for layer in layers), sum(layer.macs for layer in layers)) == RIGHT[name]
    assert all(layer.trainable for layer in layers if layer.params)


def test_a_node_without_the_inputs_that_it_needs():
    (found,) = read_model("m", HERE / "crash_index_error.onnx").diagnostics
    assert found.code == "AS611"
    assert "`relu_y` (Gather)" in found.message or "(Gather)" in found.message
    assert "1 input and needs 2" in found.message
