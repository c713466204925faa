"""What a rank exchanges in a foreign job: which algorithms, which bytes, and how long the wire alone would need."""

import pytest

from astrac.estimates.breakdown import traffic, wire_time
from astrac.simulators.astra_sim_2.simulate import simulate
from measured import job

TOPOLOGY = [
    {"type": "Ring", "npus": 4, "bandwidth_GBps": 50, "latency_ns": 500},
    {"type": "FullyConnected", "npus": 3, "bandwidth_GBps": 25, "latency_ns": 500},
]
LISTS = [f"{kind}-implementation" for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")]
SYSTEM = {
    "preferred-dataset-splits": 1,
    "active-chunks-per-dimension": 1,
    "collective-optimization": "baseline",
    "endpoint-delay": 10,
}
MIB = 2**20
RING, MESH = 50 * 2**30 / 1e9, 2 * 25 * 2**30 / 1e9
"""Bytes per ns of a rank: of a mesh of three, over both its links."""


def made(kind="ALL_REDUCE", words=("ring", "direct"), members=None, involved=None):
    node = {"id": 0, "type": "COLL", "comm_type": kind, "comm_size": MIB}
    who = [0] * 12
    if involved:
        node["involved_dim"] = involved
    if members:
        node["pg_name"] = "1"
        who = [int(rank not in members) for rank in range(12)]
    traces = [[node], [{"id": 0, "type": "COMP", "dur": 1}]][: max(who) + 1]
    system = SYSTEM | {key: list(words) for key in LISTS}
    return job(TOPOLOGY, system, traces, who, {"1": members} if members else None)


GROUPS = {
    "all": ({}, ("ring", "direct")),
    "first": ({"involved": [True, False]}, ("ring",)),
    "second": ({"involved": [False, True]}, ("direct",)),
    "listed": ({"members": [0, 1, 2, 3]}, ("ring",)),
    "all listed": ({"members": list(range(12))}, ("ring", "direct")),
    "one word": ({"members": [0, 4], "words": ("direct",)}, ("direct",)),
}


@pytest.mark.parametrize("case", GROUPS)
def test_algorithms(case):
    asked, words = GROUPS[case]
    one = made(**asked)
    ranks = next(each for each in simulate(one, trace=True).classes if each.program == 0)
    (entry,) = traffic(one, ranks, None)
    assert (entry.algorithms, entry.count, entry.kind, entry.bytes) == (words, 1, "all_reduce", MIB)


@pytest.mark.parametrize(
    "kind, along, expected",
    [
        ("ALL_REDUCE", {"involved": [True, False]}, 2 * 3 / 4 * MIB / RING),
        ("REDUCE_SCATTER", {"involved": [True, False]}, 3 / 4 * MIB / RING),
        ("ALL_TO_ALL", {"involved": [False, True]}, 2 / 3 * MIB / MESH),
        ("ALL_GATHER", {"involved": [False, True]}, 2 * MIB / MESH),
        ("BROADCAST", {"involved": [True, False]}, 0),
        # A group among the first four, and one across: the first dimension in which its members differ.
        ("ALL_REDUCE", {"members": [0, 2]}, 2 * 1 / 2 * MIB / RING),
        ("ALL_REDUCE", {"members": [3, 0, 1]}, 2 * 2 / 3 * MIB / RING),
        ("ALL_REDUCE", {"members": [0, 4, 8]}, 2 * 2 / 3 * MIB / MESH),
        # All: a quarter of the bytes is left for the second dimension; gathering starts there.
        ("ALL_REDUCE", {}, max(2 * 3 / 4 * MIB / RING, 2 * 2 / 3 * MIB / 4 / MESH)),
        ("ALL_GATHER", {}, max(2 * MIB / MESH, 3 * 3 * MIB / RING)),
        ("ALL_TO_ALL", {}, max(3 / 4 * MIB / RING, 2 / 3 * MIB / MESH)),
        ("REDUCE_SCATTER", {"members": list(range(12))}, max(3 / 4 * MIB / RING, 2 / 3 * MIB / 4 / MESH)),
    ],
)
def test_wire_times(kind, along, expected):
    one = made(kind, **along)
    assert wire_time(one, one.programs[0].ops[0]) == int(expected)
