"""What a Job and a Machine answer about their ranks, groups and rates, against plain enumeration and arithmetic."""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jobs
from astrac.job import (
    Axis,
    AxisGroup,
    Box,
    Compute,
    Dimension,
    Job,
    ListedGroup,
    Machine,
    Program,
    RankClass,
    bytes_per_ns,
    roofline_ns,
)
from astrac.simulators.astra_sim_2.simulate.prices import compute_time

# -- ranks and groups


def job_of(axes, dimensions):
    machine = Machine(tuple(Dimension("Ring", size, 50.0, 500.0) for size in dimensions), {}, 1)
    everyone = RankClass(0, (Box((None,) * len(axes)),))
    return Job("j", machine, axes, (Program(()),), (everyone,))


def axes_of(sizes):
    strides = [prod(sizes[:at]) for at in range(len(sizes))]
    return tuple(Axis(f"a{at}", stride, size) for at, (stride, size) in enumerate(zip(strides, sizes, strict=True)))


SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def digits(rank, sizes):
    """Written out by division, innermost first."""
    found = []
    for size in sizes:
        rank, digit = divmod(rank, size)
        found.append(digit)
    return tuple(found)


@settings(deadline=None)
@given(SHAPES, st.data())
def test_members_differ_in_the_axes_of_their_group_only(sizes, data):
    axes = axes_of(sizes)
    inside = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    names = data.draw(st.permutations([axes[at].name for at in inside]))
    whole = job_of(axes, (prod(sizes),))
    group = AxisGroup(tuple(names))
    for rank in range(prod(sizes)):
        mine = digits(rank, sizes)
        expected = [
            other
            for other in range(prod(sizes))
            if all(at in inside or digits(other, sizes)[at] == mine[at] for at in range(len(sizes)))
        ]
        assert list(whole.members(group, rank)) == expected
        assert whole.leader(group, rank) == expected[0]
        assert whole.size(group) == len(expected)


@settings(deadline=None)
@given(SHAPES, st.data())
def test_a_list_of_dimensions_decides_alone(sizes, data):
    """The axes of such a group are its name: here one axis is all ranks, whatever the dimensions are."""
    involved = tuple(data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    one = job_of((Axis("data", 1, prod(sizes)),), sizes)
    group = AxisGroup(("data",), (), involved)
    for rank in range(prod(sizes)):
        mine = digits(rank, sizes)
        choices = [range(size) if on else (at,) for size, on, at in zip(sizes, involved, mine, strict=True)]
        expected = sorted(sum(at * prod(sizes[:place]) for place, at in enumerate(ats)) for ats in product(*choices))
        assert list(one.members(group, rank)) == expected
        assert one.leader(group, rank) == expected[0]
        assert one.size(group) == len(expected)


def test_some_coordinates_of_an_axis():
    """Stages 3 and 0 of four, named in this order, of ranks of 2 x 4 x 2: the members ascend."""
    job = job_of(axes_of((2, 4, 2)), (16,))
    tied = AxisGroup(("a1",), only=(3, 0))
    assert job.members(tied, 0) == job.members(tied, 6) == job.members(tied, 4) == (0, 6)
    assert job.members(tied, 13) == (9, 15)
    assert (job.size(tied), job.leader(tied, 13), job.leader(tied, 15)) == (2, 9, 9)


def test_a_list_stays_in_its_order():
    listed = ListedGroup(3, (5, 2, 7))
    job = job_of(axes_of((8,)), (8,))
    assert (job.members(listed, 2), job.size(listed), job.leader(listed, 2)) == ((5, 2, 7), 3, 5)


@pytest.mark.parametrize("job", [jobs.data_parallel(8), jobs.pipeline_of_tensors()], ids=["data", "pipeline"])
def test_every_rank_has_the_program_of_its_class(job):
    assert len(job.program_of) == job.machine.npus
    for ranks in job.classes:
        for rank in range(job.machine.npus):
            place = digits(rank, [axis.size for axis in job.axes])
            inside = any(
                all(ok is None or at in ok for at, ok in zip(place, box.coordinates, strict=True))
                for box in ranks.boxes
            )
            assert (job.program_of[rank] == ranks.program) == inside


# -- rates


@given(st.floats(1e-3, 1e6))
def test_a_network_gb_is_two_to_the_thirty(bandwidth):
    """Scaling by a power of two is exact, so the one rounding is that of the division by 10^9."""
    exact = Fraction(bandwidth) * 2**30 / 10**9
    assert bytes_per_ns(bandwidth) == float(exact)
    machine = Machine((Dimension("Ring", 2, 1.0, 0.0), Dimension("Ring", 2, bandwidth, 0.0)), {}, 1)
    assert bytes_per_ns(machine.dimensions[1].bandwidth) == float(exact)


# -- the roofline


def double(value):
    """The nearest double, ties to even, by way of its eight bytes."""
    return struct.unpack("<d", struct.pack("<d", float(value)))[0]


def quotient(one, other):
    """Of two doubles: the exact quotient, rounded once."""
    return float(Fraction(one) / Fraction(other))


def times(one, other):
    """The same for a product."""
    return float(Fraction(one) * Fraction(other))


def simulated(num_ops, tensor_size, peak, bandwidth):
    """`Workload::issue_comp` and `Roofline::get_perf`, a rounding an operation."""
    ops, size = double(num_ops), double(tensor_size)
    performance = min(times(times(bandwidth, 1e9), quotient(ops, size)), times(peak, 1e12))
    return int(times(quotient(ops, performance), 1e9))


LARGE = st.integers(2**53, 2**63 - 1)


@given(LARGE, LARGE | st.integers(1, 2**53), st.floats(0.1, 4000), st.floats(1, 8000))
def test_the_roofline_counts_in_doubles_also_above_their_whole_numbers(num_ops, tensor_size, peak, bandwidth):
    assert int(roofline_ns(num_ops, tensor_size, peak, bandwidth)) == simulated(num_ops, tensor_size, peak, bandwidth)


def test_numbers_that_no_double_holds_are_rounded_before_they_are_divided():
    """2^53 + 1 becomes 2^53, and 2^54 + 6 the even 2^54 + 8: their quotient is that of the rounded ones."""
    assert roofline_ns(2**53 + 1, 2**53, 1.0, 1.0) == roofline_ns(2**53, 2**53, 1.0, 1.0) == 2**53 / 1e9 * 1e9
    assert double(2**54 + 6) == 2**54 + 8
    assert roofline_ns(2**54 + 6, 3, 1.0, 1.0) == roofline_ns(2**54 + 8, 3, 1.0, 1.0)


def test_the_engine_prices_nodes_by_this_roofline():
    """This one lasted 1 ns less where the exact integers were divided."""
    num_ops, tensor_size, peak, bandwidth = 8133924559201278365, 1131721953720171291, 989.4, 1600.0
    machine = Machine(
        (Dimension("Ring", 2, 1.0, 0.0),), {}, 1, local_mem_bandwidth=bandwidth, peak_performance=peak, roofline=True
    )
    node = Compute(id=0, num_ops=num_ops, tensor_size=tensor_size)
    exact = min(bandwidth * 1e9 * (num_ops / tensor_size), peak * 1e12)
    assert compute_time(machine, node) == simulated(num_ops, tensor_size, peak, bandwidth)
    assert compute_time(machine, node) != int(num_ops / exact * 1e9)
