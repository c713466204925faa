"""The text of grammar/DIAGNOSTICS.md: the page of every code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.codes import Code

_HEAD = """\
# Every diagnostic

Written by `astrac docs` from `compiler/astrac/codes/`; do not edit. `astrac explain AS301` prints one page.
"""

_CHAPTERS = {
    "1": "syntax", "2": "names", "3": "units", "4": "keys and values", "5": "meaning", "6": "models and ONNX",
    "7": "targets and ASTRA-sim's own files", "8": "advice", "9": "mistakes of astrac",
}  # fmt: skip


def diagnostics(codes: Mapping[str, Code]) -> str:
    """One chapter a hundred, one section a code."""
    parts = [_HEAD]
    chapter = ""
    for name, code in sorted(codes.items()):
        if name[2] != chapter:
            chapter = name[2]
            parts.append(f"## AS{chapter}xx: {_CHAPTERS[chapter]}\n")
        parts.append(_section(code))
    return "\n".join(parts)


def _section(code: Code) -> str:
    severity = "" if code.severity.value == "error" else f" ({code.severity.value})"
    parts = [f"### {code.code}: {code.title}{severity}", code.what, code.why]
    if code.bad:
        parts += [f"```\n{code.bad.rstrip()}\n```"]
    if code.good:
        parts += ["Instead:", f"```\n{code.good.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"
