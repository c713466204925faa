"""Two folders trade places."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def swap(new: Path, folder: Path, old: Path) -> None:
    """Put `new` where `folder` is, in one step where the system can.

    Afterwards what was in `folder` is at `new`, or at `old` where it took two renames, or nowhere if there was none.
    """
    if not folder.exists():
        new.rename(folder)
    elif not _exchanged(new, folder):
        folder.rename(old)
        new.rename(folder)


def _exchanged(new: Path, folder: Path) -> bool:
    """Whether the system has, and the file system supports, renameat2 with RENAME_EXCHANGE (Linux 3.15)."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(folder), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))
