"""The player's semantics one by one, on a ring of eight: traps measured on the real simulator, and tables by hand.

One message of m bytes takes d = floor(500 + m / 53.687) ns, an endpoint 10 ns, a reduction 3 floor(m / 1600) ns.
"""

import ast
from pathlib import Path

import pytest

import astrac
from astrac.job import Compute, Kind, ListedGroup, Load, Program, Receive, Send
from astrac.simulators.astra_sim_2.simulate import UNIT, collective_time, simulate, simulate_congested
from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
from astrac.simulators.astra_sim_2.simulate.issue import DependencyGraph, IssueQueue
from astrac.simulators.astra_sim_2.simulate.network import TooMuch
from astrac.simulators.results import Cause, Outcome
from measured import by_rank, job

MIB = 1 << 20
RING = [{"type": "Ring", "npus": 8, "bandwidth_GBps": 50, "latency_ns": 500}]
SQUARE = [{"type": "Ring", "npus": 4, "bandwidth_GBps": 50, "latency_ns": 500}] * 2
LISTS = [f"{kind}-implementation" for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")]
SYSTEM = {
    "preferred-dataset-splits": 4,
    "active-chunks-per-dimension": 1,
    "collective-optimization": "localBWAware",
    "endpoint-delay": 10,
    "local-mem-bw": 1600,
}


def system(words=("ring",), **changes):
    changes = {key.replace("_", "-"): value for key, value in changes.items()}
    return {**SYSTEM, **{key: list(words) for key in LISTS}, **changes}


def compute(number, *deps, us=1, **rest):
    return {"id": number, "type": "COMP", "deps": deps, "dur": us, **rest}


def collective(number, *deps, kind="ALL_REDUCE", size=MIB, **rest):
    return {"id": number, "type": "COLL", "deps": deps, "comm_type": kind, "comm_size": size, **rest}


def send(number, source, destination, *deps, size=MIB, tag=0):
    ends = {"comm_src": source, "comm_dst": destination}
    return {"id": number, "type": "SEND", "deps": deps, "comm_size": size, "comm_tag": tag, **ends}


def receive(number, source, destination, *deps, size=MIB, tag=0):
    return {**send(number, source, destination, *deps, size=size, tag=tag), "type": "RECV"}


def played(*traces, who=None, words=("ring",), topology=RING, groups=None, memory=None, queues=1, **changes):
    ranks = 1
    for dimension in topology:
        ranks *= dimension["npus"]
    made = job(topology, system(words, **changes), traces, who or [0] * ranks, groups, memory, queues)
    return simulate(made)


ALIKE = {
    # name: (cycles of every rank, arguments). The keys of traps.csv stand in front.
    "base1d: ring": (64440, {"traces": [collective(0)]}),
    "S4: three splits make four chunks": (76396, {"traces": [collective(0)], "preferred_dataset_splits": 3}),
    "T36: one byte more is one chunk more": (80550, {"traces": [collective(0, size=MIB + 1)]}),
    "T9: nothing costs as much as splits x ranks": (28600, {"traces": [collective(0, size=0)]}),
    "T9d: splits x ranks": (28600, {"traces": [collective(0, size=32)]}),
    "S14: without local-mem-bw reductions are free": (62760, {"traces": [collective(0)], "local_mem_bw": None}),
    "S14c: slow reductions": (117780, {"traces": [collective(0)], "local_mem_bw": 50}),
    "S6b: no endpoint delay": (64840, {"traces": [compute(0), collective(1, 0)], "endpoint_delay": 0}),
    "C3d: endpoint delay 100": (69840, {"traces": [collective(0)], "endpoint_delay": 100}),
    "T45: an all-gather is charged by its shard": (
        31400,
        {"traces": [collective(0, kind="ALL_GATHER", size=MIB // 8)]},
    ),
    "T45b: not by the whole": (151016, {"traces": [collective(0, kind="ALL_GATHER")]}),
    "C8: four queues, two servers at work": (32220, {"traces": [collective(0)], "queues": 4}),
    "C8: two queues, half are used": (64440, {"traces": [collective(0)], "queues": 2}),
    "S26c: direct-1 is direct": (21240, {"traces": [collective(0)], "words": ["direct-1"]}),
    "T13: a broadcast is not priced": (1, {"traces": [collective(0, kind="BROADCAST")]}),
    "T22: no duration is 1 ns": (1, {"traces": [compute(0, us=0)]}),
    "R1: replay-only replays collectives too": (
        10000,
        {"traces": [compute(0, us=10), collective(1, dur=10)], "replay_only": 1},
    ),
    "forward, weight gradient, all-reduce": (
        84440,
        {"traces": [compute(0, us=10), compute(1, 0, us=10), collective(2, 1)]},
    ),
    "roofline by memory: floor(10^9 / (1600e9 x 10^9 / 10^6) x 1e9)": (
        100000,
        {"traces": [compute(0, num_ops=10**7, tensor_size=16 * 10**7)], "roofline_enabled": 1, "peak_perf": 100},
    ),
    "roofline by peak, host nodes replay": (
        10000 + 3000,
        {
            "traces": [compute(0, num_ops=10**9, tensor_size=1000), compute(1, 0, us=3, cpu=True)],
            "roofline_enabled": 1,
            "peak_perf": 100,
        },
    ),
    "host and device compute overlap, two device nodes do not": (
        5000,
        {"traces": [compute(0, us=5, cpu=True), compute(1, us=2), compute(2, us=2)]},
    ),
    "T24g: memory, then compute": (
        10 + 10485 + 3000,
        {
            "traces": [{"id": 0, "type": "LOAD", "tensor_size": MIB}, compute(1, 0, us=3)],
            "memory": {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 10, "remote-mem-bw": 100},
        },
    ),
    "T24e: a memory without bandwidth is free": (
        10 + 3000,
        {
            "traces": [{"id": 0, "type": "LOAD", "tensor_size": MIB}, compute(1, 0, us=3)],
            "memory": {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 10},
        },
    ),
    "memory nodes hold the slot of collectives": (
        10 + 10485 + 64440,
        {
            "traces": [{"id": 0, "type": "STORE", "tensor_size": MIB}, collective(1)],
            "memory": {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 10, "remote-mem-bw": 100},
        },
    ),
    # Chunks of 256 KiB; messages of 32 KiB: d = 1110, rho = 60; whole chunks: d = 5382.
    "ring reduce-scatter": (4 * (10 + 7 * (1110 + 10 + 60)), {"traces": [collective(0, kind="REDUCE_SCATTER")]}),
    "ring all-to-all walks round": (4 * (10 + 28 * (1110 + 10)), {"traces": [collective(0, kind="ALL_TO_ALL")]}),
    "direct all-to-all, four hops at most": (
        4 * (10 + 2610 + 10),
        {"traces": [collective(0, kind="ALL_TO_ALL")], "words": ["direct"]},
    ),
    "direct reduce-scatter": (
        4 * (10 + 2610 + 10 + 60),
        {"traces": [collective(0, kind="REDUCE_SCATTER")], "words": ["direct"]},
    ),
    "halvingDoubling: 128, 64, 32 KiB over 1, 2, 4 hops and back": (
        4 * (10 + (2941 + 10 + 120) + (2220 + 10 + 60) + (2610 + 10) + (2610 + 10) + (2220 + 10) + (2941 + 10)),
        {"traces": [collective(0)], "words": ["halvingDoubling"]},
    ),
    "two active chunks, both at full bandwidth": (
        2 * 16110,
        {"traces": [collective(0)], "active_chunks_per_dimension": 2},
    ),
    # 4 x 4, chunks of 256 KiB: RS m = 64 KiB, d = 1720, rho = 120; AR m = 16 KiB, d = 805, rho = 30; AG d = 1720.
    # All four RS are in the first queue before the first AG comes back, so that queue never idles.
    "two dimensions: the first is visited twice": (
        4 * ((10 + 3 * (1720 + 10 + 120)) + (10 + 3 * (1720 + 10))),
        {"traces": [collective(0)], "words": ["ring", "ring"], "topology": SQUARE},
    ),
    "baseline: one all-reduce of full size a dimension, pipelined": (
        5 * (10 + 3 * (1720 + 10 + 120) + 3 * (1720 + 10)),
        {
            "traces": [collective(0)],
            "words": ["ring", "ring"],
            "topology": SQUARE,
            "collective_optimization": "baseline",
        },
    ),
    "S9: what the list lacks is not communicated": (
        4 * (10 + 3 * (1720 + 10 + 120) + 3 * (1720 + 10)),
        {"traces": [collective(0)], "words": ["ring"], "topology": SQUARE},
    ),
    "T11c: a short involved_dim is false where it ends": (
        4 * (10 + 3 * (1720 + 10 + 120) + 3 * (1720 + 10)),
        {"traces": [collective(0, involved_dim=[True])], "words": ["ring", "ring"], "topology": SQUARE},
    ),
}


@pytest.mark.parametrize("cycles, arguments", ALIKE.values(), ids=ALIKE)
def test_all_ranks_alike(cycles, arguments):
    arguments = dict(arguments)
    found = played(arguments.pop("traces"), **arguments)
    assert (found.fails, found.doubt) == (None, None)
    assert {(run.first, run.cycles) for run in found.runs()} == {(0, cycles)}


HALF = [0, 0, 0, 0, 1, 1, 1, 1]
ODD = {
    # name: (cycles by rank, traces, who, arguments)
    "G0: half a ring, hops 1 1 1 3": (
        [49000] * 4 + [1000] * 4,
        [[collective(0, pg_name="1")], [compute(0)]],
        HALF,
        {"groups": {"1": [0, 1, 2, 3]}},
    ),
    "G10b: the order of the list counts": (
        [55000] * 4 + [1000] * 4,
        [[collective(0, pg_name="1")], [compute(0)]],
        HALF,
        {"groups": {"1": [3, 1, 2, 0]}},
    ),
    "G10: a group of all is the whole machine": (
        [64440] * 8,
        [[collective(0, pg_name="1")]],
        [0] * 8,
        {"groups": {"1": [7, 6, 5, 4, 3, 2, 1, 0]}},
    ),
    "G13b: a group each, then all": (
        [113440] * 8,
        [
            [collective(0, pg_name="1"), collective(1, 0)],
            [collective(0, pg_name="2"), collective(1, 0)],
        ],
        HALF,
        {"groups": {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}},
    ),
    "S25: trees, whatever they are listed for": (
        None,
        [[collective(0, kind="ALL_GATHER")]],
        [0] * 8,
        {"words": ["doubleBinaryTree"]},
    ),
    "T14: a send needs no receive": (
        [20031] + [1000] * 7,
        [[send(0, 0, 1)], [compute(0)]],
        [0] + [1] * 7,
        {},
    ),
    "T14c: a send and its receive": (
        [20031, 20031] + [1000] * 6,
        [[send(0, 0, 1)], [receive(0, 0, 1)], [compute(0)]],
        [0, 1] + [2] * 6,
        {},
    ),
    "T15d: tags count modulo 500,000,000": (
        [40062, 40062] + [1000] * 6,
        [
            [send(0, 0, 1, tag=1), send(1, 0, 1, 0, tag=500_000_001)],
            [receive(0, 0, 1, tag=500_000_001), receive(1, 0, 1, tag=1)],
            [compute(0)],
        ],
        [0, 1] + [2] * 6,
        {},
    ),
    "R2: compute does not hold up a receive": (
        [120031, 120031] + [1000] * 6,
        [[compute(0, us=100), send(1, 0, 1, 0)], [receive(0, 0, 1), compute(1, us=50)], [compute(0)]],
        [0, 1] + [2] * 6,
        {},
    ),
}


@pytest.mark.parametrize("cycles, traces, who, arguments", ODD.values(), ids=ODD)
def test_ranks_that_differ(cycles, traces, who, arguments):
    found = played(*traces, who=who, **arguments)
    got = by_rank(found, "cycles")
    if cycles is None:
        assert sorted(set(got)) == [119898, 127279, 133660, 139052]
    else:
        assert got == cycles


FAILS = {
    # name: (a part of the reason, traces, arguments)
    "S4: no splits": ("preferred-dataset-splits is 0", [[collective(0)]], {"preferred_dataset_splits": 0}),
    "S5: no active chunks": ("no chunk ever starts", [[collective(0)]], {"active_chunks_per_dimension": 0}),
    "S6: nothing may last 0 ns at tick 0": ("tick 0", [[collective(0)]], {"endpoint_delay": 0}),
    "S6d: negative delay": ("negative", [[collective(0)]], {"endpoint_delay": -5}),
    "S7: unknown algorithm": ("`Ring`", [[collective(0)]], {"words": ["Ring"]}),
    "S10: more algorithms than dimensions": ("fewer dimensions", [[compute(0)]], {"words": ["ring", "ring"]}),
    "S12: no algorithm": ("no implementation", [[collective(0)]], {"words": []}),
    "S23: roofline without peak": (
        "peak-perf",
        [[compute(0, num_ops=10**9, tensor_size=10**6)]],
        {"roofline_enabled": 1},
    ),
    "S24: no power of two": (
        "never completes",
        [[collective(0)]],
        {"words": ["halvingDoubling"], "topology": [{**RING[0], "npus": 6}]},
    ),
    "S24c: no all-to-all": ("all-to-all", [[collective(0, kind="ALL_TO_ALL")]], {"words": ["halvingDoubling"]}),
    "S25: trees need a power of two": (
        "no power of two",
        [[collective(0)]],
        {"words": ["doubleBinaryTree"], "topology": [{**RING[0], "npus": 6}]},
    ),
    "S26: direct0": ("never sends", [[collective(0)]], {"words": ["direct0"]}),
    "S26b: directX": ("`directX`", [[collective(0)]], {"words": ["directX"]}),
    "G5: a group of one": (
        "no other rank",
        [[collective(0, pg_name="1")], [compute(0)]],
        {"groups": {"1": [3]}, "who": [1, 1, 1, 0, 1, 1, 1, 1]},
    ),
    "G4: not a member": (
        "not in its group",
        [[collective(0, pg_name="1")], [compute(0)]],
        {"groups": {"1": [0, 1]}, "who": [0, 0, 0, 1, 1, 1, 1, 1]},
    ),
    "G13: chunk streams are numbered by rank": (
        "chunk streams before",
        [[collective(0, pg_name="1"), collective(1, 0)], [compute(0), collective(1, 0)]],
        {"groups": {"1": [0, 1, 2, 3]}, "who": HALF},
    ),
    "M3: trees in a group": (
        "communicator group",
        [[collective(0, pg_name="1")], [compute(0)]],
        {"groups": {"1": [0, 1, 2, 3]}, "who": HALF, "words": ["doubleBinaryTree"]},
    ),
    "T3: missing dependency": ("does not exist", [[compute(0), compute(1, 7)]], {}),
    "T4: a cycle beside a free node": ("cycle", [[compute(0), compute(1, 2), compute(2, 1)]], {}),
    "T4b: all in a cycle": ("every node", [[compute(1, 2), compute(2, 1)]], {}),
    "T6: no node": ("without any node", [[]], {}),
    "T9b: an all-gather of nothing": ("0 bytes", [[collective(0, kind="ALL_GATHER", size=0)]], {}),
    "T27: smaller than the splits": ("loops for ever", [[collective(0, kind="ALL_GATHER", size=3)]], {}),
    "T11d: no dimension": ("no other rank", [[collective(0, involved_dim=[False])]], {}),
    "T13b: reduce": ("REDUCE", [[collective(0, kind="REDUCE")]], {}),
    "T14b: no send": ("receive 0", [[receive(0, 0, 1)], [compute(0)]], {"who": [1, 0, 1, 1, 1, 1, 1, 1]}),
    "T15: sizes differ": (
        "receive 0",
        [[send(0, 0, 1)], [receive(0, 0, 1, size=2 * MIB)], [compute(0)]],
        {"who": [0, 1, 2, 2, 2, 2, 2, 2]},
    ),
    "T20: another order": (
        "never",
        [[collective(0, size=4096), collective(1, 0)], [collective(0), collective(1, 0, size=4096)]],
        {"who": [0] * 7 + [1]},
    ),
    "T20d: both receive first": (
        "receive 0",
        [[receive(0, 1, 0), send(1, 0, 1, 0)], [receive(0, 0, 1), send(1, 1, 0, 0)], [compute(0)]],
        {"who": [0, 1, 2, 2, 2, 2, 2, 2]},
    ),
    "T21: sizes of a collective differ": ("bytes", [[collective(0)], [collective(0, size=4096)]], {"who": HALF}),
    "T21b: kinds differ": ("one is", [[collective(0)], [collective(0, kind="ALL_GATHER")]], {"who": HALF}),
    "T23: a roofline node without bytes wakes nobody": (
        "never finishes",
        [[compute(0, num_ops=5), compute(1, 0, num_ops=5, tensor_size=5)]],
        {"roofline_enabled": 1, "peak_perf": 100},
    ),
    "T23c: a roofline node without operations": (
        "not a number",
        [[compute(0, num_ops=0, tensor_size=5)]],
        {"roofline_enabled": 1, "peak_perf": 100},
    ),
    "T24: no memory": ("memory expansion", [[{"id": 0, "type": "LOAD", "tensor_size": 5}]], {}),
    "T26: a host node, and a receive at the end": (
        "statistics",
        [[send(0, 0, 1)], [compute(0, cpu=True), receive(1, 0, 1)], [compute(0)]],
        {"who": [0, 1, 2, 2, 2, 2, 2, 2]},
    ),
    "T16: send to itself": (
        "rank 0 sends to or receives from rank 0",
        [[send(0, 0, 0)], [compute(0)]],
        {"who": [0] + [1] * 7},
    ),
    "T18: nothing is sent": ("0 bytes", [[send(0, 0, 1, size=0)], [compute(0)]], {"who": [0] + [1] * 7}),
    "X2: a message of half a byte": (
        "0 bytes",
        [[collective(0, size=64)]],
        {
            "words": ["halvingDoubling"] * 3,
            "topology": [{**RING[0], "npus": 2}] * 3,
            "preferred_dataset_splits": 16,
        },
    ),
    "X1b: so they do where all phases end together": (
        "never completes",
        [[collective(0, size=64)]],
        {
            "words": ["halvingDoubling", "halvingDoubling", "direct"],
            "topology": [{**RING[0], "type": "Switch", "npus": 4}] * 3,
        },
    ),
    "X1: same-tick ties deadlock ranks that look alike": (
        "never completes",
        [[collective(0, size=64)]],
        {
            "words": ["ring", "ring", "doubleBinaryTree"],
            "topology": [{**RING[0], "type": "Switch", "npus": 4}] * 3,
            "local_mem_bw": 50,
        },
    ),
}


COLLECTIVE = (Outcome.HANG, None, Cause.COLLECTIVE)
OUTCOMES = {
    # by the case of FAILS: how the run ends, the rank that is at fault, and the cause; others are aborted
    "S5": (Outcome.HANG, None, None),
    **dict.fromkeys(("S24", "S26", "G5", "T9b", "T11d", "X1", "X1b"), COLLECTIVE),
    "G4": (Outcome.ABORT, 2, None),
    "G13": (Outcome.HANG, 0, Cause.STREAMS),
    "T4": (Outcome.HALF_FINISHED, 0, None),
    **dict.fromkeys(("T14b", "T15"), (Outcome.HANG, 1, None)),
    **dict.fromkeys(("T20d", "T23"), (Outcome.HANG, 0, None)),
    **dict.fromkeys(("T20", "T21", "T21b"), (Outcome.HANG, 7, Cause.COLLECTIVE)),
    "T26": (Outcome.ABORT, 1, None),
    "T16": (Outcome.ABORT, 0, None),
    "X2": (Outcome.ABORT, 1, None),
}


@pytest.mark.parametrize("name", FAILS)
def test_what_never_ends_well(name):
    reason, traces, arguments = FAILS[name]
    found = played(*traces, **arguments)
    assert reason in (found.fails or "it finishes")
    assert (found.outcome, found.failure.rank, found.failure.cause) == OUTCOMES.get(
        name.split(":")[0], (Outcome.ABORT, None, None)
    )
    assert (found.classes, found.runs(), found.cycles) == ((), (), 0)


def test_members_in_different_groups():
    machine = {"groups": {"1": [0, 1, 2, 3], "2": [0, 1, 2, 3]}, "who": [0, 1, 1, 1, 2, 2, 2, 2]}
    late = [compute(0), collective(1, 0, pg_name="1")]
    found = played(late, [collective(1, pg_name="2")], [compute(0)], **machine)
    assert (found.outcome, found.failure.rank, found.failure.cause) == (Outcome.HANG, 0, Cause.GROUPS)
    alike = played([collective(1, pg_name="1")], [collective(1, pg_name="2")], [compute(0)], **machine)
    assert (alike.outcome, alike.failure.rank, alike.failure.cause) == (Outcome.HANG, 0, Cause.GROUPS)


def test_no_decision_is_taken_by_the_words_of_a_message():
    """A finding carries what is decided by it as data."""
    texts = {"reason", "fails", "doubt", "unsettled", "message"}
    for path in Path(astrac.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                read = node.comparators[0]
                assert getattr(read, "attr", getattr(read, "id", "")) not in texts, f"{path}:{node.lineno}"


def test_one_collective_of_a_group():
    machine = job(RING, system(), [[compute(0)]], [0] * 8).machine
    found = collective_time(machine, Kind.ALL_REDUCE, MIB, ListedGroup(1, (0, 1, 2, 3)))
    assert by_rank(found, "cycles") == [49000] * 4 + [1000] * 4
    assert collective_time(machine, Kind.ALL_REDUCE, MIB).cycles == 64440


def test_congested_links():
    # A switch is two links, each with latency and serialisation: 2 x floor(500 + 19531.25) for one message of 1 MiB;
    # a second one waits for the first to leave the first link, not to arrive.
    switch = [{**RING[0], "type": "Switch"}]
    one = [[send(0, 0, 1)], [compute(0)]]
    two = [[send(0, 0, 1)], [send(0, 1, 2)], [send(0, 2, 1)], [compute(0)]]
    assert simulate_congested(job(switch, system(), one, [0] + [1] * 7)).cycles == 2 * 20031
    assert by_rank(simulate_congested(job(switch, system(), two, [0, 1, 2] + [3] * 5)), "cycles")[:3] == [
        2 * 20031,
        2 * 20031,
        20031 + 19531 + 20031,
    ]
    assert simulate(job(switch, system(), two, [0, 1, 2] + [3] * 5)).cycles == 1000 + 19531
    pair = job([{**RING[0], "npus": 2}], system(), [[collective(0)]], [0, 0])
    assert "twice" in simulate_congested(pair).fails


def test_unit_costs_prove_that_a_schedule_ends():
    good = [compute(0), collective(1, 0), compute(2, 1)]
    assert simulate(job(RING, system(), [good], [0] * 8), cost=UNIT).cycles == 3
    bad = [[receive(0, 1, 0), send(1, 0, 1, 0)], [receive(0, 0, 1), send(1, 1, 0, 0)], [compute(0)]]
    assert simulate(job(RING, system(), bad, [0, 1, 2, 2, 2, 2, 2, 2]), cost=UNIT).fails


def test_exposed_wraps_round_as_the_simulator_prints_it():
    found = played([compute(0, us=10), collective(1, dur=10)], replay_only=1)
    assert found.runs()[0].exposed == 2**64 - 10000


def issue_queue(*ops):
    return IssueQueue(DependencyGraph(Program(ops)))


def test_a_round_issues_by_id_one_node_a_slot():
    queue = issue_queue(
        Compute(id=3),
        Send(id=5, axis="rank", offset=1, bytes=1, tag=0),
        Compute(id=7, host=True),
        Receive(id=8, axis="rank", offset=1, bytes=1, tag=0),
        Receive(id=9, axis="rank", offset=1, bytes=1, tag=1),
        Load(id=10, bytes=1),
        Compute(id=11),
        Compute(id=12, data=(3,), control=(5,)),
    )
    assert queue.round() == [0, 1, 2, 3, 4]
    assert [op.id for op in queue.stuck] == [10, 11, 12]
    queue.end(0)
    assert (queue.round(), queue.running, queue.left) == ([6], 5, 7)
    queue.end(1)
    assert queue.round() == [5]
    for number in (2, 3, 4, 5, 6):
        assert not queue.idle
        queue.end(number)
    assert queue.round() == [7]
    queue.end(7)
    assert (queue.round(), queue.idle, queue.left, queue.stuck) == ([], True, 0, [])


def test_a_skipped_node_wakes_its_children_a_round_later():
    queue = issue_queue(Compute(id=0), Compute(id=1, data=(0,)))
    assert queue.take() == 0
    queue.skip(0)
    assert (queue.take(), queue.take()) == (None, 1)


def test_what_is_taken_back_is_as_if_it_had_not_been():
    """The end of a computation frees its slot for the next one, and a load that waited for it."""

    def state(queue):
        ready = [sorted(heap) for heap in queue._ready]
        return queue.left, queue.running, queue._count, list(queue._waits), list(queue._busy), ready

    for first in (Compute(id=0), Receive(id=0, axis="rank", offset=1, bytes=1, tag=0)):
        queue = issue_queue(first, Compute(id=1), Load(id=2, data=(0,), bytes=1), Compute(id=3))
        assert queue.round() == ([0] if isinstance(first, Compute) else [0, 1])
        before = state(queue)
        queue.end(0)
        issued = queue.round()
        assert issued == ([1, 2] if isinstance(first, Compute) else [2])
        queue.undo(0, issued)
        assert state(queue) == before


def test_of_two_ends_in_a_tick_the_first_may_take_the_slot():
    """The end of a send frees the slot that two others want; which of them is ready depends on who ended first."""
    compute, sent = Compute(id=0), Send(id=1, axis="rank", offset=1, bytes=1, tag=0)
    for others, matters in (((2, 3), True), ((2,), False), ((3,), False)):
        loads = [Load(id=each, data=(each - 2,), bytes=1) for each in others]
        queue = issue_queue(compute, sent, *loads)
        assert queue.round() == [0, 1]
        queue.end(0)
        issued = queue.round()
        assert queue.order_matters(0, issued, 1) == matters
        queue.end(1)
        assert queue.round() == [2]


def test_events_of_a_tick_keep_their_order():
    """An owner's events of a tick stand together, where its first was registered; those of a copy follow them."""
    clock, seen = EventQueue(9), []

    def note(owner, argument):
        seen.append((clock.now, owner, argument))

    clock.after_own("a", 5, note, "a", 1)
    clock.after(5, note, "b", 2)
    clock.after_own("a", 5, note, "a", 3)
    clock.after(3, note, "a", 4)
    clock.split("a", ["c"])
    clock.play()
    assert seen == [
        (3, "a", 4),
        (3, "c", 4),
        *((5, *each) for each in (("a", 1), ("a", 3), ("c", 1), ("c", 3), ("b", 2))),
    ]
    for tick, limit, failure in ((0, 1, "tick 0"), (1 << 63, 1, "63 bits")):
        late = EventQueue(limit)
        late.after(tick, note, "a")
        with pytest.raises(Exception, match=failure):
            late.play()
    few = EventQueue(1)
    few.after(1, note, "a")
    few.after(1, note, "b")
    with pytest.raises(TooMuch):
        few.play()


def test_a_message_that_waits_is_received_at_once():
    found = played([send(0, 0, 1)], [compute(0, us=50), receive(1, 0, 1, 0)], [compute(0)], who=[0, 1] + [2] * 6)
    assert by_rank(found, "cycles")[:2] == [20031, 50000]
