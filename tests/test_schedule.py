"""The machine of a spec in the simulator's numbers, groups, and what the simulator makes of collectives."""

from __future__ import annotations

import pytest

from astrac.api.compiling import plan_data
from astrac.codes import CODES
from astrac.job import Compute, Kind, MemoryType, roofline_ns
from lowered import codes, compiled, groups_of, parallelism, planned, spec, topology, trace_of

TINY = "model m { transformer { layers: 2, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }"


def small(*sizes, system="", more="", pool="", batch=16, steps="", **axes):
    return spec(
        topology=topology(*sizes, more=more),
        memory_pool=pool,
        model=TINY,
        parallelism=parallelism(**axes),
        training=f"training {{ global_batch: {batch}, micro_batch: 1, precision: bf16{steps} }}",
        system=system,
    )


def placed(text):
    """Codes and the words that they are about."""
    (result,) = plan_data("test.astra", text.encode())
    return [(found.code, found.labels[0].span.text) for found in result.diagnostics]


# -- the machine


def test_units_of_the_machine():
    pool = "memory_pool cxl { sharing: node, nodes: 2, bandwidth: 64 GB/s, latency: 600 ns, holds: [optimizer_state] }"
    machine = planned(small(4, 2, pool=pool, data="", system="system { endpoint_delay: 20 ns }")).job.machine
    assert [dimension.size for dimension in machine.dimensions] == [4, 2]
    assert machine.dimensions[0].bandwidth == 50e9 / 2**30
    assert machine.dimensions[0].latency == 500.0
    assert machine.local_mem_bandwidth == 3350.0
    assert machine.peak_performance == 989.4
    assert (machine.splits, machine.active_chunks, machine.endpoint_delay) == (4, 1, 20)
    assert machine.memory.type is MemoryType.PER_NODE
    assert (machine.memory.bandwidth, machine.memory.latency) == (64, 600)
    assert (machine.memory.nodes, machine.memory.npus_per_node) == (2, 4)


def test_lists_of_algorithms_are_whole():
    more = ", algorithm: halving_doubling"
    lists = planned(small(4, 2, more=more, tensor="degree: 4", data="")).job.machine.algorithms
    assert lists[Kind.ALL_REDUCE] == lists[Kind.ALL_GATHER] == ("halvingDoubling", "halvingDoubling")
    assert lists[Kind.ALL_TO_ALL] == ("ring", "ring")
    one = planned(small(4, 2, data="", system="system { algorithm: one_ring }")).job.machine.algorithms
    assert one[Kind.ALL_REDUCE] == ("oneRing",)


def test_efficiency_scales_the_peak_alone():
    text = small(4, data="").replace("from h100_sxm", "from h100_sxm { efficiency: 50 % }")
    machine = planned(text).job.machine
    assert (machine.peak_performance, machine.local_mem_bandwidth) == (494.7, 3350.0)


def test_nodes_take_the_time_that_was_priced():
    """In the simulator's own doubles, with true work where that gives the time, else steered."""
    text = small(8, data="").replace("from h100_sxm", "from h100_sxm { slow { ranks: [3], factor: 1.3 } }")
    result = planned(text)
    machine = result.job.machine
    for staged, program in zip(result.plan.programs, result.job.programs, strict=True):
        nodes = [op for op in program.ops if isinstance(op, Compute)]
        steps = [step for step in staged.in_order_of_nodes() if not step.axis]
        for op, step in zip(nodes, steps, strict=True):
            peak, memory = machine.peak_performance, machine.local_mem_bandwidth
            assert int(roofline_ns(op.num_ops, op.tensor_size, peak, memory)) == step.action.time
            assert (op.flops, op.bytes) == (step.action.flops, step.action.bytes)
        exact = [op for op in nodes if (op.num_ops, op.tensor_size) == (op.flops, op.bytes)]
        assert staged.slow or len(exact) > 0.9 * len(nodes)


# -- groups


@pytest.mark.parametrize(
    ("sizes", "axes", "groups"),
    [
        ((4, 2), {"tensor": "degree: 4", "data": ""}, []),
        ((2, 2, 2), {"tensor": "degree: 4", "data": ""}, []),
        ((4, 2), {"tensor": "degree: 2", "data": ""}, ["01", "23", "45", "67", "0246", "1357"]),
        ((8,), {"data": "degree: 4", "pipeline": ""}, ["0123", "4567", "04", "15", "26", "37"]),
    ],
)
def test_groups(sizes, axes, groups):
    """Whole dimensions are told as such, anything else by its members; pairs of stages share the tied embedding."""
    result = compiled(small(*sizes, **axes))
    assert sorted("".join(map(str, ranks)) for ranks in groups_of(result).values()) == sorted(groups)
    named = {"pg_name" in node for rank in range(8) for node in trace_of(result, rank) if node["type"] == "COLL"}
    assert named == {bool(groups)}


def test_a_collective_of_all_ranks_is_a_group_beside_others():
    """Dense gradients meet everywhere, experts' in a part of a dimension."""
    model = TINY.replace("vocabulary: 512", "vocabulary: 512, experts { count: 4, active: 2 }")
    axes = parallelism(expert="degree: 2", data="")
    text = spec(
        topology=topology(4, 2),
        model=model,
        parallelism=axes,
        training="training { global_batch: 8, micro_batch: 1, precision: bf16 }",
    )
    groups = groups_of(compiled(text))
    assert list(range(8)) in groups.values()
    assert [0, 2, 4, 6] in groups.values()


def test_sends_have_the_lowest_ids():
    program = planned(small(4, 2, tensor="degree: 4", pipeline="")).job.programs[0]
    kinds = [type(op).__name__ for op in program.ops]
    assert set(kinds[: kinds.count("Send")]) == {"Send"}


# -- what the simulator cannot run


def test_gathers_of_fewer_bytes_than_chunks():
    text = small(8, data="shard: parameters", system="system { chunks: 128 }")
    assert placed(text)[0] == ("AS717", "128")
    assert "AS717" not in codes(small(8, data="shard: parameters", system="system { chunks: 4 }"))


def test_halves_without_bytes():
    """A collective that ASTRA-sim raises to a byte a rank and chunk cannot be halved down to messages."""
    bench = "model m {{ collective {{ kind: all_reduce, size: {} B }} }}"
    blocks = {"topology": topology(8, more=", algorithm: halving_doubling")}
    assert placed(spec(model=bench.format(32), **blocks))[0] == ("AS717", "halving_doubling")
    assert placed(spec(model=bench.format(4096), **blocks)) == []


def test_algorithms_that_cannot_do_a_collective():
    tree = ", algorithm: double_binary_tree"
    found = placed(small(8, more=tree, data="shard: optimizer"))
    assert [entry for entry in found if entry[0] != "AS804"] == [("AS718", "double_binary_tree")] * 2
    assert "AS718" not in codes(small(8, more=tree, data=""))
    cured = tree + ", algorithms { all_gather: ring, reduce_scatter: ring }"
    assert "AS718" not in codes(small(8, more=cured, data="shard: optimizer"))


def test_a_tree_is_no_part_of_an_all_reduce():
    """Over several dimensions all but the last one reduce and scatter."""

    def codes_of(first, second):
        dimensions = (
            f"  switch {name} {{ size: 4, bandwidth: 50 GB/s, latency: 500 ns, algorithm: {word} }}"
            for name, word in (("a", first), ("b", second))
        )
        model = "model bench { collective { kind: all_reduce, size: 1 MiB } }"
        return placed(spec(topology="\n".join(["topology pod {", *dimensions, "}"]), model=model))

    assert codes_of("ring", "double_binary_tree") == []
    assert codes_of("double_binary_tree", "ring") == [("AS718", "double_binary_tree")]


def test_trees_in_groups():
    tree = ", algorithm: double_binary_tree"
    assert ("AS717", "double_binary_tree") in placed(small(8, more=tree, tensor="degree: 2", data=""))


def test_two_groups_of_a_kind_on_one_dimension():
    assert ("AS807", "parallelism") in placed(small(8, tensor="degree: 2", data=""))
    assert "AS807" not in codes(small(2, 4, tensor="degree: 2", data=""))


def test_groups_that_are_flattened():
    assert ("AS808", "data") in placed(small(4, 2, tensor="degree: 2", data=""))
    assert ("AS808", "tensor") not in placed(
        small(4, 2, tensor="degree: 2", data="")
    )  # a ring on a dimension stays one
    delayed = small(4, 2, tensor="degree: 2", data="", system="system { endpoint_delay: 20 ns }")
    assert ("AS808", "tensor") in placed(delayed)
    assert "AS808" not in codes(small(2, 4, tensor="degree: 2", data=""))


# -- advice of rules


@pytest.mark.parametrize(
    ("system", "sizes", "place"),
    [
        ("system { chunks: 4, active_chunks: 1 }", (4, 2), [("AS802", "1")]),
        ("system { chunks: 4 }", (4, 2), []),
        ("system { chunks: 4, active_chunks: 1 }", (8,), []),
        ("system { chunks: 4, active_chunks: 2 }", (4, 2), [("AS801", "2"), ("AS802", "2")]),
        ("system { chunks: 4, active_chunks: 4 }", (4, 2), [("AS801", "4")]),
    ],
)
def test_active_chunks(system, sizes, place):
    found = placed(small(*sizes, system=system, data=""))
    assert [entry for entry in found if entry[0] in ("AS801", "AS802")] == place


@pytest.mark.parametrize(
    ("bandwidth", "kind", "expected"),
    [
        ("400 GB/s", "ring", [("AS806", "400 GB/s")]),
        ("100 GB/s", "switch", [("AS806", "100 GB/s")]),
        ("100 GB/s", "ring", []),  # a torus' link
        ("400 Gb/s", "switch", []),
        ("450 GB/s", "switch", []),
        ("3200 Gb/s", "switch", []),
    ],
)
def test_bits_for_bytes(bandwidth, kind, expected):
    text = small(8, data="").replace("500 ns", "1 us").replace("50 GB/s", bandwidth).replace("switch", kind)
    assert [entry for entry in placed(text) if entry[0] == "AS806"] == expected


# -- pages

OURS = [
    code
    for code, page in CODES.items()
    if page.bad
    and ("AS500" < code < "AS590" or code in ("AS620", "AS705", "AS717", "AS718", "AS719") or "AS801" <= code < "AS809")
]


@pytest.mark.parametrize("code", OURS)
def test_pages(code):
    """The first spec of a page triggers its code, the second has no error and not that code."""
    page = CODES[code]
    assert code in codes(page.bad)
    (result,) = plan_data("test.astra", page.good.encode())
    assert result.value is not None
    assert code not in {found.code for found in result.diagnostics}
