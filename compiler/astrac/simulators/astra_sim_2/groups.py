"""Groups <-> communicator groups of comm_groups.json: ids from 1, no singletons, none unused.

A rank's group id follows from its coordinates: the members of an AxisGroup share one leader, the member whose
coordinates in the group's axes are the lowest, and leaders are numbered in ascending order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.job import AxisGroup, Collective, ListedGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.job import Group, Job


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
        """The id of a rank's group, None when its trace names dimensions instead."""
        if isinstance(group, ListedGroup):
            return group.id
        if group.dimensions is not None:
            return None
        return self.leaders[group][self.job.leader(group, rank)]


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
        for leader in sorted({job.leader(group, rank) for rank in _users(job, programs)}):
            # The same ranks by another name are the same communicator.
            of_group[leader] = ids.setdefault(job.members(group, leader), free)
            free = max(free, of_group[leader] + 1)
    return Numbering(job, ids, leaders)


def _users(job: Job, programs: list[int]) -> Iterator[int]:
    for members_of_class in job.classes:
        if members_of_class.program in programs:
            yield from job.ranks(members_of_class)
