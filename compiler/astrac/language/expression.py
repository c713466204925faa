"""What an expression is worth: exact, and checked by dimension.

A word that is no `let` stays a `Word`: only the position where it ends up knows whether it is an enum's or a name's.
"""

from __future__ import annotations

import operator as operators
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from astrac import units
from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, quoted
from astrac.language import syntax
from astrac.suggest import did_you_mean
from astrac.units import Dimension, Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from astrac.source import Span


@dataclass(frozen=True, slots=True)
class Word:
    """A word that has no value of its own."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Values:
    """A list: its values, each with its place."""

    items: tuple[tuple[Value, Span], ...]


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_EQUALITY: dict[str, Callable[[Any, Any], bool]] = {"==": operators.eq, "!=": operators.ne}

T = TypeVar("T", Quantity, bool)

Value: TypeAlias = Quantity | str | bool | Word | Values


@dataclass(frozen=True, slots=True)
class Scope:
    """Where words get their values.

    Attributes:
        lookup: the value of a word or path; raises `Diagnosed` where there cannot be one.
        known: names that could have been meant.
    """

    lookup: Callable[[syntax.Path], Value]
    known: Collection[str] = ()


def evaluate(node: syntax.Expression, scope: Scope) -> Value:
    """The value of an expression.

    Raises:
        Diagnosed: AS2xx for a name, AS3xx for units and arithmetic; the span is the smallest that is at fault.
    """
    match node:
        case syntax.Number():
            return _number(node)
        case syntax.Text():
            return node.value
        case syntax.Boolean():
            return node.value
        case syntax.Path():
            return scope.lookup(node)
        case syntax.Listing():
            return Values(tuple((evaluate(value, scope), value.span) for value in node.values))
        case syntax.Group():
            return evaluate(node.inner, scope)
        case syntax.Unary():
            return _unary(node, scope)
        case syntax.Chain():
            return _chain(node, scope)


def describe(value: Value) -> str:
    """A value in the words of a message."""
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case Quantity():
            return units.describe(value.dimension)
        case str():
            return f"the text {quoted(value)}"
        case Word():
            return f"the word {quoted(value.text)}"
        case Values():
            return "a list"


def shown(value: Value) -> str:
    """A value as one would write it."""
    match value:
        case bool():
            return str(value).lower()
        case Quantity():
            return str(value)
        case str():
            return f'"{value}"'
        case Word():
            return value.text
        case Values():
            return "[" + ", ".join(shown(item) for item, _ in value.items) + "]"


def paths(node: syntax.Expression) -> Iterator[syntax.Path]:
    """The words and paths of an expression, from left to right."""
    match node:
        case syntax.Path():
            yield node
        case syntax.Listing():
            for value in node.values:
                yield from paths(value)
        case syntax.Group():
            yield from paths(node.inner)
        case syntax.Unary():
            yield from paths(node.operand)
        case syntax.Chain():
            for operand in node.operands:
                yield from paths(operand)


def _number(node: syntax.Number) -> Quantity:
    value = units.number(node.text)
    if value is None:
        raise Diagnosed(
            diagnostic("AS306", f"{quoted(node.text)} is not between 1e-300 and 1e300, or too long", node.span)
        )
    if node.unit is None:
        return Quantity(value)
    unit = units.UNITS.get(node.unit.text)
    if unit is None:
        hints = _unit_hints(node.unit.text)
        raise Diagnosed(diagnostic("AS301", f"unknown unit {quoted(node.unit.text)}", node.unit.span, hints=hints))
    return _bounded(Quantity(value * unit.value, unit.dimension), node.span)


def _unit_hints(text: str) -> tuple[str, ...]:
    """Units that differ in case only, else the nearest one."""
    folded = text.replace("µ", "u").casefold()
    same = sorted(name for name in units.UNITS if name.casefold() == folded)
    if same:
        return ("did you mean " + " or ".join(f"`{name}`" for name in same[:4]) + "?",)
    return did_you_mean(text, units.UNITS)


def _bounded(result: Quantity, span: Span) -> Quantity:
    if not units.bounded(result.value):
        raise Diagnosed(diagnostic("AS306", "the result is not between 1e-300 and 1e300, or has too many digits", span))
    return result


def _unary(node: syntax.Unary, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    if node.operator.text == "not":
        return not _needed(bool, value, node.operand, node.operator, scope)
    quantity = _needed(Quantity, value, node.operand, node.operator, scope)
    return Quantity(-quantity.value, quantity.dimension)


def _chain(node: syntax.Chain, scope: Scope) -> Value:
    operator = node.operators[0]
    if operator.text in ("and", "or"):
        return _logical(node, scope)
    if operator.text in _ORDER or operator.text in _EQUALITY:
        left, right = (evaluate(operand, scope) for operand in node.operands)
        return _comparison(node, left, right, scope)
    total = _needed(Quantity, evaluate(node.operands[0], scope), node.operands[0], operator, scope)
    before = node.operands[0].span
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        value = _needed(Quantity, evaluate(operand, scope), operand, operator, scope)
        total = _bounded(_arithmetic(operator, (total, before), (value, operand.span)), node.span)
        before = before.to(operand.span)
    return total


def _arithmetic(operator: syntax.Name, left: tuple[Quantity, Span], right: tuple[Quantity, Span]) -> Quantity:
    (first, _), (second, divisor) = left, right
    if operator.text in ("+", "-"):
        if first.dimension != second.dimension:
            raise Diagnosed(_mismatch(operator, "join", left, right))
        return Quantity(first.value + second.value * (1 if operator.text == "+" else -1), first.dimension)
    if operator.text == "/" and second.value == 0:
        raise Diagnosed(diagnostic("AS305", "division by zero", divisor))
    sign = 1 if operator.text == "*" else -1
    powers = (one + sign * other for one, other in zip(first.dimension, second.dimension, strict=True))
    return Quantity(first.value * second.value**sign, Dimension(*powers))


def _mismatch(
    operator: syntax.Name, verb: str, left: tuple[Quantity, Span], right: tuple[Quantity, Span]
) -> Diagnostic:
    (first, second), kinds = (left[1], right[1]), [units.describe(side.dimension) for side, _ in (left, right)]
    message = f"`{operator.text}` cannot {verb} {kinds[0]} and {kinds[1]}"
    return diagnostic("AS303", message, operator.span, Label(first, kinds[0]), Label(second, kinds[1]))


def _logical(node: syntax.Chain, scope: Scope) -> bool:
    """Left to right, and no further than needed: what stands behind may rely on what stands before."""
    decisive = node.operators[0].text == "or"
    for operand in node.operands:
        if _needed(bool, evaluate(operand, scope), operand, node.operators[0], scope) == decisive:
            return decisive
    return not decisive


def _comparison(node: syntax.Chain, left: Value, right: Value, scope: Scope) -> bool:
    operator = node.operators[0]
    sides = tuple(side.text if isinstance(side, Word) else side for side in (left, right))
    for plain in (str, bool):
        if operator.text in _EQUALITY and all(isinstance(side, plain) for side in sides):
            return _EQUALITY[operator.text](*sides)
    first, second = (
        _needed(Quantity, side, operand, operator, scope)
        for side, operand in zip((left, right), node.operands, strict=True)
    )
    if first.dimension != second.dimension:
        left_span, right_span = (operand.span for operand in node.operands)
        raise Diagnosed(_mismatch(operator, "compare", (first, left_span), (second, right_span)))
    return (_ORDER | _EQUALITY)[operator.text](first.value, second.value)


def _needed(kind: type[T], value: Value, node: syntax.Expression, operator: syntax.Name, scope: Scope) -> T:
    """The value of an operand, which an operator needs to be a number or a truth value."""
    if isinstance(value, kind):
        return value
    if isinstance(value, Word):
        raise Diagnosed(unknown_name(value, scope.known))
    message = f"`{operator.text}` needs {_KINDS[kind]}, not {describe(value)}"
    raise Diagnosed(diagnostic("AS304", message, node.span))


_KINDS: dict[type, str] = {Quantity: "numbers", bool: "`true` or `false`"}


def unknown_name(word: Word, known: Collection[str]) -> Diagnostic:
    """For a word that should have had a value."""
    return diagnostic("AS201", f"unknown name {quoted(word.text)}", word.span, hints=did_you_mean(word.text, known))
