"""The generated files of a checkout: compared in CI, written by `astrac docs`."""

from __future__ import annotations

from pathlib import Path

from astrac import resources
from astrac.language.parse.generate import generate
from astrac.reference import reference


def generated() -> dict[str, str]:
    """Every generated file: its path in the checkout and the content that it should have."""
    return {"grammar/astra.tables.json": generate(), **reference()}


def stale_references() -> tuple[str, ...]:
    """Generated files of the checkout that are not what the grammar, the schemas and the codes say."""
    return tuple(path for path, content in generated().items() if _current(path) != content)


def write_references() -> None:
    """Writes them anew."""
    for path, content in generated().items():
        _checkout(path).write_text(content, encoding="utf-8", newline="\n")


def _current(path: str) -> str | None:
    file = _checkout(path)
    return file.read_text(encoding="utf-8") if file.exists() else None


def _checkout(path: str) -> Path:
    return Path(str(resources.root())) / path
