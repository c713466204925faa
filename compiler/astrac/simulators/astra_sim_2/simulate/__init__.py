"""The timing engine: what ASTRA-sim 2.x does with a Job, to the nanosecond, at a cost that follows distinct work.

`README.md` tells what stands where; docs/simulators/astra-sim-2.md says how the simulator behaves.
"""

from __future__ import annotations

from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR, UNIT, Cost
from astrac.simulators.astra_sim_2.simulate.engine import (
    BACKENDS,
    collective_time,
    simulate,
    simulate_congested,
    simulate_sample,
)
from astrac.simulators.results import RankResult, Run, SimulationResult

__all__ = [
    "BACKENDS", "SIMULATOR", "UNIT", "Cost", "RankResult", "Run", "SimulationResult", "collective_time", "simulate",
    "simulate_congested", "simulate_sample",
]  # fmt: skip
