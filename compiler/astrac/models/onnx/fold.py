"""Numbers of small values: integer shape arithmetic, which exporters write out as nodes.

Only what follows from extents and small constants is computed, and never more than `LIMIT` elements; the shapes of the
results are already known from the operators' own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from astrac.models.graph import Constant
from astrac.models.onnx.arrays import array
from astrac.models.onnx.facts import Site, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Numbers = Any
"""An array of numpy, or a scalar."""


def _divide(left: Numbers, right: Numbers) -> Numbers:
    """Integers truncate towards zero, as in C."""
    if np.issubdtype(np.result_type(left), np.integer):
        return (np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))).astype(left.dtype)
    return left / right


def _axes(site: Site) -> tuple[int, ...] | None:
    return site.either("axes", 1)


def _squeeze(site: Site, data: Numbers) -> Numbers:
    return data.reshape(site.output())


def _shape(site: Site) -> Numbers:
    shape = site.shape()
    wanted = None if shape is None else shape[site.number("start") : site.end("end")]
    return None if wanted is None or None in wanted else np.asarray(wanted, np.int64)


def _size(site: Site) -> Numbers:
    total = elements(site.shape())
    return None if total is None else np.asarray(total, np.int64)


def _constant_of_shape(site: Site) -> Numbers:
    value, shape = site.attribute("value"), site.output()
    fill = _attribute_number(value)
    return None if shape is None or fill is None else np.full(shape, fill)


def _attribute_number(value: object) -> Numbers:
    if value is None:
        return np.float32(0)
    found = array(value) if isinstance(value, Constant) else None
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


def _gather(site: Site, data: Numbers, indices: Numbers) -> Numbers:
    return np.take(data, indices.astype(np.int64), site.number("axis"))


def _cast(site: Site, data: Numbers) -> Numbers:
    dtype = site.text("to") or "float32"
    return data.astype("float32" if dtype in ("float16", "bfloat16") or dtype.startswith("float8") else dtype)


def _reduce(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def rule(site: Site, data: Numbers, *_: Numbers) -> Numbers:
        axes = _axes(site)
        if not axes and site.number("noop_with_empty_axes"):
            return data
        return function(data, axis=axes or None, keepdims=bool(site.number("keepdims", 1)))

    return rule


def _plain(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda _site, *data: function(*data)


def _variadic(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def rule(_site: Site, first: Numbers, *rest: Numbers) -> Numbers:
        for data in rest:
            first = function(first, data)
        return first

    return rule


def _mod(site: Site, left: Numbers, right: Numbers) -> Numbers:
    return np.fmod(left, right) if site.number("fmod") else np.mod(left, right)


FOLD: dict[str, Callable[..., Numbers]] = {
    "Abs": _plain(np.abs),
    "Add": _plain(np.add),
    "And": _plain(np.logical_and),
    "Cast": _cast,
    "CastLike": lambda _site, data, other: data.astype(other.dtype),
    "Ceil": _plain(np.ceil),
    "Concat": lambda site, *data: np.concatenate(data, site.number("axis")),
    "Div": _plain(_divide),
    "Equal": _plain(np.equal),
    "Expand": lambda site, data, _shape: np.broadcast_to(data, site.output()),
    "Floor": _plain(np.floor),
    "Gather": _gather,
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Identity": _plain(lambda data: data),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Max": _variadic(np.maximum),
    "Min": _variadic(np.minimum),
    "Mod": _mod,
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "Range": _plain(np.arange),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": lambda site, data, *_: data.reshape(site.output()),
    "Round": _plain(np.round),
    "Sqrt": _plain(np.sqrt),
    "Squeeze": lambda site, data, *_: _squeeze(site, data),
    "Sub": _plain(np.subtract),
    "Tile": _plain(np.tile),
    "Transpose": lambda site, data: np.transpose(data, site.numbers("perm")),
    "Unsqueeze": lambda site, data, *_: _squeeze(site, data),
    "Where": _plain(np.where),
}
"""Operators whose result follows from the numbers of all their inputs."""

SPECIAL: dict[str, Callable[[Site], Numbers]] = {
    "ConstantOfShape": _constant_of_shape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
}
"""Operators that look at shapes, or at inputs that may be left out; `Split` yields a list."""


def fold(site: Site) -> Sequence[Numbers] | None:
    """The numbers of the outputs, None when they are not known."""
    op = site.node.op
    special = SPECIAL.get(op)
    with np.errstate(all="ignore"):
        if special is not None:
            found = special(site)
            return found if found is None or op == "Split" else (found,)
        function = FOLD.get(op)
        if function is None:
            return None
        inputs = [site.array(index) for index in range(len(site.node.inputs))]
        return None if not inputs or any(data is None for data in inputs) else (np.asarray(function(site, *inputs)),)
