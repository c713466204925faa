"""The logical dimensions that a collective walks (docs/simulators/astra-sim-1.md, sections 1 and 2).

One is a group of NPUs in a row: a whole dimension, a part of one that a transformer's group has split, or - for the
`one*` words - all NPUs in one flat row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.algorithms import Named, by_word_1
from astrac.simulators.astra_sim_1.job import TRANSFORMERS, TextDimension, TextJob, TextNetwork
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.network import message_time
from astrac.simulators.blocks import Symmetry, by_name_1

if TYPE_CHECKING:
    from collections.abc import Mapping


def _symmetry(dimension: TextDimension) -> Symmetry:
    return by_name_1(dimension.block).symmetry


@dataclass(frozen=True, slots=True)
class LogicalDimension:
    """A row of NPUs that one phase of a collective works on.

    Attributes:
        level: the dimension's index, and so its queue.
        size: NPUs in the row.
        stride: between neighbours, in coordinates of `dimensions[0]`.
        dimensions: the physical dimensions it lies in: one, or all when it is flat.
        algorithm: how it works.
    """

    level: int
    size: int
    stride: int
    dimensions: tuple[TextDimension, ...]
    algorithm: Named

    @property
    def symmetric(self) -> bool:
        """Whether all members see the same distances, so that one stands for all."""
        dimension = self.dimensions[0]
        whole = _symmetry(dimension) is Symmetry.SHIFTS and self.stride * self.size == dimension.size
        return len(self.dimensions) == 1 and (whole or _symmetry(dimension) is Symmetry.PAIRS)

    @property
    def equidistant(self) -> bool:
        """Whether all pairs are equally far apart."""
        return len(self.dimensions) == 1 and _symmetry(self.dimensions[0]) is Symmetry.PAIRS

    def time(self, source: int, target: int, size: int) -> float:
        """Ns of a message of `size` bytes between two members, by their index in the row.

        Only the highest dimension in which they differ counts.
        """
        if len(self.dimensions) == 1:
            return message_time(self.dimensions[0], source * self.stride, target * self.stride, size)
        dimension, ends = self.dimensions[0], (0, 0)
        for candidate in self.dimensions:
            source, low_source = divmod(source, candidate.size)
            target, low_target = divmod(target, candidate.size)
            if low_source != low_target:
                dimension, ends = candidate, (low_source, low_target)
        return message_time(dimension, *ends, size)

    def neighbour_times(self, size: int) -> tuple[float, ...]:
        """Ns from each member's predecessor to it; one entry when all are equal."""
        if self.symmetric:
            return (self.time(0, 1, size),)
        if len(self.dimensions) > 1 and all(_symmetry(dimension) is not Symmetry.NONE for dimension in self.dimensions):
            steps = {message_time(dimension, 0, 1, size) for dimension in self.dimensions}
            if len(steps) == 1:
                return (steps.pop(),)
        times = tuple(self.time(member - 1 if member else self.size - 1, member, size) for member in range(self.size))
        return times[:1] if len(set(times)) == 1 else times


@dataclass(frozen=True, slots=True)
class Split:
    """The dimension that a transformer's group cuts in two: `level` becomes `inner` x `outer` NPUs."""

    level: int
    inner: int
    outer: int


def boundary(network: TextNetwork, group: int) -> tuple[int, Split | None]:
    """The last model-parallel level of a group of `group` NPUs (-1: none), and the split that it needs.

    The sizes are multiplied until the group is reached; a dimension that overshoots is split.
    """
    before = 1
    if group < 1:
        raise SimulationError(Fault.GROUP, f"a group of {group} NPUs")
    if group == 1:
        return -1, None
    for level, dimension in enumerate(network.dimensions):
        if before * dimension.size == group:
            return level, None
        if before * dimension.size > group:
            inner, rest = divmod(group, before)
            if rest or dimension.size % inner:
                raise SimulationError(
                    Fault.GROUP,
                    f"a group of {group} NPUs is not {before} x a divisor of the {dimension.size} of dimension {level}",
                )
            return level, Split(level, inner, dimension.size // inner)
        before *= dimension.size
    raise SimulationError(Fault.GROUP, f"a group of {group} NPUs is larger than the {network.npus} NPUs")


def logical_dimensions(job: TextJob) -> Mapping[Kind, tuple[LogicalDimension, ...]]:
    """For each kind of collective its dimensions, by level; levels without a word have none."""
    split = boundary(job.network, job.workload.extras.group)[1] if job.workload.policy in TRANSFORMERS else None
    return {kind: _of_kind(job.network, job.system.words(kind), split, kind) for kind in IMPLEMENTED}


def _of_kind(
    network: TextNetwork, words: tuple[str, ...], split: Split | None, kind: Kind
) -> tuple[LogicalDimension, ...]:
    algorithms = [_known(word) for word in words]
    if len(words) > len(network.dimensions):
        raise SimulationError(Fault.WORDS, f"{len(words)} words for {len(network.dimensions)} dimensions ({kind.name})")
    if split is not None:
        if len(words) <= split.level:
            reason = f"the group splits dimension {split.level}, for which {kind.name} has no word of its own"
            raise SimulationError(Fault.WORDS, reason)
        algorithms.insert(split.level, algorithms[split.level])
    if algorithms[0].whole:
        return (_flat(network, algorithms[0]),)
    if any(algorithm.whole for algorithm in algorithms):
        raise SimulationError(Fault.WORDS, f"a `one*` word must be the only one ({kind.name})")
    if len(words) < len(network.dimensions) and algorithms[-1].row.dimensions_only:
        # The tree of the last word starts at the NPU's rank modulo the stride: outer NPUs are not in it.
        raise SimulationError(Fault.WORDS, f"the last word is a tree, for which all dimensions need one ({kind.name})")
    rows = _rows(network, split)
    return tuple(
        LogicalDimension(level, size, stride, (dimension,), algorithm)
        for level, ((dimension, size, stride), algorithm) in enumerate(zip(rows, algorithms, strict=False))
    )


def _rows(network: TextNetwork, split: Split | None) -> list[tuple[TextDimension, int, int]]:
    """Dimension, NPUs and stride of each level."""
    rows = [(dimension, dimension.size, 1) for dimension in network.dimensions]
    if split is not None:
        dimension = network.dimensions[split.level]
        rows[split.level : split.level + 1] = [(dimension, split.inner, 1), (dimension, split.outer, split.inner)]
    return rows


def _flat(network: TextNetwork, algorithm: Named) -> LogicalDimension:
    dimensions = tuple(dimension for dimension in network.dimensions if dimension.size > 1)
    return LogicalDimension(0, prod(d.size for d in dimensions), 1, dimensions or network.dimensions[:1], algorithm)


def _known(word: str) -> Named:
    found = by_word_1(word)
    if found is None:
        raise SimulationError(Fault.WORDS, f"`{word}` is not an algorithm")
    if found.window == 0:
        raise SimulationError(Fault.SETTING, f"`{word}` keeps no message in flight: nothing is ever sent")
    return found
