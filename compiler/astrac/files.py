"""Reading files of unknown making in bounded time and memory: regular ones, of a sane size, inside their folder."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.source import Source

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from astrac.diagnostics import Diagnostic


def text(path: Path, limit: int, inside: Path | None = None, *, mark: bool = True) -> Source:
    """A text, as it is shown.

    Args:
        path: of it.
        limit: bytes that it may have.
        inside: the folder that it may not lead out of.
        mark: pass over a byte-order mark.

    Raises:
        Diagnosed: AS700 when it is none.
    """
    data, _ = content(path, inside, limit)
    try:
        return Source(str(path), data.decode("utf-8-sig" if mark else "utf-8"))
    except UnicodeDecodeError as error:
        raise _refused(path, f"`{path}` is not UTF-8: byte {error.start}") from None


def content(path: Path, inside: Path | None, limit: int) -> tuple[bytes, os.stat_result]:
    """The content of a regular file; FileNotFoundError is the caller's for traces."""
    try:
        if inside is not None and not path.resolve().is_relative_to(inside.resolve()):
            raise _refused(path, f"`{path}` leads out of the folder `{inside}`")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _refused(path, f"`{path}` is not a file")
        if status.st_size > limit:
            most = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
            raise _refused(path, f"`{path}` is larger than {most}")
        return path.read_bytes(), status
    except FileNotFoundError:
        if path.suffix == ".et":
            raise
        raise _refused(path, f"`{path}` does not exist") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that no file can have
        words = getattr(error, "strerror", None) or str(error)
        raise _refused(path, f"cannot read `{path}`: {words.lower()}") from None


def unreadable(errors: Iterable[OSError]) -> Iterator[Diagnostic]:
    """AS700 for folders and files that nobody may look at."""
    for error in errors:
        path = Path(str(error.filename))
        yield _refused(path, f"cannot read `{path}`: {(error.strerror or str(error)).lower()}").diagnostic


def _refused(path: Path, message: str) -> Diagnosed:
    """AS700 at the file, of which nothing is shown."""
    return Diagnosed(diagnostic("AS700", message, Source(str(path)).whole()))
