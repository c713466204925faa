"""fix, decode, encode, diff, import: from one form of ASTRA-sim's inputs to another."""

import json
import re
from dataclasses import replace

import pytest

import guard_inputs
from astrac.api import compiling, converting, guarding
from astrac.cli import main
from astrac.diagnostics import has_errors
from folders import read
from simulator_1 import INPUTS

NETWORK = "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, 936.25 ]\n"
TRACE = [
    {"id": 0, "type": "COMP", "duration": 5, "name": "forward", "num_ops": 10**9, "tensor_size": 10**6},
    {"id": 1, "type": "COLL", "comm_type": 0, "comm_size": 1 << 20, "involved_dim": [True, True], "deps": [0]},
]
FIXES = {
    "network": (
        "# us\ntopology: [ ring, fully-connected ]  # 2\nnpus_count: [ 8.0, '4' ]\nbandwidth: '5.5'\nLatency: [ 5 ]\n",
        "# us\ntopology: [ Ring, FullyConnected ]  # 2\nnpus_count: [ 8, '4' ]\nbandwidth: [ 5.5 ]\nlatency: [ 5 ]\n",
    ),
    "system": (
        """{
  "Scheduling_Policy": "lifo", "endpoint-delay": 10.0,
  "preferred-dataset-splits": "4",
  "all-reduce-implementation": "ring_halvingdoubling",
  "all-gather-implementation": ["Ring"],
  "reduce-scatter-implementation": ["ring", "Direct4"],
  "collective-optimization": "localbwaware", "replay-only": false, "roofline-enabled": true
}
""",
        """{
  "scheduling-policy": "LIFO", "endpoint-delay": 10,
  "preferred-dataset-splits": 4,
  "all-reduce-implementation": ["ring", "halvingDoubling"],
  "all-gather-implementation": ["ring", "ring"],
  "reduce-scatter-implementation": ["ring", "direct4"],
  "collective-optimization": "localBWAware", "replay-only": 0, "roofline-enabled": 1
}
""",
    ),
    "memory": (
        '{"memory-type": "no-memory-expansion", "remote-mem-bw": 100.0}',
        '{"memory-type": "NO_MEMORY_EXPANSION", "remote-mem-bw": 100}',
    ),
    "ns3-logical": ('{ "logical-dims": [8, "2"] }', '{ "logical-dims": ["8", "2"] }'),
    "network-1": (
        '{"topology-name": "hierarchical", "topologies-per-dim": ["ring"], "units-count": [4.0], "link-latency": "5"}',
        '{"topology-name": "Hierarchical", "topologies-per-dim": ["Ring"], "units-count": [4], "link-latency": [5]}',
    ),
    "system-1": (
        """scheduling-policy : lifo
endpoint-delay:10
active-chunks-per-dimension: 1.0
boost-mode: false
all-reduce-implementation: Ring,ring
collective-optimization: LocalBWAware
""",
        """scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 1
boost-mode: 0
all-reduce-implementation: ring_ring
collective-optimization: localBWAware
""",
    ),
    "workload-1": (
        "data\n1\nallreduce -1 100.0 none 0 100 NONE 0 100 all_reduce 4096 10\n",
        "DATA\n1\nallreduce -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 4096 10\n",
    ),
}


@pytest.mark.parametrize("kind", FIXES)
def test_fix(tmp_path, kind):
    before, after = FIXES[kind]
    path = tmp_path / "file.txt"
    path.write_text(before)
    mended = converting.mend(str(path), kind).value
    assert mended.after == after
    assert path.read_text() == before
    path.write_text(mended.after, encoding="utf-8", newline="")
    again = converting.mend(str(path), kind).value
    assert again.before == again.after == after


def test_fix_leaves_alone_what_has_several_answers(tmp_path):
    for kind, text in (
        ("network", "topology: [ Mesh ]\nnpus_count: [ 8.5 ]\nbandwidth: [ 0 ]\nlatency: [ -1 ]\n"),
        ("system", '{"preferred-dataset-splits": 4.7, "all-reduce-implementation": ["fast", "direct0"], "x": 1}'),
        ("workload-1", "DATA\n2\na -1 1 NONE 0 1 NONE 0 1 REDUCE 0 1\nnone -1 1.5 NONE 0 1 NONE 0 1 NONE 0 1\n"),
        ("network", "topology: [ Ring\n"),
    ):
        path = tmp_path / "file"
        path.write_text(text)
        mended = converting.mend(str(path), kind).value
        assert mended.before == mended.after


def test_fix_expands_lists_for_the_network_beside_the_file(tmp_path):
    (tmp_path / "network.yml").write_text(NETWORK)
    (tmp_path / "system.json").write_text(json.dumps(guard_inputs.SYSTEM))
    mended = converting.mend(str(tmp_path / "system.json")).value
    assert {tuple(json.loads(mended.after)[key]) for key in guard_inputs.LISTS} == {("ring", "ring")}


def test_fix_shows_what_changes(tmp_path, capsys):
    path = tmp_path / "net.yml"
    path.write_text(NETWORK.replace("Ring", "ring"))
    assert main(["fix", "--diff", str(path)]) == 1
    assert "-topology: [ ring, Switch ]\n+topology: [ Ring, Switch ]\n" in capsys.readouterr().out
    assert main(["fix", str(path)]) == 0
    assert path.read_text() == NETWORK
    assert "+topology: [ Ring, Switch ]" in capsys.readouterr().out
    assert main(["fix", str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_fix_leaves_what_would_bring_a_finding_and_says_so(tmp_path, capsys):
    path = tmp_path / "workload.txt"
    rows = "".join(f"{name} -1 1.0 REDUCE 8 1 NONE 0 1 NONE 0 1\n" for name in "ab")
    path.write_text(f"data\n2\n{rows}")
    before = guarding.check(str(path)).diagnostics
    assert [finding.code for finding in before] == ["AS740"]  # nothing below an unknown policy is looked at
    assert main(["fix", str(path)]) == 0
    told = capsys.readouterr().err
    assert "warning[AS885]: `data` stays: `DATA` would bring AS744" in told
    assert f"{path}:1:1" in told
    once = path.read_text()
    assert once == f"data\n2\n{rows}".replace("1.0", "1")
    main(["fix", str(path)])
    assert path.read_text() == once


def test_fix_of_a_folder_mends_the_network_first(tmp_path, capsys):
    folder = tmp_path / "run"
    (folder / "inner").mkdir(parents=True)
    (folder / "network.yml").write_text(NETWORK.replace("topology", "Topology"))
    (folder / "system.json").write_text(json.dumps(guard_inputs.SYSTEM))
    (folder / "inner" / "memory.json").write_text('{"memory-type": "no-memory-expansion"}')
    (folder / "notes.txt").write_text("topology is fine")
    assert main(["fix", str(folder)]) == 0
    assert (folder / "network.yml").read_text() == NETWORK
    system = json.loads((folder / "system.json").read_text())
    assert {tuple(system[key]) for key in guard_inputs.LISTS} == {("ring", "ring")}
    assert "NO_MEMORY_EXPANSION" in (folder / "inner" / "memory.json").read_text()
    capsys.readouterr()
    assert main(["fix", str(folder)]) == 0
    assert capsys.readouterr().out == ""


# -- decode, encode


def test_a_trace_as_lines_and_back(tmp_path, capsys):
    trace = tmp_path / "w.0.et"
    trace.write_bytes(guard_inputs.trace(TRACE))
    assert main(["decode", str(trace)]) == 0
    (tmp_path / "lines").write_text(capsys.readouterr().out)
    assert main(["encode", str(tmp_path / "lines"), "-o", str(tmp_path / "again.et")]) == 0
    assert (tmp_path / "again.et").read_bytes() == trace.read_bytes()
    assert main(["decode", str(trace), "--format", "text"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "    0 COMP      forward duration_micros=5 is_cpu_op=false num_ops=1000000000 tensor_size=1000000",
        "    1 COMM_COLL n1 data_deps=[0] is_cpu_op=false comm_type=0 comm_size=1048576 involved_dim=[true,true]",
    ]


def test_what_is_no_trace_and_what_are_no_lines(tmp_path, capsys):
    (tmp_path / "x.et").write_bytes(b"\xff\xff")
    (tmp_path / "lines").write_text("hello\n")
    assert main(["decode", str(tmp_path / "x.et")]) == 1
    assert main(["decode", str(tmp_path / "nowhere.et")]) == 1
    assert main(["encode", str(tmp_path / "lines"), "-o", str(tmp_path / "y.et")]) == 1
    assert not (tmp_path / "y.et").exists()
    shown = capsys.readouterr().err
    assert all(code in shown for code in ("AS706", "AS700", "AS716"))


# -- diff


def bundle(folder, **row):
    row = {"network": NETWORK, "traces": [TRACE], "ranks": [(0, 8)]} | row
    return str(guard_inputs.write(row, folder))


DIFFERENCES = {
    "nothing": ({}, []),
    "order and comments": ({"network": f"{NETWORK}# x\n"}, []),
    "a number": ({"network": NETWORK.replace("936.25", "1")}, ["network.yml: dimension 1: latency 936.25 -> 1"]),
    "a word": (
        {"system": {"all-reduce-implementation": ["ring", "direct"]}},
        ["system.json: all-reduce-implementation [ring, ring] -> [ring, direct]"],
    ),
    "a memory": (
        {"memory": {"memory-type": "MEMORY_POOL", "remote-mem-latency": 7, "remote-mem-bw": 9}},
        [
            "memory.json: memory-type NO_MEMORY_EXPANSION -> MEMORY_POOL",
            "memory.json: remote-mem-latency 0 -> 7",
            "memory.json: remote-mem-bw 0 -> 9",
        ],
    ),
    "a node": (
        {"traces": [[TRACE[0], TRACE[1] | {"comm_size": 1 << 21}]]},
        ["rank 0 and 7 others: node 1 `n1`: size 1,048,576 -> 2,097,152"],
    ),
    "a group for the dimensions": (
        {
            "traces": [
                [TRACE[0], {key: value for key, value in TRACE[1].items() if key != "involved_dim"} | {"pg_name": "4"}]
            ],
            "groups": {"4": list(range(8))},
        },
        ["rank 0 and 7 others: node 1 `n1`: group [1, 1] -> [0, 1, 2, 3, 4, 5, 6, 7]"],
    ),
    "one rank": (
        {"traces": [TRACE, [TRACE[0] | {"duration": 6}, TRACE[1]]], "ranks": [(0, 5), (1, 1), (0, 2)]},
        ["rank 5: node 0 `forward`: duration 5 -> 6"],
    ),
    "more nodes": (
        {"traces": [[*TRACE, {"id": 2, "type": "COMP", "name": "end", "deps": [1]}]]},
        ["rank 0 and 7 others: node 2 `end` is new"],
    ),
}


@pytest.mark.parametrize("changes, lines", DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_diff(tmp_path, changes, lines, capsys):
    one, other = bundle(tmp_path / "a"), bundle(tmp_path / "b", **changes)
    assert list(converting.differences(one, other).value) == lines
    assert main(["diff", one, other]) == bool(lines)
    assert capsys.readouterr().out.splitlines() == lines


def test_the_names_of_groups_are_no_difference(tmp_path):
    def grouped(number):
        trace = [TRACE[0], TRACE[1] | {"pg_name": number}]
        return {"traces": [trace, TRACE[:1]], "ranks": [(0, 4), (1, 4)], "groups": {number: [0, 1, 2, 3]}}

    one, other = bundle(tmp_path / "a", **grouped("1")), bundle(tmp_path / "b", **grouped("9"))
    assert converting.differences(one, other).value == ()


# -- import


def built(text, folder):
    """The folder of a bundle that a spec builds."""
    (result,) = compiling.compile_data("imported.astra", text.encode())
    assert not has_errors(result.diagnostics), result.diagnostics
    assert compiling.write(result.value, folder).ok
    return folder


ALL_REDUCE, ALL_GATHER, _, ALL_TO_ALL = guard_inputs.LISTS
ONE_RING = {key: ["oneRing"] for key in guard_inputs.LISTS}
PER_NODE = {"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 1, "remote-mem-bw": 2}
KNOBS = {"scheduling-policy": "FIFO", "active-chunks-per-dimension": 3, "endpoint-delay": 500}
IMPORTS = {
    "as shipped": ({}, set()),
    "pools": ({"memory": {"memory-type": "MEMORY_POOL", "remote-mem-latency": 700, "remote-mem-bw": 30}}, set()),
    "nodes": ({"memory": PER_NODE | {"num-nodes": 2, "num-npus-per-node": 4}}, set()),
    "roofline": ({"system": {"roofline-enabled": 1, "peak-perf": 312.5}}, set()),
    "odd numbers": ({"network": NETWORK.replace("50.0", "46.566128730773926").replace("936.25", "0.1")}, set()),
    "words": ({"system": {ALL_REDUCE: ["direct4", "halvingDoubling"], ALL_TO_ALL: ["ring", "direct"]}}, set()),
    "trees": ({"system": {ALL_REDUCE: ["ring", "doubleBinaryTree"]}}, set()),
    "one ring": ({"system": ONE_RING}, set()),
    "a second a hop": ({"network": NETWORK.replace("936.25", "1000000000")}, set()),
    "knobs": ({"system": KNOBS | {"collective-optimization": "baseline"}}, set()),
    "no delay": ({"system": {"endpoint-delay": None}}, {"endpoint-delay missing -> 10"}),
    "free reductions": ({"system": {"local-mem-bw": None}}, {"local-mem-bw missing -> 1000000000000000"}),
}


@pytest.mark.parametrize("changes, different", IMPORTS.values(), ids=IMPORTS.keys())
def test_an_imported_bundle_builds_the_same_machine(tmp_path, changes, different):
    folder = bundle(tmp_path / "theirs", **changes)
    text = converting.import_bundle(folder).value
    ours = built(text, tmp_path / "ours")
    lines = converting.differences(folder, str(ours)).value
    machine = {line.partition(": ")[2] for line in lines if not line.startswith(("rank", "only"))}
    assert machine == different
    # What differs in the files has the same effect: 10 is the default, and nothing is as fast as 1e24 B/s.
    assert guarding.check(str(ours), None, None).diagnostics == () or different


def test_a_chain_of_collectives_is_imported_too(tmp_path):
    gather = {"type": "COLL", "comm_type": "ALL_GATHER", "comm_size": 4096, "involved_dim": [True, True]}
    nodes = [gather | {"id": at, "deps": [at - 1] if at else []} for at in range(3)]
    folder = bundle(tmp_path / "theirs", traces=[nodes])
    result = converting.import_bundle(folder)
    assert result.diagnostics == ()
    assert "collective { kind: all_gather, size: 32768 B, repeat: 3 }" in result.value
    job = read(built(result.value, tmp_path / "ours")).value
    kinds = [(op.kind.name, op.bytes) for op in job.programs[0].ops]
    assert kinds == [("ALL_GATHER", 4096)] * 3


def test_a_machine_without_traces_is_imported_too(tmp_path):
    folder = tmp_path / "theirs"
    bundle(folder)
    for trace in folder.glob("*.et"):
        trace.unlink()
    assert "ring d0 { size: 4, bandwidth: 50 GiB/s, latency: 500 ns }" in converting.import_bundle(str(folder)).value


@pytest.mark.parametrize(
    "written, shown",
    [
        (419.09515857696533, "450 GB/s"),  # 450e9 / 2^30
        (46.566128730773926, "50 GB/s"),
        (450.0, "450 GiB/s"),
        (0.46566128730773926, "0.5 GB/s"),
        (419.095158, "419.095158 GiB/s"),  # near 450 GB/s, and another number
    ],
)
def test_a_bandwidth_is_imported_in_the_unit_that_it_was_said_in(tmp_path, written, shown):
    folder = tmp_path / "theirs"
    bundle(folder)
    network = folder / "network.yml"
    network.write_text(re.sub(r"bandwidth: \[ *[\d.]+", f"bandwidth: [{written}", network.read_text()))
    text = converting.import_bundle(str(folder)).value
    assert f"bandwidth: {shown}" in text
    assert "active_chunks" not in text


REFUSED = {
    "no delay": ({"system": {"endpoint-delay": 0}}, "a spec has at least 1 ns"),
    "windows": ({"system": {ALL_REDUCE: ["direct2", "ring"], ALL_GATHER: ["direct3", "ring"]}}, "different windows"),
    "explicit": ({"system": {"scheduling-policy": "EXPLICIT"}}, "LIFO or FIFO"),
    "several words for one ring": ({"system": ONE_RING | {ALL_GATHER: ["oneDirect"]}}, "one word for all kinds"),
    "a tree that must scatter": (
        {"system": {ALL_REDUCE: ["doubleBinaryTree", "ring"]}},
        "in place of a reduce-scatter",
    ),
    "more than a second a hop": ({"network": NETWORK.replace("936.25", "1000000001")}, "latency of 1000000001.0 ns"),
    "uneven nodes": ({"memory": PER_NODE | {"num-nodes": 3, "num-npus-per-node": 4}}, "share all NPUs evenly"),
    "a window of one ring": ({"system": {key: ["oneDirect3"] for key in guard_inputs.LISTS}}, "cannot be said"),
    "errors": ({"network": NETWORK.replace("Ring", "ring")}, "must be one of"),
    "not modelled": ({"system": {"model-shared-bus": 1}}, "is not modelled"),
}


@pytest.mark.parametrize("changes, words", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_imported_is_refused(tmp_path, changes, words):
    result = converting.import_bundle(bundle(tmp_path, **changes))
    assert result.value is None
    assert any(words in found.message for found in result.diagnostics)


def set_of_1_0(folder, network, system, workload):
    folder.mkdir(exist_ok=True)
    (folder / "network.json").write_text(json.dumps(network))
    (folder / "system.txt").write_text(system)
    (folder / "workload.txt").write_text(workload)
    return str(folder)


SETS = [("ring4", "ring1_lifo"), ("torus2d_4x4", "ring2_lifo"), ("fc8", "hd1"), ("fc4", "direct1")]


@pytest.mark.parametrize("network, system", SETS)
def test_a_set_of_1_0_is_imported(tmp_path, network, system):
    workload = "MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1048576 1\n"
    folder = set_of_1_0(
        tmp_path / "theirs", INPUTS["network"][f"{network}.json"], INPUTS["system"][f"{system}.txt"], workload
    )
    ours = built(converting.import_bundle(folder).value, tmp_path / "ours")
    theirs, made = (converting._jobs(str(side)).value["astra-sim-1"] for side in (folder, ours))
    assert [(d.block, d.size, d.bytes_per_ns, d.latency) for d in made.network.dimensions] == [
        (d.block, d.size, d.bytes_per_ns, d.latency) for d in theirs.network.dimensions
    ]
    assert replace(made.system, origins={}, boost=theirs.system.boost) == replace(theirs.system, origins={})
    assert made.workload.rows[0].weight_gradient == theirs.workload.rows[0].weight_gradient


def test_what_1_0_has_and_the_language_has_not(tmp_path):
    network = INPUTS["network"]["ring4.json"] | {"nic-latency": [5]}
    workload = "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"
    folder = set_of_1_0(tmp_path, network, INPUTS["system"]["ring1_lifo.txt"], workload)
    (refused, left_out) = converting.import_bundle(folder).diagnostics
    assert (refused.code, left_out.code) == ("AS788", "AS876")
    assert "`nic-latency` 5 of dimension 0" in refused.message
