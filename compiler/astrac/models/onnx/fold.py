"""Numbers of small values: integer shape arithmetic, which exporters write out as nodes.

Only what follows from extents and small constants is computed, and never more than `LIMIT` elements; the shapes of the
results are already known from the operators' own rules.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from astrac.models.graph import Constant
from astrac.models.onnx.facts import Site, elements
from astrac.models.onnx.sequences import length
from astrac.models.onnx.splice import ENDIF

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Numbers = Any
"""An array of numpy, or a scalar."""


def _divide(left: Numbers, right: Numbers) -> Numbers:
    """Integers truncate towards zero, as in C."""
    if np.issubdtype(np.result_type(left), np.integer):
        return (np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))).astype(left.dtype)
    return left / right


def _reshaped(site: Site, data: Numbers, *_: Numbers) -> Numbers:
    return data.reshape(site.output())


def _shape(site: Site) -> Numbers:
    shape = site.shape()
    wanted = None if shape is None else shape[site.number("start") : site.end("end")]
    return None if wanted is None or None in wanted else np.asarray(wanted, np.int64)


def _size(site: Site) -> Numbers:
    total = elements(site.shape())
    return None if total is None else np.asarray(total, np.int64)


def _length(site: Site) -> Numbers:
    count = length(site.value())
    return None if count is None else np.asarray(count, np.int64)


def _constant_of_shape(site: Site) -> Numbers:
    value, shape = site.attribute("value"), site.output()
    fill = _attribute_number(value)
    return None if shape is None or fill is None else np.full(shape, fill)


def _attribute_number(value: object) -> Numbers:
    if value is None:
        return np.float32(0)
    found = value.array() if isinstance(value, Constant) else None
    return None if found is None or found.size != 1 else found.ravel()[0]


def _slice(site: Site) -> Numbers:
    data = site.array(0)
    starts, ends = site.either("starts", 1), site.either("ends", 2)
    if data is None or starts is None or ends is None:
        return None
    axes, steps = site.either("axes", 3) or tuple(range(len(starts))), site.data(4) or (1,) * len(starts)
    where = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        stop = None if step < 0 and end < -data.shape[axis] else end
        where[axis] = slice(start, stop, step)
    return data[tuple(where)]


def _split(site: Site) -> Sequence[Numbers] | None:
    data = site.array(0)
    shapes = [site.output(index) for index in range(len(site.node.outputs))]
    sizes = [shape[site.number("axis")] or 0 for shape in shapes if shape]
    return None if data is None else list(np.split(data, np.cumsum(sizes)[:-1], site.number("axis")))


def _chosen(site: Site) -> Sequence[Numbers] | None:
    """The numbers that the branch of an If hands out whose condition is known."""
    condition, count = site.array(0), len(site.node.outputs)
    order = site.numbers("order") or ()
    if condition is None or condition.size != 1 or len(order) != 2:
        return None
    first = 1 + count * order.index(int(condition.all()))
    return [site.array(first + index) for index in range(count)]


def _cast(site: Site, data: Numbers) -> Numbers:
    return _typed(data, site.text("to") or "float32")


def _cast_like(site: Site) -> Numbers:
    data, dtype = site.array(0), site.dtype(1)
    return None if data is None or dtype is None else _typed(data, dtype)


def _typed(data: Numbers, dtype: str) -> Numbers:
    return data.astype("float32" if dtype in ("float16", "bfloat16") or dtype.startswith("float8") else dtype)


def _reduce(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def rule(site: Site, data: Numbers, *_: Numbers) -> Numbers:
        axes = site.either("axes", 1)
        if not axes and site.number("noop_with_empty_axes"):
            return data
        return function(data, axis=axes or None, keepdims=bool(site.number("keepdims", 1)))

    return rule


def _plain(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda _site, *data: function(*data)


_NUMPY: dict[str, Callable[..., Numbers]] = {
    "Abs": np.abs, "Add": np.add, "And": np.logical_and, "Ceil": np.ceil, "Equal": np.equal, "Floor": np.floor,
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less, "LessOrEqual": np.less_equal,
    "Mul": np.multiply, "Neg": np.negative, "Not": np.logical_not, "Or": np.logical_or, "Range": np.arange,
    "Round": np.round, "Sqrt": np.sqrt, "Sub": np.subtract, "Tile": np.tile, "Where": np.where,
    "Div": _divide, "Identity": lambda data: data,
    "Max": lambda *data: reduce(np.maximum, data), "Min": lambda *data: reduce(np.minimum, data),
}  # fmt: skip
"""Operators that need only the numbers of their inputs."""

FOLD: dict[str, Callable[..., Numbers]] = {
    **{op: _plain(function) for op, function in _NUMPY.items()},
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze"), _reshaped),
    "Cast": _cast,
    "Concat": lambda site, *data: np.concatenate(data, site.number("axis")),
    "Expand": lambda site, data, _shape: np.broadcast_to(data, site.output()),
    "Gather": lambda site, data, indices: np.take(data, indices.astype(np.int64), site.number("axis")),
    "Mod": lambda site, left, right: (np.fmod if site.number("fmod") else np.mod)(left, right),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Transpose": lambda site, data: np.transpose(data, site.numbers("perm")),
}
"""Operators whose result follows from the numbers of all their inputs."""

SPECIAL: dict[str, Callable[[Site], Numbers]] = {
    "CastLike": _cast_like,
    "ConstantOfShape": _constant_of_shape,
    ENDIF: _chosen,
    "Shape": _shape,
    "Size": _size,
    "SequenceLength": _length,
    "Slice": _slice,
    "Split": _split,
}
"""Operators that look at shapes, or at inputs that may be left out; those of several results yield a list."""


def fold(site: Site) -> Sequence[Numbers] | None:
    """The numbers of the outputs, None when they are not known."""
    op = site.node.op
    special = SPECIAL.get(op)
    with np.errstate(all="ignore"):
        if special is not None:
            found = special(site)
            return found if found is None or op in ("Split", ENDIF) else (found,)
        function = FOLD.get(op)
        if function is None:
            return None
        inputs = [site.array(index) for index in range(len(site.node.inputs))]
        return None if not inputs or any(data is None for data in inputs) else (np.asarray(function(site, *inputs)),)
