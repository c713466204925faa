"""Workflow commands that GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github(findings: Sequence[Diagnostic]) -> str:
    """One command a diagnostic."""
    return "".join(f"{_command(finding)}\n" for finding in findings)


def _command(finding: Diagnostic) -> str:
    properties = {"title": f"astrac {finding.code}"}
    if finding.labels:
        first, last = finding.labels[0].span.first, finding.labels[0].span.last
        properties |= {"file": finding.labels[0].span.source.name, "line": str(first.line)}
        if first.line == last.line:  # GitHub drops annotations that span lines and have columns
            properties |= {"col": str(first.column), "endColumn": str(last.column)}
        properties |= {"endLine": str(last.line)}
    listed = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    message = "\n".join((finding.message, *finding.hints))
    return f"::{_COMMANDS[finding.severity.value]} {listed}::{_escaped(message, '')}"


def _escaped(text: str, more: str) -> str:
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
