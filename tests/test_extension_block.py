"""A contributor adds a building block: one row of `blocks.BLOCKS`, its words in the schemas, and nothing else."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, replace
from itertools import permutations

import pytest

from astrac import resources
from astrac.api.checking import Options
from astrac.api.compiling import compile_data, plan_data
from astrac.api.guarding import check_folder
from astrac.bundle import write
from astrac.job import Axis, AxisGroup, Box, Collective, Dimension, Job, Kind, Machine, Program, RankClass
from astrac.simulators import blocks
from astrac.simulators.astra_sim_2.simulate import simulate, simulate_congested
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from astrac.simulators.blocks import BLOCKS, Block, Symmetry
from lowered import parallelism, spec, topology

MESH = Block(
    word="mesh",
    hops=lambda _size, source, destination: abs(destination - source),
    route=lambda _size, source, destination: (
        range(source, destination + 1) if source < destination else range(source, destination - 1, -1)
    ),
    symmetry=Symmetry.NONE,
    port_per_peer=False,
    switched=False,
    astra_sim_2="Mesh",
    congested_fault=lambda _size: None,
    astra_sim_1=None,
)
"""A line of NPUs: unlike in a ring, nothing links its ends."""

TEXT = spec(
    topology=topology(4, 2, kind="mesh"),
    model="model m { transformer { layers: 2, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }",
    parallelism=parallelism(data=""),
    training="training { global_batch: 8, precision: bf16 }",
)


def _add_block(document):
    document["properties"]["dimensions"]["x-blocks"]["mesh"] = {"$ref": "#/$defs/dimension"}


def _add_word(document):
    document["properties"]["topology"]["items"]["enum"].append("Mesh")


@pytest.fixture
def mesh(monkeypatch, edit_schemas):
    """All that a contributor adds."""
    monkeypatch.setitem(BLOCKS, "mesh", MESH)
    edit_schemas({"topology.schema.json": _add_block, "artifacts/network.schema.json": _add_word})


@pytest.mark.usefixtures("mesh")
def test_a_block_compiles_checks_and_is_estimated(tmp_path):
    (found,) = compile_data("line.astra", TEXT.encode())
    assert found.value is not None, [finding.message for finding in found.diagnostics]
    estimate = found.value.estimate
    assert (estimate.fails, estimate.doubt) == (None, None)
    every = RankSimulation(found.value.job)
    every.run()
    assert estimate.cycles == max(rank.finish for rank in every.ranks)
    write(found.value.bundle, tmp_path / "line")
    assert [one.message for one in check_folder(str(tmp_path / "line")).diagnostics if one.is_error] == []


@pytest.mark.usefixtures("mesh")
def test_a_simulator_without_the_block_refuses_it(monkeypatch):
    (found,) = compile_data("line.astra", TEXT.encode(), Options(targets=("astra-sim-1",)))
    assert ("AS710", "ASTRA-sim 1.0 has no policy for `kind: mesh`") in _errors(found)
    monkeypatch.setitem(BLOCKS, "mesh", replace(MESH, astra_sim_2=None))
    (found,) = plan_data("line.astra", TEXT.encode())
    assert _errors(found) == [("AS702", "ASTRA-sim 2.x has no `mesh`")] * 2


def _errors(result):
    return [(one.code, one.message) for one in result.diagnostics if one.is_error]


def _line(size, kind, algorithm):
    """One collective of 1,000 bytes on a line with links of 1 byte a ns and 100 ns."""
    machine = Machine((Dimension("Mesh", size, 1e9 / 2**30, 100.0),), {kind: (algorithm,)}, 1)
    group = AxisGroup(("line",), dimensions=(True,))
    program = Program((Collective(id=0, kind=kind, bytes=1000, group=group),))
    return Job("line", machine, (Axis("line", 1, size),), (program,), (RankClass(0, (Box((None,)),)),))


@pytest.mark.usefixtures("mesh")
def test_the_ends_of_a_line_are_far_apart():
    """In a gather of 3 rounds the message that closes the ring goes back over 3 hops, and delays one rank more a round.

    A message takes 1,100 ns, that one 1,300; the endpoint takes 10 ns before the first and after each. Rank 0 waits for
    the long link in every round, rank 3 for none but what rank 0 sent late in the first two.
    """
    found = simulate(_line(4, Kind.ALL_GATHER, "ring"))
    cycles = {rank: played.cycles for played in found.classes for rank in _ranks(played)}
    ready = [10] * 4
    for _ in range(3):
        came = [ready[at - 1] + (1300 if at == 0 else 1100) for at in range(4)]
        ready = [max(here, there) + 10 for here, there in zip(ready, came, strict=True)]
    assert [cycles[rank] for rank in range(4)] == ready


def _ranks(played):
    return [at for box in played.boxes for at in (box.coordinates[0] or range(4))]


@pytest.mark.usefixtures("mesh")
@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL])
@pytest.mark.parametrize("algorithm", ["ring", "direct", "direct2", "halvingDoubling", "doubleBinaryTree"])
def test_every_algorithm_on_a_line_is_what_messages_make_of_it(kind, algorithm):
    if algorithm == "halvingDoubling" and kind is Kind.ALL_TO_ALL:
        return
    job = _line(8, kind, algorithm)
    found = simulate(job)
    every = RankSimulation(job)
    every.run()
    assert (found.fails, found.doubt) == (None, None)
    assert found.cycles == max(rank.finish for rank in every.ranks)


@pytest.mark.usefixtures("mesh")
def test_congestion_on_a_line():
    """The message that closes a ring of 3 crosses both links, one after the other, and pays each in full."""
    job = _line(3, Kind.ALL_GATHER, "ring")
    found = simulate_congested(job)
    assert found.cycles > simulate(job).cycles


# -- what a row must say


ROWS = [*BLOCKS.values(), MESH]


def test_no_field_of_a_row_may_be_left_out():
    assert [
        field.name for kind in (Block, blocks.TextBlock) for field in fields(kind) if field.default is not MISSING
    ] == []
    with pytest.raises(TypeError, match="symmetry"):
        Block(**{name: value for name, value in vars(MESH).items() if name != "symmetry"})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.word)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_a_row_agrees_with_itself(row, size):
    pairs = list(permutations(range(size), 2))
    for source, destination in pairs:
        devices = list(row.route(size, source, destination))
        assert (devices[0], devices[-1]) == (source, destination), f"`route` of `{row.word}` does not join its ends"
        assert len(set(devices)) == len(devices), f"`route` of `{row.word}` comes by a device twice"
        assert len(devices) - 1 == row.hops(size, source, destination), f"`hops` and `route` of `{row.word}` disagree"
    by_pair = {row.hops(size, *pair) for pair in pairs}
    by_shift = {((to - of) % size, row.hops(size, of, to)) for of, to in pairs}
    if row.symmetry is Symmetry.PAIRS:
        assert len(by_pair) == 1, f"`{row.word}`: not all pairs are equally far apart"
    if row.symmetry is not Symmetry.NONE:
        assert len(by_shift) == size - 1, f"`{row.word}`: more than the difference of coordinates counts"
    elif size > 2:
        assert len(by_shift) > size - 1, f"`{row.word}`: the difference of coordinates is all that counts: say SHIFTS"
    text = row.astra_sim_1
    if text is not None and size >= text.least:
        links = text.links(size)
        assert links % text.divisor(size) == 0, f"`{row.word}`: its own `links` break its `divisor`"
        assert row.links_used(size, links) >= 1, f"`{row.word}`: `links` leave none for a message"


def _enums(name, *path):
    found = json.loads(resources.text("schemas", *name.split("/")))
    for key in path:
        found = found[key]
    return set(found)


WORDS = {
    ("topology.schema.json", "properties", "dimensions", "x-blocks"): lambda: set(BLOCKS),
    ("artifacts/network.schema.json", "properties", "topology", "items", "enum"): lambda: set(blocks.names_2()),
    ("artifacts/astra-sim-1-network.schema.json", "properties", "topologies-per-dim", "items", "enum"): (
        lambda: {row.astra_sim_1.name for row in BLOCKS.values() if row.astra_sim_1 is not None}
    ),
}
"""Where the words of blocks stand besides the rows."""


@pytest.mark.parametrize("where", WORDS, ids=lambda where: where[0])
def test_schemas_have_the_words_of_the_rows(where):
    missing, surplus = WORDS[where]() - _enums(*where), _enums(*where) - WORDS[where]()
    assert not missing, f"schemas/{where[0]} lacks {sorted(missing)}, which rows of blocks.BLOCKS have"
    assert not surplus, f"blocks.BLOCKS has no row for {sorted(surplus)} of schemas/{where[0]}"
