"""A sparse mixture of experts in place of the feed-forward part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.model import Layer, Role, Tensor
from astrac.models.transformer.rows import ACTIVATIONS, SOFTMAX_FLOPS

if TYPE_CHECKING:
    from astrac.models.model import Matmul
    from astrac.models.shape import Experts
    from astrac.models.transformer.rows import Rows


def mixture(rows: Rows, experts: Experts, prefix: str, source: int, residual: int, block: int) -> int:
    """Router, experts and the weighted sum of their outputs.

    Tokens are taken to be spread evenly: `tokens x active x capacity_factor` slots over all experts (GShard, Lepikhin
    et al. 2020), whose inputs and outputs are what dispatch and combine exchange.
    """
    shape, hidden = rows.shape, rows.shape.hidden
    activation = ACTIVATIONS[shape.activation]
    features = 2 * experts.hidden if activation.gated else experts.hidden
    slots = -int(-rows.tokens * experts.active * experts.capacity_factor // 1)
    router, up, down, combine = (f"{prefix}.{part}" for part in ("router", "expert_up", "expert_down", "combine"))
    routed = rows.add(
        Layer(
            router,
            "Gemm",
            Tensor(f"{router}.weight", (experts.count, hidden)),
            macs=rows.tokens * experts.count * hidden,
            matmuls=((1, rows.tokens, experts.count, hidden),),
            vector_flops=SOFTMAX_FLOPS * rows.tokens * experts.count,
            input_elements=rows.stream,
            output_elements=rows.tokens * experts.count,
            kept_elements=rows.stream + rows.tokens * experts.count,
            kept_replicated=rows.stream + rows.tokens * experts.count,
            inputs=(source,),
            role=Role.ROUTER,
            block=block,
        )
    )
    opened = rows.add(
        Layer(
            up,
            "Gemm",
            Tensor(f"{up}.weight", (experts.count, features, hidden)),
            rows.bias(up, experts.count, features),
            macs=slots * features * hidden,
            matmuls=_expert_matmuls(experts.count, slots, features, hidden),
            vector_flops=activation.flops * slots * experts.hidden,
            input_elements=slots * hidden,
            output_elements=slots * experts.hidden,
            kept_elements=slots * (hidden + features),
            kept_replicated=slots * hidden,
            inputs=(source, routed),
            role=Role.EXPERT_COLUMN,
            block=block,
        )
    )
    closed = rows.add(
        Layer(
            down,
            "Gemm",
            Tensor(f"{down}.weight", (experts.count, hidden, experts.hidden)),
            rows.bias(down, experts.count, hidden),
            macs=slots * hidden * experts.hidden,
            matmuls=_expert_matmuls(experts.count, slots, hidden, experts.hidden),
            input_elements=slots * experts.hidden,
            output_elements=slots * hidden,
            kept_elements=slots * experts.hidden,
            inputs=(opened,),
            role=Role.EXPERT_ROW,
            block=block,
        )
    )
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
