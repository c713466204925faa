"""What lies in a folder: every file of ASTRA-sim's by its kind, and the sets that belong together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from astrac.bundle import MANIFEST, read_manifest
from astrac.simulators.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_ENTRIES = 200_000
MAX_DEPTH = 8
MAX_BYTES = 4 << 20
"""Of a file that is looked at; larger ones are traces or none of ours."""

TRACE = re.compile(r"(.+)\.(0|[1-9]\d*)\.et", re.ASCII | re.DOTALL)

_BY_NAME = {
    "network.yml": "network",
    "system.json": "system",
    "memory.json": "memory",
    "comm_groups.json": "groups",
    "network.json": "network-1",
    "system.txt": "system-1",
    "workload.txt": "workload-1",
}
"""What a file is by its name when its text is empty, or too broken to tell."""

FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "astra-sim-2": (("network", "system", "trace"), ("memory", "groups")),
    "astra-sim-1": (("network-1", "system-1", "workload-1"), ()),
    "ns3": (("ns3-logical", "system", "trace"), ("ns3-topology", "ns3-config", "memory", "groups")),
}
"""Sets of files that run together: the kinds that there must be one of, and those that there may be one of."""


@dataclass(frozen=True)
class Bundle:
    """Files that run together.

    Attributes:
        family: a key of FAMILIES.
        folder: that holds them all.
        files: one a kind; for `trace` the prefix of the traces.
        ours: whether a manifest of ours names them.
    """

    family: str
    folder: Path
    files: dict[str, Path]
    ours: bool = False


@dataclass
class Survey:
    """What a folder holds.

    Attributes:
        files: kind -> paths; for `trace` the prefixes of traces.
        ranks: prefix of traces -> the ranks that there are.
        bundles: sets that belong together.
        alone: kind and path of what belongs to none.
    """

    files: dict[str, list[Path]] = field(default_factory=dict)
    ranks: dict[Path, list[int]] = field(default_factory=dict)
    bundles: list[Bundle] = field(default_factory=list)
    alone: list[tuple[str, Path]] = field(default_factory=list)


def survey(folder: Path) -> Survey:
    """Looks at every file below a folder; links to folders and hidden folders are passed over."""
    found = Survey()
    ours = []
    for path in islice(_walk(folder), MAX_ENTRIES):
        match = TRACE.fullmatch(path.name)
        if match:
            prefix = path.with_name(match[1])
            if prefix not in found.ranks:
                found.files.setdefault("trace", []).append(prefix)
            found.ranks.setdefault(prefix, []).append(int(match[2]))
        elif path.name == MANIFEST and read_manifest(path.parent) is not None:
            ours.append(path.parent)
        else:
            kind = kind_of(path)
            if kind is not None:
                found.files.setdefault(kind, []).append(path)
    _set_algorithms_apart(found)
    entries = [(kind, path) for kind, paths in found.files.items() if kind != "spec" for path in paths]
    for top in ours:
        inside = [entry for entry in entries if entry[1].is_relative_to(top)]
        entries = [entry for entry in entries if not entry[1].is_relative_to(top)]
        found.bundles += [Bundle(bundle.family, top, bundle.files, ours=True) for bundle in _complete(top, inside)]
    bundles, found.alone = _sets(folder, entries)
    found.bundles += bundles
    return found


_CUSTOM = re.compile(r'-custom"\s*:\s*\[\s*"([^"]+)"')
_TABLE = re.compile(r'"per-node-custom-implementation"\s*:\s*"([^"]+)"')
_ENTRY = re.compile(r"^[ \t]*(?:\S+[ \t]*:|-)[ \t]+(\S+)", re.MULTILINE)


def _set_algorithms_apart(found: Survey) -> None:
    """Traces of custom collectives, which a system file or a table names, are no workload."""
    named: set[str] = set()
    for path in found.files.get("system", ()):
        text = path.read_text("utf-8", "replace")
        tables = (near / name for name in _TABLE.findall(text) for near in (path.parent, *path.parents[1:4]))
        entries = (
            _ENTRY.findall(table.read_text("utf-8", "replace"))
            for table in tables
            if table.is_file() and table.stat().st_size < MAX_BYTES
        )
        named.update(name.rpartition("/")[2] for name in (*_CUSTOM.findall(text), *chain.from_iterable(entries)))
    traces = found.files.get("trace", [])
    algorithms = [prefix for prefix in traces if prefix.name in named]
    if algorithms and len(algorithms) < len(traces):
        found.files["trace"] = [prefix for prefix in traces if prefix.name not in named]
        found.files["algorithm"] = algorithms


def _walk(folder: Path) -> Iterator[Path]:
    """Files below a folder, in an order of their own."""
    for at, folders, files in os.walk(folder):
        here = type(folder)(at)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(here.relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(files):
            yield here / name


def kind_of(path: Path) -> str | None:
    """What a file is, by its content; what cannot be read, is large, or means nothing to us is None."""
    try:
        if not path.is_file() or (path.stat().st_size > MAX_BYTES and path.suffix != ".et"):
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError:
        return None
    kind = recognise(path.name, data)
    if kind is None and b"\0" not in data and data.lstrip()[:1] in {b"", b"{"}:
        return _BY_NAME.get(path.name)
    return kind


def _sets(folder: Path, entries: list[tuple[str, Path]]) -> tuple[list[Bundle], list[tuple[str, Path]]]:
    """The sets below a folder, and what is left over: the folder is one, or else its folders are looked at."""
    complete = _complete(folder, entries)
    if complete:
        used = {path for bundle in complete for path in bundle.files.values()}
        return complete, [entry for entry in entries if entry[1] not in used]
    below: dict[Path, list[tuple[str, Path]]] = {}
    here = []
    for entry in entries:
        parts = entry[1].relative_to(folder).parts
        if len(parts) > 1:
            below.setdefault(folder / parts[0], []).append(entry)
        else:
            here.append(entry)
    bundles = []
    for inner, inside in below.items():
        found, left = _sets(inner, inside)
        bundles += found
        here += left
    return bundles, here


def _complete(folder: Path, entries: list[tuple[str, Path]]) -> list[Bundle]:
    """One bundle a family that has all that it needs, and nothing twice."""
    by_kind: dict[str, list[Path]] = {}
    for kind, path in entries:
        by_kind.setdefault(kind, []).append(path)
    bundles = []
    for family, (needed, optional) in FAMILIES.items():
        counts = [len(by_kind.get(kind, ())) for kind in needed]
        if set(counts) == {1} and all(len(by_kind.get(kind, ())) < 2 for kind in optional):
            files = {kind: by_kind[kind][0] for kind in (*needed, *optional) if kind in by_kind}
            bundles.append(Bundle(family, folder, files))
    return bundles
