"""What users of this field run into with hand-written and generated workloads, a test for each kind of fault."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from astrac.api.checking import Options
from astrac.api.compiling import compile_data, plan_data
from astrac.diagnostics import has_errors
from astrac.job import AxisGroup, Kind
from astrac.simulators.astra_sim_2.simulate import collective_time
from astrac.training.plan import Phase, Transfer
from lowered import (
    codes,
    compiled,
    files,
    groups_of,
    members,
    parallelism,
    planned,
    spec,
    topology,
    trace_of,
    trace_totals,
    traffic,
)

TINY = "model m { transformer { layers: 2, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }"
PROBE = "hardware probe { peak { fp32: 1 TFLOPS, bf16: 1 TFLOPS }, memory { capacity: 80 GB, bandwidth: 1600 GB/s } }"


def training(batch, **words):
    words = {"global_batch": batch, "micro_batch": 1, "precision": "bf16"} | words
    return "training { " + ", ".join(f"{key}: {value}" for key, value in words.items()) + " }"


def messages(text, **options):
    (result,) = compile_data("test.astra", text.encode(), Options(**options))
    return [(found.code, found.message, found.labels[0].span.text) for found in result.diagnostics]


def test_only_endpoints_count():
    """16 GPUs in two servers with a switch each, tensor 2: data parallel groups of 8."""
    axes = parallelism(tensor="degree: 2", data="")
    plan = planned(spec(topology=topology(8, 2), model=TINY, parallelism=axes, training=training(8))).plan
    assert plan.axis("data").size == 8
    assert members(plan, ("data",), 0) == (0, 2, 4, 6, 8, 10, 12, 14)


@pytest.mark.parametrize(("sharing", "kind"), [("npu", "PER_NPU_MEMORY_EXPANSION"), ("pool", "MEMORY_POOL")])
def test_memory_nodes_need_a_memory(sharing, kind):
    pool = f"memory_pool cxl {{ sharing: {sharing}, bandwidth: 10 GB/s, latency: 100 ns, holds: [parameters] }}"
    blocks = {"topology": topology(8), "model": TINY, "training": training(8)}
    with_pool = compiled(spec(memory_pool=pool, parallelism="parallelism { data {} }", **blocks))
    assert f'"memory-type": "{kind}"' in files(with_pool)["astra-sim-2/memory.json"].decode()
    nodes = trace_of(with_pool, 3)
    assert {"LOAD", "STORE"} < {node["type"] for node in nodes}
    assert nodes[-1]["type"] == "COMP"
    without = compiled(spec(parallelism="parallelism { data {} }", **blocks))
    assert not {"LOAD", "STORE"} & {node["type"] for node in trace_of(without, 3)}


def test_the_pool_needs_its_numbers():
    blocks = {"topology": topology(8), "model": TINY, "training": training(8), "parallelism": "parallelism { data {} }"}
    no_bandwidth = "memory_pool cxl { sharing: pool, latency: 100 ns, holds: [parameters] }"
    assert has_errors(plan_data("t", spec(memory_pool=no_bandwidth, **blocks).encode())[0].diagnostics)
    no_nodes = "memory_pool cxl { sharing: node, bandwidth: 10 GB/s, latency: 100 ns, holds: [parameters] }"
    assert codes(spec(memory_pool=no_nodes, **blocks)) == ["AS525"]


@pytest.fixture(scope="module")
def hybrid():
    axes = parallelism(tensor="degree: 4", data="degree: 2")
    return compiled(spec(topology=topology(4, 2), model=TINY, parallelism=axes, training=training(2)))


def test_every_node_is_of_the_device(hybrid):
    for node in trace_of(hybrid, 5):
        assert node["is_cpu_op"] is False
        if node["type"] == "COLL":
            assert isinstance(node["comm_type"], int)
            assert node["comm_size"] > 0


def test_collectives_name_their_dimensions(hybrid):
    found = {
        (node["name"].split(".")[-1], tuple(node["involved_dim"]))
        for node in trace_of(hybrid, 0)
        if node["type"] == "COLL"
    }
    assert found == {("tensor_all_reduce", (True, False)), ("data_all_reduce", (False, True))}


def test_the_time_of_each_dimension():
    """Ring of 4 x switch of 2, 1 MiB: 43,000 ns on the first, 55,176 ns on the second."""
    text = spec(
        hardware=PROBE,
        topology="topology pod {\n  ring a { size: 4, bandwidth: 50 GiB/s, latency: 500 ns }\n"
        "  switch b { size: 2, bandwidth: 25 GiB/s, latency: 1 us, algorithm: halving_doubling }\n}",
        model="model bench { collective { kind: all_reduce, size: 1 MiB } }",
    )
    machine = planned(text).job.machine

    def time(*involved):
        names = tuple(f"dim{index}" for index, on in enumerate(involved) if on)
        return collective_time(machine, Kind.ALL_REDUCE, 1 << 20, AxisGroup(names, (), involved)).cycles

    assert (time(True, False), time(False, True)) == (43_000, 55_176)


@pytest.mark.parametrize("axis", ["data", "tensor", "pipeline"])
def test_bandwidth_matters(axis):
    def cycles(bandwidth):
        text = spec(
            topology=topology(2).replace("50 GB/s", bandwidth),
            model="model m { transformer { layers: 2, hidden: 1024, heads: 8, sequence: 512, vocabulary: 512 } }",
            parallelism=parallelism(**{axis: ""}),
            training=training(2),
        )
        return planned(text).estimate.cycles

    assert cycles("5 GB/s") > cycles("10 GB/s")


def test_all_ranks_are_a_group_once_there_are_others():
    """Tied stages are a group, so the reduction over all ranks of a stage's machine is one too."""
    axes = parallelism(data="degree: 4", pipeline="degree: 2")
    result = compiled(spec(topology=topology(8), model=TINY, parallelism=axes, training=training(8)))
    assert all("pg_name" in node for rank in (0, 7) for node in trace_of(result, rank) if node["type"] == "COLL")


def test_no_useless_groups():
    axes = parallelism(data="degree: 2", tensor="degree: 1", pipeline="degree: 1")
    result = compiled(spec(topology=topology(2), model=TINY, parallelism=axes, training=training(2)))
    assert groups_of(result) == {}
    assert {tuple(node["involved_dim"]) for node in trace_of(result, 0) if node["type"] == "COLL"} == {(True,)}
    axes = parallelism(data="degree: 2", pipeline="degree: 2")
    result = compiled(spec(topology=topology(4), model=TINY, parallelism=axes, training=training(2)))
    used = {node["pg_name"] for rank in range(4) for node in trace_of(result, rank) if "pg_name" in node}
    assert used == set(groups_of(result))
    assert all(len(ranks) > 1 for ranks in groups_of(result).values())


def test_group_ids_are_numbers_from_one():
    axes = parallelism(tensor="degree: 4", data="degree: 4")
    result = compiled(spec(topology=topology(16), model=TINY, parallelism=axes, training=training(8)))
    groups = groups_of(result)
    assert list(groups) == [str(number) for number in range(1, 9)]
    assert all(ranks == sorted(set(ranks)) for ranks in groups.values())
    for rank in range(16):
        for node in trace_of(result, rank):
            if "pg_name" in node:
                assert rank in groups[node["pg_name"]]


@pytest.mark.parametrize(("gradients", "size"), [("bf16", 33_554_432), ("fp32", 67_108_864)])
def test_bytes_not_elements(gradients, size):
    """The gradient of a linear layer of 2048 x 8192."""
    text = spec(
        topology=topology(2),
        model="model m { transformer { layers: 1, hidden: 2048, heads: 8, sequence: 32, vocabulary: 512, bias: false, "
        "norm: rms_norm, activation: relu } }",
        parallelism="parallelism { data {} }",
        training=training(2, precision=f"{{ compute: bf16, gradients: {gradients} }}").replace(
            "precision:", "precision"
        ),
    )
    plan = planned(text).plan
    (block,) = [step.action.bytes for step in plan.programs[0].steps if step.layer == "block0" and step.axis == "data"]
    width = size // (2048 * 8192)
    assert block == 2 * size + width * (4 * 2048 * 2048 + 2 * 2048)


def test_the_text_has_twelve_columns():
    text = spec(topology=topology(8), model=TINY, parallelism="parallelism { data {} }", training=training(8))
    lines = files(compiled(text))["astra-sim-1/workload.txt"].decode().splitlines()
    assert lines[0] == "DATA"
    assert int(lines[1]) == len(lines) - 2
    assert {len(line.split()) for line in lines[2:]} == {12}


def test_nothing_is_sent_for_nothing(hybrid):
    assert all(node["comm_size"] > 0 for rank in range(8) for node in trace_of(hybrid, rank) if node["type"] == "COLL")
    frozen = TINY.replace("} }", '}\n  layer "*" { freeze: true }\n}')
    text = spec(topology=topology(8), model=frozen, parallelism="parallelism { data {} }", training=training(8))
    assert {node["type"] for node in trace_of(compiled(text), 0)} == {"COMP"}


@pytest.mark.parametrize("word", ["all_to_all_ep", "AllGather", "broadcast", "P2P"])
def test_an_unknown_collective_is_an_error_at_the_word(word):
    text = spec(topology=topology(8), model=f"model bench {{ collective {{ kind: {word}, size: 1 MiB }} }}")
    ((_, _, place),) = messages(text)
    assert place == word


def test_codes_of_the_kinds():
    assert (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.ALL_TO_ALL, Kind.REDUCE_SCATTER) == (0, 2, 6, 7)


@pytest.mark.parametrize(
    ("kind", "size", "cycles"),
    [("all_gather", 131_072, 20_595), ("reduce_scatter", 1 << 20, 22_296), ("all_reduce", 1 << 20, 42_890)],
)
def test_the_size_of_an_all_gather_is_the_share(kind, size, cycles):
    result = compiled(
        spec(
            hardware=PROBE,
            topology="topology ring8 { ring a { size: 8, bandwidth: 50 GiB/s, latency: 500 ns } }",
            model=f"model bench {{ collective {{ kind: {kind}, size: 1 MiB }} }}",
            system="system { chunks: 1, endpoint_delay: 1 ns }",
        )
    )
    (node,) = trace_of(result, 0)
    assert node["comm_size"] == size
    assert result.estimate.cycles == cycles


@pytest.mark.parametrize(
    ("axes", "words", "place"),
    [
        ({"tensor": "degree: 4, sequence_parallel: true", "data": "degree: 2"}, {}, "true"),
        ({"pipeline": "degree: 2", "data": "degree: 4"}, {}, "pipeline"),
        ({"data": "shard: optimizer"}, {}, "optimizer"),
        ({"data": "overlap: false"}, {}, "false"),
        ({"data": ""}, {"recompute": "full"}, "full"),
        ({"data": ""}, {"pass": "forward"}, "forward"),
    ],
)
def test_what_the_text_cannot_say_is_an_error(axes, words, place):
    text = spec(topology=topology(8), model=TINY, parallelism=parallelism(**axes), training=training(8, **words))
    found = messages(text, targets=("astra-sim-1",))
    assert [(code, where) for code, _, where in found if code == "AS710"] == [("AS710", place)]
    (result,) = compile_data("test.astra", text.encode(), Options(targets=("astra-sim-1",)))
    hints = [hint for finding in result.diagnostics if finding.code == "AS710" for hint in finding.hints]
    assert hints == ["the traces of `--target astra-sim-2` say it"]


def test_layers_that_are_recomputed_have_no_policy():
    model = TINY.replace("} }", '}\n  layer "block0.*" { recompute: full }\n}')
    text = spec(topology=topology(8), model=model, parallelism="parallelism { data {} }", training=training(8))
    assert "astra-sim-1" not in compiled(text).jobs


@pytest.mark.parametrize(("words", "size"), [("", 33_554_432), (", sequence_parallel: true", 8_388_608)])
def test_a_pipeline_sends(words, size):
    text = spec(
        topology=topology(4, 2),
        model="model m { transformer { layers: 4, hidden: 4096, heads: 32, sequence: 4096, max_positions: 4096, "
        "vocabulary: 32_000, dropout: false } }",
        parallelism=parallelism(tensor=f"degree: 4{words}", pipeline="degree: 2"),
        training=training(3, recompute="full"),
    )
    plan = planned(text).plan
    for program, peer in zip(plan.programs, (5, 1), strict=True):
        rank = 4 * program.stage + 1
        moves = [step.action for step in program.steps if isinstance(step.action, Transfer)]
        assert Counter((move.send, move.bytes) for move in moves) == {(True, size): 3, (False, size): 3}
        assert {plan.axis("pipeline").peer(rank, move.offset) for move in moves} == {peer}


@pytest.mark.parametrize("t", [1, 4])
def test_parameters_do_not_depend_on_the_tensor_axis(t):
    d = 8 // t
    text = spec(
        topology=topology(8),
        model="model m { transformer { layers: 2, hidden: 64, heads: 8, sequence: 32, vocabulary: 512, bias: false, "
        "norm: rms_norm, activation: relu, tied: true } }",
        parallelism=parallelism(tensor=f"degree: {t}", data=f"degree: {d}, shard: optimizer"),
        training=training(8, precision="{ compute: bf16, gradients: fp32 }").replace("precision:", "precision"),
    )
    plan = planned(text).plan
    matrices, norms = 2 * 12 * 64 * 64 + 512 * 64, 5 * 64
    assert plan.model.params == matrices + norms
    sent = traffic(plan.programs[0].steps)
    held = matrices // t + norms
    assert sent["data", "reduction", "reduce_scatter"] == 4 * held
    assert sent["data", "optimizer", "all_gather"] == 2 * held // d


@pytest.mark.parametrize(
    ("sizes", "axes", "batch", "code", "message"),
    [
        (
            (16,),
            {"tensor": "degree: 8", "pipeline": "degree: 4"},
            16,
            "AS510",
            "tensor 8 x pipeline 4 = 32 does not divide 16 NPUs",
        ),
        (
            (8, 8, 23),
            {"tensor": "degree: 8", "pipeline": "degree: 8", "data": ""},
            32,
            "AS515",
            "global_batch 32 is not a multiple of data 23 x micro_batch 1 = 23",
        ),
    ],
)
def test_degrees_and_batches_must_fit(sizes, axes, batch, code, message):
    text = spec(topology=topology(*sizes), model=TINY, parallelism=parallelism(**axes), training=training(batch))
    assert [found[:2] for found in messages(text)] == [(code, message)]


@pytest.mark.parametrize(("key", "value"), [("heads", 6), ("vocabulary", 513), ("ffn", 100)])
def test_shares_must_be_whole(key, value):
    words = {"layers": 2, "hidden": 96, "heads": 8, "sequence": 32, "vocabulary": 512, "ffn": 256} | {key: value}
    model = "model m { transformer { " + ", ".join(f"{name}: {number}" for name, number in words.items()) + " } }"
    text = spec(topology=topology(8), model=model, parallelism=parallelism(tensor=""), training=training(1))
    assert ("AS517", str(value)) in {(code, place) for code, _, place in messages(text)}


def test_traces_hold_together(hybrid):
    for rank in (0, 7):
        nodes = trace_of(hybrid, rank)
        ids = [node["id"] for node in nodes]
        assert ids == sorted(set(ids))
        assert all(need < node["id"] for node in nodes for need in (*node["data_deps"], *node["ctrl_deps"]))


def test_the_columns_of_the_text():
    """Input and weight gradient as forward; none for the input of the first layer; the update has its own column."""
    text = spec(
        hardware="hardware slow { peak { fp32: 1 GFLOPS }, memory { capacity: 80 GB, bandwidth: 1e6 GB/s } }",
        topology=topology(8),
        model='model m { onnx: "zoo:vgg16" }',
        parallelism="parallelism { data {} }",
        training="training { global_batch: 8, precision: fp32, optimizer: sgd }",
    )
    rows = [line.split() for line in files(compiled(text))["astra-sim-1/workload.txt"].decode().splitlines()[2:]]
    assert int(rows[0][5]) == 0
    for row in rows[:1] + rows[-3:]:
        forward, weight = int(row[2]), int(row[8])
        assert weight == pytest.approx(forward, rel=0.02)
    for row in rows[-3:]:
        assert int(row[5]) == pytest.approx(int(row[2]), rel=0.02)
    assert all(int(row[11]) > 100 for row in rows)
    parameters = 4096 * 1000 + 1000
    assert int(rows[-1][11]) == 2 * parameters  # two FLOP a number at 1 GFLOPS


def test_a_trace_for_every_rank(hybrid):
    paths = [path for artifact in hybrid.bundle.artifacts for path in artifact.paths if path.endswith(".et")]
    assert sorted(paths) == [f"astra-sim-2/workload/m.{rank}.et" for rank in range(8)]


def test_names_are_unique_and_without_blanks():
    text = spec(
        topology=topology(2),
        model='model m { onnx: "zoo:resnet50" }',
        parallelism="parallelism { data {} }",
        training="training { global_batch: 4, precision: fp32 }",
    )
    result = compiled(text)
    names = [node["name"] for node in trace_of(result, 0)]
    assert len(set(names)) == len(names)
    assert not any(set(name) & set(" \t\n") for name in names)
    rows = [line.split() for line in files(result)["astra-sim-1/workload.txt"].decode().splitlines()[2:]]
    assert len({row[0] for row in rows}) == len(rows)


def test_ranks_of_a_stage_share_all_but_their_peers(hybrid):
    assert trace_totals(hybrid, 0)["flops"] == trace_totals(hybrid, 7)["flops"]
    assert math.prod(axis.size for axis in hybrid.plan.axes) == 8
    assert {step.phase for step in hybrid.plan.programs[0].steps} == set(Phase) - {Phase.RECOMPUTE}
