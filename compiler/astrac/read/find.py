"""Which files of a folder are a bundle: by our manifest, or by what is in them."""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.bundle import read_manifest
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.read.files import Files, of_arguments
from astrac.targets.astra_sim_2 import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FOLDER = "astra-sim-2"
_MAX_ENTRIES = 200_000
_MAX_DEPTH = 6
_MAX_BYTES = 4 << 20
_TRACE = re.compile(r"(.+)\.(0|[1-9]\d*)\.et", re.ASCII)
_NETWORK = re.compile(r"^\s*(npus_count|topology)\s*:", re.MULTILINE)
_GROUP_ID = re.compile(r"-?\d+", re.ASCII)

_ROLES = {
    "network": "--network-configuration",
    "system": "--system-configuration",
    "workload": "--workload-configuration",
}


def find(folder: Path) -> Files:
    """The files of the bundle in a folder.

    Raises:
        Diagnosed: AS700 when it is no folder, AS708 when a file is not there or there are several.
    """
    if not folder.is_dir():
        raise Diagnosed(diagnostic("AS700", f"`{folder}` is no folder"))
    for top in (folder, folder.resolve().parent if folder.resolve().name == _FOLDER else folder):
        manifest = read_manifest(top)
        arguments = (manifest or {}).get("commands", {})
        if isinstance(arguments, dict) and isinstance(arguments.get(_FOLDER), list):
            base = folder if top is not folder else folder / _FOLDER
            return of_arguments(map(str, arguments[_FOLDER]), base, inside=folder, manifest=manifest)
    return _recognised(folder)


def _recognised(folder: Path) -> Files:
    found: dict[str, list[Path]] = {}
    for path in islice(_walk(folder), _MAX_ENTRIES):
        match = _TRACE.fullmatch(path.name)
        role, file = ("workload", path.with_name(match[1])) if match else (_role(path), path)
        if role and file not in found.setdefault(role, []):
            found[role].append(file)
    for role, option in _ROLES.items():
        if role not in found:
            what = "traces (`NAME.0.et`, `NAME.1.et`, ...)" if role == "workload" else f"{role} file"
            raise Diagnosed(diagnostic("AS708", f"`{folder}` holds no {what}", hints=(f"name it with `{option}`",)))
    for role, files in found.items():
        if len(files) > 1:
            named = ", ".join(f"`{file.relative_to(folder)}`" for file in sorted(files)[:4])
            raise Diagnosed(
                diagnostic(
                    "AS708",
                    f"`{folder}` holds several files for `{keys.OPTIONS[role]}`: {named}",
                    hints=("name each file with ASTRA-sim's own options",),
                )
            )
    single = {role: files[0] for role, files in found.items()}
    return Files(
        single["network"],
        single["system"],
        single["workload"],
        memory=single.get("memory"),
        groups=single.get("groups"),
        inside=folder,
    )


def _walk(folder: Path) -> Iterator[Path]:
    """Files below a folder, in an order of their own; links to folders are not followed."""
    for at, folders, files in os.walk(folder):
        folders.sort()
        if len(Path(at).relative_to(folder).parts) >= _MAX_DEPTH:
            folders.clear()
        for name in sorted(files):
            yield Path(at) / name


def _role(path: Path) -> str | None:
    """What a file is, by its content; what cannot be read, is large, or means nothing to us is not of a bundle."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    if not text.lstrip().startswith("{"):
        return "network" if path.suffix in (".yml", ".yaml", "") and _NETWORK.search(text) else None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        # A broken file is still what its name says, so that its error is told.
        return {"system": "system", "memory": "memory", "comm_groups": "groups"}.get(path.stem)
    return next((role for role, belongs in _BELONGS.items() if belongs(document)), None)


def _has_key_of(*known: str) -> Callable[[dict[str, object]], bool]:
    return lambda document: any(key in document for key in known)


def _is_groups(document: dict[str, object]) -> bool:
    return bool(document) and all(
        _GROUP_ID.fullmatch(key) and isinstance(value, list) for key, value in document.items()
    )


_BELONGS: dict[str, Callable[[dict[str, object]], bool]] = {
    "memory": _has_key_of(*keys.MEMORY_KEYS),
    "system": _has_key_of(*keys.SYSTEM_KEYS, *keys.IMPLEMENTATION_KEYS.values()),
    "groups": _is_groups,
}
