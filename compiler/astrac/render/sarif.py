"""SARIF 2.1.0, the format that code scanning services share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from astrac.codes import CODES
from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic, Label

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Sequence[Diagnostic]) -> str:
    """One run with the rules that are used; a rule has one level, that of its code."""
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "astrac",
        "version": __version__,
        "informationUri": "https://astra-sim.github.io",
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    page = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.what},
        "help": {"text": f"{page.what}\n\n{page.why}"},
        "defaultConfiguration": {"level": page.severity.value},
    }


def _result(finding: Diagnostic, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": "\n".join((finding.message, *finding.hints))},
        "locations": [_location(label) for label in finding.labels[:1]],
    }
    if finding.labels[1:]:
        result["relatedLocations"] = [
            _location(label) | {"id": at, "message": {"text": label.text or "see here"}}
            for at, label in enumerate(finding.labels[1:])
        ]
    return result


def _location(label: Label) -> dict[str, Any]:
    from urllib.parse import quote  # noqa: PLC0415 - for this format only

    first, last = label.span.first, label.span.last
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(label.span.source.name, errors="replace")},
            "region": {
                "startLine": first.line,
                "startColumn": first.column,
                "endLine": last.line,
                "endColumn": last.column,
            },
        }
    }
