"""What an ASTRA-sim 1.0 job costs, against the simulator."""

import json
from dataclasses import replace

import pytest

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.astra_sim_1.check import judge
from astrac.simulators.astra_sim_1.job import (
    LayerRow,
    Policy,
    SharedBus,
    TextDimension,
    TextJob,
    TextNetwork,
    TextSystem,
    TextWorkload,
    Work,
)
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.simulators.astra_sim_1.simulate import simulate
from astrac.source import Source
from simulator_1 import GOLDEN, INPUTS, MEASURED, examine, golden_texts

PLAYED = [row for row in GOLDEN if "themis" not in row["system"]]


def job_of(workload, system, network, **options):
    """Without the checks: also of inputs that the simulator hangs on."""
    texts = (read_network, network), (read_system, system), (read_workload, workload)
    return TextJob(*(read(Source("file", text)).value for read, text in texts), **options)


@pytest.mark.parametrize("row", PLAYED, ids=lambda row: row["id"])
def test_golden(row):
    scales = {key: float(row[key]) for key in ("compute_scale", "comm_scale")}
    played = simulate(job_of(*golden_texts(row), passes=int(row["passes"]), **scales))
    if row["status"] != "ok":
        assert played.cycles is None
        assert "overtakes" in played.fails
        return
    assert str(played.cycles) == row["total_cycles"]
    assert f"{played.compute / 1000:.6f}" == row["total_comp_us"]
    assert f"{played.exposed / 1000:.6f}" == row["total_exposed_us"]
    assert " ".join(map(str, played.passes)) == row["pass_end_cycles"].replace(";", " ")


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: case["workload"].split()[0])
def test_measured(case):
    """Random jobs of all features at once; None: the simulator ends without a result."""
    options = {key: case[key] for key in ("passes", "compute_scale", "comm_scale", "queues")}
    played = simulate(job_of(case["workload"], case["system"], json.dumps(case["network"]), **options))
    assert played.cycles == case["cycles"]
    assert (played.fails is None) == (case["cycles"] is not None)


def all_reduce(size, npus, word="ring", block="Ring", links=2, splits=1, **system):
    """A job of one all-reduce on one dimension: 100 ns, 2^30 bytes per second a link, endpoint delay 10, update 1."""
    network = TextNetwork((TextDimension(block, npus, links, 10**9 / 2**30, 100),))
    settings = {"endpoint_delay": 10, **system}
    systems = TextSystem("LIFO", dict.fromkeys(IMPLEMENTED, (word,)), "localBWAware", splits, **settings)
    rows = (LayerRow("a", weight_gradient=Work(0, Kind.ALL_REDUCE, size)),)
    return TextJob(network, systems, TextWorkload(Policy.MICRO, rows))


def test_a_ring_in_closed_form():
    # 15 endpoint delays, 14 messages of 100 bytes over links of 2 bytes a ns: 100 + 50 ns; the update.
    assert simulate(all_reduce(800, 8)).cycles == 15 * 10 + 14 * 150 + 1


def test_a_large_message_is_reduced_in_memory():
    # 1,000,000 bytes a message: 500,000 + 100 ns, and 7 reductions of 3 x int(10^6 / 500,000) ns.
    assert simulate(all_reduce(8_000_000, 8)).cycles == 15 * 10 + 14 * 500_100 + 7 * 6 + 1


def message(block, npus, size, distance):
    """Ns of `size` bytes between NPUs so far apart: latency 100, 2 bytes a ns on a Ring, 1 elsewhere (section 2)."""
    hops = {"Ring": min(distance, npus - distance), "Switch": 2, "FullyConnected": 1}[block]
    return 100 * hops + size // (2 if block == "Ring" else 1)


@pytest.mark.parametrize("kind", sorted(IMPLEMENTED, key=str))
@pytest.mark.parametrize("word", ["ring", "direct", "halvingDoubling"])
@pytest.mark.parametrize("block", ["Ring", "Switch", "FullyConnected"])
@pytest.mark.parametrize("npus, size", [(4, 800), (8, 1600), (8, 16_000_000), (2, 4_000_000)])
def test_closed_forms(kind, word, block, npus, size):
    """Section 5 of docs/simulators/astra-sim-1.md, one phase of one chunk; 1 ns of update at the end."""
    if (word, kind) == ("halvingDoubling", Kind.ALL_TO_ALL):
        return
    n, q, delay = npus, size // npus, 10
    sent = size if kind is Kind.ALL_GATHER else q
    memory = 3 * (q // 500_000)
    far = message(block, n, sent, n // 2)
    near = message(block, n, sent, 1)
    levels = range(n.bit_length() - 1)
    down = [message(block, n, size >> level + 1, 1 << level) for level in levels]
    # The last halving step is not reduced, and each other pays for the next, smaller message.
    halved = sum(3 * ((size >> level + 1) // 500_000) for level in levels if level)
    up = [message(block, n, size * n >> level + 1, 1 << level) for level in levels]
    steps = n * (n - 1) // 2
    expected = {
        "ring": {
            Kind.ALL_REDUCE: (2 * n - 1) * delay + 2 * (n - 1) * near + (n - 1) * memory,
            Kind.REDUCE_SCATTER: n * delay + (n - 1) * (near + memory),
            Kind.ALL_GATHER: n * delay + (n - 1) * near,
            Kind.ALL_TO_ALL: (steps + 1) * delay + steps * near,
        },
        "direct": {
            Kind.ALL_REDUCE: 3 * delay + 2 * far + memory,
            Kind.REDUCE_SCATTER: 2 * delay + far + memory,
            Kind.ALL_GATHER: 2 * delay + far,
            Kind.ALL_TO_ALL: 2 * delay + far,
        },
        "halvingDoubling": {
            Kind.ALL_REDUCE: (2 * len(down) + 1) * delay + 2 * sum(down) + halved,
            Kind.REDUCE_SCATTER: (len(down) + 1) * delay + sum(down) + halved,
            Kind.ALL_GATHER: (len(up) + 1) * delay + sum(up),
        },
    }[word][kind]
    job = all_reduce(size, npus, word, block, links={"Ring": 2, "Switch": 1, "FullyConnected": npus - 1}[block])
    rows = (LayerRow("a", weight_gradient=Work(0, kind, size)),)
    assert simulate(replace(job, workload=TextWorkload(Policy.MICRO, rows))).cycles == expected + 1


def test_halving_doubling_loses_the_last_bits_of_an_odd_size():
    # 7 bytes on 4 NPUs: 3 bytes at distance 1, 1 at distance 2, then 0 back over both; 1 link of 1 byte a ns.
    job = all_reduce(7, 4, "halvingDoubling", block="Switch", links=1)
    assert simulate(job).cycles == 5 * 10 + 203 + 201 + 200 + 200 + 1


def test_cost_does_not_follow_ranks():
    """A ring of 2^20 NPUs has no list of that length on its way."""
    played = simulate(all_reduce(2**40, 2**20, splits=2**10))
    assert len(played.collectives) == 1
    assert played.cycles == 2**10 * ((2**21 - 1) * 10 + 2 * (2**20 - 1) * (100 + 512)) + 1


def test_what_is_not_modelled_is_refused():
    job = all_reduce(800, 8)
    for other in (
        replace(job, system=replace(job.system, inter="themis")),
        replace(job, rendezvous=True),
        replace(job, system=replace(job.system, shared_bus=SharedBus(1, 1, 1, 0.01))),
        replace(all_reduce(2**40, 8), system=replace(job.system, splits=2**30)),
    ):
        played = simulate(other)
        assert played.cycles is None
        assert played.unknown or played.fails


def test_zero_passes_take_no_time():
    assert simulate(replace(all_reduce(800, 8), passes=0)).cycles == 0


def test_every_golden_policy_and_system_is_played():
    assert {INPUTS["workload"][row["workload"]].split()[0] for row in PLAYED} == {policy.value for policy in Policy}
    assert len(PLAYED) == 162


def test_a_collective_without_bytes_hangs_only_where_it_is_awaited():
    base = INPUTS["system"]["ring1_lifo.txt"], json.dumps(INPUTS["network"]["ring4.json"])
    text = "DATA\n1\na -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 0 10\n"
    assert simulate(job_of(text, *base, passes=1)).cycles == 202
    assert "0 bytes" in simulate(job_of(text, *base, passes=2)).fails
    assert examine(text, *base, passes=1)[0] is not None
    assert [found.code for found in examine(text, *base, passes=2)[1]] == ["AS748"]


@pytest.mark.parametrize("word", ["ring", "direct", "direct3", "halvingDoubling", "doubleBinaryTree", "oneRing"])
@pytest.mark.parametrize("block", ["Ring", "Switch", "FullyConnected"])
def test_a_machine_beyond_all_measure_is_played_or_refused_at_once(word, block):
    wide = TextDimension(block, 2**30, 2**30 - 1, 100, 500)
    job = replace(all_reduce(2**33, 2, word, splits=8), network=TextNetwork((wide, replace(wide, latency=7))))
    system = replace(
        job.system, algorithms=dict.fromkeys(IMPLEMENTED, (word,) if word.startswith("one") else (word, word))
    )
    played = simulate(replace(job, system=system))
    assert played.cycles or played.unknown or played.fails
    judge(replace(job, system=system))
