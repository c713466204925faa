"""Fused attention: shapes and products of ONNX's and com.microsoft's operators.

Counted are the products of scores and context, without what a causal mask could spare, the projection where it is part
of the operator, and softmax over the scores: five FLOPs each, as for the operator of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from astrac.models.onnx.facts import UNKNOWN, Inconsistent, Site, Value
from astrac.models.onnx.layout import Values, like
from astrac.models.onnx.products import Product, Products, known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PAST = {"Attention": 4, "GroupQueryAttention": 3, "MultiHeadAttention": 6}
"""Which input holds the keys of earlier steps, [batch, heads, steps, size]."""


class Heads(NamedTuple):
    """Extents of a multi-head attention; `width` and `value_width` are a head's."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    value_width: int

    @property
    def products(self) -> list[Product]:
        """Queries by keys, then probabilities by values."""
        count = self.batch * self.heads
        return [
            Product(count, self.queries, self.keys, self.width),
            Product(count, self.queries, self.value_width, self.keys),
        ]


def bare(site: Site) -> Values:
    """Query, key and value that were projected before; the result has the query's rows and the values' width."""
    found = _heads(site)
    if found is None:
        return (UNKNOWN,) * len(site.node.outputs)
    shape: tuple[int, ...] = (found.batch, found.queries, found.heads * found.value_width)
    if site.node.domain == "" and len(site.shape() or ()) == 4:
        shape = (found.batch, found.heads, found.queries, found.value_width)
    return (Value(shape, site.dtype()), *(UNKNOWN,) * (len(site.node.outputs) - 1))


def bare_products(site: Site) -> Products:
    """The products are those of the scores and of the context."""
    found = _heads(site)
    return None if found is None else found.products


def softmax_flops(rule: Callable[[Site], Products]) -> Callable[[Site], int | None]:
    """Softmax over the scores, which are the last product but one."""

    def flops(site: Site) -> int | None:
        found = rule(site)
        return None if found is None else 5 * found[-2].batch * found[-2].m * found[-2].n

    return flops


def _heads(site: Site) -> Heads | None:
    """From query, key, value and the keys of earlier steps; None while an extent is unknown."""
    operands = [site.shape(index) for index in range(3) if site.has(index)]
    past = [site.shape(index) for index in (_PAST[site.node.op],) if site.has(index)]
    shapes = known(*operands, *past)
    if shapes is None:
        return None
    query, *others = shapes[: len(operands)]
    earlier = shapes[-1][2] if past and len(shapes[-1]) == 4 else 0
    heads = site.number("num_heads") or site.number("q_num_heads") or 1
    groups = site.number("kv_num_heads") or heads
    if not others:
        return _packed(query, heads, groups, earlier)
    if len(query) == 4:  # [batch, heads, steps, size]
        key, value = others
        return Heads(query[0], query[1], query[2], key[2] + earlier, query[3], value[3])
    batch, steps, size = query
    width = size // heads
    key = others[0]
    if len(key) == 5:  # keys and values in one, [batch, steps, heads, 2, size]
        return Heads(batch, heads, steps, key[1] + earlier, width, key[4])
    keys = key[2] if len(key) == 4 else key[1]
    value_width = others[1][3] if len(others[1]) == 4 else others[1][2] // groups
    return Heads(batch, heads, steps, keys + earlier, width, value_width)


def _packed(query: Sequence[int], heads: int, groups: int, earlier: int) -> Heads:
    """Query, key and value in one input: [batch, steps, heads, 3, size] or [batch, steps, all sizes]."""
    if len(query) == 5:
        batch, steps, heads, _, width = query
    elif len(query) == 3:
        batch, steps, size = query
        width = size // (heads + 2 * groups)
    else:
        raise Inconsistent(f"a query of rank {len(query)}")
    return Heads(batch, heads, steps, steps + earlier, width, width)


def projected(site: Site) -> Values:
    """`com.microsoft.Attention`, `QAttention`: [batch, steps, width of the values]."""
    shape, weight, sizes = site.shape(), site.shape(1), site.numbers("qkv_hidden_sizes")
    if shape is None or weight is None or len(shape) != 3:
        return like(site, None)
    width = sizes[-1] if sizes else None if weight[-1] is None else weight[-1] // 3
    return (Value((*shape[:2], width), site.dtype() if site.node.op == "Attention" else "float32"), UNKNOWN)


def projected_products(site: Site) -> Products:
    """One projection to query, key and value, then scores and context; the past is [2, batch, heads, steps, size]."""
    past = site.shape(4) if site.node.op == "Attention" and site.has(4) else (0,) * 5
    shapes = known(site.shape(), site.shape(1), site.output(), past)
    if shapes is None:
        return None
    (batch, steps, inputs), weight, output, (*_, earlier, _) = shapes
    heads, sizes = max(site.number("num_heads", 1), 1), site.numbers("qkv_hidden_sizes")
    width = (sizes[0] if sizes else output[-1]) // heads
    inner = Heads(batch, heads, steps, steps + earlier, width, output[-1] // heads)
    return [Product(1, batch * steps, weight[-1], inputs), *inner.products]
