"""Whether a bundle in a folder is what its spec gives: the spec is compiled again, in memory, and compared."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac.api.checking import Options, read
from astrac.api.compiling import compile_data
from astrac.bundle import MANIFEST, entries, read_manifest
from astrac.bundle.artifact import files_of
from astrac.diagnostics import diagnostic
from astrac.files import unreadable
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.api.compiling import Compiled
    from astrac.diagnostics import Diagnostic

MAX_ENTRIES = 200_000
MAX_FINDINGS = 10


def stale(given: Iterable[str]) -> tuple[int, tuple[Diagnostic, ...]]:
    """How many bundles were looked at, and what is wrong with them.

    Args:
        given: files of bundles, or specs, which stand for every bundle below the working folder that was made of them.
    """
    folders: dict[Path, None] = {}
    unread: dict[str, OSError] = {}
    for path in map(Path, given):
        if path.suffix == ".astra":
            folders |= dict.fromkeys(_made_of(path.name, lambda error: unread.setdefault(error.filename, error)))
        else:
            bundles = (top for top in (path, *path.parents) if read_manifest(top) is not None)
            folders |= dict.fromkeys(islice(bundles, 1))
    found = (finding for folder in folders for finding in _check(folder))
    return len(folders), (*unreadable(unread.values()), *found)


def _walk(unread: Callable[[OSError], object] | None = None) -> Iterator[Path]:
    """Files below the working folder, hidden ones not."""
    for at, below, files in os.walk(".", onerror=unread):
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from (Path(at) / name for name in sorted(files))


def _made_of(name: str, unread: Callable[[OSError], object]) -> Iterator[Path]:
    """Folders of bundles that were made of a spec by this name."""
    for path in islice(_walk(unread), MAX_ENTRIES):
        manifest = read_manifest(path.parent) if path.name == MANIFEST else None
        lines = () if manifest is None else manifest.get("inputs", ())
        if any(isinstance(line, dict) and line.get("name") == name for line in lines):
            yield path.parent


def _check(folder: Path) -> Iterator[Diagnostic]:
    manifest = read_manifest(folder)
    assert manifest is not None
    place = Source(str(folder / MANIFEST)).whole()
    recipe = manifest.get("spec")
    if not isinstance(recipe, dict) or not isinstance(recipe.get("name"), str):
        yield diagnostic("AS787", "the manifest does not say of which spec the bundle is: build it again", place)
        return
    spec = _find(recipe["name"], folder, manifest)
    if spec is None:
        yield diagnostic("AS787", f"no spec `{recipe['name']}` is near the bundle or below here", place)
        return
    options = Options(
        profile=recipe.get("profile"),
        settings=tuple(map(str, recipe.get("settings", ()))),
        point=recipe.get("point") or None,
        targets=tuple(map(str, recipe.get("targets", ()))),
        strict=bool(recipe.get("strict")),
    )
    try:
        results = compile_data(str(spec), read(str(spec)), options)
    except OSError as error:
        yield from unreadable([error])
        return
    compiled = results[0].value if len(results) == 1 else None
    broken = [finding for result in results for finding in result.diagnostics if finding.is_error]
    if compiled is None or broken:
        yield from broken
        yield diagnostic("AS787", f"`{spec}` does not build, so it does not give this bundle", place)
        return
    yield from _compared(folder, _command(spec, folder, options), manifest, compiled)


def _command(spec: Path, folder: Path, options: Options) -> str:
    """The whole command that builds a bundle again."""
    words = ["astrac", "build", str(spec), "-o", str(folder)]
    words += [] if options.profile is None else ["--profile", options.profile]
    words += [] if options.point is None else ["--point", options.point]
    words += [word for setting in options.settings for word in ("--set", setting)]
    words += [word for target in options.targets for word in ("--target", target)]
    return shlex.join([*words, *(["--strict"] if options.strict else [])])


def _find(name: str, folder: Path, manifest: dict[str, Any]) -> Path | None:
    """The spec by its base name, near the bundle or below the working folder; of several the one of the manifest."""
    near = [base / part for base in (folder, *folder.parents) for part in (name, f"specs/{name}")]
    found = [path for path in near if path.is_file()]
    found += [path for path in islice(_walk(), MAX_ENTRIES) if path.name == name]
    digests = {line.get("digest") for line in manifest.get("inputs", ()) if isinstance(line, dict)}
    return next((path for path in found if _hash(path) in digests), found[0] if found else None)


def _hash(path: Path) -> str | None:
    """As a manifest says it; None of what nobody may read, or is too large to be a spec."""
    with suppress(OSError):
        return f"sha256:{sha256(read(str(path))).hexdigest()}"
    return None


def _compared(folder: Path, command: str, manifest: dict[str, Any], compiled: Compiled) -> Iterator[Diagnostic]:
    """What the manifest and the files say otherwise; the version of the compiler does not matter."""
    wrong: dict[str, int] = {}
    digests: dict[tuple[int, int], str] = {}
    for line in entries(compiled.bundle):
        other = [path for path in files_of(line) if _digest(folder, path, digests) != line["sha256"]]
        if other:
            wrong[other[0]] = len(other) - 1
    said, head = ({**each, "files": None, "compiler": None} for each in (manifest, compiled.bundle.head))
    if not wrong and said != head:
        wrong[MANIFEST] = 0
    made = {artifact.path for artifact in compiled.bundle.artifacts}
    listed = {line["path"] for line in manifest["files"] if "{rank}" not in line["path"]}
    wrong |= dict.fromkeys(sorted(listed - made), 0)
    built = {path: line.get("sha256") for line in manifest["files"] for path in files_of(line)}
    if any(_digest(folder, path, digests) not in (None, built[path]) for path in wrong.keys() & built.keys()):
        command += " --overwrite"  # changed by hand
    for path, more in list(wrong.items())[:MAX_FINDINGS]:
        gone = "is missing" if not (folder / path).exists() else "is not what the spec gives"
        gone += f", and so {more} others" if more else ""
        hint = f"build it again: `{command}`"
        yield diagnostic("AS787", f"`{path}` {gone}", Source(str(folder / path)).whole(), hints=(hint,))
    if len(wrong) > MAX_FINDINGS:
        place = Source(str(folder / MANIFEST)).whole()
        yield diagnostic("AS787", f"and {len(wrong) - MAX_FINDINGS} other files differ", place)


def _digest(top: Path, name: str, known: dict[tuple[int, int], str]) -> str | None:
    """Of a file's bytes, hard links once; None when there is no such file in the folder."""
    path = top / name
    try:
        if not path.resolve().is_relative_to(top.resolve()) or not stat.S_ISREG((status := path.stat()).st_mode):
            return None
        identity = (status.st_dev, status.st_ino)
        if identity not in known:
            with path.open("rb") as file:
                known[identity] = file_digest(file, "sha256").hexdigest()
        return known[identity]
    except OSError:
        return None
