"""`syntax.File` -> its text in one style: two spaces, one space where one belongs, comments kept.

Where the author broke lines between items, lines stay broken; what stood on one line stays on it while it fits.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from astrac.language import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.source import Span

WIDTH = 120

Node: TypeAlias = syntax.Item | syntax.Expression


def formatted(file: syntax.File) -> str:
    """The text of a file that parsed without errors; LF, and a line break at the end."""
    writer = _Writer(file)
    whole = file.source.span(0, len(file.source.text) + 1)
    return "".join(f"{line}\n" for line in writer.body(file.items, whole, "").lines)


@dataclass
class _Row:
    """Lines of output that stand for lines `first` to `last` of the source."""

    lines: list[str]
    first: int
    last: int


@dataclass
class _Body:
    """What stands between brackets; `opening` is a comment on the line of the opening one."""

    opening: str = ""
    rows: list[_Row] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """All rows; empty lines between them as in the source, but never two."""
        lines: list[str] = []
        for at, row in enumerate(self.rows):
            if at and row.first > self.rows[at - 1].last + 1:
                lines.append("")
            lines += row.lines
        return lines

    def comment(self, text: str) -> None:
        """A comment at the end of the last line."""
        self.rows[-1].lines[-1] += f"  {text}"


class _Writer:
    def __init__(self, file: syntax.File) -> None:
        self._source = file.source
        self._comments = file.comments
        self._starts = [comment.start for comment in file.comments]

    def body(self, nodes: Sequence[Node], region: Span, indent: str) -> _Body:
        """Nodes on lines of their own, with the comments in between."""
        body = _Body()
        group: list[Node] = []
        comments = self._loose(nodes, region)
        opening = self._line(region.start) if region.start else 0
        for node in nodes:
            while comments and comments[0].start < node.span.start:
                self._flush(group, body, indent)
                self._put_comment(comments.pop(0), body, indent, opening)
            if group and self._line(group[-1].span.end) != self._line(node.span.start):
                self._flush(group, body, indent)
            while comments and comments[0].start < node.span.end:  # inside brackets of an expression: put before it
                self._flush(group, body, indent)
                line = self._line(node.span.start)
                body.rows.append(_Row([indent + _text(comments.pop(0))], line, line - 1))
            group.append(node)
        self._flush(group, body, indent)
        for comment in comments:
            self._put_comment(comment, body, indent, opening)
        return body

    def _put_comment(self, comment: Span, body: _Body, indent: str, opening: int) -> None:
        line = self._line(comment.start)
        if body.rows and body.rows[-1].last == line:
            body.comment(_text(comment))
        elif not body.rows and line == opening:
            body.opening = f"  {_text(comment)}"
        else:
            body.rows.append(_Row([indent + _text(comment)], line, line))

    def _flush(self, group: list[Node], body: _Body, indent: str) -> None:
        """Writes the nodes of one source line: as many on one line as can be, if they fit, else each on its own."""
        for flat, run in groupby(group, key=lambda node: self._flat(node) is not None):
            nodes = list(run)
            joined = indent + ", ".join(map(_flat, nodes))
            if flat and len(joined) <= WIDTH:
                body.rows.append(_Row([joined], self._line(nodes[0].span.start), self._line(nodes[-1].span.end)))
                continue
            for node in nodes:
                fits = flat and len(indent) + len(_flat(node)) <= WIDTH
                lines = [indent + _flat(node)] if fits else self._broken(node, indent)
                body.rows.append(_Row(lines, self._line(node.span.start), self._line(node.span.end)))
        group.clear()

    def _broken(self, node: Node, indent: str) -> list[str]:
        """A node over several lines; what has no brackets to break at stays on one."""
        region, nodes = _inner(node)
        if region is None or not (nodes or self._has_comment(region)):
            return [indent + _flat(node)]
        body = self.body(nodes, region, indent + "  ")
        opening, closing = region.text[0], region.text[-1]
        return [f"{indent}{_before(node)}{opening}{body.opening}", *body.lines, indent + closing]

    def _flat(self, node: Node) -> str | None:
        """On one line; None where the author broke the line behind the opening bracket, or put a comment inside."""
        return None if any(self._is_open(region) for region in _regions(node)) else _flat(node)

    def _is_open(self, region: Span) -> bool:
        inside = region.text[1:]
        first = inside[: len(inside) - len(inside.lstrip())]
        breaks = "\n" in first or "\r" in first
        return (breaks and len(first) + 1 < len(inside)) or self._has_comment(region)

    def _has_comment(self, region: Span) -> bool:
        at = bisect_left(self._starts, region.start)
        return at < len(self._starts) and self._starts[at] < region.end

    def _loose(self, nodes: Sequence[Node], region: Span) -> list[Span]:
        """The comments in a region that do not lie in brackets which are written as bodies of their own."""
        inner = [span for span, _ in map(_inner, nodes) if span is not None]
        first, last = (bisect_left(self._starts, offset) for offset in (region.start, region.end))
        loose, at = [], 0
        for comment in self._comments[first:last]:
            while at < len(inner) and inner[at].end <= comment.start:
                at += 1
            if at == len(inner) or comment.start < inner[at].start:
                loose.append(comment)
        return loose

    def _line(self, offset: int) -> int:
        return self._source.position(offset).line


def _text(comment: Span) -> str:
    return comment.text.rstrip()


def _inner(node: Node) -> tuple[Span | None, Sequence[Node]]:
    """The brackets that a node can be broken at, and what stands in them."""
    match node:
        case syntax.Block():
            return node.braces, node.items
        case syntax.Profile() | syntax.Sweep():
            return node.span.source.span(node.span.text.index("{") + node.span.start, node.span.end), node.items
        case syntax.Attribute() | syntax.Let():
            return _inner(node.value)
        case syntax.Listing():
            return node.span, node.values
    return None, ()


def _regions(node: Node) -> Iterator[Span]:
    """The brackets of a node and of all that is in them."""
    region, nodes = _inner(node)
    if region is not None:
        yield region
    for inner in nodes:
        yield from _regions(inner)


def _before(node: Node) -> str:
    """What stands before the opening bracket."""
    match node:
        case syntax.Block():
            name = "" if node.name is None else f" {node.name.span.text}"
            base = "" if node.base is None else f" from {node.base.text}"
            return f"{node.kind.text}{name}{base} "
        case syntax.Profile():
            return f"profile {node.name.text} "
        case syntax.Sweep():
            return "sweep "
        case syntax.Attribute():
            return ".".join(name.span.text for name in node.key) + ": "
        case syntax.Let():
            return f"let {node.name.text} = "
    return ""


def _flat(node: Node) -> str:
    """A node on one line."""
    match node:
        case syntax.Block(braces=None):
            return _before(node).rstrip()
        case syntax.Block() | syntax.Profile() | syntax.Sweep():
            inside = ", ".join(map(_flat, node.items))
            return _before(node) + (f"{{ {inside} }}" if inside else "{}")
        case syntax.Attribute() | syntax.Let():
            return _before(node) + _flat(node.value)
        case syntax.Use():
            return f"use {node.path.span.text}"
        case syntax.Assertion():
            return f"assert {_flat(node.condition)}" + (f" {node.message.span.text}" if node.message else "")
        case syntax.Number():
            factor = node.unit is not None and node.unit.text == "x"  # of a range: `2x`
            return node.text if node.unit is None else f"{node.text}{'' if factor else ' '}{node.unit.text}"
        case syntax.Path():
            return node.text
        case syntax.Listing():
            return f"[{', '.join(map(_flat, node.values))}]"
        case syntax.Group():
            return f"({_flat(node.inner)})"
        case syntax.Call():
            return f"{node.name.text}({', '.join(map(_flat, node.arguments))})"
        case syntax.Unary():
            return f"not {_flat(node.operand)}" if node.operator.text == "not" else f"-{_flat(node.operand)}"
        case syntax.Chain():
            rest = (
                f" {sign.text} {_flat(right)}" for sign, right in zip(node.operators, node.operands[1:], strict=True)
            )
            return _flat(node.operands[0]) + "".join(rest)
    return node.span.text
