"""Every file of a bundle, read as far as it goes: one broken file does not hide what is wrong with the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read import documents
from astrac.simulators.astra_sim_2.read.files import of_options, of_set
from astrac.simulators.astra_sim_2.read.traces import assemble, assemble_named, read_traces
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
        machine, job: as far as errors allow them; the Job of a bundle with `unmodelled` parts is one without.
        diagnostics: errors in the files.
        remarks: advice about nodes of the traces.
        unmodelled: AS715 by key or option, what ASTRA-sim would do and the Job does not say.
    """

    files: Files
    trees: Mapping[str, Tree]
    machine: Machine | None
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
    machine = reader.machine(dimensions)
    job = None if machine is None else reader.job(machine)
    return Reading(files, reader.trees, machine, job, tuple(reader.found), tuple(reader.remarks), reader.unmodelled)


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
            dimensions = self._take(documents.read_network(network))
        if system is not None:
            self.unmodelled |= documents.unmodelled(system)
        if self.files.rendezvous:
            option = "--rendezvous-protocol"
            self.unmodelled[option] = diagnostic("AS715", f"`{option}` is not modelled")
        remote = None if memory is None else self._take(documents.read_memory(memory))
        broken = bool(self.found)
        if system is None:
            return None
        machine = self._take(documents.read_machine(dimensions, system, remote, self.files.queues))
        if machine is None or broken or machine.endpoint_delay is None:
            return None if broken else machine
        return replace(machine, endpoint_delay=int(machine.endpoint_delay * self.files.injection_scale))

    def job(self, machine: Machine) -> Job | None:
        """From the group file, where there is one, and the traces.

        It has our names where a manifest says them and nobody has edited a trace since.
        """
        groups: dict[int, ListedGroup] | None = {}
        if self.files.groups is not None:
            tree = self._tree("groups", json_tree)
            groups = None if tree is None else self._take(documents.read_groups(tree, machine.npus))
        if groups is None:
            return None
        names = self.files.names(machine)
        if names is not None:
            result, remarks = read_traces(self.files, machine, groups, names)
            job = None if result.value is None else assemble_named(names, result.value)
            if job is not None:
                self.remarks += remarks
                return job
        result, remarks = read_traces(self.files, machine, groups, None)
        self.remarks += remarks
        programs = self._take(result)
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
