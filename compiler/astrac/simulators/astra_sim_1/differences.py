"""Two jobs of ASTRA-sim 1.0 -> what is different in what the simulator sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.conversions import changed, lists, scalars

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextJob

_NETWORK = {attribute: key for key, attribute in keys.DIMENSION_KEYS.items()}


def differences(one: TextJob, other: TextJob) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    found = list(lists("network.json", one.network.dimensions, other.network.dimensions, _NETWORK, "dimension"))
    found += scalars("system.txt", one.system, other.system, {}, ("algorithms", "origins"))
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        found += changed("system.txt", key, "_".join(one.system.words(kind)), "_".join(other.system.words(kind)))
    found += scalars("workload.txt", one.workload, other.workload, {}, ("rows", "origins"))
    found += lists("workload.txt", one.workload.rows, other.workload.rows, {}, "layer")
    return tuple(found)
