"""ASTRA-SIM-2 section 4, representatives: which ranks of a Job act alike, told from its axes alone.

Ranks are cells of a grid: each axis is cut into cells of coordinates that nothing tells apart, and a `Role` is one cell
of each axis. Nothing here has the length of the number of ranks. Jobs that name single ranks go through `colours`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING

from astrac.job import AxisGroup, Box, Collective, ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2.simulate.cast import TAGS, Assembly, Origin, Role
from astrac.simulators.astra_sim_2.simulate.groups import involved
from astrac.simulators.astra_sim_2.simulate.network import Broken

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from astrac.job import Axis, Group, Job, Program
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course


class Unstructured(Exception):  # noqa: N818 - a finding, not an error
    """The axes do not tell; ranks must be looked at one by one."""


@dataclass
class _Cut:
    """An axis cut into cells, each named by its lowest coordinate.

    Attributes:
        named: coordinate -> cell, where something names the coordinate.
        rest: the cell of all other coordinates, None when there are none.
    """

    size: int
    named: dict[int, int]
    rest: int | None

    @classmethod
    def by(cls, size: int, sets: Iterable[tuple[int, ...]]) -> _Cut:
        """Coordinates that are in the same sets stay together."""
        marks: dict[int, list[int]] = {}
        for number, coordinates in enumerate(sets):
            for coordinate in coordinates:
                marks.setdefault(coordinate, []).append(number)
        first: dict[tuple[int, ...], int] = {}
        named = {at: first.setdefault(tuple(marks[at]), at) for at in sorted(marks)}
        rest = next((at for at in range(size) if at not in named), None)
        return cls(size, named, rest)

    @classmethod
    def whole(cls, size: int) -> _Cut:
        """Every coordinate apart."""
        return cls(size, {at: at for at in range(size)}, None)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """Names of all cells."""
        return tuple(sorted({*self.named.values(), *([] if self.rest is None else [self.rest])}))

    def cell(self, coordinate: int) -> int:
        """The cell that a coordinate is in."""
        found = self.named.get(coordinate, self.rest)
        assert found is not None
        return found

    def among(self, coordinates: Iterable[int] | None) -> tuple[int, ...]:
        """The cells of some coordinates, None = of all."""
        return self.cells if coordinates is None else tuple(sorted({self.cell(at) for at in coordinates}))

    def coordinates(self, cell: int) -> tuple[int, ...] | None:
        """Of a cell, None = all."""
        if len(self.cells) == 1:
            return None
        return tuple(at for at in range(self.size) if self.cell(at) == cell)


Key = tuple[int, ...]


class Axes:
    """The cast of a Job whose ops speak of axes.

    Raises:
        Unstructured: when they do not, when axes and dimensions cut ranks at odds, or when there would be more cells
            than the classes ask for.
    """

    def __init__(self, job: Job, network: Network) -> None:
        self._job = job
        self._network = network
        self._axes = job.axes
        self._index = {axis.name: number for number, axis in enumerate(job.axes)}
        groups, talks = _relations(job)
        if any(isinstance(group, ListedGroup) for group in groups) or any(name not in self._index for name, _ in talks):
            raise Unstructured
        ends = sorted({*network.strides, *(axis.stride for axis in job.axes)})
        if any(high % low for low, high in pairwise(ends)):
            raise Unstructured
        self._boxes = [(ranks.program, box) for ranks in job.classes for box in ranks.boxes]
        self._cuts = [
            _Cut.by(axis.size, dict.fromkeys([*self._named(number), *_chosen(groups, axis)]))
            for number, axis in enumerate(job.axes)
        ]
        self._met: dict[tuple[tuple[int, ...], ...], tuple[Key, ...]] = {}
        for name, offset in talks:
            self._talk(self._index[name], offset)
        if prod(len(cut.cells) for cut in self._cuts) > 4 * len(self._boxes) + 64:
            raise Unstructured
        self._receivers = [self._first_receivers(program) for program in job.programs]

    def _named(self, number: int) -> Iterator[tuple[int, ...]]:
        """The sets of coordinates of an axis that boxes name."""
        for _, box in self._boxes:
            allowed = box.coordinates[number]
            if allowed is not None:
                yield allowed

    def _first_receivers(self, program: Program) -> dict[tuple[str, int, int, int], int]:
        first: dict[tuple[str, int, int, int], int] = {}
        for op in program.ops:
            if isinstance(op, Receive):
                size = self._axes[self._index[op.axis]].size
                first.setdefault((op.axis, op.offset % size, op.tag % TAGS, op.bytes), op.id)
        return first

    def _talk(self, number: int, offset: int) -> None:
        """Neighbours along an axis: one cell if all are alike and equally far, else each coordinate by itself."""
        axis = self._axes[number]
        if offset % axis.size == 0:
            raise Broken(f"a rank sends to itself along `{axis.name}`: the simulator aborts")
        cut = self._cuts[number]
        alike = (
            len(cut.cells) == 1
            and len({self._link(axis.stride, at, offset, axis.size) for at in range(axis.size)}) == 1
        )
        if not alike:
            self._cuts[number] = _Cut.whole(axis.size)

    def _link(self, stride: int, at: int, offset: int, size: int) -> Link:
        return self._network.link(at * stride, (at + offset) % size * stride)

    def rank(self, key: Key) -> int:
        """The lowest rank of a role."""
        return sum(at * axis.stride for at, axis in zip(key, self._axes, strict=True))

    def roles(self) -> list[Role]:
        """See `Cast`."""
        found = []
        for key in product(*(cut.cells for cut in self._cuts)):
            program = next(
                program
                for program, box in self._boxes
                if all(allowed is None or at in allowed for at, allowed in zip(key, box.coordinates, strict=True))
            )
            found.append(Role(key, program, self.rank(key)))
        return sorted(found, key=lambda role: role.rank)

    def peer(self, key: Key, op: Send | Receive) -> tuple[Key, Link]:
        """See `Cast`."""
        number = self._index[op.axis]
        axis = self._axes[number]
        link = self._link(axis.stride, key[number], op.offset, axis.size)
        there = self._cuts[number].cell((key[number] + op.offset) % axis.size)
        return (*key[:number], there, *key[number + 1 :]), link

    def channel(self, key: Key, op: Send | Receive, program: int) -> int | None:
        """See `Cast`."""
        del key  # all ranks of a program receive alike, relative to their coordinates
        size = self._axes[self._index[op.axis]].size
        offset = op.offset if isinstance(op, Receive) else -op.offset
        return self._receivers[program].get((op.axis, offset % size, op.tag % TAGS, op.bytes))

    def members(self, rank: int, op: Collective) -> tuple[int, ...]:
        """See `Cast`."""
        return () if involved(op.group) is not None else self._job.members(op.group, rank)

    def name(self, rank: int, op: Collective) -> Hashable:
        """See `Cast`: groups along the same axes are alike."""
        del rank
        return op.group

    def group(self, rank: int, op: Collective) -> Hashable:
        """See `Cast`."""
        del rank
        return op.group

    def assembly(self, key: Key, op: Collective, course: Course) -> Assembly:
        """See `Cast`."""
        seated = self._seated(op, course)
        cells: list[tuple[int, ...]] = [(at,) for at in key]
        for number, axis, coordinates in seated:
            if coordinates is not None and axis.coordinate(self.rank(key)) not in coordinates:
                rank = self.rank(key)
                raise Broken(f"collective {op.id} is issued by rank {rank}, which is not in its group", rank=rank)
            cells[number] = self._cuts[number].among(coordinates)
        among = tuple(cells)
        if among not in self._met:
            self._met[among] = tuple(product(*among))
        return Assembly(self._met[among], self._seats(key, seated))

    def _seats(self, key: Key, seated: list[tuple[int, Axis, tuple[int, ...] | None]]) -> Iterator[tuple[Key, int]]:
        order = [(number, axis, coordinates or range(axis.size)) for number, axis, coordinates in reversed(seated)]
        base = list(key)
        for ats in product(*(coordinates for _, _, coordinates in order)):
            place, rank = list(base), self.rank(key)
            for (number, axis, _), at in zip(order, ats, strict=True):
                rank += (at - key[number]) * axis.stride
                place[number] = self._cuts[number].cell(at)
            yield tuple(place), rank

    def refine(self, meeting: dict[Key, Collective], course: Course, ends: Sequence[int]) -> dict[Key, Origin]:
        """See `Cast`: every coordinate of the group's axes becomes a cell."""
        del ends
        old = list(self._cuts)
        seated = self._seated(next(iter(meeting.values())), course)
        for number, axis, _ in seated:
            self._cuts[number] = _Cut.whole(axis.size)
        origins = {}
        for role in product(*(cut.cells for cut in self._cuts)):
            seat = 0
            for number, axis, coordinates in reversed(seated):
                among = coordinates or range(axis.size)
                inside = seat >= 0 and role[number] in among
                seat = seat * len(among) + among.index(role[number]) if inside else -1
            origins[role] = Origin(tuple(cut.cell(at) for cut, at in zip(old, role, strict=True)), seat)
        return origins

    def scatter(self) -> dict[Key, Origin]:
        """See `Cast`."""
        old = list(self._cuts)
        self._cuts = [_Cut.whole(axis.size) for axis in self._axes]
        keys = product(*(cut.cells for cut in self._cuts))
        return {key: Origin(tuple(cut.cell(at) for cut, at in zip(old, key, strict=True)), -1) for key in keys}

    def boxes(self, key: Key) -> tuple[Box, ...]:
        """See `Cast`."""
        return (Box(tuple(cut.coordinates(cell) for cut, cell in zip(self._cuts, key, strict=True))),)

    def _seated(self, op: Collective, course: Course | None) -> list[tuple[int, Axis, tuple[int, ...] | None]]:
        """The axes in which members of a group differ, innermost first, with the coordinates that take part."""
        group = op.group
        assert not isinstance(group, ListedGroup)
        if course is None or involved(group) is None:
            return [
                (number, axis, group.only or None) for number, axis in enumerate(self._axes) if axis.name in group.axes
            ]
        spans = [(circle.stride, circle.stride * circle.size) for circle in (phase.circle for phase in course.phases)]
        seated: list[tuple[int, Axis, tuple[int, ...] | None]] = []
        for number, axis in enumerate(self._axes):
            low, high = axis.stride, axis.stride * axis.size
            inside = [
                (max(low, start), min(high, end)) for start, end in dict.fromkeys(spans) if start < high and low < end
            ]
            if prod(end // start for start, end in inside) == axis.size:
                seated.append((number, axis, None))
            elif inside:
                raise Unstructured
        return seated


def _relations(job: Job) -> tuple[set[Group], set[tuple[str, int]]]:
    """The groups that collectives of a Job name, and the (axis, offset) of its messages."""
    groups: dict[int, Group] = {}
    talks = set()
    for program in job.programs:
        for op in program.ops:
            if isinstance(op, Collective):
                groups[id(op.group)] = op.group
            elif isinstance(op, Send | Receive):
                talks.add((op.axis, op.offset))
    return set(groups.values()), talks


def _chosen(groups: set[Group], axis: Axis) -> Iterator[tuple[int, ...]]:
    """The sets of coordinates of an axis that groups choose."""
    for group in groups:
        if isinstance(group, AxisGroup) and group.only and axis.name in group.axes:
            if not all(0 <= at < axis.size for at in group.only):
                raise Broken(f"a group of `{axis.name}` chooses coordinates {group.only} of {axis.size}")
            yield group.only
