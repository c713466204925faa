"""Checks of ASTRA-sim's own files, one by one or as the bundles that they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.bundles import check_bundle
from astrac.api.kinds import BACKENDS, KINDS
from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic
from astrac.simulators.astra_sim_2.read.load import content
from astrac.simulators.recognise import KINDS as TABLE
from astrac.simulators.recognise import recognise
from astrac.simulators.survey import FAMILIES, TRACE, survey
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

DEFAULT_BACKEND = BACKENDS[0]
MAX_TEXT = 4 << 20


@dataclass(frozen=True)
class Guarded:
    """What was looked at, and what was found.

    Attributes:
        files: how many; the traces of a bundle are one.
        diagnostics: in the order of the files.
    """

    files: int
    diagnostics: tuple[Diagnostic, ...]


def check(path: str, kind: str | None, backend: str | None, *, only_inputs: bool = False) -> Guarded:
    """A file, or everything of ASTRA-sim's below a folder.

    Args:
        path: of either.
        kind: of a file, None: what is in it tells.
        backend: that the files are for, None: the one that they say.
        only_inputs: pass over a file that is none of ASTRA-sim's.
    """
    if Path(path).is_dir():
        return check_folder(path, backend)
    return check_file(path, kind, backend or DEFAULT_BACKEND, only_inputs=only_inputs)


def check_file(
    path: str,
    kind: str | None = None,
    backend: str = DEFAULT_BACKEND,
    *,
    only_inputs: bool = False,
    inside: Path | None = None,
) -> Guarded:
    """One file by itself.

    Args:
        path: of it.
        kind: of `kinds.KINDS`; None: what is in it tells.
        backend: that the file is for, of `kinds.BACKENDS`.
        only_inputs: pass over a file that is none of ASTRA-sim's.
        inside: the folder that it may not lead out of, as a link.
    """
    try:
        is_trace = path.endswith(".et") or kind == "trace"
        data, _ = content(Path(path), inside, TABLE["trace"].limit if is_trace else MAX_TEXT)
    except (Diagnosed, FileNotFoundError) as stop:
        if only_inputs and not is_trace:
            return Guarded(0, ())
        missing = diagnostic("AS700", f"`{path}` does not exist", Source(path).whole())
        return Guarded(1, (stop.diagnostic if isinstance(stop, Diagnosed) else missing,))
    word = kind or recognise(path, data)
    if word is None and only_inputs:
        return Guarded(0, ())
    if word is None or word == "spec":
        hints = (f"`--kind` takes one of {', '.join(KINDS)}",)
        message = "not one of ASTRA-sim's files, as far as its content tells"
        return Guarded(1, (diagnostic("AS781", message, Source(path).whole(), hints=hints),))
    if len(data) > TABLE[word].limit:
        message = f"larger than {TABLE[word].title} can be: {TABLE[word].limit >> 10} KiB"
        return Guarded(1, (diagnostic("AS700", message, Source(path).whole()),))
    return Guarded(1, _check(path, data, word, backend))


def _check(path: str, data: bytes, kind: str, backend: str) -> tuple[Diagnostic, ...]:
    if kind == "trace":
        return _check_trace(path, data)
    try:
        text = data.decode("utf-8" if kind.endswith("-1") else "utf-8-sig")
    except UnicodeDecodeError as error:
        return (diagnostic("AS700", f"not UTF-8: byte {error.start}", Source(path).whole()),)
    return _CHECKS[kind](Source(path, text), backend)


def _check_trace(path: str, data: bytes) -> tuple[Diagnostic, ...]:
    from astrac.simulators.astra_sim_2.simulator import check_trace  # noqa: PLC0415

    match = TRACE.fullmatch(Path(path).name)
    return check_trace(data, int(match[2]) if match else None, Source(path))


# -- texts; each imports what it needs, since a hook checks one kind at a time


def _of_2(kind: str) -> Callable[[Source, str], tuple[Diagnostic, ...]]:
    def check(source: Source, backend: str) -> tuple[Diagnostic, ...]:
        from astrac.simulators.astra_sim_2.check.files import check_file as check_text  # noqa: PLC0415

        return check_text(source, kind, backend)

    return check


def _network_1(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.astra_sim_1.read_network import read_network  # noqa: PLC0415

    return read_network(source).diagnostics


def _system_1(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.astra_sim_1.read_system import read_system  # noqa: PLC0415

    return read_system(source).diagnostics


def _workload_1(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.astra_sim_1.read_workload import read_workload  # noqa: PLC0415

    return read_workload(source).diagnostics


def _ns3_logical(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.ns3 import read_logical  # noqa: PLC0415

    return read_logical(source).diagnostics


def _ns3_topology(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.ns3 import check_whole, read_topology  # noqa: PLC0415

    result = read_topology(source)
    return (*result.diagnostics, *check_whole(None, None, result.value, None))


def _ns3_config(source: Source, _backend: str) -> tuple[Diagnostic, ...]:
    from astrac.simulators.ns3 import read_config  # noqa: PLC0415

    return read_config(source).diagnostics


_CHECKS: dict[str, Callable[[Source, str], tuple[Diagnostic, ...]]] = {
    **{kind: _of_2(kind) for kind in ("network", "system", "memory", "groups", "custom-table")},
    "network-1": _network_1,
    "system-1": _system_1,
    "workload-1": _workload_1,
    "ns3-logical": _ns3_logical,
    "ns3-topology": _ns3_topology,
    "ns3-config": _ns3_config,
}


# -- folders


def check_folder(folder: str, backend: str | None = None) -> Guarded:
    """Every file of ASTRA-sim's below a folder: as a bundle where files belong together, else one by one."""
    found = survey(Path(folder))
    diagnostics: list[Diagnostic] = []
    files = 0
    for bundle in found.bundles:
        files += len(bundle.files)
        diagnostics += check_bundle(bundle, found.ranks, backend)
    diagnostics += _apart(folder, found.alone)
    seen: set[object] = set()
    for kind, path in found.alone:
        files += 1
        for name in _names(path, found.ranks):
            identity = _identity(name)
            if identity not in seen:
                seen.add(identity)
                found_here = check_file(
                    str(name), "trace" if path in found.ranks else kind, backend or DEFAULT_BACKEND, inside=Path(folder)
                )
                diagnostics += found_here.diagnostics
    return Guarded(files, tuple(diagnostics))


def _apart(folder: str, alone: Sequence[tuple[str, Path]]) -> Iterator[Diagnostic]:
    """Where files could run together: a note when it is anybody's guess which, AS708 when versions are mixed."""
    kinds = Counter(kind for kind, _ in alone)
    first = dict(reversed(alone))
    for old, new in (
        ("network-1", "network"),
        ("network", "network-1"),
        ("system-1", "system"),
        ("system", "system-1"),
    ):
        others = FAMILIES["astra-sim-1" if old.endswith("-1") else "astra-sim-2"][0]
        if new in first and old not in first and all(kind in first for kind in others if kind != old):
            message = f"`{first[new].name}` is {TABLE[new].title}, and the files beside it are for the other version"
            yield diagnostic("AS708", message, Source(str(first[new])).whole())
    for missing, other in (("system", "network"), ("network", "system")):
        traces, beside = first.get("trace"), first.get(other)
        if traces is None or beside is None or kinds[missing] or kinds["ns3-logical"]:
            continue
        if beside.parent in (traces.parent, traces.parent.parent):
            message = f"`{beside.name}` and traces lie here without a {missing} file: ASTRA-sim needs all three"
            yield diagnostic("AS708", message, Source(str(beside)).whole())
    for needed, optional in FAMILIES.values():
        several = [kind for kind in (*needed, *optional) if kinds[kind] > 1]
        if several and all(kinds[kind] for kind in needed):
            titles = " and ".join(f"{kinds[kind]} of `{kind}`" for kind in several)
            message = f"the files were checked one by one, not together: there are {titles}"
            yield diagnostic("AS870", message, Source(folder).whole())
            return


def _names(path: Path, ranks: Mapping[Path, Sequence[int]]) -> Iterable[Path]:
    """The files of an entry: all traces of a prefix."""
    return [path.with_name(f"{path.name}.{rank}.et") for rank in ranks[path]] if path in ranks else [path]


def _identity(path: Path) -> object:
    """Hard links are one file."""
    status = path.lstat()
    return (status.st_dev, status.st_ino)
