"""The rows of a transformer's layer table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from astrac.models.model import Layer, Role, Tensor

if TYPE_CHECKING:
    from astrac.models.shape import Shape


class Activation(NamedTuple):
    """A feed-forward activation: whether a second matrix gates it, and its FLOPs an element of `ffn`."""

    gated: bool
    flops: int


ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(gated=False, flops=1),
    "gelu": Activation(gated=False, flops=8),
    "swiglu": Activation(gated=True, flops=6),
    "geglu": Activation(gated=True, flops=9),
}
"""gelu by its tanh form; a gate is one product more."""

NORM_FLOPS: dict[str, int] = {"layer_norm": 7, "rms_norm": 4}
"""An element: statistics, normalisation, scale and shift."""

SOFTMAX_FLOPS = 5
"""A score: scale, maximum, exponential of the difference, sum, division."""


def mask(elements: int) -> int:
    """Elements of 16 bits that a dropout mask of a byte an element fills."""
    return -(-elements // 2)


@dataclass
class Rows:
    """The table while it is filled.

    Attributes:
        shape: of the transformer.
        tokens: of the micro-batch.
        layers: rows so far.
    """

    shape: Shape
    tokens: int
    layers: list[Layer] = field(default_factory=list)

    def add(self, layer: Layer) -> int:
        """Appends a row; its index."""
        self.layers.append(layer)
        return len(self.layers) - 1

    @property
    def stream(self) -> int:
        """Elements of the residual stream."""
        return self.tokens * self.shape.hidden

    @property
    def stream_mask(self) -> int:
        """Of its dropout mask, in elements of 16 bits."""
        return mask(self.stream) if self.shape.dropout else 0

    def bias(self, name: str, *shape: int) -> Tensor | None:
        """Of a linear layer, where this transformer has them."""
        return Tensor(f"{name}.bias", shape) if self.shape.bias else None

    def norm(self, name: str, source: int, block: int | None = None) -> int:
        """A norm of the stream. It keeps its input."""
        hidden = self.shape.hidden
        return self.add(
            Layer(
                name,
                "LayerNormalization" if self.shape.norm == "layer_norm" else "RMSNormalization",
                Tensor(f"{name}.weight", (hidden,)),
                Tensor(f"{name}.bias", (hidden,)) if self.shape.norm == "layer_norm" else None,
                vector_flops=NORM_FLOPS[self.shape.norm] * self.stream,
                input_elements=self.stream,
                output_elements=self.stream,
                kept_elements=self.stream,
                kept_replicated=self.stream,
                inputs=(source,),
                role=Role.SEQUENCE,
                block=block,
            )
        )

    def column(self, name: str, width: int, source: int, block: int, activation: Activation | None = None) -> int:
        """A matrix from the stream to `width`, twice as wide when gated. It keeps its input and what is activated."""
        hidden, tokens = self.shape.hidden, self.tokens
        features = 2 * width if activation is not None and activation.gated else width
        return self.add(
            Layer(
                name,
                "Gemm",
                Tensor(f"{name}.weight", (features, hidden)),
                self.bias(name, features),
                macs=tokens * features * hidden,
                matmuls=((1, tokens, features, hidden),),
                vector_flops=0 if activation is None else activation.flops * tokens * width,
                input_elements=self.stream,
                output_elements=tokens * width,
                kept_elements=self.stream + (0 if activation is None else tokens * features),
                kept_replicated=self.stream,
                inputs=(source,),
                role=Role.COLUMN,
                block=block,
            )
        )

    def row(self, name: str, width: int, source: int, residual: int, block: int) -> int:
        """A matrix from `width` back to the stream, dropout and the residual add. It keeps its input and the mask."""
        hidden, tokens = self.shape.hidden, self.tokens
        return self.add(
            Layer(
                name,
                "Gemm",
                Tensor(f"{name}.weight", (hidden, width)),
                self.bias(name, hidden),
                macs=tokens * hidden * width,
                matmuls=((1, tokens, hidden, width),),
                vector_flops=self.stream,
                input_elements=tokens * width + self.stream,
                output_elements=self.stream,
                kept_elements=tokens * width + self.stream_mask,
                kept_replicated=self.stream_mask,
                input_replicated=self.stream,
                inputs=(source, residual),
                role=Role.ROW,
                block=block,
            )
        )
