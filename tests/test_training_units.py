"""Single functions of the training step and of the estimate, against enumeration and numbers of the papers."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrac.api.checking import check
from astrac.estimates.breakdown import breakdown, wire_time
from astrac.job import (
    Axis,
    AxisGroup,
    Box,
    Collective,
    Compute,
    Dimension,
    Job,
    Kind,
    ListedGroup,
    Load,
    Machine,
    Program,
    RankClass,
    Receive,
    Send,
)
from astrac.models.model import Layer, Model, Tensor
from astrac.simulators.results import RankResult
from astrac.source import Source
from astrac.training.compute import missing_times
from astrac.training.plan import Transfer
from astrac.training.strategies import pipeline
from astrac.training.strategies.data import SHARDS, Reducer, reducer_of
from astrac.training.strategies.precision import own_type
from lowered import codes, parallelism, planned, spec, topology

# -- pipelines


def shown(slots):
    return "".join(f"{'F' if slot.forward else 'B'}{slot.micro_batch}{'abc'[slot.virtual]} " for slot in slots).split()


@settings(deadline=None)
@given(st.sampled_from(["gpipe", "one_f_one_b", "interleaved"]), st.data())
def test_a_schedule_runs_every_pass_once_and_forward_before_backward(schedule, data):
    stages = data.draw(st.integers(1, 4))
    stage = data.draw(st.integers(0, stages - 1))
    virtual = data.draw(st.integers(1, 3)) if schedule == "interleaved" else 1
    micro_batches = data.draw(st.integers(1, 3)) * (stages if schedule == "interleaved" else 1)
    slots = pipeline.StageOrder(schedule, stage, stages, virtual).slots(micro_batches)
    everything = {(way, index, at) for way in (True, False) for index in range(micro_batches) for at in range(virtual)}
    assert len(slots) == len(everything)
    assert {(slot.forward, slot.micro_batch, slot.virtual) for slot in slots} == everything
    for slot in slots:
        if not slot.forward:
            assert slots.index(replace(slot, forward=True)) < slots.index(slot)


def test_the_schedules_of_the_papers():
    """GPipe's figure 2c; 1F1B and its interleaved form as in figures 3 and 4 of Narayanan et al. 2021."""
    assert shown(pipeline.StageOrder("gpipe", 1, 4, 1).slots(3)) == ["F0a", "F1a", "F2a", "B0a", "B1a", "B2a"]
    last = pipeline.StageOrder("one_f_one_b", 3, 4, 1).slots(3)
    assert shown(last) == ["F0a", "B0a", "F1a", "B1a", "F2a", "B2a"]
    second = pipeline.StageOrder("one_f_one_b", 2, 4, 1).slots(4)
    assert shown(second) == ["F0a", "F1a", "B0a", "F2a", "B1a", "F3a", "B2a", "B3a"]
    first = shown(pipeline.StageOrder("interleaved", 0, 2, 2).slots(4))
    assert " ".join(first) == "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"


def best_cuts(times, pieces):
    """The cut whose longest piece is shortest, then the one whose squares add up to least, by trying all."""
    found = []
    for cuts in combinations(range(1, len(times)), pieces - 1):
        bounds = (0, *cuts, len(times))
        sums = [sum(times[low:high]) for low, high in pairwise(bounds)]
        found.append((max(sums), sum(each * each for each in sums)))
    return min(found)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_cuts_are_as_even_as_can_be(times, data):
    pieces = data.draw(st.integers(1, len(times)))
    starts = pipeline.balance(tuple(times), pieces)
    sums = [sum(times[low:high]) for low, high in pairwise((*starts, len(times)))]
    assert starts[0] == 0
    assert all(low < high for low, high in pairwise((*starts, len(times))))
    assert (max(sums), sum(each * each for each in sums)) == best_cuts(times, pieces)


def test_a_chain_of_thousands_is_cut_about_evenly():
    starts = pipeline.balance((1,) * 4000, 8)
    sizes = [high - low for low, high in pairwise((*starts, 4000))]
    assert sizes == [500] * 8


# -- gradients


@pytest.mark.parametrize("word", ["none", "optimizer", "parameters"])
def test_collectives_of_a_sharding(word):
    """ZeRO's volumes: an all-reduce of the whole, or shards of ceil(n / ranks) scattered and gathered."""
    flat = Reducer(SHARDS[word], ("data",), (), 4, 4, 2)
    reduced, gathered = flat.gradients(10), flat.parameters(10)
    if word == "none":
        assert [(each.kind, each.bytes, each.axes) for each in reduced] == [(Kind.ALL_REDUCE, 40, ("data",))]
        assert gathered == ()
    else:
        assert [(each.kind, each.bytes, each.axes) for each in reduced] == [(Kind.REDUCE_SCATTER, 48, ("data",))]
        assert [(each.kind, each.bytes, each.axes) for each in gathered] == [(Kind.ALL_GATHER, 6, ("data",))]


def test_hybrid_sharding_reduces_shards_among_replicas():
    both = Reducer(SHARDS["gradients"], ("data.shard",), ("data.replica",), 3, 4, 2)
    scatter, reduce = both.gradients(10)
    assert (scatter.kind, scatter.bytes, scatter.axes) == (Kind.REDUCE_SCATTER, 4 * 3 * 4, ("data.shard",))
    assert (reduce.kind, reduce.bytes, reduce.axes) == (Kind.ALL_REDUCE, 4 * 4, ("data.replica",))
    assert (both.held(10, divided=True), both.held(10, divided=False)) == (4, 10)


def test_one_shard_is_no_sharding():
    alone = Reducer(SHARDS["parameters"], (), ("data.replica",), 1, 4, 2)
    assert [(each.kind, each.bytes) for each in alone.gradients(10)] == [(Kind.ALL_REDUCE, 40)]
    assert alone.parameters(10) == ()
    nobody = Reducer(SHARDS["none"], (), (), 1, 4, 2)
    assert nobody.gradients(10) == nobody.parameters(10) == ()


# -- data types


def of_types(*dtypes):
    layers = tuple(Layer(f"l{at}", "Gemm", Tensor("w", (2, 2), dtype), macs=4) for at, dtype in enumerate(dtypes))
    norm = Layer("norm", "LayerNormalization", Tensor("s", (2,), "float64"))
    return Model("m", (*layers, norm), 1)


def test_a_models_own_type_is_that_of_its_matrices():
    assert own_type(of_types("float16", "float16")) == "fp16"
    assert own_type(of_types("bfloat16")) == "bf16"
    assert own_type(of_types("float32", "float16")) is None
    assert own_type(of_types("int4")) is None
    assert own_type(of_types()) is None


# -- how many ranks, how much memory


def test_as_many_ranks_as_files_can_be_written_for():
    model = "model { collective { kind: all_reduce, size: 1 MiB } }"

    def found(*sizes):
        result = check("x", spec(topology=topology(*sizes), model=model).encode())
        points = () if result.value is None else result.value
        return [each.code for each in (*result.diagnostics, *(more for point in points for more in point.diagnostics))]

    assert "AS534" not in found(1024, 1024)
    assert "AS534" in found(1024, 1025)


TINY = "model m { transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }"


def kept(capacity):
    """Codes of a pipeline on eight ranks whose memory has a capacity in bytes."""
    text = spec(
        hardware=f"hardware gpu from h100_sxm {{ memory {{ capacity: {capacity} B }} }}",
        topology=topology(8),
        model=TINY,
        parallelism=parallelism(data="degree: 2", pipeline="degree: 4"),
        training="training { global_batch: 16, micro_batch: 1, precision: bf16, optimizer: adam }",
    )
    return codes(text)


def test_memory_fits_to_the_byte():
    text = spec(
        topology=topology(8),
        model=TINY,
        parallelism=parallelism(data="degree: 2", pipeline="degree: 4"),
        training="training { global_batch: 16, micro_batch: 1, precision: bf16, optimizer: adam }",
    )
    need = max(program.memory.total for program in planned(text).plan.programs)
    assert "AS540" not in kept(need)
    assert "AS540" in kept(need - 1)


MIDDLE = """
  layer "block[01].*" { stage: 1 }
  layer "block[23].*" { stage: 2 }
  layer "final*" { stage: 3 }
"""
"""The stages at both ends hold little."""

POOL = (
    "memory_pool cxl {{ sharing: {sharing}{nodes}, bandwidth: 64 GB/s, latency: 600 ns, "
    "holds: [optimizer_state]{more} }}"
)


@pytest.mark.parametrize("sharing, sharers", [("npu", 1), ("node", 2), ("node", 4), ("pool", 8)])
@pytest.mark.parametrize("layers", ["", MIDDLE], ids=["even", "heavy in the middle"])
def test_a_pool_holds_what_its_sharers_keep_to_the_byte(sharing, sharers, layers):
    """Node n holds what its own ranks keep, n x sharers and those that follow, and no other run of ranks."""
    nodes = f", nodes: {8 // sharers}" if sharing == "node" else ""

    def text(more=""):
        return spec(
            topology=topology(8),
            memory_pool=POOL.format(sharing=sharing, nodes=nodes, more=more),
            model=TINY.replace("} }", f"}}\n{layers} }}"),
            parallelism=parallelism(data="degree: 2", pipeline="degree: 4"),
            training="training { global_batch: 16, micro_batch: 1, precision: bf16, optimizer: adam }",
        )

    plan = planned(text()).plan
    held = [plan.programs[rank // 2].memory.pool for rank in range(8)]
    assert len(set(held)) > 1
    most = max(sum(held[first : first + sharers]) for first in range(0, 8, sharers))
    assert "AS541" not in codes(text(f", capacity: {most} B"))
    assert "AS541" in codes(text(f", capacity: {most - 1} B"))


# -- the estimate


def tick_by_tick(nodes, cycles):
    """Each nanosecond goes to the first that runs: host, compute, communication, memory; else to the bubble."""
    found = dict.fromkeys(("compute", "communication", "memory", "host", "bubble"), 0)
    for now in range(cycles):
        running = {kind for kind, start, end in nodes if start <= now < end}
        first = next((kind for kind in ("compute", "communication", "memory", "host") if kind in running), "bubble")
        found[first] += 1
    return found


NODES = {
    "compute": lambda at: Compute(id=at),
    "communication": lambda at: Collective(id=at, kind=Kind.ALL_REDUCE, bytes=1, group=AxisGroup(("a",))),
    "sends": lambda at: Send(id=at, axis="a", offset=1, bytes=1, tag=0),
    "memory": lambda at: Load(id=at, bytes=1),
    "host": lambda at: Compute(id=at, host=True),
    "bubble": lambda at: Receive(id=at, axis="a", offset=1, bytes=1, tag=0),
}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(NODES)), st.integers(0, 9), st.integers(0, 9)), max_size=6))
def test_every_nanosecond_is_counted_once(drawn):
    nodes = [(kind, min(one, two), max(one, two)) for kind, one, two in drawn]
    ops = tuple(NODES[kind](at) for at, (kind, _, _) in enumerate(nodes))
    everyone = RankClass(0, (Box((None,)),))
    job = Job("j", Machine((Dimension("Ring", 2, 1.0, 0.0),), {}, 1), (Axis("a", 1, 2),), (Program(ops),), (everyone,))
    result = RankResult(0, (), 2, 0, 10, 0, tuple((start, end) for _, start, end in nodes))
    found = breakdown(job, result, None)
    told = [("communication" if kind == "sends" else kind, start, end) for kind, start, end in nodes]
    expected = tick_by_tick([each for each in told if each[0] != "bubble"], 10)
    assert {name: getattr(found, name) for name in expected} == expected


def wire(kind, size, group, *dimensions):
    machine = Machine(tuple(Dimension(block, n, 10**9 / 2**30, 0.0) for block, n in dimensions), {}, 1)
    strides = [1]
    for _, n in dimensions:
        strides.append(strides[-1] * n)
    axes = tuple(Axis(f"dim{at}", strides[at], n) for at, (_, n) in enumerate(dimensions))
    job = Job("j", machine, axes, (), ())
    return wire_time(job, Collective(id=0, kind=kind, bytes=size, group=group))


def test_the_wire_alone():
    """At 1 byte per ns a link: the bytes that each rank must send, of the dimension that needs longest."""
    both = AxisGroup(("dim0", "dim1"), (), (True, True))
    one = AxisGroup(("dim1",), (), (False, True))
    assert wire(Kind.ALL_REDUCE, 800, one, ("Ring", 2), ("Switch", 8)) == 2 * 7 * 100
    assert wire(Kind.REDUCE_SCATTER, 800, one, ("Ring", 2), ("Switch", 8)) == 700
    assert wire(Kind.ALL_TO_ALL, 800, one, ("Ring", 2), ("Switch", 8)) == 700
    assert wire(Kind.ALL_GATHER, 100, one, ("Ring", 2), ("Switch", 8)) == 700
    # Reduce-scatter over two halves leaves 400 bytes for the eight, whose seven eighths are 350: less than 400.
    assert wire(Kind.REDUCE_SCATTER, 800, both, ("Ring", 2), ("Switch", 8)) == 400
    assert wire(Kind.ALL_REDUCE, 800, both, ("Ring", 2), ("Switch", 8)) == 800
    # All-gather goes from the last dimension to the first: 7 x 50 there, then 400 from each of two.
    assert wire(Kind.ALL_GATHER, 50, both, ("Ring", 2), ("Switch", 8)) == 400
    # Fully connected, all seven links at once.
    assert wire(Kind.ALL_REDUCE, 800, AxisGroup(("dim0",), (), (True,)), ("FullyConnected", 8)) == 200


def test_the_wire_of_listed_ranks_is_that_of_the_first_dimension_they_differ_in():
    inner, outer = ListedGroup(1, (0, 1)), ListedGroup(2, (0, 4))
    dimensions = ("FullyConnected", 4), ("Ring", 4)
    assert wire(Kind.ALL_REDUCE, 600, inner, *dimensions) == 200  # three links of the first
    assert wire(Kind.ALL_REDUCE, 600, outer, *dimensions) == 600
    assert wire(Kind.ALL_REDUCE, 600, ListedGroup(3, (4, 0)), *dimensions) == 600
    assert wire(Kind.ALL_REDUCE, 600, AxisGroup(("dim1",), only=(0, 3)), *dimensions) == 600


# -- axes


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.integers(-9, 9))
def test_a_peer_is_so_many_steps_along_its_axis(inner, size, outer, offset):
    axis = Axis("a", inner, size)
    for rank in range(inner * size * outer):
        here = rank // inner % size
        expected = rank - here * inner + (here + offset) % size * inner
        assert axis.peer(rank, offset) == expected
    shortest = min((abs(way), -way) for way in range(-size, size + 1) if (way - offset) % size == 0)
    assert axis.offset(offset) == -shortest[1]


# -- what crosses to the next stage


@pytest.mark.parametrize("words, cut", [("", 1), (", sequence_parallel: true", 2)])
def test_two_tensor_ranks_send_their_part_of_the_stream(words, cut):
    """A sequence of 32 tokens of 64 features in bf16; with sequence parallelism each of two ranks has half of it."""
    text = spec(
        topology=topology(8),
        model=TINY,
        parallelism=parallelism(tensor=f"degree: 2{words}", data="degree: 2", pipeline="degree: 2"),
        training="training { global_batch: 4, micro_batch: 1, precision: bf16 }",
    )
    actions = [step.action for program in planned(text).plan.programs for step in program.steps]
    assert {each.bytes for each in actions if isinstance(each, Transfer)} == {32 * 64 * 2 // cut}


def test_an_algorithm_of_one_kind_needs_a_power_of_two_as_well():
    def found(size, word):
        block = topology(size, more=f", algorithms {{ all_gather: {word} }}")
        return codes(spec(topology=block, model="model { collective { kind: all_reduce, size: 1 MiB } }"))

    assert "AS521" in found(6, "halving_doubling")
    assert "AS521" not in found(8, "halving_doubling")
    assert "AS521" not in found(6, "direct")


@pytest.mark.parametrize(
    "block, bandwidth, told", [("switch", 100, True), ("ring", 100, False), ("ring", 200, True), ("switch", 101, False)]
)
def test_bytes_where_a_network_card_has_as_many_bits(block, bandwidth, told):
    """Cards of 100, 200, 400 and 800 Gb/s; a ring of 100 GB/s may be a torus' link."""
    text = spec(topology=topology(8, kind=block), model="model { collective { kind: all_reduce, size: 1 MiB } }")
    text = text.replace("500 ns", "1 us").replace("50 GB/s", f"{bandwidth} GB/s")
    assert ("AS806" in codes(text)) == told


def test_no_time_is_missed_where_there_is_no_weight_gradient():
    relu = Layer("relu", "Relu")
    frozen = Layer("fc", "Gemm", Tensor("w", (2, 2)), macs=4, trainable=False)
    trained = replace(frozen, name="head", trainable=True)
    source = Source("times.csv", "layer,weight_gradient [us]\n")
    assert missing_times(source, {}, (relu, frozen), ("weight_gradient",)) == ()
    (finding,) = missing_times(source, {}, (relu, frozen, trained), ("weight_gradient",))
    assert "`head`" in finding.message


def test_a_trace_with_a_memory_pool_ends_in_compute_that_waits_for_all():
    text = spec(
        topology=topology(2),
        memory_pool=POOL.format(sharing="npu", nodes="", more=""),
        model=TINY,
        parallelism=parallelism(data=""),
        training="training { global_batch: 2, precision: bf16, optimizer: adam }",
    )
    last = planned(text).plan.programs[0].steps[-1]
    assert (last.layer, last.action.time, last.needs) == ("end", 1, (last.id - 1,))


def test_ranks_that_share_a_sequence_read_whole_weights():
    """Twice the bytes of half of the tokens is one weight (64 x 256 and its bias, in bf16) more than those of all."""
    size = {}
    for degree in (1, 2):
        axes = {"context": f"degree: {degree}", "data": ""}
        text = spec(
            topology=topology(4),
            model=TINY,
            parallelism=parallelism(**axes),
            training="training { global_batch: 4, micro_batch: 1, precision: bf16 }",
        )
        steps = planned(text).plan.programs[0].steps
        size[degree] = next(s.action.bytes for s in steps if (s.layer, s.phase.value) == ("block0.up", "forward"))
    assert 2 * size[2] - size[1] == 2 * (64 * 256 + 256)


@pytest.mark.parametrize(
    "shard_on, shards, ranks", [(None, ("data0", "data1"), 12), (("data0",), ("data0",), 4), (("other",), (), 1)]
)
def test_hybrid_sharding_divides_among_its_own_axes(shard_on, shards, ranks):
    setting = SimpleNamespace(
        options=lambda _: SimpleNamespace(shard="parameters"),
        degrees={"data0": 4, "data1": 3},
        widths=SimpleNamespace(reduce=4, weights=2),
    )
    reducer = reducer_of(("data0", "data1"), setting, shard_on)
    assert (reducer.shards, reducer.ranks) == (shards, ranks)
    assert reducer.replicas == tuple(axis for axis in ("data0", "data1") if axis not in shards)


@pytest.mark.parametrize("schedule", list(pipeline.SCHEDULES))
def test_a_few_micro_batches_show_the_most_that_is_kept(schedule):
    """The most of 96 micro-batches, when virtual stages keep unequal amounts, is that of the few that are looked at."""

    def most(order, micro_batches, kept):
        now = peak = 0
        for slot in order.slots(micro_batches):
            now += kept[slot.virtual] if slot.forward else -kept[slot.virtual]
            peak = max(peak, now)
        return peak

    for stages, virtual in ((1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (4, 3), (8, 2)):
        for stage in range(stages):
            order = pipeline.StageOrder(schedule, stage, stages, virtual)
            for kept in ([1] * virtual, [3, 1, 7][:virtual], [1, 9, 2][:virtual]):
                assert most(order, order.fullest(96), kept) == most(order, 96, kept)
