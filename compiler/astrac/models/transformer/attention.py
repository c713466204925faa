"""Scores, softmax and context of all heads."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from astrac.models.model import Layer, Role
from astrac.models.transformer.rows import SOFTMAX_FLOPS, mask

if TYPE_CHECKING:
    from astrac.models.shape import Shape
    from astrac.models.transformer.rows import TransformerBuilder

ROTARY_FLOPS = 3
"""An element of a query or key: two products and a sum."""


def attention(rows: TransformerBuilder, name: str, qkv: int, block: int) -> int:
    """Scores, softmax and context of all heads; a causal kernel computes half of the scores."""
    shape, tokens = rows.shape, rows.tokens
    batch = tokens // shape.sequence * shape.heads
    scored, summed = _keys(shape)
    scores = (batch, shape.sequence, scored, shape.head_size)
    context = (batch, shape.sequence, shape.head_size, summed)
    width = shape.query + 2 * shape.key
    square = batch * shape.sequence * shape.sequence
    rotary = ROTARY_FLOPS * tokens * (shape.query + shape.key) if shape.positions == "rotary" else 0
    return rows.add(
        Layer(
            name,
            "Attention",
            macs=prod(scores) + prod(context),
            matmuls=(scores, context),
            vector_flops=SOFTMAX_FLOPS * batch * shape.sequence * scored + rotary,
            input_elements=tokens * width,
            output_elements=tokens * shape.query,
            kept_elements=tokens * width + square + (square + mask(square) if shape.dropout else 0),
            trainable=False,
            inputs=(qkv,),
            role=Role.ATTENTION,
            block=block,
        )
    )


def _keys(shape: Shape) -> tuple[int, int]:
    """Keys that a query meets in scores and in context: all, or halves that add up to all when causal."""
    half = shape.sequence // 2 if shape.causal else 0
    return half or shape.sequence, shape.sequence - half
