"""Which file plays which role."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.simulators import conform
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.names import Names, recall
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from astrac.job import Machine


@dataclass(frozen=True)
class Files:
    """ASTRA-sim 2.x's command line.

    Attributes:
        network, system: the files.
        workload: the prefix of the traces: `x` for `x.0.et`, `x.1.et`, ...
        memory, groups: the files, None when not given.
        queues: `--num-queues-per-dim`.
        injection_scale: `--injection-scale`.
        rendezvous: `--rendezvous-protocol`.
        inside: the folder that no file may lead out of, None when the user named each file.
        manifest: of ours, where there is one.
    """

    network: Path
    system: Path
    workload: Path
    memory: Path | None = None
    groups: Path | None = None
    queues: int = 1
    injection_scale: float = 1.0
    rendezvous: bool = False
    inside: Path | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def names(self, machine: Machine) -> Names | None:
        """The names in the manifest, when it has any for a machine of this many NPUs."""
        job = self.manifest.get("job")
        if job is None or any(conform.violations(dict(self.manifest), "manifest")):
            return None
        return recall(job, machine)


def of_arguments(
    arguments: Iterable[str], folder: Path, *, inside: Path | None = None, manifest: Mapping[str, Any] | None = None
) -> Files:
    """The files that ASTRA-sim's own arguments name (`--option=value` or `--option value`), relative to a folder.

    Raises:
        Diagnosed: AS708 for an option that is missing or unknown: ASTRA-sim ignores a misspelt one.
    """
    given = dict(_pairs(arguments))
    values: dict[str, Any] = {}
    for option, text in given.items():
        row = _OPTIONS.get(option)
        if row is None:
            hints = did_you_mean(option, _OPTIONS)
            raise Diagnosed(diagnostic("AS708", f"`{option}` is no option of ASTRA-sim, which ignores it", hints=hints))
        name, convert = row
        try:
            values[name] = convert(text)
        except ValueError:
            raise Diagnosed(diagnostic("AS708", f"`{option}` cannot be `{text}`")) from None
    for option, (name, _) in _OPTIONS.items():
        if name in ("network", "system", "workload") and name not in values:
            raise Diagnosed(diagnostic("AS708", f"`{option}` is missing"))
    values.pop("", None)
    paths = {name: folder / value for name, value in values.items() if isinstance(value, Path)}
    return Files(**(values | paths), inside=inside, manifest=manifest or {})


def _pairs(arguments: Iterable[str]) -> Iterable[tuple[str, str]]:
    rest = iter(arguments)
    for argument in rest:
        option, mark, value = argument.partition("=")
        yield option, value if mark else next(rest, "")


def _switch(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False, "": True}[text]


def _count(text: str) -> int:
    if not 1 <= int(text) <= 1 << 20:
        raise ValueError(text)
    return int(text)


def _group_file(text: str) -> Path | None:
    """ASTRA-sim takes any path with these letters for no file."""
    return None if "empty" in text else Path(text)


_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    keys.OPTIONS["network"]: ("network", Path),
    keys.OPTIONS["system"]: ("system", Path),
    keys.OPTIONS["workload"]: ("workload", Path),
    keys.OPTIONS["memory"]: ("memory", Path),
    keys.OPTIONS["groups"]: ("groups", _group_file),
    keys.OPTIONS["queues"]: ("queues", _count),
    "--injection-scale": ("injection_scale", float),
    "--rendezvous-protocol": ("rendezvous", _switch),
    "--comm-scale": ("", str),
    "--compute-scale": ("", str),
    "--logging-configuration": ("", str),
    "--logging-folder": ("", str),
}
"""Options, the attribute of `Files` that each fills ("": it changes no result), and how its text is read."""
