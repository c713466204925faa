"""GitLab's code quality report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def gitlab(findings: Sequence[Diagnostic]) -> str:
    """A JSON array, one issue a diagnostic that has a place; fingerprints do not depend on line numbers."""
    seen: set[str] = set()
    issues = [_issue(finding, seen) for finding in findings if finding.labels]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(finding: Diagnostic, seen: set[str]) -> dict[str, Any]:
    from hashlib import sha256  # noqa: PLC0415 - for this format only

    span = finding.labels[0].span
    identity = f"{finding.code}\0{span.source.name}\0{finding.message}"
    while identity in seen:
        identity += "\0again"
    seen.add(identity)
    return {
        "description": f"{finding.code}: {finding.message}",
        "check_name": finding.code,
        "fingerprint": sha256(identity.encode(errors="replace")).hexdigest(),
        "severity": _SEVERITIES[finding.severity.value],
        "location": {
            "path": span.source.name,
            "positions": {
                "begin": {"line": span.first.line, "column": span.first.column},
                "end": {"line": span.last.line, "column": span.last.column},
            },
            "lines": {"begin": span.first.line, "end": span.last.line},
        },
    }
