"""What a bundle is made of, and its manifest: written as text, read back from a folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

MANIFEST = "manifest.json"
"""Makes a folder ours; written last."""

Entry: TypeAlias = "dict[str, Any]"
"""A line of the manifest: `path`, `size`, `sha256`; for equal files `ranks` and whether they are `linked`."""

_MAX_BYTES = 64 << 20
_MAX_FILES = 1 << 20
_RUNS = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", re.ASCII)


@dataclass(frozen=True)
class Artifact:
    """Bytes, and the files that hold them.

    Attributes:
        path: below the bundle's folder, with `/`; `{rank}` stands for the ranks.
        size: bytes of one file.
        contents: makes the bytes anew at each call, a piece at a time.
        ranks: whose files hold these bytes, ascending; () for a file that is not of a rank.
        executable: is a script.
    """

    path: str
    size: int
    contents: Callable[[], Iterable[bytes]]
    ranks: tuple[int, ...] = ()
    executable: bool = False

    @property
    def paths(self) -> Iterator[str]:
        """The paths of all files that hold these bytes."""
        return paths(self.path, self.ranks)


def text_artifact(path: str, text: str, *, executable: bool = False) -> Artifact:
    """A text as an artifact."""
    content = text.encode()
    return Artifact(path, len(content), lambda: (content,), executable=executable)


@dataclass(frozen=True)
class Bundle:
    """What a build gives.

    Attributes:
        head: the manifest without its files.
        artifacts: all files but the manifest; no path twice.
    """

    head: Mapping[str, Any]
    artifacts: tuple[Artifact, ...]

    @property
    def files(self) -> int:
        """How many files, with the manifest."""
        return sum(len(artifact.ranks) or 1 for artifact in self.artifacts) + 1

    @property
    def bytes(self) -> int:
        """What the artifacts take on a disk that has hard links."""
        return sum(artifact.size for artifact in self.artifacts)


def entry(artifact: Artifact, digest: str, *, linked: bool = True) -> Entry:
    """The manifest's line for an artifact."""
    if not artifact.ranks:
        return {"path": artifact.path, "size": artifact.size, "sha256": digest}
    several = {"linked": linked} if len(artifact.ranks) > 1 else {}
    return {"path": artifact.path, "ranks": runs(artifact.ranks), **several, "size": artifact.size, "sha256": digest}


def entries(bundle: Bundle) -> Iterator[Entry]:
    """The manifest's lines for a bundle, without writing it."""
    for artifact in bundle.artifacts:
        digest = sha256()
        for piece in artifact.contents():
            digest.update(piece)
        yield entry(artifact, digest.hexdigest())


def paths(path: str, ranks: Iterable[int]) -> Iterator[str]:
    """The path, or for each rank the path with its number in it."""
    before, mark, after = path.partition("{rank}")
    return (f"{before}{rank}{after}" for rank in ranks) if mark else iter((path,))


def runs(ranks: Iterable[int]) -> str:
    """Ascending ranks as people write them: `0-7,16`."""
    bounds: list[list[int]] = []
    for rank in ranks:
        if bounds and bounds[-1][1] == rank - 1:
            bounds[-1][1] = rank
        else:
            bounds.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in bounds)


def ranks_of(text: str) -> Iterator[int]:
    """The ranks that a text of `runs` names, ascending."""
    return chain.from_iterable(_ranges(text))


def _ranges(text: str) -> Iterator[range]:
    for run in text.split(","):
        first, _, last = run.partition("-")
        yield range(int(first), int(last or first) + 1)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder, None when there is none or it is not of ours; as far as it is looked at here."""
    file = folder / MANIFEST
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
            return None
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and _is_ours(document) else None


def _is_ours(document: dict[str, Any]) -> bool:
    lines = document.get("files")
    return (
        str(document.get("compiler", "")).startswith("astrac ")
        and isinstance(lines, list)
        and all(isinstance(line, dict) and isinstance(line.get("path"), str) for line in lines)
        and all(_RUNS.fullmatch(str(line.get("ranks", "0"))) for line in lines)
        and sum(len(run) for line in lines for run in _ranges(str(line.get("ranks", "0")))) <= _MAX_FILES
    )


def files_of(line: Entry) -> Iterator[str]:
    """The paths of the files that a line of a manifest is about."""
    return paths(line["path"], ranks_of(line["ranks"]) if "ranks" in line else ())


def listed_files(folder: Path) -> set[str] | None:
    """The paths of the bundle in a folder, as its manifest says; None without one."""
    manifest = read_manifest(folder)
    return None if manifest is None else {path for line in manifest["files"] for path in files_of(line)}


def json_text(value: object) -> str:
    """JSON for people and for `diff`: two spaces a level, one line for what fits or holds no lists."""
    return _json(value, "", whole=True) + "\n"


def _json(value: object, indent: str, *, whole: bool = False) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not whole and (len(line) <= 100 or not _nests(value)):
        return line
    inner = indent + "  "
    match value:
        case dict() if value:
            lines = [f"{json.dumps(key, ensure_ascii=False)}: {_json(item, inner)}" for key, item in value.items()]
            return f"{{\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}}}"
        case list() | tuple() if value:
            return f"[\n{inner}" + f",\n{inner}".join(_json(item, inner) for item in value) + f"\n{indent}]"
        case _:
            return line


def _nests(value: object) -> bool:
    """Whether a list or an object holds another."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(isinstance(item, dict | list | tuple) for item in items)
