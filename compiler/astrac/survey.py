"""What lies in a folder: every input file by its kind, and the sets that run together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from astrac.bundle import MANIFEST, read_manifest
from astrac.simulators.protocol import FileSet
from astrac.simulators.table import SPEC, kinds, recognise, simulators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_ENTRIES = 200_000
MAX_DEPTH = 8
MAX_BYTES = 4 << 20
"""Of a text that is looked at; larger ones are none of ours."""

OF_RANK = re.compile(r"(.+)\.(0|[1-9]\d*)(\.\w+)", re.ASCII | re.DOTALL)
"""A file of one rank: the prefix that all ranks share, the rank, the suffix of its kind."""

Entry = tuple[str, Path]
"""A kind and a path; of files of ranks the prefix."""


@dataclass
class OfRanks:
    """Files of one kind, a rank each, with one prefix.

    Attributes:
        kind: of all of them.
        suffix: behind the rank.
        ranks: that there are.
    """

    kind: str
    suffix: str
    ranks: list[int] = field(default_factory=list)

    def paths(self, prefix: Path) -> list[Path]:
        """The files."""
        return [prefix.with_name(f"{prefix.name}.{rank}{self.suffix}") for rank in self.ranks]


@dataclass
class Survey:
    """What a folder holds.

    Attributes:
        files: kind -> paths; for kinds with a file a rank the prefixes.
        prefixes: prefix -> its files.
        sets: files that run together.
        nearly: files that belong together, and lack some that a run needs.
        alone: kind and path of what belongs to neither.
        unread: what the system has against reading a folder or a file.
    """

    files: dict[str, list[Path]] = field(default_factory=dict)
    prefixes: dict[Path, OfRanks] = field(default_factory=dict)
    sets: list[FileSet] = field(default_factory=list)
    nearly: list[FileSet] = field(default_factory=list)
    alone: list[Entry] = field(default_factory=list)
    unread: list[OSError] = field(default_factory=list)


def survey(folder: Path, listed: Sequence[Path] | None = None) -> Survey:
    """Looks at every file below a folder, or at some; links to folders and hidden folders are passed over.

    Args:
        folder: see there.
        listed: paths of files below it that the user named, None for all.
    """
    found = Survey()
    known = kinds()
    by_suffix = {kind.suffix: word for word, kind in known.items() if kind.suffix}
    by_name = {kind.name: word for word, kind in known.items() if kind.name}
    ours = []
    for path in islice(_walk(folder, found.unread.append) if listed is None else listed, MAX_ENTRIES):
        match = OF_RANK.fullmatch(path.name)
        if match and match[3] in by_suffix:
            prefix = path.with_name(match[1])
            if prefix not in found.prefixes:
                found.prefixes[prefix] = OfRanks(by_suffix[match[3]], match[3])
                found.files.setdefault(by_suffix[match[3]], []).append(prefix)
            found.prefixes[prefix].ranks.append(int(match[2]))
        elif path.name == MANIFEST and read_manifest(path.parent) is not None:
            ours.append(path.parent)
        else:
            kind = _kind_of(path, by_suffix, by_name, found.unread.append)
            if kind is not None:
                found.files.setdefault(kind, []).append(path)
    for simulator in simulators():
        if not found.files.keys().isdisjoint(simulator.kinds):
            simulator.wing.set_apart(found.files)
    entries = [(kind, path) for kind, paths in found.files.items() if kind != SPEC for path in paths]
    for top in ours:
        inside = [entry for entry in entries if entry[1].is_relative_to(top)]
        entries = [entry for entry in entries if not entry[1].is_relative_to(top)]
        found.sets += _complete(top, inside, found, ours=True)
    sets, left = _sets(folder, entries, found, _complete)
    found.sets += sets
    found.nearly, found.alone = _sets(folder, left, found, _nearly)
    if listed is not None:
        found.sets, found.nearly = ([one._replace(listed=True) for one in sets] for sets in (found.sets, found.nearly))
    return found


def _walk(folder: Path, unread: Callable[[OSError], None]) -> Iterator[Path]:
    """Files below a folder, in an order of their own."""
    for at, folders, files in os.walk(folder, onerror=unread):
        here = Path(at)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(here.relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(files):
            yield here / name


def _kind_of(
    path: Path, by_suffix: dict[str, str], by_name: dict[str, str], unread: Callable[[OSError], None]
) -> str | None:
    """What a file is, by its content; what cannot be read, is large, or means nothing to us is None."""
    try:
        if not path.is_file() or (path.stat().st_size > MAX_BYTES and path.suffix not in by_suffix):
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError as error:
        unread(error)
        return None
    kind = recognise(path.name, data)
    if kind is None and b"\0" not in data and data.lstrip()[:1] in {b"", b"{"}:
        return by_name.get(path.name)
    return kind


def _sets(folder: Path, entries: list[Entry], found: Survey, of: _Of) -> tuple[list[FileSet], list[Entry]]:
    """The sets below a folder, and what is left over: the folder is one, or else its folders are looked at."""
    together = of(folder, entries, found)
    if together:
        used = {path for files in together for path in files.files.values()}
        return together, [entry for entry in entries if entry[1] not in used]
    below: dict[Path, list[Entry]] = {}
    here = []
    for entry in entries:
        parts = entry[1].relative_to(folder).parts
        if len(parts) > 1:
            below.setdefault(folder / parts[0], []).append(entry)
        else:
            here.append(entry)
    sets = []
    for inner, inside in below.items():
        inner_sets, left = _sets(inner, inside, found, of)
        sets += inner_sets
        here += left
    return sets, here


_Of: TypeAlias = "Callable[[Path, list[Entry], Survey], list[FileSet]]"
"""The sets that the entries of a folder make as a whole, none when they make none."""


def _by_kind(entries: list[Entry]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for kind, path in entries:
        found.setdefault(kind, []).append(path)
    return found


def _of_ranks() -> set[str]:
    """Kinds of which there is a file a rank; one by another name than `OF_RANK` is none that a simulator finds."""
    return {word for word, row in kinds().items() if row.suffix}


def _nearly(folder: Path, entries: list[Entry], found: Survey) -> list[FileSet]:
    """One set a simulator of whose kinds there are some, and none twice; files of ranks, which lack a text, are left.

    What is part of another simulator's set is none by itself.
    """
    del found
    of_ranks = _of_ranks()
    by_kind = _by_kind([entry for entry in entries if entry[0] not in of_ranks])
    sets: list[FileSet] = []
    for simulator in simulators():
        files = {kind: by_kind[kind] for kind in (*simulator.needs, *simulator.takes) if kind in by_kind}
        if len(files) > 1 and all(len(paths) == 1 for paths in files.values()):
            sets.append(FileSet(simulator.name, folder, {kind: paths[0] for kind, paths in files.items()}))
    sets.sort(key=lambda one: len(one.files), reverse=True)
    kept: list[FileSet] = []
    for one in sets:
        if not any(one.files.items() <= other.files.items() for other in kept):
            kept.append(one)
    return kept


def _complete(folder: Path, entries: list[Entry], found: Survey, *, ours: bool = False) -> list[FileSet]:
    """One set a simulator that has all that it needs, and nothing twice."""
    of_ranks = _of_ranks()
    by_kind = _by_kind([entry for entry in entries if entry[1] in found.prefixes or entry[0] not in of_ranks])
    sets = []
    for simulator in simulators():
        counts = {len(by_kind.get(kind, ())) for kind in simulator.needs}
        if counts == {1} and all(len(by_kind.get(kind, ())) < 2 for kind in simulator.takes):
            files = {kind: by_kind[kind][0] for kind in (*simulator.needs, *simulator.takes) if kind in by_kind}
            ranks = next((found.prefixes[path].ranks for path in files.values() if path in found.prefixes), ())
            sets.append(FileSet(simulator.name, folder, files, tuple(ranks), ours=ours))
    return sets
