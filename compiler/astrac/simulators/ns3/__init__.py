"""Inputs of ASTRA-sim's ns-3 backend: the logical topology, the physical one, and the configuration that names it.

What is read is what ASTRA-sim's public frontend and the `common.h` of its ns-3 read; the three must agree, and nobody
there looks.
"""

from astrac.simulators.ns3.config import Config, read_config
from astrac.simulators.ns3.logical import read_logical
from astrac.simulators.ns3.topology import Link, Topology, read_topology
from astrac.simulators.ns3.whole import check_whole

__all__ = ["Config", "Link", "Topology", "check_whole", "read_config", "read_logical", "read_topology"]
