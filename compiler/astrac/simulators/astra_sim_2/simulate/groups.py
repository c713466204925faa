"""Who takes part in a collective: `job.Group` as ranks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from astrac.job import ListedGroup
from astrac.simulators.astra_sim_2.simulate.network import Broken

if TYPE_CHECKING:
    from astrac.job import Group, Job


def involved(group: Group) -> tuple[bool, ...] | None:
    """The `involved_dim` list of a collective's node, None when it names a communicator group."""
    return None if isinstance(group, ListedGroup) else group.dimensions


def members(job: Job, group: Group, rank: int) -> tuple[int, ...]:
    """The ranks of a rank's group: in listed order, or ascending for the axes of a Job."""
    if isinstance(group, ListedGroup):
        return group.members
    axes = [job.axis(name) for name in reversed(group.axes)]
    if group.only and not all(0 <= at < axes[0].size for at in group.only):
        raise Broken(f"a group of `{axes[0].name}` chooses coordinates {group.only} of {axes[0].size}")
    base = rank - sum(axis.coordinate(rank) * axis.stride for axis in axes)
    digits = [[at * axis.stride for at in (group.only or range(axis.size))] for axis in axes]
    return tuple(base + sum(offsets) for offsets in product(*digits))


def programs_of_ranks(job: Job) -> list[int]:
    """The index of each rank's Program: the one place where a Job is spread out over its ranks."""
    programs = [-1] * job.machine.npus
    for ranks in job.classes:
        for rank in job.ranks(ranks):
            programs[rank] = ranks.program
    return programs
