"""A bundle in memory against the one in a folder: is what was committed still what its spec gives?"""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.bundle.artifact import MANIFEST, entries, paths, ranks_of
from astrac.bundle.manifest import listed_files, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.bundle.artifact import Bundle


class Difference(NamedTuple):
    """A file below the folder, and how it differs: `missing`, `differs`, or `stale` (listed, but no longer made)."""

    path: str
    how: str


def differences(bundle: Bundle, folder: str | Path) -> Iterator[Difference]:
    """What a build into the folder would change, in the order of the bundle; nothing is written.

    Hard links and copies of the same bytes are the same. Links that lead elsewhere are not followed.
    """
    folder = Path(folder)
    lines = list(entries(bundle))
    made = {MANIFEST}
    digests: dict[tuple[int, int], str] = {}
    for line in lines:
        for path in paths(line["path"], ranks_of(line["ranks"]) if "ranks" in line else ()):
            made.add(path)
            found = _digest(folder / path, line["size"], digests)
            if found != line["sha256"]:
                yield Difference(path, "missing" if found is None else "differs")
    for path in sorted((listed_files(folder) or set()) - made):
        if os.path.lexists(folder / path):
            yield Difference(path, "stale")
    there = read_manifest(folder)
    if there is None or _plain(there) != _plain({**bundle.head, "files": lines}):
        yield Difference(MANIFEST, "missing" if there is None else "differs")


def _digest(path: Path, size: int, known: dict[tuple[int, int], str]) -> str | None:
    """Of a file, read once for all its links; `""` when its size says enough, None when there is no file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size != size:
        return ""
    inode = (status.st_dev, status.st_ino)
    if inode not in known:
        known[inode] = sha256(path.read_bytes()).hexdigest()
    return known[inode]


def _plain(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest but for whether equal files are links: a checkout makes copies of them."""
    return manifest | {"files": [{**line, "linked": None} for line in manifest["files"]]}
