"""Texts and places in them: what every diagnostic points at."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\r|\n")


class Position(NamedTuple):
    """A place as people count: line and column from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A text with the name it is shown under.

    Attributes:
        name: the path as the user gave it, `<stdin>`, or `std/...`; only ever shown.
        text: the characters, without a byte-order mark. Empty for a binary file, which has no lines to show.
    """

    name: str
    text: str = field(default="", repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offsets of the first character of each line; CR, LF and CRLF end a line."""
        return (0, *(match.end() for match in _LINE_END.finditer(self.text)))

    def position(self, offset: int) -> Position:
        """Line and column (1-based) of a character offset; an offset past the end is the end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of a line (1-based), without its end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        """The span from one offset to another (exclusive)."""
        return Span(self, start, end)

    def whole(self) -> Span:
        """An empty span at the start: for what is true of the file rather than of a place in it."""
        return Span(self, 0, 0)


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def first(self) -> Position:
        """The position at which the span begins."""
        return self.source.position(self.start)

    @property
    def last(self) -> Position:
        """The position just past the last character."""
        return self.source.position(self.end)

    @property
    def text(self) -> str:
        """The characters that the span covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another of the same source."""
        return Span(self.source, self.start, other.end)
