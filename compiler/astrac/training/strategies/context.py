"""Context parallelism: each rank holds 1/c of the tokens of every sequence.

Everything but attention works on its own tokens. Attention sees the others' keys and values: gathered (Llama 3), passed
round a ring (Liu et al. 2023), or by exchanging heads for tokens (DeepSpeed Ulysses). Causal work is taken to be spread
evenly over the ranks, as zigzag orders of the tokens make it. A pooler reads the first tokens, which one rank holds: an
all-gather of one token a sample brings them to all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Kind
from astrac.models.model import Role
from astrac.training.strategies.part import Exchange, ExchangePoint, Part, Rotation, Setting, share

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.spec import Context

KIND = "context"


def cut(part: Part, setting: Setting) -> Part:
    """The part of a layer that works on one rank's tokens; what the tensor axis exchanges shrinks with them."""
    options: Context | None = setting.options(KIND)  # type: ignore[assignment]
    if options is None:
        return part
    degree = setting.degrees[KIND]
    if part.layer.role is Role.POOLER:
        gathered = Exchange(
            ExchangePoint.BEFORE_FORWARD, Kind.ALL_GATHER, part.inputs * setting.widths.activations, KIND
        )
        return part.outside(gathered)
    own = replace(
        part,
        macs=share(part.macs, degree),
        vector_flops=share(part.vector_flops, degree),
        inputs=share(part.inputs, degree),
        outputs=share(part.outputs, degree),
        kept=share(part.kept, degree),
        output_gradients=share(part.output_gradients, degree),
        leaves=share(part.leaves, degree),
        weight_reads=part.weight_reads if part.layer.weight_reads is None else share(part.weight_reads, degree),
        matmuls=tuple((batch, share(rows, degree), columns, inner) for batch, rows, columns, inner in part.matmuls),
        exchanges=tuple(replace(exchange, bytes=share(exchange.bytes, degree)) for exchange in part.exchanges),
    )
    if part.layer.role is not Role.ATTENTION:
        return own
    return METHODS[options.method].attend(part, own, setting)


def _sizes(own: Part) -> tuple[int, int]:
    """Elements of the queries and of the keys (or values) of this rank's tokens."""
    return own.outputs, (own.inputs - own.outputs) // 2


def _gathered(_whole: Part, own: Part, setting: Setting) -> Part:
    """All keys and values at once. They are kept, so that backward only scatters their gradients."""
    degree, width = setting.degrees[KIND], setting.widths.activations
    _, key = _sizes(own)
    others = 2 * key * (degree - 1)
    return replace(own, inputs=own.inputs + others, kept=own.kept + others).outside(
        Exchange(ExchangePoint.BEFORE_FORWARD, Kind.ALL_GATHER, 2 * key * width, KIND),
        Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.REDUCE_SCATTER, 2 * key * degree * width, KIND),
    )


def _ring(_whole: Part, own: Part, setting: Setting) -> Part:
    """Keys and values go round once forward and once backward; their gradients follow them."""
    degree = setting.degrees[KIND]
    _, key = _sizes(own)
    ring = Rotation(KIND, degree, 2 * key * setting.widths.activations)
    return replace(own, inputs=own.inputs + 2 * key * (degree - 1), rotation=ring)


def _ulysses(whole: Part, own: Part, setting: Setting) -> Part:
    """Each rank has all tokens of some heads while it attends."""
    degree, width = setting.degrees[KIND], setting.widths.activations
    sizes = _sizes(own)
    query, key = (size * width for size in sizes)
    inward = (query, key, key)
    heads = tuple((share(batch, degree), rows, columns, inner) for batch, rows, columns, inner in whole.matmuls)
    return replace(own, matmuls=heads).outside(
        *(Exchange(ExchangePoint.BEFORE_FORWARD, Kind.ALL_TO_ALL, size, KIND) for size in inward),
        Exchange(ExchangePoint.AFTER_FORWARD, Kind.ALL_TO_ALL, query, KIND),
        Exchange(ExchangePoint.BEFORE_BACKWARD, Kind.ALL_TO_ALL, query, KIND),
        *(Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.ALL_TO_ALL, size, KIND) for size in inward),
    )


class Method(NamedTuple):
    """How attention sees the tokens of other ranks.

    Attributes:
        attend: attention on one rank, of the part before and the part after the cut along tokens.
        splits_heads: heads must divide by the degree too.
    """

    attend: Callable[[Part, Part, Setting], Part]
    splits_heads: bool = False


METHODS: dict[str, Method] = {
    "all_gather": Method(_gathered),
    "ring": Method(_ring),
    "ulysses": Method(_ulysses, splits_heads=True),
}
