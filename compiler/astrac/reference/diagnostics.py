"""The text of grammar/DIAGNOSTICS.md: the page of every code."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.codes import Code

_HEAD = """\
# Every diagnostic

Written by `astrac docs` from `compiler/astrac/pages/`; do not edit. `astrac explain AS301` prints one page.
"""


def diagnostics(codes: Mapping[str, Code]) -> str:
    """One chapter a hundred, one section a code."""
    parts = [_HEAD]
    for hundred, pages in groupby(codes.values(), key=lambda code: code.code[:3]):
        chapter = tuple(pages)
        parts.append(f"## {hundred}xx: {chapter[0].area}\n")
        parts += map(_section, chapter)
    return "\n".join(parts)


def _section(code: Code) -> str:
    severity = "" if code.severity.value == "error" else f" ({code.severity.value})"
    parts = [f"### {code.code}: {code.title}{severity}", code.what, code.why]
    if code.bad:
        parts += [f"```\n{code.bad.rstrip()}\n```"]
    if code.good:
        parts += ["Instead:", f"```\n{code.good.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"
