"""`layer "pattern"` blocks laid over the layers, and what they mean for the layers around them."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, diagnostic
from astrac.models.model import Layer, Model, Role
from astrac.suggest import did_you_mean
from astrac.training.strategies.part import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from astrac.source import Span
    from astrac.spec import LayerOverride

_SHARDS = {"column": Role.COLUMN, "row": Role.ROW, "none": Role.OTHER}

_BY_CHANNEL = {"Add", "BatchNormalization", "Div", "InstanceNormalization", "Mul", "PRelu", "Sub"}
"""Operators with weights that work on each feature by itself, so that they can work on some of them."""

_BY_FEATURE = _BY_CHANNEL | {
    "Abs", "AveragePool", "Cast", "Celu", "Clip", "Concat", "Dropout", "Elu", "Erf", "Exp", "Flatten", "Gelu",
    "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Max", "MaxPool",
    "Mean", "Min", "Mish", "Neg", "Pad", "Pow", "Relu", "Reshape", "Resize", "Selu", "Sigmoid", "Slice", "Softplus",
    "Softsign", "Split", "Sqrt", "Squeeze", "Sum", "Swish", "Tanh", "ThresholdedRelu", "Transpose", "Unsqueeze",
    "Upsample", "Where",
}  # fmt: skip
"""Those without weights too."""


def unmatched(model: Model, overrides: Sequence[LayerOverride], at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS620 for each pattern that speaks of no layer."""
    for index, found in enumerate(overrides):
        if not any(matches(found, layer) for layer in model.layers):
            hints = did_you_mean(found.name, (layer.name for layer in model.layers))
            message = f"no layer of the model matches `{found.name}`"
            yield diagnostic("AS620", message, at(f"/model/layers/{index}"), hints=hints)


def override(model: Model, overrides: Sequence[LayerOverride], *, cut: bool) -> Model:
    """The model with `freeze` and `shard` applied, and what they mean for other layers.

    A weight that layers share is frozen when one of them is. What does not run trains nothing.

    Args:
        model: as it was read.
        overrides: in file order; the last word wins.
        cut: whether there is a tensor axis for `shard`.
    """
    layers = [_overridden(layer, overrides) for layer in model.layers]
    frozen = {layer.shared_with or layer.name for layer in layers if layer.weight is not None and not layer.trainable}
    layers = [
        replace(layer, trainable=False) if (layer.shared_with or layer.name) in frozen or not layer.runs else layer
        for layer in layers
    ]
    layers = _with_gradients(layers)
    if cut and any(found.shard not in (None, "none") for found in overrides):
        layers = _spread(layers)
    return replace(model, layers=tuple(layers))


def _overridden(layer: Layer, overrides: Sequence[LayerOverride]) -> Layer:
    for found in overrides:
        if not matches(found, layer):
            continue
        if found.freeze is not None:
            layer = replace(layer, trainable=not found.freeze and (layer.weight is not None or bool(layer.owned)))
        if found.shard is not None:
            layer = replace(layer, role=_SHARDS[found.shard])
    return layer


def _with_gradients(layers: Sequence[Layer]) -> list[Layer]:
    """With `input_gradient` where something upstream trains, and with what the gradients that are left need."""
    learns: list[bool] = []
    kept: set[int] = set()
    found = []
    for given in layers:
        layer = given
        gradient, operands = upstream = layer.upstream(learns)
        learns.append(gradient or layer.trainable)
        if (layer.input_gradient, layer.operand_gradients) != upstream:
            layer = replace(layer, input_gradient=gradient, operand_gradients=operands)
        if layer.keeps and (elements := layer.newly_kept(kept)) != layer.kept_elements:
            layer = replace(layer, kept_elements=elements)
        found.append(layer)
    return found


class _Spread(Enum):
    """How much of an output a rank has: all, some of its features, some of the heads of an attention."""

    WHOLE = "whole"
    FEATURES = "features"
    HEADS = "heads"


def _spread(layers: Sequence[Layer]) -> list[Layer]:
    """The roles of the layers around columns and rows that were marked one by one.

    Features that a column cut stay cut through activations, norms by channel and products of activations (whose heads
    they are from there on), up to a row. Where anything else reads them the column makes them whole (Megatron's
    `gather_output`); a row whose input is whole takes its part of it.
    """
    readers: list[list[int]] = [[] for _ in layers]
    for index, layer in enumerate(layers):
        for source in layer.inputs:
            readers[source].append(index)
    gathered: set[int] = set()
    while True:
        found: list[_Spread] = []
        for index, layer in enumerate(layers):
            found.append(_spread_of(layer, [found[source] for source in layer.inputs], gathers=index in gathered))
        unfit = [index for index, spread in enumerate(found) if spread is not _Spread.WHOLE]
        unfit = [index for index in unfit if not _taken_cut(readers[index], layers, found)]
        if not unfit:
            return [_placed(index, layer, found) for index, layer in enumerate(layers)]
        gathered |= _columns(unfit, layers)


def _spread_of(layer: Layer, inputs: Sequence[_Spread], *, gathers: bool) -> _Spread:
    """How much of a layer's output a rank has."""
    if layer.role is Role.COLUMN:
        return _Spread.WHOLE if gathers else _Spread.FEATURES
    if layer.role is not Role.OTHER or not inputs or _Spread.WHOLE in inputs:
        return _Spread.WHOLE
    if layer.activation_product or (_Spread.HEADS in inputs and layer.weight is None):
        return _Spread.HEADS
    alone = layer.op in (_BY_FEATURE if layer.weight is None else _BY_CHANNEL)
    return inputs[0] if alone and not layer.macs else _Spread.WHOLE


def _taken_cut(readers: Sequence[int], layers: Sequence[Layer], found: Sequence[_Spread]) -> bool:
    """Whether all that read a cut output take it so: rows, and layers that are cut without being columns."""
    return bool(readers) and all(
        layers[reader].role is Role.ROW
        or (found[reader] is not _Spread.WHOLE and layers[reader].role is not Role.COLUMN)
        for reader in readers
    )


def _columns(unfit: Sequence[int], layers: Sequence[Layer]) -> set[int]:
    """The columns that some outputs come from."""
    found: set[int] = set()
    todo = list(unfit)
    while todo:
        index = todo.pop()
        if layers[index].role is Role.COLUMN:
            found.add(index)
        else:
            todo += layers[index].inputs
    return found


def _placed(index: int, layer: Layer, found: Sequence[_Spread]) -> Layer:
    """A layer with the role that its surroundings give it."""
    if layer.role is Role.COLUMN and found[index] is _Spread.WHOLE:
        return replace(layer, role=Role.GATHERED_COLUMN)
    if layer.role is Role.ROW and not (layer.inputs and all(found[i] is not _Spread.WHOLE for i in layer.inputs)):
        return replace(layer, role=Role.SPLIT_ROW)
    if layer.role is Role.OTHER and found[index] is not _Spread.WHOLE:
        return replace(layer, role=Role.BETWEEN)
    return layer


def uneven(
    model: Model, overrides: Sequence[LayerOverride], degree: int, at: Callable[[str], Span]
) -> Iterator[Diagnostic]:
    """AS517 for each marked layer whose features do not divide by the degree of the tensor axis."""
    for layer in model.layers:
        position = {Role.COLUMN: 2, Role.GATHERED_COLUMN: 2, Role.ROW: 3, Role.SPLIT_ROW: 3}.get(layer.role)
        marks = [i for i, found in enumerate(overrides) if found.shard is not None and matches(found, layer)]
        if position is None or not marks:
            continue
        for sizes in layer.matmuls[:1]:
            if sizes[position] % degree:
                side = "output" if position == 2 else "input"
                message = f"{side} features {sizes[position]} of `{layer.name}` are not a multiple of tensor {degree}"
                yield diagnostic("AS517", message, at(f"/model/layers/{marks[-1]}/shard"))
