"""What one message costs (docs/simulators/astra-sim-1.md, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.blocks import by_name_1

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextDimension

INT_LIMIT = 2**31
"""The simulator keeps bytes of a phase and ns of a message in 32-bit integers."""


def message_time(dimension: TextDimension, source: int, target: int, size: int) -> float:
    """Ns of `size` bytes from one coordinate to another; whole, unless the memory is slower than the network.

    Each term is added to an integer and the sum truncated, in this order; memory is compared last, untruncated.
    """
    row = by_name_1(dimension.block)
    hops = row.hops(dimension.size, source, target)
    terms = [hops * dimension.latency, size / dimension.bytes_per_ns, 2 * dimension.nic_latency]
    if row.switched:
        terms.append(dimension.router_latency)
    time = 0
    for term in terms:
        if time + term >= INT_LIMIT:
            raise SimulationError(Fault.TOO_SLOW, f"a message of {size} bytes takes 2^31 ns or more")
        time = int(time + term)
    if not dimension.memory_scale:
        return time
    memory = (dimension.memory_latency + size / dimension.memory_bandwidth) * dimension.memory_scale
    if memory >= INT_LIMIT:
        raise SimulationError(Fault.TOO_SLOW, f"the memory takes 2^31 ns or more for a message of {size} bytes")
    if memory <= time:
        return time
    return int(memory) if memory.is_integer() else memory
