"""Estimates of anything: specs, bundles of ours or anybody's, ASTRA-sim's own command line, text jobs of 1.0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.checking import Chain, Options, Stop, read
from astrac.api.compiling import plan_points
from astrac.bundle import MANIFEST
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.estimate import estimate, estimate_text, failed
from astrac.simulators.astra_sim_1 import apply_options
from astrac.simulators.astra_sim_1 import check as check_text_job
from astrac.simulators.astra_sim_1.job import Policy, TextJob
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.simulators.astra_sim_2.read.files import of_arguments
from astrac.simulators.astra_sim_2.read.folder import find
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.simulators.results import Failure, Outcome
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.estimate import Estimate
    from astrac.simulators.astra_sim_2.read.files import Files

MAX_TEXT_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Estimated:
    """One estimate and what it is of.

    Attributes:
        title: the path, with the sweep's point.
        point: what the sweep chose.
        estimate: None for a spec with errors; of files that cannot be read it is one that fails.
        diagnostics: of reading it.
    """

    title: str
    point: tuple[tuple[str, str], ...]
    estimate: Estimate | None
    diagnostics: tuple[Diagnostic, ...]


def estimate_spec(name: str, data: bytes, options: Options) -> tuple[Estimated, ...]:
    """One estimate for each wanted point of a spec."""
    found = []
    for document, result in plan_points(name, data, options):
        title = name if document is None else f"{name} {document.name}".strip()
        point = () if document is None else document.point
        value = None if result.value is None else result.value.estimate
        found.append(Estimated(title, point, value, result.diagnostics))
    return tuple(found)


def folders(top: str) -> tuple[str, ...]:
    """The bundles that a folder means: those of a sweep's points below it, else itself."""
    if (Path(top) / MANIFEST).exists():
        return (top,)
    below = sorted(str(manifest.parent) for manifest in Path(top).glob(f"*/{MANIFEST}"))
    return tuple(below) or (top,)


def estimate_folder(folder: str, backend: str | None) -> Estimated:
    """Of a folder with a 2.x bundle or a 1.0 triple, recognised by what is in it."""
    triple = _triple(Path(folder))
    if triple is not None:
        return _text(folder, *triple)
    return _files(folder, lambda: find(Path(folder)), backend)


def estimate_arguments(arguments: Sequence[str], backend: str | None) -> Estimated:
    """Of the files that ASTRA-sim's own options name; both versions have the same ones."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    network = given.get("--network-configuration", "")
    if _is_text_network(Path(network)):
        return _text_arguments(given, arguments)
    return _files(given.get("--workload-configuration", ""), lambda: of_arguments(arguments, Path()), backend)


def _files(title: str, locate: Callable[[], Files], backend: str | None) -> Estimated:
    """Of 2.x files. What is wrong but runs all the same is told, and estimated as it runs."""
    try:
        reading = examine(locate())
    except Diagnosed as stop:
        return _unreadable(title, (stop.diagnostic,))
    found = (*reading.diagnostics, *reading.unmodelled.values())
    if reading.job is None or reading.unmodelled:
        return _unreadable(title, found)
    value = estimate(reading.job, backend=backend or "congestion_unaware")
    return Estimated(title, (), value.value, (*found, *value.diagnostics))


# -- ASTRA-sim 1.0


def _is_text_network(path: Path) -> bool:
    """Whether a file is a network of 1.0: JSON with a `topology-name`."""
    try:
        with path.open("rb") as file:
            head = file.read(MAX_TEXT_BYTES)
        return head.lstrip()[:1] == b"{" and b'"topology-name"' in head
    except OSError:
        return False


def _triple(folder: Path) -> tuple[Path, Path, Path] | None:
    """Workload, system and network of 1.0 in a folder, None when it holds something else."""
    if (folder / MANIFEST).exists() or any(folder.glob("*.et")):
        return None
    files = sorted(path for path in folder.iterdir() if path.is_file())
    networks = [path for path in files if _is_text_network(path)]
    texts = {path: _head(path) for path in files if path.suffix == ".txt"}
    workloads = [path for path, head in texts.items() if head.split()[:1] and head.split()[0] in _POLICIES]
    systems = [path for path, head in texts.items() if "scheduling-policy:" in head]
    if len(networks) == len(workloads) == len(systems) == 1:
        return workloads[0], systems[0], networks[0]
    return None


_POLICIES = {policy.value for policy in Policy}


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(65536).decode("utf-8", "replace")


def _text(title: str, workload: Path, system: Path, network: Path, arguments: Sequence[str] = ()) -> Estimated:
    chain = Chain()
    try:
        job = TextJob(
            chain.take(read_network(_source(network, chain))),
            chain.take(read_system(_source(system, chain))),
            chain.take(read_workload(_source(workload, chain))),
        )
        job = chain.take(apply_options(job, arguments))
    except Stop:
        return _unreadable(title, tuple(chain.found))
    return Estimated(title, (), estimate_text(job), (*chain.found, *check_text_job(job)))


def _unreadable(title: str, diagnostics: tuple[Diagnostic, ...]) -> Estimated:
    """Inputs that the simulator would not run either: an estimate that fails for the first reason found."""
    reason = next(finding.message for finding in diagnostics if finding.is_error)
    return Estimated(title, (), failed(Failure(Outcome.ABORT, reason)), diagnostics)


def _source(path: Path, chain: Chain) -> Source:
    try:
        return Source(str(path), read(str(path)).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "not UTF-8").lower()
        chain.note((diagnostic("AS700", f"cannot read `{path}`: {reason}"),))
        raise Stop from None


def _text_arguments(given: dict[str, str], arguments: Sequence[str]) -> Estimated:
    names = [f"--{role}-configuration" for role in ("workload", "system", "network")]
    missing = [name for name in names if name not in given]
    if missing:
        return _unreadable("", (diagnostic("AS708", f"`{missing[0]}` is missing"),))
    rest = [argument for argument in arguments if argument.partition("=")[0] not in names]
    workload, system, network = (Path(given[name]) for name in names)
    return _text(str(workload), workload, system, network, rest)


def as_json(found: Sequence[Estimated]) -> str:
    """One readable document, or JSON lines for several."""
    values = [entry.estimate.as_json() for entry in found if entry.estimate is not None]
    return "".join(json.dumps(value, indent=None if len(found) > 1 else 2) + "\n" for value in values)
