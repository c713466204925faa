"""Who takes part in a collective: `job.Group` as ranks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from astrac.job import ListedGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Box, Group, Job, Receive, Send


def involved(group: Group) -> tuple[bool, ...] | None:
    """The `involved_dim` list of a collective's node, None when it names a communicator group."""
    return None if isinstance(group, ListedGroup) else group.dimensions


def members(job: Job, group: Group, rank: int) -> tuple[int, ...]:
    """The ranks of a rank's group: in listed order, or ascending for the axes of a Job."""
    if isinstance(group, ListedGroup):
        return group.members
    axes = [job.axis(name) for name in reversed(group.axes)]
    base = rank - sum(axis.coordinate(rank) * axis.stride for axis in axes)
    digits = [[at * axis.stride for at in (group.only or range(axis.size))] for axis in axes]
    return tuple(base + sum(offsets) for offsets in product(*digits))


def peer(job: Job, rank: int, op: Send | Receive) -> int:
    """The rank that a node sends to or receives from: the coordinate counts modulo the axis's size."""
    axis = job.axis(op.axis)
    coordinate = axis.coordinate(rank)
    return rank + ((coordinate + op.offset) % axis.size - coordinate) * axis.stride


def programs_of_ranks(job: Job) -> list[int]:
    """The index of each rank's Program: the one place where a Job is spread out over its ranks."""
    programs = [-1] * job.machine.npus
    for ranks in job.classes:
        for box in ranks.boxes:
            for rank in box_ranks(job, box):
                programs[rank] = ranks.program
    return programs


def box_ranks(job: Job, box: Box) -> Iterator[int]:
    """The ranks of a box, ascending."""
    digits = [
        [at * axis.stride for at in (range(axis.size) if allowed is None else sorted(allowed))]
        for axis, allowed in reversed(list(zip(job.axes, box.coordinates, strict=True)))
    ]
    return (sum(offsets) for offsets in product(*digits))
