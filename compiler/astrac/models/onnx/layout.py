"""Shapes of operators that rearrange: reshapes, joins, cuts, selections. ONNX's operator reference is the source."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from astrac.models.onnx.facts import Inconsistent, Shape, Site, Value, elements

if TYPE_CHECKING:
    from collections.abc import Sequence

Values = tuple[Value, ...]


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Inconsistent(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def like(site: Site, shape: Shape, index: int = 0) -> Values:
    """One output with the type of an input."""
    return (Value(shape, site.dtype(index)),)


def same(site: Site) -> Values:
    """The first input's shape and type."""
    return (Value(site.shape(), site.dtype()),)


def identity(site: Site) -> Values:
    """The first input as it is, sequences too."""
    return (site.value(),)


def text(shape: Shape) -> str:
    """As people write it: `1x3x?x224`."""
    return "?" if shape is None else "x".join("?" if extent is None else str(extent) for extent in shape) or "scalar"


def reshape(site: Site) -> Values:
    """Target as an input or, before opset 5, an attribute: 0 copies, -1 takes what is left."""
    shape, target = site.shape(), site.either("shape", 1)
    if target is None:
        vector = site.shape(1)
        count = vector[0] if vector else None
        return like(site, None if count is None else (None,) * min(count, 64))
    result: list[int | None] = []
    for index, extent in enumerate(target):
        if extent == 0 and not site.number("allowzero"):
            if shape is not None and index >= len(shape):
                raise Inconsistent(f"target {list(target)} copies axis {index} of {text(shape)}")
            result.append(None if shape is None else shape[index])
        else:
            result.append(extent if extent >= 0 else None)
    if target.count(-1) > 1 or min(target, default=0) < -1:
        raise Inconsistent(f"target {list(target)} is not a shape")
    total = elements(shape)
    if total is None:
        return like(site, tuple(result))
    if -1 in target:
        rest = prod(extent for extent in result if extent is not None)
        if rest == 0 or total % rest:
            raise Inconsistent(f"{text(shape)} does not fit the target {list(target)}")
        result[target.index(-1)] = total // rest
    elif prod(result) != total:  # type: ignore[arg-type]
        raise Inconsistent(f"{text(shape)} does not fit the target {list(target)}")
    return like(site, tuple(result))


def flatten(site: Site) -> Values:
    """Two axes: those before `axis`, the rest."""
    shape = site.shape()
    if shape is None:
        return like(site, (None, None))
    axis = site.number("axis", 1)
    axis = axis if axis == len(shape) else axis_of(axis, len(shape) or 1)
    return like(site, (elements(shape[:axis]), elements(shape[axis:])))


def squeeze(site: Site) -> Values:
    """Without `axes` every extent of one goes, which needs all extents."""
    shape, axes = site.shape(), site.either("axes", 1)
    if shape is None or (axes is None and (site.has(1) or None in shape)):
        return like(site, None)
    gone = (
        {index for index, extent in enumerate(shape) if extent == 1}
        if axes is None
        else {axis_of(axis, len(shape)) for axis in axes}
    )
    return like(site, tuple(extent for index, extent in enumerate(shape) if index not in gone))


def unsqueeze(site: Site) -> Values:
    """Axes count in the result."""
    shape, axes = site.shape(), site.either("axes", 1)
    if shape is None or axes is None:
        return like(site, None)
    rank = len(shape) + len(axes)
    new = {axis_of(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise Inconsistent(f"axes {list(axes)} repeat")
    old = iter(shape)
    return like(site, tuple(1 if index in new else next(old) for index in range(rank)))


def transpose(site: Site) -> Values:
    """Reversed without `perm`."""
    shape, order = site.shape(), site.numbers("perm")
    if shape is None:
        return like(site, None)
    order = tuple(reversed(range(len(shape)))) if order is None else tuple(axis_of(axis, len(shape)) for axis in order)
    if sorted(order) != list(range(len(shape))):
        raise Inconsistent(f"perm {list(order)} of a tensor of rank {len(shape)}")
    return like(site, tuple(shape[axis] for axis in order))


def concat(site: Site) -> Values:
    """Sum along the axis; elsewhere any known extent speaks for all."""
    return _joined(site, range(len(site.node.inputs)))


def concat_triples(site: Site) -> Values:
    """Scale and zero point of the result, then each operand with its own (`QLinearConcat`)."""
    return _joined(site, range(2, len(site.node.inputs), 3))


def _joined(site: Site, operands: Sequence[int]) -> Values:
    shapes = [site.shape(index) for index in operands]
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return like(site, None, operands[0])
    rank = len(known[0])
    if any(len(shape) != rank for shape in known):
        raise Inconsistent(f"operands {', '.join(map(text, known))} differ in rank")
    axis = axis_of(site.number("axis", 1), rank)
    result: list[int | None] = [
        agreed([shape[index] for shape in known], known) if index != axis else None for index in range(rank)
    ]
    along = [None if shape is None else shape[axis] for shape in shapes]
    result[axis] = None if None in along else sum(along)  # type: ignore[arg-type]
    return like(site, tuple(result), operands[0])


def agreed(extents: Sequence[int | None], shapes: Sequence[Shape] = ()) -> int | None:
    """The one known extent of several that must be equal."""
    known = {extent for extent in extents if extent is not None}
    if len(known) > 1:
        raise Inconsistent(
            f"operands {', '.join(map(text, shapes))} do not fit" if shapes else f"extents {sorted(known)} differ"
        )
    return next(iter(known), None)


def split(site: Site) -> Values:
    """Sizes as given, or equal parts with a smaller last one."""
    shape, count = site.shape(), len(site.node.outputs)
    if shape is None:
        return (Value(None, site.dtype()),) * count
    axis = axis_of(site.number("axis"), len(shape))
    sizes: Sequence[int | None] | None = site.either("split", 1)
    extent = shape[axis]
    if sizes is None:
        part = None if extent is None or site.has(1) else -(-extent // count)
        sizes = (
            [None] * count
            if part is None or extent is None
            else [min(part, max(extent - part * index, 0)) for index in range(count)]
        )
    elif extent is not None and sum(size for size in sizes if size is not None) != extent:
        raise Inconsistent(f"parts {list(sizes)} of an axis of {extent}")
    return tuple(Value((*shape[:axis], size, *shape[axis + 1 :]), site.dtype()) for size in sizes)


def slice_(site: Site) -> Values:
    """Starts, ends, axes, steps, clamped as numpy does."""
    shape = site.shape()
    starts, ends = site.either("starts", 1), site.either("ends", 2)
    if shape is None:
        return like(site, None)
    axes, steps = site.either("axes", 3), site.data(4)
    unknown = starts is None or ends is None or (axes is None and site.has(3)) or (steps is None and site.has(4))
    if starts is None or ends is None or unknown:
        touched = range(len(shape)) if axes is None else [axis_of(axis, len(shape)) for axis in axes]
        return like(site, tuple(None if index in touched else extent for index, extent in enumerate(shape)))
    result = list(shape)
    axes = axes or tuple(range(len(starts)))
    for start, end, axis, step in zip(starts, ends, axes, steps or (1,) * len(starts), strict=True):
        where = axis_of(axis, len(shape))
        extent = shape[where]
        result[where] = None if extent is None else len(range(*slice(start, end, step).indices(extent)))
    return like(site, tuple(result))


def gather(site: Site) -> Values:
    """The indices take the place of the axis."""
    shape, indices = site.shape(), site.shape(1)
    if shape is None or indices is None:
        return like(site, None)
    axis = axis_of(site.number("axis"), len(shape))
    return like(site, (*shape[:axis], *indices, *shape[axis + 1 :]))


def gather_elements(site: Site) -> Values:
    """The shape of the indices."""
    return like(site, site.shape(1))


def gather_nd(site: Site) -> Values:
    """The last axis of the indices counts the axes that it selects."""
    shape, indices = site.shape(), site.shape(1)
    if shape is None or not indices or indices[-1] is None:
        return like(site, None)
    return like(site, (*indices[:-1], *shape[site.number("batch_dims") + indices[-1] :]))


def expand(site: Site) -> Values:
    """Broadcast with a target shape."""
    target = site.data(1)
    return like(site, None if target is None else broadcast(site.shape(), target))


def broadcast(*shapes: Shape) -> Shape:
    """Numpy's rule; an unknown extent beside one yields unknown, beside more yields the other."""
    if None in shapes:
        return None
    result: list[int | None] = []
    for shape in shapes:
        assert shape is not None
        missing = len(shape) - len(result)
        result[:0] = [1] * missing
        for index, extent in enumerate(shape, len(result) - len(shape)):
            ours = result[index]
            if ours == 1:
                result[index] = extent
            elif extent not in (1, ours):
                if ours is None or extent is None:
                    result[index] = extent if ours is None else ours
                else:
                    raise Inconsistent(f"operands {', '.join(map(text, shapes))} do not fit")
    return tuple(result)


def tile(site: Site) -> Values:
    """Each extent times its repeat."""
    shape, repeats = site.shape(), site.data(1)
    if shape is None or repeats is None:
        return like(site, None if shape is None else (None,) * len(shape))
    return like(
        site, tuple(None if extent is None else extent * count for extent, count in zip(shape, repeats, strict=True))
    )


def pad(site: Site) -> Values:
    """All begins, then all ends; of some axes only since opset 18."""
    shape = site.shape()
    pads = site.numbers("paddings") or site.either("pads", 1)
    axes = site.data(3)
    if shape is None or pads is None or (axes is None and site.has(3)):
        return like(site, None if shape is None else (None,) * len(shape))
    axes = tuple(axis_of(axis, len(shape)) for axis in axes) if axes is not None else tuple(range(len(shape)))
    result = list(shape)
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        extent = result[axis]
        result[axis] = None if extent is None else extent + begin + end
        if (result[axis] or 0) < 0:
            raise Inconsistent(f"pads {list(pads)} of {text(shape)}")
    return like(site, tuple(result))
