"""Shapes of operators that compute: broadcasts, reductions, products, windows, recurrences, normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.onnx.facts import UNKNOWN, Inconsistent, Shape, Site, Value
from astrac.models.onnx.layout import Extents, Values, agreed, axis_of, broadcast, like, shaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.models.onnx.facts import Rule


def broadcast_all(site: Site) -> Values:
    """Numpy's rule over all inputs; before opset 7 the first operand's shape."""
    if "broadcast" in site.node.attributes:
        return like(site, site.shape())
    return like(site, broadcast(*(site.shape(index) for index in range(len(site.node.inputs)))))


def broadcast_at(left: int, right: int) -> Rule:
    """A rule for an operator of two operands that are these inputs."""
    return lambda site: like(site, broadcast(site.shape(left), site.shape(right)), left)


def compare(site: Site) -> Values:
    """The result has the shape of `broadcast_all`, of truth values."""
    return (broadcast_all(site)[0]._replace(dtype="bool"),)


def where(site: Site) -> Values:
    """The condition and both choices are broadcast; the type is that of the choices."""
    return like(site, broadcast(site.shape(), site.shape(1), site.shape(2)), 1)


@shaped(0)
def reduce(site: Site, shape: Extents) -> Shape:
    """Axes as an attribute or an input, all without."""
    axes = site.either("axes", 1)
    if axes is None and site.has(1):
        return None
    if not axes:
        axes = () if site.number("noop_with_empty_axes") else tuple(range(len(shape)))
    return _without(shape, [axis_of(axis, len(shape)) for axis in axes], site.number("keepdims", 1))


@shaped(0, dtype="int64")
def arg_reduce(site: Site, shape: Extents) -> Shape:
    """One axis is reduced, and positions along it are told."""
    return _without(shape, [axis_of(site.number("axis"), len(shape))], site.number("keepdims", 1))


def _without(shape: Sequence[int | None], axes: Sequence[int], keep: int) -> Shape:
    if keep:
        return tuple(1 if index in axes else extent for index, extent in enumerate(shape))
    return tuple(extent for index, extent in enumerate(shape) if index not in axes)


def matmul_shape(left: Shape, right: Shape) -> Shape:
    """Numpy's matmul: vectors lose the axis that was added for them."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise Inconsistent("a scalar has no matrix product")
    a = (1, *left) if len(left) == 1 else left
    b = (*right, 1) if len(right) == 1 else right
    agreed((a[-1], b[-2]), (left, right))
    batch = broadcast(a[:-2], b[:-2])
    assert batch is not None
    rows = () if len(left) == 1 else (a[-2],)
    return (*batch, *rows, *(() if len(right) == 1 else (b[-1],)))


def turned(shape: Shape, flag: int) -> Shape:
    """The last two axes exchanged when the flag is set."""
    return shape if not flag or shape is None or len(shape) < 2 else (*shape[:-2], shape[-1], shape[-2])


def matmul_at(left: int, right: int, dtype: str | None = None) -> Rule:
    """A rule for a product whose matrices are these inputs; `FusedMatMul` may transpose the last two axes."""

    def rule(site: Site) -> Values:
        a, b = turned(site.shape(left), site.number("transA")), turned(site.shape(right), site.number("transB"))
        return (Value(matmul_shape(a, b), dtype or site.dtype(left)),)

    return rule


def gemm(site: Site) -> Values:
    """The result has M x N numbers, where each operand may be transposed."""
    left, right = turned(site.shape(), site.number("transA")), turned(site.shape(1), site.number("transB"))
    if left is None or right is None:
        return like(site, (None, None))
    (rows, inner), (other, columns) = left, right
    agreed((inner, other), (site.shape(), site.shape(1)))
    return like(site, (rows, columns))


def equation(site: Site) -> tuple[list[list[str]], list[str], dict[str, int | None]]:
    """An Einsum's indices a operand, of the result, and their extents; `...` becomes indices named by number."""
    terms, _, result = site.text("equation").replace(" ", "").partition("->")
    operands = terms.split(",")
    if len(operands) != len(site.node.inputs):
        raise Inconsistent(f"equation `{site.text('equation')}` has {len(operands)} operands")
    extents: dict[str, int | None] = {}
    indices = []
    for number, term in enumerate(operands):
        shape = site.shape(number)
        before, dots, after = term.partition("...")
        hidden = (len(shape) if shape is not None else len(term)) - len(before) - len(after)
        names = [*before, *(str(hidden - place) for place in range(hidden) if dots), *after]
        indices.append(names)
        for name, extent in zip(names, shape or (None,) * len(names), strict=True):
            extents[name] = (
                extent if extents.get(name) in (None, 1) else agreed((extents[name], None if extent == 1 else extent))
            )
    dotted = sorted({name for name in extents if name.isdigit()}, key=int, reverse=True)
    if "->" in site.text("equation"):
        before, dots, after = result.partition("...")
        wanted = [*before, *(dotted if dots else ()), *after]
    else:
        flat = [name for names in indices for name in names if not name.isdigit()]
        wanted = [*dotted, *sorted(name for name in set(flat) if flat.count(name) == 1)]
    return indices, wanted, extents


def einsum(site: Site) -> Values:
    """The extents of the result's indices."""
    _, wanted, extents = equation(site)
    return like(site, tuple(extents[name] for name in wanted))


def normalise(site: Site) -> Values:
    """The first input's shape; statistics beside it have the leading axes of the first input or one channel axis."""
    shape, count = site.shape(), len(site.node.outputs)
    if site.node.op == "BatchNormalization":
        return (Value(shape, site.dtype()), *(Value(site.shape(1), site.dtype(1)),) * (count - 1))
    axis = site.number("axis", -1)
    rank = len(shape) if shape is not None else 0
    kept = None if shape is None else (*shape[: axis_of(axis, rank)], *(1,) * (rank - axis_of(axis, rank)))
    return (Value(shape, site.dtype()), *(Value(kept, "float32"),) * (count - 1))


def skip_normalise(site: Site) -> Values:
    """The first input's shape; the fourth output is the sum that was normalised."""
    shape = site.shape()
    return (Value(shape, site.dtype()), UNKNOWN, UNKNOWN, Value(shape, site.dtype()))


def embed_normalise(site: Site) -> Values:
    """Token numbers to rows of the tables, a mask index, the sum before normalisation."""
    ids, table = site.shape(), site.shape(2)
    shape = None if ids is None or table is None else (*ids, table[-1])
    return (Value(shape, site.dtype(2)), Value(None if ids is None else ids[:1], "int32"), Value(shape, site.dtype(2)))


def recurrent(site: Site) -> Values:
    """All states and the last ones: [steps, directions, batch, hidden], or batch first with `layout` 1."""
    shape, weights = site.shape(), site.shape(2)
    if shape is None or len(shape) != 3 or weights is None or len(weights) != 3:
        return (Value(None, site.dtype()),) * 3
    directions, hidden = weights[0], None if None in weights else min(weights[1:])  # type: ignore[type-var]
    if site.number("layout"):
        batch, steps = shape[:2]
        result, last = (batch, steps, directions, hidden), (batch, directions, hidden)
    else:
        steps, batch = shape[:2]
        result, last = (steps, directions, batch, hidden), (directions, batch, hidden)
    return (Value(result, site.dtype()), Value(last, site.dtype()), Value(last, site.dtype()))


def cast(site: Site) -> Values:
    """The shape stays, and the attribute `to` names the type."""
    return (Value(site.shape(), site.text("to") or None),)


def quantise(site: Site) -> Values:
    """The shape stays; the type is the zero point's, else what `output_dtype` says, else uint8."""
    return (Value(site.shape(), site.dtype(2) or site.text("output_dtype") or "uint8"),)


def dynamic_quantise(site: Site) -> Values:
    """There are the quantised values, their scale and their zero point."""
    return (Value(site.shape(), "uint8"), Value((), "float32"), Value((), "uint8"))


def last_axis(name: str) -> Rule:
    """A rule: the last axis becomes the integer attribute `name` (`MatMulNBits`: N)."""
    return shaped(0)(lambda site, shape: (*shape[:-1], site.number(name)) if shape else None)


@shaped(0)
def gated(_site: Site, shape: Extents) -> Shape:
    """Half of the last axis gates the other, so that half of it is left."""
    return (*shape[:-1], None if shape[-1] is None else shape[-1] // 2) if shape else None
