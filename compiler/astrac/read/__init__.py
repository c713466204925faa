"""A folder, or ASTRA-sim's own options -> Job: any 2.x bundle, ours or another tool's, as the simulator will see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.read import load
from astrac.read.files import Files, of_arguments
from astrac.read.find import find
from astrac.targets.astra_sim_2.assemble import assemble, assemble_named
from astrac.targets.astra_sim_2.read import read_groups, read_machine, read_network
from astrac.targets.trees import json_tree, yaml_tree

if TYPE_CHECKING:
    from astrac.diagnostics import Diagnostic
    from astrac.job import Job, ListedGroup, Machine
    from astrac.targets.astra_sim_2.names import Names

__all__ = ["Files", "of_arguments", "read"]


def read(where: str | Path | Files) -> Result[Job]:
    """The Job that a folder or a set of files describes.

    Args:
        where: a folder, whose files are recognised by what is in them, or the files by their roles.

    Returns:
        The Job. Axes and groups have our names where a manifest of ours says them and the files agree; otherwise axes
        are `dim0`, `dim1`, ..., groups are the group file's, and messages go along `rank`. Without a Job: AS700 to
        AS709, AS714, AS715.
    """
    try:
        files = where if isinstance(where, Files) else find(Path(where))
        machine = _machine(files)
        if machine.value is None:
            return Result(None, machine.diagnostics)
        groups = _groups(files, machine.value)
        if groups.value is None:
            return Result(None, groups.diagnostics)
        return _job(files, machine.value, groups.value)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))


def _machine(files: Files) -> Result[Machine]:
    found: list[Diagnostic] = []
    network = read_network(yaml_tree(load.text(files.network, files)))
    if network.value is None:
        return Result(None, network.diagnostics)
    memory = None if files.memory is None else json_tree(load.text(files.memory, files))
    system = json_tree(load.text(files.system, files))
    machine = read_machine(network.value, system, memory, files.queues)
    found += machine.diagnostics
    if files.rendezvous:
        found.append(diagnostic("AS715", "`--rendezvous-protocol` is not modelled"))
    if machine.value is None or found:
        return Result(None, tuple(found))
    delay = machine.value.endpoint_delay
    scaled = None if delay is None else int(delay * files.injection_scale)
    return Result(replace(machine.value, endpoint_delay=scaled))


def _groups(files: Files, machine: Machine) -> Result[dict[int, ListedGroup]]:
    if files.groups is None:
        return Result({})
    return read_groups(json_tree(load.text(files.groups, files)), machine.npus)


def _job(files: Files, machine: Machine, groups: dict[int, ListedGroup]) -> Result[Job]:
    names = files.names(machine.npus)
    if names is not None:
        job = _named(files, machine, groups, names)
        if job is not None:
            return Result(job)
    traces = load.traces(files, machine, groups, None)
    if traces.value is None:
        return Result(None, traces.diagnostics)
    return Result(assemble(files.workload.name, machine, traces.value))


def _named(files: Files, machine: Machine, groups: dict[int, ListedGroup], names: Names) -> Job | None:
    """The Job by our names, None where the traces do not do what the manifest says: somebody has edited one of them."""
    traces = load.traces(files, machine, groups, names)
    return None if traces.value is None else assemble_named(names, machine, traces.value)
