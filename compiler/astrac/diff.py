"""Two jobs of ASTRA-sim 1.0 -> what is different in what the simulator sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1 import keys as keys_1
from astrac.simulators.differences import changed as _changed
from astrac.simulators.differences import lists as _lists
from astrac.simulators.differences import scalars as _scalars

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextJob

_NETWORK_1 = {attribute: key for key, attribute in keys_1.DIMENSION_KEYS.items()}


def diff_text(one: TextJob, other: TextJob) -> tuple[str, ...]:
    """The same for two jobs of ASTRA-sim 1.0."""
    found = list(_lists("network.json", one.network.dimensions, other.network.dimensions, _NETWORK_1, "dimension"))
    found += _scalars("system.txt", one.system, other.system, {}, ("algorithms", "origins"))
    for kind, key in keys_1.IMPLEMENTATION_KEYS.items():
        found += _changed("system.txt", key, "_".join(one.system.words(kind)), "_".join(other.system.words(kind)))
    found += _scalars("workload.txt", one.workload, other.workload, {}, ("rows", "origins"))
    found += _lists("workload.txt", one.workload.rows, other.workload.rows, {}, "layer")
    return tuple(found)
