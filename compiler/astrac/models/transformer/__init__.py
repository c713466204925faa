"""Transformers by their shape: GPT, Llama, Mixtral, BERT.

A block is `attention_norm`, `qkv`, `attention`, `projection`, `feed_forward_norm`, `up`, `down`; with experts `router`,
`expert_up`, `expert_down`, `combine` instead of the last two. `embedding` (with `positions`, `segments` and their
`embedding_norm`) comes before, `final_norm`, `pooler` and `head` after.

What is folded into what: rotary positions, scaling, softmax and its dropout into `attention`; the activation and the
gate into `up`; dropout and the residual add into the row that ends the branch (`projection`, `down`, `combine`), which
reads the stream a second time; the loss into `head`. Biases add no FLOPs, as for every other model.

Activations that backward needs follow Korthikanti et al. 2022 (arXiv 2205.05198, section 4): with 16-bit activations
and no recomputation 34 s b h + 5 a s^2 b bytes a GPT block. A layer keeps its inputs; `up` also what enters the
activation, `attention` also the softmax and its output after dropout; a dropout mask takes a byte, half an element.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.models.model import Layer, Model, Role, Tensor
from astrac.models.shape import contradictions, resolve
from astrac.models.transformer.mixture import mixture
from astrac.models.transformer.rows import ACTIVATIONS, SOFTMAX_FLOPS, TransformerBuilder

if TYPE_CHECKING:
    from astrac.spec import Transformer

__all__ = ["contradictions", "read_transformer"]


def read_transformer(transformer: Transformer, name: str, batch: int) -> Model:
    """The layers of a transformer for one micro-batch.

    Args:
        transformer: the block; without `contradictions`.
        name: of the model.
        batch: sequences of the micro-batch.
    """
    shape = resolve(transformer)
    rows = TransformerBuilder(shape, batch * shape.sequence)
    stream = _embeddings(rows)
    for block in range(shape.layers):
        stream = _block(rows, block, stream)
    _outputs(rows, stream, batch)
    digest = hashlib.sha256(repr(shape).encode()).hexdigest()
    return Model(name, tuple(rows.layers), batch, shape.sequence, f"sha256:{digest}", causal=shape.causal)


def _embeddings(rows: TransformerBuilder) -> int:
    """The tables, summed; the index of the layer that the first block reads."""
    shape, hidden = rows.shape, rows.shape.hidden
    tables = {"positions": shape.max_positions if shape.positions == "learned" else 0, "segments": shape.segments}
    reads = {"positions": shape.sequence, "segments": min(shape.segments, rows.tokens)}
    last = next((name for name in reversed(tables) if tables[name]), "embedding")
    stream = rows.add(
        Layer(
            "embedding",
            "Gather",
            Tensor("embedding.weight", (shape.vocabulary, hidden)),
            input_elements=rows.tokens,
            output_elements=rows.stream,
            kept_elements=rows.stream_mask,
            kept_replicated=rows.stream_mask,
            weight_reads=rows.stream,
            input_gradient=False,
            gathers=last == "embedding",
            role=Role.EMBEDDING,
        )
    )
    for name, length in tables.items():
        if length:
            stream = rows.add(
                Layer(
                    name,
                    "Gather",
                    Tensor(f"{name}.weight", (length, hidden)),
                    vector_flops=rows.stream,
                    input_elements=rows.stream,
                    output_elements=rows.stream,
                    weight_reads=reads[name] * hidden,
                    gathers=last == name,
                    inputs=(stream,),
                    role=Role.TABLE,
                )
            )
    return rows.norm("embedding_norm", stream) if shape.segments else stream


def _block(rows: TransformerBuilder, block: int, stream: int) -> int:
    """One block; the index of the layer that ends it. A norm stands before each branch, or after its residual add."""
    shape, prefix = rows.shape, f"block{block}"
    before = shape.norm_position == "pre"
    source = rows.norm(f"{prefix}.attention_norm", stream, block) if before else stream
    qkv = rows.column(f"{prefix}.qkv", shape.query + 2 * shape.key, source, block)
    context = rows.attention(f"{prefix}.attention", qkv, block)
    projected = rows.row(f"{prefix}.projection", shape.query, context, stream, block)
    source = rows.norm(f"{prefix}.{'feed_forward' if before else 'attention'}_norm", projected, block)
    stream = projected if before else source
    if shape.experts is not None and (block + 1) % shape.experts.every == 0:
        ended = mixture(rows, shape.experts, prefix, source, stream, block)
    else:
        up = rows.column(f"{prefix}.up", shape.ffn, source, block, ACTIVATIONS[shape.activation])
        ended = rows.row(f"{prefix}.down", shape.ffn, up, stream, block)
    return ended if before else rows.norm(f"{prefix}.feed_forward_norm", ended, block)


def _outputs(rows: TransformerBuilder, stream: int, batch: int) -> None:
    """What follows the blocks: the final norm, the pooler of the first token, the head with the loss."""
    shape, hidden = rows.shape, rows.shape.hidden
    if shape.norm_position == "pre":
        stream = rows.norm("final_norm", stream)
    if shape.pooler:
        kept = 2 * batch * hidden
        rows.add(
            rows.product(
                "pooler", Role.POOLER, (hidden, hidden), batch, (stream,), bias=True,
                kept_elements=kept, kept_replicated=kept,
            )
        )  # fmt: skip
    logits = rows.tokens * shape.vocabulary
    head = rows.product(
        "head", Role.HEAD, (shape.vocabulary, hidden), rows.tokens, (stream,),
        vector_flops=SOFTMAX_FLOPS * logits,
        kept_elements=rows.stream + 2 * logits,  # the loss takes its logits in 32 bits: two elements of 16
        kept_replicated=rows.stream,
        loss_rows=rows.tokens,
    )  # fmt: skip
    if shape.tied:
        head = replace(head, weight=Tensor("embedding.weight", (shape.vocabulary, hidden)), shared_with="embedding")
    rows.add(head)
