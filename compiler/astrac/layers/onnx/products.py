"""Matrix products of operators: their extents, from which multiply-accumulates follow.

MAC = one multiply-add; bias adds, scales and padding are not told apart from what all tools count: a padded position
of a convolution counts, a bias add does not.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from astrac.layers.onnx.arithmetic import equation, turned

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.layers.onnx.facts import Shape, Site


class Product(NamedTuple):
    """`batch` products of M x K by K x N."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def macs(self) -> int:
        """batch x M x N x K."""
        return self.batch * self.m * self.n * self.k


Products = list[Product] | None
"""What an operator multiplies; None while a shape is unknown."""


def known(*shapes: Shape) -> list[tuple[int, ...]] | None:
    """The shapes when every extent is known."""
    if any(shape is None or None in shape for shape in shapes):
        return None
    return shapes  # type: ignore[return-value]


def matmul(left: int = 0, right: int = 1) -> Callable[[Site], Products]:
    """M x K by K x N; leading axes are one large M where the right operand has none."""

    def rule(site: Site) -> Products:
        shapes = known(turned(site.shape(left), site.int("transA")), turned(site.shape(right), site.int("transB")))
        if shapes is None:
            return None
        a, b = shapes
        rows, inner, columns = (a[-2] if len(a) > 1 else 1), a[-1], (b[-1] if len(b) > 1 else 1)
        if len(b) <= 2:
            return [Product(1, prod(a[:-1]), columns, inner)]
        batch = known(site.output())
        ones = (len(a) > 1) + 1
        return None if batch is None else [Product(prod(batch[0][:-ones]), rows, columns, inner)]

    return rule


def gemm(left: int = 0, right: int = 1) -> Callable[[Site], Products]:
    """M, N, K from `transA` and `transB`."""

    def rule(site: Site) -> Products:
        shapes = known(turned(site.shape(left), site.int("transA")), turned(site.shape(right), site.int("transB")))
        return None if shapes is None else [Product(1, shapes[0][0], shapes[1][1], shapes[0][1])]

    return rule


def conv(weight: int = 1) -> Callable[[Site], Products]:
    """As im2col multiplies: a product a group of output positions x kernel by kernel x output channels."""

    def rule(site: Site) -> Products:
        shapes = known(site.output(), site.shape(weight))
        if shapes is None:
            return None
        (batch, channels, *space), kernel = shapes
        groups = site.int("group", 1)
        return [Product(groups, batch * prod(space), channels // groups, prod(kernel[1:]))]

    return rule


def conv_transpose(site: Site) -> Products:
    """Every input element meets all of the kernel: positions x kernel x output channels, a product a group."""
    shapes = known(site.shape(), site.shape(1))
    if shapes is None:
        return None
    (batch, channels, *space), kernel = shapes
    groups = site.int("group", 1)
    return [Product(groups, batch * prod(space), prod(kernel[1:]), channels // groups)]


def einsum(site: Site) -> Products:
    """The product of all extents; batch, M, N, K by where an index stands."""
    indices, wanted, extents = equation(site)
    if None in extents.values():
        return None
    left, right = (set(indices[0]), set(indices[1])) if len(indices) == 2 else (set(indices[0]), set())
    sizes = {name: extent for name, extent in extents.items() if extent is not None}
    if len(indices) > 2:
        return [Product(1, prod(sizes[name] for name in wanted), 1, prod(sizes[name] for name in sizes if name not in wanted))]
    if not right:
        return []
    parts = [left & right & set(wanted), left - right, right - left, (left & right) - set(wanted)]
    return [Product(*(prod(sizes[name] for name in part) for part in parts))]


def recurrent(gates: int) -> Callable[[Site], Products]:
    """steps x batch x directions products of [inputs + hidden] by [gates x hidden]."""

    def rule(site: Site) -> Products:
        shapes = known(site.shape(), site.shape(1), site.shape(2))
        if shapes is None:
            return None
        data, weights, recurrence = shapes
        directions, hidden = weights[0], recurrence[2]
        return [Product(directions, data[0] * data[1], gates * hidden, weights[2] + hidden)]

    return rule


def n_bits(site: Site) -> Products:
    """`MatMulNBits`: K and N are attributes, the weight is packed."""
    shapes = known(site.shape())
    return None if shapes is None else [Product(1, prod(shapes[0][:-1]), site.int("N"), site.int("K"))]


def _scores(batch: int, heads: int, query: int, key: int, width: int, value_width: int) -> list[Product]:
    """Scores and context of `heads` heads; the widths are a head's."""
    return [Product(batch * heads, query, key, width), Product(batch * heads, query, value_width, key)]


def attention(site: Site) -> Products:
    """`Attention`, `QAttention`: one projection to query, key and value, then scores and context, with the past in the keys."""
    shapes = known(site.shape(), site.shape(1), site.output())
    if shapes is None:
        return None
    (batch, steps, inputs), weight, output = shapes
    heads = max(site.int("num_heads", 1), 1)
    past = known(site.shape(4)) if site.node.op == "Attention" and site.has(4) else None
    keys = steps + (past[0][3] if past and len(past[0]) == 5 else 0)
    sizes = site.ints("qkv_hidden_sizes")
    width = (sizes[0] if sizes else output[-1]) // heads
    projection = Product(1, batch * steps, weight[-1], inputs)
    return [projection, *_scores(batch, heads, steps, keys, width, output[-1] // heads)]


_PAST = {"Attention": 4, "GroupQueryAttention": 3, "MultiHeadAttention": 6}
"""Which input holds the keys of earlier steps, [batch, heads, steps, size]."""


def heads_attention(site: Site) -> Products:
    """Scores and context of query, key and value that were projected before."""
    shapes = known(site.shape(), site.output())
    if shapes is None:
        return None
    query, output = shapes
    heads = site.int("num_heads") or site.int("q_num_heads") or (query[1] if len(query) == 4 else 1)
    key = known(site.shape(1)) if site.has(1) else None
    if site.has(1) and key is None:
        return None
    steps = query[2] if len(query) == 4 else query[1]
    keys = steps
    if key is not None:
        keys = key[0][2] if len(key[0]) == 4 else key[0][1]
    past = known(site.shape(_PAST.get(site.node.op, 99)))
    keys += past[0][2] if past and len(past[0]) == 4 else 0
    value_width = output[-1] if len(output) == 4 else output[-1] // max(heads, 1)
    if len(query) == 4:
        width = query[3]
    elif key is None or site.node.op == "GroupQueryAttention":
        width = value_width
    else:
        width = query[-1] // max(heads, 1)
    return _scores(query[0], heads, steps, keys, width, value_width)
