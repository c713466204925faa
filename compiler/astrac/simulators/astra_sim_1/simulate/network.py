"""What one message costs (docs/simulators/astra-sim-1.md, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.blocks import BY_NAME

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextDimension

INT_LIMIT = 2**31
"""The simulator keeps bytes of a phase and ns of a message in 32-bit integers."""


def hops(dimension: TextDimension, offset: int) -> int:
    """Between two NPUs whose coordinates in the dimension differ by `offset`."""
    return BY_NAME[dimension.block].hops(dimension.size, offset)


def message_time(dimension: TextDimension, offset: int, size: int) -> float:
    """Ns that `size` bytes take over `offset` coordinates; whole, unless the memory is slower than the network.

    Each term is added to an integer and the sum truncated, in this order; memory is compared last, untruncated.
    """
    terms = [hops(dimension, offset) * dimension.latency, size / dimension.bytes_per_ns, 2 * dimension.nic_latency]
    if dimension.block == "Switch":
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
