"""Groups <-> communicator groups of comm_groups.json: ids from 1, no singletons, none unused.

A rank's group id follows from its coordinates: the members of an AxisGroup share one leader, the member whose
coordinates in the group's axes are the lowest, and leaders are numbered in ascending order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from astrac.job import AxisGroup, Collective, ListedGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from astrac.job import Axis, Group, Job


def members(axis: Callable[[str], Axis], group: AxisGroup, rank: int) -> tuple[int, ...]:
    """The ranks of a rank's group, ascending; `axis` knows axes by name."""
    axes = tuple(axis(name) for name in group.axes)
    base = rank - sum(axis.coordinate(rank) * axis.stride for axis in axes)
    digits = [
        [coordinate * axis.stride for coordinate in _coordinates(group, axis)]
        for axis in sorted(axes, key=lambda axis: -axis.stride)
    ]
    return tuple(base + sum(offsets) for offsets in product(*digits))


def _coordinates(group: AxisGroup, axis: Axis) -> tuple[int, ...] | range:
    """Which coordinates of an axis take part; `only` belongs to a group of a single axis."""
    return tuple(sorted(group.only)) if group.only else range(axis.size)


def used(job: Job) -> dict[Group, list[int]]:
    """Every group that a collective names, in order of appearance, and the programs that name it."""
    groups: dict[Group, list[int]] = {}
    for number, program in enumerate(job.programs):
        for op in program.ops:
            if isinstance(op, Collective) and number not in (users := groups.setdefault(op.group, [])):
                users.append(number)
    return groups


@dataclass(frozen=True)
class Numbering:
    """The communicator groups of a Job.

    Attributes:
        job: whose groups they are.
        ids: by members; what comm_groups.json says.
        leaders: for each AxisGroup that is a communicator group, the id by leader.
    """

    job: Job
    ids: Mapping[tuple[int, ...], int]
    leaders: Mapping[AxisGroup, Mapping[int, int]]

    def id(self, group: Group, rank: int) -> int | None:
        """Of a rank's group; None when the trace names dimensions instead."""
        if isinstance(group, ListedGroup):
            return group.id
        if group.dimensions is not None:
            return None
        return self.leaders[group][_leader(self.job, group, rank)]


def number(job: Job) -> Numbering:
    """Number the communicator groups of a Job, in order of first use and then of their lowest member."""
    groups = used(job)
    ids = {group.members: group.id for group in groups if isinstance(group, ListedGroup)}
    leaders: dict[AxisGroup, dict[int, int]] = {}
    free = max(ids.values(), default=0) + 1
    for group, programs in groups.items():
        if isinstance(group, ListedGroup) or group.dimensions is not None:
            continue
        of_group = leaders[group] = {}
        for leader in sorted({_leader(job, group, rank) for rank in _users(job, programs)}):
            # The same ranks by another name are the same communicator.
            of_group[leader] = ids.setdefault(members(job.axis, group, leader), free)
            free = max(free, of_group[leader] + 1)
    return Numbering(job, ids, leaders)


def _leader(job: Job, group: AxisGroup, rank: int) -> int:
    first = min(group.only, default=0)
    for name in group.axes:
        axis = job.axis(name)
        rank += (first - axis.coordinate(rank)) * axis.stride
    return rank


def _users(job: Job, programs: list[int]) -> Iterator[int]:
    for members_of_class in job.classes:
        if members_of_class.program in programs:
            yield from job.ranks(members_of_class)
