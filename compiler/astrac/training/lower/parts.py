"""Layers to parts: each strategy's cut, then what a part costs in each phase."""

from __future__ import annotations

from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from astrac.models.model import Layer, Role, traffic
from astrac.training.compute.cost import Work, products
from astrac.training.plan import Phase
from astrac.training.strategies import context, expert, tensor
from astrac.training.strategies.part import ExchangePoint, Part, Setting
from astrac.training.strategies.placement import REPLICA, SHARD, TOKENS

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

CUTS = (tensor.cut, context.cut, expert.cut)
"""In this order: the context axis divides what the tensor axis exchanges, the expert axis goes around both."""

_EXPERTS = {Role.EXPERT_COLUMN, Role.EXPERT_ROW}


_NAMES = {"name", "inputs", "block", "weight", "bias", "others"}
of_layer = attrgetter(*(field.name for field in fields(Layer) if field.name not in _NAMES))
"""What a layer is, but for its names and places."""


def parts(layers: Sequence[Layer], setting: Setting) -> list[Part]:
    """What one rank does of each layer; layers that are alike are cut once."""
    found: list[Part] = []
    alike: dict[Hashable, Part] = {}
    for layer in layers:
        tensors = tuple(tensor and tensor.shape for tensor in (layer.weight, layer.bias, *layer.others))
        key = (of_layer(layer), tensors, layer.block is None, *setting.overrides(layer))
        if key not in alike:
            # A layer's measured time is its own.
            sign = len(alike) if setting.spec.model.times is None else -1
            alike[key] = replace(part(layer, setting), sign=sign)
        found.append(replace(alike[key], layer=layer))
    return found


def part(layer: Layer, setting: Setting) -> Part:
    """What one rank does of a layer."""
    weights = 0 if layer.weight is None else layer.weight.elements
    training = setting.spec.training
    assert training is not None
    precision, recompute = setting.widths.compute, training.recompute
    for found in setting.overrides(layer):
        precision = found.precision or precision
        recompute = found.recompute or recompute
    whole = Part(
        layer=layer,
        weights=weights,
        bias=sum(tensor.elements for tensor in (layer.bias, *layer.others) if tensor is not None),
        weight_reads=weights if layer.weight_reads is None else layer.weight_reads,
        macs=layer.macs,
        vector_flops=layer.vector_flops,
        inputs=layer.input_elements,
        outputs=layer.output_elements,
        kept=layer.kept_elements,
        output_gradients=layer.output_elements,
        leaves=layer.output_elements,
        matmuls=layer.matmuls,
        precision=precision,
        recompute=_recomputed(recompute, layer, setting),
        reduced_on=_reduced_on(layer, setting),
    )
    if not layer.runs:
        idle = dict.fromkeys(("macs", "vector_flops", "inputs", "outputs", "kept", "output_gradients", "leaves"), 0)
        return replace(whole, **idle, matmuls=(), recompute="none")  # type: ignore[arg-type]
    for cut in CUTS:
        whole = cut(whole, setting)
    return whole


def _recomputed(word: str, layer: Layer, setting: Setting) -> str:
    """What backward computes again of a layer: `selective` means attention, `full` all of a transformer's block."""
    if word == "selective":
        return word if layer.activation_product else "none"
    outside = setting.spec.model.transformer is not None and layer.block is None
    return "none" if outside else word


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
    return tuple(reversed(found)) if piece.at(ExchangePoint.AFTER_INPUT_GRADIENT) else tuple(found)


def _portion(macs: int, piece: Part) -> int:
    """What a rank has of further products of a layer: as much as of its forward ones."""
    return macs * piece.macs // piece.layer.macs if macs else 0


def work(piece: Part, phase: Phase, setting: Setting) -> Work:
    """FLOPs, bytes and products of one part in one phase; recomputation costs what forward does.

    The input gradient of a layer without products costs what forward does; its weight gradient costs a multiply and an
    add an element of the output's gradient. Bytes are those of `traffic`.
    """
    layer, wide = piece.layer, setting.widths
    moved = traffic(
        layer,
        piece.inputs * wide.activations,
        piece.outputs * wide.activations,
        piece.output_gradients * wide.activations,
        (piece.weight_reads + piece.bias) * wide.weights,
        (piece.weight_reads + piece.bias) * wide.gradients,
    )
    flops, size = 2 * piece.macs + piece.vector_flops, moved.forward
    if phase is Phase.INPUT_GRADIENT:
        more = layer.input_gradient_macs - layer.macs
        flops, size = flops + 2 * _portion(more, piece), moved.input_gradient
    elif phase is Phase.WEIGHT_GRADIENT:
        more = 0 if layer.input_gradient else layer.time_macs
        flops = 2 * ((piece.macs + _portion(more, piece)) or piece.output_gradients)
        size = moved.weight_gradient
    return Work(flops, size, products(layer, piece.matmuls, phase.value), layer.name, phase.value, piece.precision)
