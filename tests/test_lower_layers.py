"""Layers as ranks run them: frozen, tied, recomputed, cut, and the stages of models that are no chain."""

from __future__ import annotations

from collections import Counter

import pytest

from astrac.training.plan import Communicate, Computation, Phase, Remote, Transfer
from lowered import codes, columns, compiled, flops, parallelism, planned, spec, topology, trace_of, traffic

GPT = "model m {{ transformer {{ layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512, {} }}\n{} }}"
RESNET = 'model r {{ onnx: "zoo:resnet50"\n{} }}'


def gpt(*overrides, words="tied: false", axes=None, sizes=(4,), pool="", **training):
    training = {"global_batch": 8, "micro_batch": 1, "precision": "bf16"} | training
    return spec(
        topology=topology(*sizes),
        model=GPT.format(words, "\n".join(overrides)),
        memory_pool=pool,
        parallelism=parallelism(**(axes or {"data": ""})),
        training="training { " + ", ".join(f"{key}: {value}" for key, value in training.items()) + " }",
    )


def resnet(*overrides, axes, sizes=(4,), batch=8, micro=1):
    return spec(
        topology=topology(*sizes),
        model=RESNET.format("\n".join(overrides)),
        parallelism=parallelism(**axes),
        training=f"training {{ global_batch: {batch}, micro_batch: {micro}, precision: bf16 }}",
    )


def steps_of(plan, layer):
    return [step for program in plan.programs for step in program.steps if step.layer == layer]


# -- frozen


def test_a_frozen_layer_has_no_weight_gradient():
    plan = planned(gpt('  layer "block1.*" { freeze: true }')).plan
    phases = {step.phase for step in steps_of(plan, "block1.up") if isinstance(step.action, Computation)}
    assert phases == {Phase.FORWARD, Phase.INPUT_GRADIENT}
    assert not steps_of(plan, "block1")
    assert steps_of(plan, "block0")


def test_nothing_is_differentiated_below_the_first_trained_layer():
    plan = planned(gpt('  layer "[!h]*" { freeze: true }')).plan
    backward = {step.layer for step in plan.programs[0].steps if step.phase is Phase.INPUT_GRADIENT}
    assert backward == set()
    trained = {step.layer for step in plan.programs[0].steps if step.phase is Phase.WEIGHT_GRADIENT}
    assert trained == {"head"}


def test_frozen_stages_send_no_gradients_back():
    overrides = [f'  layer "{name}" {{ freeze: true }}' for name in ("embedding", "positions", "block0.*", "block1.*")]
    stages = ['  layer "block2.*" { stage: 1 }']
    plan = planned(gpt(*overrides, *stages, axes={"pipeline": "degree: 2"}, sizes=(2,))).plan
    assert traffic(plan.programs[0].steps) == {("pipeline", "forward", "send"): 8 * 2 * 32 * 64}
    assert ("pipeline", "input_gradient", "send") not in traffic(plan.programs[1].steps)


def test_a_stage_whose_first_part_is_frozen():
    plan = planned(
        resnet('  layer "*" { freeze: true }', '  layer "res5_2*" { freeze: false }', axes={"pipeline": "degree: 4"})
    ).plan
    trained = {step.layer for step in plan.programs[3].steps if step.phase is Phase.WEIGHT_GRADIENT}
    assert "res5_2_branch2a" in trained
    assert all(("pipeline", "input_gradient", "send") not in traffic(program.steps) for program in plan.programs)


def test_a_tied_weight_is_frozen_on_both_sides():
    plan = planned(gpt('  layer "head" { freeze: true }', words="tied: true")).plan
    assert not [step for step in steps_of(plan, "embedding") if step.phase is Phase.WEIGHT_GRADIENT]


def test_a_tie_within_a_stage_counts_once():
    plan = planned(gpt(words="tied: true")).plan
    dense, rest = 12 * 64 * 64 + 13 * 64, 32 * 64 + 2 * 64
    assert plan.model.params == 4 * dense + 512 * 64 + rest
    assert traffic(plan.programs[0].steps) == {("data", "reduction", "all_reduce"): 2 * plan.model.params}


def test_stages_that_share_weights_meet_in_one_order():
    """Two ties between the same stages, crossed: each stage sums the same one first."""
    plan = planned(gpt(words="tied: true", axes={"pipeline": "degree: 2"}, sizes=(2,))).plan
    orders = [
        [step.layer for step in program.steps if isinstance(step.action, Communicate) and step.axis == "pipeline"]
        for program in plan.programs
    ]
    assert orders == [["embedding"], ["embedding"]]
    last = [
        max(step.id for step in program.steps if isinstance(step.action, Transfer) and step.action.send)
        for program in plan.programs
    ]
    for program, send in zip(plan.programs, last, strict=True):
        (tied,) = [step for step in program.steps if step.axis == "pipeline" and isinstance(step.action, Communicate)]
        assert send in tied.needs


# -- precision and recomputation


def test_precision_of_a_layer_picks_its_peak():
    batch = {"micro_batch": 256, "global_batch": 1024}
    plan = planned(gpt('  layer "*.up" { precision: fp32 }', words="dropout: false, ffn: 4096", **batch)).plan
    times = {
        step.layer: step.action for step in plan.programs[0].steps if step.phase is Phase.FORWARD and not step.axis
    }
    up, down = times["block0.up"], times["block0.down"]
    assert up.time == int(up.flops * 10**9 / 66.9e12)
    assert down.time < up.time / 2


@pytest.mark.parametrize(
    ("word", "override", "expected"),
    [
        ("none", '  layer "block0.attention" { recompute: selective }', {"block0.attention"}),
        ("selective", '  layer "block0.*" { recompute: none }', {f"block{n}.attention" for n in (1, 2, 3)}),
        ("none", '  layer "block2.up" { recompute: full }', {"block2.up"}),
    ],
)
def test_overrides_of_recomputation(word, override, expected):
    plan = planned(gpt(override, recompute=word)).plan
    assert {step.layer for step in plan.programs[0].steps if step.phase is Phase.RECOMPUTE} == expected


def test_patterns_must_match():
    assert codes(gpt('  layer "blok*" { freeze: true }', '  layer "heat" { freeze: true }')) == ["AS620", "AS620"]


# -- layers marked one by one


BRANCHES = ('  layer "res?_?_branch2b" { shard: column }', '  layer "res?_?_branch2c" { shard: row }')


def test_columns_and_rows_of_an_onnx_model():
    """A column's features stay cut through norm and activation, up to the row, which sums."""
    plan = planned(resnet(*BRANCHES, axes={"tensor": "degree: 4"}, batch=1)).plan
    whole = planned(resnet(axes={"data": ""}, batch=4)).plan
    cut = {step.layer: step.action for step in plan.programs[0].steps if step.phase is Phase.FORWARD and not step.axis}
    uncut = {
        step.layer: step.action for step in whole.programs[0].steps if step.phase is Phase.FORWARD and not step.axis
    }
    for name in ("branch2b", "branch2b_bn", "branch2b_relu", "branch2c"):
        assert cut[f"res2_0_{name}"].flops * 4 == uncut[f"res2_0_{name}"].flops
    assert cut["res2_0_branch2a"] == uncut["res2_0_branch2a"]
    forward = [step for step in steps_of(plan, "res2_0_branch2c") if step.axis == "tensor"]
    assert [(step.action.kind.name, step.action.bytes) for step in forward] == [("ALL_REDUCE", 2 * 56 * 56 * 256)]
    backward = [step for step in steps_of(plan, "res2_0_branch2b") if step.axis == "tensor"]
    assert [(step.action.kind.name, step.action.bytes) for step in backward] == [("ALL_REDUCE", 2 * 56 * 56 * 64)]


def test_a_column_before_something_whole_gathers():
    plan = planned(resnet('  layer "pred" { shard: column }', axes={"tensor": "degree: 4"}, batch=1)).plan
    found = [(step.phase, step.action.kind.name, step.action.bytes) for step in steps_of(plan, "pred") if step.axis]
    assert found == [(Phase.FORWARD, "ALL_GATHER", 2 * 250), (Phase.INPUT_GRADIENT, "ALL_REDUCE", 2 * 2048)]


def test_a_row_after_something_whole_takes_its_part():
    plan = planned(resnet('  layer "pred" { shard: row }', axes={"tensor": "degree: 4"}, batch=1)).plan
    found = [(step.phase, step.action.kind.name, step.action.bytes) for step in steps_of(plan, "pred") if step.axis]
    assert found == [(Phase.FORWARD, "ALL_REDUCE", 2 * 1000), (Phase.INPUT_GRADIENT, "ALL_GATHER", 2 * 512)]


def test_features_must_divide():
    assert codes(resnet('  layer "pred" { shard: column }', axes={"tensor": "degree: 3"}, sizes=(3,), batch=1)) == [
        "AS517"
    ]


# -- pipelines of models that are no chain


def test_what_crosses_each_boundary_of_resnet():
    """Inside a residual block the shortcut crosses too, and goes through every stage between."""
    stages = [
        '  layer "res2_0_branch2b" { stage: 1 }',  # the block's input for its shortcut, and branch2a's output
        '  layer "res2_0_branch2c" { stage: 2 }',
        '  layer "res2_1_branch2a" { stage: 3 }',  # between blocks: one tensor
    ]
    plan = planned(resnet(*stages, axes={"pipeline": "degree: 4"}, batch=1)).plan
    shortcut, narrow, wide = 56 * 56 * 64, 56 * 56 * 64, 56 * 56 * 256
    expected = [2 * (shortcut + narrow), 2 * (shortcut + narrow), 2 * wide]
    for boundary, size in enumerate(expected, 1):
        moved = {step.action.bytes for step in steps_of(plan, f"boundary{boundary}")}
        assert moved == {size}


def test_stages_are_even_in_time():
    plan = planned(resnet(axes={"pipeline": "degree: 4"}, batch=64, micro=16)).plan
    times = [
        sum(
            step.action.time
            for step in program.steps
            if isinstance(step.action, Computation) and step.micro_batch is not None
        )
        for program in plan.programs
    ]
    assert max(times) < 1.25 * sum(times) / 4


def test_slots_of_one_f_one_b():
    plan = planned(gpt(axes={"pipeline": "degree: 4"}, global_batch=6)).plan
    for stage, program in enumerate(plan.programs):
        slots = [
            (step.phase is Phase.FORWARD, step.micro_batch)
            for step in program.steps
            if step.micro_batch is not None and not step.axis
        ]
        order = list(dict.fromkeys(slots))
        warm_up = 3 - stage
        assert order[: warm_up + 2] == [(True, n) for n in range(warm_up + 1)] + [(False, 0)]
        assert len(order) == 12


# -- steps, inference, memory pools


def test_steps_follow_each_other():
    """With ZeRO-1 a step's weights are gathered after the update, and the next forward pass waits for them."""
    one = planned(gpt(axes={"data": "shard: optimizer"})).plan
    two = planned(gpt(axes={"data": "shard: optimizer"}, steps=2)).plan
    assert traffic(two.programs[0].steps) == Counter(
        {key: 2 * size for key, size in traffic(one.programs[0].steps).items()}
    )
    steps = two.programs[0].steps
    gathers = {
        step.layer: step.id for step in steps if step.phase is Phase.OPTIMIZER and step.axis and not step.iteration
    }
    first = next(step for step in steps if step.iteration == 1 and step.layer == "block2.attention_norm")
    assert gathers["block2"] in first.needs


def test_forward_only():
    plan = planned(gpt(pass_="forward").replace("pass_", "pass")).plan
    assert {step.phase for step in plan.programs[0].steps} == {Phase.FORWARD}
    assert not traffic(plan.programs[0].steps)
    need = plan.programs[0].memory
    assert (need.gradients, need.optimizer) == (0, 0)
    assert need.activations == 2 * 32 * (64 + 512)  # the head's inputs and outputs


RANKS, ROUNDS = 4, 3
POOL = "memory_pool cxl {{ sharing: npu, bandwidth: 10 GB/s, latency: 100 ns, holds: [{}] }}"


@pytest.mark.parametrize(
    ("holds", "shard", "expected"),
    [
        # loads and stores of a step, in bytes a number: 2 of a weight, 2 of a gradient, 12 of Adam's state
        ("optimizer_state", "none", (12, 12)),
        ("optimizer_state", "optimizer", (12 / RANKS, 12 / RANKS)),
        ("gradients", "none", (2 * ROUNDS, 2 * ROUNDS)),
        ("gradients", "gradients", (2 * ROUNDS / RANKS, 2 * ROUNDS / RANKS)),
        ("parameters", "none", (2 * 2 * ROUNDS, 2)),
        ("parameters", "parameters", (2 * 2 * ROUNDS / RANKS, 2 / RANKS)),
    ],
)
def test_offload(holds, shard, expected):
    words = {"optimizer": "adam", "global_batch": ROUNDS * RANKS}
    text = gpt(pool=POOL.format(holds), axes={"data": f"shard: {shard}"}, sizes=(RANKS,), **words)
    result = compiled(text)
    plan, (program,) = result.plan, result.plan.programs
    moved = Counter()
    for step in program.steps:
        if isinstance(step.action, Remote):
            moved[step.action.store] += step.action.bytes
    loads, stores = expected
    assert (moved[False], moved[True]) == (loads * plan.model.params, stores * plan.model.params)
    assert trace_of(result, 0)[-1]["type"] == "COMP"
    assert program.memory.pool > 0
    assert getattr(program.memory, {"optimizer_state": "optimizer", "parameters": "weights"}.get(holds, holds)) == 0


def test_what_ranks_keep_in_a_pool_must_fit():
    pool = POOL.format("optimizer_state").replace("npu", "pool").replace("holds", "capacity: 1 MB, holds")
    assert codes(gpt(pool=pool, optimizer="adam")) == ["AS541"]
    assert codes(gpt(pool=pool.replace("1 MB", "1 GB"), optimizer="adam")) == []


# -- data parallelism


def test_buckets_by_size():
    """As many units as it takes to reach 200 kB, in the order of backward; what is left at the end by itself."""
    plan = planned(gpt(axes={"data": "buckets: 200 kB"})).plan
    unit, head = 2 * (12 * 64 * 64 + 13 * 64), 2 * (512 * 64 + 2 * 64)
    sizes = [(step.layer, step.action.bytes) for step in plan.programs[0].steps if step.axis == "data"]
    embedding = 2 * (512 * 64 + 32 * 64)
    assert sizes == [("head..block2", head + 2 * unit), ("block1..embedding", 2 * unit + embedding)]


def test_overlap_off_reduces_after_backward():
    steps = planned(gpt(axes={"data": "overlap: false"})).plan.programs[0].steps
    reductions = [step.id for step in steps if step.phase is Phase.REDUCTION]
    backward = [step.id for step in steps if step.phase in (Phase.INPUT_GRADIENT, Phase.WEIGHT_GRADIENT)]
    assert min(reductions) > max(backward)
    overlapping = planned(gpt()).plan.programs[0].steps
    assert min(step.id for step in overlapping if step.phase is Phase.REDUCTION) < max(
        step.id for step in overlapping if step.phase is Phase.WEIGHT_GRADIENT
    )


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_prefetch_gathers_ahead(ahead):
    steps = planned(gpt(axes={"data": f"shard: parameters, prefetch: {ahead}"})).plan.programs[0].steps
    before = [step.layer for step in steps[: next(step.id for step in steps if not step.axis)]]
    assert before == ["embedding", "block0", "block1", "block2"][: 1 + ahead]


def test_a_tied_table_is_gathered_once_a_pass():
    plan = planned(gpt(words="tied: true", axes={"data": "shard: parameters"}, global_batch=4)).plan
    assert traffic(plan.programs[0].steps) == {
        ("data", "forward", "all_gather"): 2 * plan.model.params // 4,
        ("data", "input_gradient", "all_gather"): 2 * plan.model.params // 4,
        ("data", "reduction", "reduce_scatter"): 2 * plan.model.params,
    }


# -- stragglers


def test_a_straggler_takes_longer_and_the_others_wait():
    slow = gpt().replace("from h100_sxm", "from h100_sxm { slow { ranks: [2], factor: 1.5 } }")
    usual, late = planned(gpt()).plan.programs[0], planned(slow).plan.programs
    assert [(program.name, program.slow) for program in late] == [("all ranks, others", ()), ("all ranks, slow", (2,))]
    for step, other, mine in zip(usual.steps, late[0].steps, late[1].steps, strict=True):
        assert step == other
        if isinstance(step.action, Computation):
            assert mine.action.time == int(1.5 * step.action.time)
            assert mine.action.flops == step.action.flops


def test_columns_add_up_over_stages():
    plan = planned(gpt(axes={"pipeline": "degree: 4"}, global_batch=4)).plan
    alone = planned(gpt(global_batch=16)).plan
    assert columns(plan, flops)["forward"] == columns(alone, flops)["forward"]
