"""Reading a manifest of ours back: which files belong to the bundle in a folder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from astrac.bundle.artifact import MANIFEST, paths, ranks_of

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES = 64 << 20
_MAX_FILES = 1 << 20
_RUNS = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", re.ASCII)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder, None when there is none or it is not of ours; as far as it is looked at here."""
    file = folder / MANIFEST
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
        return None
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and _is_ours(document) else None


def listed_files(folder: Path) -> set[str] | None:
    """The paths of the bundle in a folder, as its manifest says; None without one."""
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    return {path for line in manifest["files"] for path in paths(line["path"], _ranks(line))}


def _is_ours(document: dict[str, Any]) -> bool:
    lines = document.get("files")
    return (
        str(document.get("compiler", "")).startswith("astrac ")
        and isinstance(lines, list)
        and all(isinstance(line, dict) and isinstance(line.get("path"), str) for line in lines)
        and all(_RUNS.fullmatch(str(line.get("ranks", "0"))) for line in lines)
        and sum(_count(line) for line in lines) <= _MAX_FILES
    )


def _ranks(line: dict[str, Any]) -> list[int]:
    return list(ranks_of(line["ranks"])) if "ranks" in line else []


def _count(line: dict[str, Any]) -> int:
    """How many ranks a line names, without naming them."""
    total = 0
    for run in str(line.get("ranks", "0")).split(","):
        first, _, last = run.partition("-")
        total += max(0, int(last or first) - int(first) + 1)
    return total
