"""What people read of an estimate, of figures that were made up, word for word."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from astrac.estimates.model import (
    ROWS,
    AxisTraffic,
    ClassOfRanks,
    Estimate,
    LayerTime,
    Segment,
    Throughput,
    brief,
    text,
)
from astrac.simulators.results import Failure, Outcome, Run
from astrac.training.plan import MemoryFootprint
from astrac.units import NONE

FAST = ClassOfRanks("stage 0", 1_000, 0, 1_900_000, 950_000, 475_000, 0, 0, 475_000)
SLOW = ClassOfRanks("stage 1", 24, 1_000, 2_000_000, 1_000_000, 500_000, 200_000, 0, 300_000)

MADE_UP = Estimate(
    cycles=2_000_000,
    steps=2,
    npus=1_024,
    runs=(Run(0, 1_023, 2_000_000, 1_000_000),),
    failure=None,
    doubt="a tie",
    classes=(FAST, SLOW),
    traffic=(
        AxisTraffic("data", "all_reduce", 12, 4_000_000, 500_000, 600_000, ("ring",)),
        AxisTraffic("tensor", "all_gather", 1_000, 999, 400_000, 300_000, ("direct", "ring")),
        AxisTraffic("pipeline", "send", 3, 2_000, 100_000, 0),
    ),
    layers=(
        LayerTime("embedding", 10_000, 20_000, 1_000, 0, 0),
        LayerTime("block0.up", 100_000, 200_000, 3_000, 500, 64),
        LayerTime("block1.up", 100_000, 200_000, 3_000, 500, 64),
    ),
    path=(Segment("compute, forward", 1_500_000, 1_200), Segment("waiting", 500_000, 7)),
    memory=MemoryFootprint(weights=2_000_000_000, gradients=0, optimizer=500, activations=10_000, buffers=0, pool=9),
    throughput=Throughput(12_345.6, 99.94, 5 * 10**15, 0.4567),
)


BEATEN = (
    "data all_reduce takes 500,000 ns, less than the 600,000 ns that its bytes need at full bandwidth: "
    "the congestion-unaware network beats the wire"
)
DIRECT = (
    "tensor all_gather runs `direct`, and every message gets the full bandwidth: on a ring or a switch "
    "that is more than there is"
)


def test_the_report():
    assert text(MADE_UP, "made up").splitlines() == [
        "made up",
        "  step time   1.000 ms",
        "  run         2.000 ms, 2 steps",
        "  cycles      2,000,000 (1 cycle = 1 ns) on 1,024 NPUs",
        "  samples     12,346/s",
        "  tokens      99.9/s",
        "  model FLOPs 5.000 PFLOP a step, 45.7% of the peak",
        "  note        a tie",
        "",
        "  ranks              total       compute  exposed communication        memory        bubble",
        "  stage 0  1,000  1.900 ms  950.0 us 50%           475.0 us 25%       0 ns 0%  475.0 us 25%",
        "  stage 1     24  2.000 ms  1.000 ms 50%           500.0 us 25%  200.0 us 10%  300.0 us 15%",
        "",
        "  exchange              algorithm    count     bytes      time                 wire alone",
        "  data      all_reduce  ring            12  4.000 MB  500.0 us  600.0 us (beats the wire)",
        "  tensor    all_gather  direct ring  1,000     999 B  400.0 us                   300.0 us",
        "  pipeline  send                         3  2.000 kB  100.0 us",
        "",
        "  layer           forward  backward  optimizer  communication  bytes",
        "  embedding      10.00 us  20.00 us   1.000 us           0 ns    0 B",
        "  block*.up x 2  200.0 us  400.0 us   6.000 us       1.000 us  128 B",
        "",
        "  critical path         time  share  pieces",
        "  compute, forward  1.500 ms    75%   1,200",
        "  waiting           500.0 us    25%       7",
        "",
        "  memory          bytes",
        "  weights      2.000 GB",
        "  optimizer       500 B",
        "  activations  10.00 kB",
        "  total        2.000 GB",
        "",
        f"  note: {BEATEN}",
        f"  note: {DIRECT}",
    ]


def test_the_figures_behind_a_build():
    assert brief(MADE_UP) == [
        "step time   1.000 ms, 2,000,000 cycles of 1 ns",
        "of which    compute 50%, exposed communication 25%, memory 10%, bubble 15%",
        "memory      2.000 GB a rank",
    ]


def test_sections_without_figures_are_left_out():
    bare = replace(MADE_UP, steps=1, doubt=None, traffic=(), layers=(), path=(), memory=None, throughput=None)
    assert text(replace(bare, classes=(FAST,)), "bare").splitlines() == [
        "bare",
        "  step time   2.000 ms",
        "  cycles      2,000,000 (1 cycle = 1 ns) on 1,024 NPUs",
        "",
        "  ranks              total       compute  exposed communication        bubble",
        "  stage 0  1,000  1.900 ms  950.0 us 50%           475.0 us 25%  475.0 us 25%",
    ]


def test_a_run_without_figures():
    hang = Estimate(0, 1, 8, failure=Failure(Outcome.HANG, "rank 3 waits"))
    assert text(hang, "x") == "x\n  the simulator would not finish: rank 3 waits\n"
    assert text(Estimate(0, 1, 0, failure=Failure(Outcome.UNKNOWN, "too many")), "x") == "x\n  no estimate: too many\n"
    assert brief(hang) == ["step time   rank 3 waits"]
    assert (hang.npus, hang.steps, hang.cycles, hang.slowest) == (8, 1, 0, None)


def test_the_busiest_layers_are_shown():
    layers = tuple(LayerTime(f"l{at}", at, 0, 0, 0, 0) for at in range(ROWS + 3))
    lines = text(replace(MADE_UP, layers=layers), "many").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("  layer"))
    assert [line.split()[0] for line in lines[start + 1 : start + 1 + ROWS]] == [f"l{at}" for at in range(3, ROWS + 3)]
    assert lines[start + 1 + ROWS] == "  ... and 3 smaller ones (--format json has all)"


def test_what_assertions_may_ask_for():
    found = {name: quantity.value for name, quantity in MADE_UP.quantities().items()}
    assert found == {
        "step_time": Fraction(1, 1000),
        "cycles": 2_000_000,
        "compute": Fraction(1, 1000),
        "communication": Fraction(1, 2000),
        "memory_time": Fraction(1, 5000),
        "bubble": Fraction(3, 10000),
        "memory.weights": 2_000_000_000,
        "memory.gradients": 0,
        "memory.optimizer": 500,
        "memory.activations": 10_000,
        "memory.buffers": 0,
        "memory.total": 2_000_010_500,
        "samples_per_second": Fraction(12_345.6),
        "tokens_per_second": Fraction(99.94),
        "utilisation": Fraction(0.4567),
    }
    rates = {name for name, quantity in MADE_UP.quantities().items() if quantity.dimension == NONE}
    assert rates == {"cycles", "samples_per_second", "tokens_per_second", "utilisation"}
    nothing = Estimate(0, 1, 0, failure=Failure(Outcome.HANG, "x")).quantities()
    assert {name: quantity.value for name, quantity in nothing.items()} == dict.fromkeys(
        ("step_time", "cycles", "compute", "communication", "memory_time", "bubble"), 0
    )
