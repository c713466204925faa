"""Checks of files that run together: everything that no file shows by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Dimension, Job, Machine
from astrac.simulators.astra_sim_2 import custom
from astrac.simulators.astra_sim_2.check_files import advice
from astrac.simulators.astra_sim_2.read import Files, examine, load
from astrac.simulators.astra_sim_2.read.assemble import assemble
from astrac.simulators.astra_sim_2.read.documents import CUSTOM_KEYS
from astrac.simulators.astra_sim_2.read.find import of_kinds, of_manifest
from astrac.simulators.astra_sim_2.verify import Evidence, verify_algorithm, verify_read
from astrac.simulators.recognise import KINDS
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.astra_sim_2.custom import Custom
    from astrac.simulators.astra_sim_2.read import Reading
    from astrac.simulators.survey import Bundle
    from astrac.source import Span


def check_bundle(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], backend: str | None) -> tuple[Diagnostic, ...]:
    """All that is wrong with a bundle.

    Args:
        bundle: found by a survey.
        ranks: prefix of traces -> the ranks that there are.
        backend: that it is meant for, None for the one that its files are for.
    """
    return tuple(_FAMILIES[bundle.family](bundle, ranks, backend))


def _of_2(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], backend: str | None) -> Iterator[Diagnostic]:
    try:
        files = (of_manifest(bundle.folder) if bundle.ours else None) or of_kinds(bundle.files, bundle.folder)
    except Diagnosed as stop:
        yield stop.diagnostic
        return
    reading = examine(files)
    yield from _read(reading, ranks, backend or "congestion_unaware")


def _read(reading: Reading, ranks: Mapping[Path, Sequence[int]], backend: str) -> Iterator[Diagnostic]:
    """What was found while reading, advice about the files, and what the Job shows."""
    yield from reading.diagnostics
    for role, tree in reading.trees.items():
        yield from (found for found in advice(tree, role) if not _names_all(found, reading))
    yield from reading.remarks
    yield from _ignored_groups(reading.files)
    if reading.machine is not None:
        yield from _surplus(reading.files, reading.machine.npus, ranks.get(reading.files.workload, ()))
    yield from _unmodelled(reading)
    if reading.job is None or has_errors(reading.diagnostics):
        return
    customs, found = _customs(reading)
    yield from found
    job = _stand_in(reading.job, customs)
    evidence = Evidence(job, reading.trees, _trace_names(reading.files), backend, exact=not reading.unmodelled)
    yield from verify_read(evidence)
    for entry in customs:
        yield from _check_custom(reading, entry)


def _names_all(found: Diagnostic, reading: Reading) -> bool:
    """Advice about the order of a group that is the whole machine, whose order ASTRA-sim does not look at."""
    tree = reading.trees.get("groups")
    if found.code != "AS864" or tree is None or reading.machine is None:
        return False
    return any(
        found.labels[0].span == tree.at(f"/{key}") and len(members) == reading.machine.npus
        for key, members in tree.value.items()
    )


def _trace_names(files: Files) -> Callable[[int], str]:
    return lambda rank: str(files.workload.with_name(f"{files.workload.name}.{rank}.et"))


def _ignored_groups(files: Files) -> Iterator[Diagnostic]:
    """ASTRA-sim takes a path with these letters for no file."""
    if files.groups is None:
        return
    inside = files.groups if files.inside is None else files.groups.relative_to(files.inside)
    if "empty" in str(inside):
        message = f"ASTRA-sim ignores the group file `{inside}`: its path holds `empty`"
        yield diagnostic("AS779", message, Source(str(files.groups)).whole(), hints=("give it another name",))


def _surplus(files: Files, npus: int, ranks: Sequence[int]) -> Iterator[Diagnostic]:
    more = sorted(rank for rank in ranks if rank >= npus)
    if more:
        name = files.workload.name
        last = f" to `{name}.{more[-1]}.et`" if len(more) > 1 else ""
        message = f"there are {npus} NPUs: nobody runs `{name}.{more[0]}.et`{last}"
        yield diagnostic("AS868", message, Source(_trace_names(files)(more[0])).whole())


def _unmodelled(reading: Reading) -> Iterator[Diagnostic]:
    """What a play leaves out; custom collectives are looked at by themselves."""
    for key, found in reading.unmodelled.items():
        if key not in CUSTOM_KEYS:
            message = f"{found.message}: whether the traces end is checked without it"
            yield diagnostic("AS870", message, found.labels[0].span if found.labels else None)


# -- custom collectives


def _customs(reading: Reading) -> tuple[list[Custom], list[Diagnostic]]:
    """The algorithms that the system file names, directly or by a table, and what is wrong with the table."""
    system = reading.trees["system"]
    found = custom.customs(system)
    diagnostics: list[Diagnostic] = []
    table = system.value.get(custom.TABLE)
    if isinstance(table, str):
        place = system.at(f"/{custom.TABLE}")
        path = next((base / table for base in _above(reading.files.system) if (base / table).is_file()), None)
        if path is None:
            diagnostics.append(diagnostic("AS785", f"`{table}` is not there", place))
        else:
            try:
                entries, wrong = custom.read_table(load.text(path, "custom-table"))
                found += entries
                diagnostics += wrong
            except Diagnosed as stop:
                diagnostics.append(stop.diagnostic)
    return found, [*diagnostics, *custom.about_splits(system, found)]


def _above(path: Path) -> list[Path]:
    """Where a relative path of a file may start: its folder and those above; ASTRA-sim takes its working folder."""
    return [path.parent, *path.resolve().parent.parents]


def _stand_in(job: Job, customs: Sequence[Custom]) -> Job:
    """The Job with rings for its custom collectives: a play shows whether everything around them ends."""
    if not customs:
        return job
    rings = {kind: ("ring",) * len(job.machine.dimensions) for kind in IMPLEMENTED}
    return replace(job, machine=replace(job.machine, splits=1, algorithms={**rings, **job.machine.algorithms}))


def _check_custom(reading: Reading, entry: Custom) -> Iterator[Diagnostic]:
    """The traces of one algorithm, for as many members as the collectives that it serves have."""
    assert reading.job is not None
    prefix = custom.locate(entry.prefix, reading.files.system.parent)
    if prefix is None:
        message = f"no traces `{entry.prefix}.0.et`, ...: ASTRA-sim looks for them from its working folder"
        yield diagnostic("AS785", message, entry.place)
        return
    for members in custom.members(reading.job, entry):
        machine = Machine((Dimension("Switch", members, 1.0, 0.0),), {}, 1)
        traces = load.traces(Files(prefix, prefix, prefix), machine, {}, None)
        if traces.result.value is None:
            note = Label(entry.place, f"for {members} members")
            for found in traces.result.diagnostics:
                yield replace(found, labels=(*found.labels, note) if found.labels else (note,))
            continue
        job = assemble(prefix.name, machine, traces.result.value)
        names = Files(prefix, prefix, prefix)
        yield from verify_algorithm(Evidence(job, {}, _trace_names(names), exact=False), entry.place)


# -- ASTRA-sim 1.0


def _of_1(bundle: Bundle, _ranks: Mapping[Path, Sequence[int]], _backend: str | None) -> Iterator[Diagnostic]:
    from astrac.simulators.astra_sim_1 import check  # noqa: PLC0415 - needs the player of 1.0

    result = text_job(bundle)
    yield from result.diagnostics
    if result.value is not None:
        yield from check(result.value)


def text_job(bundle: Bundle) -> Result[TextJob]:
    """The three files of a 1.0 bundle, each read as far as it goes."""
    from astrac.simulators.astra_sim_1 import read_network, read_system, read_workload  # noqa: PLC0415
    from astrac.simulators.astra_sim_1.job import TextJob  # noqa: PLC0415

    found: list[Diagnostic] = []
    readers: dict[str, Callable[[Source], Result[Any]]] = {
        "network-1": read_network,
        "system-1": read_system,
        "workload-1": read_workload,
    }
    parts: dict[str, Any] = {}
    for kind, read in readers.items():
        try:
            data, _ = load.content(bundle.files[kind], bundle.folder, KINDS[kind].limit)
            result = read(Source(str(bundle.files[kind]), data.decode("utf-8")))
        except Diagnosed as stop:
            found.append(stop.diagnostic)
            continue
        except UnicodeDecodeError as error:
            place = Source(str(bundle.files[kind])).whole()
            found.append(diagnostic("AS700", f"not UTF-8: byte {error.start}", place))
            continue
        found += result.diagnostics
        if not has_errors(result.diagnostics):
            parts[kind] = result.value
    network, system, workload = (parts.get(kind) for kind in readers)
    if network is None or system is None or workload is None:
        return Result(None, tuple(found))
    return Result(TextJob(network, system, workload), tuple(found))


# -- ns-3


def _of_ns3(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], _backend: str | None) -> Iterator[Diagnostic]:
    from astrac.simulators.ns3 import check_whole, read_config, read_logical, read_topology  # noqa: PLC0415

    def source(kind: str) -> Source | None:
        return load.text(bundle.files[kind], kind, bundle.folder) if kind in bundle.files else None

    try:
        texts = {kind: source(kind) for kind in ("ns3-logical", "ns3-topology", "ns3-config")}
    except Diagnosed as stop:
        yield stop.diagnostic
        return
    logical_text = texts["ns3-logical"]
    assert logical_text is not None
    logical = read_logical(logical_text)
    yield from logical.diagnostics
    topology = None if texts["ns3-topology"] is None else read_topology(texts["ns3-topology"])
    config = None if texts["ns3-config"] is None else read_config(texts["ns3-config"])
    place: Span = logical_text.span(0, len(logical_text.text.rstrip()))
    for part in (topology, config):
        yield from () if part is None else part.diagnostics
    yield from check_whole(
        logical.value, place, None if topology is None else topology.value, None if config is None else config.value
    )
    if logical.value is not None:
        dimensions = tuple(Dimension("Switch", size, 1.0, 1.0) for size in logical.value)
        files = replace(of_kinds(bundle.files | {"network": bundle.files["ns3-logical"]}, bundle.folder))
        yield from _read(examine(files, dimensions), ranks, "ns3")


_FAMILIES: dict[str, Callable[[Bundle, Mapping[Path, Sequence[int]], str | None], Iterator[Diagnostic]]] = {
    "astra-sim-2": _of_2,
    "astra-sim-1": _of_1,
    "ns3": _of_ns3,
}
"""By family of `read.survey`."""
