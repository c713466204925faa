"""ASTRA-sim 1.0: text workload, system.txt, network.json.

Writing: `derive_network`, `derive_system` (from a 2.x machine) and `render`.
"""

from astrac.targets.astra_sim_1.derive import derive_network, derive_system
from astrac.targets.astra_sim_1.write import render, render_network, render_system, render_workload

__all__ = ["derive_network", "derive_system", "render", "render_network", "render_system", "render_workload"]
