"""Shapes of operators that rearrange, tell of extents, or make sequences. ONNX's operator reference is the source."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from astrac.models.onnx.facts import UNKNOWN, Inconsistent, Shape, Site, Value, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.models.onnx.facts import Rule

Values = tuple[Value, ...]
Extents = tuple[int | None, ...]


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Inconsistent(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def like(site: Site, shape: Shape, index: int = 0) -> Values:
    """One output with the type of an input."""
    return (Value(shape, site.dtype(index)),)


def shaped(*inputs: int, dtype: str | int | None = None, also: str = "") -> Callable[[Callable[..., Shape]], Rule]:
    """Makes a rule of a function that says the result's shape from the shapes of these inputs.

    The function is not asked while one of their ranks is unknown, for then the result's is unknown too.

    Args:
        inputs: whose shapes the function gets, after the site.
        dtype: the result's type, or the input that it comes from; by default the first of `inputs`.
        also: the type of a second result of the same shape, empty for none.
    """
    source = inputs[0] if dtype is None else dtype

    def decorate(function: Callable[..., Shape]) -> Rule:
        def rule(site: Site) -> Values:
            shapes = [site.shape(index) for index in inputs]
            result = None if None in shapes else function(site, *shapes)
            first = Value(result, source if isinstance(source, str) else site.dtype(source))
            return (first, Value(result, also)) if also else (first,)

        return rule

    return decorate


def of_rank(vector: Shape) -> Shape:
    """What a vector of extents that are not known tells: their number."""
    return None if not vector or vector[0] is None else (None,) * min(vector[0], 64)


def same(site: Site) -> Values:
    """The first input's shape and type."""
    return (Value(site.shape(), site.dtype()),)


def keeps(dtype: str | int = 0, also: str = "") -> Rule:
    """A rule: the first input's shape, of another type; see `shaped`."""
    return shaped(0, dtype=dtype, also=also)(lambda _site, shape: shape)


def identity(site: Site) -> Values:
    """The first input as it is, sequences too."""
    return (site.value(),)


def text(shape: Shape) -> str:
    """A shape as people write it: `1x3x?x224`."""
    return "?" if shape is None else "x".join("?" if extent is None else str(extent) for extent in shape) or "scalar"


def reshape(site: Site) -> Values:
    """Target as an input or, before opset 5, an attribute: 0 copies, -1 takes what is left."""
    shape, target = site.shape(), site.either("shape", 1)
    if target is None:
        return like(site, of_rank(site.shape(1)))
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


@shaped(0)
def squeeze(site: Site, shape: Extents) -> Shape:
    """Without `axes` every extent of one goes, which needs all extents."""
    axes = site.either("axes", 1)
    if axes is None and (site.has(1) or None in shape):
        return None
    if axes is None:
        return tuple(extent for extent in shape if extent != 1)
    gone = {axis_of(axis, len(shape)) for axis in axes}
    return tuple(extent for index, extent in enumerate(shape) if index not in gone)


@shaped(0)
def unsqueeze(site: Site, shape: Extents) -> Shape:
    """New extents of one come in at `axes`, which count in the result."""
    axes = site.either("axes", 1)
    if axes is None:
        return None
    rank = len(shape) + len(axes)
    new = {axis_of(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise Inconsistent(f"axes {list(axes)} repeat")
    old = iter(shape)
    return tuple(1 if index in new else next(old) for index in range(rank))


@shaped(0)
def transpose(site: Site, shape: Extents) -> Shape:
    """The axes come in the order of `perm`, reversed without it."""
    order = site.numbers("perm")
    order = tuple(reversed(range(len(shape)))) if order is None else tuple(axis_of(axis, len(shape)) for axis in order)
    if sorted(order) != list(range(len(shape))):
        raise Inconsistent(f"perm {list(order)} of a tensor of rank {len(shape)}")
    return tuple(shape[axis] for axis in order)


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


@shaped(0)
def slice_(site: Site, shape: Extents) -> Shape:
    """Starts, ends, axes, steps, clamped as numpy does."""
    starts, ends = site.either("starts", 1), site.either("ends", 2)
    axes, steps = site.either("axes", 3), site.data(4)
    result = list(shape)
    if starts is None or ends is None or (axes is None and site.has(3)) or (steps is None and site.has(4)):
        (base, first), (other, last) = (site.facts.offsets.get(name, (name, 0)) for name in site.node.inputs[1:3])
        wide = last - first if base == other and first < last and not site.has(4) else None
        count = None if site.has(3) else (1,) if wide is not None else site.shape(1)
        some = range(len(shape))[: count[0] if count else None]
        for axis in some if axes is None else axes:
            result[axis_of(axis, len(shape))] = wide
        return tuple(result)
    axes = axes or tuple(range(len(starts)))
    for start, end, axis, step in zip(starts, ends, axes, steps or (1,) * len(starts), strict=True):
        where = axis_of(axis, len(shape))
        extent = shape[where]
        result[where] = None if extent is None else len(range(*slice(start, end, step).indices(extent)))
    return tuple(result)


@shaped(0, 1)
def gather(site: Site, shape: Extents, indices: Extents) -> Shape:
    """The indices take the place of the axis."""
    axis = axis_of(site.number("axis"), len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def gather_elements(site: Site) -> Values:
    """Each index selects one number, so the result has the shape of the indices."""
    return like(site, site.shape(1))


@shaped(0, 1)
def gather_nd(site: Site, shape: Extents, indices: Extents) -> Shape:
    """The last axis of the indices counts the axes that it selects."""
    if not indices or indices[-1] is None:
        return None
    return (*indices[:-1], *shape[site.number("batch_dims") + indices[-1] :])


def expand(site: Site) -> Values:
    """The input is broadcast with a target shape."""
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


@shaped(0)
def tile(site: Site, shape: Extents) -> Shape:
    """Each extent is multiplied by its repeat."""
    repeats = site.data(1)
    if repeats is None:
        return (None,) * len(shape)
    return tuple(None if extent is None else extent * count for extent, count in zip(shape, repeats, strict=True))


@shaped(0)
def pad(site: Site, shape: Extents) -> Shape:
    """All begins, then all ends; of some axes only since opset 18."""
    pads = site.numbers("paddings") or site.either("pads", 1)
    axes = site.data(3)
    if pads is None or (axes is None and site.has(3)):
        return (None,) * len(shape)
    axes = tuple(range(len(shape))) if axes is None else tuple(axis_of(axis, len(shape)) for axis in axes)
    result = list(shape)
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        extent = result[axis]
        result[axis] = None if extent is None else extent + begin + end
        if (result[axis] or 0) < 0:
            raise Inconsistent(f"pads {list(pads)} of {text(shape)}")
    return tuple(result)


def constant_of_shape(site: Site) -> Values:
    """The input is the shape; float32 zeros without `value`."""
    target = site.data(0)
    shape = of_rank(site.shape()) if target is None else target
    return (Value(shape, getattr(site.attribute("value"), "dtype", "float32")),)


def range_(site: Site) -> Values:
    """ceil((limit - start) / step), at least none."""
    numbers = [site.array(index) for index in range(3)]
    if any(number is None for number in numbers):
        return like(site, (None,))
    start, limit, step = (number.item() for number in numbers if number is not None)
    return like(site, (max(int(-(-(limit - start) // step)), 0),))


@shaped(0, dtype=2)
def one_hot(site: Site, indices: Extents) -> Shape:
    """`depth` classes as a new axis."""
    depth, axis = site.data(1), axis_of(site.number("axis", -1), len(indices) + 1)
    return (*indices[:axis], depth[0] if depth else None, *indices[axis:])


@shaped(0, also="int64")
def top_k(site: Site, shape: Extents) -> Shape:
    """`k` along the axis: values and positions."""
    count = (site.number("k"),) if isinstance(site.attribute("k"), int) else site.either("k", 1)
    axis = axis_of(site.number("axis", -1), len(shape))
    return (*shape[:axis], count[0] if count else None, *shape[axis + 1 :])


def shape_of(site: Site) -> Values:
    """One number an axis, of a part of the axes since opset 15."""
    shape = site.shape()
    return (Value((None if shape is None else len(shape[site.number("start") : site.end("end")]),), "int64"),)


def scalar(site: Site) -> Values:  # noqa: ARG001 - a rule like the others
    """There is one int64 number."""
    return (Value((), "int64"),)


def unknown(site: Site) -> Values:
    """Nothing: how many there are shows at run time only."""
    return (UNKNOWN,) * len(site.node.outputs)
