"""What is wrong with the files of a run on ns-3: its own three alone and together, then system and traces as in 2.x."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Label, Result, diagnostic, quoted
from astrac.simulators.ns3.files import FILES, read_config, read_logical, read_topology
from astrac.simulators.ns3.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.ns3.files import Config, Topology
    from astrac.simulators.rows import FileSet
    from astrac.source import Source, Span

_READERS: dict[str, Callable[[Source], Result[Any]]] = {
    "ns3-logical": read_logical,
    "ns3-topology": read_topology,
    "ns3-config": read_config,
}

NO_WAY = "host {} has no way to host {} but through other hosts, and hosts do not forward"

MAX_WAYS = 5_000_000
"""Hosts times links that are walked."""


def check_file(kind: str, source: Source, _data: bytes, _backend: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with one text by itself."""
    read = _READERS[kind](source)
    return (*read.diagnostics, *check_whole(None, None, read.value if kind == "ns3-topology" else None, None))


def check_set(found: FileSet, _backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with the files of one run."""
    from astrac.job import Dimension  # noqa: PLC0415 - one text does without the traces
    from astrac.simulators.astra_sim_2.check.bundle import check_reading  # noqa: PLC0415
    from astrac.simulators.astra_sim_2.read.files import of_kinds  # noqa: PLC0415
    from astrac.simulators.astra_sim_2.read.reading import examine, issued  # noqa: PLC0415

    try:
        texts = {kind: row.text(found.files[kind], found.inside) for kind, row in KINDS.items() if kind in found.files}
    except Diagnosed as stop:
        yield stop.diagnostic
        return
    read = [reader(texts[kind]) if kind in texts else Result(None) for kind, reader in _READERS.items()]
    for part in read:
        yield from part.diagnostics
    logical, topology, config = (part.value for part in read)
    source = texts.get("ns3-logical")
    place = None if source is None else source.span(0, len(source.text.rstrip()))
    dimensions = None if logical is None else tuple(Dimension("Switch", size, 1.0, 1.0) for size in logical)
    reading = examine(of_kinds(found), dimensions)
    lists = {} if reading.machine is None else reading.machine.algorithms
    kinds = lists if reading.job is None else issued(reading.job)
    words = [lists[kind] for kind in kinds if kind in lists]
    rings = not words or any("ring" in each for each in words)
    yield from check_whole(logical, place, topology, config, neighbours=rings)
    if config is not None:
        yield from _files(config, found.files["ns3-config"].parent)
    yield from check_reading(reading, found.ranks, "ns3")


def check_whole(
    logical: tuple[int, ...] | None,
    place: Span | None,
    topology: Topology | None,
    config: Config | None,
    *,
    neighbours: bool = True,
) -> Iterator[Diagnostic]:
    """AS783 where there are fewer hosts than NPUs, AS784 for rates without thresholds, AS873 for hosts without a way.

    Args:
        logical: sizes of the dimensions, None when it is not known.
        place: of the logical topology.
        topology: as far as it could be read.
        config: as far as it could be read.
        neighbours: whether some collectives are rings, so that not all hosts of a dimension need a way.
    """
    if topology is None:
        return
    npus = None if logical is None else prod(logical)
    if npus is not None:
        yield from _hosts(topology, npus, place)
    yield from _unreached(topology, logical, neighbours=neighbours)
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


def _files(config: Config, folder: Path) -> Iterator[Diagnostic]:
    """Files that are not there: ns-3 starts where the topology lies, if that lies where the configuration does."""
    if not (folder / config.words["TOPOLOGY_FILE"]).is_file():
        return
    for key in (*FILES, "TRACE_OUTPUT_FILE"):
        path = folder / config.words[key]
        if not (path.parent.is_dir() if key not in FILES else path.is_file()):
            message = f"{quoted(config.words[key])} is not there, and `{key}` names it"
            yield diagnostic("AS784", message, config.values[key])


def _talk(logical: tuple[int, ...], one: int, two: int, *, neighbours: bool) -> bool:
    """Whether collectives of a dimension make two ranks exchange messages."""
    stride = 1
    for size in logical:
        distance = (two // stride - one // stride) % size
        if one + (distance - (size if one // stride % size + distance >= size else 0)) * stride == two:
            return not neighbours or distance in {1, size - 1}
        stride *= size
    return False


def _unreached(topology: Topology, logical: tuple[int, ...] | None, *, neighbours: bool) -> Iterator[Diagnostic]:
    """Hosts that a host cannot reach: packets go on from switches only. An error where collectives need the way."""
    npus = None if logical is None else prod(logical)
    linked: dict[int, list[int]] = defaultdict(list)
    for link in topology.links:
        linked[link.ends[0]].append(link.ends[1])
        linked[link.ends[1]].append(link.ends[0])
    hosts = [node for node in range(topology.nodes) if node not in topology.switches and (npus is None or node < npus)]
    if not hosts or len(hosts) * max(1, len(topology.links)) > MAX_WAYS:
        return
    lost: tuple[int, int] | None = None
    for host in hosts:
        reached = {host}
        ways = [host]
        for node in ways:
            for other in linked[node]:
                if other not in reached:
                    reached.add(other)
                    if other in topology.switches:
                        ways.append(other)
        for other in hosts:
            if other not in reached and logical is not None and _talk(logical, host, other, neighbours=neighbours):
                yield diagnostic("AS783", NO_WAY.format(host, other), topology.source.whole())
                return
            if other not in reached and lost is None:
                lost = host, other
    if lost is not None:
        yield diagnostic("AS873", NO_WAY.format(*lost), topology.source.whole())


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
