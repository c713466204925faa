"""Values that others have published or computed for GPT-3 and its relatives, as literals."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from astrac.api.modelling import layers_of_spec
from astrac.models.table import render
from astrac.training.plan import Communicate, Computation, Phase, Transfer
from lowered import codes, parallelism, planned, spec, topology, traffic

GPT3 = (
    "model gpt3 {{ transformer {{ layers: {layers}, hidden: 12_288, heads: 96, sequence: 2048, vocabulary: 51_200 }} }}"
)
BACKWARD = (Phase.INPUT_GRADIENT, Phase.WEIGHT_GRADIENT)
ROOMY = "hardware gpu from h100_sxm { memory { allow_overflow: true } }"


def gpt3(layers=2, training="precision: bf16, optimizer: adam", **axes):
    """GPT-3 175B, cut to a few layers; tensor 8 as everywhere in the literature."""
    sizes = [int(words.split(",")[0].split()[1]) for words in axes.values()]
    return spec(
        hardware=ROOMY,
        topology=topology(*sizes),
        model=GPT3.format(layers=layers),
        parallelism=parallelism(**axes),
        training=f"training {{ global_batch: 16, micro_batch: 1, {training} }}",
    )


def sizes(steps, axis, phase=None):
    """How often each (kind, bytes) of an axis is sent in one micro-batch's turn of one block."""
    return Counter(
        (step.action.kind.name, step.action.bytes)
        for step in steps
        if step.axis == axis and isinstance(step.action, Communicate) and step.layer.startswith("block0.")
        if step.micro_batch == 0 and phase in (None, step.phase)
    )


def test_tensor_parallelism_reduces_the_activations_twice_each_way():
    steps = planned(gpt3(tensor="degree: 8", data="degree: 2")).plan.programs[0].steps
    assert sizes(steps, "tensor", Phase.FORWARD) == {("ALL_REDUCE", 50_331_648): 2}
    assert sizes(steps, "tensor", Phase.INPUT_GRADIENT) == {("ALL_REDUCE", 50_331_648): 2}


def test_sequence_parallelism_scatters_and_gathers():
    steps = planned(gpt3(tensor="degree: 8, sequence_parallel: true", data="degree: 2")).plan.programs[0].steps
    assert sizes(steps, "tensor") == {("REDUCE_SCATTER", 50_331_648): 4, ("ALL_GATHER", 6_291_456): 6}


@pytest.mark.parametrize(("words", "size"), [("", 50_331_648), (", sequence_parallel: true", 6_291_456)])
def test_a_pipeline_sends_the_activations(words, size):
    plan = planned(gpt3(tensor=f"degree: 8{words}", pipeline="degree: 2")).plan
    sent = [
        step.action.bytes for step in plan.programs[0].steps if isinstance(step.action, Transfer) and step.action.send
    ]
    assert set(sent) == {size}
    assert len(sent) == 16


@pytest.mark.parametrize(("precision", "size"), [("bf16", 452_984_832), ("fp32", 905_969_664)])
def test_data_parallelism_reduces_a_layer(precision, size):
    """226,492,416 numbers of matrices a layer and rank; norms and biases add less than 0.1 %."""
    training = f"precision {{ compute: bf16, gradients: {precision} }}, optimizer: adam"
    steps = planned(gpt3(training=training, tensor="degree: 8", data="degree: 2")).plan.programs[0].steps
    reduced = [step.action.bytes for step in steps if step.axis == "data" and step.layer == "block0"]
    (found,) = reduced
    assert size < found < 1.001 * size


def test_flops_of_a_layer_on_one_rank():
    """954 GFLOP forward (Calculon's 954.5 counts softmax and norms as well)."""
    steps = planned(gpt3(tensor="degree: 8", data="degree: 2")).plan.programs[0].steps
    found = sum(
        step.action.flops
        for step in steps
        if step.axis == ""
        and step.layer.startswith("block0.")
        and step.phase is Phase.FORWARD
        and step.micro_batch == 0
    )
    assert found == pytest.approx(954e9, rel=1e-3)


PRESETS = {
    "gpt2": ("gpt2", "gpt2", 12, 768, 1024, 50_257),
    "gpt3_13b": ("gpt3", "gpt3_13b", 40, 5120, 2048, 50_257),
    "gpt3_175b": ("gpt3", "gpt3_175b", 96, 12_288, 2048, 50_257),
    "megatron_22b": ("megatron", "megatron_22b", 48, 6144, 2048, 51_200),
    "megatron_530b": ("megatron", "megatron_530b", 105, 20_480, 2048, 51_200),
    "megatron_1t": ("megatron", "megatron_1t", 128, 25_600, 2048, 51_200),
}


@pytest.mark.parametrize("recompute", ["none", "full"])
@pytest.mark.parametrize(("file", "name", "layers", "hidden", "tokens", "words"), PRESETS.values(), ids=PRESETS)
def test_matmul_flops_of_a_step(file, name, layers, hidden, tokens, words, recompute):
    """72 B s L h^2 (1 + s/6h + V/12Lh) of Narayanan et al. 2021, with full recomputation 96 (1 + s/6h + V/16Lh)."""
    plan = planned(
        spec(
            use=f'use "std/hardware/h100.astra"\nuse "std/model/{file}.astra"',
            hardware=ROOMY,
            topology=topology(2),
            model=f"model m from {name}",
            parallelism="parallelism { data {} }",
            training=f"training {{ global_batch: 4, precision: bf16, recompute: {recompute} }}",
        )
    ).plan
    products = {layer.name: layer for layer in plan.model.layers if layer.macs}
    found = 0
    for step in plan.programs[0].steps:
        if step.axis == "" and step.layer in products:
            vector = 0 if step.phase is Phase.WEIGHT_GRADIENT else products[step.layer].vector_flops
            found += step.action.flops - vector
    batch, blocks = 4, 72 if recompute == "none" else 96
    rest = tokens / (6 * hidden) + words / (blocks // 6 * layers * hidden)
    expected = blocks * batch * tokens * layers * hidden**2 * (1 + rest)
    assert 2 * found == pytest.approx(expected, rel=1e-3)


SEVEN_BILLION = """model m {
  transformer {
    layers: 32, hidden: 4096, heads: 32, ffn: 11_008, activation: swiglu, norm: rms_norm
    sequence: 2048, vocabulary: 32_000
  }
}"""


def seven_billion(tensor, capacity="80 GB", overflow="false", **training):
    words = {"global_batch": 1, "micro_batch": 1, "precision": "bf16", "optimizer": "adam"} | training
    return spec(
        hardware=f"hardware gpu from h100_sxm {{ memory {{ capacity: {capacity}, allow_overflow: {overflow} }} }}",
        topology=topology(2, 2),
        model=SEVEN_BILLION,
        parallelism=parallelism(tensor=f"degree: {tensor}", data=""),
        training="training { " + ", ".join(f"{key}: {value}" for key, value in words.items()) + " }",
    )


def test_memory_by_term():
    """16 bytes a number with Adam in mixed precision: 2 of weights, 2 of gradients, 12 of optimizer state."""
    plan = planned(seven_billion(2, global_batch=2)).plan
    matrices = 32 * (4 * 4096**2 + 3 * 4096 * 11_008) + 2 * 32_000 * 4096
    held = matrices // 2 + (2 * 32 + 1) * 4096
    need = plan.programs[0].memory
    assert (need.weights, need.gradients, need.optimizer) == (2 * held, 2 * held, 12 * held)
    assert plan.model.params == matrices + (2 * 32 + 1) * 4096 == 6_738_415_616


def test_what_does_not_fit_is_refused():
    assert codes(seven_billion(1, global_batch=4)) == ["AS540"]
    assert codes(seven_billion(1, global_batch=4, overflow="true")) == ["AS805"]
    assert codes(seven_billion(2, global_batch=2)) == []


def test_recomputation_keeps_the_inputs_of_blocks():
    """Korthikanti et al. 2022, table 2: 34 s b h + 5 a s^2 b bytes a GPT block, 34 s b h, 2 s b h."""

    def activations(recompute):
        text = spec(
            topology=topology(2),
            model="model m { transformer { layers: 8, hidden: 1024, heads: 16, sequence: 512, vocabulary: 1024 } }",
            parallelism="parallelism { data {} }",
            training=f"training {{ global_batch: 4, precision: bf16, recompute: {recompute} }}",
        )
        return planned(text).plan.programs[0].memory.activations

    s, b, h, a = 512, 2, 1024, 16
    scores, block = 5 * a * s * s * b, 34 * s * b * h
    full, selective, none = map(activations, ("full", "selective", "none"))
    outside = none - 8 * (block + scores)
    assert outside == selective - (8 * block + scores + 6 * s * b * h)  # one attention and its inputs are there again
    assert outside == full - (8 * 2 * s * b * h + block + scores)  # one whole block is


def test_traffic_is_what_the_estimate_counts():
    result = planned(gpt3(tensor="degree: 8", data="degree: 2"))
    sent = sum(traffic(result.plan.programs[0].steps).values())
    assert sent == sum(row.bytes for row in result.estimate.traffic)


@pytest.mark.parametrize(
    "model",
    [
        'model m { onnx: "zoo:resnet50" }',
        "model m { transformer { layers: 1, hidden: 64, heads: 4, sequence: 32, vocabulary: 100 } }",
    ],
    ids=["resnet50", "transformer"],
)
def test_layers_tells_the_bytes_that_build_prices(model):
    # One formula for both: e.g. a Relu's input gradient reads its input and the output's gradient and writes a third.
    text = spec(
        topology=topology(2),
        model=model,
        parallelism=parallelism(data="degree: 2"),
        training="training { global_batch: 2, micro_batch: 1, precision: bf16 }",
    )
    priced = {
        (step.layer, step.phase.value): step.action.bytes
        for step in planned(text).plan.programs[0].steps
        if isinstance(step.action, Computation) and step.phase in (Phase.FORWARD, *BACKWARD)
    }
    layered = layers_of_spec("test.astra", text.encode()).value
    told = {
        (row["layer"], phase): size
        for row in json.loads(render(layered.model, "json", all_rows=True, widths=layered.widths))["layers"]
        for phase, size in row["bytes_moved"].items()
    }
    assert {key: size for key, size in told.items() if size} == priced
    relu = told.get(("conv1_relu", "input_gradient"))
    assert relu in (None, 3 * 2 * 64 * 112 * 112)
