"""Context parallelism: each rank holds 1/c of the tokens of every sequence.

Everything but attention works on its own tokens. Attention sees the others' keys and values: gathered (Llama 3), passed
round a ring (Liu et al. 2023), or by exchanging heads for tokens (DeepSpeed Ulysses).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.model import Role
from astrac.strategies.part import Exchange, Part, Point, Rotation, Setting

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

    def share(count: int) -> int:
        return -(-count // degree)

    cut_part = replace(
        part,
        macs=share(part.macs),
        vector_flops=share(part.vector_flops),
        inputs=share(part.inputs),
        outputs=share(part.outputs),
        kept=share(part.kept),
        leaves=share(part.leaves),
        weight_reads=part.weight_reads if part.layer.weight_reads is None else share(part.weight_reads),
        matmuls=tuple((batch, share(rows), columns, inner) for batch, rows, columns, inner in part.matmuls),
        exchanges=tuple(replace(exchange, bytes=share(exchange.bytes)) for exchange in part.exchanges),
    )
    if part.layer.role is not Role.ATTENTION:
        return cut_part
    return METHODS[options.method](cut_part, setting, degree)


def _sizes(part: Part, setting: Setting) -> tuple[int, int]:
    """Bytes of the queries and of the keys (or values) of this rank's tokens."""
    query = part.outputs * setting.widths.activations
    key = (part.inputs - part.outputs) // 2 * setting.widths.activations
    return query, key


def _gathered(part: Part, setting: Setting, degree: int) -> Part:
    _, key = _sizes(part, setting)
    return part.outside(
        Exchange(Point.BEFORE_FORWARD, Kind.ALL_GATHER, 2 * key, KIND),
        Exchange(Point.AFTER_INPUT_GRADIENT, Kind.REDUCE_SCATTER, 2 * key * degree, KIND),
    )


def _ring(part: Part, setting: Setting, degree: int) -> Part:
    _, key = _sizes(part, setting)
    return replace(part, rotation=Rotation(KIND, degree, forward_bytes=2 * key, backward_bytes=4 * key))


def _ulysses(part: Part, setting: Setting, _: int) -> Part:
    query, key = _sizes(part, setting)
    inward = (query, key, key)
    return part.outside(
        *(Exchange(Point.BEFORE_FORWARD, Kind.ALL_TO_ALL, size, KIND) for size in inward),
        Exchange(Point.AFTER_FORWARD, Kind.ALL_TO_ALL, query, KIND),
        Exchange(Point.BEFORE_BACKWARD, Kind.ALL_TO_ALL, query, KIND),
        *(Exchange(Point.AFTER_INPUT_GRADIENT, Kind.ALL_TO_ALL, size, KIND) for size in inward),
    )


METHODS: dict[str, Callable[[Part, Setting, int], Part]] = {
    "all_gather": _gathered,
    "ring": _ring,
    "ulysses": _ulysses,
}
