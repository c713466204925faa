"""What an expression is worth: exact, and checked by dimension.

A word that is no `let` stays a `Word`: only the position where it ends up knows whether it is an enum's or a name's.
"""

from __future__ import annotations

import operator as operators
import re
from dataclasses import dataclass
from fractions import Fraction
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
        due: the dimension that the value should have, None where any will do.
    """

    lookup: Callable[[syntax.Path], Value]
    known: Collection[str] = ()
    due: units.Dimension | None = None


def evaluate(node: syntax.Expression, scope: Scope) -> Value:
    """The value of an expression.

    Raises:
        Diagnosed: AS2xx for a name, AS3xx for units and arithmetic; the span is the smallest that is at fault.
    """
    match node:
        case syntax.Number():
            return _number(node, scope.due)
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
        case syntax.Call():
            ranges = node.name.text == "range"
            hints = (
                "a range gives the values of a key of `sweep`" if ranges else "there are no functions: write the value",
            )
            message = f"{quoted(node.name.text + '(...)')} is no value"
            raise Diagnosed(diagnostic("AS220", message, node.span, hints=hints))


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
        case syntax.Call():
            for argument in node.arguments:
                yield from paths(argument)
        case syntax.Chain():
            for operand in node.operands:
                yield from paths(operand)


def _number(node: syntax.Number, due: units.Dimension | None) -> Quantity:
    value = units.number(node.text)
    if value is None:
        raise Diagnosed(
            diagnostic("AS306", f"{quoted(node.text)} is not between 1e-300 and 1e300, or too long", node.span)
        )
    if node.unit is None:
        return Quantity(value)
    unit = units.UNITS.get(node.unit.text)
    if unit is None:
        hints = _unit_hints(node.text, node.unit.text, due)
        raise Diagnosed(diagnostic("AS301", f"unknown unit {quoted(node.unit.text)}", node.unit.span, hints=hints))
    return _bounded(Quantity(value * unit.value, unit.dimension), node.span)


def _unit_hints(digits: str, text: str, due: units.Dimension | None) -> tuple[str, ...]:
    """What a unit that there is not was probably meant to be; `due` is the dimension that is wanted, if any."""
    if re.fullmatch(r"[xX][0-9a-fA-F]+", text) and digits == "0":
        return (f"numbers are decimal: write `{int(text[1:], 16)}`",)
    if re.fullmatch(r"(x\d+)+", text):
        sizes = ", ".join(f"`size: {size}`" for size in f"{digits}{text}".split("x"))
        return (f"one number a dimension, each in a block of its own: {sizes}",)
    if due == units.NONE and text.lower() in _MULTIPLES:
        return (_plain_number(digits, text),)
    folded = text.replace("µ", "u").casefold()
    spelled = re.sub(r"ps$|/?sec(ond)?s?$", "/s" if "/" in text or len(text) > 3 else "s", text)
    found = [name for name in units.UNITS if name.casefold() == folded] if spelled not in units.UNITS else [spelled]
    if due is not None and due != units.NONE:
        # A prefix alone, where the dimension is clear: `400G` of a bandwidth.
        found = found or [name for end in _ENDS for name in (f"{text}{end}",) if name in units.UNITS]
        found = [name for name in found if units.UNITS[name].dimension == due] or found
    known = [name for name in units.UNITS if due is None or units.UNITS[name].dimension == due] or units.UNITS
    if found:
        names = sorted(found, key=_ending) if len(text) == 1 else sorted(found)
        shown = [f"{digits} {name}" if len(text) == 1 else name for name in names[:4]]
        return ("did you mean " + " or ".join(f"`{name}`" for name in shown) + "?",)
    return did_you_mean(text, known)


_MULTIPLES = {"k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
"""What people write behind plain numbers."""

_ENDS = ("bps", "B/s", "B", "FLOPS", "FLOP", "Hz", "s")


def _ending(name: str) -> int:
    return next(at for at, end in enumerate(_ENDS) if name.endswith(end))


def _plain_number(digits: str, text: str) -> str:
    """`51.2k` written out, with `_` between thousands; of whole ones also 1024 for 1000."""
    number = units.number(digits) or Fraction(0)
    value = number * _MULTIPLES[text.lower()]
    shown = f"{int(value):_}" if value.denominator == 1 else units.decimal(value)
    binary = text == "K" and number.denominator == 1
    return f"plain numbers have no `{text}`: write `{shown}`" + (f" or `{int(number) * 1024}`" if binary else "")


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


def unknown_name(word: Word, known: Collection[str], hints: tuple[str, ...] = ()) -> Diagnostic:
    """For a word that should have had a value; `hints` say it better than the names that are known."""
    before = word.span.source.text[max(0, word.span.start - 20) : word.span.start]
    unit = re.search(r"(\w+)\s*/\s*$", before)  # `450 GB/sec`
    if unit and word.text.lower() in ("sec", "secs", "second", "seconds") and f"{unit[1]}/s" in units.UNITS:
        hints = (f"did you mean `{unit[1]}/s`?",)
    return diagnostic(
        "AS201", f"unknown name {quoted(word.text)}", word.span, hints=hints or did_you_mean(word.text, known)
    )
