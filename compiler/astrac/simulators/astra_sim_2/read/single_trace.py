"""One trace by itself, without the machine that it is for: what does not need to know how many NPUs there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed
from astrac.job import IMPLEMENTED, Axis, Box, Dimension, Job, ListedGroup, Machine, RankClass
from astrac.simulators.astra_sim_2 import chakra
from astrac.simulators.astra_sim_2.read.decode import Decoder

if TYPE_CHECKING:
    from astrac.diagnostics import Diagnostic
    from astrac.source import Source

MANY = 1 << 31
"""NPUs, when nobody says how many: every peer that an id can name is one of them."""


def read_single(data: bytes, rank: int | None, source: Source) -> tuple[Job | None, tuple[Diagnostic, ...]]:
    """A Job of one rank, None when the trace is broken, and what is wrong with it.

    Args:
        data: the bytes.
        rank: whose trace it is, None when its name does not tell: then its sends do.
        source: what it is called.
    """
    seen = _Seen(data)
    rank = seen.rank if rank is None else rank
    machine = _machine(seen.dimensions)
    decoder = Decoder(machine, _AnyGroup())
    result = decoder.trace(data, rank, source)
    found = (*result.diagnostics, *decoder.remarks())
    if result.value is None:
        return None, found
    axes = (Axis("dim0", 1, MANY), *(Axis(f"dim{at}", MANY, 1) for at in range(1, len(machine.dimensions))))
    here = Box(((rank,), *((0,) for _ in axes[1:])))
    return Job("trace", machine, axes, (result.value.program,), (RankClass(0, (here,)),)), found


class _Seen:
    """What the nodes say about the machine: the number of dimensions, and who sends."""

    def __init__(self, data: bytes) -> None:
        lengths: Counter[int] = Counter()
        senders: Counter[int] = Counter()
        try:
            parsed = [chakra.parse("Node", message) for message in chakra.messages(data)[1:]]
        except Diagnosed:
            parsed = []
        for node in (node for node in parsed if node is not None):
            for attribute in node.attr:
                if attribute.name == "involved_dim":
                    lengths[len(attribute.bool_list.values)] += 1
                elif attribute.name == "comm_src" and node.type == chakra.SEND:
                    senders[attribute.int64_val] += 1
        self.dimensions = min(16, max(1, _most(lengths, 1)))
        self.rank = max(0, _most(senders, 0))


def _most(counts: Counter[int], otherwise: int) -> int:
    return counts.most_common(1)[0][0] if counts else otherwise


def _machine(dimensions: int) -> Machine:
    sizes = (MANY, *(1,) * (dimensions - 1))
    words = dict.fromkeys(IMPLEMENTED, ("ring",) * dimensions)
    return Machine(tuple(Dimension("Switch", size, 1.0, 0.0) for size in sizes), words, 1)


class _AnyGroup(dict[int, ListedGroup]):
    """A group file that has every group."""

    def get(self, key: int, default: Any = None) -> Any:
        """A group by this id, of two NPUs that nobody asks about."""
        del default
        return ListedGroup(key, (0, 1))
