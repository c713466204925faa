"""A Job: everything that the simulator will see, whoever wrote it.

`machine` holds every number as the simulator reads it: doubles and integers in its own wire units. A simulator's
`lower` makes it from a Plan, its `read` from any folder of ASTRA-sim's files. Nothing here has the length of the number
of ranks when the ranks come from a Plan: ranks that act alike share a Program.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from itertools import accumulate, product
from math import inf, prod
from operator import mul
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from astrac.score import Score

NETWORK_GB = 1 << 30
"""Bytes in the "GB" of a network's bandwidth; memories count in 1e9 (docs/simulators/astra-sim-2.md, section 2)."""


def bytes_per_ns(bandwidth: float) -> float:
    """Converts a network's "GB/s" in the simulators' own order of operations: `bandwidth x 2^30 / 10^9`."""
    return bandwidth * NETWORK_GB / 1_000_000_000


def roofline_ns(num_ops: int, tensor_size: int, peak_performance: float, local_mem_bandwidth: float) -> float:
    """The time that ASTRA-sim 2.x gives a compute node in roofline mode, before it cuts it off to whole nanoseconds.

    Both numbers become doubles before they are divided, as `Workload::issue_comp` does it: above 2^53 the quotient of
    the exact integers would be another double. `Roofline::get_perf` takes min(bandwidth x intensity, peak)
    (docs/simulators/astra-sim-2.md, section 4).

    Args:
        num_ops: FLOPs, at least 1.
        tensor_size: bytes, at least 1.
        peak_performance: `peak-perf` of system.json, 1e12 FLOP per second, above 0.
        local_mem_bandwidth: `local-mem-bw` of system.json, 1e9 bytes per second, above 0.

    Returns:
        Nanoseconds; infinite where the performance is too small for a double.
    """
    operations = float(num_ops)
    intensity = operations / float(tensor_size)
    performance = min(local_mem_bandwidth * 1e9 * intensity, peak_performance * 1e12)
    return operations / performance * 1e9 if performance else inf


class Kind(IntEnum):
    """Collectives, by their number in Chakra's `CollectiveCommType`."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


IMPLEMENTED: tuple[Kind, ...] = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL)
"""Kinds with an `*-implementation` list in system.json."""


class MemoryType(Enum):
    """`memory-type` of memory.json."""

    NONE = "NO_MEMORY_EXPANSION"
    PER_NPU = "PER_NPU_MEMORY_EXPANSION"
    PER_NODE = "PER_NODE_MEMORY_EXPANSION"
    POOL = "MEMORY_POOL"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One entry of each list of network.yml.

    Attributes:
        block: `Ring`, `FullyConnected` or `Switch`.
        size: NPUs.
        bandwidth: what the file says, in ASTRA-sim's "GB/s" of `NETWORK_GB` bytes; see `bytes_per_ns`.
        latency: ns a hop.
    """

    block: str
    size: int
    bandwidth: float
    latency: float


@dataclass(frozen=True, slots=True)
class RemoteMemory:
    """memory.json. `bandwidth` in bytes per ns (1 GB = 1e9), `latency` in ns; the simulator reads integers."""

    type: MemoryType = MemoryType.NONE
    latency: int = 0
    bandwidth: int = 0
    nodes: int = 0
    npus_per_node: int = 0


@dataclass(frozen=True)
class Machine:
    """network.yml, system.json and memory.json.

    Attributes:
        dimensions: innermost first.
        algorithms: for each kind of `IMPLEMENTED` that the system file lists, its words, one a dimension.
        splits: `preferred-dataset-splits`.
        active_chunks: `active-chunks-per-dimension`.
        optimization: `localBWAware` or `baseline`.
        scheduling: `LIFO` or `FIFO`.
        endpoint_delay: ns, None when absent (then 10).
        local_mem_bandwidth: `local-mem-bw` in 1e9 bytes per second, None when absent.
        peak_performance: `peak-perf` in 1e12 FLOP per second, None when absent.
        roofline: compute nodes are priced by `num_ops` and `tensor_size`, else by their duration.
        replay_only: every node replays its duration.
        memory: the remote memory.
        queues: `--num-queues-per-dim`.
    """

    dimensions: tuple[Dimension, ...]
    algorithms: dict[Kind, tuple[str, ...]]
    splits: int
    active_chunks: int = 1
    optimization: str = "localBWAware"
    scheduling: str = "LIFO"
    endpoint_delay: int | None = 10
    local_mem_bandwidth: float | None = None
    peak_performance: float | None = None
    roofline: bool = False
    replay_only: bool = False
    memory: RemoteMemory = RemoteMemory()
    queues: int = 1

    @cached_property
    def npus(self) -> int:
        """The number of ranks: the product of the dimensions."""
        return prod(dimension.size for dimension in self.dimensions)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """An axis a dimension: `dim0`, `dim1`, ..., innermost first."""
        strides = accumulate((dimension.size for dimension in self.dimensions), mul, initial=1)
        return tuple(
            Axis(f"dim{at}", stride, dimension.size)
            for at, (dimension, stride) in enumerate(zip(self.dimensions, strides, strict=False))
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """A named digit of the rank number: `coordinate = rank // stride % size`.

    The axes of a Job, innermost first, multiply to the NPU count. A foreign bundle has one axis a network dimension
    (`dim0`, `dim1`, ...). The name `rank` always means the whole rank number as one digit.
    """

    name: str
    stride: int
    size: int

    def coordinate(self, rank: int) -> int:
        """The digit of a rank."""
        return rank // self.stride % self.size

    def peer(self, rank: int, offset: int) -> int:
        """The rank `offset` further along this axis, modulo its size."""
        here = self.coordinate(rank)
        return rank + ((here + offset) % self.size - here) * self.stride

    def offset(self, distance: int) -> int:
        """The one form of a distance along this axis: the shorter way round, forwards when both are equal."""
        distance %= self.size
        return distance if 2 * distance <= self.size else distance - self.size


@dataclass(frozen=True, slots=True)
class AxisGroup:
    """The ranks that differ from me in these axes only.

    Attributes:
        axes: names, in the order of the Job's axes.
        only: for one axis, the coordinates that take part (tied embeddings: first and last stage); () = all of them.
        dimensions: what the trace says: an `involved_dim` list, or None for a communicator group (`pg_name`). A list
            decides alone who takes part; the axes are then its name.
    """

    axes: tuple[str, ...]
    only: tuple[int, ...] = ()
    dimensions: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A communicator group of a foreign bundle: its id in the group file and its members in listed order."""

    id: int
    members: tuple[int, ...]
    dimensions: ClassVar[None] = None


Group: TypeAlias = AxisGroup | ListedGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """What every node has.

    Attributes:
        id: unique in the Program, ascending.
        name: for people.
        data, control: ids that must have ended before.
        host: runs on the host slot (`is_cpu_op` true).
    """

    id: int
    name: str = ""
    data: tuple[int, ...] = ()
    control: tuple[int, ...] = ()
    host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(Op):
    """Device (or host) work.

    Attributes:
        num_ops, tensor_size: what the roofline formula gets; see `roofline_ns`.
        duration: whole microseconds, for replay.
        flops, bytes: the true work, for totals; equal to `num_ops`, `tensor_size` unless the formula had to be steered.
    """

    num_ops: int = 0
    tensor_size: int = 0
    duration: int = 0
    flops: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective(Op):
    """`bytes` is `comm_size`: the full buffer, for ALL_GATHER the shard. `duration` (us) serves replay, BROADCAST."""

    kind: Kind
    bytes: int
    group: Group
    duration: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(Op):
    """A message to the rank whose coordinate in `axis` is mine + `offset` (modulo its size); see `Axis.offset`."""

    axis: str
    offset: int
    bytes: int
    tag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receive(Op):
    """A message from the rank whose coordinate in `axis` is mine + `offset` (modulo its size); see `Axis.offset`."""

    axis: str
    offset: int
    bytes: int
    tag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Op):
    """Brings bytes from the remote memory."""

    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Op):
    """Takes bytes to the remote memory."""

    bytes: int


@dataclass(frozen=True)
class Program:
    """The trace of a rank, with peers and groups named relative to it; ops in ascending order of id.

    Attributes:
        ops: the nodes; with a score, those of a sample.
        score: how the sample makes the whole run; None where `ops` are all there are.
        nodes: for each step of the sample, the index of its node; () without a score.
        shift: what is to be added to the tags of its messages to and from other stages: programs that are alike share
            their nodes.
    """

    ops: tuple[Op, ...]
    score: Score | None = None
    nodes: tuple[int, ...] = ()
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """A set of ranks: for each axis of the Job the coordinates allowed, None = all."""

    coordinates: tuple[tuple[int, ...] | None, ...]

    @classmethod
    def of(cls, axes: Iterable[Axis], rank: int) -> Box:
        """One rank, by the axes of its Job."""
        return cls(tuple((axis.coordinate(rank),) for axis in axes))

    def holds(self, point: Sequence[int]) -> bool:
        """Whether a rank is in it, given by its coordinates on the Job's axes."""
        return all(allowed is None or at in allowed for at, allowed in zip(point, self.coordinates, strict=True))


@dataclass(frozen=True)
class RankClass:
    """Ranks that run one Program: the union of disjoint boxes."""

    program: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Job:
    """The machine and what its ranks do.

    Attributes:
        name: of the traces' files.
        machine: see there.
        axes: digits of the rank number, innermost first.
        programs: distinct ones.
        classes: disjoint; together they are all ranks.
        backend: that it is meant for; None where nobody said.
    """

    name: str
    machine: Machine
    axes: tuple[Axis, ...]
    programs: tuple[Program, ...]
    classes: tuple[RankClass, ...]
    backend: str | None = None

    def axis(self, name: str) -> Axis:
        """The axis of a name; `rank` is the whole rank number."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Axis]:
        return {axis.name: axis for axis in (*self.axes, Axis("rank", 1, self.machine.npus))}

    def ranks(self, members: RankClass) -> Iterator[int]:
        """The ranks of a class, box by box, ascending in each."""
        outermost_first = self.axes[::-1]
        for box in members.boxes:
            digits = [
                [coordinate * axis.stride for coordinate in (range(axis.size) if allowed is None else allowed)]
                for axis, allowed in zip(outermost_first, box.coordinates[::-1], strict=True)
            ]
            yield from map(sum, product(*digits))

    @cached_property
    def program_of(self) -> tuple[int, ...]:
        """The index of each rank's Program: the one place where a Job is spread out over its ranks."""
        programs = [-1] * self.machine.npus
        for members in self.classes:
            for rank in self.ranks(members):
                programs[rank] = members.program
        return tuple(programs)

    def members(self, group: Group, rank: int) -> tuple[int, ...]:
        """The ranks of the group that a rank means: in listed order, else ascending.

        The rank itself is among them unless the group's `only` or list leaves it out.
        """
        if isinstance(group, ListedGroup):
            return group.members
        found = [rank]
        for stride, size, taking_part in self._digits(group):
            found = [one + (at - one // stride % size) * stride for one in found for at in taking_part]
        return tuple(found)

    def size(self, group: Group) -> int:
        """How many members a group has."""
        if isinstance(group, ListedGroup):
            return len(group.members)
        return prod(len(taking_part) for _, _, taking_part in self._digits(group))

    def leader(self, group: Group, rank: int) -> int:
        """The first of a rank's `members`: it names the group among those that one AxisGroup stands for."""
        if isinstance(group, ListedGroup):
            return group.members[0]
        for stride, size, taking_part in self._digits(group):
            rank += (taking_part[0] - rank // stride % size) * stride
        return rank

    def _digits(self, group: AxisGroup) -> tuple[tuple[int, int, Sequence[int]], ...]:
        """The digits of the rank number in which members differ, outermost first: stride, size, who takes part."""
        if group not in self._known_digits:
            if group.dimensions is None:
                axes = sorted(map(self.axis, group.axes), key=lambda axis: -axis.stride)
                chosen = tuple(sorted(group.only))
                found = [(axis.stride, axis.size, chosen or range(axis.size)) for axis in axes]
            else:
                whole = [axis for axis, involved in zip(self.machine.axes, group.dimensions, strict=False) if involved]
                found = [(axis.stride, axis.size, range(axis.size)) for axis in reversed(whole)]
            self._known_digits[group] = tuple(found)
        return self._known_digits[group]

    @cached_property
    def _known_digits(self) -> dict[AxisGroup, tuple[tuple[int, int, Sequence[int]], ...]]:
        return {}
