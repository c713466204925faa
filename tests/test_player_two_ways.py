"""One collective of random kind, shape and settings: from its formulas, and message by message on every rank."""

import random

import pytest

from astrac.simulators.astra_sim_2.simulate import simulate
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from measured import by_rank, job

SHAPES = (
    "Ring 8",
    "Switch 8",
    "FullyConnected 4",
    "Ring 4, Switch 2",
    "Switch 2, Ring 4",
    "Ring 2, FullyConnected 4, Switch 2",
)
WORDS = ("ring", "direct", "direct2", "halvingDoubling", "doubleBinaryTree")
KINDS = {
    "all-reduce": "ALL_REDUCE",
    "all-gather": "ALL_GATHER",
    "reduce-scatter": "REDUCE_SCATTER",
    "all-to-all": "ALL_TO_ALL",
}


def drawn(seed):
    """A job of one collective on all ranks, or along some dimensions, or of a listed group."""
    draw = random.Random(seed)
    topology = [
        {
            "type": block,
            "npus": int(size),
            "bandwidth_GBps": draw.choice([25, 50, 400]),
            "latency_ns": draw.choice([5, 500]),
        }
        for block, size in map(str.split, draw.choice(SHAPES).split(", "))
    ]
    system = {
        "preferred-dataset-splits": draw.randint(1, 7),
        "active-chunks-per-dimension": draw.randint(1, 4),
        "collective-optimization": draw.choice(["baseline", "localBWAware"]),
        "endpoint-delay": draw.choice([1, 10, 100]),
        "local-mem-bw": draw.choice([None, 50, 1600]),
        **{f"{key}-implementation": [draw.choice(WORDS) for _ in topology] for key in KINDS},
    }
    ranks = 1
    for dimension in topology:
        ranks *= dimension["npus"]
    node = {
        "id": 0,
        "type": "COLL",
        "comm_type": draw.choice(list(KINDS.values())),
        "comm_size": draw.randint(64, 10**6),
    }
    among = draw.choice(["all", "axes", "group"])
    groups, traces, who = None, [[node]], [0] * ranks
    if among == "axes":
        node["involved_dim"] = [draw.random() < 0.6 for _ in topology]
    elif among == "group":
        members = draw.sample(range(ranks), draw.choice([2, 4]) if ranks > 4 else 2)
        node["pg_name"], groups = "1", {"1": members}
        traces.append([{"id": 0, "type": "COMP", "dur": 1}])
        who = [int(rank not in members) for rank in range(ranks)]
    return job(topology, system, traces, who, groups, queues=draw.randint(1, 5))


@pytest.mark.parametrize("seed", range(200))
def test_the_same_cycles(seed):
    made = drawn(seed)
    found = simulate(made)
    if found.fails is not None or found.doubt is not None:
        return
    every = RankSimulation(made)
    every.run()
    assert by_rank(found, "cycles") == [rank.finish for rank in every.ranks]


def test_most_of_them_finish():
    assert sum(simulate(drawn(seed)).fails is None for seed in range(200)) > 120
