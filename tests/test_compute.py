"""Compute models against SCALE-Sim's own output, hand-made numbers, and the simulator's formula written out again."""

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrac.codes import CODES
from astrac.diagnostics import Result
from astrac.job import roofline_ns
from astrac.models.model import Layer, Model, Tensor
from astrac.simulators.astra_sim_2.lower.machine import steer
from astrac.source import Source
from astrac.spec import Hardware, Memory, Peak, Slow, Systolic
from astrac.training.compute import (
    Work,
    cost_function,
    missing_times,
    products,
    read_times,
    slow,
)
from astrac.training.compute.systolic import cycles

FLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
SCALE_SIM = Path(__file__).parent / "compute" / "scalesim_cycles.csv"

GPU = Hardware(
    name="gpu",
    peak=Peak(bf16=Fraction(312 * 10**12), fp32=Fraction(195 * 10**11)),
    memory=Memory(capacity=Fraction(80 * 10**9), bandwidth=Fraction(1600 * 10**9), allow_overflow=False),
    efficiency=Fraction(1),
)
ARRAY = Systolic(rows=8, columns=8, dataflow="output_stationary", clock=Fraction(5 * 10**8))
CONV = Layer("conv1", "Conv", Tensor("w", (8, 3)), macs=240, matmuls=((1, 10, 8, 3),), input_gradient=False)
DENSE = Layer("fc", "Gemm", Tensor("v", (8, 5)), macs=400, matmuls=((1, 10, 5, 8),), inputs=(0,))
SCORES = Layer("attention", "Attention", macs=2 * 3 * 7 * 7 * 4, matmuls=((3, 7, 7, 4), (3, 7, 4, 7)))
MODEL = Model("two", (CONV, DENSE), batch=1)
HEADER = "layer,forward [us],input_gradient [us],weight_gradient [us]\n"


def test_every_row_of_scale_sim():
    with SCALE_SIM.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) == 656
    for row in rows:
        matmul = tuple(int(row[key]) for key in ("count", "M", "N", "K"))
        assert cycles(matmul, int(row["rows"]), int(row["columns"]), FLOWS[row["dataflow"]]) == int(row["cycles"]), row


@pytest.mark.parametrize(
    "layer, phase, expected",
    [
        (DENSE, "forward", ((1, 10, 5, 8),)),
        (DENSE, "recompute", ((1, 10, 5, 8),)),
        (DENSE, "input_gradient", ((1, 10, 8, 5),)),
        (DENSE, "weight_gradient", ((1, 8, 5, 10),)),
        (DENSE, "optimizer", ()),
        (CONV, "input_gradient", ()),
        (SCORES, "input_gradient", ((3, 7, 4, 7), (3, 7, 7, 4), (3, 4, 7, 7), (3, 7, 4, 7))),
        (SCORES, "weight_gradient", ()),
    ],
)
def test_products_of_a_phase(layer, phase, expected):
    assert products(layer, layer.matmuls, phase) == expected


@pytest.mark.parametrize(
    "efficiency, flops, size, expected",
    [
        (1, 10**9, 10**6, 3205),  # 10^9 / 312e12 s, cut off
        (1, 10**6, 10**9, 625_000),  # 10^9 / 1600e9 s
        (Fraction(1, 2), 10**9, 10**6, 6410),  # efficiency scales the peak ...
        (Fraction(1, 2), 10**6, 10**9, 625_000),  # ... and not the memory
        (1, 1, 1, 1),  # never nothing
    ],
)
def test_roofline(efficiency, flops, size, expected):
    hardware = replace(GPU, efficiency=Fraction(efficiency))
    assert cost_function(hardware)(Work(flops, size, precision="bf16")) == expected


def test_systolic_array_prices_products_and_leaves_the_rest_to_the_roofline():
    cost = cost_function(replace(GPU, systolic=ARRAY))
    # 10 x 5 outputs are two folds of 8 x 8: 2 x (8 + 7 + 7) - 1 cycles of 2 ns.
    assert cost(Work(800, 10**9, products(DENSE, DENSE.matmuls, "forward"))) == 86
    assert cost(Work(10**6, 10**9)) == 625_000


def test_straggler():
    cost = cost_function(GPU)
    work = Work(10**6, 10**9)
    assert slow(Slow(ranks=(0,), factor=Fraction(3, 2)), cost)(work) == 937_500
    assert slow(Slow(ranks=(0,), factor=Fraction(4, 3)), lambda _: 1)(work) == 1


def test_measured_times_come_first():
    text = (
        "# by hand\n\nweight_gradient [ns], layer ,input_gradient [us],forward [ms]\r\n"
        '118.9,conv1,,0.0001\n2,"fc",3,0\n'
    )
    read = read_times(Source("times.csv", text), MODEL)
    assert read == Result({
        ("conv1", "weight_gradient"): 118, ("conv1", "forward"): 100,
        ("fc", "weight_gradient"): 2, ("fc", "input_gradient"): 3000, ("fc", "forward"): 1,
    })  # fmt: skip
    cost = cost_function(GPU, read.value)
    prices = {
        phase: cost(Work(10**6, 10**9, layer="fc", phase=phase)) for phase in ("forward", "recompute", "optimizer")
    }
    assert prices == {"forward": 1, "recompute": 1, "optimizer": 625_000}
    assert missing_times(Source("times.csv", text), read.value, MODEL.layers, ("forward", "weight_gradient")) == ()


@pytest.mark.parametrize(
    "text, code, covered, hint",
    [
        ("", "AS651", "", "such as"),
        ("root:x:0:0:root:/root:/bin/sh\nbin:x:1:1\n", "AS651", "", "such as"),  # nothing of it is shown
        ("layers,forward [us]\n", "AS651", "layers", "`layer`"),
        (HEADER.replace("forward [us]", "forward [sec]"), "AS651", "forward [sec]", "ns, us, ms, s"),
        (HEADER.replace("forward [us]", "forward [uS]"), "AS651", "forward [uS]", "`us`"),
        (HEADER.replace(",input_gradient [us]", ""), "AS651", "layer,forward [us],weight_gradient [us]", "such as"),
        (HEADER.replace("layer", "forward [us]"), "AS651", "forward [us]", ""),
        (HEADER + "conv1,1,2\n", "AS651", "conv1,1,2", ""),
        (HEADER + 'conv1,"1,2,3\n', "AS651", '"1,2,3', ""),
        (HEADER + "conv1,-1,,2\n", "AS652", "-1", "not below 0"),
        (HEADER + "conv1,1e400,,2\n", "AS652", "1e400", ""),
        (HEADER + "conv1,inf,,2\n", "AS652", "inf", ""),
        (HEADER + "conv1,1e13,,2\n", "AS652", "1e13", ""),
        (HEADER + "conv1,1 us,,2\n", "AS652", "1 us", "header"),
        (HEADER + "conv2,1,,2\n", "AS653", "conv2", "`conv1`"),
    ],
)
def test_malformed_times(text, code, covered, hint):
    (finding,) = read_times(Source("times.csv", text), MODEL).diagnostics
    assert (finding.code, finding.labels[0].span.text) == (code, covered)
    assert any(hint in line for line in (*finding.hints, ""))


def test_a_repeated_row_shows_both_places():
    text = HEADER + 'conv1,1,,2\n"conv1",1,,2\n'
    (finding,) = read_times(Source("times.csv", text), MODEL).diagnostics
    assert [label.span.first for label in finding.labels] == [(3, 2), (2, 1)]


def test_a_table_for_another_model_ends_soon():
    text = HEADER + "".join(f"some.other.layer.with.a.long.name.{index},1,1,1\n" for index in range(3000))
    assert len(read_times(Source("times.csv", text), MODEL).diagnostics) == 3000


@given(st.sampled_from(["", HEADER]), st.text('conv1,"fc\t\r\n #.e-9', max_size=40))
def test_any_text_is_read_or_refused(start, text):
    read = read_times(Source("times.csv", start + text), MODEL)
    assert all(finding.code in CODES for finding in read.diagnostics)
    assert all(time >= 1 for time in (read.value or {}).values())


@pytest.mark.parametrize("code", ["AS650", "AS651", "AS652", "AS653", "AS654"])
def test_pages_of_tables(code):
    for text, expected in ((CODES[code].bad, {code}), (CODES[code].good, set())):
        source = Source("times.csv", text)
        times, found = read_times(source, MODEL)
        phases = ("forward", "input_gradient", "weight_gradient")
        found = found or missing_times(source, times, MODEL.layers, phases)
        assert {finding.code for finding in found} == expected


def formula(num_ops, tensor_size, peak, bandwidth):
    """docs/simulators/astra-sim-2.md, section 4, in the order in which the simulator computes it."""
    perf = min((bandwidth * 1e9) * (float(num_ops) / float(tensor_size)), peak * 1e12)
    return int(float(num_ops) / perf * 1e9)


def test_true_work_stands_where_the_simulator_then_takes_the_time():
    assert steer(3205, 10**9, 10**6, 312.0, 1600.0) == (10**9, 10**6)
    num_ops, tensor_size = steer(3206, 10**9, 10**6, 312.0, 1600.0)
    assert (tensor_size, formula(num_ops, 1, 312.0, 1600.0)) == (1, 3206)


@given(
    st.integers(1, 10**13),
    st.integers(1, 10**15),
    st.integers(1, 10**12),
    st.floats(0.002, 10**5),
    st.floats(1, 10**5),
)
def test_any_time_can_be_steered(time, flops, size, peak, bandwidth):
    num_ops, tensor_size = steer(time, flops, size, peak, bandwidth)
    assert formula(num_ops, tensor_size, peak, bandwidth) == time
    assert int(roofline_ns(num_ops, tensor_size, peak, bandwidth)) == time
    assert 0 < num_ops < 2**63
    assert 0 < tensor_size < 2**63


def test_what_cannot_be_steered_is_said():
    assert steer(2**63, 1, 1, 312.0, 1600.0) is None
    assert steer(7, 1, 1, 1e-7, 1e-7) is None
