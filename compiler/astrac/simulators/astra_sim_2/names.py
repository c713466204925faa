"""Axes and groups by name: what the manifest of a bundle of ours adds to its traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from astrac.job import Axis, AxisGroup, Box, Job, RankClass
from astrac.simulators.astra_sim_2.groups import used

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.job import ListedGroup, Machine


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
    """What the manifest says of a Job; groups in order of appearance."""
    groups = [group for group in used(job) if isinstance(group, AxisGroup)]
    return {
        "name": job.name,
        "axes": [{"name": axis.name, "stride": axis.stride, "size": axis.size} for axis in job.axes],
        "groups": [{"axes": group.axes, "only": group.only, "dimensions": group.dimensions} for group in groups],
        "classes": [
            {"program": members.program, "boxes": [_box(box, job.axes) for box in members.boxes]}
            for members in job.classes
        ],
    }


def _box(box: Box, axes: tuple[Axis, ...]) -> dict[str, tuple[int, ...]]:
    """The axes that a box confines, and to which coordinates."""
    return {axis.name: allowed for axis, allowed in zip(axes, box.coordinates, strict=True) if allowed is not None}


def recall(description: Mapping[str, Any], machine: Machine) -> Names | None:
    """The inverse of `describe`, for a description that its schema allows; None when it describes other ranks."""
    axes = tuple(Axis(axis["name"], axis["stride"], axis["size"]) for axis in description["axes"])
    expected = 1
    for axis in axes:
        if axis.stride != expected or axis.size < 1:
            return None
        expected *= axis.size
    known = {axis.name for axis in axes}
    groups = tuple(
        AxisGroup(
            tuple(group["axes"]),
            tuple(group["only"]),
            None if group["dimensions"] is None else tuple(group["dimensions"]),
        )
        for group in description["groups"]
    )
    boxes = [box for members in description["classes"] for box in members["boxes"]]
    named = {name for group in groups for name in group.axes} | {name for box in boxes for name in box}
    if expected != machine.npus or len(known) < len(axes) or not named <= known:
        return None
    classes = tuple(
        RankClass(
            members["program"],
            tuple(Box(tuple(_coordinates(box, axis) for axis in axes)) for box in members["boxes"]),
        )
        for members in description["classes"]
    )
    return Names(Job(description["name"], machine, axes, (), classes), groups)


def _coordinates(box: Mapping[str, list[int]], axis: Axis) -> tuple[int, ...] | None:
    return tuple(box[axis.name]) if axis.name in box else None
