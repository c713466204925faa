"""Machine -> the network and the system of 1.0 with the same physics.

One message gets `link-bandwidth x k`, where k counts the links that the block lends it (both directions of a Ring). So
that it gets the same bytes per ns as in 2.x, the link is the dimension's bandwidth over k, and links are chosen such
that k is 1, or 2 on a Ring: the product is then exact in doubles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_1.job import TextDimension, TextNetwork, TextSystem
from astrac.simulators.blocks import BY_NAME

if TYPE_CHECKING:
    from astrac.job import Dimension, Machine


def derive_network(machine: Machine) -> TextNetwork:
    """The dimensions, without memory, NIC or router cost: 2.x has none."""
    return TextNetwork(tuple(_dimension(dimension) for dimension in machine.dimensions))


def _dimension(dimension: Dimension) -> TextDimension:
    # A lone NPU has no neighbours: FullyConnected would divide by its 0 links.
    block = BY_NAME["Switch" if dimension.size == 1 else dimension.block]
    bandwidth = dimension.bandwidth / block.lanes
    return TextDimension(block.name, dimension.size, block.links(dimension.size), bandwidth, dimension.latency)


def derive_system(machine: Machine) -> TextSystem:
    """The same knobs; a kind without words in 2.x takes the all-reduce's, since 1.0 wants all four."""
    default = machine.algorithms.get(IMPLEMENTED[0]) or ("ring",) * len(machine.dimensions)
    return TextSystem(
        scheduling=machine.scheduling,
        algorithms={kind: machine.algorithms.get(kind, default) for kind in IMPLEMENTED},
        optimization=machine.optimization,
        splits=machine.splits,
        endpoint_delay=10 if machine.endpoint_delay is None else machine.endpoint_delay,
        active_chunks=machine.active_chunks,
    )
