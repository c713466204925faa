"""The rows of a transformer's layer table."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from astrac.models.model import Layer, Role, Tensor

if TYPE_CHECKING:
    from astrac.models.model import Matmul
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

ROTARY_FLOPS = 3
"""An element of a query or key: two products and a sum."""

SOFTMAX_FLOPS = 5
"""A score: scale, maximum, exponential of the difference, sum, division."""


class Counts(TypedDict, total=False):
    """Fields of a `Layer` that count FLOPs, elements or rows."""

    vector_flops: int
    input_elements: int
    output_elements: int
    kept_elements: int
    kept_replicated: int
    input_replicated: int
    loss_rows: int


def mask(elements: int) -> int:
    """Elements of 16 bits that a dropout mask of a byte an element fills."""
    return -(-elements // 2)


@dataclass
class TransformerBuilder:
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
        """Appends a row and tells its index."""
        self.layers.append(layer)
        return len(self.layers) - 1

    @property
    def stream(self) -> int:
        """Elements of the residual stream, tokens x hidden."""
        return self.tokens * self.shape.hidden

    @property
    def stream_mask(self) -> int:
        """The dropout mask of the stream, in elements of 16 bits."""
        return mask(self.stream) if self.shape.dropout else 0

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

    def product(
        self,
        name: str,
        role: Role,
        weight: tuple[int, ...],
        tokens: int,
        inputs: tuple[int, ...],
        block: int | None = None,
        *,
        bias: bool = False,
        matmuls: tuple[Matmul, ...] = (),
        **counts: Unpack[Counts],
    ) -> Layer:
        """A row of tokens by a matrix [features, width], not yet added.

        Args:
            name: of the layer.
            role: of the layer.
            weight: extents of the matrix; experts have one each, and their number in front.
            tokens: that go through it.
            inputs: the layers that it reads.
            block: the transformer block that it belongs to.
            bias: whether it has one.
            matmuls: the products, where they are not just one of all tokens.
            counts: further counts of the layer, and others than tokens x width read, tokens x features written.
        """
        *experts, features, width = weight
        counts.setdefault("input_elements", tokens * width)
        counts.setdefault("output_elements", tokens * features)
        return Layer(
            name,
            "Gemm",
            Tensor(f"{name}.weight", weight),
            Tensor(f"{name}.bias", (*experts, features)) if bias else None,
            macs=tokens * features * width,
            matmuls=matmuls or ((1, tokens, features, width),),
            inputs=inputs,
            role=role,
            block=block,
            **counts,
        )

    def column(self, name: str, width: int, source: int, block: int, activation: Activation | None = None) -> int:
        """A matrix from the stream to `width`, twice as wide when gated. It keeps its input and what is activated."""
        tokens, biased = self.tokens, self.shape.bias
        features = 2 * width if activation is not None and activation.gated else width
        return self.add(
            self.product(
                name, Role.COLUMN, (features, self.shape.hidden), tokens, (source,), block, bias=biased,
                vector_flops=0 if activation is None else activation.flops * tokens * width,
                output_elements=tokens * width,
                kept_elements=self.stream + (0 if activation is None else tokens * features),
                kept_replicated=self.stream,
            )
        )  # fmt: skip

    def row(self, name: str, width: int, source: int, residual: int, block: int) -> int:
        """A matrix from `width` back to the stream, dropout and the residual add. It keeps its input and the mask."""
        weight, read, biased = (self.shape.hidden, width), self.tokens * width, self.shape.bias
        return self.add(
            self.product(
                name, Role.ROW, weight, self.tokens, (source, residual), block, bias=biased,
                vector_flops=self.stream,
                input_elements=read + self.stream,
                kept_elements=read + self.stream_mask,
                kept_replicated=self.stream_mask,
                input_replicated=self.stream,
            )
        )  # fmt: skip

    def attention(self, name: str, qkv: int, block: int) -> int:
        """Scores, softmax and context of all heads; a causal kernel computes half of the scores."""
        shape, tokens = self.shape, self.tokens
        heads = tokens // shape.sequence * shape.heads
        half = shape.sequence // 2 if shape.causal else 0
        scored, summed = half or shape.sequence, shape.sequence - half  # halves that add up to all keys
        scores = (heads, shape.sequence, scored, shape.head_size)
        context = (heads, shape.sequence, shape.head_size, summed)
        width = shape.query + 2 * shape.key
        square = heads * shape.sequence * shape.sequence
        rotary = ROTARY_FLOPS * tokens * (shape.query + shape.key) if shape.positions == "rotary" else 0
        return self.add(
            Layer(
                name,
                "Attention",
                macs=prod(scores) + prod(context),
                matmuls=(scores, context),
                vector_flops=SOFTMAX_FLOPS * heads * shape.sequence * scored + rotary,
                input_elements=tokens * width,
                output_elements=tokens * shape.query,
                kept_elements=tokens * width + square + (square + mask(square) if shape.dropout else 0),
                trainable=False,
                inputs=(qkv,),
                role=Role.ATTENTION,
                block=block,
            )
        )
