"""Groups and axes as files know them: ids of comm_groups.json, and what the manifest of a bundle of ours names.

Ids count from 1, no group is of one rank, none is unused. A rank's group id follows from its coordinates: the members
of an AxisGroup share one leader, the member whose coordinates in the group's axes are the lowest, and leaders are
numbered in ascending order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

from astrac.job import Axis, AxisGroup, Box, Collective, Job, ListedGroup, RankClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.job import Group, Machine


def by_dimensions(involved: tuple[bool, ...]) -> AxisGroup:
    """The group that an `involved_dim` means where axes have no names of ours."""
    return AxisGroup(tuple(f"dim{at}" for at, takes_part in enumerate(involved) if takes_part), dimensions=involved)


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
        return None if group.dimensions is not None else self.leaders[group][self.job.leader(group, rank)]


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
        users = (rank for ranks in job.classes if ranks.program in programs for rank in job.ranks(ranks))
        for leader in sorted({job.leader(group, rank) for rank in users}):
            # The same ranks by another name are the same communicator.
            of_group[leader] = ids.setdefault(job.members(group, leader), free)
            free = max(free, of_group[leader] + 1)
    return Numbering(job, ids, leaders)


# -- what a manifest names


@dataclass(frozen=True)
class Names:
    """What a manifest names.

    Attributes:
        job: its name, axes and classes on the machine of the files; it has no programs yet.
        groups: that its collectives name.
    """

    job: Job
    groups: tuple[AxisGroup, ...]
    _known: dict[int, AxisGroup | None] = field(default_factory=dict, compare=False)

    def peer(self, rank: int, peer: int) -> tuple[str, int] | None:
        """The axis and offset from one rank to another, None unless they differ in one axis."""
        differing = [axis for axis in self.job.axes if axis.coordinate(rank) != axis.coordinate(peer)]
        if len(differing) != 1:
            return None
        axis = differing[0]
        return axis.name, axis.offset(axis.coordinate(peer) - axis.coordinate(rank))

    def communicator(self, listed: ListedGroup) -> AxisGroup | None:
        """The group by axes that has the members of a communicator group, in that order."""
        if listed.id not in self._known:
            named = (group for group in self.groups if group.dimensions is None)
            rank = listed.members[0]
            found = (group for group in named if self.job.members(group, rank) == listed.members)
            self._known[listed.id] = next(found, None)
        return self._known[listed.id]

    def whole(self, involved: tuple[bool, ...]) -> AxisGroup | None:
        """The group by axes that an `involved_dim` stands for."""
        return next((group for group in self.groups if group.dimensions == involved), None)


def describe(job: Job) -> dict[str, Any]:
    """What the manifest says of a Job; groups in order of appearance, of a box the axes that it confines."""
    groups = [group for group in used(job) if isinstance(group, AxisGroup)]
    names = [axis.name for axis in job.axes]
    return {
        "name": job.name,
        **({} if job.backend is None else {"backend": job.backend}),
        "axes": [{"name": axis.name, "stride": axis.stride, "size": axis.size} for axis in job.axes],
        "groups": [{"axes": group.axes, "only": group.only, "dimensions": group.dimensions} for group in groups],
        "classes": [
            {
                "program": members.program,
                "boxes": [
                    {name: allowed for name, allowed in zip(names, box.coordinates, strict=True) if allowed is not None}
                    for box in members.boxes
                ],
            }
            for members in job.classes
        ],
    }


def recall(description: Mapping[str, Any], machine: Machine) -> Names | None:
    """The inverse of `describe`, for a description that its schema allows; None when it describes other ranks."""
    axes = tuple(Axis(axis["name"], axis["stride"], axis["size"]) for axis in description["axes"])
    strides = [*accumulate((axis.size for axis in axes), mul, initial=1)]
    known = {axis.name for axis in axes}
    boxes = [box for members in description["classes"] for box in members["boxes"]]
    named = {name for part in (*boxes, *(group["axes"] for group in description["groups"])) for name in part}
    if (
        [*(axis.stride for axis in axes), machine.npus] != strides
        or any(axis.size < 1 for axis in axes)
        or len(known) < len(axes)
        or not named <= known
    ):
        return None
    groups = tuple(
        AxisGroup(tuple(group["axes"]), tuple(group["only"]), _optional(group["dimensions"]))
        for group in description["groups"]
    )
    classes = tuple(
        RankClass(
            members["program"],
            tuple(Box(tuple(_optional(box.get(axis.name)) for axis in axes)) for box in members["boxes"]),
        )
        for members in description["classes"]
    )
    return Names(Job(description["name"], machine, axes, (), classes, description.get("backend")), groups)


def _optional(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
