"""Codes whose input is no single text, and that no other test is about: found where they are due, and only there."""

import json
from dataclasses import replace

import pytest
from onnx import TensorProto

import astrac
import guard_inputs
import jobs
from astrac.api import guarding
from astrac.api.estimating import estimate_folder
from astrac.models.onnx import read_model
from astrac.simulators.astra_sim_2.check.job import check_programs
from astrac.simulators.protocol import Outcome
from onnx_models import model, node, value, weight
from simulator_1 import BAD, bad_texts, examine

TRACE = [{"id": 0, "type": "COMP", "duration": 5}, {"id": 1, "type": "COLL", "comm_type": 0, "comm_size": 1048576}]
NETWORK = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"


# -- ASTRA-sim 2.x


def found(folder, trace=TRACE, **system):
    guard_inputs.write({"network": NETWORK, "traces": [trace], "ranks": [(0, 8)], "system": system}, folder)
    return [(each.code, each.message) for each in guarding.check(str(folder), None, None).diagnostics]


def test_compute_without_a_duration_takes_no_time(tmp_path):
    work = [{"id": 0, "type": "COMP", "num_ops": 2, "tensor_size": 10}, TRACE[1]]
    message = "node 0 `n0` says `num_ops` and no duration: without `roofline-enabled` it lasts 1 ns"
    assert found(tmp_path / "a", work) == [("AS874", message)]
    assert "AS874" not in dict(found(tmp_path / "b", [work[0] | {"duration": 1}, TRACE[1]]))
    assert "AS874" not in dict(found(tmp_path / "c", [work[0] | {"num_ops": 1}, TRACE[1]]))
    assert "AS874" not in dict(found(tmp_path / "d", work, **{"roofline-enabled": 1, "peak-perf": 1}))


def test_tensors_that_are_tracked_must_be_named(tmp_path):
    assert found(tmp_path / "a", **{"track-local-mem": 0}) == []
    message = "`track-local-mem` looks for `inputs` and `outputs` in every node, and node 0 `n0` does not have both"
    assert found(tmp_path / "b", **{"track-local-mem": 1}) == [("AS790", message)]
    unplayed = estimate_folder(tmp_path / "b", None)
    assert (unplayed.estimate.failure.outcome, unplayed.estimate.fails) == (Outcome.UNKNOWN, message)
    named = [
        line | {name: {"string_list": [f"{name} {line['id']}", "8"]} for name in ("inputs", "outputs")}
        for line in TRACE
    ]
    assert [code for code, _ in found(tmp_path / "c", named, **{"track-local-mem": 1})] == ["AS870"]
    plain = guard_inputs.write({"network": NETWORK, "traces": [named], "ranks": [(0, 8)], "system": {}}, tmp_path / "d")
    cycles = [estimate_folder(folder, None).estimate.cycles for folder in (tmp_path / "c", plain)]
    assert cycles[0] == cycles[1] > 0


def test_compute_of_no_microseconds(tmp_path):
    work = [{"id": number, "type": "COMP"} for number in range(3)]
    message = "3 compute nodes say 0 us: the simulator runs each as 1 ns"
    assert found(tmp_path / "a", work) == [("AS882", message)]
    assert found(tmp_path / "b", work, **{"replay-only": 1}) == []


@pytest.mark.parametrize(("tag", "told"), [(2**31 - 1, []), (2**31, ["AS774"]), (2**32 - 1, ["AS774"])])
def test_tags_have_a_sign(tmp_path, tag, told):
    ends = {"comm_src": 0, "comm_dst": 1, "comm_size": 8, "comm_tag": tag}
    traces = [[{"id": 0, "type": kind} | ends] for kind in ("SEND", "RECV")] + [[{"id": 0, "type": "COMP", "dur": 1}]]
    row = {"network": NETWORK, "traces": traces, "ranks": [(0, 1), (1, 1), (2, 6)]}
    findings = guarding.check(str(guard_inputs.write(row, tmp_path))).diagnostics
    assert [each.code for each in findings if each.is_error] == told * 2


def test_a_part_of_the_simulator_that_is_not_modelled(tmp_path):
    assert [code for code, _ in found(tmp_path / "b", **{"model-shared-bus": 1})] == ["AS886", "AS875", "AS870"]
    unplayed = estimate_folder(tmp_path / "b", None)
    assert {each.code for each in unplayed.diagnostics} == {"AS715"}
    assert unplayed.estimate.failure.outcome is Outcome.UNKNOWN


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "poem.txt"
    path.write_text("Roses are red\n")
    (told,) = guarding.check(str(path), None, None).diagnostics
    assert told.code == "AS781"
    assert guarding.check(str(path), None, None, only_inputs=True).diagnostics == ()


def placed(folder, **files):
    """Code and line:column of what is found in one file of a healthy bundle."""
    guard_inputs.write({"network": NETWORK, "traces": [TRACE], "ranks": [(0, 8)]}, folder)
    ((name, text),) = files.items()
    (folder / f"{name}.json").write_text(text)
    told = guarding.check(str(folder), None, None).diagnostics
    return [(each.code, each.labels[0].span.first.line, each.labels[0].span.first.column) for each in told]


def test_memory_keys_that_do_nothing_or_are_missing(tmp_path):
    kept = '{\n "memory-type": "PER_NPU_MEMORY_EXPANSION",\n "remote-mem-bw": 100%s}'
    assert placed(tmp_path / "a", memory=kept % "") == [("AS875", 2, 17)]
    assert placed(tmp_path / "b", memory=kept % ',\n "remote-mem-latency": 5') == []
    more = ',\n "remote-mem-latency": 5,\n "num-nodes": 2'
    assert placed(tmp_path / "c", memory=kept % more) == [("AS861", 5, 2)]
    none = '{"memory-type": "NO_MEMORY_EXPANSION",\n  "remote-mem-bw": 100}'
    assert placed(tmp_path / "d", memory=none) == [("AS861", 2, 3)]


def test_files_that_are_not_there(tmp_path):
    """Handed by a hook, only what is ours is asked for; a trace's name says so."""
    for name, only_inputs, expected in (
        ("w.0.et", True, ["AS700"]),
        ("w.0.et", False, ["AS700"]),
        ("notes.txt", True, []),
        ("notes.txt", False, ["AS700"]),
    ):
        told = guarding.check(str(tmp_path / name), None, None, only_inputs=only_inputs).diagnostics
        assert [each.code for each in told] == expected


# -- ASTRA-sim 1.0


RING_OF_4 = {key: value for key, value in json.loads(BAD[0]["network"]).items() if isinstance(value, list)}


def of_run(**changes):
    texts = bad_texts({"workload": BAD[0]["workload"]} | changes)
    return {each.code for each in examine(*texts)[1]}


def test_boost_mode_with_a_ring_over_all_dimensions():
    words = {f"{kind}-implementation": "ring_ring" for kind in ("all-gather", "reduce-scatter", "all-to-all")}
    lists = {key: [part, part] for key, (part,) in RING_OF_4.items()}
    two = {"dimensions-count": 2} | lists
    for flat, boost, expected in (("oneRing", 0, False), ("oneRing", 1, True), ("ring_ring", 1, False)):
        system = words | {"all-reduce-implementation": flat, "boost-mode": boost}
        assert ("AS737" in of_run(network=two, system=system)) == expected


def test_messages_that_are_too_slow_or_too_fast():
    assert of_run(network={"link-bandwidth": [1e-9]}) == {"AS755"}


@pytest.mark.parametrize("layers, codes", [(100, set()), (101, {"AS848"})])
def test_many_layers(layers, codes):
    rows = "".join(f"l{at} -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n" for at in range(layers))
    assert of_run(workload=f"DATA\n{layers}\n{rows}") == codes


# -- ONNX

X = value("x", 2, 4)
LINEAR = node("MatMul", ["x", "w"], ["h"], "mm")
W = weight("w", 4, 3)


def codes(source, **options):
    return [each.code for each in read_model("m", source, **options).diagnostics]


def loop(count):
    body = model(
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("h", 2, 4)],
        [node("MatMul", ["h", "k"], ["o"], "mm"), node("Identity", ["c"], ["d"])],
        output="d o",
    )
    from onnx import ModelProto

    inner = ModelProto.FromString(body).graph
    return model(
        [X, *count[:1]], [node("Loop", ["n", "", "x"], ["y"], "loop", body=inner)], [weight("k", 4, 4), *count[1:]]
    )


def test_a_loop_whose_trips_nobody_knows():
    (told,) = read_model("m", loop([value("n", dtype=TensorProto.INT64)])).diagnostics
    assert told.code == "AS615"
    assert told.hints == ('say how often: `--bind "n=N"` (in a spec: `bind { "n": N }`)',)


def test_unknown_extents_are_an_error_where_that_is_asked_for():
    nodes = [LINEAR, node("NonZero", ["h"], ["i"], "nz"), node("Cast", ["i"], ["y"], "cast", to=1)]
    data = model([X], nodes, [W])
    assert codes(data) == ["AS835"]
    assert codes(data, strict=True) == ["AS616"]


def test_a_model_that_is_newer_than_onnx():
    import onnx

    newest = onnx.defs.onnx_opset_version()
    assert codes(model([X], [LINEAR], [W], "h", opset=newest)) == []
    assert "AS833" in codes(model([X], [LINEAR], [W], "h", opset=newest + 1))


def test_weights_beside_the_model(tmp_path):
    stored = TensorProto(name="w", dims=(4, 3), data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    stored.external_data.add(key="location", value="w.bin")
    path = tmp_path / "m.onnx"
    path.write_bytes(model([X], [LINEAR], [stored], "h"))
    assert codes(path) == ["AS834"]
    (tmp_path / "w.bin").write_bytes(bytes(48))
    assert codes(path) == []


def test_gradients_are_left_out():
    nodes = [LINEAR, node("ReluGrad", ["h", "h"], ["g"], "back", domain="com.microsoft")]
    data = model([X], nodes, [W], "h g")
    (told,) = read_model("m", data).diagnostics
    assert told.code == "AS836"
    assert "1 gradient nodes" in told.message


# -- lowering, and mistakes of ours


def test_a_shared_weight_that_one_layer_cuts_and_the_other_does_not(tmp_path):
    nodes = [
        node("Gather", ["e", "ids"], ["h"], "embedding"),
        node("MatMul", ["h", "k"], ["g"], "middle"),
        node("MatMul", ["g", "head.weight"], ["y"], "head"),
    ]
    stored = [weight("e", 64, 8), weight("k", 8, 8), weight("head.weight", 8, 64)]
    (tmp_path / "m.onnx").write_bytes(model([value("ids", 1, 16, dtype=TensorProto.INT64)], nodes, stored))
    path = tmp_path / "spec.astra"
    path.write_text(SHARED)
    assert [each.code for each in astrac.check(path).errors] == ["AS532"]
    path.write_text(SHARED.replace('layer "head"', 'layer "middle"'))
    assert [each.code for each in astrac.check(path).errors] == []


SHARED = """use "std/hardware/h100.astra"
hardware: h100_sxm
topology pod { switch d { size: 2, bandwidth: 50 GB/s, latency: 500 ns } }
model m { onnx: "m.onnx", tie: [["e", "head.weight"]], layer "head" { shard: column } }
parallelism { tensor { degree: 2 } }
training { global_batch: 1, precision: bf16 }
"""


def test_a_trace_that_waits_for_itself_is_our_mistake():
    job = jobs.data_parallel(2)
    program = job.programs[0]
    circular = replace(program, ops=(replace(program.ops[0], data=(program.ops[0].id,)), *program.ops[1:]))
    assert check_programs(job.programs) == ()
    (told,) = check_programs((circular,))
    assert told.code == "AS920"
