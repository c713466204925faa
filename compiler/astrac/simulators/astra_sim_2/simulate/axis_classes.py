"""Which ranks of a Job act alike, told from its axes alone.

Ranks are points of a grid: each axis is cut into cells of coordinates that nothing tells apart, and a class is one cell
of each axis. Nothing here has the length of the number of ranks. Jobs that name single ranks go through
`refined_classes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING

from astrac.job import AxisGroup, Box, Collective, ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.rank_classes import CommunicatorGroup, Origin, RankClasses, Representative
from astrac.simulators.astra_sim_2.simulate.simulation import TAGS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from astrac.job import Axis, Group, Job, Program
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network


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

    def among(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """The cells of some coordinates."""
        return self.cells if len(coordinates) == self.size else tuple(sorted(set(map(self.cell, coordinates))))

    def coordinates(self, cell: int) -> tuple[int, ...] | None:
        """Those of a cell, None = all."""
        if len(self.cells) == 1:
            return None
        return tuple(at for at in range(self.size) if self.cell(at) == cell)


Key = tuple[int, ...]
"""The cell of each axis, by its lowest coordinate."""
Digit = tuple[int, "Sequence[int]"]
"""The number of an axis and the coordinates that take part."""


class AxisClasses(RankClasses):
    """The classes of a Job whose nodes speak of axes.

    Raises:
        Unstructured: when they do not, when axes and dimensions cut ranks at odds, or when there would be more cells
            than the classes ask for.
    """

    def __init__(self, job: Job, network: Network) -> None:
        super().__init__(job, network)
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

    def _rank(self, key: Key) -> int:
        """The lowest rank of a class."""
        return sum(at * axis.stride for at, axis in zip(key, self._axes, strict=True))

    def representatives(self) -> list[Representative]:
        """See `RankClasses`."""
        found = []
        for key in product(*(cut.cells for cut in self._cuts)):
            program = next(program for program, box in self._boxes if box.holds(key))
            found.append(Representative(key, program, self._rank(key)))
        return sorted(found, key=lambda each: each.rank)

    def peer(self, key: Key, op: Send | Receive) -> tuple[Key, Link]:
        """See `RankClasses`."""
        number = self._index[op.axis]
        axis = self._axes[number]
        link = self._link(axis.stride, key[number], op.offset, axis.size)
        there = self._cuts[number].cell((key[number] + op.offset) % axis.size)
        return (*key[:number], there, *key[number + 1 :]), link

    def channel(self, key: Key, op: Send | Receive, program: int) -> int | None:
        """See `RankClasses`."""
        del key  # all ranks of a program receive alike, relative to their coordinates
        size = self._axes[self._index[op.axis]].size
        offset = op.offset if isinstance(op, Receive) else -op.offset
        return self._receivers[program].get((op.axis, offset % size, op.tag % TAGS, op.bytes))

    def own(self, rank: int, op: Collective) -> Collective:
        """See `RankClasses`: nodes name groups relative to whoever runs them."""
        del rank
        return op

    def name(self, rank: int, op: Collective) -> Hashable:
        """See `RankClasses`: groups along the same axes are alike."""
        del rank
        return op.group

    def group(self, key: Key, op: Collective, schedule: CollectiveSchedule) -> CommunicatorGroup:
        """See `RankClasses`."""
        digits = self._digits(op, schedule)
        cells: list[tuple[int, ...]] = [(at,) for at in key]
        for number, coordinates in digits:
            if key[number] not in coordinates:
                rank = self._rank(key)
                raise Broken(f"collective {op.id} is issued by rank {rank}, which is not in its group", rank=rank)
            cells[number] = self._cuts[number].among(coordinates)
        among = tuple(cells)
        if among not in self._met:
            self._met[among] = tuple(product(*among))
        return CommunicatorGroup(self._met[among], self._members(key, digits))

    def _members(self, key: Key, digits: list[Digit]) -> Iterator[tuple[Key, int]]:
        order = [(number, self._axes[number].stride, coordinates) for number, coordinates in reversed(digits)]
        for point in product(*(coordinates for _, _, coordinates in order)):
            member, rank = list(key), self._rank(key)
            for (number, stride, _), at in zip(order, point, strict=True):
                rank += (at - key[number]) * stride
                member[number] = self._cuts[number].cell(at)
            yield tuple(member), rank

    def refine(
        self, meeting: dict[Key, Collective], schedule: CollectiveSchedule, ends: Sequence[int]
    ) -> dict[Key, Origin]:
        """See `RankClasses`: every coordinate of the group's axes becomes a cell."""
        del ends
        digits = self._digits(next(iter(meeting.values())), schedule)
        origins = self._whole(number for number, _ in digits)
        return {key: origin._replace(place=self._place(key, digits)) for key, origin in origins.items()}

    @staticmethod
    def _place(key: Key, digits: list[Digit]) -> int:
        """A rank's index in its group; -1 outside."""
        index = 0
        for number, coordinates in reversed(digits):
            if key[number] not in coordinates:
                return -1
            index = index * len(coordinates) + coordinates.index(key[number])
        return index

    def scatter(self) -> dict[Key, Origin]:
        """See `RankClasses`."""
        return self._whole(range(len(self._axes)))

    def _whole(self, numbers: Iterable[int]) -> dict[Key, Origin]:
        """Every coordinate of some axes becomes a cell."""
        old = list(self._cuts)
        for number in numbers:
            self._cuts[number] = _Cut.whole(self._axes[number].size)
        keys = product(*(cut.cells for cut in self._cuts))
        return {key: Origin(tuple(cut.cell(at) for cut, at in zip(old, key, strict=True)), -1) for key in keys}

    def boxes(self, key: Key) -> tuple[Box, ...]:
        """See `RankClasses`."""
        return (Box(tuple(cut.coordinates(cell) for cut, cell in zip(self._cuts, key, strict=True))),)

    def _digits(self, op: Collective, schedule: CollectiveSchedule) -> list[Digit]:
        """The axes in which members of a group differ, innermost first, with the coordinates that take part."""
        group = op.group
        assert not isinstance(group, ListedGroup)
        if group.dimensions is None:
            return [
                (number, group.only or range(axis.size))
                for number, axis in enumerate(self._axes)
                if axis.name in group.axes
            ]
        spans = [(ring.stride, ring.stride * ring.size) for ring in (phase.ring for phase in schedule.phases)]
        digits: list[Digit] = []
        for number, axis in enumerate(self._axes):
            low, high = axis.stride, axis.stride * axis.size
            inside = [
                (max(low, start), min(high, end)) for start, end in dict.fromkeys(spans) if start < high and low < end
            ]
            if prod(end // start for start, end in inside) == axis.size:
                digits.append((number, range(axis.size)))
            elif inside:
                raise Unstructured
        return digits


def _relations(job: Job) -> tuple[set[Group], set[tuple[str, int]]]:
    """The groups that collectives of a Job name, and the (axis, offset) of its messages."""
    groups: dict[int, Group] = {}
    talks = set()
    for ops in {id(program.ops): program.ops for program in job.programs}.values():
        for op in ops:
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
