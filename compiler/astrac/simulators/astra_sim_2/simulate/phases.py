"""ASTRA-SIM-2 sections 3.1, 3.2 and 3.5: a collective becomes chunks, and a chunk a row of phases.

A phase is one algorithm on one logical ring (a `Circle`): a dimension, all ranks (`one*`), or a communicator group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.blocks import BY_NAME
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from astrac.job import Machine
    from astrac.simulators.astra_sim_2.simulate.network import Network


class Family(Enum):
    """The algorithms, whatever ring they run on."""

    RING = "ring"
    DIRECT = "direct"
    HALVING = "halvingDoubling"
    TREE = "doubleBinaryTree"


class Algorithm(NamedTuple):
    """A word of an `*-implementation` list.

    Attributes:
        family: what it does.
        window: sends in flight of `directW`; None = as many as there are peers.
        whole: one ring over all ranks (`one*`).
    """

    family: Family
    window: int | None = None
    whole: bool = False


_WORDS = {
    "ring": Algorithm(Family.RING),
    "oneRing": Algorithm(Family.RING, whole=True),
    "doubleBinaryTree": Algorithm(Family.TREE),
    "halvingDoubling": Algorithm(Family.HALVING),
    "oneHalvingDoubling": Algorithm(Family.HALVING, whole=True),
    "direct": Algorithm(Family.DIRECT),
    "oneDirect": Algorithm(Family.DIRECT, whole=True),
}
_WINDOWED = re.compile(r"(direct|oneDirect)(?=.)\s*([+-]?\d+)")


def algorithm(word: str) -> Algorithm:
    """What a word means; raises `Broken` for one that the simulator does not know.

    `directW` reads at most five characters as a number, whatever follows; -1 is no window.
    """
    if word in _WORDS:
        return _WORDS[word]
    windowed = _WINDOWED.match(word[: (14 if word.startswith("one") else 11)])
    if windowed is None:
        raise Broken(f"`{word}` is no collective algorithm: the simulator stops")
    window = int(windowed[2])
    return _WORDS[windowed[1]]._replace(window=None if window == -1 else window)


@dataclass(frozen=True, slots=True)
class Circle:
    """A logical ring of ranks.

    Attributes:
        size: members.
        stride: from one member's rank to the next; for listed members 1, between indices.
        members: ranks in listed order, of a communicator group; () otherwise.
    """

    size: int
    stride: int = 1
    members: tuple[int, ...] = ()

    def index(self, rank: int) -> int:
        """Of a member."""
        return self.members.index(rank) if self.members else rank // self.stride % self.size

    def rank(self, of: int, index: int) -> int:
        """The member at an index (modulo the size) of the ring that rank `of` is in."""
        if self.members:
            return self.members[index % self.size]
        return of + (index % self.size - self.index(of)) * self.stride

    @property
    def listed(self) -> bool:
        """Whether it is a communicator group: such a ring is `Local` to the simulator."""
        return bool(self.members)


@dataclass(frozen=True, slots=True)
class Phase:
    """One algorithm at work on one chunk.

    Attributes:
        kind: what it does there; the reduce-scatter of an all-reduce for example.
        algorithm: how.
        circle: among whom.
        level: whose dimension's queue it waits in.
        size: bytes at its start.
        returning: the all-gather half of an all-reduce, which goes round the other way.
    """

    kind: Kind
    algorithm: Algorithm
    circle: Circle
    level: int
    size: int
    returning: bool = False

    @property
    def final_size(self) -> int:
        """Bytes that the next phase starts with. A tree always runs an all-reduce."""
        if self.algorithm.family is Family.TREE:
            return self.size
        if self.kind is Kind.REDUCE_SCATTER:
            return self.size // self.circle.size
        return self.size * self.circle.size if self.kind is Kind.ALL_GATHER else self.size

    @property
    def message(self) -> int:
        """Bytes of each message of the ring and direct algorithms."""
        return self.size if self.kind is Kind.ALL_GATHER else self.size // self.circle.size


@dataclass(frozen=True, slots=True)
class Course:
    """What one collective is to its members.

    Attributes:
        kind: of the collective; a tree's alternation is counted for each kind.
        count: chunks, each charged in full.
        phases: of every chunk, in order.
    """

    kind: Kind
    count: int
    phases: tuple[Phase, ...]

    @property
    def trees(self) -> tuple[int, ...]:
        """Levels of the phases that are trees, in order: each takes the next of the level's two trees."""
        return tuple(phase.level for phase in self.phases if phase.algorithm.family is Family.TREE)


def chunks(machine: Machine, kind: Kind, size: int) -> tuple[int, int]:
    """Section 3.1: how many chunks, and the bytes that each is charged."""
    if size < 0:
        raise Broken.collective(f"comm_size {size} is negative: the collective never completes")
    if machine.splits < 1:
        raise Broken(f"preferred-dataset-splits is {machine.splits}: the simulator divides by it or loops for ever")
    chunk = size // machine.splits
    if kind is Kind.ALL_GATHER:
        if size == 0:
            raise Broken.collective("an all-gather of 0 bytes never completes")
        if chunk == 0:
            raise Broken(
                f"an all-gather of {size} bytes in {machine.splits} splits loops for ever: a chunk has 0 bytes"
            )
    elif chunk < machine.npus:
        chunk = machine.npus
        size = machine.splits * chunk
    return -(-size // chunk), chunk


def _circles(network: Network, words: tuple[Algorithm, ...]) -> list[Circle]:
    """The logical ring at each entry of an implementation list; what follows a `one*` is not looked at."""
    circles: list[Circle] = []
    for level, word in enumerate(words):
        if word.whole:
            return [*circles, Circle(network.npus)]
        circles.append(Circle(network.sizes[level], network.strides[level]))
    return circles


def _implementation(machine: Machine, kind: Kind) -> tuple[Algorithm, ...]:
    words = machine.algorithms.get(kind, ())
    if not words:
        raise Broken(f"no implementation is listed for {kind.name}: the simulator aborts")
    return tuple(algorithm(word) for word in words)


def course(network: Network, kind: Kind, size: int, involved: tuple[bool, ...], members: tuple[int, ...]) -> Course:
    """Sections 3.1, 3.2 and 3.5 for one collective.

    Args:
        network: of the machine.
        kind: one of `job.IMPLEMENTED`.
        size: `comm_size`.
        involved: `involved_dim`; a dimension past its end is not involved. Ignored for a communicator group.
        members: of a communicator group, in listed order; () for the whole machine. A group that names as many ranks
            as there are is the whole machine.

    Raises:
        Broken: when the simulator would crash or never finish whatever the members do.
    """
    words = _implementation(network.machine, kind)
    if members and len(members) != network.npus:
        words = words if len(words) == 1 else (Algorithm(Family.RING),)
        levels = [(0, words[0], Circle(len(members), 1, members))]
    else:
        involved = tuple(True for _ in words) if members else involved
        levels = [
            (level, word, circle)
            for level, (word, circle, on) in enumerate(zip(words, _circles(network, words), involved, strict=False))
            if on
        ]
    levels = [entry for entry in levels if entry[2].size > 1]
    if not levels:
        raise Broken.collective(f"{kind.name} involves no other rank: it never completes")
    _refuse(network, kind, words, levels)
    count, chunk = chunks(network.machine, kind, size)
    phases = []
    for level, word, circle, step, returning in _route(network.machine, kind, levels):
        phases.append(Phase(step, word, circle, level, chunk, returning))
        chunk = phases[-1].final_size
    return Course(kind, count, tuple(phases))


def _route(
    machine: Machine, kind: Kind, levels: list[tuple[int, Algorithm, Circle]]
) -> list[tuple[int, Algorithm, Circle, Kind, bool]]:
    """Section 3.2: which phases, in which order."""
    if kind is not Kind.ALL_REDUCE or machine.optimization == "baseline":
        ordered = levels[::-1] if kind is Kind.ALL_GATHER else levels
        return [(*entry, kind, False) for entry in ordered]
    return [
        *((*entry, Kind.REDUCE_SCATTER, False) for entry in levels[:-1]),
        (*levels[-1], Kind.ALL_REDUCE, False),
        *((*entry, Kind.ALL_GATHER, True) for entry in levels[-2::-1]),
    ]


def _refuse(
    network: Network, kind: Kind, words: tuple[Algorithm, ...], levels: list[tuple[int, Algorithm, Circle]]
) -> None:
    """Section 6: what breaks whatever the sizes and times are."""
    machine = network.machine
    if machine.active_chunks < 1 or machine.queues < 1:
        raise Broken(
            "active-chunks-per-dimension and --num-queues-per-dim must be at least 1: no chunk ever starts",
            Outcome.HANG,
        )
    for level, word, circle in levels:
        if word.window is not None and word.window < 1:
            raise Broken.collective(f"direct{word.window} never sends: the collective never completes")
        if word.family is Family.HALVING and kind is Kind.ALL_TO_ALL:
            raise Broken("halvingDoubling has no all-to-all: the simulator stops")
        if word.family is not Family.TREE:
            continue
        if circle.listed:
            raise Broken("doubleBinaryTree in a communicator group: the simulator crashes")
        if circle.size & (circle.size - 1):
            raise Broken(f"doubleBinaryTree on {circle.size} ranks, which is no power of two: the simulator crashes")
        if level == len(words) - 1 and level < len(network.sizes) - 1:
            raise Broken("doubleBinaryTree as last entry of a list shorter than the dimensions: the simulator crashes")


MAX_RANKS = 1 << 20
"""More ranks than any run of the simulator has; a Job of more is not played."""


def startup(machine: Machine) -> None:
    """Raises `Broken` for what aborts the simulator before its first tick, whatever the traces hold."""
    for number, dimension in enumerate(machine.dimensions):
        if dimension.block not in BY_NAME:
            raise Broken(f"topology `{dimension.block}` of dimension {number}: the simulator stops")
        if dimension.size < 2:
            raise Broken(f"npus_count {dimension.size} of dimension {number} is not above 1: the simulator stops")
        if not (0 < dimension.bandwidth < inf and 0 <= dimension.latency < inf):
            raise Broken(f"bandwidth and latency of dimension {number} must be positive: the simulator stops")
    if not machine.dimensions or machine.npus > MAX_RANKS:
        raise Broken(f"{machine.npus} ranks: not known", Outcome.UNKNOWN)
    for kind, words in machine.algorithms.items():
        for word in words:
            algorithm(word)
        if len(words) > len(machine.dimensions):
            raise Broken(f"{len(words)} algorithms for {kind.name} and fewer dimensions: the simulator aborts")
    if machine.endpoint_delay is not None and machine.endpoint_delay < 0:
        raise Broken(f"endpoint-delay {machine.endpoint_delay} is negative: the simulator aborts")
    for name, value in (("local-mem-bw", machine.local_mem_bandwidth), ("peak-perf", machine.peak_performance)):
        if value is not None and not 0 <= value < inf:
            raise Broken(f"{name} is {value}: times would be negative or no numbers")
    if machine.memory.latency < 0 or machine.memory.bandwidth < 0:
        raise Broken("the remote memory's latency and bandwidth must not be negative")
