"""The timing engine: what ASTRA-sim 2.x does with a Job, to the nanosecond, at a cost that follows distinct work.

To be read beside `ASTRA-SIM-2`, the semantics of the simulator:

- section 2: `network` (links, endpoints, reductions), `prices` (compute and memory nodes).
- section 3.1, 3.2, 3.5: `phases` makes a collective into chunks and phases.
- section 3.3: `duration` in closed form, `recurrence` for members that start apart, `messages` as the simulator does.
- section 3.4: `together` (one rank's chunks), `apart` and `members` (every member's), `streams` (a rank's queues).
- section 4: `desk` (slots and order of issue), `cast`, `axes` and `colours` (which ranks are alike), `actor`,
  `representatives`, `meetings` (collectives among them), `sharing` and `order` (a memory that ranks queue for).
- `everyone` is the whole simulator in small, `aware` its other backend, `clock` the event queue of both.
"""

from __future__ import annotations

from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR, UNIT, Cost
from astrac.simulators.astra_sim_2.simulate.engine import BACKENDS, collective_time, play, play_congested
from astrac.simulators.results import RankResult, Run, SimulationResult

__all__ = [
    "BACKENDS", "SIMULATOR", "UNIT", "Cost", "RankResult", "Run", "SimulationResult", "collective_time", "play",
    "play_congested",
]  # fmt: skip
