"""`Document` -> diagnostics: whether the file's assertions hold, and the values that they failed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, printable, quoted
from astrac.language import syntax
from astrac.language.expression import Scope, Value, Word, describe, evaluate, paths, shown
from astrac.suggest import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.language.document import Document
    from astrac.units import Quantity


def assess(document: Document, estimates: Mapping[str, Quantity] | None = None) -> tuple[Diagnostic, ...]:
    """What does not hold (AS590), and what cannot be evaluated (AS2xx, AS3xx).

    Args:
        document: valid.
        estimates: the values of `estimate.*` by their paths, without the first step; None where no estimate is made.
            The assertions that need one are then left out, each with a note (AS591).
    """
    scope = Scope(lambda path: _value(path, document, estimates), tuple(document.lets))
    return tuple(finding for assertion in document.assertions for finding in _assess(assertion, scope, estimates))


def _assess(
    assertion: syntax.Assertion, scope: Scope, estimates: Mapping[str, Quantity] | None
) -> Iterator[Diagnostic]:
    if estimates is None and any(_is_estimate(path) for path in paths(assertion.condition)):
        yield diagnostic("AS591", "this assertion needs an estimate, and none is made here", assertion.condition.span)
        return
    try:
        value = evaluate(assertion.condition, scope)
        if not isinstance(value, bool):
            message = f"`assert` needs `true` or `false`, not {describe(value)}"
            yield diagnostic("AS304", message, assertion.condition.span)
        elif not value:
            message = "the assertion does not hold" + (
                f": {printable(assertion.message.value)}" if assertion.message else ""
            )
            yield diagnostic("AS590", message, assertion.condition.span, *_operands(assertion.condition, scope))
    except Diagnosed as error:
        yield error.diagnostic


def _value(path: syntax.Path, document: Document, estimates: Mapping[str, Quantity] | None) -> Value:
    if _is_estimate(path):
        return _estimate(path, estimates or {})
    name = path.names[0].text
    if len(path.names) > 1:
        return document.value(path)
    return document.lets.get(name, Word(name, path.span))


def _is_estimate(path: syntax.Path) -> bool:
    return path.names[0].text == "estimate"


def _estimate(path: syntax.Path, estimates: Mapping[str, Quantity]) -> Quantity:
    name = ".".join(step.text for step in path.names[1:])
    if name not in estimates:
        hints = did_you_mean(name, estimates) or listed(sorted(estimates))
        raise Diagnosed(diagnostic("AS211", f"the estimate has no {quoted(name)}", path.span, hints=hints))
    return estimates[name]


def _operands(node: syntax.Expression, scope: Scope) -> Iterator[Label]:
    """The values of what was compared, where the source does not show them already."""
    match node:
        case syntax.Group():
            yield from _operands(node.inner, scope)
        case syntax.Unary():
            yield from _operands(node.operand, scope)
        case syntax.Chain() if node.operators[0].text in ("and", "or"):
            for operand in node.operands:
                yield from _operands(operand, scope)
        case syntax.Chain() | syntax.Path():
            compared = node.operands if isinstance(node, syntax.Chain) else (node,)
            for operand in compared:
                if any(paths(operand)):
                    yield Label(operand.span, _shown(operand, scope))


def _shown(operand: syntax.Expression, scope: Scope) -> str:
    try:
        return f"is {shown(evaluate(operand, scope))}"
    except Diagnosed:  # behind an `or` or `and` that did not need it
        return "has no value"
