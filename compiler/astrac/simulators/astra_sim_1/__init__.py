"""ASTRA-sim 1.0: text workload, system.txt, network.json.

Writing: `derive_network` and `derive_system` (from a 2.x machine), `render`. Reading: `read_workload`, `read_system`,
`read_network`, each strict and with places, `apply_options` for the command line, then `check` for what only the files
together show; `check_derived` does the same for a job that was never read. What a job costs is told by
`simulate.play`.
"""

from astrac.simulators.astra_sim_1.check import check, check_derived
from astrac.simulators.astra_sim_1.check_files import check_network, check_workload
from astrac.simulators.astra_sim_1.derive import derive_network, derive_system
from astrac.simulators.astra_sim_1.options import apply_options
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.simulators.astra_sim_1.write import render, render_network, render_system, render_workload

__all__ = [
    "apply_options",
    "check",
    "check_derived",
    "check_network",
    "check_workload",
    "derive_network",
    "derive_system",
    "read_network",
    "read_system",
    "read_workload",
    "render",
    "render_network",
    "render_system",
    "render_workload",
]
