"""The traces of all ranks -> a Job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.job import Axis, Box, Job, RankClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.job import Machine, Program
    from astrac.simulators.astra_sim_2.names import Names


def assemble(name: str, machine: Machine, programs: Sequence[Program]) -> Job:
    """The Job of a foreign bundle: an axis a dimension, a class a distinct program.

    Args:
        name: of the traces.
        machine: see there.
        programs: for each rank; equal ones are one object.
    """
    axes = []
    stride = 1
    for at, dimension in enumerate(machine.dimensions):
        axes.append(Axis(f"dim{at}", stride, dimension.size))
        stride *= dimension.size
    ranks: dict[int, list[int]] = {}
    distinct: dict[int, Program] = {}
    for rank, program in enumerate(programs):
        distinct[id(program)] = program
        ranks.setdefault(id(program), []).append(rank)
    classes = tuple(RankClass(number, boxes(members, axes)) for number, members in enumerate(ranks.values()))
    return Job(name, machine, tuple(axes), tuple(distinct[key] for key in ranks), classes)


def assemble_named(names: Names, programs: Sequence[Program]) -> Job | None:
    """The Job that a manifest names, None when the traces do not do what it says."""
    job = names.job
    found: dict[int, Program] = {}
    seen: set[int] = set()
    for members in job.classes:
        for rank in job.ranks(members):
            if (
                rank >= len(programs)
                or rank in seen
                or found.setdefault(members.program, programs[rank]) is not programs[rank]
            ):
                return None
            seen.add(rank)
    if len(seen) != len(programs) or sorted(found) != list(range(len(found))):
        return None
    return replace(job, programs=tuple(found[number] for number in range(len(found))))


def boxes(ranks: Iterable[int], axes: Sequence[Axis]) -> tuple[Box, ...]:
    """A set of ranks as few disjoint boxes: along each axis, from the outermost, equal slices are one box."""
    return tuple(Box(coordinates) for coordinates in _boxes(tuple(ranks), axes))


def _boxes(ranks: tuple[int, ...], axes: Sequence[Axis]) -> list[tuple[tuple[int, ...] | None, ...]]:
    if not axes:
        return [()]
    axis = axes[-1]
    slices: dict[int, list[int]] = {}
    for rank in ranks:
        slices.setdefault(rank // axis.stride, []).append(rank % axis.stride)
    alike: dict[tuple[int, ...], list[int]] = {}
    for coordinate, inner in slices.items():
        alike.setdefault(tuple(inner), []).append(coordinate)
    return [
        (*box, None if len(coordinates) == axis.size else tuple(coordinates))
        for inner, coordinates in alike.items()
        for box in _boxes(inner, axes[:-1])
    ]
