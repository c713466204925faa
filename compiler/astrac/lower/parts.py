"""Layers to parts: overrides, then each strategy's cut, then what a part costs in each phase."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.compute.work import Work, products
from astrac.model import Layer, Model, Role
from astrac.plan import Phase
from astrac.strategies import context, expert, tensor
from astrac.strategies.part import Part, Setting, matches
from astrac.strategies.placement import REPLICA, SHARD, TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.spec import LayerOverride

CUTS = (tensor.cut, context.cut, expert.cut)
"""In this order: the context axis divides what the tensor axis exchanges, the expert axis goes around both."""

_SHARDS = {"column": Role.COLUMN, "row": Role.ROW, "none": Role.OTHER}
_EXPERTS = {Role.EXPERT_COLUMN, Role.EXPERT_ROW}


def override(model: Model, overrides: Sequence[LayerOverride]) -> Model:
    """The model with `freeze` and `shard` applied, and what they mean for input gradients upstream."""
    if not overrides:
        return model
    layers = [_overridden(layer, overrides) for layer in model.layers]
    learns: list[bool] = []
    for index, layer in enumerate(layers):
        upstream = any(learns[source] for source in layer.inputs)
        learns.append(upstream or (layer.trainable and layer.weight is not None))
        layers[index] = replace(layer, input_gradient=layer.input_gradient and upstream)
    return replace(model, layers=tuple(layers))


def _overridden(layer: Layer, overrides: Sequence[LayerOverride]) -> Layer:
    for found in overrides:
        if not matches(found, layer):
            continue
        if found.freeze is not None:
            layer = replace(layer, trainable=not found.freeze and layer.weight is not None)
        if found.shard is not None:
            layer = replace(layer, role=_SHARDS[found.shard])
    return layer


def part(layer: Layer, setting: Setting) -> Part:
    """What one rank does of a layer."""
    weights = 0 if layer.weight is None else layer.weight.elements
    precision = setting.widths.compute
    for found in setting.overrides(layer):
        precision = found.precision or precision
    whole = Part(
        layer=layer,
        weights=weights,
        bias=0 if layer.bias is None else layer.bias.elements,
        weight_reads=weights if layer.weight_reads is None else layer.weight_reads,
        macs=layer.macs,
        vector_flops=layer.vector_flops,
        inputs=layer.input_elements,
        outputs=layer.output_elements,
        kept=layer.kept_elements,
        leaves=layer.output_elements,
        matmuls=layer.matmuls,
        precision=precision,
        reduced_on=_reduced_on(layer, setting),
    )
    for cut in CUTS:
        whole = cut(whole, setting)
    return whole


def _reduced_on(layer: Layer, setting: Setting) -> tuple[str, ...]:
    """Axes whose ranks hold copies of the weights and see other tokens, innermost first."""
    axes = [axis for axis in TOKENS if not (axis == "expert" and layer.role in _EXPERTS)]
    if SHARD in setting.degrees:
        axes[:1] = [SHARD, REPLICA]
    order = list(setting.degrees)
    return tuple(sorted((axis for axis in axes if setting.degrees[axis] > 1), key=order.index))


def phases(piece: Part) -> tuple[Phase, ...]:
    """What backward does for a part, in order.

    The weight gradient comes first, so that its reduction starts early; the input gradient comes first where it is
    exchanged, so that the exchange runs beside the weight gradient.
    """
    layer = piece.layer
    found = []
    if layer.trainable and piece.weights + piece.bias:
        found.append(Phase.WEIGHT_GRADIENT)
    if layer.input_gradient:
        found.append(Phase.INPUT_GRADIENT)
    exchanged = any(exchange.point.name == "AFTER_INPUT_GRADIENT" for exchange in piece.exchanges)
    return tuple(reversed(found)) if exchanged else tuple(found)


def work(piece: Part, phase: Phase, setting: Setting) -> Work:
    """FLOPs, bytes and products of one part in one phase.

    Forward reads weights and inputs and writes outputs. The input gradient reads weights and the output's gradient,
    writes the input's, and reads the inputs again where the derivative depends on them (anything but a linear layer).
    The weight gradient reads inputs and the output's gradient and writes the weight's. A layer without products spends
    a multiply and an add an element on its weight gradient.
    """
    layer, wide = piece.layer, setting.widths
    activations = (piece.inputs + piece.outputs) * wide.activations
    weights = (piece.weight_reads + piece.bias) * wide.weights
    linear = layer.weight is not None and layer.macs > 0
    if phase is Phase.INPUT_GRADIENT:
        products_of = 4 if layer.activation_product else 2
        again = 0 if linear else piece.inputs * wide.activations
        flops, moved = products_of * piece.macs + piece.vector_flops, activations + weights + again
    elif phase is Phase.WEIGHT_GRADIENT:
        flops = 2 * piece.macs if piece.macs else 2 * piece.outputs
        moved = activations + (piece.weight_reads + piece.bias) * wide.gradients
    else:
        flops, moved = 2 * piece.macs + piece.vector_flops, activations + weights
    matmuls = products(layer, piece.matmuls, phase.value)
    return Work(flops, moved, matmuls, layer.name, phase.value, piece.precision)
