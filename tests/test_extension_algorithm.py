"""A contributor adds a collective algorithm: one row of ALGORITHMS, its words in the schemas, and nothing else.

And every row, the new one too: its closed form and its staggered form against its own messages, played one by one.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from astrac.api.checking import Options
from astrac.api.compiling import compile_data, plan_data
from astrac.api.guarding import check_folder
from astrac.bundle import write
from astrac.job import Dimension, Kind, Machine
from astrac.simulators.algorithms import ALGORITHMS
from astrac.simulators.algorithms.row import (
    Algorithm,
    Duration,
    LogicalRing,
    MessageSchedule,
    Packet,
    Phase,
    Sizes,
    Words,
)
from astrac.simulators.algorithms.schedule import reduced, walking
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
from astrac.simulators.astra_sim_2.simulate.duration import RingCosts, duration
from astrac.simulators.astra_sim_2.simulate.members import messages_apart
from astrac.simulators.astra_sim_2.simulate.network import Network
from lowered import spec, topology


def _rounds(phase):
    return (phase.ring.size - 1) * (2 if phase.kind is Kind.ALL_REDUCE else 1)


def _schedule(phase, place):
    """Halves go round both ways at once, so that messages are half as long."""
    size = phase.ring.size

    def packets():
        for step, pays in enumerate(reduced(phase, 2, 2 * (size - 1))):
            way = place.direction if step % 2 else -place.direction
            yield Packet((place.index + way) % size, (place.index - way) % size, phase.message // 2, pays)

    return MessageSchedule(2, 2 * _rounds(phase), 0, packets())


def _duration(phase, costs):
    half = phase.message // 2
    delays = {costs.shift(1, half), costs.shift(phase.ring.size - 1, half)}
    if None in delays or len(delays) > 1 or not half:
        return None
    rho = 0 if phase.kind is Kind.ALL_GATHER else costs.reduction(half)
    time = costs.endpoint + _rounds(phase) * (delays.pop() + costs.endpoint) + (phase.ring.size - 1) * rho
    return Duration(time, rho if phase.kind is Kind.REDUCE_SCATTER else costs.endpoint)


TWO_WAY = Algorithm(
    words=Words("two_way_ring", "twoWayRing", None),
    whole=None,
    windowed=False,
    kinds=frozenset({Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER}),
    instead=None,
    stand_in="ring",
    sizes=Sizes.ANY,
    dimensions_only=False,
    neighbours_only=True,
    turns=1,
    sends=lambda phase: 2 * _rounds(phase),
    state=walking(_schedule),
    duration=_duration,
    staggered=lambda _phase, _costs, _starts, _turn: None,
    order=lambda _phase, _costs, _order, _ring_of: None,
)
"""A ring in both directions."""


def _in_topology(document):
    dimension = document["$defs"]["dimension"]["properties"]
    for entry in (dimension["algorithm"], *dimension["algorithms"]["properties"].values()):
        entry["enum"].append("two_way_ring")
    dimension["algorithms"]["properties"]["all_to_all"]["enum"].remove("two_way_ring")


def _in_system(document):
    document["properties"]["algorithm"]["enum"].append("two_way_ring")


def _in_artifact(document):
    items = document["$defs"]["algorithms"]["items"]
    items["pattern"] = items["pattern"].replace("^(ring|", "^(ring|twoWayRing|")


@pytest.fixture
def two_way(monkeypatch, edit_schemas):
    """All that a contributor adds."""
    monkeypatch.setitem(ALGORITHMS, "two_way_ring", TWO_WAY)
    edit_schemas({
        "topology.schema.json": _in_topology,
        "system.schema.json": _in_system,
        "artifacts/system.schema.json": _in_artifact,
    })  # fmt: skip


def _bench(kind="all_reduce", sizes=(4, 2), size="1 MiB"):
    return spec(
        topology=topology(*sizes, kind="ring", more=", algorithm: two_way_ring"),
        model=f"model bench {{ collective {{ kind: {kind}, size: {size} }} }}",
    )


@pytest.mark.usefixtures("two_way")
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter"])
def test_an_algorithm_compiles_checks_and_is_estimated(kind, tmp_path):
    (found,) = compile_data("bench.astra", _bench(kind).encode())
    assert found.value is not None, [one.message for one in found.diagnostics]
    assert found.value.job.machine.algorithms[Kind.ALL_REDUCE] == ("twoWayRing", "twoWayRing")
    estimate = found.value.estimate
    assert (estimate.fails, estimate.doubt) == (None, None)
    every = RankSimulation(found.value.job)
    every.run()
    assert estimate.cycles == max(rank.finish for rank in every.ranks)
    ring = plan_data("bench.astra", _bench(kind).replace("two_way_ring", "ring").encode())[0].value.estimate
    assert estimate.cycles < ring.cycles
    write(found.value.bundle, tmp_path / "bench")
    assert [one.message for one in check_folder(str(tmp_path / "bench")).diagnostics if one.is_error] == []


def _errors(text, **options):
    (found,) = compile_data("bench.astra", text.encode(), Options(**options))
    return [(one.code, one.message) for one in found.diagnostics if one.is_error]


@pytest.mark.usefixtures("two_way")
def test_what_the_row_says_it_cannot_do_is_refused(monkeypatch):
    assert [code for code, _ in _errors(_bench("all_to_all"))] == ["AS718", "AS718"]
    assert _errors(_bench(), targets=("astra-sim-1",))[0][0] == "AS710"
    monkeypatch.setitem(ALGORITHMS, "two_way_ring", replace(TWO_WAY, sizes=Sizes.CRASHES))
    assert ("AS521", "`two_way_ring` needs a power of two NPUs") in _errors(_bench(sizes=(6,)))
    without = TWO_WAY.words._replace(astra_sim_2=None)
    monkeypatch.setitem(ALGORITHMS, "two_way_ring", replace(TWO_WAY, words=without))
    assert ("AS702", "ASTRA-sim 2.x has no `two_way_ring`") in _errors(_bench())


# -- every row against its own messages

ROWS = [*ALGORITHMS.values(), TWO_WAY]
BLOCKS = ("Ring", "Switch", "FullyConnected")
CASES = [
    (row, window, kind, block, size)
    for row in ROWS
    for window in ((None, 1, 2) if row.windowed else (None,))
    for kind in sorted(row.kinds)
    for block in BLOCKS
    for size in (2, 3, 4, 5, 8)
    if row.sizes.admit(size)
]


def _phase(row, window, kind, block, size, listed):
    machine = Machine((Dimension(block, size, 10.0, 137.0),), {}, 1, local_mem_bandwidth=20.0, endpoint_delay=23)
    members = tuple(Random(size).sample(range(size), size)) if listed else ()
    ring = LogicalRing(size, 1, members)
    return Network(machine), Phase(kind, row, window, ring, 0, size * 6400)


def _played(network, phase, starts, turn=0):
    schedule = CollectiveSchedule(phase.kind, 1, (phase,))
    found = messages_apart(network, schedule, list(enumerate(starts)), {(phase.kind, 0): turn}, 10**7)
    return found.ticks


def _name(case):
    row, window, kind, block, size = case
    return f"{row.words.language}{window or ''}-{kind.name}-{block}{size}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_closed_forms_are_what_messages_make(case):
    network, phase = _phase(*case, listed=False)
    found = duration(network, phase)
    ends = {end - 1 for end in _played(network, phase, [1] * phase.ring.size)}
    if found is None:
        assert phase.algorithm.turns > 1  # members of a tree end apart
    else:
        assert ends == {found.time}


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_staggered_forms_are_what_messages_make(case):
    """Whoever is late, by whatever time, and whichever of two trees it is."""
    network, phase = _phase(*case, listed=False)
    random = Random(_name(case))
    known = 0
    for spread in (3, 200, 5000):
        for turn in range(phase.algorithm.turns):
            starts = [random.randrange(1, spread) for _ in range(phase.ring.size)]
            found = phase.algorithm.staggered(phase, RingCosts(network, phase.ring), starts, turn)
            if found is not None:
                known += 1
                assert found == list(_played(network, phase, starts, turn))
    simple = not phase.windowed and not (phase.algorithm.words.language == "direct" and phase.kind is Kind.ALL_REDUCE)
    assert known or not simple or phase.algorithm is TWO_WAY
