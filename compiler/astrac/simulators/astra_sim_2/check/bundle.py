"""Files that run together: everything that no file shows by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Dimension, Job, Machine
from astrac.simulators.astra_sim_2.check import custom
from astrac.simulators.astra_sim_2.check.evidence import BACKENDS, Evidence
from astrac.simulators.astra_sim_2.check.files import advice
from astrac.simulators.astra_sim_2.check.job import check_algorithm, check_job
from astrac.simulators.astra_sim_2.read import load
from astrac.simulators.astra_sim_2.read.assemble import assemble
from astrac.simulators.astra_sim_2.read.documents import CUSTOM_KEYS
from astrac.simulators.astra_sim_2.read.files import Files, of_set
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.simulators.astra_sim_2.check.custom import Custom
    from astrac.simulators.astra_sim_2.read.reading import Reading
    from astrac.simulators.rows import FileSet


def check_set(found: FileSet, backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together.

    Args:
        found: the files.
        backend: of BACKENDS, None for the first.
    """
    try:
        roles = of_set(found)
    except Diagnosed as stop:
        yield stop.diagnostic
        return
    yield from check_reading(examine(roles), found.ranks, backend or BACKENDS[0])


def check_reading(reading: Reading, ranks: Sequence[int], backend: str) -> Iterator[Diagnostic]:
    """What was found while reading, advice about the files, and what the Job shows."""
    yield from reading.diagnostics
    npus = None if reading.machine is None else reading.machine.npus
    for role, tree in reading.trees.items():
        yield from advice(tree, role, npus)
    yield from reading.remarks
    yield from _ignored_groups(reading.files)
    if npus is not None:
        yield from _surplus(reading.files, npus, ranks)
    yield from _unmodelled(reading)
    if reading.job is None or has_errors(reading.diagnostics):
        return
    customs, found = custom.named(reading.trees["system"], reading.files.system)
    yield from found
    job = _stand_in(reading.job, customs)
    evidence = Evidence(job, reading.trees, reading.files.trace, backend, exact=not reading.unmodelled)
    yield from check_job(evidence)
    for entry in customs:
        yield from _check_custom(reading, entry)


def _ignored_groups(files: Files) -> Iterator[Diagnostic]:
    """ASTRA-sim takes a path with these letters for no file."""
    if files.groups is None:
        return
    inside = files.groups if files.inside is None else files.groups.relative_to(files.inside)
    if "empty" in str(inside):
        message = f"ASTRA-sim ignores the group file `{inside}`: its path holds `empty`"
        yield diagnostic("AS779", message, Source(str(files.groups)).whole(), hints=("give it another name",))


def _surplus(files: Files, npus: int, ranks: Sequence[int]) -> Iterator[Diagnostic]:
    """Traces of ranks that the machine does not have."""
    more = sorted(rank for rank in ranks if rank >= npus)
    if more:
        name = files.workload.name
        last = f" to `{name}.{more[-1]}.et`" if len(more) > 1 else ""
        message = f"there are {npus} NPUs: nobody runs `{name}.{more[0]}.et`{last}"
        yield diagnostic("AS868", message, Source(str(files.trace(more[0]))).whole())


def _unmodelled(reading: Reading) -> Iterator[Diagnostic]:
    """What a simulation leaves out; custom collectives are looked at by themselves."""
    for key, found in reading.unmodelled.items():
        if key not in CUSTOM_KEYS:
            message = f"{found.message}: whether the traces end is checked without it"
            yield diagnostic("AS870", message, found.labels[0].span if found.labels else None)


def _stand_in(job: Job, customs: Sequence[Custom]) -> Job:
    """The Job with rings for its custom collectives: whether everything around them ends."""
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
    files = Files(prefix, prefix, prefix)
    for members in custom.members(reading.job, entry):
        machine = Machine((Dimension("Switch", members, 1.0, 0.0),), {}, 1)
        programs = load.traces(files, machine, {}, None).result
        if programs.value is None:
            note = Label(entry.place, f"for {members} members")
            for found in programs.diagnostics:
                yield replace(found, labels=(*found.labels, note) if found.labels else (note,))
            continue
        job = assemble(prefix.name, machine, programs.value)
        yield from check_algorithm(Evidence(job, {}, files.trace, exact=False), entry.place)
