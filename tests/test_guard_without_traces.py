"""What the files of a machine say of each other needs no trace: a folder and a list of files are judged as a whole."""

import json

import pytest

import guard_inputs
from astrac.api import guarding
from simulator_1 import INPUTS
from test_guard_files import CONFIG, LOGICAL, TOPOLOGY

RING, TWO = ("Ring", 6, 50.0, 500.0), [("Ring", 4, 50.0, 500.0), ("Switch", 4, 50.0, 500.0)]
ALL_REDUCE = [{"id": 0, "type": "COLL", "comm_type": 0, "comm_size": 1 << 20}]
PER_NODE = {
    "memory-type": "PER_NODE_MEMORY_EXPANSION",
    "remote-mem-latency": 10,
    "remote-mem-bw": 10,
    "num-nodes": 2,
    "num-npus-per-node": 2,
}
LIST = "all-reduce-implementation"

MACHINES = {
    "fine": ([RING], {}, {}, None, []),
    "too long": ([RING], {LIST: ["ring", "ring"]}, {}, None, ["AS702"]),
    "too short": (TWO, {LIST: ["ring"]}, {}, None, ["AS702"]),
    "one ring beside others": (TWO, {LIST: ["oneRing", "ring"]}, {}, None, ["AS702"]),
    "one ring": (TWO, {LIST: ["oneRing"]}, {}, None, []),
    "a member that is not there": ([RING], {}, {"groups": {"1": [0, 6]}}, None, ["AS714"]),
    "a group beside a broken system": ([RING], {"preferred-dataset-splits": "x"}, {"groups": {"1": [0, 6]}}, None,
                                       ["AS702", "AS714"]),
    "a group of one": ([RING], {}, {"groups": {"1": [2]}}, None, ["AS869"]),
    "a path that the simulator ignores": ([RING], {}, {"groups": {"1": [0, 1]}, "groups_name": "empty_groups.json"},
                                          None, ["AS779"]),
    "a memory of fewer NPUs": ([RING], {}, {"memory": PER_NODE}, None, ["AS778"]),
    "two dimensions of congestion_aware": (TWO, {}, {}, "congestion_aware", ["AS780"]),
}  # fmt: skip
"""Dimensions, changes of the system, of the other files, the backend, and the codes, with traces and without."""


def of(findings):
    return sorted({each.code for each in findings} - {"AS870"})


def files(dimensions, system, row):
    words = {key: ["ring"] * len(dimensions) for key in guard_inputs.LISTS}
    return {"network": guard_inputs.network_of(dimensions), "system": words | system, "traces": [ALL_REDUCE], **row}


@pytest.mark.parametrize("case", MACHINES)
def test_a_machine_is_judged_with_traces_and_without(tmp_path, case):
    dimensions, system, row, backend, codes = MACHINES[case]
    written = files(dimensions, system, row)
    guard_inputs.write(written | {"ranks": []}, tmp_path / "bare")
    texts = [str(path) for path in (tmp_path / "bare").iterdir()]
    alone = guarding.check(str(tmp_path / "bare"), None, backend)
    listed = guarding.check_files(texts, backend)
    assert of(alone.diagnostics) == of(listed.diagnostics) == codes
    assert alone.files == listed.files == len(texts)
    ranks = 1
    for dimension in dimensions:
        ranks *= dimension[1]
    folder = guard_inputs.write(written | {"ranks": [(0, ranks)]}, tmp_path / "full")
    assert set(codes) <= set(of(guarding.check(str(folder), None, backend).diagnostics))


def test_that_there_were_no_traces_is_told(tmp_path):
    guard_inputs.write(files([RING], {}, {"ranks": []}), tmp_path)
    (note,) = guarding.check(str(tmp_path)).diagnostics
    assert note.code == "AS870"
    assert note.message.startswith("there are no traces (`NAME.0.et`")
    for name in "ab":
        guard_inputs.write(files([RING], {}, {"ranks": [(0, 6)]}), tmp_path / name)
        for text in ("network.yml", "system.json", "memory.json"):
            (tmp_path / name / text).unlink()
    messages = [each.message for each in guarding.check(str(tmp_path)).diagnostics if each.code == "AS870"]
    assert any(message.startswith("there are several traces") for message in messages)


def test_words_that_cannot_do_what_their_list_is_for(tmp_path):
    guard_inputs.write(files([RING], {key: ["halvingDoubling"] for key in guard_inputs.LISTS}, {"ranks": []}), tmp_path)
    found = [each for each in guarding.check(str(tmp_path)).diagnostics if each.code == "AS880"]
    assert [each.labels[0].span.first.line for each in found] == [7, 10, 13, 16]
    assert {each.message for each in found[:3]} == {"`halvingDoubling` needs a power of two, not 6 NPUs"}
    assert found[3].message == "`halvingDoubling` has no all-to-all"


def test_a_short_list_of_collectives_that_nobody_issues(tmp_path):
    row = files(TWO, {"all-to-all-implementation": ["ring"]}, {"ranks": [(0, 16)]})
    assert of(guarding.check(str(guard_inputs.write(row, tmp_path))).diagnostics) == ["AS881"]


def test_files_of_different_runs_are_not_put_together(tmp_path):
    for name, dimensions in (("one", [RING]), ("two", TWO)):
        guard_inputs.write(files(dimensions, {}, {"ranks": []}), tmp_path / name)
    assert of(guarding.check(str(tmp_path)).diagnostics) == []
    guard_inputs.write(files([RING], {}, {"ranks": [], "groups": {"1": [0, 9]}}), tmp_path / "one")
    assert of(guarding.check(str(tmp_path)).diagnostics) == ["AS714"]


def test_a_file_that_the_user_names_may_lie_anywhere(tmp_path):
    guard_inputs.write(files([RING], {LIST: ["ring", "ring"]}, {"ranks": []}), tmp_path / "there")
    (tmp_path / "here").mkdir()
    for name in ("network.yml", "system.json"):
        (tmp_path / "here" / name).symlink_to(tmp_path / "there" / name)
    found = guarding.check_files([str(path) for path in sorted((tmp_path / "here").iterdir())])
    assert of(found.diagnostics) == ["AS702"]


NS3 = {
    "fine": ({}, []),
    "fewer hosts": ({"logical.json": LOGICAL.replace("4", "8")}, ["AS783"]),
    "a list for two": ({"logical.json": LOGICAL.replace('"4"', '"2", "2"')}, ["AS702", "AS802"]),
    "a rate without thresholds": ({"config.txt": CONFIG.replace("100000000000 1600", "25000000000 400")}, ["AS784"]),
    "a broken logical topology hides no system": (
        {"logical.json": LOGICAL.replace('"4"', "4"), "system.json": '{"preferred-dataset-splits": "x"}'},
        ["AS702", "AS704", "AS782", "AS862"],
    ),
}


@pytest.mark.parametrize("case", NS3)
def test_the_files_of_ns3_without_traces(tmp_path, case):
    changes, codes = NS3[case]
    system = json.dumps(guard_inputs.SYSTEM)
    texts = {"logical.json": LOGICAL, "topology.txt": TOPOLOGY, "config.txt": CONFIG, "system.json": system} | changes
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert of(guarding.check(str(tmp_path)).diagnostics) == codes
    if case == "a rate without thresholds":  # which needs no logical topology and no system either
        (tmp_path / "logical.json").unlink()
        (tmp_path / "system.json").unlink()
        assert of(guarding.check(str(tmp_path)).diagnostics) == codes


def test_the_machine_of_1_0_without_a_workload(tmp_path):
    (tmp_path / "network.json").write_text(json.dumps(INPUTS["network"]["ring4.json"]))
    (tmp_path / "system.txt").write_text(INPUTS["system"]["ring1_lifo.txt"])
    assert of(guarding.check(str(tmp_path)).diagnostics) == []
    words = INPUTS["system"]["ring1_lifo.txt"].replace("all-reduce-implementation: ring", f"{LIST}: ring_ring")
    (tmp_path / "system.txt").write_text(words)
    assert of(guarding.check(str(tmp_path)).diagnostics) == ["AS734"]


@pytest.mark.parametrize(
    ("names", "renamed"), [(["trace_rank0.et", "trace_rank1.et"], "trace.0.et"), (["0.job.et"], "job.0.et")]
)
def test_traces_by_names_that_nobody_looks_for(tmp_path, names, renamed):
    guard_inputs.write(files([RING], {}, {"ranks": []}), tmp_path)
    for name in names:
        (tmp_path / name).write_bytes(guard_inputs.trace(ALL_REDUCE))
    (found,) = (each for each in guarding.check(str(tmp_path)).diagnostics if each.code == "AS883")
    assert found.hints == (f"rename `{names[0]}` to `{renamed}`",)
