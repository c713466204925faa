"""A collective becomes chunks, and a chunk a row of phases.

docs/simulators/astra-sim-2.md, sections 3.1, 3.2 and 3.5. A phase is one algorithm on one logical ring: a dimension,
all ranks (`one*`), or a communicator group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.algorithms import IN_GROUPS, Named, by_word_2
from astrac.simulators.algorithms.row import LogicalRing, Phase, Sizes
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.blocks import names_2
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from astrac.job import Collective, Group, Job, Machine
    from astrac.simulators.astra_sim_2.simulate.network import Network


def algorithm(word: str) -> Named:
    """What a word means; raises `Broken` for one that the simulator does not know."""
    found = by_word_2(word)
    if found is None:
        raise Broken(f"`{word}` is no collective algorithm: the simulator stops")
    return found


@dataclass(frozen=True, slots=True)
class CollectiveSchedule:
    """What one collective is to its members.

    Attributes:
        kind: of the collective; variants of an algorithm take turns for each kind by itself.
        count: chunks, each charged in full.
        phases: of every chunk, in order.
    """

    kind: Kind
    count: int
    phases: tuple[Phase, ...]

    @property
    def listed(self) -> bool:
        """Whether its members are a communicator group."""
        return self.phases[0].ring.listed

    @property
    def turns(self) -> tuple[int, ...]:
        """Levels of the phases whose algorithms have variants, in order: each takes the level's next one."""
        return tuple(phase.level for phase in self.phases if phase.algorithm.turns > 1)


def chunks(machine: Machine, kind: Kind, size: int) -> tuple[int, int]:
    """How many chunks there are, and the bytes that each is charged (section 3.1)."""
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


def _rings(network: Network, words: tuple[Named, ...]) -> list[LogicalRing]:
    """The logical ring at each entry of an implementation list; what follows a `one*` is not looked at."""
    rings: list[LogicalRing] = []
    for level, word in enumerate(words):
        if word.whole:
            return [*rings, LogicalRing(network.npus)]
        rings.append(LogicalRing(network.sizes[level], network.strides[level]))
    return rings


def _implementation(machine: Machine, kind: Kind) -> tuple[Named, ...]:
    words = machine.algorithms.get(kind, ())
    if not words:
        raise Broken(f"no implementation is listed for {kind.name}: the simulator aborts")
    return tuple(algorithm(word) for word in words)


def schedule_of(
    network: Network, kind: Kind, size: int, involved: tuple[bool, ...], members: tuple[int, ...]
) -> CollectiveSchedule:
    """The chunks and phases of one collective.

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
        words = words if len(words) == 1 else (Named(IN_GROUPS),)
        levels = [(0, words[0], LogicalRing(len(members), 1, members))]
    else:
        involved = tuple(True for _ in words) if members else involved
        levels = [
            (level, word, ring)
            for level, (word, ring, on) in enumerate(zip(words, _rings(network, words), involved, strict=False))
            if on
        ]
    levels = [entry for entry in levels if entry[2].size > 1]
    if not levels:
        raise Broken.collective(f"{kind.name} involves no other rank: it never completes")
    _refuse(network, kind, words, levels)
    count, chunk = chunks(network.machine, kind, size)
    phases = []
    for level, word, ring, step, returning in _route(network.machine, kind, levels):
        phases.append(Phase(step, word.row, word.window, ring, level, chunk, returning))
        chunk = phases[-1].final_size
    return CollectiveSchedule(kind, count, tuple(phases))


def _route(
    machine: Machine, kind: Kind, levels: list[tuple[int, Named, LogicalRing]]
) -> list[tuple[int, Named, LogicalRing, Kind, bool]]:
    """Which phases there are, in which order (section 3.2)."""
    if kind is not Kind.ALL_REDUCE or machine.optimization == "baseline":
        ordered = levels[::-1] if kind is Kind.ALL_GATHER else levels
        return [(*entry, kind, False) for entry in ordered]
    return [
        *((*entry, Kind.REDUCE_SCATTER, False) for entry in levels[:-1]),
        (*levels[-1], Kind.ALL_REDUCE, False),
        *((*entry, Kind.ALL_GATHER, True) for entry in levels[-2::-1]),
    ]


def _refuse(
    network: Network, kind: Kind, words: tuple[Named, ...], levels: list[tuple[int, Named, LogicalRing]]
) -> None:
    """Raises `Broken` for what breaks whatever the sizes and times are (section 6)."""
    machine = network.machine
    if machine.active_chunks < 1 or machine.queues < 1:
        raise Broken(
            "active-chunks-per-dimension and --num-queues-per-dim must be at least 1: no chunk ever starts",
            Outcome.HANG,
        )
    for level, word, ring in levels:
        row = word.row
        name = row.words.astra_sim_2
        if word.window is not None and word.window < 1:
            raise Broken.collective(f"{name}{word.window} never sends: the collective never completes")
        if row.runs(kind) not in row.kinds:
            raise Broken(f"{name} has no {kind.name.lower().replace('_', '-')}: the simulator stops")
        if row.dimensions_only and ring.listed:
            raise Broken(f"{name} in a communicator group: the simulator crashes")
        if row.sizes is Sizes.CRASHES and not row.sizes.admit(ring.size):
            raise Broken(f"{name} on {ring.size} ranks, which is no power of two: the simulator crashes")
        if row.dimensions_only and level == len(words) - 1 and level < len(network.sizes) - 1:
            raise Broken(f"{name} as last entry of a list shorter than the dimensions: the simulator crashes")


MAX_RANKS = 1 << 20
"""More ranks than any run of the simulator has; a Job of more is not played."""


def startup(machine: Machine) -> None:
    """Raises `Broken` for what aborts the simulator before its first tick, whatever the traces hold."""
    for number, dimension in enumerate(machine.dimensions):
        if dimension.block not in names_2():
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


def communicator(job: Job, group: Group, rank: int) -> tuple[int, ...]:
    """A rank's communicator group, in listed order; () for a group that is given by dimensions."""
    return job.members(group, rank) if group.dimensions is None else ()


def schedule_of_node(job: Job, network: Network, op: Collective, rank: int) -> CollectiveSchedule:
    """What a rank's collective is; raises `Broken` when it never completes whatever its members do."""
    return schedule_of(network, op.kind, op.bytes, op.group.dimensions or (), communicator(job, op.group, rank))
