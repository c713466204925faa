"""Shapes of operators that compute: broadcasts, reductions, products, windows, recurrences, normalisations."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from astrac.layers.onnx.facts import UNKNOWN, Inconsistent, Shape, Site, Value
from astrac.layers.onnx.layout import Values, agreed, axis_of, broadcast, like, text

if TYPE_CHECKING:
    from collections.abc import Sequence


def broadcast_all(site: Site) -> Values:
    """Numpy's rule over all inputs; before opset 7 the first operand's shape."""
    if "broadcast" in site.node.attributes:
        return like(site, site.shape())
    return like(site, broadcast(*(site.shape(index) for index in range(len(site.node.inputs)))))


def compare(site: Site) -> Values:
    """As `broadcast_all`, of truth values."""
    return (broadcast_all(site)[0]._replace(dtype="bool"),)


def where(site: Site) -> Values:
    """Condition and both choices broadcast."""
    return like(site, broadcast(site.shape(), site.shape(1), site.shape(2)), 1)


def truth(site: Site) -> Values:
    """The input's shape, of truth values."""
    return (Value(site.shape(), "bool"),)


def reduce(site: Site) -> Values:
    """Axes as an attribute or an input, all without."""
    shape, axes = site.shape(), site.either("axes", 1)
    if shape is None or (axes is None and site.has(1)):
        return like(site, None)
    if not axes:
        axes = () if site.int("noop_with_empty_axes") else tuple(range(len(shape)))
    return like(site, _without(shape, [axis_of(axis, len(shape)) for axis in axes], site.int("keepdims", 1)))


def arg_reduce(site: Site) -> Values:
    """One axis, of positions."""
    shape = site.shape()
    if shape is None:
        return (Value(None, "int64"),)
    axis = axis_of(site.int("axis"), len(shape))
    return (Value(_without(shape, [axis], site.int("keepdims", 1)), "int64"),)


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


def matmul(site: Site) -> Values:
    """See `matmul_shape`; `FusedMatMul` may transpose the last two axes."""
    left, right = turned(site.shape(), site.int("transA")), turned(site.shape(1), site.int("transB"))
    return like(site, matmul_shape(left, right))


def turned(shape: Shape, flag: int) -> Shape:
    """The last two axes exchanged when the flag is set."""
    return shape if not flag or shape is None or len(shape) < 2 else (*shape[:-2], shape[-1], shape[-2])


def matmul_of(left: int, right: int, dtype: str | None) -> object:
    """A rule for operators whose matrices are other inputs (`QLinearMatMul`)."""

    def rule(site: Site) -> Values:
        return (Value(matmul_shape(site.shape(left), site.shape(right)), dtype or site.dtype(left)),)

    return rule


def gemm(site: Site) -> Values:
    """M x N."""
    left, right = turned(site.shape(), site.int("transA")), turned(site.shape(1), site.int("transB"))
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
            extents[name] = extent if extents.get(name) in (None, 1) else agreed((extents[name], None if extent == 1 else extent))
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


def windows(site: Site, space: Sequence[int | None], kernel: Sequence[int | None]) -> tuple[int | None, ...]:
    """Positions of a sliding window along each axis: ONNX's formulas for `Conv` and pooling."""
    rank = len(space)
    strides, dilations = site.ints("strides") or (1,) * rank, site.ints("dilations") or (1,) * rank
    pads, auto = site.ints("pads") or (0,) * (2 * rank), site.text("auto_pad", "NOTSET")
    result: list[int | None] = []
    for index, (extent, width) in enumerate(zip(space, kernel, strict=True)):
        stride = strides[index]
        if extent is None or width is None or stride < 1:
            result.append(None)
        elif auto.startswith("SAME"):
            result.append(-(-extent // stride))
        else:
            begin, end = (pads[index], pads[rank + index]) if auto in ("NOTSET", "") else (0, 0)
            room = extent + begin + end - (dilations[index] * (width - 1) + 1)
            if room < 0:
                raise Inconsistent(f"a window of {width} does not fit into {extent}")
            count = room // stride + 1
            if site.int("ceil_mode"):
                count = -(-room // stride) + 1
                count -= (count - 1) * stride >= extent + begin
            result.append(count)
    return tuple(result)


def conv_at(data: int, weight: int, dtype: str | None = None) -> object:
    """A rule for a convolution whose operands are these inputs."""

    def rule(site: Site) -> Values:
        shape, kernel = site.shape(data), site.shape(weight)
        if shape is None or kernel is None:
            return (Value(None, dtype or site.dtype(data)),)
        if len(shape) != len(kernel) or len(shape) < 2:
            raise Inconsistent(f"a kernel of {text(kernel)} over {text(shape)}")
        inner = None if kernel[1] is None else kernel[1] * site.int("group", 1)
        agreed((shape[1], inner), (shape, kernel))
        return (Value((shape[0], kernel[0], *windows(site, shape[2:], kernel[2:])), dtype or site.dtype(data)),)

    return rule


def conv_transpose(site: Site) -> Values:
    """stride x (extent - 1) + output padding + dilated kernel - pads; channels = second extent of the kernel x group."""
    shape, kernel = site.shape(), site.shape(1)
    if shape is None or kernel is None:
        return like(site, None)
    if len(shape) != len(kernel) or len(shape) < 2:
        raise Inconsistent(f"a kernel of {text(kernel)} over {text(shape)}")
    agreed((shape[1], kernel[0]), (shape, kernel))
    channels = None if kernel[1] is None else kernel[1] * site.int("group", 1)
    rank = len(shape) - 2
    sizes = site.ints("output_shape")
    if sizes is not None:
        return like(site, (shape[0], channels, *sizes[-rank:]))
    strides, dilations = site.ints("strides") or (1,) * rank, site.ints("dilations") or (1,) * rank
    extra, pads = site.ints("output_padding") or (0,) * rank, site.ints("pads") or (0,) * (2 * rank)
    auto = site.text("auto_pad", "NOTSET")
    result: list[int | None] = []
    for index, (extent, width) in enumerate(zip(shape[2:], kernel[2:], strict=True)):
        if extent is None or width is None:
            result.append(None)
        elif auto.startswith("SAME"):
            result.append(extent * strides[index])
        else:
            cut = pads[index] + pads[rank + index] if auto in ("NOTSET", "") else 0
            result.append(strides[index] * (extent - 1) + extra[index] + dilations[index] * (width - 1) + 1 - cut)
    return like(site, (shape[0], channels, *result))


def pool(site: Site) -> Values:
    """The windows of `kernel_shape`; positions beside the values where asked for."""
    shape, kernel = site.shape(), site.ints("kernel_shape")
    if shape is None or kernel is None:
        return like(site, None)
    result = (*shape[:2], *windows(site, shape[2:], kernel))
    return (Value(result, site.dtype()), Value(result, "int64"))


def global_pool(site: Site) -> Values:
    """One position."""
    shape = site.shape()
    return like(site, None if shape is None else (*shape[:2], *(1,) * (len(shape) - 2)))


def normalise(site: Site) -> Values:
    """The first input's shape; statistics beside it have the leading axes of the first input or one channel axis."""
    shape, count = site.shape(), len(site.node.outputs)
    if site.node.op == "BatchNormalization":
        return (Value(shape, site.dtype()), *(Value(site.shape(1), site.dtype(1)),) * (count - 1))
    axis = site.int("axis", -1)
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


def dropout(site: Site) -> Values:
    """Values and the mask."""
    return (Value(site.shape(), site.dtype()), Value(site.shape(), "bool"))


def recurrent(site: Site) -> Values:
    """All states and the last ones: [steps, directions, batch, hidden], or batch first with `layout` 1."""
    shape, weights = site.shape(), site.shape(2)
    if shape is None or len(shape) != 3 or weights is None or len(weights) != 3:
        return (Value(None, site.dtype()),) * 3
    directions, hidden = weights[0], weights[2]
    if site.int("layout"):
        batch, steps = shape[:2]
        result, last = (batch, steps, directions, hidden), (batch, directions, hidden)
    else:
        steps, batch = shape[:2]
        result, last = (steps, directions, batch, hidden), (directions, batch, hidden)
    return (Value(result, site.dtype()), Value(last, site.dtype()), Value(last, site.dtype()))


def cast(site: Site) -> Values:
    """Another type."""
    return (Value(site.shape(), site.text("to") or None),)


def cast_like(site: Site) -> Values:
    """The second input's type."""
    return (Value(site.shape(), site.dtype(1)),)


def quantise(site: Site) -> Values:
    """The zero point's type."""
    return (Value(site.shape(), site.dtype(2) or site.text("output_dtype") or "uint8"),)


def dequantise(site: Site) -> Values:
    """The scale's type."""
    return (Value(site.shape(), site.dtype(1)),)


def dynamic_quantise(site: Site) -> Values:
    """Values, scale, zero point."""
    return (Value(site.shape(), "uint8"), Value((), "float32"), Value((), "uint8"))


def attention(site: Site) -> Values:
    """`com.microsoft.Attention`, `QAttention`: [batch, steps, hidden], the weight is [inputs, 3 x hidden] or holds its own sizes."""
    shape, weight = site.shape(), site.shape(1)
    sizes = site.ints("qkv_hidden_sizes")
    if shape is None or weight is None or len(shape) != 3:
        return like(site, None)
    hidden = sizes[-1] if sizes else None if weight[-1] is None else weight[-1] // 3
    return (Value((*shape[:2], hidden), site.dtype() if site.node.op == "Attention" else "float32"), UNKNOWN)


def heads_attention(site: Site) -> Values:
    """Query, key, value as inputs of rank 3 [batch, steps, hidden] or 4 [batch, heads, steps, size]; rows of the query, width of the value."""
    query, value = site.shape(), site.shape(2)
    if query is None:
        return (UNKNOWN,) * len(site.node.outputs)
    if len(query) == 4 and value is not None and len(value) == 4:
        return (Value((*query[:3], value[3]), site.dtype()), *(UNKNOWN,) * 3)
    if value is not None and len(query) == len(value) == 3 and site.node.domain == "":
        heads, groups = site.int("q_num_heads", 1), site.int("kv_num_heads", 1)
        width = None if value[-1] is None or not groups else value[-1] // groups * heads
        return (Value((*query[:2], width), site.dtype()), *(UNKNOWN,) * 3)
    packed = site.int("num_heads") and not site.has(1)
    if packed and site.node.op == "GroupQueryAttention":
        groups = site.int("num_heads") + 2 * site.int("kv_num_heads")
        width = None if query[-1] is None else query[-1] // groups * site.int("num_heads")
        return (Value((*query[:2], width), site.dtype()), *(UNKNOWN,) * 3)
    if packed and len(query) == 5:  # [batch, steps, heads, 3, size]
        width = None if query[2] is None or query[4] is None else query[2] * query[4]
        return (Value((*query[:2], width), site.dtype()), *(UNKNOWN,) * 3)
    same_width = value is None or len(value) != 3 or site.node.op == "GroupQueryAttention"
    return (Value(query if same_width else (*query[:2], value[-1]), site.dtype()), *(UNKNOWN,) * 3)  # type: ignore[index]


def last_axis(name: str) -> object:
    """A rule: the last axis becomes the integer attribute `name` (`MatMulNBits`: N)."""

    def rule(site: Site) -> Values:
        shape = site.shape()
        return like(site, None if not shape else (*shape[:-1], site.int(name)))

    return rule


def swish_gate(site: Site) -> Values:
    """Half of the last axis."""
    shape = site.shape()
    return like(site, None if not shape else (*shape[:-1], None if shape[-1] is None else shape[-1] // 2))


def total(shape: Sequence[int]) -> int:
    """The product of known extents."""
    return prod(shape)
