"""The building blocks of a topology: one row of BLOCKS each, and all that anybody may know about them.

A new block is a row here and an entry in `schemas/topology.schema.json` (with its simulators' words in
`schemas/artifacts/network.schema.json` and `astra-sim-1-network.schema.json`). Coordinates count from 0 along the
block's dimension; a `size` is how many NPUs that dimension has.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Symmetry(Enum):
    """Which pairs of members are equally far apart: what closed forms may rely upon."""

    PAIRS = "all pairs are"
    SHIFTS = "pairs are whose coordinates differ by as much, modulo the size"
    NONE = "each member has distances of its own"


@dataclass(frozen=True)
class TextBlock:
    """What a block is to ASTRA-sim 1.0 (docs/simulators/astra-sim-1.md, section 2).

    Attributes:
        name: word of `topologies-per-dim` in network.json.
        least: NPUs that the block needs at least; with fewer the simulator divides by 0.
        links: for a size, the `links-count` with which each NPU has one link to each neighbour.
        divisor: for a size, what `links-count` should be a multiple of; links left over are not used.
        rule: that rule in words, `{divisor}` in them.
    """

    name: str
    least: int
    links: Callable[[int], int]
    divisor: Callable[[int], int]
    rule: str


@dataclass(frozen=True)
class Block:
    """A building block. No field has a default: whoever adds a row has to think of each.

    Attributes:
        word: in the language; a block of `schemas/topology.schema.json`.
        hops: of (size, source, destination): the links that a message crosses between two different members.
        route: of (size, source, destination): the devices that it passes, both ends included, one more than `hops`.
            Devices below `size` are members, those from `size` on are switches.
        symmetry: which pairs have equal `hops`.
        port_per_peer: whether a member has a port for each other one, so that messages to different members do not
            share a link.
        switched: whether messages pass a switch, which 1.0 prices by `router-latency` and lets stand between pods.
        astra_sim_2: word of `topology` in network.yml; None where ASTRA-sim 2.x has no such block.
        congested_fault: for a size, why the congestion-aware backend aborts on the block, None where it does not.
        astra_sim_1: what it is to ASTRA-sim 1.0; None where that has no such block.
    """

    word: str
    hops: Callable[[int, int, int], int]
    route: Callable[[int, int, int], Iterable[int]]
    symmetry: Symmetry
    port_per_peer: bool
    switched: bool
    astra_sim_2: str | None
    congested_fault: Callable[[int], str | None]
    astra_sim_1: TextBlock | None

    def ports(self, size: int) -> int:
        """How many messages a member can send at the full bandwidth of one link each, at once."""
        return size - 1 if self.port_per_peer else 1

    def links_used(self, size: int, links: int) -> int:
        """How many of `links-count` links ASTRA-sim 1.0 gives to one message; 0 when it refuses the count."""
        if self.astra_sim_1 is None or size < self.astra_sim_1.least:
            return 0
        divisor = self.astra_sim_1.divisor(size)
        return links // divisor if self.port_per_peer else links - links % divisor


def _round_the_ring(size: int, source: int, destination: int) -> Iterable[int]:
    """Every member on the shorter way, clockwise where both are equally long."""
    clockwise = (destination - source) % size
    step = -1 if size - clockwise < clockwise else 1
    return ((source + step * hop) % size for hop in range(min(clockwise, size - clockwise) + 1))


BLOCKS: dict[str, Block] = {
    row.word: row
    for row in (
        Block(
            word="ring",
            hops=lambda size, source, destination: min((destination - source) % size, (source - destination) % size),
            route=_round_the_ring,
            symmetry=Symmetry.SHIFTS,
            port_per_peer=False,
            switched=False,
            astra_sim_2="Ring",
            congested_fault=lambda size: (
                "the congestion-aware backend connects the two ranks of a ring twice: it aborts" if size == 2 else None
            ),
            astra_sim_1=TextBlock(
                name="Ring",
                least=1,
                links=lambda _size: 2,
                divisor=lambda _size: 2,
                rule="a Ring uses an even number of links",
            ),
        ),
        Block(
            word="switch",
            hops=lambda _size, _source, _destination: 2,
            route=lambda size, source, destination: (source, size, destination),
            symmetry=Symmetry.PAIRS,
            port_per_peer=False,
            switched=True,
            astra_sim_2="Switch",
            congested_fault=lambda _size: None,
            astra_sim_1=TextBlock(
                name="Switch",
                least=1,
                links=lambda _size: 1,
                divisor=lambda _size: 1,
                rule="a Switch uses at least 1 link",
            ),
        ),
        Block(
            word="fully_connected",
            hops=lambda _size, _source, _destination: 1,
            route=lambda _size, source, destination: (source, destination),
            symmetry=Symmetry.PAIRS,
            port_per_peer=True,
            switched=False,
            astra_sim_2="FullyConnected",
            congested_fault=lambda _size: None,
            astra_sim_1=TextBlock(
                name="FullyConnected",
                least=2,
                links=lambda size: size - 1,
                divisor=lambda size: size - 1,
                rule="FullyConnected uses a multiple of {divisor}",
            ),
        ),
    )
}
"""By the language's word, in the order in which messages list them."""

LONE = "switch"
"""What a dimension of one NPU is to ASTRA-sim 1.0: a lone NPU has no neighbours."""


def names_2() -> tuple[str, ...]:
    """The words that network.yml of ASTRA-sim 2.x knows."""
    return tuple(row.astra_sim_2 for row in BLOCKS.values() if row.astra_sim_2 is not None)


def by_name_2(name: str) -> Block:
    """The row of a word of network.yml; KeyError for one that is none."""
    return {row.astra_sim_2: row for row in BLOCKS.values()}[name]


def by_name_1(name: str) -> Block:
    """The row of a word of network.json; KeyError for one that is none."""
    return {row.astra_sim_1.name: row for row in BLOCKS.values() if row.astra_sim_1 is not None}[name]
