"""JSON for editors and scripts: a list of findings, places 1-based in characters, ends exclusive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.source import Span


def plain(findings: Sequence[Diagnostic]) -> str:
    """A JSON array, one object a diagnostic; a diagnostic without a place has null in its place."""
    return json.dumps([_finding(finding) for finding in findings], indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Diagnostic) -> dict[str, Any]:
    nowhere = dict.fromkeys(("file", "line", "column", "end_line", "end_column"))
    primary = _place(finding.labels[0].span) if finding.labels else nowhere
    return {
        **primary,
        "severity": finding.severity.value,
        "code": finding.code,
        "message": finding.message,
        "hints": list(finding.hints),
        "notes": [{**_place(label.span), "message": label.text} for label in finding.labels[1:]],
    }


def _place(span: Span) -> dict[str, Any]:
    return {
        "file": span.source.name,
        "line": span.first.line,
        "column": span.first.column,
        "end_line": span.last.line,
        "end_column": span.last.column,
    }
