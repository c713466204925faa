"""Single files of every kind: known by what is in them, checked, bounded; the pages of the guard's codes."""

import errno
import json
import os
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import guard_inputs
from astrac import resources
from astrac.api import guarding
from astrac.cli import main
from astrac.codes import CODES
from astrac.diagnostics import has_errors
from astrac.render import render
from astrac.simulators import table
from astrac.simulators.astra_sim_1 import simulator
from astrac.simulators.astra_sim_2.chakra import from_lines
from astrac.simulators.astra_sim_2.check.evidence import BACKENDS
from astrac.simulators.protocol import FileSet
from astrac.simulators.table import recognise
from simulator_1 import BAD, INPUTS, bad_texts, examine

SYSTEM = json.dumps(guard_inputs.SYSTEM)
NETWORK = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
CONFIG = (
    "L2_ACK_INTERVAL 1\nTOPOLOGY_FILE net/topology.txt\nFLOW_FILE flow.txt\nTRACE_FILE trace.txt\n"
    "TRACE_OUTPUT_FILE mix.tr\nCC_MODE 12\n"
    "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nPACKET_PAYLOAD_SIZE 1000\n"
    "KMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n"
)
TOPOLOGY = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 0.0005ms 0\n" for host in range(4))
LOGICAL = '{ "logical-dims": ["4"] }\n'
WORKLOAD = "DATA\n1\na -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 4096 10\n"
TRACE = [{"id": 0, "type": "COMP", "duration": 5}, {"id": 1, "type": "COLL", "comm_type": 0, "comm_size": 1 << 20}]

EXAMPLES = {
    "network": [
        NETWORK,
        json.dumps({"topology": ["Ring"], "npus_count": [8]}),
        "npus_count: [ 8",
        "units-count: 8\nlink-latency: 5\n",
    ],
    "system": [SYSTEM, SYSTEM.replace("}", ",}"), '{"all-reduce-implementation-custom": ["x"]}'],
    "memory": ['{"memory-type": "NO_MEMORY_EXPANSION"}', '{"remote-mem-bw": 1}'],
    "groups": ['{"1": [0, 1]}', '{"0": [0]}'],
    "ns3-logical": [LOGICAL],
    "ns3-topology": [TOPOLOGY],
    "ns3-config": [CONFIG],
    "custom-table": ["# by node\n3: ring/allreduce\n"],
    "network-1": [
        json.dumps(INPUTS["network"]["ring4.json"]),
        "// of mine\n" + json.dumps(INPUTS["network"]["ring4.json"]),
    ],
    "system-1": [INPUTS["system"]["ring1_lifo.txt"]],
    "workload-1": [WORKLOAD, WORKLOAD.replace("DATA", "data"), WORKLOAD.replace("DATA", "DATA_PARALLEL")],
    None: [
        "",
        "hello\n",
        "{}",
        "[1]",
        '{"name": "x", "version": "1"}',
        "a: 1\nb: 2\n",
        "topology of mine\n",
        "1 2 3\n",
    ],
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_files_are_known_by_what_is_in_them(kind):
    assert [recognise("dir/x.txt", text.encode()) for text in EXAMPLES[kind]] == [kind] * len(EXAMPLES[kind])


def test_traces_are_known_by_name_or_content():
    assert recognise("x.0.et", b"") == "trace"
    assert recognise("x.bin", guard_inputs.trace(TRACE)) == "trace"
    assert recognise("README.md", NETWORK.encode()) is None
    assert recognise("x", NETWORK.encode("utf-16")) is None


def test_words_of_the_command_line():
    assert table.backends() == BACKENDS


# -- pages


def write(folder, name, text):
    path = folder / name
    if name.endswith(".et"):
        path.write_bytes(b"".join(from_lines(text.splitlines())))
    else:
        path.write_text(text)
    return str(path)


def of_page(folder, text):
    """What is found in the artifact of a page, whose first line names it."""
    first, _, rest = text.partition("\n")
    return guarding.check(write(folder, first.removeprefix("# "), rest)).diagnostics


@pytest.mark.parametrize("code", [code for code in CODES if "AS770" <= code < "AS800" or "AS860" <= code < "AS880"])
def test_page(tmp_path, code):
    page = CODES[code]
    assert bool(page.bad) == bool(page.good)
    if page.bad:
        assert {found.code for found in of_page(tmp_path, page.bad)} == {code}
        assert not of_page(tmp_path, page.good)


# -- schemas


@pytest.mark.parametrize("path", sorted(path.name for path in resources.resource("schemas", "artifacts").iterdir()))
def test_schemas_of_artifacts_are_schemas_with_a_stable_name(path):
    schema = json.loads(resources.text("schemas", "artifacts", path))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://astrac.dev/schemas/artifacts/{path}"
    assert schema["title"]


# -- a trace without its machine

LONE = {
    "fine": (TRACE, None),
    "AS770": ([*TRACE, {"id": 2, "type": "COMP", "deps": [9]}], "node 2 `n2` waits for node 9"),
    "AS771": (
        [*TRACE, {"id": 2, "type": "COMP", "deps": [3]}, {"id": 3, "type": "COMP", "deps": [2]}],
        "wait for each",
    ),
    "AS775": ([*TRACE, {"id": 2, "type": "COLL", "comm_type": 1, "comm_size": 8}], "has no REDUCE"),
    "AS774": ([{"id": 0, "type": "SEND", "comm_src": 3, "comm_dst": 3, "comm_size": 8, "comm_tag": 1}], "comes from"),
    "AS707": ([{"id": 0, "type": "SEND", "comm_src": 1, "comm_dst": 2, "comm_size": 8, "comm_tag": 1}], "of rank 3"),
}


@pytest.mark.parametrize("code", LONE)
def test_a_trace_by_itself(tmp_path, code):
    nodes, words = LONE[code]
    (tmp_path / "x.3.et").write_bytes(guard_inputs.trace(nodes))
    found = guarding.check(str(tmp_path / "x.3.et")).diagnostics
    assert [each.code for each in found] == ([] if words is None else [code])
    assert words is None or words in found[0].message


def test_each_kind_of_bad_nodes_is_told_once(tmp_path):
    nodes = [{"id": number, "type": "COLL", "comm_size": 8} for number in range(30)]
    nodes.append({"id": 30, "type": "SEND", "comm_src": 0, "comm_dst": 1})
    nodes.append({"id": 31, "type": "COMP", "deps": [99]})
    (tmp_path / "x.0.et").write_bytes(guard_inputs.trace(nodes))
    found = guarding.check(str(tmp_path / "x.0.et")).diagnostics
    assert [each.message for each in found] == [
        "node 0 `n0` lacks `comm_type`, and so 29 others",
        "node 30 `n30` lacks `comm_size`",
        "node 31 `n31` waits for node 99, which the trace does not have",
    ]


def test_advice_about_many_nodes_is_told_once(tmp_path):
    nodes = [
        {"id": number, "type": "COLL", "comm_type": 0, "comm_size": 1 << 20, "pg_name": "1", "involved_dim": [False]}
        for number in range(30)
    ]
    (tmp_path / "x.0.et").write_bytes(guard_inputs.trace(nodes))
    (found,) = guarding.check(str(tmp_path / "x.0.et")).diagnostics
    assert found.message == "node 0 `n0` names group 1, so its `involved_dim` is not read, and so 29 others"


# -- ASTRA-sim 1.0: the readers and cross-checks are tested by themselves; here they are reached


@pytest.mark.parametrize("entry", [entry for entry in BAD if not entry.get("args")], ids=lambda entry: entry["name"])
def test_a_set_of_1_0_gets_what_its_parts_get(tmp_path, entry):
    names = ("workload.txt", "system.txt", "network.json")
    texts = dict(zip(names, bad_texts(entry), strict=True))
    for name, text in texts.items():
        (tmp_path / name).write_text(text, newline="")
    files = {kind: tmp_path / name for kind, name in zip(("workload-1", "system-1", "network-1"), names, strict=True)}
    found = simulator.check_set(FileSet("astra-sim-1", tmp_path, files), None)
    _, expected = examine(*texts.values())
    assert sorted((each.code, each.message) for each in found) == sorted((each.code, each.message) for each in expected)


def test_a_mixture_of_versions_is_told(tmp_path):
    (tmp_path / "workload.txt").write_text(WORKLOAD)
    (tmp_path / "system.txt").write_text(INPUTS["system"]["ring1_lifo.txt"])
    (tmp_path / "network.yml").write_text(NETWORK)
    found = guarding.check(str(tmp_path), None, None).diagnostics
    assert [each.code for each in found] == ["AS708"]
    assert "`network.yml` is network.yml of ASTRA-sim 2.x" in found[0].message


# -- YAML as the simulator's yaml-cpp takes it: every text here was run, and what is an error here did not run

YAML = {
    "tabs after colons": (NETWORK.replace(": ", ":\t"), []),
    "tabs inside lists": (NETWORK.replace("[ ", "[\t").replace(" ]", "\t]"), []),
    "tabs before a comment and the end": (NETWORK.replace(" ]\n", " ]\t# x\n", 1).replace(" ]\n", " ]\t\n"), []),
    "a tab after a dash": ("topology:\n  -\tRing\n" + NETWORK.partition("\n")[2], []),
    "a line of a tab": (NETWORK.replace("\n", "\n\t\n", 1), []),
    "tabs that indent": ("topology:\n\t- Ring\n" + NETWORK.partition("\n")[2], ["AS701"]),
    "indented": ("".join(f"  {line}\n" for line in NETWORK.splitlines()), []),
    "an end": (NETWORK + "...\n", []),
    "a start": ("---\n" + NETWORK, []),
    "a directive": ("%YAML 1.2\n---\n" + NETWORK, []),
    "one line": ("{" + NETWORK.strip().replace("\n", ", ") + "}\n", []),
    "brackets and lines": ("{\n" + NETWORK.replace(" ]\n", " ],\n") + "}\n", []),
    "a list over lines": (NETWORK.replace("[ Ring ]", "[\nRing\n]"), []),
    "an alias": (NETWORK.replace("[ 50.0 ]", "&width [ 50.0 ]").replace("[ 500.0 ]", "*width"), []),
    "an alias of nothing": (NETWORK.replace("[ 500.0 ]", "*width"), ["AS701"]),
    "a tag": (NETWORK.replace("[ Ring ]", "!!seq [ Ring ]").replace("8", "!!int 8"), []),
    "numbers in quotes": (NETWORK.replace("8", '"8"').replace("50.0", "'50.0'", 1), []),
    "another document": (NETWORK + "---\na: 1\n", ["AS845"]),
    "a key twice": (NETWORK + "npus_count: [ 8 ]\n", ["AS843"]),
    "a key with two values": (NETWORK + "npus_count: [ 9 ]\n", ["AS701"]),
    "a colon in a value": (NETWORK + "note: a: b\n", ["AS701"]),
}


@pytest.mark.parametrize("case", YAML)
def test_yaml_is_what_the_simulator_reads(tmp_path, case):
    text, codes = YAML[case]
    (tmp_path / "machine.yml").write_text(text)
    found = guarding.check(str(tmp_path / "machine.yml")).diagnostics
    assert [each.code for each in found] == codes
    assert all(each.labels[0].span.end <= len(text) for each in found)


def test_aliases_of_aliases_are_bounded(tmp_path):
    lines = ["a0: &a0 [ x, x, x, x, x, x, x, x, x ]", *(
        f"a{at}: &a{at} [ {', '.join([f'*a{at - 1}'] * 9)} ]" for at in range(1, 9)
    )]  # fmt: skip
    (tmp_path / "network.yml").write_text(NETWORK + "\n".join(lines) + "\n")
    begun = time.perf_counter()
    found = guarding.check(str(tmp_path / "network.yml")).diagnostics
    assert (found[0].code, "too long" in found[0].message) == ("AS701", True)
    assert time.perf_counter() - begun < 10


def test_a_key_of_json_twice(tmp_path):
    for name, text in {
        "system.json": SYSTEM.replace("{", '{"endpoint-delay": 10, ', 1),
        "comm_groups.json": '{"1": [0, 1], "1": [0, 1]}',
    }.items():
        (tmp_path / name).write_text(text)
        assert [each.code for each in guarding.check(str(tmp_path / name)).diagnostics] == ["AS843"]
        (tmp_path / name).write_text(text.replace("10", "11", 1).replace("[0, 1]", "[0, 2]", 1))
        assert [each.code for each in guarding.check(str(tmp_path / name)).diagnostics] == ["AS701"]


# -- ns-3

THRESHOLDS = CONFIG.replace("100000000000 1600", "25000000000 400")
WAITING = [{"id": 0, "type": "RECV", "comm_src": 1, "comm_dst": 0, "comm_size": 8, "comm_tag": 1}]
NS3 = {
    "fine": ({}, None, None),
    "numbers": ({"logical.json": LOGICAL.replace('"4"', "4")}, "AS782", 'write `"4"`, a text'),
    "no list": ({"logical.json": '{ "logical-dims": "4" }'}, "AS782", "must be a list"),
    "zero": ({"logical.json": LOGICAL.replace("4", "0")}, "AS782", "is not a word"),
    "too few hosts": ({"logical.json": LOGICAL.replace("4", "8")}, "AS783", "4 hosts for 8 NPUs"),
    "a switch among the ranks": ({"topology.txt": TOPOLOGY.replace("\n4\n", "\n0\n")}, "AS783", "node 0 is a switch"),
    "fewer links than said": ({"topology.txt": TOPOLOGY.replace("5 1 4", "5 1 5")}, "AS783", "says 5 links and has 4"),
    "more links than said": ({"topology.txt": TOPOLOGY + "0 1 100Gbps 1ns 0\n"}, "AS783", "goes on after them"),
    "no unit": ({"topology.txt": TOPOLOGY.replace("0.0005ms", "500")}, "AS783", "`500` is not a delay"),
    "no rate": ({"topology.txt": TOPOLOGY.replace("0 4 100Gbps", "0 4 0Gbps")}, "AS783", "a link of no rate"),
    "bytes a second": ({"topology.txt": TOPOLOGY.replace("100Gbps", "12.5GB/s")}, "", ""),
    "no such node": ({"topology.txt": TOPOLOGY.replace("3 4", "9 4")}, "AS783", "there is no node 9"),
    "a rate without thresholds": ({"config.txt": THRESHOLDS}, "AS784", "`KMAX_MAP` has no threshold for 100000000000"),
    "a word for a number": ({"config.txt": CONFIG.replace("12", "hpcc")}, "AS784", "a whole number, not `hpcc`"),
    "a value is missing": ({"config.txt": CONFIG.replace("12", "")}, "AS784", "the value of `CC_MODE` is missing"),
    "a misspelt key": ({"config.txt": CONFIG + "BUFER_SIZE 32\n"}, "AS860", "did you mean `BUFFER_SIZE`?"),
    "deadlock": ({"trace": WAITING}, "AS774", "which nobody sends"),
}


@pytest.mark.parametrize("changes, code, words", NS3.values(), ids=NS3.keys())
def test_inputs_of_ns3(tmp_path, changes, code, words):
    texts = {"logical.json": LOGICAL, "topology.txt": TOPOLOGY, "config.txt": CONFIG, "system.json": SYSTEM}
    for name, text in (texts | changes).items():
        if name != "trace":
            (tmp_path / name).write_text(text)
    for rank in range(4):
        nodes = changes.get("trace", TRACE) if rank == 0 else TRACE
        (tmp_path / f"w.{rank}.et").write_bytes(guard_inputs.trace(nodes))
    found = guarding.check(str(tmp_path), None, None).diagnostics
    told = [(each.code, each.message, *each.hints) for each in found]
    assert any(code == row[0] and any(words in text for text in row) for row in told) if code else not told, told


def test_how_many_collectives_are_alike_is_told(tmp_path):
    """Two more of the same kind, size and group; another size is another sort, of one collective."""
    sizes = (1 << 20, 1 << 20, 1 << 10, 1 << 20)
    nodes = [{"id": at, "type": "COLL", "comm_type": 6, "comm_size": size} for at, size in enumerate(sizes)]
    system = {"all-to-all-implementation": ["halvingDoubling"]}
    guard_inputs.write({"network": NETWORK, "system": system, "traces": [nodes[:2]], "ranks": [(0, 8)]}, tmp_path / "a")
    guard_inputs.write({"network": NETWORK, "system": system, "traces": [nodes], "ranks": [(0, 8)]}, tmp_path / "b")
    guard_inputs.write({"network": NETWORK, "system": system, "traces": [nodes[:1]], "ranks": [(0, 8)]}, tmp_path / "c")
    for name, more in (("a", " and 1 others like it"), ("b", " and 2 others like it"), ("c", "")):
        (found,) = guarding.check(str(tmp_path / name), None, None).diagnostics
        assert found.message == f"`halvingDoubling` has no all-to-all: node 0 `n0`{more}"


def test_hosts_do_not_forward(tmp_path):
    """The ring that ns-3's own folder ships: host 0 reaches its two neighbours only."""
    ring = "8 0 8\n\n" + "".join(f"{host} {(host + 1) % 8} 25Gbps 0.005ms 0\n" for host in range(8))
    (tmp_path / "ring.txt").write_text(ring)
    (found,) = guarding.check(str(tmp_path / "ring.txt")).diagnostics
    assert (found.code, "host 0 has no way to host 2" in found.message) == ("AS873", True)


# -- custom collectives: what ASTRA-sim did with these files stands beside each


def ring(members, rank, *, size=131072):
    """An all-reduce as sends, receives and reductions round a ring."""
    nodes, before = [], []
    for step in range(2 * (members - 1)):
        at = 3 * step
        common = {"comm_size": size, "comm_tag": step, "deps": before}
        nodes += [
            {"id": at, "type": "SEND", "comm_src": rank, "comm_dst": (rank + 1) % members, **common},
            {"id": at + 1, "type": "RECV", "comm_src": (rank - 1) % members, "comm_dst": rank, **common},
            {"id": at + 2, "type": "COMP", "deps": [at + 1]},
        ]
        before = [at + 2]
    return nodes


ONE = {"preferred-dataset-splits": 1, "all-reduce-implementation": None, "all-reduce-implementation-custom": ["algo"]}
TABLE = {"preferred-dataset-splits": 1, "per-node-custom-implementation": "table.yml"}
CUSTOM = {
    "41188 cycles on all": (ONE, {}, []),
    "nobody finishes, exit 0": (ONE | {"preferred-dataset-splits": 4}, {}, ["AS786"]),
    "exit 1": (ONE, {"drop": 3}, ["AS709"]),
    "exit 1 as well": (ONE | {"all-reduce-implementation-custom": ["other"]}, {"none": True}, ["AS785"]),
    "logic_error": (ONE | {"all-reduce-implementation-custom": ["algo", "algo"]}, {}, ["AS702"]),
    "type_error": (ONE | {"all-reduce-implementation-custom": "algo"}, {"none": True}, ["AS702"]),
    "nobody finishes": (ONE, {"silent": 0}, ["AS774"]),
    "nobody finishes either": (ONE, {"collective": True}, ["AS785"]),
    "41188 by a table": (TABLE, {"table": "1: algo\n"}, []),
    "43025, the table names another node": (TABLE, {"table": "5: algo\n"}, []),
    "keys must be integers": (TABLE, {"table": "x: algo\n"}, ["AS785"]),
    "must be a mapping": (TABLE, {"table": "- algo\n"}, ["AS785"]),
}


@pytest.mark.parametrize("system, algorithm, codes", CUSTOM.values(), ids=CUSTOM.keys())
def test_custom_collectives(tmp_path, system, algorithm, codes):
    guard_inputs.write({"network": NETWORK, "system": system, "traces": [TRACE], "ranks": [(0, 8)]}, tmp_path)
    for rank in range(8):
        nodes = ring(8, rank)
        nodes = nodes[1:] if algorithm.get("silent") == rank else nodes
        nodes += [{"id": 99, "type": "COLL", "comm_type": 0, "comm_size": 8}] if algorithm.get("collective") else []
        if not algorithm.get("none") and algorithm.get("drop") != rank:
            (tmp_path / f"algo.{rank}.et").write_bytes(guard_inputs.trace(nodes))
    if "table" in algorithm:
        (tmp_path / "table.yml").write_text(algorithm["table"])
    found = guarding.check(str(tmp_path), None, None).diagnostics
    assert sorted({each.code for each in found}) == codes


# -- hostile files

MEGA = 1 << 20
HOSTILE = {
    "bomb.yml": b'topology: &a ["x", "x"]\nnpus_count: &b [*a, *a, *a]\nbandwidth: [*b, *b]\n',
    "long.yml": b"topology: [ Ring ]\nnpus_count: [ " + b"8, " * 60_000 + b"8 ]\n",
    "nul.yml": b"topology: [ Ring ]\nnpus_count: [ \0 ]\n",
    "deep.json": b'{"scheduling-policy": ' + b"[" * 100_000 + b"}",
    "wide.json": b'{"scheduling-policy": [' + b"1," * 100_000 + b"1]}",
    "huge.json": b'{"scheduling-policy": [' + b"1," * MEGA * 3 + b"1]}",
    "keys.json": b'{"scheduling-policy": 1,' + b",".join(b'"k%d": 1' % at for at in range(20_000)) + b"}",
    "digits.json": b'{"scheduling-policy": ' + b"9" * 100_000 + b"}",
    "system.txt": b"scheduling-policy: LIFO\nendpoint-delay: 1\n" + b"a: b\n" * 40_000,
    "workload.txt": b"DATA\n1\n" + b"a " * 100_000,
    "count.txt": b"DATA\n99999999999999999999\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    "topology.txt": b"900000000 0 3\n\n0 2 100Gbps 1ns 0\n",
    "maps.txt": b"CC_MODE 1\nTOPOLOGY_FILE x\nKMAX_MAP 999999999 1 1\n" + b"1 1 " * 50_000,
    "empty.0.et": b"",
    "zeros.0.et": bytes(4 * MEGA),
    "frames.0.et": b"\x07\x0a\x050.0.4" + b"\x02\x08\x01" * MEGA * 3,
    "endless.0.et": b"\xff" * MEGA,
    "waits.0.et": b"\x07\x0a\x050.0.4\x8c\x80\x80\x01\x08\x01\x18\x04\x2a\x86\xff\x7f" + b"\x05" * (2 * MEGA + 4),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_bounded_time(tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name])
    start = time.process_time()
    found = guarding.check(str(tmp_path / name)).diagnostics
    assert has_errors(found)
    assert render(found)
    assert time.process_time() - start < 20


def test_what_is_no_file_or_leads_away(tmp_path):
    folder = tmp_path / "bundle"
    guard_inputs.write({"network": NETWORK, "traces": [TRACE], "ranks": [(0, 8)]}, folder)

    def told():
        return {
            (found.code, found.message.partition(" `")[0])
            for found in guarding.check(str(folder), None, None).diagnostics
        }

    assert told() == set()
    with (folder / "w.3.et").open("r+b") as file:
        file.truncate(10 << 30)  # sparse, and so are its hard links
    assert "is larger than 256 MiB" in guarding.check(str(folder), None, None).diagnostics[0].message
    for rank in range(8):
        (folder / f"w.{rank}.et").unlink()
        (folder / f"w.{rank}.et").write_bytes(guard_inputs.trace(TRACE))
    (tmp_path / "secret.json").write_text(SYSTEM.replace("LIFO", "a secret"))
    (folder / "system.json").unlink()
    (folder / "system.json").symlink_to(tmp_path / "secret.json")
    (found,) = guarding.check(str(folder), None, None).diagnostics
    assert "leads out of the folder" in found.message
    assert "secret" not in render([found]).replace("secret.json", "")
    (folder / "loop.yml").symlink_to(folder / "loop.yml")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.json")
    (folder / "w.99.et").mkdir()
    assert guarding.check(str(folder), None, None).diagnostics == (found,)


def test_equal_traces_are_read_once(tmp_path, monkeypatch):
    from astrac.simulators.astra_sim_2 import chakra

    network = NETWORK.replace("[ 8 ]", "[ 256 ]")
    guard_inputs.write({"network": network, "traces": [TRACE], "ranks": [(0, 256)]}, tmp_path)
    read = []
    messages = chakra.messages
    monkeypatch.setattr(chakra, "messages", lambda data: read.append(len(data)) or messages(data))
    assert guarding.check(str(tmp_path), None, None).diagnostics == ()
    assert len(read) == 1


def test_a_bundle_without_one_of_its_files_cannot_run(tmp_path):
    guard_inputs.write({"network": NETWORK, "traces": [TRACE], "ranks": [(0, 8)]}, tmp_path)
    assert guarding.check(str(tmp_path), None, None).diagnostics == ()
    for missing in ("system", "network"):
        (path,) = [path for path in tmp_path.iterdir() if recognise(path.name, path.read_bytes()) == missing]
        text = path.read_bytes()
        path.unlink()
        (found,) = guarding.check(str(tmp_path), None, None).diagnostics
        assert found.code == "AS708"
        assert f"without a {missing} file" in found.message
        path.write_bytes(text)


def test_a_bus_in_every_npu_is_told_with_what_it_does_to_direct(tmp_path):
    system = guard_inputs.SYSTEM | {"model-shared-bus": 1, "L": 1, "o": 1, "g": 1, "G": 0.1}
    for word, told in (("ring", False), ("halvingDoubling", False), ("direct", True), ("direct4", True)):
        path = tmp_path / "system.json"
        path.write_text(json.dumps(system | {"all-reduce-implementation": [word]}))
        (bus,) = (one for one in guarding.check(str(path)).diagnostics if one.code == "AS886")
        assert (f"`{word}` sends several at once" in bus.message) == told
    path.write_text(json.dumps(system | {"model-shared-bus": 0}))
    assert "AS886" not in [one.code for one in guarding.check(str(path)).diagnostics]


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder below which one may not be looked into, also by root, and a file that nobody may read."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "system.json").write_text(SYSTEM)
    scandir, path_open = os.scandir, Path.open

    def refusing(path):
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    return tmp_path, path_open


def test_a_folder_that_cannot_be_read_is_told(closed, capsys, monkeypatch):
    folder, path_open = closed
    (finding,) = (one for one in guarding.check(str(folder)).diagnostics if one.code == "AS700")
    assert finding.message == f"cannot read `{folder}/closed`: permission denied"
    assert main(["check", str(folder)]) == 1
    assert main(["fix", str(folder)]) == 1
    assert "closed`: permission denied" in capsys.readouterr().err
    monkeypatch.chdir(folder)
    assert main(["check", "--bundles", "x.astra"]) == 1
    assert "closed`: permission denied" in capsys.readouterr().out

    def refusing(path, *rest, **more):
        if path.name == "system.json":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return path_open(path, *rest, **more)

    monkeypatch.setattr(Path, "open", refusing)
    messages = [one.message for one in guarding.check(str(folder)).diagnostics]
    assert f"cannot read `{folder}/system.json`: permission denied" in messages


def test_tables_that_are_no_regular_files_are_not_opened(tmp_path):
    (tmp_path / "system.json").write_text(SYSTEM[:-1] + ', "per-node-custom-implementation": "fifo"}')
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "network.yml").write_text(NETWORK)
    (tmp_path / "w.0.et").write_bytes(guard_inputs.trace(TRACE))
    assert guarding.check(str(tmp_path)).diagnostics  # that it comes back is what counts
