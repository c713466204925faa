"""Shipped presets: what `std/` says, against the published figures."""

from fractions import Fraction
from math import prod

import pytest

from astrac.models.transformer import contradictions, read_transformer
from astrac.resources import resource
from shapes import documents, transformer

FILES = [
    f"std/{kind}/{file.name}"
    for kind in ("hardware", "topology", "model")
    for file in sorted(resource("specs", "std", kind).iterdir(), key=lambda file: file.name)
]


def library(path):
    """The blocks of a file, by name."""
    (document,) = documents(path, resource("specs", *path.split("/")).read_text())
    return {block["name"]: block for block in document.library}


BLOCKS = {path: library(path) for path in FILES}
PRESETS = {name: block for blocks in BLOCKS.values() for name, block in blocks.items()}
G = 10**9

# Dense TFLOP/s for fp32, tf32, fp16, bf16, fp8; capacity in bytes, bandwidth in GB/s: vendors' sheets.
HARDWARE = {
    "v100_sxm_16g": ("15.7", None, "125", None, None, 16 * G, 900),
    "v100_sxm_32g": ("15.7", None, "125", None, None, 32 * G, 900),
    "a100_sxm_40g": ("19.5", "156", "312", "312", None, 40 * G, 1555),
    "a100_sxm_80g": ("19.5", "156", "312", "312", None, 80 * G, 2039),
    "h100_sxm": ("66.9", "494.7", "989.4", "989.4", "1978.9", 80 * G, 3350),
    "h200_sxm": ("66.9", "494.7", "989.4", "989.4", "1978.9", 141 * G, 4800),
    "b200_hgx": ("80", "1100", "2250", "2250", "4500", 180 * G, 7700),
    "tpu_v3": (None, None, None, "123", None, 32 * 2**30, 900),
    "tpu_v4": (None, None, None, "275", None, 32 * 2**30, 1200),
    "tpu_v5p": (None, None, None, "459", "459", 95 * G, 2765),
    "mi250x_gcd": ("47.85", None, "191.5", "191.5", None, 64 * G, Fraction(3277, 2)),
    "mi300x": ("163.4", "653.7", "1307.4", "1307.4", "2614.9", 192 * G, 5300),
}

# Kind, size, and GB/s of one link and direction (of all links to a switch), dimension by dimension.
TOPOLOGIES = {
    "dgx2_v100": (("switch", 16, 150),),
    "hgx_a100": (("switch", 8, 300),),
    "hgx_a100_rails": (("switch", 8, 300), ("switch", 16, 25)),
    "hgx_h100": (("switch", 8, 450),),
    "hgx_h100_rails": (("switch", 8, 450), ("switch", 16, 50)),
    "hgx_b200": (("switch", 8, 900),),
    "hgx_b200_rails_400g": (("switch", 8, 900), ("switch", 16, 50)),
    "hgx_b200_rails_800g": (("switch", 8, 900), ("switch", 16, 100)),
    "tpu_v3_pod": (("ring", 32, 82), ("ring", 32, 82)),
    "tpu_v3_16": (("ring", 4, 82), ("ring", 4, 82)),
    "tpu_v4_cube": (("ring", 4, 50),) * 3,
    "tpu_v4_pod": (("ring", 16, 50),) * 3,
    "tpu_v5p_cube": (("ring", 4, 100),) * 3,
    "tpu_v5p_pod": (("ring", 16, 100), ("ring", 20, 100), ("ring", 28, 100)),
    "mi300x_node": (("fully_connected", 8, 64),),
    "mi300x_rails": (("fully_connected", 8, 64), ("switch", 16, 50)),
}

# Parameters, as published; where a paper rounds, the closed form of its shape.
MODELS = {
    "gpt2": 124_439_808,
    "gpt3_13b": 12_853_386_240,
    "gpt3_175b": 174_604_259_328,
    "llama2_7b": 6_738_415_616,
    "llama2_70b": 68_976_648_192,
    "llama3_8b": 8_030_261_248,
    "llama3_70b": 70_553_706_496,
    "llama3_405b": 405_853_388_800,
    "mixtral_8x7b": 46_702_792_704,
    "mixtral_8x22b": 140_620_634_112,
    "bert_large": 335_141_888,
    "megatron_22b": 22_074_273_792,
    "megatron_530b": 529_600_819_200,
    "megatron_1t": 1_008_038_758_400,
}


def test_every_preset_is_tested():
    assert set(PRESETS) == {*HARDWARE, *TOPOLOGIES, *MODELS}


@pytest.mark.parametrize("name", HARDWARE)
def test_hardware(name):
    *peaks, capacity, bandwidth = HARDWARE[name]
    words = ("fp32", "tf32", "fp16", "bf16", "fp8")
    expected = {word: Fraction(peak) * 10**12 for word, peak in zip(words, peaks, strict=True) if peak is not None}
    assert PRESETS[name]["peak"] == expected
    memory = PRESETS[name]["memory"]
    assert (memory["capacity"], memory["bandwidth"]) == (capacity, bandwidth * G)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_topology(name):
    found = PRESETS[name]["dimensions"]
    assert tuple((each["kind"], each["size"], each["bandwidth"] / Fraction(G)) for each in found) == TOPOLOGIES[name]


def preset(name):
    (path,) = (path for path, blocks in BLOCKS.items() if name in blocks)
    return transformer(f'use "{path}"\nmodel: {name}')


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    shape = preset(name)
    assert list(contradictions(shape)) == []
    assert read_transformer(shape, name, 1).params == MODELS[name]


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(("gpt", "megatron"))])
def test_flops_of_a_gpt_step(name):
    shape = preset(name)
    layers, hidden, sequence, vocabulary = shape.layers, shape.hidden, shape.sequence, shape.vocabulary
    rows = read_transformer(shape, name, 2).layers
    flops = sum(2 * (row.macs + row.input_gradient_macs + row.weight_gradient_macs) for row in rows)
    share = 1 + Fraction(sequence, 6 * hidden) + Fraction(vocabulary, 12 * layers * hidden)
    assert flops == 72 * 2 * sequence * layers * hidden**2 * share
    assert sum(row.macs for row in rows) == sum(prod(matmul) for row in rows for matmul in row.matmuls)
