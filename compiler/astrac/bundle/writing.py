"""Writing a bundle: built beside its folder, then exchanged with it.

    parent/NAME               the folder that the user named
    parent/.NAME.astrac-new   the new bundle while it is built; after the exchange, the old one until it is cleared
    parent/.NAME.astrac-old   the old bundle, only where a file system cannot exchange two folders in one step

The names are the journal: what an interrupted build leaves tells the next one what is left to do (`_repair`). Files in
the folder that its manifest does not list belong to the user: they get a second name in the new bundle before the
exchange, and nothing is cleared that has no name there. No symbolic link is followed below the folder.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.bundle.artifact import MANIFEST, entry, files_of, json_text, listed_files, read_manifest
from astrac.diagnostics import Diagnosed, Result, diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.bundle.artifact import Artifact, Bundle, Entry

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def write(
    bundle: Bundle,
    folder: str | Path,
    *,
    copy: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
    shared: dict[str, Path] | None = None,
) -> Result[Path]:
    """Put a bundle into a folder, whole or not at all.

    Args:
        bundle: what to write.
        folder: made if missing; else empty or with a manifest of ours.
        copy: write equal files several times instead of linking them.
        overwrite: files of the bundle there that were changed since, too.
        progress: told the bytes of each artifact (once for all its links) when it is written.
        shared: large files of bundles that were written before, by digest, which equal ones here are links to; those of
            this one come to them. Small files are apart: somebody may want to change them in one bundle only.

    Returns:
        The folder, or AS711 to AS713, AS793.
    """
    try:
        with _locked(place := _place(folder)):
            _repair(place)
            if not overwrite:
                _refuse_changes(place)
            others = {} if shared is None or copy else shared
            _write(bundle, place, copy=copy, progress=progress or (lambda _: None), shared=others)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()  # in the system's words; no path, since ours is the user's
        return Result(None, (diagnostic("AS711", f"cannot write the bundle `{folder}`: {reason}"),))
    return Result(Path(folder))


@dataclass(frozen=True)
class _Folders:
    """The three names, and the folder as the user wrote it, for messages."""

    shown: str
    folder: Path
    new: Path
    old: Path


def _place(folder: str | Path) -> _Folders:
    real = Path(os.path.realpath(folder))
    here = Path.cwd()
    if real == here or real in here.parents:
        # Exchanging it would leave the user's shell in a folder that is no longer there.
        raise Diagnosed(
            diagnostic(
                "AS711",
                f"cannot write the bundle `{folder}`: it holds the current directory",
                hints=("name a folder below the current one, or go to another",),
            )
        )
    new, old = (real.with_name(f".{real.name}.astrac-{word}") for word in ("new", "old"))
    return _Folders(str(folder), real, new, old)


@contextmanager
def _locked(place: _Folders) -> Iterator[None]:
    """Builds into folders of one parent write one after another."""
    place.folder.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(place.folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


LARGE = 4096
"""Bytes from which on a file is shared between bundles: below, a link saves no block of the disk."""


def _write(
    bundle: Bundle, place: _Folders, *, copy: bool, progress: Callable[[int], None], shared: dict[str, Path]
) -> None:
    kept = _kept(place, bundle)
    try:
        place.new.mkdir()
        lines = [
            _write_artifact(place.new, artifact, copy=copy, progress=progress, shared=shared)
            for artifact in bundle.artifacts
        ]
        _carry(place, kept)
        # A name that is not UTF-8 is written as JSON escapes it.
        text = json_text({**bundle.head, "files": lines}).encode(errors="backslashreplace")
        _write_file(place.new / MANIFEST, (text,), 0o666)
    except BaseException:
        shutil.rmtree(place.new, ignore_errors=True)
        raise
    if place.folder.exists():
        shutil.copymode(place.folder, place.new)
    swap(place.new, place.folder, place.old)
    for artifact, line in zip(bundle.artifacts, lines, strict=True):
        if artifact.size >= LARGE and not artifact.executable:
            shared.setdefault(line["sha256"], place.folder / next(iter(artifact.paths)))
    _clear(place.new, place.folder)
    _clear(place.old, place.folder)


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


def _repair(place: _Folders) -> None:
    """Finish or undo what an interrupted build left."""
    for leftover in (place.new, place.old):
        # It stopped before the last rename: what has a manifest is whole, and the new one comes first.
        whole = not leftover.is_symlink() and read_manifest(leftover) is not None
        if whole and not os.path.lexists(place.folder):
            leftover.rename(place.folder)
    _clear(place.new, place.folder)
    _clear(place.old, place.folder)


def _clear(leftover: Path, folder: Path) -> None:
    """Remove a folder of ours, but move into `folder` what is neither ours nor there."""
    if leftover.is_symlink() or not leftover.is_dir():
        return
    listed = listed_files(leftover)
    for path, is_folder in reversed(list(_walk(leftover))):  # what is in a folder before the folder
        here, there = leftover / path, folder / path
        if is_folder:
            with suppress(OSError):  # something new in it: the next build looks again
                here.rmdir()
        elif path == MANIFEST:
            continue  # the last to go: without it the rest would seem to be a bundle that was never finished
        elif listed is not None and path not in listed and not os.path.lexists(there):
            there.parent.mkdir(parents=True, exist_ok=True)
            here.rename(there)
        else:
            here.unlink()
    if {path.name for path in leftover.iterdir()} <= {MANIFEST}:
        (leftover / MANIFEST).unlink(missing_ok=True)
        leftover.rmdir()


@dataclass(frozen=True)
class _Kept:
    """The user's files and empty folders in the folder, by path."""

    files: tuple[str, ...]
    folders: tuple[str, ...]


def _kept(place: _Folders, bundle: Bundle) -> _Kept:
    """What must survive the build; AS713 or AS712 when the folder cannot be ours."""
    if not os.path.lexists(place.folder):
        return _Kept((), ())
    if not place.folder.is_dir():
        raise Diagnosed(diagnostic("AS711", f"cannot write the bundle `{place.shown}`: it is a file"))
    found = list(_walk(place.folder))
    listed = listed_files(place.folder)
    if listed is None and found:
        raise Diagnosed(
            diagnostic(
                "AS713",
                f"the folder `{place.shown}` is not empty and holds no bundle of ours",
                hints=("name a new or an empty folder",),
            )
        )
    ours = {MANIFEST, *(listed or ())}
    filled = _parents(path for path, _ in found) | _parents(ours)
    kept = _Kept(
        files=tuple(path for path, is_folder in found if not is_folder and path not in ours),
        folders=tuple(path for path, is_folder in found if is_folder and path not in filled),
    )
    _refuse_clashes(place, bundle, kept)
    return kept


def _refuse_changes(place: _Folders) -> None:
    """AS793 where somebody changed a file: it has another size, or is younger than the manifest and other."""
    manifest = read_manifest(place.folder)
    if manifest is None:
        return
    built = (place.folder / MANIFEST).stat().st_mtime_ns
    changed: list[str] = []
    seen: set[int] = set()
    for line in manifest["files"]:
        for path in files_of(line) if line.keys() >= {"size", "sha256"} else ():
            with suppress(OSError):  # what is gone, or led elsewhere, is nobody's work
                status = (place.folder / path).lstat()
                if stat.S_ISREG(status.st_mode) and status.st_ino not in seen:  # hard links are one file
                    seen.add(status.st_ino)
                    other = status.st_size != line["size"]
                    if other or (status.st_mtime_ns > built and _digest(place.folder / path) != line["sha256"]):
                        changed.append(path)
    if changed:
        more = f" and {len(changed) - 1} other files" if len(changed) > 1 else ""
        message = f"`{changed[0]}`{more} in `{place.shown}` changed since its build"
        hints = ("say it in the spec, or build into another folder; `--overwrite` gives the changes up",)
        raise Diagnosed(diagnostic("AS793", message, hints=hints))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _refuse_clashes(place: _Folders, bundle: Bundle, kept: _Kept) -> None:
    """AS712 where the user's file or folder stands in the place of a new file, or a file in that of a new folder."""
    if not kept.files and not kept.folders:
        return
    new = {MANIFEST, *(path for artifact in bundle.artifacts for path in artifact.paths)}
    taken_by_files = new | _parents(new)
    for paths, taken in ((kept.files, taken_by_files), (kept.folders, new)):
        for path in paths:
            if path in taken or not new.isdisjoint(_parents((path,))):
                raise Diagnosed(
                    diagnostic(
                        "AS712",
                        f"`{path}` in `{place.shown}` is not of the bundle there, and the new bundle needs its place",
                        hints=("move it away, or build into another folder",),
                    )
                )


def _carry(place: _Folders, kept: _Kept) -> None:
    """Give the user's files a second name in the new bundle; `_clear` moves those that can have none."""
    for path in sorted(_parents(kept.files) | _parents(kept.folders) | set(kept.folders)):
        if not (place.new / path).is_dir():
            (place.new / path).mkdir()
            shutil.copymode(place.folder / path, place.new / path)
    for path in kept.files:
        with suppress(OSError):
            os.link(place.folder / path, place.new / path, follow_symlinks=False)


def _write_artifact(
    top: Path, artifact: Artifact, *, copy: bool, progress: Callable[[int], None], shared: dict[str, Path]
) -> Entry:
    first, *others = artifact.paths
    mode = 0o777 if artifact.executable else 0o666
    (top / first).parent.mkdir(parents=True, exist_ok=True)
    digest = _write_file(top / first, artifact.contents(), mode)
    if not artifact.executable and digest in shared:
        _share(shared[digest], top / first)
    linked = not copy
    for path in others:
        if linked:
            try:
                os.link(top / first, top / path)
                continue
            except OSError as error:  # no links on this file system, or no more to this file: then to a new copy
                linked, first = error.errno == errno.EMLINK, path
        _write_file(top / path, artifact.contents(), mode)
    progress(artifact.size)
    return entry(artifact, digest, linked=linked)


def _share(known: Path, path: Path) -> None:
    """Makes a file that was written a link to an equal one, if that can be."""
    link = path.with_name(f".{path.name}.link")
    with suppress(OSError):
        os.link(known, link, follow_symlinks=False)
        link.replace(path)


def _write_file(path: Path, pieces: Iterable[bytes], mode: int) -> str:
    digest = sha256()
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _walk(top: Path) -> Iterator[tuple[str, bool]]:
    """Paths below a folder, with `/`, and whether each is a folder; links are not followed."""
    for folder, folders, files in os.walk(top, onerror=_raise):
        base = Path(folder).relative_to(top)
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in folders:
            yield (base / name).as_posix(), name not in links
        for name in files:
            yield (base / name).as_posix(), False


def _raise(error: OSError) -> None:
    raise error


def _parents(paths: Iterable[str]) -> set[str]:
    return {parent.as_posix() for path in paths for parent in Path(path).parents} - {"."}
