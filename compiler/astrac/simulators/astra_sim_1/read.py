"""Files of ASTRA-sim 1.0, or what its command line names, -> TextJob."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors
from astrac.simulators.astra_sim_1.job import TextJob
from astrac.simulators.astra_sim_1.kinds import KINDS
from astrac.simulators.astra_sim_1.options import apply_options
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.rows import FileSet
    from astrac.source import Source

READERS: dict[str, Callable[[Source], Result[Any]]] = {
    "network-1": read_network,
    "system-1": read_system,
    "workload-1": read_workload,
}
"""By kind of file, in the order of a TextJob's parts."""

OPTIONS = {kind: f"--{row.role}-configuration" for kind, row in KINDS.items()}
"""The options that name the files."""


def check_file(kind: str, source: Source, _data: bytes, _backend: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with one text by itself."""
    return READERS[kind](source).diagnostics


def read(found: FileSet) -> Result[TextJob]:
    """The job of the three texts, each read as far as it goes."""
    return _job(read_parts(found.files, found.inside))


def read_parts(paths: Mapping[str, Path], folder: Path | None) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """What each text says that is there and has no errors, by its kind, and what is wrong with any of them."""
    diagnostics: list[Diagnostic] = []
    parts: dict[str, Any] = {}
    for kind, reader in READERS.items():
        if kind not in paths:
            continue
        try:
            result = reader(KINDS[kind].text(paths[kind], folder))
        except Diagnosed as stop:
            diagnostics.append(stop.diagnostic)
            continue
        diagnostics += result.diagnostics
        if not has_errors(result.diagnostics):
            parts[kind] = result.value
    return parts, tuple(diagnostics)


def _job(read: tuple[dict[str, Any], tuple[Diagnostic, ...]]) -> Result[TextJob]:
    parts, diagnostics = read
    return Result(TextJob(*parts.values()) if len(parts) == len(READERS) else None, diagnostics)


def of_arguments(arguments: Sequence[str]) -> Result[TextJob]:
    """The job of the files that 1.0's own options name, with what its other options say."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    for option in sorted(OPTIONS.values(), reverse=True):
        if option not in given:
            return Result(None, (diagnostic("AS708", f"`{option}` is missing"),))
    job, found = _job(read_parts({kind: Path(given[option]) for kind, option in OPTIONS.items()}, None))
    if job is None:
        return Result(None, found)
    rest = [argument for argument in arguments if argument.partition("=")[0] not in OPTIONS.values()]
    made = apply_options(job, rest)
    return Result(made.value, (*found, *made.diagnostics))
