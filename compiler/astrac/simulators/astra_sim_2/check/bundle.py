"""Files that run together: everything that no file shows by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Collective, Dimension, Job, Machine
from astrac.simulators.astra_sim_2.check.evidence import BACKENDS, Evidence
from astrac.simulators.astra_sim_2.check.files import about_splits, advice, customs, read_table
from astrac.simulators.astra_sim_2.check.job import check_algorithm, check_job, check_machine
from astrac.simulators.astra_sim_2.check.nodes import structure
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read.documents import CUSTOM_KEYS, TABLE, TRACKS
from astrac.simulators.astra_sim_2.read.files import Files, of_set
from astrac.simulators.astra_sim_2.read.reading import assemble, examine, read_traces
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.positioned import Tree
    from astrac.simulators.astra_sim_2.check.files import Custom
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
    files = reading.files
    if files.groups is not None:
        inside = files.groups if files.inside is None else files.groups.relative_to(files.inside)
        if "empty" in str(inside):
            message = f"ASTRA-sim ignores the group file `{inside}`: its path holds `empty`"
            yield diagnostic("AS779", message, Source(str(files.groups)).whole(), hints=("give it another name",))
    surplus = sorted(rank for rank in ranks if npus is not None and rank >= npus)
    if surplus:
        last = f" to `{files.trace(surplus[-1]).name}`" if len(surplus) > 1 else ""
        message = f"there are {npus} NPUs: nobody runs `{files.trace(surplus[0]).name}`{last}"
        yield diagnostic("AS868", message, Source(str(files.trace(surplus[0]))).whole())
    for key, left_out in reading.unmodelled.items():
        if left_out.code != "AS715":
            yield left_out
        elif key not in CUSTOM_KEYS:  # custom collectives are looked at by themselves
            message = f"{left_out.message}: whether the traces end is checked without it"
            yield diagnostic("AS870", message, left_out.labels[0].span if left_out.labels else None)
    if reading.job is not None and reading.trees["system"].value.get(TRACKS) and TRACKS not in reading.unmodelled:
        message = "the tensors that nodes read and write were not looked at: ASTRA-sim aborts at two writes of one"
        yield diagnostic("AS870", message, reading.trees["system"].at(f"/{TRACKS}"))
    if files.workload is None and reading.machine is not None:
        alone = assemble("", reading.machine, ())
        yield from check_machine(Evidence(alone, reading.trees, str, backend))
    if reading.job is None or files.system is None:
        return
    if has_errors(reading.diagnostics):  # what else is wrong, as far as that does not hide it
        yield from structure(Evidence(reading.job, reading.trees, files.trace))
        return
    entries, found = _customs(reading.trees["system"], files.system)
    yield from found
    job = reading.job
    if entries:  # rings stand in for custom collectives: whether everything around them ends
        rings = {kind: ("ring",) * len(job.machine.dimensions) for kind in IMPLEMENTED}
        job = replace(job, machine=replace(job.machine, splits=1, algorithms={**rings, **job.machine.algorithms}))
    yield from check_job(Evidence(job, reading.trees, reading.files.trace, backend, exact=not reading.unmodelled))
    for entry in entries:
        yield from _check_custom(job, files.system, entry)


# -- custom collectives
#
# What ASTRA-sim does with them (its public source, and runs): one chunk a collective whatever `comm_size` says, the
# bytes of the algorithm's own nodes, members by their place in the group, paths relative to its working folder.


def _customs(system: Tree, path: Path) -> tuple[list[Custom], list[Diagnostic]]:
    """The algorithms that a system file names, directly or by a table, and what is wrong with the table.

    Args:
        system: the document.
        path: of its file.
    """
    found = customs(system)
    wrong: tuple[Diagnostic, ...] = ()
    table = system.value.get(TABLE)
    if isinstance(table, str):
        # ASTRA-sim starts from its working folder, which is nowhere written: the file's folder or one above it.
        bases = (path.parent, *path.resolve().parent.parents)
        here = next((base / table for base in bases if (base / table).is_file()), None)
        wrong = (diagnostic("AS785", f"`{table}` is not there", system.at(f"/{TABLE}")),)
        try:
            entries, wrong = ([], wrong) if here is None else read_table(KINDS["custom-table"].text(here))
            found += entries
        except Diagnosed as stop:
            wrong = (stop.diagnostic,)
    return found, [*wrong, *about_splits(system, found)]


def _check_custom(job: Job, system: Path, entry: Custom) -> Iterator[Diagnostic]:
    """The traces of one algorithm, for as many members as the collectives that it serves have."""
    # From the folder of the file that names it upwards, or from here.
    near = system.parent
    bases = (near, *near.resolve().parents, Path())
    prefix = next((base / entry.prefix for base in bases if (base / f"{entry.prefix}.0.et").is_file()), None)
    if prefix is None:
        message = f"no traces `{entry.prefix}.0.et`, ...: ASTRA-sim looks for them from its working folder"
        yield diagnostic("AS785", message, entry.place)
        return
    files = Files(prefix, prefix, prefix)
    for members in _members(job, entry):
        machine = Machine((Dimension("Switch", members, 1.0, 0.0),), {}, 1)
        programs, _ = read_traces(files, machine, {}, None)
        if programs.value is None or programs.diagnostics:
            note = Label(entry.place, f"for {members} members")
            for found in programs.diagnostics:
                yield replace(found, labels=(*found.labels, note) if found.labels else (note,))
            continue
        alone = assemble(prefix.name, machine, programs.value)
        yield from check_algorithm(Evidence(alone, {}, files.trace, exact=False), entry.place)


def _members(job: Job, entry: Custom) -> list[int]:
    """How many members the collectives have that an algorithm serves; none when it serves none."""
    sizes: set[int] = set()
    for op in (op for program in job.programs for op in program.ops if isinstance(op, Collective)):
        if op.kind in IMPLEMENTED and (op.kind is entry.kind or op.id == entry.node):
            # ASTRA-sim does not look at `involved_dim` here: all NPUs are members.
            sizes.add(job.size(op.group) if op.group.dimensions is None else job.machine.npus)
    return sorted(sizes)
