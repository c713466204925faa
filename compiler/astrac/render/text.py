"""For people: the message, the lines it is about, what is underlined in them, and what to do."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from astrac.diagnostics import Diagnostic, Label
    from astrac.source import Source

MAX_LINE = 160
"""Characters of a source line that are shown; of a longer one the part around the span."""

_COLOURS = {"error": "1;31", "warning": "1;33", "note": "1;36", "bold": "1", "gutter": "1;34", "help": "1;36"}


def text(findings: Sequence[Diagnostic]) -> str:
    """All diagnostics, an empty line between them."""
    return _all(findings, lambda word, _: word)


def coloured(findings: Sequence[Diagnostic]) -> str:
    """All diagnostics as in `text`, with the colours of a terminal."""
    return _all(findings, lambda word, style: f"\x1b[{_COLOURS[style]}m{word}\x1b[0m" if word else "")


def _all(findings: Sequence[Diagnostic], paint: Callable[[str, str], str]) -> str:
    return "\n".join("".join(f"{line}\n" for line in _lines(finding, paint)) for finding in findings)


def _lines(finding: Diagnostic, paint: Callable[[str, str], str]) -> Iterator[str]:
    kind = finding.severity.value
    yield paint(f"{kind}[{finding.code}]", kind) + paint(f": {finding.message}", "bold")
    width = max((len(str(label.span.first.line)) for label in finding.labels), default=0)
    margin = " " * width
    marks = [_Mark(label, "^" if at == 0 else "-") for at, label in enumerate(finding.labels)]
    for at, source in enumerate(dict.fromkeys(mark.source for mark in marks)):
        own = [mark for mark in marks if mark.source is source]
        line, column = own[0].label.span.first
        yield margin + paint("-->" if at == 0 else ":::", "gutter") + f" {_safe(source.name)}:{line}:{column}"
        if source.text:
            yield margin + paint(" |", "gutter")
            yield from _excerpt(own, width, kind, paint)
    for hint in finding.hints:
        yield margin + paint(" = ", "gutter") + paint("help", "help") + f": {hint}"


@dataclass(frozen=True)
class _Mark:
    label: Label
    sign: str

    @property
    def source(self) -> Source:
        return self.label.span.source

    @property
    def line(self) -> int:
        return self.label.span.first.line


def _excerpt(marks: list[_Mark], width: int, kind: str, paint: Callable[[str, str], str]) -> Iterator[str]:
    """The lines that are marked, each once, with its marks below it."""
    before = 0
    for number in sorted({mark.line for mark in marks}):
        if before and number > before + 1:
            yield paint("...", "gutter")
        before = number
        own = sorted((mark for mark in marks if mark.line == number), key=lambda mark: mark.label.span.start)
        shown = _Shown(own[0].source.line(number), own)
        yield paint(f"{number:>{width}} |", "gutter") + f" {shown.text}".rstrip()
        for mark in own:
            style = kind if mark.sign == "^" else "gutter"
            line = shown.underline(mark)
            note = f" {mark.label.text}" if mark.label.text else ""
            yield (
                " " * width
                + paint(" |", "gutter")
                + " "
                + line.replace(mark.sign, "")
                + paint(mark.sign * line.count(mark.sign) + note, style)
            )


class _Shown:
    """A line of a source as a terminal can show it, and how its columns lie there."""

    def __init__(self, line: str, marks: Iterable[_Mark]) -> None:
        first = min(mark.label.span.first.column - 1 for mark in marks)
        self._start = max(0, first - 40) if len(line) > MAX_LINE else 0
        self._end = min(len(line), self._start + MAX_LINE) if len(line) > MAX_LINE else len(line)
        self._cells = [_cell(letter) for letter in line[self._start : self._end]]
        self._lead = "..." if self._start else ""
        self.text = self._lead + "".join(self._cells) + ("..." if self._end < len(line) else "")

    def underline(self, mark: _Mark) -> str:
        """Blanks up to the span and signs below it; of a span over several lines, the part on the first."""
        first, last = mark.label.span.first, mark.label.span.last
        start = min(max(first.column - 1 - self._start, 0), len(self._cells))
        end = len(self._cells) if last.line > first.line else min(last.column - 1 - self._start, len(self._cells))
        blanks = len(self._lead) + sum(map(_width, self._cells[:start]))
        return " " * blanks + mark.sign * max(1, sum(map(_width, self._cells[start:end])))


def _cell(letter: str) -> str:
    """Tabs as blanks, and nothing that a terminal would obey."""
    if letter == "\t":
        return "    "
    return letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    if unicodedata.combining(cell):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1


def _safe(name: str) -> str:
    return "".join(map(_cell, name))
