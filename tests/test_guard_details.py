"""Small facts of files of ASTRA-sim 2.x and ns-3: the place of each advice, every form of a value, every limit."""

import json

import pytest

import guard_inputs
from astrac.api.converting import edited
from astrac.diagnostics import Diagnosed
from astrac.job import Axis, Dimension, Machine
from astrac.positioned import child
from astrac.simulators.astra_sim_2 import chakra, groups, keys
from astrac.simulators.astra_sim_2.check.files import check_file
from astrac.simulators.astra_sim_2.check.nodes import cycle, unordered
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.simulators.astra_sim_2.simulator import fix
from astrac.simulators.ns3.files import read_config, read_topology
from astrac.simulators.texts import json_tree, yaml_tree
from astrac.source import Source

SYSTEM = guard_inputs.SYSTEM
TREE = {"all-reduce-implementation": ["ring", "doubleBinaryTree", "ring"]}
BUS = {"model-shared-bus": 1}
NODE = {"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 1, "num-nodes": 1, "num-npus-per-node": 2}
POOL = {"memory-type": "MEMORY_POOL", "remote-mem-bw": 1}


def system(**changes):
    changes = {key.replace("_", "-"): value for key, value in changes.items()}
    return {key: value for key, value in (SYSTEM | changes).items() if value is not None}


ADVICE = [
    ("system", system(), []),
    ("system", system(local_mem_bw=None), [("AS862", "{")]),
    ("system", system(local_mem_bw=0), [("AS862", "0")]),
    ("system", SYSTEM | TREE, [("AS863", '"doubleBinaryTree"')]),
    ("system", SYSTEM | TREE | {"collective-optimization": "baseline"}, []),
    ("system", system(all_reduce_implementation=["ring", "doubleBinaryTree"]), []),
    ("system", system(all_gather_implementation=["doubleBinaryTree"]), [("AS863", '"doubleBinaryTree"')]),
    ("system", SYSTEM | BUS, [("AS886", "1"), ("AS875", "1")]),
    *(("system", SYSTEM | BUS | {key: 1}, [("AS886", "1")]) for key in ("L", "o", "g", "G")),
    ("system", SYSTEM | {"L": 1}, [("AS861", '"L"')]),
    ("system", SYSTEM | {"boost-mode": 1}, [("AS861", '"boost-mode"')]),
    ("system", SYSTEM | {"boost-mode": 0}, []),
    ("system", SYSTEM | {"intra-dimension-scheduling": "LIFO"}, [("AS861", '"intra-dimension-scheduling"')]),
    ("system", SYSTEM | {"intra-dimension-scheduling": "FIFO"}, []),
    ("system", SYSTEM | {"peak-perf": 1}, [("AS861", '"peak-perf"')]),
    ("system", SYSTEM | {"peek-perf": 1}, [("AS860", '"peek-perf"')]),
    ("system", SYSTEM | {"roofline-enabled": 1}, [("AS704", json.dumps(SYSTEM | {"roofline-enabled": 1}))]),
    ("system", SYSTEM | {"all-reduce-implementation-custom": ["x"]}, [("AS786", "4")]),
    ("memory", POOL, [("AS875", '"MEMORY_POOL"')]),
    ("memory", POOL | {"remote-mem-latency": 0}, []),
    ("memory", POOL | {"remote-mem-latency": 0, "num-nodes": 2}, [("AS861", '"num-nodes"')]),
    ("memory", NODE | {"remote-mem-latency": 3}, []),
    ("memory", {"memory-type": "NO_MEMORY_EXPANSION"}, []),
    ("memory", {"memory-type": "NO_MEMORY_EXPANSION", "remote-mem-bw": 1}, [("AS861", '"remote-mem-bw"')]),
    ("groups", {"1": [0, 1], "2": [2, 3]}, []),
    ("groups", {"1": [1, 0]}, [("AS864", "[1, 0]")]),
    ("groups", {"1": [5]}, [("AS869", "[5]")]),
    ("groups", {"1": [0, 1], "7": [0, 1]}, [("AS869", '"7"')]),
    ("groups", {"0": [0, 1]}, [("AS702", "[0, 1]")]),
]


@pytest.mark.parametrize("kind, value, expected", ADVICE, ids=range(len(ADVICE)))
def test_advice_and_its_place(kind, value, expected):
    found = check_file(kind, Source("x.json", json.dumps(value)), b"", None)
    assert [(each.code, each.labels[0].span.text) for each in found] == expected


def test_the_congestion_aware_backend_takes_one_dimension():
    text = "topology: [ Ring, Ring ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n"
    source = Source("network.yml", text)
    assert check_file("network", source, b"", "congestion_unaware") == ()
    (found,) = check_file("network", source, b"", "congestion_aware")
    assert (found.code, found.labels[0].span.text) == ("AS780", "[ Ring, Ring ]")


# -- what the trace feeder takes

INTEGERS = (
    "bool", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64",
)  # fmt: skip


def trace(size):
    """A trace of one all-reduce, whose `comm_size` is an attribute of a form."""
    attributes = {"comm_type": 0, "comm_size": size, "involved_dim": [True], "is_cpu_op": False}
    lines = [{"version": chakra.VERSION}, {"id": 3, "type": "COMM_COLL_NODE", "attr": attributes}]
    return chakra.encode(map(json.dumps, lines))


def machine(*sizes):
    return Machine(tuple(Dimension("Ring", size, 1.0, 1.0) for size in sizes), {}, 1)


@pytest.mark.parametrize("form", [*INTEGERS, "double", "float", "string", "bytes"])
def test_integers_of_every_form(form):
    value = {"double": 1.0, "float": 1.0, "string": "1", "bytes": "AQ==", "bool": True}.get(form, 1)
    decoder = Decoder(machine(4), {})
    result = decoder.trace(trace({f"{form}_val": value}), 0, Source("x.0.et"))
    if form in INTEGERS:
        (op,) = result.value.program.ops
        assert (op.bytes, op.id) == (1, 3)
    else:
        (found,) = decoder.faults()
        assert (found.code, f"has `comm_size` as `{form}_val`" in found.message) == ("AS707", True)


@pytest.mark.parametrize("form", [*INTEGERS, "double", "float", "string", "bytes"])
def test_every_form_of_an_attribute_as_text_and_back(form):
    value = {"double": 0.5, "float": 0.5, "string": "x", "bytes": "AQ==", "bool": True}.get(form, 7)
    for shown in ({f"{form}_val": value}, {f"{form}_list": [value, value]}):
        lines = [
            json.dumps({"version": "0.0.4"}),
            json.dumps({"id": 1, "attr": {"comm_size": shown}}, ensure_ascii=False),
        ]
        back = [json.loads(line) for line in chakra.decode(chakra.encode(iter(lines)), "jsonl")]
        plain = next(iter(shown.values()))
        natural = next(iter(shown)) in {"bool_val", "int64_val", "string_val", "bool_list"}
        assert back == [{"version": "0.0.4"}, {"id": 1, "attr": {"comm_size": plain if natural else shown}}]


def test_frames():
    message = chakra.metadata()
    assert chakra.messages(chakra.framed(message) * 2) == [message, message]
    long = bytes(300)
    assert chakra.framed(long)[:2] == b"\xac\x02"
    assert chakra.messages(chakra.framed(long)) == [long]
    for broken in (b"\x05abcd", b"\xff", b"\xff" * 11, b"\xff\xff\xff\xff\x7f", b"\x80"):
        with pytest.raises(Diagnosed):
            chakra.messages(broken)
    assert chakra.messages(b"") == []


# -- what a manifest names


def described(**changes):
    whole = {
        "name": "x",
        "axes": [{"name": "a", "stride": 1, "size": 2}, {"name": "b", "stride": 2, "size": 1}],
        "groups": [{"axes": ["a"], "only": [], "dimensions": None}],
        "classes": [{"program": 0, "boxes": [{"a": [0]}]}, {"program": 1, "boxes": [{"a": [1]}]}],
    }
    return whole | changes


FOREIGN = [
    {"axes": [{"name": "a", "stride": 2, "size": 2}, {"name": "b", "stride": 1, "size": 1}]},
    {"axes": [{"name": "a", "stride": 1, "size": 2}, {"name": "b", "stride": 2, "size": 0}]},
    {"axes": [{"name": "a", "stride": 1, "size": 3}, {"name": "b", "stride": 3, "size": 1}]},
    {"axes": [{"name": "a", "stride": 1, "size": 2}, {"name": "a", "stride": 2, "size": 1}]},
    {"groups": [{"axes": ["c"], "only": [], "dimensions": None}]},
    {"classes": [{"program": 0, "boxes": [{"c": [0]}]}]},
]


def test_a_description_is_recalled():
    found = groups.recall(described(), machine(2))
    assert found.job.axes == (Axis("a", 1, 2), Axis("b", 2, 1))
    assert [members.boxes[0].coordinates for members in found.job.classes] == [((0,), None), ((1,), None)]
    assert groups.describe(found.job) | {"groups": []} == json.loads(json.dumps(described(groups=[]))) | {
        "axes": described()["axes"],
        "classes": [
            {"program": 0, "boxes": [{"a": (0,)}]},
            {"program": 1, "boxes": [{"a": (1,)}]},
        ],
    }


@pytest.mark.parametrize("changes", FOREIGN)
def test_a_description_of_other_ranks_is_not(changes):
    assert groups.recall(described(**changes), machine(2)) is None


# -- nodes that wait


def compute(number, *needs):
    from astrac.job import Compute

    return Compute(id=number, data=needs)


def test_a_cycle_is_named_in_its_order():
    ops = (compute(0, 4), compute(1, 3), compute(2, 1), compute(3, 2), compute(4), compute(5, 5), compute(6, 99))
    assert [op.id for op in cycle(ops)] == [1, 3, 2]
    assert [op.id for op in cycle(ops[4:])] == [5]
    assert cycle((ops[4], ops[0], ops[6])) == []


def test_collectives_in_no_order():
    from astrac.job import AxisGroup, Collective, Kind, Program

    def collective(number, *needs):
        group = AxisGroup(("dim0",), (), (True,))
        return Collective(id=number, kind=Kind.ALL_REDUCE, bytes=8, group=group, data=needs)

    assert unordered(Program((collective(0), compute(1, 0), collective(2, 1)))) is None
    first, second = unordered(Program((collective(0), compute(1), collective(2, 1))))
    assert (first.id, second.id) == (0, 2)


# -- fixes

FIXES = [
    ("memory", '{"memory-type": "memory_pool"}', '{"memory-type": "MEMORY_POOL"}'),
    ("memory", '{"remote-mem-bw": "8"}', '{"remote-mem-bw": 8}'),
    ("system", '{"local-mem-bw": "1.5"}', '{"local-mem-bw": 1.5}'),
    ("system", '{"local-mem-bw": "-3"}', '{"local-mem-bw": -3}'),
    ("system", '{"local-mem-bw": "1.5e3"}', '{"local-mem-bw": "1.5e3"}'),
    ("system", '{"endpoint-delay": 10.5}', '{"endpoint-delay": 10.5}'),
    ("system", '{"track-local-mem": true}', '{"track-local-mem": 1}'),
    ("system", '{"ENDPOINT DELAY": 1}', '{"endpoint-delay": 1}'),
    ("system", '{"all-reduce-implementation": "DIRECT4; ring"}', '{"all-reduce-implementation": ["direct4", "ring"]}'),
    ("groups", '{"1": 3, "2": [0, "1"]}', '{"1": [3], "2": [0, 1]}'),
    ("groups", "[1]", "[1]"),
    ("groups", "{", "{"),
]  # fmt: skip


@pytest.mark.parametrize("kind, text, expected", FIXES, ids=range(len(FIXES)))
def test_fixes(kind, text, expected):
    assert edited(text, fix(kind, Source("x", text), dict)) == expected


# -- texts with positions


def test_pointers_escape_what_has_a_meaning():
    assert child("/a", "b/c~d") == "/a/b~1c~0d"
    assert child("", 3) == "/3"


YAML = [
    ("a: 010\n", {"a": "010"}),
    ("a: 0x8\n", {"a": "0x8"}),
    ("a: 1e3\n", {"a": 1000.0}),
    ("a: -.5\n", {"a": -0.5}),
    ("a: +7\n", {"a": 7}),
    ("a: ~\nb: null\nc:\n", {"a": None, "b": None, "c": None}),
    ("a: true\nb: False\n", {"a": True, "b": "False"}),
    ("a: '1'\nb: 'x'\n", {"a": 1, "b": "x"}),
    ("a: &b 1\nc: *b\n", {"a": 1, "c": 1}),
    ("a: !!int 1\n", {"a": 1}),
    ("a: 1\n---\nb: 2\n", {"a": 1}),
    (f"a: {'1' * 41}\n", {"a": "1" * 41}),
    (f"a: {'1' * 40}\n", {"a": int("1" * 40)}),
]


@pytest.mark.parametrize("text, value", YAML)
def test_words_of_yaml(text, value):
    assert yaml_tree(Source("x", text)).value == value


@pytest.mark.parametrize("text", ["a: *b\n", "a: 1\na: 2\n", "[a]: 1\n", "a: [\n"])
def test_yaml_that_is_none(text):
    with pytest.raises(Diagnosed) as found:
        yaml_tree(Source("x", text))
    assert found.value.diagnostic.code == "AS701"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "{} {}", '{"a": 1} x'])
def test_json_that_says_something_twice_or_goes_on(text):
    with pytest.raises(Diagnosed) as found:
        json_tree(Source("x", text))
    assert found.value.diagnostic.code == "AS701"


def test_what_a_type_of_memory_reads():
    wanted = {kind.value: keys.memory_attributes(kind) for kind in keys.MemoryType}
    assert wanted == {
        "NO_MEMORY_EXPANSION": ("type",),
        "PER_NPU_MEMORY_EXPANSION": ("type", "latency", "bandwidth"),
        "PER_NODE_MEMORY_EXPANSION": ("type", "latency", "bandwidth", "nodes", "npus_per_node"),
        "MEMORY_POOL": ("type", "latency", "bandwidth"),
    }


# -- ns-3

CONFIG = """\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
CLAMP_TARGET_RATE 0
PACKET_PAYLOAD_SIZE 1000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
FAST_RECOVERY_TIMES 1
CC_MODE 12
HAS_WIN 1
GLOBAL_T 0
MI_THRESH 0
VAR_WIN 1
FAST_REACT 1
INT_MULTI 1
RATE_BOUND 1
ACK_HIGH_PRIO 0
NIC_TOTAL_PAUSE_TIME 0
ENABLE_TRACE 0
BUFFER_SIZE 32
QLEN_MON_START 0
QLEN_MON_END 20000
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PAUSE_TIME 5
SIMULATOR_STOP_TIME 40000000000000.00
ALPHA_RESUME_INTERVAL 1
RP_TIMER 900
EWMA_GAIN 0.00390625
ERROR_RATE_PER_LINK 0.0
RATE_DECREASE_INTERVAL 4
U_TARGET 0.95
PINT_LOG_BASE 1.05
PINT_PROB 1e-1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s
DATA_RATE x
LINK_DELAY x
TOPOLOGY_FILE x
FLOW_FILE x
TRACE_FILE x
TRACE_OUTPUT_FILE x
FCT_OUTPUT_FILE x
PFC_OUTPUT_FILE x
QLEN_MON_FILE x
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 1 25000000000 100
PMAX_MAP 1 25000000000 0.20
"""
"""Every key that ns-3 knows, with a value that it takes."""

FORMS = {"a rate, as `100Mb/s`": "100Xb/s", "a whole number": "1.5", "a number": "x1"}
"""What keys take, and what they do not."""


def test_a_configuration_with_every_key():
    result = read_config(Source("config.txt", CONFIG))
    assert result.diagnostics == ()
    assert result.value.words["RP_TIMER"] == "900"
    assert result.value.rates == {
        "KMAX_MAP": frozenset({25 * 10**9, 10**11}),
        "KMIN_MAP": frozenset({25 * 10**9}),
        "PMAX_MAP": frozenset({25 * 10**9}),
    }


@pytest.mark.parametrize("line", [line for line in CONFIG.splitlines() if "_MAP" not in line])
def test_a_value_that_is_none(line):
    key, value, *_ = line.split()
    if value == "x":
        assert not messages_of(line, value, "1.5")
        return
    whole = any("whole number" in message for message in messages_of(line, value, "1.5"))
    takes = "a rate, as `100Mb/s`" if value.endswith("b/s") else "a whole number" if whole else "a number"
    wrong = FORMS[takes]
    assert messages_of(line, value, wrong) == [f"`{key}` takes {takes}, not `{wrong}`"]


def messages_of(line, value, other):
    """What is said of a configuration that has another value on a line."""
    text = CONFIG.replace(line, line.replace(value, other, 1))
    return [found.message for found in read_config(Source("config.txt", text)).diagnostics if found.code == "AS784"]


@pytest.mark.parametrize(
    "key", ["TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE", "L2_ACK_INTERVAL", "RATE_HAI"]
)
def test_keys_without_which_ns_3_cannot_run(key):
    text = "".join(line for line in CONFIG.splitlines(keepends=True) if line.split()[0] != key)
    messages = [found.message for found in read_config(Source("config.txt", text)).diagnostics]
    assert messages == ([] if key == "RATE_HAI" else [f"`{key}` is missing"])


RATES = [
    ("100Gbps", 100 * 10**9), ("1kbps", 1000), ("1Kb/s", 1000), ("2Mbps", 2 * 10**6), ("1.5GB/s", 12 * 10**9),
    ("1kib/s", 1024), ("1Kibps", 1024), ("1MiBps", 8 * 2**20), ("1Gibps", 2**30), ("8bps", 8),
]  # fmt: skip


@pytest.mark.parametrize("text, rate", RATES)
def test_rates_of_links(text, rate):
    result = read_topology(Source("topology.txt", f"3 1 2\n2\n0 2 {text} 1ns 0\n1 2 {text} 0.5us 0\n"))
    assert result.diagnostics == ()
    assert [(link.ends, link.rate) for link in result.value.links] == [((0, 2), rate), ((1, 2), rate)]
    assert (result.value.nodes, result.value.switches) == (3, frozenset({2}))


TOPOLOGIES = [
    ("3 4 0\n2 1 0\n", "4 switches of 3 nodes"),
    ("3 2 0\n2 2\n", "a switch is listed twice"),
    ("3 0 1\n0 0 1Gbps 1ns 0\n", "a link from a node to itself"),
    ("3 0 1\n0 1 1Gbps 1ns 2\n", "`2` is no error rate: a number from 0 to 1"),
    ("3 0 1\n0 1 1Gbps 1ns -1\n", "`-1` is no error rate: a number from 0 to 1"),
    ("3 0 1\n0 1 1Gbps 1ns x\n", "`x` is no error rate: a number from 0 to 1"),
    ("3 0 1\n0 1 1Gb 1ns 0\n", "`1Gb` is not a rate: write it as `100Gbps`"),
    ("3 0 1\n0 x 1Gb 1ns 0\n", "`x` is no number of an end of a link"),
    ("3 0 x\n", "`x` is no number of links"),
    ("3 0 4000001\n", "more than 4000000 links"),
    ("3 0\n", "the file ends where the number of links should stand"),
    ("3 0 1\n0 1 1Gbps\n", "the file ends where a delay should stand"),
]


@pytest.mark.parametrize("text, message", TOPOLOGIES)
def test_what_is_no_topology(text, message):
    result = read_topology(Source("topology.txt", text))
    assert result.value is None
    assert [(found.code, found.message) for found in result.diagnostics] == [("AS783", message)]


def test_links_beside_each_other():
    link = "0 1 1Gbps 1ns 0\n"
    found = read_topology(Source("topology.txt", f"2 0 13\n{link * 12}1 0 2Gbps 1ns 0\n")).diagnostics
    assert [each.code for each in found] == ["AS873"] * 10
    assert found[0].message == "nodes 0 and 1 have two links: ns-3 uses one of them"
