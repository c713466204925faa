"""Layers of transformers against published totals and the closed forms of the papers."""

from fractions import Fraction

import pytest

from astrac.codes import CODES
from astrac.models.model import Role
from astrac.models.transformer import contradictions, read_transformer
from shapes import shaped

LLAMA = {"activation": "swiglu", "norm": "rms_norm"}
GPT = {"layers": 3, "hidden": 256, "heads": 8, "sequence": 64, "vocabulary": 1000}


def read(batch=1, **given):
    return read_transformer(shaped(**given), "model", batch)


def rows(model):
    return {layer.name: layer for layer in model.layers}


def test_rows_of_a_block():
    model = read(**GPT)
    assert [(layer.name, layer.role.value, layer.inputs) for layer in model.layers[:10]] == [
        ("embedding", "embedding", ()),
        ("positions", "table", (0,)),
        ("block0.attention_norm", "sequence", (1,)),
        ("block0.qkv", "column", (2,)),
        ("block0.attention", "attention", (3,)),
        ("block0.projection", "row", (4, 1)),
        ("block0.feed_forward_norm", "sequence", (5,)),
        ("block0.up", "column", (6,)),
        ("block0.down", "row", (7, 5)),
        ("block1.attention_norm", "sequence", (8,)),
    ]
    assert [(layer.name, layer.block) for layer in model.layers[-3:]] == [
        ("block2.down", 2), ("final_norm", None), ("head", None),
    ]  # fmt: skip


def test_a_block_after_the_norm():
    model = read(**GPT, norm_position="post", segments=2, pooler=True)
    names = [layer.name for layer in model.layers]
    assert names[:11] == [
        "embedding", "positions", "segments", "embedding_norm", "block0.qkv", "block0.attention", "block0.projection",
        "block0.attention_norm", "block0.up", "block0.down", "block0.feed_forward_norm",
    ]  # fmt: skip
    assert names[-3:] == ["block2.feed_forward_norm", "pooler", "head"]
    assert [model.layers[source].name for source in rows(model)["block0.down"].inputs] == [
        "block0.up",
        "block0.attention_norm",
    ]
    assert [model.layers[source].name for source in rows(model)["head"].inputs] == ["block2.feed_forward_norm"]


@pytest.mark.parametrize(
    "batch, layers, hidden, heads, sequence, vocabulary", [(1, 2, 768, 12, 512, 50257), (3, 5, 96, 4, 40, 77)]
)
def test_gpt_in_closed_form(batch, layers, hidden, heads, sequence, vocabulary):
    model = read(batch, layers=layers, hidden=hidden, heads=heads, sequence=sequence, vocabulary=vocabulary)
    flops = sum(2 * (row.macs + row.input_gradient_macs + row.weight_gradient_macs) for row in model.layers)
    # Narayanan et al. 2021: 72 B s L h^2 (1 + s / (6 h) + V / (12 L h)), and the parameters with the final norm.
    tokens = batch * sequence
    share = 1 + Fraction(sequence, 6 * hidden) + Fraction(vocabulary, 12 * layers * hidden)
    assert flops == 72 * tokens * layers * hidden**2 * share
    assert (
        model.params == 12 * layers * hidden**2 + 13 * layers * hidden + (vocabulary + sequence) * hidden + 2 * hidden
    )
    # Korthikanti et al. 2022, equations 1 to 5: bytes of 16-bit activations; all, and what a tensor axis leaves whole.
    block = [row for row in model.layers if row.block == 1]
    kept = 34 * tokens * hidden + 5 * batch * heads * sequence**2
    assert 2 * sum(row.kept_elements for row in block) == kept
    assert 2 * sum(row.kept_replicated for row in block) == 10 * tokens * hidden
    outside = {row.name: 2 * row.kept_elements for row in model.layers if row.block is None}
    assert outside["embedding"] == tokens * hidden
    assert outside["final_norm"] + outside["head"] == 4 * tokens * hidden * (1 + Fraction(vocabulary, hidden))
    assert all(row.kept_replicated == row.kept_elements for row in block if row.role is Role.SEQUENCE)


def test_grouped_queries_and_gates():
    found = rows(read(2, **GPT | LLAMA, kv_heads=2, ffn=512))
    tokens = 2 * 64
    assert found["block0.qkv"].weight.shape == (256 + 2 * 64, 256)
    assert found["block0.qkv"].bias is None
    assert found["block0.attention"].input_elements == tokens * (256 + 2 * 64)
    assert found["block0.attention"].matmuls == ((2 * 8, 64, 64, 32), (2 * 8, 64, 32, 64))
    assert found["block0.up"].weight.shape == (2 * 512, 256)
    assert found["block0.up"].output_elements == tokens * 512
    assert found["block0.up"].kept_elements == tokens * (256 + 2 * 512)
    assert found["block0.down"].macs == tokens * 256 * 512
    assert found["block0.attention_norm"].params == 256
    assert "positions" not in found
    assert found["head"].shared_with is None


@pytest.mark.parametrize("sequence", [1, 2, 7, 64])
def test_causal_attention_is_half_of_the_full_one(sequence):
    full, causal = (
        rows(read(**GPT | {"sequence": sequence}, causal=causal))["block0.attention"] for causal in (False, True)
    )
    assert causal.macs == (full.macs if sequence == 1 else full.macs // 2)
    assert causal.kept_elements == full.kept_elements
    assert all(min(matmul) > 0 for matmul in causal.matmuls)


@pytest.mark.parametrize("tied, params", [(True, 0), (False, 1000 * 256)])
def test_a_tied_head_owns_nothing_and_computes_all_the_same(tied, params):
    head = rows(read(2, **GPT, tied=tied))["head"]
    assert (head.params, head.macs) == (params, 2 * 64 * 1000 * 256)
    assert (head.weight.name, head.shared_with) == (
        ("embedding.weight", "embedding") if tied else ("head.weight", None)
    )


@pytest.mark.parametrize(
    "factor, slots", [(1, 256), (Fraction(5, 4), 320), (Fraction(1, 1000), 1), (Fraction(3, 256), 3)]
)
def test_experts(factor, slots):
    model = read(
        2, **GPT | LLAMA, experts={"count": 4, "active": 2, "hidden": 96, "capacity_factor": factor, "every": 2}
    )
    found = rows(model)
    assert "block0.up" in found
    assert "block2.up" in found
    assert "block0.router" not in found
    names = ("router", "expert_up", "expert_down", "combine")
    router, up, down, combine = (found[f"block1.{name}"] for name in names)
    assert [row.role.value for row in (router, up, down, combine)] == [
        "router",
        "expert_column",
        "expert_row",
        "sequence",
    ]
    assert [row.weight.shape for row in (router, up, down)] == [(4, 256), (4, 2 * 96, 256), (4, 256, 96)]
    assert [row.macs for row in (router, up, down)] == [128 * 4 * 256, slots * 256 * 2 * 96, slots * 256 * 96]
    assert [row.macs for row in (up, down)] == [sum(b * m * n * k for b, m, n, k in row.matmuls) for row in (up, down)]
    assert (up.input_elements, down.output_elements) == (slots * 256, slots * 256)  # dispatch and combine
    assert combine.output_elements == 128 * 256
    edges = [[model.layers[source].name.split(".")[1] for source in row.inputs] for row in (up, down, combine)]
    assert edges == [["feed_forward_norm", "router"], ["expert_up"], ["expert_down", "router", "projection"]]


@pytest.mark.parametrize(
    "given, code, key",
    [
        ({"hidden": 100}, "AS660", "heads"),
        ({"kv_heads": 3}, "AS661", "kv_heads"),
        ({"max_positions": 63}, "AS662", "max_positions"),
        ({"experts": {"count": 2, "active": 3}}, "AS663", "experts/active"),
    ],
)
def test_contradictions(given, code, key):
    (found,) = contradictions(shaped(**GPT | given))
    assert (found.code, found.key) == (code, key)
    assert code in CODES


def test_no_contradiction():
    fine = {"hidden": 100, "head_size": 16, "kv_heads": 4, "max_positions": 64, "experts": {"count": 2, "active": 2}}
    assert list(contradictions(shaped(**GPT | fine))) == []
    assert rows(read(**GPT | fine))["block0.projection"].weight.shape == (100, 8 * 16)


def test_the_digest_is_of_the_shape():
    one, same, other = read(**GPT), read(4, **GPT, kv_heads=8, tied=True), read(**GPT, tied=False)
    assert one.digest.startswith("sha256:")
    assert one.digest == same.digest != other.digest
    assert (same.batch, same.tokens) == (4, 64)


def test_flops_beside_the_products():
    # 2 sequences of 64 tokens, 4 heads of 16 features, 2 of them with keys. 5 a score: scale, maximum, exponential,
    # sum, quotient; 3 a rotated element of 64 query and 32 key features; a causal kernel scores half of the keys.
    experts = {"count": 4, "active": 2, "hidden": 80, "capacity_factor": Fraction(5, 4), "every": 2}
    size = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "sequence": 64, "vocabulary": 100, "ffn": 96}
    found = rows(read(2, **size, activation="geglu", norm="rms_norm", causal=True, experts=experts))
    tokens, stream, slots = 128, 128 * 64, 320
    assert {name: row.vector_flops for name, row in found.items() if row.block in (None, 0)} == {
        "embedding": 0,
        "block0.attention_norm": 4 * stream,
        "block0.qkv": 0,
        "block0.attention": 5 * 8 * 64 * 32 + 3 * tokens * (64 + 32),
        "block0.projection": stream,
        "block0.feed_forward_norm": 4 * stream,
        "block0.up": 9 * tokens * 96,
        "block0.down": stream,
        "final_norm": 4 * stream,
        "head": 5 * tokens * 100,
    }
    router, up, down, combine = (found[f"block1.{name}"] for name in ("router", "expert_up", "expert_down", "combine"))
    flops = [row.vector_flops for row in (router, up, down, combine)]
    assert flops == [5 * tokens * 4, 9 * slots * 80, 0, 2 * slots * 64 + stream]
    assert combine.input_elements == slots * 64 + stream
    assert router.kept_elements == router.kept_replicated == stream + tokens * 4
    assert (up.kept_elements, up.kept_replicated, down.kept_elements) == (slots * (64 + 160), slots * 64, slots * 80)


def test_biases_masks_and_learned_tables():
    found = rows(read(2, **GPT, segments=2, pooler=True, norm_position="post"))
    tokens, stream = 128, 128 * 256
    assert {name: row.bias.shape for name, row in found.items() if row.bias and row.block in (None, 0)} == {
        "embedding_norm": (256,), "block0.qkv": (768,), "block0.projection": (256,), "block0.attention_norm": (256,),
        "block0.up": (1024,), "block0.down": (256,), "block0.feed_forward_norm": (256,), "pooler": (256,),
    }  # fmt: skip
    tables = [found[name] for name in ("embedding", "positions", "segments")]
    assert [row.weight_reads for row in tables] == [stream, 64 * 256, 2 * 256]
    assert [row.gathers for row in tables] == [False, False, True]
    assert [row.vector_flops for row in tables] == [0, stream, stream]
    assert found["embedding_norm"].vector_flops == 7 * stream
    assert found["block0.up"].vector_flops == 8 * tokens * 1024
    assert found["block0.projection"].kept_replicated == stream // 2  # a mask of a byte an element, counted in 16 bits
    assert found["block0.down"].kept_elements == tokens * 1024 + stream // 2
    assert (found["pooler"].macs, found["pooler"].kept_elements) == (2 * 256 * 256, 2 * 2 * 256)
    assert (found["head"].loss_rows, found["head"].vector_flops) == (tokens, 5 * tokens * 1000)


def test_a_mask_of_an_odd_number_of_bytes():
    found = rows(read(layers=1, hidden=5, heads=1, sequence=3, vocabulary=7, positions="learned", max_positions=3))
    assert found["embedding"].kept_elements == 8  # 15 bytes are 7.5 elements of 16 bits
