"""Units: what is gathered, recomputed, reduced and updated together, and never cut between pipeline stages.

A transformer's block is a unit, and so is all that comes before the first one (embeddings), and after the last (norm
and head). Elsewhere a unit is a layer with a matrix or a kernel together with the layers without one that follow it
(norms, activations, pooling).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.models.model import Layer, Model


@dataclass(frozen=True, eq=False)
class LayerUnit:
    """Layers `first` to `last` (inclusive) of the model; one object, one unit."""

    name: str
    first: int
    last: int
    block: int | None

    @property
    def indices(self) -> range:
        """The positions of its layers in the model."""
        return range(self.first, self.last + 1)


def is_matrix(layer: Layer) -> bool:
    """Whether a layer has a matrix, a kernel or a table, rather than a norm's scale or nothing."""
    return layer.weight is not None and (layer.macs > 0 or len(layer.weight.shape) > 1)


def units(model: Model) -> tuple[LayerUnit, ...]:
    """The model in units, in order; together they are all layers."""
    layers = model.layers
    if any(layer.block is not None for layer in layers):
        opens = [layer.block != previous.block for previous, layer in pairwise(layers)]
    else:
        opens = [is_matrix(layer) for layer in layers[1:]]
    starts = [0, *(index for index, opened in enumerate(opens, 1) if opened)]
    # Layers without a matrix before the first one (a norm of the input) belong to it.
    if len(starts) > 1 and layers[0].block is None and not any(layer.params for layer in layers[: starts[1]]):
        starts.pop(1)
    ends = [start - 1 for start in starts[1:]] + [len(layers) - 1]
    return tuple(_unit(layers, first, last) for first, last in zip(starts, ends, strict=True))


def _unit(layers: Sequence[Layer], first: int, last: int) -> LayerUnit:
    block = layers[first].block
    owner = next(
        (layer for layer in layers[first : last + 1] if layer.macs and layer.weight is not None), layers[first]
    )
    return LayerUnit(owner.name if block is None else f"block{block}", first, last, block)
