"""Which files of a folder are a bundle: by our manifest, or by what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.bundle import read_manifest
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.read.files import Files, of_arguments
from astrac.simulators.survey import survey

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "astra-sim-2"

ROLES = {"network": "network", "system": "system", "memory": "memory", "groups": "groups", "trace": "workload"}
"""Kinds of files, and the attribute of `Files` that each is."""

_NEEDED = ("network", "system", "trace")


def find(folder: Path) -> Files:
    """The files of the bundle in a folder.

    Raises:
        Diagnosed: AS700 when it is no folder, AS708 when a file is not there or there are several.
    """
    if not folder.is_dir():
        raise Diagnosed(diagnostic("AS700", f"`{folder}` is no folder"))
    return of_manifest(folder) or _recognised(folder)


def of_manifest(folder: Path) -> Files | None:
    """The files that a manifest of ours names, None without one."""
    for top in (folder, folder.resolve().parent if folder.resolve().name == _FOLDER else folder):
        manifest = read_manifest(top)
        arguments = (manifest or {}).get("commands", {})
        if isinstance(arguments, dict) and isinstance(arguments.get(_FOLDER), list):
            base = folder if top is not folder else folder / _FOLDER
            return of_arguments(map(str, arguments[_FOLDER]), base, inside=folder, manifest=manifest)
    return None


def of_kinds(files: dict[str, Path], folder: Path) -> Files:
    """Files by their kinds, as a survey found them in a folder."""
    return Files(
        files["network"], files["system"], files["trace"], files.get("memory"), files.get("groups"), inside=folder
    )


def _recognised(folder: Path) -> Files:
    found = survey(folder).files
    for kind in _NEEDED:
        if kind not in found:
            role = ROLES[kind]
            what = "traces (`NAME.0.et`, `NAME.1.et`, ...)" if kind == "trace" else f"{role} file"
            hint = f"name it with `{keys.OPTIONS[role]}`"
            raise Diagnosed(diagnostic("AS708", f"`{folder}` holds no {what}", hints=(hint,)))
    for kind, role in ROLES.items():
        if len(found.get(kind, ())) > 1:
            named = ", ".join(f"`{file.relative_to(folder)}`" for file in sorted(found[kind])[:4])
            raise Diagnosed(
                diagnostic(
                    "AS708",
                    f"`{folder}` holds several files for `{keys.OPTIONS[role]}`: {named}",
                    hints=("name each file with ASTRA-sim's own options",),
                )
            )
    return of_kinds({kind: found[kind][0] for kind in ROLES if kind in found}, folder)
