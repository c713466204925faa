"""What each rule of the grammar becomes in `syntax`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from astrac.language import syntax

if TYPE_CHECKING:
    from astrac.source import Span

_NUMBER = re.compile(r"([0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]+)?)([ \t]*)(.*)")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(slots=True)
class Token:
    """What the machine is fed with.

    Attributes:
        type: the terminal's name.
        span: its characters.
        depth: how many brackets are open around it.
        level: the depth of the items around it: inside the innermost brace, 0 at top level.
    """

    type: str
    span: Span
    depth: int = 0
    level: int = 0

    def name(self) -> syntax.Name:
        """The token as a word, or as the text in its quotes."""
        if self.type == "STRING":
            return syntax.Name(_unquoted(self.span.text), self.span, quoted=True)
        return syntax.Name(self.span.text, self.span)

    def text(self) -> syntax.Text:
        """The token as a text in quotes."""
        return syntax.Text(_unquoted(self.span.text), self.span)


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(r"\1", text[1:-1])


def _values(children: list[Any]) -> tuple[Any, ...]:
    return tuple(child for child in children if not isinstance(child, Token))


class Builder:
    """One method a rule (or alias), called with the rule's children: tokens, and what other methods made."""

    def start(self, children: list[Any]) -> tuple[syntax.Item, ...]:
        """All items of the file."""
        items: tuple[syntax.Item, ...] = children[0]
        return items

    def items(self, children: list[Any]) -> tuple[syntax.Item, ...]:
        """Leaves out the separators of the items."""
        return _values(children)

    def attribute(self, children: list[Any]) -> syntax.Attribute:
        """Makes an attribute of `key: value`."""
        key, _, value = children
        names = (key.name(),) if isinstance(key, Token) else key.names
        return syntax.Attribute(names, value, names[0].span.to(value.span))

    def block(self, children: list[Any]) -> syntax.Block:
        """Makes a block of `kind [name] [from base] [{ items }]`."""
        braces, items = None, ()
        if isinstance(children[-1], Token) and children[-1].type == "RBRACE":
            *children, opening, items, closing = children
            braces = opening.span.to(closing.span)
        header = children[0].span.to(children[-1].span)
        kind, *rest = children
        base = rest[-1].name() if len(rest) >= 2 else None
        name = rest[0].name() if rest and rest[0].type != "FROM" else None
        return syntax.Block(kind.name(), name, base, items, header, braces)

    def let(self, children: list[Any]) -> syntax.Let:
        """Makes a definition of `let name = value`."""
        word, name, _, value = children
        return syntax.Let(name.name(), value, word.span.to(value.span))

    def use(self, children: list[Any]) -> syntax.Use:
        """Makes a reference to a file of `use "path"`."""
        word, path = children
        return syntax.Use(path.text(), word.span.to(path.span))

    def assertion(self, children: list[Any]) -> syntax.Assertion:
        """Makes an assertion of `assert condition ["message"]`."""
        word, condition, *message = children
        text = message[0].text() if message else None
        return syntax.Assertion(condition, text, word.span.to(children[-1].span))

    def profile(self, children: list[Any]) -> syntax.Profile:
        """Makes an overlay of `profile name { items }`."""
        word, name, _, items, closing = children
        return syntax.Profile(name.name(), items, word.span.to(name.span), word.span.to(closing.span))

    def sweep(self, children: list[Any]) -> syntax.Sweep:
        """Makes a sweep of `sweep { items }`."""
        word, _, items, closing = children
        return syntax.Sweep(items, word.span, word.span.to(closing.span))

    def broken(self, children: list[Any]) -> syntax.Broken:
        """Puts a mark in place of an item that did not parse."""
        return syntax.Broken(children[0].span)

    def chain(self, children: list[Any]) -> syntax.Chain:
        """Tells apart operands and operators, which stand in turn."""
        operands, operators = tuple(children[::2]), tuple(token.name() for token in children[1::2])
        return syntax.Chain(operands, operators, operands[0].span.to(operands[-1].span))

    def unary(self, children: list[Any]) -> syntax.Unary:
        """Makes one operand of `-a` or `not a`."""
        operator, operand = children
        return syntax.Unary(operator.name(), operand, operator.span.to(operand.span))

    def number(self, children: list[Any]) -> syntax.Number:
        """Tells apart the digits of a number and its unit."""
        span = children[0].span
        match = _NUMBER.fullmatch(span.text)
        assert match is not None
        unit = None
        if match[3]:
            unit = syntax.Name(match[3], span.source.span(span.start + match.start(3), span.end))
        return syntax.Number(match[1], unit, span)

    def text(self, children: list[Any]) -> syntax.Text:
        """Undoes the quotes and escapes of a text."""
        text: syntax.Text = children[0].text()
        return text

    def boolean(self, children: list[Any]) -> syntax.Boolean:
        """Makes a truth value of `true` or `false`."""
        return syntax.Boolean(children[0].type == "TRUE", children[0].span)

    def listing(self, children: list[Any]) -> syntax.Listing:
        """Makes a list of `[a, b]`."""
        return syntax.Listing(_values(children), children[0].span.to(children[-1].span))

    def group(self, children: list[Any]) -> syntax.Group:
        """Keeps the brackets of `(a)` as a node of their own."""
        opening, inner, closing = children
        return syntax.Group(inner, opening.span.to(closing.span))

    def call(self, children: list[Any]) -> syntax.Call:
        """Makes a call of `word(a, b)`."""
        name, _, *arguments, closing = children
        return syntax.Call(name.name(), _values(arguments), name.span.to(closing.span))

    def path(self, children: list[Any]) -> syntax.Path:
        """Makes a path of the words in `a` or `a.b`."""
        return syntax.Path(tuple(token.name() for token in children[::2]), children[0].span.to(children[-1].span))
