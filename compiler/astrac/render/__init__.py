"""Diagnostics -> text for people, editors and services: one row a format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.render import github, gitlab, plain, sarif, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.diagnostics import Diagnostic

__all__ = ["FORMATS", "render"]

FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "text": text.text,
    "json": plain.plain,
    "sarif": sarif.sarif,
    "github": github.github,
    "gitlab": gitlab.gitlab,
}


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
    return text.coloured(once) if form == "text" and colour else FORMATS[form](once)
