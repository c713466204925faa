"""The building blocks of a topology: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Block:
    """A building block.

    Attributes:
        word: in the language; also an enum word of `schemas/topology.schema.json`.
        name: in network.yml (2.x) and network.json (1.0), which agree.
        hops: links that a message crosses between two coordinates `distance` apart among `size`.
        links: what 1.0 wants in `links-count` for one link to each neighbour.
        lanes: of those, how many 1.0 gives to one message: link-bandwidth = bandwidth / lanes (ASTRA-SIM-1, section 2).
    """

    word: str
    name: str
    hops: Callable[[int, int], int]
    links: Callable[[int], int]
    lanes: int


BLOCKS: tuple[Block, ...] = (
    Block("ring", "Ring", hops=lambda size, distance: min(distance, size - distance), links=lambda _: 2, lanes=2),
    Block("switch", "Switch", hops=lambda _, __: 2, links=lambda _: 1, lanes=1),
    Block("fully_connected", "FullyConnected", hops=lambda _, __: 1, links=lambda size: size - 1, lanes=1),
)

BY_WORD: dict[str, Block] = {block.word: block for block in BLOCKS}
BY_NAME: dict[str, Block] = {block.name: block for block in BLOCKS}
