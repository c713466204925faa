"""The files of a run on ns-3 together: its own three against each other, then system and traces as those of 2.x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed
from astrac.job import Dimension
from astrac.simulators.astra_sim_2.check.bundle import check_reading
from astrac.simulators.astra_sim_2.read.files import of_kinds
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.simulators.ns3.config import read_config
from astrac.simulators.ns3.kinds import KINDS
from astrac.simulators.ns3.logical import read_logical
from astrac.simulators.ns3.topology import read_topology
from astrac.simulators.ns3.whole import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.rows import FileSet


def check_bundle(found: FileSet) -> Iterator[Diagnostic]:
    """All that is wrong with the files of one run."""
    try:
        texts = {kind: row.text(found.files[kind], found.folder) for kind, row in KINDS.items() if kind in found.files}
    except Diagnosed as stop:
        yield stop.diagnostic
        return
    source = texts["ns3-logical"]
    logical = read_logical(source)
    yield from logical.diagnostics
    topology = read_topology(texts["ns3-topology"]) if "ns3-topology" in texts else None
    config = read_config(texts["ns3-config"]) if "ns3-config" in texts else None
    for part in (topology, config):
        yield from () if part is None else part.diagnostics
    yield from check_whole(
        logical.value,
        source.span(0, len(source.text.rstrip())),
        None if topology is None else topology.value,
        None if config is None else config.value,
    )
    if logical.value is not None:
        dimensions = tuple(Dimension("Switch", size, 1.0, 1.0) for size in logical.value)
        roles = of_kinds({**found.files, "network": found.files["ns3-logical"]}, found.folder)
        yield from check_reading(examine(roles, dimensions), found.ranks, "ns3")
