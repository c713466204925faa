"""Which file plays which role: as ASTRA-sim's own options, our manifest or a survey of a folder tell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac import conform
from astrac.bundle import read_manifest
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.files import content
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.groups import Names, recall
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from astrac.job import Machine
    from astrac.simulators.rows import FileSet

MAX_TABLE = 4 << 20
"""Bytes of a table of custom collectives."""


@dataclass(frozen=True)
class Files:
    """ASTRA-sim 2.x's command line.

    Attributes:
        network, system: the files, None where only others are checked.
        workload: the prefix of the traces: `x` for `x.0.et`, `x.1.et`, ...; None likewise.
        memory, groups: the files, None when not given.
        queues: `--num-queues-per-dim`.
        injection_scale: `--injection-scale`.
        rendezvous: `--rendezvous-protocol`.
        inside: the folder that no file may lead out of, None when the user named each file.
        manifest: of ours, where there is one.
    """

    network: Path | None
    system: Path | None
    workload: Path | None
    memory: Path | None = None
    groups: Path | None = None
    queues: int = 1
    injection_scale: float = 1.0
    rendezvous: bool = False
    inside: Path | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def trace(self, rank: int) -> Path:
        """The trace of a rank."""
        assert self.workload is not None
        return self.workload.with_name(f"{self.workload.name}.{rank}.et")

    def names(self, machine: Machine) -> Names | None:
        """The names in the manifest, when it has any for a machine of this many NPUs."""
        job = self.manifest.get("job")
        if job is None or any(conform.violations(dict(self.manifest), "manifest")):
            return None
        return recall(job, machine)


def of_options(
    arguments: Iterable[str], folder: Path, *, inside: Path | None = None, manifest: Mapping[str, Any] | None = None
) -> Files:
    """The files that ASTRA-sim's own arguments name (`--option=value` or `--option value`), relative to a folder.

    Raises:
        Diagnosed: AS708 for an option that is missing or unknown: ASTRA-sim ignores a misspelt one.
    """
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        option, mark, value = argument.partition("=")
        given[option] = value if mark else next(rest, "")
    for option, text in given.items():
        if option not in _OPTIONS:
            hints = did_you_mean(option, _OPTIONS)
            raise Diagnosed(diagnostic("AS708", f"`{option}` is no option of ASTRA-sim, which ignores it", hints=hints))
        name, convert = _OPTIONS[option]
        try:
            values[name] = convert(text)
        except (KeyError, ValueError):
            raise Diagnosed(diagnostic("AS708", f"`{option}` cannot be `{text}`")) from None
    for name in ("network", "system", "workload"):
        if name not in values:
            raise Diagnosed(diagnostic("AS708", f"`{keys.OPTIONS[name]}` is missing"))
    values.pop("", None)
    paths = {name: folder / value for name, value in values.items() if isinstance(value, Path)}
    return Files(**(values | paths), inside=inside, manifest=manifest or {})


def of_set(found: FileSet) -> Files:
    """The files of a set, with what a manifest of ours says of them where there is one.

    Raises:
        Diagnosed: as `of_options`.
    """
    name, folder = found.simulator, found.folder
    places = [(folder, folder / name)]
    if folder.name == name == folder.resolve().name:
        places.append((folder.resolve().parent, folder))
    for top, base in places:
        manifest = read_manifest(top) or {}
        commands = manifest.get("commands", {})
        if isinstance(commands, dict) and isinstance(commands.get(name), list):
            return of_options(map(str, commands[name]), base, inside=found.inside, manifest=manifest)
    return of_kinds(found)


def of_kinds(found: FileSet) -> Files:
    """The files that a survey found to belong together, by their kinds."""
    files = found.files.get
    paths = (files("network"), files("system"), files("trace"), files("memory"), files("groups"))
    return Files(*paths, inside=found.inside)


def set_apart(files: dict[str, list[Path]]) -> None:
    """Takes the traces of custom collectives, which a system file or a table names, out of what a survey found.

    Args:
        files: paths by kind, changed in place: those of `trace` that are no workload become `algorithm`.
    """
    named: set[str] = set()
    for path in files.get("system", ()):
        text = _letters(path)
        tables = (near / name for name in _TABLE.findall(text) for near in (path.parent, *path.parents[1:4]))
        entries = (_ENTRY.findall(_letters(table)) for table in tables)
        named.update(name.rpartition("/")[2] for name in (*_CUSTOM.findall(text), *chain.from_iterable(entries)))
    traces = files.get("trace", [])
    algorithms = [prefix for prefix in traces if prefix.name in named]
    if algorithms and len(algorithms) < len(traces):
        files["trace"] = [prefix for prefix in traces if prefix.name not in named]
        files["algorithm"] = algorithms


def _letters(path: Path) -> str:
    """A text as far as it is one; of what cannot be read, is no regular file or is large, nothing."""
    try:
        return content(path, None, MAX_TABLE)[0].decode("utf-8", "replace")
    except (Diagnosed, FileNotFoundError):
        return ""


_CUSTOM = re.compile(r'-custom"\s*:\s*\[\s*"([^"]+)"')
_TABLE = re.compile(r'"per-node-custom-implementation"\s*:\s*"([^"]+)"')
_ENTRY = re.compile(r"^[ \t]*(?:\S+[ \t]*:|-)[ \t]+(\S+)", re.MULTILINE)


def _count(text: str) -> int:
    if not 1 <= int(text) <= 1 << 20:
        raise ValueError(text)
    return int(text)


_SWITCH = {"true": True, "1": True, "false": False, "0": False, "": True}

_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    keys.OPTIONS["network"]: ("network", Path),
    keys.OPTIONS["system"]: ("system", Path),
    keys.OPTIONS["workload"]: ("workload", Path),
    keys.OPTIONS["memory"]: ("memory", Path),
    # ASTRA-sim takes any path with these letters for no file.
    keys.OPTIONS["groups"]: ("groups", lambda text: None if "empty" in text else Path(text)),
    keys.OPTIONS["queues"]: ("queues", _count),
    "--injection-scale": ("injection_scale", float),
    "--rendezvous-protocol": ("rendezvous", _SWITCH.__getitem__),
    "--comm-scale": ("", str),
    "--compute-scale": ("", str),
    "--logging-configuration": ("", str),
    "--logging-folder": ("", str),
}
"""Options, the attribute of `Files` that each fills ("": it changes no result), and how its text is read."""
