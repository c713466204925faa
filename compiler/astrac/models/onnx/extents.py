"""Shapes of operators that tell of extents, count, or make sequences."""

from __future__ import annotations

from astrac.models.onnx.facts import UNKNOWN, Shape, Site, Value
from astrac.models.onnx.layout import Values, axis_of, like


def constant_of_shape(site: Site) -> Values:
    """The input is the shape; float32 zeros without `value`."""
    target, value = site.data(0), site.attribute("value")
    vector = site.shape()
    rank = vector[0] if vector else None
    shape: Shape = target if target is not None else None if rank is None else (None,) * min(rank, 64)
    return (Value(shape, getattr(value, "dtype", "float32")),)


def range_(site: Site) -> Values:
    """ceil((limit - start) / step), at least none."""
    numbers = [site.array(index) for index in range(3)]
    if any(number is None for number in numbers):
        return like(site, (None,))
    start, limit, step = (number.item() for number in numbers if number is not None)
    return like(site, (max(int(-(-(limit - start) // step)), 0),))


def one_hot(site: Site) -> Values:
    """`depth` classes as a new axis."""
    indices, depth = site.shape(), site.data(1)
    if indices is None:
        return like(site, None, 2)
    axis = axis_of(site.number("axis", -1), len(indices) + 1)
    return like(site, (*indices[:axis], depth[0] if depth else None, *indices[axis:]), 2)


def top_k(site: Site) -> Values:
    """`k` along the axis: values and positions."""
    shape = site.shape()
    count = site.either("k", 1) if not isinstance(site.attribute("k"), int) else (site.number("k"),)
    if shape is None:
        return (Value(None, site.dtype()), Value(None, "int64"))
    axis = axis_of(site.number("axis", -1), len(shape))
    result = (*shape[:axis], count[0] if count else None, *shape[axis + 1 :])
    return (Value(result, site.dtype()), Value(result, "int64"))


def shape_of(site: Site) -> Values:
    """One number an axis, of a part of the axes since opset 15."""
    shape = site.shape()
    if shape is None:
        return (Value((None,), "int64"),)
    return (Value((len(shape[site.number("start") : site.end("end")]),), "int64"),)


def scalar(site: Site) -> Values:  # noqa: ARG001 - a rule like the others
    """One int64."""
    return (Value((), "int64"),)


def unknown(site: Site) -> Values:
    """Nothing: how many there are shows at run time only."""
    return (UNKNOWN,) * len(site.node.outputs)


def split_to_sequence(site: Site) -> Values:
    """A sequence of equal parts; parts that differ have an unknown extent there."""
    shape, sizes = site.shape(), site.array(1)
    if shape is None:
        return (Value(None, site.dtype(), sequence=True),)
    axis = axis_of(site.number("axis"), len(shape))
    if not site.has(1):
        keep = (1,) if site.number("keepdims", 1) else ()
        return (Value((*shape[:axis], *keep, *shape[axis + 1 :]), site.dtype(), sequence=True),)
    part = None if sizes is None or len(set(sizes.ravel().tolist())) != 1 else int(sizes.ravel()[0])
    return (Value((*shape[:axis], part, *shape[axis + 1 :]), site.dtype(), sequence=True),)


def sequence_at(site: Site) -> Values:
    """An element."""
    return (Value(site.shape(), site.dtype()),)


def sequence_construct(site: Site) -> Values:
    """Elements of one shape, else unknown where they differ."""
    shapes = {site.shape(index) for index in range(len(site.node.inputs))}
    return (Value(shapes.pop() if len(shapes) == 1 else None, site.dtype(), sequence=True),)


def sequence_insert(site: Site) -> Values:
    """As before when the new element has the shape of the others."""
    shape = site.shape(1)
    return (Value(shape if site.shape() in (None, shape) else None, site.dtype(1), sequence=True),)
