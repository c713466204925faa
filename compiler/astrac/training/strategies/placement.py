"""Axes on ranks: how the degrees of a spec's parallelism fill the dimensions of its topology.

Axes are digits of the rank number, innermost first, as dimensions are. Boundaries of axes and of dimensions must nest:
an axis is a part of a dimension, a dimension, or several, so that its groups have the same shape everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from astrac.job import Axis
from astrac.training.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.spec import Context, Data, Expert, Pipeline, Spec, Tensor, Topology

    AxisBlock: TypeAlias = Data | Tensor | Pipeline | Expert | Context

KINDS = ("data", "tensor", "pipeline", "expert", "context")
"""Words of the axes; a degree of 1 is the same as no axis."""

TOKENS = ("data", "context", "expert")
"""Axes whose ranks see other samples or tokens, so that dense gradients are reduced over them."""

SHARD, REPLICA = "data.shard", "data.replica"
"""The two halves of a data axis under hybrid sharding."""


@dataclass(frozen=True)
class Placement:
    """Where the axes lie.

    Attributes:
        degrees: of every word of KINDS, 1 for absent ones, and of the halves of a hybrid data axis.
        axes: those of degree above 1, innermost first; a hybrid data axis stands as its two halves.
        problems: none when the rest can be relied upon.
    """

    degrees: dict[str, int]
    axes: tuple[Axis, ...]
    problems: tuple[Finding, ...] = ()


def axis_blocks(spec: Spec) -> Iterator[tuple[str, AxisBlock]]:
    """The blocks of a spec's parallelism, each with its JSON pointer."""
    for index, block in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        yield f"/parallelism/axes/{index}", block


def npus(topology: Topology) -> int:
    """The number of ranks: the product of the dimensions."""
    return prod(dimension.size for dimension in topology.dimensions)


def _mended(axes: Sequence[AxisBlock], total: int) -> str:
    """The last axis whose degree can be another so that all of them make the number of ranks."""
    given = [axis for axis in axes if axis.degree is not None]
    for axis in reversed(given):
        others = prod(other.degree or 1 for other in given if other is not axis)
        if total % others == 0:
            return f"write `{axis.kind} {{ degree: {total // others} }}`, or leave its `degree` out: it takes the rest"
    return "let one axis leave out `degree`: it takes the rest"


def degrees(spec: Spec) -> tuple[dict[str, int], tuple[Finding, ...]]:
    """The degree of every axis, the one that is left out filled in."""
    found = dict.fromkeys(KINDS, 1)
    axes = [block for _, block in axis_blocks(spec)]
    total = npus(spec.topology)
    known = prod(axis.degree for axis in axes if axis.degree is not None)
    factors = " x ".join(f"{axis.kind} {axis.degree}" for axis in axes if axis.degree is not None) or "1"
    sum_up = factors if " x " not in factors else f"{factors} = {known}"
    open_ones = [index for index, axis in enumerate(axes) if axis.degree is None]
    if len(open_ones) > 1:
        pointer = f"/parallelism/axes/{open_ones[1]}"
        message = f"only one axis may leave out `degree`, `{axes[open_ones[0]].kind}` does already"
        return found, (Finding("AS511", pointer, message),)
    if known > total or total % known:
        return found, (
            Finding("AS510", "/parallelism", f"{sum_up} does not divide {total} NPUs", _mended(axes, total)),
        )
    if not open_ones and known != total:
        message = f"{sum_up}, but the topology has {total} NPUs"
        return found, (Finding("AS510", "/parallelism", message, _mended(axes, total)),)
    for axis in axes:
        found[axis.kind] = total // known if axis.degree is None else axis.degree
    return found, ()


def place(spec: Spec) -> Placement:
    """Lays the axes over the dimensions; never fails, but names what does not fit."""
    known, problems = degrees(spec)
    if problems:
        return Placement(known, (), problems)
    axes: list[Axis] = []
    stride = 1
    for pointer, block in axis_blocks(spec):
        axis = Axis(block.kind, stride, known[block.kind])
        stride *= axis.size
        misfit = _misfit(axis, spec.topology)
        touched = tuple(name for name, _ in _pieces(axis, spec.topology))
        if misfit is not None:
            problems += (Finding("AS512", pointer, misfit),)
        elif block.on is not None and axis.size > 1 and tuple(block.on) != touched:
            problems += (_elsewhere(axis, block.on, touched, pointer),)
        if axis.size > 1:
            axes.append(axis)
    if not problems:
        axes, more = _halved(axes, known, spec)
        problems += more
    return Placement(known, tuple(axes), problems)


def bounds(topology: Topology) -> list[int]:
    """The rank strides at which dimensions begin and end: 1, n0, n0 x n1, ..."""
    edges = [1]
    for dimension in topology.dimensions:
        edges.append(edges[-1] * dimension.size)
    return edges


def _misfit(axis: Axis, topology: Topology) -> str | None:
    """Why the axis's outer boundary does not nest with the dimensions, or None."""
    end = axis.stride * axis.size
    for (low, high), dimension in zip(pairwise(bounds(topology)), topology.dimensions, strict=True):
        if low < end < high and (end % low or high % end):
            inside = end // low if end % low == 0 else f"{end}/{low}"
            return (
                f"the `{axis.name}` axis of degree {axis.size} ends after {inside} of the {dimension.size} NPUs of "
                f"`{dimension.name}`, which is no divisor"
            )
    return None


def _elsewhere(axis: Axis, wanted: Sequence[str], actual: Sequence[str], pointer: str) -> Finding:
    def listed(names: Sequence[str]) -> str:
        return "[" + ", ".join(names) + "]"

    message = f"the `{axis.name}` axis of degree {axis.size} fills {listed(actual)}, not {listed(wanted)}"
    hint = "axes fill the dimensions in file order, innermost first: reorder the axes or change their degrees"
    return Finding("AS513", f"{pointer}/on", message, hint)


def _halved(axes: list[Axis], known: dict[str, int], spec: Spec) -> tuple[list[Axis], tuple[Finding, ...]]:
    """Splits the data axis into its sharded and its replicated half where hybrid sharding asks for it."""
    whole = next((axis for axis in axes if axis.name == "data"), None)
    pointer, names = next(((at, block.shard_on) for at, block in axis_blocks(spec) if block.kind == "data"), ("", None))
    if names is None or whole is None:
        return axes, ()
    pieces = _pieces(whole, spec.topology)
    inner = prod(size for name, size in pieces[: len(names)])
    mine = [name for name, _ in pieces]
    if list(names) == mine[: len(names)]:
        halves = [(SHARD, inner), (REPLICA, whole.size // inner)]
    elif list(names) == mine[-len(names) :]:
        outer = prod(size for name, size in pieces[-len(names) :])
        halves = [(REPLICA, whole.size // outer), (SHARD, outer)]
    else:
        message = f"the data axis fills [{', '.join(mine)}]: `shard_on` must name the first or the last of them"
        return axes, (Finding("AS514", f"{pointer}/shard_on", message),)
    split: list[Axis] = []
    stride = whole.stride
    for name, size in halves:
        known[name] = size
        if size > 1:
            split.append(Axis(name, stride, size))
        stride *= size
    position = axes.index(whole)
    return [*axes[:position], *split, *axes[position + 1 :]], ()


def _pieces(axis: Axis, topology: Topology) -> list[tuple[str, int]]:
    """(dimension, ranks of the axis along it), innermost first."""
    found = []
    end = axis.stride * axis.size
    for (low, high), dimension in zip(pairwise(bounds(topology)), topology.dimensions, strict=True):
        size = min(high, end) // max(low, axis.stride)
        if low < end and high > axis.stride and size > 1:
            found.append((dimension.name, size))
    return found
