"""Matrix products of operators: their extents, from which multiply-accumulates follow.

MAC = one multiply-add; bias adds, scales and padding are not told apart from what all tools count: a padded position
of a convolution counts, a bias add does not.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from astrac.models.onnx.arithmetic import equation, turned

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.models.onnx.facts import Shape, Site


class Product(NamedTuple):
    """`batch` products of M x K by K x N."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def macs(self) -> int:
        """Batch x M x N x K."""
        return self.batch * self.m * self.n * self.k


Products = list[Product] | None
"""What an operator multiplies; None while a shape is unknown."""


def known(*shapes: Shape) -> list[tuple[int, ...]] | None:
    """The shapes when every extent is known."""
    if any(shape is None or None in shape for shape in shapes):
        return None
    return shapes  # type: ignore[return-value]


def matmul(left: int = 0, right: int = 1) -> Callable[[Site], Products]:
    """A rule: M x K by K x N, turned by `transA`, `transB`; leading axes are one large M where the right has none."""

    def rule(site: Site) -> Products:
        shapes = known(
            turned(site.shape(left), site.number("transA")), turned(site.shape(right), site.number("transB"))
        )
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


def conv(weight: int = 1) -> Callable[[Site], Products]:
    """As im2col multiplies: a product a group of output positions x kernel by kernel x output channels."""

    def rule(site: Site) -> Products:
        shapes = known(site.output(), site.shape(weight))
        if shapes is None:
            return None
        (batch, channels, *space), kernel = shapes
        groups = site.number("group", 1)
        return [Product(groups, batch * prod(space), channels // groups, prod(kernel[1:]))]

    return rule


def conv_transpose(site: Site) -> Products:
    """Every input element meets all of the kernel: positions x kernel x output channels, a product a group."""
    shapes = known(site.shape(), site.shape(1))
    if shapes is None:
        return None
    (batch, channels, *space), kernel = shapes
    groups = site.number("group", 1)
    return [Product(groups, batch * prod(space), prod(kernel[1:]), channels // groups)]


def einsum(site: Site) -> Products:
    """The product of all extents; batch, M, N, K by where an index stands."""
    indices, wanted, extents = equation(site)
    if None in extents.values():
        return None
    left, right = (set(indices[0]), set(indices[1])) if len(indices) == 2 else (set(indices[0]), set())
    sizes = {name: extent for name, extent in extents.items() if extent is not None}
    if len(indices) > 2:
        return [
            Product(
                1, prod(sizes[name] for name in wanted), 1, prod(sizes[name] for name in sizes if name not in wanted)
            )
        ]
    if not right:
        return []
    parts = [left & right & set(wanted), left - right, right - left, (left & right) - set(wanted)]
    return [Product(*(prod(sizes[name] for name in part) for part in parts))]


def recurrent(gates: int) -> Callable[[Site], Products]:
    """Steps x batch x directions products of [inputs + hidden] by [gates x hidden]."""

    def rule(site: Site) -> Products:
        shapes = known(site.shape(), site.shape(1), site.shape(2))
        if shapes is None:
            return None
        data, weights, recurrence = shapes
        hidden = min(recurrence[1:])
        inputs = prod(weights[1:]) // (gates * hidden)
        return [Product(weights[0], data[0] * data[1], gates * hidden, inputs + hidden)]

    return rule


class Recurrence(NamedTuple):
    """What a recurrent net needs in backward beside its products: that of a state with the one before, and insides."""

    through_time: Product
    kept: int


def recurrence(gates: int, inside: int) -> Callable[[Site], Recurrence | None]:
    """All steps but the first hand a gradient on; of each `inside` numbers a hidden one are kept with the state."""

    def rule(site: Site) -> Recurrence | None:
        shapes = known(site.shape(), site.shape(2))
        if shapes is None:
            return None
        data, weights = shapes
        batch, steps = data[:2] if site.number("layout") else data[1::-1]
        directions, hidden = weights[0], min(weights[1:])
        count = inside + (not site.node.outputs[0])
        through = Product(directions, max(steps - 1, 0) * batch, gates * hidden, hidden)
        return Recurrence(through, count * directions * steps * batch * hidden)

    return rule


def experts(site: Site) -> Products:
    """`MoE`: each token sees `k` experts, of two matrices or three; the first axis of a weight counts the experts."""
    weights = [site.shape(index) for index in (2, 4, 6) if site.has(index)]
    shapes = known(site.shape(), *weights)
    if shapes is None:
        return None
    data, *matrices = shapes
    active, tokens, hidden = site.number("k", 1), prod(data[:-1]), data[-1]
    inner = [prod(matrix[1:]) // hidden for matrix in matrices]
    return [Product(active, tokens, width, hidden) for width in inner]


def n_bits(site: Site) -> Products:
    """`MatMulNBits`: K and N are attributes, the weight is packed."""
    shapes = known(site.shape())
    return None if shapes is None else [Product(1, prod(shapes[0][:-1]), site.number("N"), site.number("K"))]
