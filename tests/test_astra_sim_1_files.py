"""Files of ASTRA-sim 1.0: read, checked, written."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from astrac import resources
from astrac.codes import CODES
from astrac.job import IMPLEMENTED, Dimension, Kind, Machine
from astrac.simulators.astra_sim_1.check import check_derived
from astrac.simulators.astra_sim_1.check_files import check_network
from astrac.simulators.astra_sim_1.job import (
    Extras,
    LayerRow,
    Policy,
    SharedBus,
    TextJob,
    TextNetwork,
    TextSystem,
    TextWorkload,
    Work,
)
from astrac.simulators.astra_sim_1.lower import derive_network, derive_system
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.simulators.astra_sim_1.simulate import simulate
from astrac.simulators.astra_sim_1.write import render, render_network, render_system, render_workload
from astrac.simulators.table import recognise
from astrac.source import Source
from simulator_1 import BAD, GOLDEN, INPUTS, bad_texts, examine, golden_texts

FILES = {
    "workload": (read_workload, render_workload),
    "system": (read_system, render_system),
    "network": (read_network, render_network),
}
TEXTS = {
    f"{kind}/{name}": text if isinstance(text, str) else json.dumps(text)
    for kind, files in INPUTS.items()
    for name, text in files.items()
}
SCHEMA = Draft202012Validator(json.loads(resources.text("schemas", "artifacts", "astra-sim-1-network.schema.json")))


@pytest.mark.parametrize("path", TEXTS)
def test_a_file_that_the_simulator_runs_reads_without_error_and_survives_writing(path):
    read, write = FILES[path.split("/")[0]]
    result = read(Source(path, TEXTS[path]))
    assert result.ok, result.diagnostics
    again = read(Source(path, write(result.value)))
    assert again.value == result.value
    assert not [found for found in again.diagnostics if found.is_error]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["id"])
def test_a_run_that_ends_passes_and_one_that_hangs_does_not(row):
    scales = {key: float(row[key]) for key in ("compute_scale", "comm_scale")}
    job, found = examine(*golden_texts(row), passes=int(row["passes"]), **scales)
    if row["status"] == "ok":
        assert job is not None
    else:
        assert {finding.code for finding in found if finding.is_error} == {"AS736"}


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: entry["name"])
def test_bad_input(entry):
    """Each has the codes that it is there for; what has no error ends with one and the same total, which we know."""
    options = {key: entry[key] for key in ("passes", "compute_scale", "comm_scale", "args") if key in entry}
    job, found = examine(*bad_texts(entry), **options)
    assert sorted({finding.code for finding in found}) == entry["codes"]
    # Places are those of the value at fault, never of the whole file, unless something is missing or empty.
    for finding in found:
        assert finding.code == "AS757" or finding.labels
    if job is None:
        return
    assert entry["release"] == entry["default"]
    assert entry["release"][0] == 0
    played = simulate(job)
    assert played.unknown or played.cycles == entry["release"][1]


def place(source, text):
    """Code and place of what is found, as `code line:column text`."""
    read = FILES[source.split(".")[0]][0]
    return [
        f"{found.code} {':'.join(map(str, found.labels[0].span.first))} {found.labels[0].span.text}"
        for found in read(Source(source, text)).diagnostics
    ]


def test_all_errors_of_a_workload_at_once():
    text = (
        "MODEL\n3\n"
        "a -1 1.5 NONE 0 1 allreduce 4 1 NONE 0 1\n"
        "b -1 1 NONE 0 1 NONE 0 1 NONE 0\n"
        "c -1 1 NONE 0 -1 NONE 0 1 NONE 0 1\n"
    )
    assert place("workload.txt", text) == [
        "AS746 3:6 1.5",
        "AS744 3:19 allreduce",
        "AS742 4:1 b -1 1 NONE 0 1 NONE 0 1 NONE 0",
        "AS746 5:15 -1",
    ]


def test_all_errors_of_a_system_at_once():
    text = TEXTS["system/ring1_lifo.txt"].replace("LIFO", "lifo").replace("boost-mode: 0", "bost-mode: 0\n# off")
    text = text.replace("preferred-dataset-splits: 4\n", "preferred-dataset-splits:\n")
    assert place("system.txt", text) == [
        "AS732 4:1 preferred-dataset-splits:",
        "AS730 5:1 bost-mode:",
        "AS730 6:1 #",
        "AS733 1:20 lifo",
    ]


def test_all_errors_of_a_network_at_once():
    text = TEXTS["network/ring4.json"].replace('"Ring"', '"ring"').replace("units-count", "unit-count")
    text = text.replace('"link-latency": [100]', '"link-latency": ["100"]')
    assert place("network.json", text) == [
        'AS721 1:115 "unit-count"',
        'AS723 1:58 "ring"',
        'AS722 1:171 "100"',
    ]


def test_a_misspelt_word_is_named():
    result = read_workload(Source("w", "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALL_REDUCE 4 1\n"))
    assert result.diagnostics[0].hints == ("did you mean `ALLREDUCE`?",)


@pytest.mark.parametrize(
    "code", sorted(code for code in CODES if "AS720" <= code <= "AS769" or "AS840" <= code <= "AS859")
)
def test_the_page_of_a_code_shows_it(code):
    """The bad example has the code, the good one has no finding at all."""
    page = CODES[code]
    assert page.what
    assert page.why
    for example, wanted in ((page.bad, {code}), (page.good, set())):
        if example:
            head, text = example.split("\n", 1)
            read = FILES[head.removeprefix("# ").split(".")[0]][0]
            found = {finding.code for finding in read(Source(head, text)).diagnostics}
            assert found >= wanted if wanted else not found


# Every policy with what it needs before the count.
EXTRAS = {
    Policy.HYBRID_TRANSFORMER: Extras(group=4),
    Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD: Extras(group=2, checkpoints=(0,), initiates=(1,)),
    Policy.HYBRID_DLRM: Extras(last_bottom=1),
    Policy.HYBRID_DLRM_ENHANCED: Extras(last_bottom=1),
}


@pytest.mark.parametrize("policy", Policy, ids=lambda policy: policy.value)
def test_a_workload_of_every_policy_survives_writing(policy):
    layer = Policy.MODEL if policy is Policy.HYBRID_CUSTOMIZED else None
    work = Work(7, Kind.ALL_GATHER, 4096), Work(0), Work(2**53, Kind.REDUCE_SCATTER, 2**64 - 1)
    rows = tuple(LayerRow(name, *work, 3, layer, -7) for name in ("a", "b", "10"))
    workload = TextWorkload(policy, rows, EXTRAS.get(policy, Extras()))
    assert read_workload(Source("w", render_workload(workload))).value == workload


def test_a_system_with_every_key_survives_writing():
    words = dict.fromkeys(IMPLEMENTED, ("direct12", "halvingDoubling")) | {Kind.ALL_TO_ALL: ("oneDirect3",)}
    bus = SharedBus(1, 2, 3, 1e-05)
    system = TextSystem("FIFO", words, "baseline", 7, 3, 2, True, "RG", "themisFlex", bus, 5, False)
    assert read_system(Source("s", render_system(system))).value == system


MACHINE = Machine(
    (
        Dimension("Ring", 8, 372.52902984619140625, 500.5),
        Dimension("FullyConnected", 4, 100 / 3, 1),
        Dimension("Switch", 2, 12.5, 7),
    ),
    {Kind.ALL_REDUCE: ("ring", "direct", "halvingDoubling")},
    splits=4,
    endpoint_delay=None,
)


def test_a_message_gets_the_same_bytes_a_ns_as_in_2():
    """2.x: bandwidth x 2^30 / 10^9, in doubles, whatever the block."""
    network = derive_network(MACHINE)
    assert [d.bytes_per_ns for d in network.dimensions] == [d.bandwidth * 2**30 / 10**9 for d in MACHINE.dimensions]
    assert [(d.links, d.memory_scale, d.nic_latency, d.router_latency) for d in network.dimensions] == [
        (2, 0, 0, 0), (3, 0, 0, 0), (1, 0, 0, 0),
    ]  # fmt: skip
    assert [round(d.bandwidth, 4) for d in network.dimensions] == [186.2645, 33.3333, 12.5]


def test_what_we_write_is_what_the_schema_and_the_readers_accept():
    row = LayerRow("a", weight_gradient=Work(5, Kind.ALL_REDUCE, 4096))
    job = TextJob(derive_network(MACHINE), derive_system(MACHINE), TextWorkload(Policy.DATA, (row,)))
    texts = render(job)
    assert sorted(texts) == ["network.json", "system.txt", "workload.txt"]
    assert check_derived(job) == ()
    assert not list(SCHEMA.iter_errors(json.loads(texts["network.json"])))
    again, found = examine(texts["workload.txt"], texts["system.txt"], texts["network.json"])
    assert again == job
    assert found == []


def test_a_derived_job_that_1_cannot_run_is_told_without_a_place():
    machine = Machine((Dimension("Ring", 2, 1, 1),) * 8, {Kind.ALL_REDUCE: ("ring",) * 8}, splits=1)
    row = LayerRow("a", weight_gradient=Work(5, Kind.ALL_REDUCE, 4096))
    job = TextJob(derive_network(machine), derive_system(machine), TextWorkload(Policy.DATA, (row,)))
    assert [(found.code, found.labels) for found in check_derived(job)] == [("AS726", ())]


@pytest.mark.parametrize("name", INPUTS["network"])
def test_the_schema_accepts_good_networks(name):
    assert not list(SCHEMA.iter_errors(INPUTS["network"][name]))


def test_the_schema_refuses_what_the_reader_refuses():
    """But for what spans several keys: lengths, and links against units."""
    beyond = {"AS724", "AS725"}
    for entry in BAD:
        text = bad_texts(entry)[2]
        codes = {found.code for found in read_network(Source("n", text)).diagnostics if found.is_error}
        if codes - beyond - {"AS720"} and "PP" not in entry["name"] and "FullyConnected" not in entry["name"]:
            assert list(SCHEMA.iter_errors(json.loads(text))), entry["name"]


@settings(max_examples=60)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_no_text_ends_in_a_traceback(text):
    for read, _ in FILES.values():
        read(Source("x", text))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(sorted(TEXTS)))
def test_no_damaged_file_ends_in_a_traceback(seed, path):
    choose = random.Random(seed)
    words = TEXTS[path].split(" ")
    for _ in range(choose.randrange(1, 4)):
        place = choose.randrange(len(words) + 1)
        words[place : place + 1] = choose.choice(
            [[], [""], ["-1"], ["x"], ["1e9"], [str(2**70)], ["NONE", "NONE"], ["\n"]]
        )
    read = FILES[path.split("/")[0]][0]
    result = read(Source(path, " ".join(words)))
    assert result.value is not None or result.diagnostics


@pytest.mark.parametrize(
    "text",
    [
        "DATA\n999999999999\n" + "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n" * 3,
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD g: 1 c: 999999999 0 i: 0\n1\n",
        "DATA\n" + "9" * 100_000,
        "DATA\n1\n" + "x" * 1_000_000,
    ],
)  # fmt: skip
def test_a_hostile_workload_is_refused_at_once(text):
    assert read_workload(Source("w", text)).value is None


def test_a_network_of_nothing():
    assert [found.code for found in check_network(TextNetwork(()))] == ["AS723"]


@pytest.mark.parametrize(
    "keys, kind",
    [
        (("topology-name", "dimensions-count"), "network-1"),
        (("dimensions-count", "units-count", "other"), "network-1"),
        (("topology-name", "other"), None),  # one word in common is chance
        (("other",), None),
    ],
)
def test_a_network_file_is_known_by_two_of_its_keys(keys, kind):
    assert recognise("x.json", json.dumps(dict.fromkeys(keys, 1)).encode()) == kind


@pytest.mark.parametrize(
    "text, kind",
    [
        ("data\n1\nx\n", "workload-1"),
        ("HYBRID_TRANSFORMER 1\n", "workload-1"),
        ("DATE\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4 1\n", "workload-1"),  # a slip in its first word
        ("DATE\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCES 4 1\n", None),
        ("DATE\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE\n", None),
    ],
)
def test_a_workload_is_known_by_its_policy_or_its_rows(text, kind):
    assert recognise("x.txt", text.encode()) == kind
