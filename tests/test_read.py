"""Any 2.x bundle -> Job: ours comes back equal, others' as the simulator sees them, broken ones as a diagnostic."""

import json
import os
from dataclasses import replace

import pytest

import jobs
from astrac import bundle, emit
from astrac.job import (
    Axis,
    AxisGroup,
    Box,
    Collective,
    Compute,
    Job,
    Kind,
    ListedGroup,
    MemoryType,
    Program,
    RankClass,
    Receive,
    RemoteMemory,
    Send,
)
from astrac.simulators.astra_sim_2.chakra import from_lines
from astrac.simulators.astra_sim_2.read.files import of_options
from folders import read

NETWORK = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
}


def written(job, folder):
    assert bundle.write(emit.emit({"astra-sim-2": job}).value, folder).ok
    return folder


def codes(result):
    assert result.value is None
    return [finding.code for finding in result.diagnostics]


@pytest.mark.parametrize("job", jobs.ALL.values(), ids=jobs.ALL.keys())
def test_what_we_wrote_comes_back_equal(tmp_path, job):
    assert read(written(job, tmp_path / "out")) == (job, ())
    if job.machine.queues == 1:  # the manifest knows the command line, the folder alone does not
        assert read(tmp_path / "out" / "astra-sim-2").value == job


def test_copies_come_back_equal_as_well(tmp_path):
    job = jobs.data_parallel(8)
    assert bundle.write(emit.emit({"astra-sim-2": job}).value, tmp_path / "out", copy=True).ok
    assert read(tmp_path / "out").value == job


def test_without_a_manifest_axes_are_dimensions_and_groups_are_listed(tmp_path):
    out = written(jobs.pipeline_of_tensors(), tmp_path / "out")
    (out / "manifest.json").unlink()
    job = read(out).value
    assert job.axes == (Axis("dim0", 1, 8), Axis("dim1", 8, 4))
    assert job.machine == jobs.pipeline_of_tensors().machine
    assert job.name == "tp_dp_pp"
    # Rank 13: receives from 5, sends to 21, in tensor group 4 and data group 14.
    program = next(job.programs[members.program] for members in job.classes if 13 in set(job.ranks(members)))
    receive, _, tensor, send, data = program.ops[:5]
    assert (receive.axis, receive.offset) == ("rank", -8)
    assert (send.axis, send.offset) == ("rank", 8)
    assert tensor.group == ListedGroup(4, (12, 13, 14, 15))
    assert data.group == ListedGroup(14, (9, 13))


def test_a_manifest_that_the_files_contradict_is_not_believed(tmp_path):
    out = written(jobs.offload(), tmp_path / "out")
    workload = out / "astra-sim-2" / "workload"
    (workload / "offload.5.et").unlink()
    os.link(workload / "offload.3.et", workload / "offload.5.et")
    job = read(out).value
    assert job.axes == (Axis("dim0", 1, 8),)
    assert [members.boxes for members in job.classes] == [
        (Box(((0, 1, 2, 4, 6, 7),)),),
        (Box(((3, 5),)),),
    ]


def foreign(folder, programs, *, network=NETWORK, system=SYSTEM, memory=None, groups=None, names=None):
    """A bundle as somebody else lays it out: traces by our encoder, everything else by hand."""
    folder.mkdir(exist_ok=True)
    ranks = len(programs)
    job = Job(
        "w",
        replace(jobs.machine(("Ring", ranks)), roofline=False),
        (Axis("x", 1, ranks),),
        tuple(Program(ops) for ops in programs),
        tuple(RankClass(rank, (Box(((rank,),)),)) for rank in range(ranks)),
    )
    (folder / "traces").mkdir()
    for artifact in emit.emit({"astra-sim-2": job}).value.artifacts:
        for rank in artifact.ranks:
            (folder / "traces" / f"w.{rank}.et").write_bytes(b"".join(artifact.contents()))
    names = {"network": "net.yml", "system": "sys", "memory": "mem.json", "groups": "g.txt"} | (names or {})
    (folder / names["network"]).write_text(network)
    (folder / names["system"]).write_text(system if isinstance(system, str) else json.dumps(system))
    if memory is not None:
        (folder / names["memory"]).write_text(json.dumps(memory))
    if groups is not None:
        (folder / names["groups"]).write_text(json.dumps(groups))
    return folder


def work(**rest):
    return Compute(id=0, name="w", duration=3, **rest)


def test_a_foreign_folder_is_recognised_by_content(tmp_path):
    reduce = Collective(id=1, data=(0,), kind=Kind.ALL_REDUCE, bytes=1 << 20, group=ListedGroup(7, (3, 0)))
    idle, busy = (work(),), (work(), reduce)
    out = foreign(
        tmp_path / "out",
        [busy, idle, idle, busy],
        memory={"memory-type": "MEMORY_POOL", "remote-mem-latency": 700, "remote-mem-bw": 30, "num-nodes": 9},
        groups={"7": [3, 0]},
    )
    job = read(out).value
    assert job.machine.memory == RemoteMemory(MemoryType.POOL, latency=700, bandwidth=30)
    assert job.machine.local_mem_bandwidth == 1600.0
    assert job.machine.peak_performance is None
    assert job.machine.algorithms == {Kind.ALL_REDUCE: ("ring",)}
    assert (job.machine.roofline, job.machine.replay_only) == (False, False)
    assert job.programs == (Program(busy), Program(idle))
    assert [members.boxes for members in job.classes] == [(Box(((0, 3),)),), (Box(((1, 2),)),)]


def test_ranks_that_act_alike_share_a_program(tmp_path):
    def ring(rank):
        return (
            Send(id=0, axis="rank", offset=1, bytes=8, tag=rank // 100),
            Receive(id=1, axis="rank", offset=-1, bytes=8, tag=0),
        )

    job = read(foreign(tmp_path / "out", [ring(rank) for rank in range(4)])).value
    assert job.programs == (Program(ring(0)),)
    assert job.classes == (RankClass(0, (Box((None,)),)),)


def test_missing_involved_dim_means_all_dimensions(tmp_path):
    whole = AxisGroup(("x",), dimensions=(True,))
    reduce = Collective(id=0, kind=Kind.ALL_REDUCE, bytes=1 << 20, group=whole)
    job = read(foreign(tmp_path / "out", [(reduce,)] * 4)).value
    assert job.programs[0].ops[0].group == AxisGroup(("dim0",), dimensions=(True,))


def test_astra_sims_own_options_name_the_files(tmp_path):
    out = foreign(tmp_path / "out", [(work(),)] * 4)
    arguments = [
        "--network-configuration=net.yml",
        "--system-configuration",
        "sys",
        "--workload-configuration=traces/w",
        "--comm-group-configuration=my_empty_groups.json",
        "--num-queues-per-dim=2",
        "--injection-scale=1.5",
        "--comm-scale=3",
    ]
    machine = read(of_options(arguments, out)).value.machine
    assert (machine.queues, machine.endpoint_delay) == (2, 15)
    from astrac.diagnostics import Diagnosed

    for broken, words in (
        (arguments[1:], "`--network-configuration` is missing"),
        (["--comm-group-config=x"], "`--comm-group-config` is no option"),
        (["--num-queues-per-dim=0"], "cannot be `0`"),
    ):
        with pytest.raises(Diagnosed, match=words):
            of_options(broken, out)


SYSTEMS = {
    "S2": ("scheduling-policy", "fifo", "must be one of `LIFO`, `FIFO`, `EXPLICIT`", '"fifo"'),
    "S4": ("preferred-dataset-splits", 0, "must be at least 1", "0"),
    "S4d": ("preferred-dataset-splits", "4", "must be a whole number", '"4"'),
    "S4e": ("preferred-dataset-splits", 4.7, "must be a whole number", "4.7"),
    "S5": ("active-chunks-per-dimension", 0, "must be at least 1", "0"),
    "S6c": ("endpoint-delay", 0.9, "must be a whole number", "0.9"),
    "S6d": ("endpoint-delay", -5, "must be at least 0", "-5"),
    "S7": ("all-reduce-implementation", ["Ring"], "is not a word of ASTRA-sim", '"Ring"'),
    "S8": ("all-reduce-implementation", "ring", "must be a list", '"ring"'),
    "S10": ("all-reduce-implementation", ["ring", "ring"], "has 2 entries for 1 dimension", '["ring", "ring"]'),
    "S11": ("all-reduce-implementation", [], "must have at least 1 entries", "[]"),
    "S16": ("replay-only", False, "write 0 or 1", "false"),
    "S16c": ("roofline-enabled", False, "write 0 or 1", "false"),
    "S17": ("model-shared-bus", 1, "is not modelled", "1"),
    "S23": ("roofline-enabled", 1, "`peak-perf` is missing", None),
    "S26": ("all-reduce-implementation", ["direct0"], "is not a word of ASTRA-sim", '"direct0"'),
    "infinite": ("local-mem-bw", float("inf"), "not JSON: a value should stand here", "Infinity"),
    "huge": ("preferred-dataset-splits", 10**12, "must be at most 2147483647", "1000000000000"),
}


@pytest.mark.parametrize("key, value, words, place", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_a_system_file_that_the_simulator_would_not_take(tmp_path, key, value, words, place):
    (finding,) = read(foreign(tmp_path / "out", [(work(),)] * 4, system=SYSTEM | {key: value})).diagnostics
    assert words in finding.message
    if place is not None:
        assert finding.labels[0].span.text == place


NETWORKS = {
    "N1": ("npus_count: [ 4 ]", "npus_count: [ 1 ]", "must be at least 2", "1"),
    "N2": ("Ring", "ring", "must be one of `Ring`, `FullyConnected`, `Switch`", "ring"),
    "N3": ("npus_count: [ 4 ]", "npus_count: [ 4, 2 ]", "`npus_count` has 2 entries for 1 dimension", "[ 4, 2 ]"),
    "N4": ("[ 50.0 ]", "[ 0 ]", "must be more than 0", "0"),
    "N4b": ("[ 500.0 ]", "[ -1 ]", "must be at least 0", "-1"),
    "N5": ("latency: [ 500.0 ]\n", "", "`latency` is missing", None),
    "N7": ("[ 4 ]", "4", "must be a list", "4"),
    "N9": ("[ 4 ]", "[ 4.0 ]", "must be a whole number, not `4.0`", "4.0"),
    "octal": ("[ 4 ]", "[ 010 ]", 'must be a whole number, not `"010"`', "010"),
    "quoted word": ("[ 4 ]", "[ 'x' ]", "must be a whole number", "'x'"),
    "infinite": ("[ 50.0 ]", "[ .inf ]", "must be a number", ".inf"),
    "twice": ("latency", "bandwidth", "key `bandwidth` is there twice", "bandwidth"),
    "misspelt": ("latency:", "latencies:", "`latency` is missing", None),
    "unclosed": ("[ 4 ]", "[ 4", "not YAML", None),
    "anchors": ("[ 4 ]", "&a [ *a ]", "`*a` names nothing before it", "*a"),
}


@pytest.mark.parametrize("old, new, words, place", NETWORKS.values(), ids=NETWORKS.keys())
def test_a_network_file_that_the_simulator_would_not_take(tmp_path, old, new, words, place):
    (tmp_path / "net").write_text(NETWORK.replace(old, new))
    (tmp_path / "sys").write_text(json.dumps(SYSTEM))
    arguments = ["--network-configuration=net", "--system-configuration=sys", "--workload-configuration=w"]
    (finding,) = read(of_options(arguments, tmp_path)).diagnostics
    assert words in finding.message
    if place is not None:
        assert finding.labels[0].span.text == place


GROUPS = {
    "G1": ({"0": [0, 1]}, ["AS702"]),
    "G2": ({"tp": [0, 1]}, ["AS708"]),
    "G3": ({"2": [0, 1]}, ["AS714"]),
    "G3b": (None, ["AS714"]),
    "G4": ({"1": [0, 2]}, ["AS714"]),
    "G5": ({"1": [0]}, ["AS714"]),
    "G6": ({"1": [0, 1, 99]}, ["AS714"]),
    "G7": ({"1": [0, 1, 1]}, ["AS702"]),
}


@pytest.mark.parametrize("groups, expected", GROUPS.values(), ids=GROUPS.keys())
def test_groups_that_the_simulator_would_not_take(tmp_path, groups, expected):
    reduce = Collective(id=0, kind=Kind.ALL_REDUCE, bytes=1 << 20, group=ListedGroup(1, (0, 1)))
    out = foreign(tmp_path / "out", [(reduce,), (reduce,), (work(),), (work(),)], groups=groups)
    if expected == ["AS708"]:  # no group file by its content: it is named by hand
        options = ["--network-configuration=net.yml", "--system-configuration=sys", "--workload-configuration=traces/w"]
        assert codes(read(of_options([*options, "--comm-group-configuration=g.txt"], out))) == ["AS702"]
    else:
        assert codes(read(out)) == expected


def node(kind, number=0, **attributes):
    return {"id": number, "name": "n", "type": f"{kind}_NODE", "attr": {"is_cpu_op": False, **attributes}}


REDUCE = {"comm_type": 0, "comm_size": 1024, "involved_dim": [True]}
SEND = {"comm_size": 8, "comm_tag": 1, "comm_src": 0, "comm_dst": 1}
RECEIVE = {"comm_size": 8, "comm_tag": 1, "comm_src": 1, "comm_dst": 0}
TRACES = {
    "T2": ([node("COMP"), node("COMP")], "AS707", "node 0 is there twice"),
    "T6": ([], "AS706", "has no node"),
    "T7": ([node("INVALID")], "AS707", "is of type INVALID_NODE"),
    "T7c": ([node("METADATA")], "AS707", "is of type METADATA_NODE"),
    "T7d": ([node("COMP") | {"type": 8}], "AS707", "is of type 8"),
    "T8": ([node("COMM_COLL", **REDUCE | {"is_cpu_op": True})], "AS707", "`is_cpu_op` true"),
    "T10": ([node("COMM_COLL", comm_type=0)], "AS707", "node 0 `n` lacks `comm_size`"),
    "T10b": ([node("COMM_COLL", comm_size=8)], "AS707", "lacks `comm_type`"),
    "T11": ([node("COMM_COLL", **REDUCE | {"involved_dim": True})], "AS707", "no bool_list"),
    "T11c": ([node("COMM_COLL", **REDUCE | {"involved_dim": []})], "AS707", "says of 0 of 1 dimensions"),
    "T15c": ([node("COMM_SEND", comm_size=8, comm_dst=1)], "AS707", "lacks `comm_tag`"),
    "T16b": ([node("COMM_SEND", **SEND | {"comm_dst": 99})], "AS707", "`comm_dst` 99: there are 4 NPUs"),
    "T17": ([node("COMM_SEND", **SEND | {"comm_src": 2})], "AS707", "`comm_src` 2 in the trace of rank 0"),
    "T17b": ([node("COMM_RECV", **RECEIVE | {"comm_dst": 2})], "AS707", "`comm_dst` 2 in the trace of rank 0"),
    "T24j": ([node("MEM_LOAD")], "AS707", "lacks `tensor_size`"),
    "T29": ([node("COMM_COLL", **REDUCE | {"comm_size": {"double_val": 8.0}})], "AS707", "as `double_val`"),
    "T29b": ([node("COMM_COLL", **REDUCE | {"comm_size": "8"})], "AS707", "as `string_val`"),
    "T29c": ([node("COMM_COLL", **REDUCE | {"comm_size": -1})], "AS707", "has `comm_size` -1"),
    "G1": ([node("COMM_COLL", **REDUCE, pg_name="1x")], "AS714", "`pg_name` `1x`"),
    "G2": ([node("COMM_COLL", **REDUCE, pg_name={"int64_val": 1})], "AS707", "not as a text"),
    "comm_type": ([node("COMM_COLL", **REDUCE | {"comm_type": 10})], "AS707", "is no collective"),
}


@pytest.mark.parametrize("nodes, code, words", TRACES.values(), ids=TRACES.keys())
def test_a_trace_that_the_simulator_would_not_take(tmp_path, nodes, code, words):
    out = foreign(tmp_path / "out", [(work(),)] * 4)
    lines = [json.dumps({"version": "0.0.4"}), *map(json.dumps, nodes)]
    (out / "traces" / "w.0.et").write_bytes(b"".join(from_lines(lines)))
    (finding,) = read(out).diagnostics
    assert (finding.code, words in finding.message) == (code, True), finding.message
    assert finding.labels[0].span.source.name.endswith("w.0.et")


@pytest.mark.parametrize("cut", [1, 12, 30])
def test_a_trace_that_is_cut_off(tmp_path, cut):
    """T33: the simulator runs what is left of it."""
    out = foreign(tmp_path / "out", [(work(), replace(work(), id=1))] * 4)
    trace = out / "traces" / "w.2.et"
    trace.write_bytes(trace.read_bytes()[:-cut])
    assert codes(read(out)) == ["AS706"]


def test_a_trace_without_metadata(tmp_path):
    """T1: the first node would be taken for it."""
    out = foreign(tmp_path / "out", [(work(), replace(work(), id=1))] * 4)
    trace = out / "traces" / "w.2.et"
    trace.write_bytes(trace.read_bytes()[8:])
    (finding,) = read(out).diagnostics
    assert finding.message == "the first message is not GlobalMetadata"


def test_what_the_feeder_converts_is_taken(tmp_path):
    """Any kind of integer, packed or not, ids in any order, absent own rank, unknown attributes and fields."""
    send = {"comm_size": {"uint64_val": 8}, "comm_tag": {"int32_val": 1}, "comm_dst": {"fixed32_val": 1}}
    nodes = [
        node("COMM_SEND", 5, **send, other={"double_list": [1.5]}) | {"inputs": {"values": "[]"}},
        node("COMP", 2, num_ops=7) | {"duration_micros": 3, "start_time_micros": 99},
    ]
    out = foreign(tmp_path / "out", [(work(),)] * 4)
    lines = [json.dumps({"version": "x", "attr": {"schema": "1"}}), *map(json.dumps, nodes)]
    (out / "traces" / "w.0.et").write_bytes(b"".join(from_lines(lines)))
    job = read(out).value
    assert job.programs[0].ops == (
        Compute(id=2, name="n", num_ops=7, flops=7, duration=3),
        Send(id=5, name="n", axis="rank", offset=1, bytes=8, tag=1),
    )


def test_what_is_missing_or_ambiguous_is_named(tmp_path):
    out = foreign(tmp_path / "out", [(work(),)] * 4)
    (out / "traces" / "w.2.et").unlink()
    (finding,) = read(out).diagnostics
    assert (finding.code, finding.message) == ("AS709", "of 4 traces `w.2.et` is missing")
    (out / "other.yml").write_text(NETWORK)
    assert codes(read(out)) == ["AS708"]
    (out / "other.yml").unlink()
    (out / "net.yml").unlink()
    (finding,) = read(out).diagnostics
    assert finding.message == f"`{out}` holds no network file"
    assert codes(read(tmp_path / "nowhere")) == ["AS700"]
    (tmp_path / "nothing").mkdir()
    assert codes(read(tmp_path / "nothing")) == ["AS708"]


def test_files_that_are_no_files_or_lead_away(tmp_path):
    out = foreign(tmp_path / "out", [(work(),)] * 4)
    trace = out / "traces" / "w.1.et"
    trace.rename(tmp_path / "w.1.et")
    trace.symlink_to(tmp_path / "w.1.et")
    (finding,) = read(out).diagnostics
    assert "leads out of the folder" in finding.message
    trace.unlink()
    os.mkfifo(trace)
    (finding,) = read(out).diagnostics
    assert "is not a file" in finding.message
    trace.unlink()
    with trace.open("wb") as file:
        file.truncate(10 << 30)  # sparse
    (finding,) = read(out).diagnostics
    assert "is larger than 256 MiB" in finding.message
    (out / "sys").write_text("[" * 100_000)
    assert codes(read(out)) == ["AS708"]
    (out / "system.json").write_text("{" * 100_000)
    (finding,) = read(out).diagnostics
    assert finding.code == "AS720"
    (out / "net.yml").write_text("topology: " + "[" * 1000)
    deep, broken = read(out).diagnostics
    assert (deep.message, broken.code) == ("nested too deeply", "AS720")
    (out / "net.yml").write_bytes(NETWORK.encode("utf-16"))
    assert codes(read(out)) == ["AS708"]


def test_a_thousand_broken_traces_are_told_about_by_the_first(tmp_path):
    out = foreign(tmp_path / "out", [(work(),)] * 40, network=NETWORK.replace("[ 4 ]", "[ 40 ]"))
    for rank in range(40):
        (out / "traces" / f"w.{rank}.et").write_bytes(b"\xff\xff" + bytes([rank]))
    assert len(read(out).diagnostics) == 10
