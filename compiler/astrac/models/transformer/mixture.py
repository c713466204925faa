"""A sparse mixture of experts in place of the feed-forward part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.model import Layer, Role
from astrac.models.transformer.rows import ACTIVATIONS, SOFTMAX_FLOPS

if TYPE_CHECKING:
    from astrac.models.model import Matmul
    from astrac.models.shape import Experts
    from astrac.models.transformer.rows import TransformerBuilder


def mixture(rows: TransformerBuilder, experts: Experts, prefix: str, source: int, residual: int, block: int) -> int:
    """Router, experts and the weighted sum of their outputs.

    Tokens are taken to be spread evenly: `tokens x active x capacity_factor` slots over all experts (GShard, Lepikhin
    et al. 2020), whose inputs and outputs are what dispatch and combine exchange.
    """
    shape, hidden = rows.shape, rows.shape.hidden
    activation = ACTIVATIONS[shape.activation]
    features = 2 * experts.hidden if activation.gated else experts.hidden
    slots = -int(-rows.tokens * experts.active * experts.capacity_factor // 1)
    router, up, down, combine = (f"{prefix}.{part}" for part in ("router", "expert_up", "expert_down", "combine"))
    scores = rows.tokens * experts.count
    routed = rows.add(
        rows.product(
            router, Role.ROUTER, (experts.count, hidden), rows.tokens, (source,), block,
            vector_flops=SOFTMAX_FLOPS * scores,
            kept_elements=rows.stream + scores,
            kept_replicated=rows.stream + scores,
        )
    )  # fmt: skip
    opened = rows.add(
        rows.product(
            up, Role.EXPERT_COLUMN, (experts.count, features, hidden), slots, (source, routed), block, bias=shape.bias,
            matmuls=_expert_matmuls(experts.count, slots, features, hidden),
            vector_flops=activation.flops * slots * experts.hidden,
            output_elements=slots * experts.hidden,
            kept_elements=slots * (hidden + features),
            kept_replicated=slots * hidden,
        )
    )  # fmt: skip
    closed = rows.add(
        rows.product(
            down, Role.EXPERT_ROW, (experts.count, hidden, experts.hidden), slots, (opened,), block, bias=shape.bias,
            matmuls=_expert_matmuls(experts.count, slots, hidden, experts.hidden),
            kept_elements=slots * experts.hidden,
        )
    )  # fmt: skip
    return rows.add(
        Layer(
            combine,
            "Combine",
            vector_flops=2 * slots * hidden + rows.stream,
            input_elements=slots * hidden + rows.stream,
            output_elements=rows.stream,
            kept_elements=slots * hidden + rows.stream_mask,
            kept_replicated=slots * hidden + rows.stream_mask,
            trainable=False,
            inputs=(closed, routed, residual),
            role=Role.SEQUENCE,
            block=block,
        )
    )


def _expert_matmuls(count: int, slots: int, n: int, k: int) -> tuple[Matmul, ...]:
    """The products of all experts: the first ones get a slot more when the slots do not divide evenly."""
    even, more = divmod(slots, count)
    return tuple(
        (experts, tokens, n, k) for experts, tokens in ((more, even + 1), (count - more, even)) if experts * tokens
    )
