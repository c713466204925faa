"""Diagnostics -> text for people, editors and services: one row a format."""

from __future__ import annotations

import json
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING, Any

from astrac.codes import CODES
from astrac.diagnostics import printable
from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from astrac.diagnostics import Diagnostic, Label
    from astrac.source import Span

    Paint = Callable[[str, str], str]
    """Puts a word into a style of `_COLOURS`."""

MAX_LINE = 160
"""Characters of a source line that are shown; of a longer one the part around the span."""

_COLOURS = {"error": "1;31", "warning": "1;33", "note": "1;36", "bold": "1", "gutter": "1;34", "help": "1;36"}


def render(findings: Sequence[Diagnostic], form: str = "text", *, colour: bool = False) -> str:
    """The diagnostics in one of `FORMATS`, each once, file by file in the order of their places.

    Args:
        findings: of one run.
        form: a key of FORMATS.
        colour: for `text`, with terminal colours.
    """
    sources = dict.fromkeys(finding.labels[0].span.source for finding in findings if finding.labels)
    order = {source: at for at, source in enumerate(sources)}

    def place(finding: Diagnostic) -> tuple[int, int]:
        span = finding.labels[0].span if finding.labels else None
        return (-1, 0) if span is None else (order[span.source], span.start)

    once = sorted(dict.fromkeys(findings), key=place)
    return _text(once, _coloured) if form == "text" and colour else FORMATS[form](once)


# -- for people: the message, the lines it is about, what is underlined in them, and what to do


def _coloured(word: str, style: str) -> str:
    return f"\x1b[{_COLOURS[style]}m{word}\x1b[0m" if word else ""


def _text(findings: Sequence[Diagnostic], paint: Paint = lambda word, _: word) -> str:
    """All diagnostics, an empty line between them."""
    return "\n".join("".join(f"{line}\n" for line in _lines(finding, paint)) for finding in findings)


def _lines(finding: Diagnostic, paint: Paint) -> Iterator[str]:
    kind = finding.severity.value
    yield paint(f"{kind}[{finding.code}]", kind) + paint(f": {printable(finding.message)}", "bold")
    width = max((len(str(label.span.first.line)) for label in finding.labels), default=0)
    margin = " " * width
    for at, source in enumerate(dict.fromkeys(label.span.source for label in finding.labels)):
        own = [label for label in finding.labels if label.span.source is source]
        line, column = own[0].span.first
        name = "".join(map(_cell, source.name))
        yield margin + paint("-->" if at == 0 else ":::", "gutter") + f" {name}:{line}:{column}"
        if source.text:
            yield margin + paint(" |", "gutter")
            yield from _excerpt(own, finding.labels[0], width, kind, paint)
    for hint in finding.hints:
        yield margin + paint(" = ", "gutter") + paint("help", "help") + f": {printable(hint)}"


def _excerpt(labels: list[Label], primary: Label, width: int, kind: str, paint: Paint) -> Iterator[str]:
    """The lines of one source that are marked, each once, as a terminal can show it, with its marks below it.

    Of a span over several lines, the part on the first is marked.
    """
    before = 0
    labels = sorted(labels, key=lambda label: label.span.start)
    for number, marks in groupby(labels, key=lambda label: label.span.first.line):
        if before and number > before + 1:
            yield paint("...", "gutter")
        before, own = number, list(marks)
        line = own[0].span.source.line(number)
        cut = max(0, own[0].span.first.column - 41) if len(line) > MAX_LINE else 0
        cells = [_cell(letter) for letter in line[cut : cut + MAX_LINE]]
        lead, rest = "..." if cut else "", "..." if cut + MAX_LINE < len(line) else ""
        yield paint(f"{number:>{width}} |", "gutter") + f" {lead}{''.join(cells)}{rest}".rstrip()
        for label in own:
            first, last = label.span.first, label.span.last
            start = min(max(first.column - 1 - cut, 0), len(cells))
            end = len(cells) if last.line > first.line else min(last.column - 1 - cut, len(cells))
            blanks = len(lead) + sum(map(_width, cells[:start]))
            sign, style = ("^", kind) if label is primary else ("-", "gutter")
            signs = sign * max(1, sum(map(_width, cells[start:end])))
            note = f" {printable(label.text)}" if label.text else ""
            yield " " * width + paint(" |", "gutter") + " " * (blanks + 1) + paint(signs + note, style)


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


# -- for editors and services: places are 1-based in characters, ends exclusive


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _region(span: Span | None, *names: str) -> dict[str, Any]:
    """First line and column, last line and column by the names that a format has for them; nulls for no place."""
    values = (None,) * 4 if span is None else (*span.first, *span.last)
    return dict(zip(names, values, strict=True))


def _plain(findings: Sequence[Diagnostic]) -> str:
    """JSON for scripts: an array, one object a diagnostic; a diagnostic without a place has null in its place."""

    def place(span: Span | None) -> dict[str, Any]:
        file = None if span is None else span.source.name
        return {"file": file, **_region(span, "line", "column", "end_line", "end_column")}

    return _json(
        [
            {
                **place(finding.labels[0].span if finding.labels else None),
                "severity": finding.severity.value,
                "code": finding.code,
                "message": finding.message,
                "hints": list(finding.hints),
                "notes": [{**place(label.span), "message": label.text} for label in finding.labels[1:]],
            }
            for finding in findings
        ]
    )


def _github(findings: Sequence[Diagnostic]) -> str:
    """Workflow commands that GitHub shows beside the lines of a pull request: one a diagnostic."""
    return "".join(f"{_command(finding)}\n" for finding in findings)


def _command(finding: Diagnostic) -> str:
    properties: dict[str, object] = {"title": f"astrac {finding.code}"}
    if finding.labels:
        span = finding.labels[0].span
        properties |= {"file": span.source.name, "line": span.first.line}
        if span.first.line == span.last.line:  # GitHub drops annotations that span lines and have columns
            properties |= {"col": span.first.column, "endColumn": span.last.column}
        properties["endLine"] = span.last.line
    listed = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items())
    level = {"error": "error", "warning": "warning", "note": "notice"}[finding.severity.value]
    return f"::{level} {listed}::{_escaped(_message(finding), '')}"


def _message(finding: Diagnostic) -> str:
    """With its hints, for services that have no place for these."""
    return "\n".join((finding.message, *finding.hints))


def _escaped(text: str, more: str) -> str:
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return printable(text)


def _gitlab(findings: Sequence[Diagnostic]) -> str:
    """GitLab's code quality report: one issue a diagnostic that has a place; fingerprints do without line numbers."""
    from hashlib import sha256  # noqa: PLC0415 - for this format only

    severities = {"error": "major", "warning": "minor", "note": "info"}
    issues: dict[str, dict[str, Any]] = {}
    for finding in findings:
        for label in finding.labels[:1]:
            first, last = label.span.first, label.span.last
            identity = f"{finding.code}\0{label.span.source.name}\0{finding.message}"
            while identity in issues:
                identity += "\0again"
            issues[identity] = {
                "description": f"{finding.code}: {finding.message}",
                "check_name": finding.code,
                "fingerprint": sha256(identity.encode(errors="replace")).hexdigest(),
                "severity": severities[finding.severity.value],
                "location": {
                    "path": label.span.source.name,
                    "positions": {"begin": first._asdict(), "end": last._asdict()},
                    "lines": {"begin": first.line, "end": last.line},
                },
            }
    return _json(list(issues.values()))


def _sarif(findings: Sequence[Diagnostic]) -> str:
    """SARIF 2.1.0, which code scanning services share: one run with the rules that are used, each of one level."""
    codes = sorted({finding.code for finding in findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].what},
            "help": {"text": f"{CODES[code].what}\n\n{CODES[code].why}"},
            "defaultConfiguration": {"level": CODES[code].severity.value},
        }
        for code in codes
    ]
    uri = "https://astra-sim.github.io"
    driver = {"name": "astrac", "version": __version__, "informationUri": uri, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return _json({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _result(finding: Diagnostic, rule: int) -> dict[str, Any]:
    related = [
        _location(label) | {"id": at, "message": {"text": label.text or "see here"}}
        for at, label in enumerate(finding.labels[1:])
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": _message(finding)},
        "locations": [_location(label) for label in finding.labels[:1]],
        **({"relatedLocations": related} if related else {}),
    }


def _location(label: Label) -> dict[str, Any]:
    from urllib.parse import quote  # noqa: PLC0415 - for this format only

    region = _region(label.span, "startLine", "startColumn", "endLine", "endColumn")
    uri = quote(label.span.source.name, errors="replace")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "text": _text,
    "json": _plain,
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
}
