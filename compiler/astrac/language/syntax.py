"""What a file says, before it means anything: items and expressions, each with the characters that it stands on.

The tree is faithful enough to print the file again (`format`); comments are found by `File.comments`. Nodes are named
tuples: their classes are made ten times faster than dataclasses, and every check of a spec pays for that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from astrac.source import Source, Span

_TEXT_OR_COMMENT = re.compile(r'"(?:[^"\\\r\n]|\\.)*"?|(#[^\r\n]*)')


class Name(NamedTuple):
    """A word of the file; `quoted` when it stands in quotes (`layer "res4*"`, `"2*seq": 256`)."""

    text: str
    span: Span
    quoted: bool = False


# -- expressions


class Number(NamedTuple):
    """`51_200`, `400 GB/s`: the digits as written and the unit, if any."""

    text: str
    unit: Name | None
    span: Span


class Text(NamedTuple):
    """A text in quotes; `value` has its escapes undone."""

    value: str
    span: Span


class Boolean(NamedTuple):
    """One of the words `true` and `false`."""

    value: bool
    span: Span


class Path(NamedTuple):
    """A word (`ring`) or a dotted path (`topology.rail.size`)."""

    names: tuple[Name, ...]
    span: Span

    @property
    def text(self) -> str:
        """The path as one would write it."""
        return ".".join(name.text for name in self.names)


class Listing(NamedTuple):
    """A list of values, `[a, b]`."""

    values: tuple[Expression, ...]
    span: Span


class Group(NamedTuple):
    """An expression in round brackets, `(a + b)`: kept, for the formatter writes them again."""

    inner: Expression
    span: Span


class Unary(NamedTuple):
    """An operator before its one operand: `-a`, `not a`."""

    operator: Name
    operand: Expression
    span: Span


class Chain(NamedTuple):
    """Operands with operators of one precedence between them: `a + b - c`, `a <= b`, `a and b`."""

    operands: tuple[Expression, ...]
    operators: tuple[Name, ...]
    span: Span


class Call(NamedTuple):
    """A word and values in round brackets, `range(8, 64, 2x)`; what it means is said where it may stand."""

    name: Name
    arguments: tuple[Expression, ...]
    span: Span


Expression: TypeAlias = Number | Text | Boolean | Path | Listing | Group | Unary | Chain | Call


# -- items


class Attribute(NamedTuple):
    """An item `key: value`; the key is a word, a dotted path, or one quoted name."""

    key: tuple[Name, ...]
    value: Expression
    span: Span

    @property
    def key_span(self) -> Span:
        """The span of the whole key."""
        return self.key[0].span.to(self.key[-1].span)

    @property
    def key_text(self) -> str:
        """The key as one would write it, without quotes."""
        return ".".join(name.text for name in self.key)


class Block(NamedTuple):
    """`kind name from base { items }`.

    Attributes:
        kind, name, base: the words of the header; name and base may be absent.
        items: what stands in the braces.
        header: span from the kind to the last word before the brace.
        braces: span from `{` to `}`; None where there are none.
    """

    kind: Name
    name: Name | None
    base: Name | None
    items: tuple[Item, ...]
    header: Span
    braces: Span | None

    @property
    def span(self) -> Span:
        """The span of the whole block."""
        return self.header if self.braces is None else self.header.to(self.braces)

    @property
    def label(self) -> str:
        """The kind and the name, as people refer to it."""
        return self.kind.text if self.name is None else f"{self.kind.text} {self.name.text}"


class Let(NamedTuple):
    """A definition, `let name = value`."""

    name: Name
    value: Expression
    span: Span


class Use(NamedTuple):
    """A reference to another file, `use "path"`."""

    path: Text
    span: Span


class Assertion(NamedTuple):
    """Something that has to hold, `assert condition "message"`."""

    condition: Expression
    message: Text | None
    span: Span


class Profile(NamedTuple):
    """An overlay that `--profile` chooses, `profile name { items }`."""

    name: Name
    items: tuple[Item, ...]
    header: Span
    span: Span


class Sweep(NamedTuple):
    """The lists of values that a spec is compiled for, `sweep { items }`."""

    items: tuple[Item, ...]
    header: Span
    span: Span


class Broken(NamedTuple):
    """An item that did not parse; its error was reported, and what depends on it is not."""

    span: Span


Item: TypeAlias = Attribute | Block | Let | Use | Assertion | Profile | Sweep | Broken


# -- files


@dataclass(frozen=True)
class File:
    """A file that was parsed: its items in order, and its text for whatever points at it."""

    source: Source
    items: tuple[Item, ...]

    @cached_property
    def comments(self) -> tuple[Span, ...]:
        """The comments, `#` included, in order."""
        found = _TEXT_OR_COMMENT.finditer(self.source.text)
        return tuple(self.source.span(*match.span(1)) for match in found if match.group(1) is not None)


@dataclass(frozen=True)
class Variant:
    """One closed reading of a root file: one profile, one point of the sweep, every `use` and `from` carried out.

    Attributes:
        name: of the point, fit for a folder (`rail_speed=200Gbps`); empty when nothing is swept.
        source: the root file's.
        point: what the sweep chose: key and value as written.
        lets: all that are visible, by name.
        in_force: at most one block a kind.
        others: the root file's further named blocks; checked, but not part of the spec.
        assertions, where: the root file's.
        is_spec: whether the root file is a spec (grammar/README.md, "What is in force"); otherwise it is a library.
        broken: whether something of the file, or of one that it uses, did not parse.
        available: names that could be picked, by kind.
        picks: by kind, the name that picks the block in force.
    """

    name: str
    source: Source
    point: tuple[tuple[str, str], ...]
    lets: dict[str, Let]
    in_force: tuple[Block, ...]
    others: tuple[Block, ...]
    assertions: tuple[Assertion, ...]
    where: Expression | None
    is_spec: bool
    broken: bool
    available: dict[str, tuple[str, ...]]
    picks: dict[str, Span]
