"""Expert parallelism (GShard, Lepikhin et al. 2020): experts are spread over the axis, tokens travel by all-to-all.

Every rank has its own samples and sends `active x capacity_factor` copies of its tokens: a dispatch before the experts
and a combine after them, and both again backward. Routing is taken to be even: each rank computes as much as it sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.models.model import Role
from astrac.training.strategies.part import Exchange, ExchangePoint, Part, Setting, share

if TYPE_CHECKING:
    from astrac.models.model import Matmul

KIND = "expert"
_ROLES = {Role.EXPERT_COLUMN, Role.EXPERT_ROW}


def cut(part: Part, setting: Setting) -> Part:
    """The experts of one rank, with the exchange of tokens around them."""
    if setting.options(KIND) is None or part.layer.role not in _ROLES:
        return part
    degree, width = setting.degrees[KIND], setting.widths.activations
    held = replace(
        part,
        weights=part.weights // degree,
        bias=part.bias // degree,
        weight_reads=part.weight_reads // degree,
        terms=part.terms // degree,
        matmuls=_products(part.matmuls, degree),
    )
    # Tokens are cut along the tensor axis when they travel (sequence parallelism), whatever the compute then gathers.
    if part.layer.role is Role.EXPERT_COLUMN:
        size = share(part.inputs * width, setting.degrees["tensor"])
        return held.outside(
            Exchange(ExchangePoint.BEFORE_FORWARD, Kind.ALL_TO_ALL, size, KIND),
            Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.ALL_TO_ALL, size, KIND),
        )
    size = share(part.outputs * width, setting.degrees["tensor"])
    return held.outside(
        Exchange(ExchangePoint.AFTER_FORWARD, Kind.ALL_TO_ALL, size, KIND),
        Exchange(ExchangePoint.BEFORE_BACKWARD, Kind.ALL_TO_ALL, size, KIND),
    )


def _products(matmuls: tuple[Matmul, ...], degree: int) -> tuple[Matmul, ...]:
    """Fewer experts, each with the tokens of all ranks."""
    experts = sum(batch for batch, *_ in matmuls)
    slots = sum(batch * rows for batch, rows, *_ in matmuls)
    even, more = divmod(slots, max(1, experts // degree))
    return tuple(
        (batch, rows, *matmuls[0][2:])
        for batch, rows in ((more, even + 1), (max(1, experts // degree) - more, even))
        if batch * rows
    )
