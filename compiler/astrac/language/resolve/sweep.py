"""`sweep`: the points of a product over lets and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac import units
from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic, quoted
from astrac.language import syntax
from astrac.language.expression import Scope, evaluate
from astrac.units import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from astrac.language.expression import Value
    from astrac.source import Span

MAX_POINTS = 10_000

_UNFIT = re.compile(r"[^\w.+=,-]+")

WHERE, TOGETHER, RANGE = "where", "together", "range"
"""Words of a sweep: a condition, a block of keys that change together, and the call that stands for values."""


@dataclass(frozen=True)
class Point:
    """One choice of values.

    Attributes:
        name: fit for a folder; empty for the only point of a file that sweeps nothing.
        values: key and value as written.
        assignments: the same as attributes.
        where: which points are wanted; evaluated when the point's values are known.
    """

    name: str = ""
    values: tuple[tuple[str, str], ...] = ()
    assignments: tuple[syntax.Attribute, ...] = ()
    where: syntax.Expression | None = None


class _Chosen(NamedTuple):
    """A value of a key, and how it is written."""

    attribute: syntax.Attribute
    written: str


_Axis: TypeAlias = "list[tuple[_Chosen, ...]]"
"""What is chosen from: the values of a key one by one, or those of several keys that change together."""


def points(
    file: syntax.File,
    settings: Iterable[syntax.Attribute],
    others: Iterable[syntax.Item] = (),
    lets: Mapping[str, syntax.Let] | None = None,
) -> Iterator[Point]:
    """All points, the last key changing fastest; what `--set` fixes is not swept.

    Args:
        file: whose sweep it is.
        settings: what `--set` says.
        others: further items of the sweep; those of one key stand in place of the file's.
        lets: that ends and steps of ranges may name.

    Raises:
        Diagnosed: AS215 for too many, AS216 for something other than values, AS2xx and AS3xx for ends of ranges.
    """
    sweep = next((item for item in file.items if isinstance(item, syntax.Sweep)), None)
    others = tuple(others)
    items = list(_laid_over(sweep.items if sweep else (), others))
    wheres = [item.value for item in items if isinstance(item, syntax.Attribute) and item.key_text == WHERE]
    fixed = {setting.key_text for setting in settings}
    axes = [axis for item in items if (axis := _axis(item, fixed, lets or {}))]
    if prod(len(axis) for axis in axes) > MAX_POINTS:
        place = sweep.header if sweep else items[0].span
        raise Diagnosed(diagnostic("AS215", f"the sweep has more than {MAX_POINTS:,} points", place))
    names: set[str] = set()
    for number, steps in enumerate(product(*axes)):
        chosen = [each for step in steps for each in step]
        values = tuple((attribute.key_text, written) for attribute, written in chosen)
        name = _UNFIT.sub("", ",".join(f"{key}={value.replace('/', 'p')}" for key, value in values))
        if len(name) > 120 or name in names:
            name = f"point-{number}"
        names.add(name)
        yield Point(name, values, tuple(attribute for attribute, _ in chosen), _all(wheres))


def _all(conditions: list[syntax.Expression]) -> syntax.Expression | None:
    """One condition for several that all must hold."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    groups = tuple(syntax.Group(each, each.span) for each in conditions)
    return syntax.Chain(groups, (syntax.Name("and", conditions[0].span),) * (len(groups) - 1), conditions[0].span)


def _keys(item: syntax.Item) -> tuple[str, ...]:
    """What an item sweeps."""
    if isinstance(item, syntax.Block):
        return tuple(inner.key_text for inner in item.items if isinstance(inner, syntax.Attribute))
    return (item.key_text,) if isinstance(item, syntax.Attribute) else ()


def _laid_over(items: Iterable[syntax.Item], others: tuple[syntax.Item, ...]) -> Iterator[syntax.Item]:
    """Items with others in place of those that sweep the same; what changed together with such a key is not swept."""
    replaced = {key: item for item in others for key in _keys(item) if key != WHERE}
    placed: list[syntax.Item] = []
    for item in items:
        above = [replaced[key] for key in _keys(item) if key in replaced]
        fresh = [other for other in above if not any(other is each for each in placed)]
        placed += fresh
        yield from fresh if above else (item,)
    yield from (item for item in others if not any(item is each for each in placed))


def _axis(item: syntax.Item, fixed: set[str], lets: Mapping[str, syntax.Let]) -> _Axis:
    """The choices of an item; none for a condition, and for what is fixed."""
    match item:
        case syntax.Attribute() if item.key_text == WHERE or item.key_text in fixed:
            return []
        case syntax.Attribute():
            return [(chosen,) for chosen in _chosen(item, lets)]
        case syntax.Block(name=None, base=None) if item.kind.text == TOGETHER:
            return _together(item, fixed, lets)
        case syntax.Broken():
            return []
    message = f"a sweep holds `let_or_path: [values]`, `{TOGETHER} {{ ... }}` of them, and `{WHERE}: condition`"
    raise Diagnosed(diagnostic("AS216", message, item.span))


def _together(block: syntax.Block, fixed: set[str], lets: Mapping[str, syntax.Let]) -> _Axis:
    inner = [item for item in block.items if not isinstance(item, syntax.Broken)]
    columns = [_chosen(item, lets) for item in inner if isinstance(item, syntax.Attribute) and item.key_text != WHERE]
    if len(columns) < len(inner) or not inner:
        message = f"`{TOGETHER}` holds `let_or_path: [values]` and nothing else"
        raise Diagnosed(diagnostic("AS216", message, block.header))
    for column, item in zip(columns, inner, strict=True):
        if len(column) != len(columns[0]):
            one, other = (quoted(_keys(each)[0]) for each in (item, inner[0]))
            message = f"{one} has {len(column)} values, {other} {len(columns[0])}"
            hints = (f"the keys of `{TOGETHER}` change together: each has a value for every value of the others",)
            raise Diagnosed(diagnostic("AS216", message, item.span, hints=hints))
    kept = [column for column in columns if column[0].attribute.key_text not in fixed]
    return list(zip(*kept, strict=True))


def _chosen(item: syntax.Attribute, lets: Mapping[str, syntax.Let]) -> list[_Chosen]:
    """The values of a key, those of ranges one by one."""
    nodes = item.value.values if isinstance(item.value, syntax.Listing) else (item.value,)
    if not isinstance(item.value, syntax.Listing | syntax.Call):
        message = f"{quoted(item.key_text)} is swept over a list of values"
        hints = (f"write `[{_text(item.value)}]`",)
        raise Diagnosed(diagnostic("AS216", message, item.value.span, hints=hints))
    found: list[_Chosen] = []
    for node in nodes:
        values = _range(node, lets) if isinstance(node, syntax.Call) else ((node, _text(node)),)
        found += (_Chosen(syntax.Attribute(item.key, value, item.span), text) for value, text in values)
    if not found:
        raise Diagnosed(diagnostic("AS216", f"{quoted(item.key_text)} is swept over no values", item.value.span))
    return found


def _text(value: syntax.Expression) -> str:
    return " ".join(value.span.text.split())


# -- ranges


def _range(call: syntax.Call, lets: Mapping[str, syntax.Let]) -> Iterator[tuple[syntax.Expression, str]]:
    """The values from the first to the last, by a step that is added, or a factor (`2x`) that multiplies."""
    if call.name.text != RANGE or not 2 <= len(call.arguments) <= 3:
        raise Diagnosed(_wrong(call.span, f"{quoted(_text(call))} is no range"))
    first, last, *steps = call.arguments
    factor = _factor(steps[0]) if steps else None
    start, end = (_quantity(node, lets) for node in (first, last))
    step = _quantity(steps[0], lets) if steps and factor is None else Quantity(Fraction(1))
    for other, place in ((end, last), (step, steps[0] if steps else call)):
        if other.dimension != start.dimension and not (factor is not None and other is step):
            wanted, found = units.describe(start.dimension), units.describe(other.dimension)
            raise Diagnosed(_wrong(place.span, f"the range begins with {wanted} and goes on with {found}"))
    unit = _unit((first, last), start, lets)
    size = units.UNITS[unit.text].value if unit is not None else Fraction(1)
    value, number = start.value, 0
    ahead = (factor > 1 if start.value > 0 else factor < 1) if factor is not None else step.value > 0
    stuck = step.value == 0 if factor is None else factor in (0, 1) or start.value == 0
    if stuck or (value > end.value if ahead else value < end.value):
        raise Diagnosed(_wrong(call.span, f"{quoted(_text(call))} never gets to its end"))
    while value <= end.value if ahead else value >= end.value:
        number += 1
        if number > MAX_POINTS or not units.bounded(value):
            raise Diagnosed(diagnostic("AS215", f"the range has more than {MAX_POINTS:,} values", call.span))
        yield _written(value / size, unit, call.span)
        value = value + step.value if factor is None else value * factor


def _unit(nodes: tuple[syntax.Expression, ...], like: Quantity, lets: Mapping[str, syntax.Let]) -> syntax.Name | None:
    """The unit that values of a range are written in: the first of its dimension that stands in the ends."""
    stack, seen = list(nodes), set[str]()
    while stack:
        match stack.pop(0):
            case syntax.Number(unit=syntax.Name() as unit) if units.UNITS[unit.text].dimension == like.dimension:
                return unit
            case syntax.Path() as word if word.text in lets and word.text not in seen:
                seen.add(word.text)
                stack.insert(0, lets[word.text].value)
            case syntax.Chain() as chain:
                stack[:0] = chain.operands
            case syntax.Unary() as unary:
                stack.insert(0, unary.operand)
            case syntax.Group() as group:
                stack.insert(0, group.inner)
    if like.dimension == units.NONE:
        return None
    return syntax.Name(units.spelled(like.dimension), nodes[0].span)


def _factor(node: syntax.Expression) -> Fraction | None:
    """The number of `2x`; None for anything else."""
    if isinstance(node, syntax.Number) and node.unit is not None and node.unit.text == "x":
        return units.number(node.text)
    return None


def _quantity(node: syntax.Expression, lets: Mapping[str, syntax.Let], depth: int = 0) -> Quantity:
    """The value of an end or a step, which may name lets."""

    def lookup(path: syntax.Path) -> Value:
        if path.text not in lets or depth > len(lets):
            raise Diagnosed(_wrong(path.span, f"{quoted(path.text)} is no `let` with a value"))
        return _quantity(lets[path.text].value, lets, depth + 1)

    value = evaluate(node, Scope(lookup, tuple(lets)))
    if not isinstance(value, Quantity):
        raise Diagnosed(_wrong(node.span, f"{quoted(_text(node))} is no number"))
    return value


def _wrong(span: Span, message: str) -> Diagnostic:
    hint = "a range is `range(first, last)`, `range(first, last, step)` or, multiplied, `range(first, last, 2x)`"
    return diagnostic("AS216", message, span, hints=(hint,))


def _written(value: Fraction, unit: syntax.Name | None, span: Span) -> tuple[syntax.Expression, str]:
    """A number of a range as a spec has it; one whose decimals never end is a quotient."""
    digits, rest = units.exact_decimal(abs(value)), 1
    if digits is None:
        digits, rest = str(abs(value.numerator)), value.denominator
    node: syntax.Expression = syntax.Number(digits, unit and unit._replace(span=span), span)
    text = digits + (f" {unit.text}" if unit else "")
    if value < 0:
        node, text = syntax.Unary(syntax.Name("-", span), node, span), f"-{text}"
    if rest != 1:
        divisor = syntax.Number(str(rest), None, span)
        node, text = syntax.Chain((node, divisor), (syntax.Name("/", span),), span), f"{text} / {rest}"
    return node, text
