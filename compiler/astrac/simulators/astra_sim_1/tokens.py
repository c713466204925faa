"""Words of 1.0's text files, with their places: what C++ streams take apart, told as strictly as they should."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from astrac.source import Source, Span

# The blanks of C++ streams; Python's `\s` has more (a no-break space is part of a word there).
_WORD = re.compile(r"[^ \t\n\v\f\r]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")

MAX_DIGITS = 40
"""Longer numbers are too large for every column."""


class Token(NamedTuple):
    """A word and its place."""

    text: str
    span: Span
    line: int

    @property
    def integer(self) -> int | None:
        """The number that it is, None when it is none: plain decimal digits with an optional sign."""
        if _INTEGER.fullmatch(self.text) is None:
            return None
        digits = self.text.lstrip("+-").lstrip("0")
        # A number out of every range stays out of range; its digits do not matter.
        return int(self.text) if len(digits) <= MAX_DIGITS else int(self.text[:1] + "9" * MAX_DIGITS)


def tokens(source: Source) -> list[Token]:
    """The words of a text, in order; lines are counted from 1."""
    starts = source.line_starts
    result = []
    line = 1
    for match in _WORD.finditer(source.text):
        while line < len(starts) and starts[line] <= match.start():
            line += 1
        result.append(Token(match[0], source.span(*match.span()), line))
    return result


def by_line(words: list[Token]) -> list[list[Token]]:
    """The words of each line that has any."""
    lines: dict[int, list[Token]] = {}
    for word in words:
        lines.setdefault(word.line, []).append(word)
    return list(lines.values())
