"""Texts that a simulator reads as one stream of words: each word with its place, taken one after the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from astrac.source import Source, Span

WORD = re.compile(r"[^ \t\n\v\f\r]+")
"""What C++ streams take for a word; Python's `\\s` has more blanks (a no-break space is part of a word there)."""

MAX_DIGITS = 40
"""Longer numbers are too large for everything that is read."""

_INTEGER = re.compile(r"[+-]?[0-9]+")


class Word(NamedTuple):
    """A word, its place, and its line, counted from 1."""

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


class Words:
    """The words of a text, and how far they are taken.

    Attributes:
        source: the text.
        place: how many are taken.
    """

    def __init__(self, source: Source, form: re.Pattern[str] = WORD) -> None:
        self.source = source
        self.place = 0
        self._found = list(form.finditer(source.text))

    @property
    def left(self) -> int:
        """How many are not taken yet."""
        return len(self._found) - self.place

    def at(self, index: int) -> Word:
        """A word by its number, from 0; negative ones count from the end."""
        match = self._found[index]
        return Word(match[0], self.source.span(*match.span()), self.source.position(match.start()).line)

    def next(self) -> Word | None:
        """The next word, taken; None at the end."""
        word = self.peek()
        self.place += word is not None
        return word

    def peek(self) -> Word | None:
        """The next word, not taken; None at the end."""
        return self.at(self.place) if self.left else None

    def rest(self, start: int | None = None) -> list[Word]:
        """All that are not taken yet, or all from a number on."""
        return [self.at(index) for index in range(self.place if start is None else start, len(self._found))]

    def skip_line(self, line: int, stops: Collection[str] = ()) -> None:
        """Takes what is left of a line, up to one of some words."""
        while (word := self.peek()) is not None and word.line == line and word.text not in stops:
            self.place += 1

    @property
    def end(self) -> Span:
        """Just past the last word."""
        place = self._found[-1].end() if self._found else 0
        return self.source.span(place, place)


def by_line(words: list[Word]) -> list[list[Word]]:
    """The words of each line that has any."""
    lines: dict[int, list[Word]] = {}
    for word in words:
        lines.setdefault(word.line, []).append(word)
    return list(lines.values())
