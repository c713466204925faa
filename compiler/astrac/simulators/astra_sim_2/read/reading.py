"""Every file of a bundle, read as far as it goes: one broken file does not hide what is wrong with the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read import load
from astrac.simulators.astra_sim_2.read.assemble import assemble, assemble_named
from astrac.simulators.astra_sim_2.read.documents import (
    read_groups,
    read_machine,
    read_memory,
    read_network,
    unmodelled,
)
from astrac.simulators.astra_sim_2.read.files import of_options, of_set
from astrac.simulators.trees import json_tree, yaml_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from astrac.job import Dimension, Job, ListedGroup, Machine
    from astrac.positioned import Tree
    from astrac.simulators.astra_sim_2.read.files import Files
    from astrac.simulators.rows import FileSet
    from astrac.source import Source

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """What the files of a bundle say.

    Attributes:
        files: by their roles.
        trees: role -> the document, where it is one.
        machine, groups, job: as far as errors allow them; the Job of a bundle with `unmodelled` parts is one without.
        diagnostics: errors in the files.
        remarks: advice about nodes of the traces.
        unmodelled: AS715 by key or option, what ASTRA-sim would do and the Job does not say.
    """

    files: Files
    trees: Mapping[str, Tree]
    machine: Machine | None
    groups: Mapping[int, ListedGroup] | None
    job: Job | None
    diagnostics: tuple[Diagnostic, ...]
    remarks: tuple[Diagnostic, ...]
    unmodelled: Mapping[str, Diagnostic]


def read(found: FileSet) -> Result[Job]:
    """The Job of files that run together.

    Returns:
        The Job, with errors where the simulator runs something else than the files say. Axes and groups have our names
        where a manifest of ours says them and the files agree; otherwise axes are `dim0`, `dim1`, ..., groups are the
        group file's, and messages go along `rank`. Without a Job: AS700 to AS709, AS714, AS715, AS720.
    """
    return job_of(lambda: of_set(found))


def of_arguments(arguments: Sequence[str]) -> Result[Job]:
    """The Job of the files that ASTRA-sim's own options name, as of `read`."""
    return job_of(lambda: of_options(arguments, Path()))


def job_of(locate: Callable[[], Files]) -> Result[Job]:
    """The Job of files by their roles, as of `read`; what `locate` raises as Diagnosed stands in its way."""
    try:
        reading = examine(locate())
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    return Result(None if reading.unmodelled else reading.job, (*reading.diagnostics, *reading.unmodelled.values()))


def examine(files: Files, dimensions: tuple[Dimension, ...] | None = None) -> Reading:
    """All that can be known of a bundle; traces are read when everything else is right.

    Args:
        files: by their roles.
        dimensions: of the network, where another backend's file says them; that file is not read then.
    """
    reader = _Reader(files)
    machine, groups = reader.machine(dimensions), None
    if machine is not None:
        groups = reader.groups(machine)
    job = None if machine is None or groups is None else reader.job(machine, groups)
    return Reading(
        files,
        reader.trees,
        machine,
        groups,
        job,
        tuple(reader.found),
        tuple(reader.remarks),
        reader.unmodelled,
    )


@dataclass
class _Reader:
    """Reads file after file and collects what is wrong; one per call of `examine`."""

    files: Files
    trees: dict[str, Tree] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)
    remarks: list[Diagnostic] = field(default_factory=list)
    unmodelled: dict[str, Diagnostic] = field(default_factory=dict)

    def machine(self, dimensions: tuple[Dimension, ...] | None) -> Machine | None:
        """From the network, system and memory files."""
        network = self._tree("network", yaml_tree) if dimensions is None else None
        system = self._tree("system", json_tree)
        memory = self._tree("memory", json_tree)
        if network is not None:
            dimensions = self._take(read_network(network))
        if system is not None:
            self.unmodelled |= unmodelled(system)
        if self.files.rendezvous:
            option = "--rendezvous-protocol"
            self.unmodelled[option] = diagnostic("AS715", f"`{option}` is not modelled")
        remote = None if memory is None else self._take(read_memory(memory))
        broken = bool(self.found)
        machine = None if system is None else self._take(read_machine(dimensions, system, remote, self.files.queues))
        if machine is None or broken:
            return None
        delay = machine.endpoint_delay
        return replace(machine, endpoint_delay=None if delay is None else int(delay * self.files.injection_scale))

    def groups(self, machine: Machine) -> dict[int, ListedGroup] | None:
        """From the group file; no file is no groups."""
        if self.files.groups is None:
            return {}
        tree = self._tree("groups", json_tree)
        return None if tree is None else self._take(read_groups(tree, machine.npus))

    def job(self, machine: Machine, groups: dict[int, ListedGroup]) -> Job | None:
        """From the traces: by our names where a manifest has them and nobody has edited a trace since."""
        names = self.files.names(machine)
        if names is not None:
            traces = load.traces(self.files, machine, groups, names)
            programs = traces.result.value
            job = None if programs is None else assemble_named(names, programs)
            if job is not None:
                self.remarks += traces.remarks
                return job
        traces = load.traces(self.files, machine, groups, None)
        self.remarks += traces.remarks
        programs = self._take(traces.result)
        return None if programs is None else assemble(self.files.workload.name, machine, programs)

    def _tree(self, role: str, parse: Callable[[Source], Tree]) -> Tree | None:
        path = getattr(self.files, role)
        if path is None:
            return None
        try:
            self.trees[role] = parse(KINDS[role].text(path, self.files.inside))
        except Diagnosed as stop:
            self.found.append(stop.diagnostic)
        return self.trees.get(role)

    def _take(self, result: Result[T]) -> T | None:
        self.found += result.diagnostics
        return result.value
