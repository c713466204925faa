"""The timing engine: what ASTRA-sim 2.x does with a Job, to the nanosecond, at a cost that follows distinct work.

Follow `ASTRA-SIM-2` (the semantics of the simulator) section by section: `network` is section 2, `phases` 3.1, 3.2 and
3.5, `duration` and `messages` 3.3, `together`, `streams` and `members` 3.4, `prices`, `desk`, `cast`, `colours` and
`representatives` section 4; `everyone` is the whole simulator in small, and `aware` its other backend.
"""

from __future__ import annotations

from astrac.player.costs import SIMULATOR, UNIT, Cost
from astrac.player.engine import BACKENDS, collective_time, play, play_congested
from astrac.player.playback import Playback, Played, Run

__all__ = [
    "BACKENDS", "SIMULATOR", "UNIT", "Cost", "Playback", "Played", "Run", "collective_time", "play", "play_congested",
]  # fmt: skip
