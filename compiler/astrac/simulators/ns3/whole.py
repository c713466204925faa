"""The three files of ns-3 against each other."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.ns3.config import Config
    from astrac.simulators.ns3.topology import Topology
    from astrac.source import Span

MAX_WAYS = 5_000_000
"""Hosts times links that are walked."""


def check_whole(
    logical: tuple[int, ...] | None, place: Span | None, topology: Topology | None, config: Config | None
) -> Iterator[Diagnostic]:
    """AS783 where there are fewer hosts than NPUs, AS784 for rates without thresholds, AS873 for hosts without a way.

    Args:
        logical: sizes of the dimensions, None when it is not known.
        place: of the logical topology.
        topology: as far as it could be read.
        config: as far as it could be read.
    """
    if topology is None:
        return
    npus = None if logical is None else prod(logical)
    if npus is not None:
        yield from _hosts(topology, npus, place)
    yield from _unreached(topology, npus)
    if config is not None:
        yield from _rates(topology, config)


def _hosts(topology: Topology, npus: int, place: Span | None) -> Iterator[Diagnostic]:
    """Rank r is node r: the first nodes must be hosts."""
    note = () if place is None else (Label(place, f"{npus} NPUs"),)
    hosts = topology.nodes - len(topology.switches)
    if hosts < npus:
        message = f"{hosts} hosts for {npus} NPUs"
        yield diagnostic("AS783", message, topology.source.whole(), *note)
        return
    wrong = sorted(switch for switch in topology.switches if switch < npus)
    if wrong:
        message = f"node {wrong[0]} is a switch, and the rank of this number runs on it: number the hosts first"
        yield diagnostic("AS783", message, topology.source.whole(), *note)


def _unreached(topology: Topology, npus: int | None) -> Iterator[Diagnostic]:
    """Hosts that a host cannot reach: packets go on from switches only."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for link in topology.links:
        neighbours[link.ends[0]].append(link.ends[1])
        neighbours[link.ends[1]].append(link.ends[0])
    hosts = [node for node in range(topology.nodes) if node not in topology.switches and (npus is None or node < npus)]
    if not hosts or len(hosts) * max(1, len(topology.links)) > MAX_WAYS:
        return
    for host in hosts:
        reached = {host}
        ways = [host]
        for node in ways:
            for other in neighbours[node]:
                if other not in reached:
                    reached.add(other)
                    if other in topology.switches:
                        ways.append(other)
        lost = next((other for other in hosts if other not in reached), None)
        if lost is not None:
            message = f"host {host} has no way to host {lost} but through other hosts, and hosts do not forward"
            yield diagnostic("AS873", message, topology.source.whole())
            return


def _rates(topology: Topology, config: Config) -> Iterator[Diagnostic]:
    """Switches look up the thresholds of each link by its exact rate."""
    for key in ("KMAX_MAP", "KMIN_MAP", "PMAX_MAP"):
        known = config.rates.get(key, frozenset())
        for link in topology.links:
            if topology.switches.intersection(link.ends) and int(link.rate) not in known:
                place = config.places.get(key) or config.source.whole()
                message = f"`{key}` has no threshold for {int(link.rate)} b/s, the rate of a link of a switch"
                yield diagnostic("AS784", message, place, Label(link.span, "this link"))
                break
