"""Every file of a bundle, read as far as it goes: one broken file does not hide what is wrong with the others.

Of traces a file with many names is read once; one trace can be read by itself, without the machine that it is for.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic
from astrac.files import content
from astrac.job import IMPLEMENTED, Box, Collective, Dimension, Job, ListedGroup, Machine, RankClass, RemoteMemory
from astrac.simulators.astra_sim_2 import chakra
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read import documents
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.simulators.astra_sim_2.read.files import of_options, of_set
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from astrac.job import Axis, Kind, Program
    from astrac.positioned import Tree
    from astrac.simulators.astra_sim_2.groups import Names
    from astrac.simulators.astra_sim_2.read.decode import Trace
    from astrac.simulators.astra_sim_2.read.files import Files
    from astrac.simulators.rows import FileSet

T = TypeVar("T")

MAX_RANKS = 1 << 20
MAX_FINDINGS = 10
"""A folder of a thousand broken traces is told about by its first ones."""

MANY = 1 << 31
"""NPUs, when nobody says how many: every peer that an id can name is one of them."""


@dataclass(frozen=True)
class Reading:
    """What the files of a bundle say.

    Attributes:
        files: by their roles.
        trees: role -> the document, where it is one.
        machine, job: as far as errors allow them; the Job of a bundle with `unmodelled` parts is one without.
        sound: whether no node of the Job stands for one that cannot be read.
        diagnostics: errors in the files.
        remarks: advice about nodes of the traces.
        unmodelled: by key or option, what ASTRA-sim would do and the Job does not say: AS715, or AS790 where no rank
            would finish.
    """

    files: Files
    trees: Mapping[str, Tree]
    machine: Machine | None
    job: Job | None
    diagnostics: tuple[Diagnostic, ...]
    remarks: tuple[Diagnostic, ...]
    unmodelled: Mapping[str, Diagnostic]
    sound: bool = True


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
    job = reading.job if reading.sound and not reading.unmodelled else None
    return Result(job, (*reading.diagnostics, *reading.unmodelled.values()))


def examine(files: Files, dimensions: tuple[Dimension, ...] | None = None) -> Reading:
    """All that can be known of a bundle, or of some of its files; traces are read when everything else is right.

    Args:
        files: by their roles.
        dimensions: of the network, where another backend's file says them; that file is not read then.
    """
    found: list[Diagnostic] = []
    trees: dict[str, Tree] = {}
    for role in ("system", "memory") if dimensions is not None else ("network", "system", "memory"):
        _parse(files, role, trees, found)
    if "network" in trees:
        dimensions = _take(documents.read_network(trees["network"]), found)
    unmodelled = documents.unmodelled(trees["system"]) if "system" in trees else {}
    if files.rendezvous:
        option = "--rendezvous-protocol"
        unmodelled[option] = diagnostic("AS715", f"`{option}` is not modelled")
    remote = _take(documents.read_memory(trees["memory"]), found) if "memory" in trees else None
    broken = bool(found)
    machine = None
    if "system" in trees:
        machine = _take(documents.read_machine(dimensions, trees["system"], remote, files.queues), found)
    elif files.system is None and dimensions is not None:
        machine = Machine(dimensions, {}, 1, memory=remote or RemoteMemory())
    groups: dict[int, ListedGroup] | None = {}
    if files.groups is not None and dimensions is not None:
        _parse(files, "groups", trees, found)
        npus = prod(dimension.size for dimension in dimensions)
        groups = _take(documents.read_groups(trees["groups"], npus), found) if "groups" in trees else None
    if machine is None or broken:
        return Reading(files, trees, None, None, tuple(found), (), unmodelled)
    if machine.endpoint_delay is not None:
        machine = replace(machine, endpoint_delay=int(machine.endpoint_delay * files.injection_scale))
    job: Job | None = None
    decoder = Decoder(machine, groups or {})
    if groups is not None and files.workload is not None and files.system is not None:
        job, decoder = _job(files, machine, groups, found)
    sound = not decoder.faults()
    if "system" in trees:
        unmodelled |= _untracked(trees["system"], decoder)
        kinds = issued(job) if job is not None and sound else IMPLEMENTED
        found += documents.short_lists(trees["system"], len(machine.dimensions), kinds)
    return Reading(files, trees, machine, job, tuple(found), decoder.remarks(), unmodelled, sound)


def _untracked(system: Tree, decoder: Decoder) -> dict[str, Diagnostic]:
    """AS790 where ASTRA-sim tracks tensors, which are statistics, and dies of the first node without them."""
    if decoder.untracked is None or not system.value.get(documents.TRACKS):
        return {}
    shown, trace = decoder.untracked
    message = f"`{documents.TRACKS}` looks for `inputs` and `outputs` in every node, and {shown} does not have both"
    note = Label(trace.whole(), "this trace")
    hint = f'write `"{documents.TRACKS}": 0`: it changes no time'
    place = system.at(f"/{documents.TRACKS}")
    return {documents.TRACKS: diagnostic("AS790", message, place, note, hints=(hint,))}


def issued(job: Job) -> frozenset[Kind]:
    """The kinds of collectives that the traces have."""
    return frozenset(op.kind for program in job.programs for op in program.ops if isinstance(op, Collective))


def _parse(files: Files, role: str, trees: dict[str, Tree], found: list[Diagnostic]) -> None:
    """Adds the document of a file to `trees`, or to `found` why it is none; nothing where there is no file."""
    path = getattr(files, role)
    try:
        if path is not None:
            trees[role] = documents.PARSERS[role](KINDS[role].text(path, files.inside))
    except Diagnosed as stop:
        found.append(stop.diagnostic)


def _take(result: Result[T], found: list[Diagnostic]) -> T | None:
    found += result.diagnostics
    return result.value


def _job(
    files: Files, machine: Machine, groups: dict[int, ListedGroup], found: list[Diagnostic]
) -> tuple[Job | None, Decoder]:
    """From the traces, with what read them.

    The Job has our names where a manifest says them and nobody has edited a trace since.
    """
    names = files.names(machine)
    if names is not None:
        result, decoder = read_traces(files, machine, groups, names)
        job = None if result.value is None or result.diagnostics else assemble_named(names, result.value)
        if job is not None:
            return job, decoder
    result, decoder = read_traces(files, machine, groups, None)
    programs = _take(result, found)
    name = "" if files.workload is None else files.workload.name
    return None if programs is None else assemble(name, machine, programs), decoder


# -- traces


def read_traces(
    files: Files, machine: Machine, groups: dict[int, ListedGroup], names: Names | None
) -> tuple[Result[list[Program]], Decoder]:
    """The programs of all ranks, equal ones as one object, and errors; and what has read them."""
    decoder = Decoder(machine, groups, names)
    if machine.npus > MAX_RANKS:
        return Result(None, (diagnostic("AS700", f"{machine.npus} NPUs are more than {MAX_RANKS}"),)), decoder
    known: dict[object, Result[Trace]] = {}
    programs: list[Program] = []
    found: list[Diagnostic] = []
    missing: list[int] = []
    for rank in range(machine.npus):
        try:
            trace = _trace(files, rank, decoder, known)
        except FileNotFoundError:
            missing.append(rank)
            continue
        except Diagnosed as stop:
            trace = Result(None, (stop.diagnostic,))
        if trace.value is not None:
            programs.append(trace.value.program)
        found += trace.diagnostics
        if len(found) >= MAX_FINDINGS:
            break
    if missing:
        path = files.trace(missing[0])
        more = f", and {len(missing) - 1} others" if len(missing) > 1 else ""
        message = f"of {machine.npus} traces `{path.name}` is missing{more}"
        found.insert(0, diagnostic("AS709", message, Source(str(path)).whole()))
    return Result(None if found else programs, (*decoder.faults(), *found)), decoder


def _trace(files: Files, rank: int, decoder: Decoder, known: dict[object, Result[Trace]]) -> Result[Trace]:
    """The trace of a rank; of bytes that were broken before, nothing is told again."""
    path = files.trace(rank)
    status = path.stat()
    inode = (status.st_dev, status.st_ino)
    trace = known.get(inode)
    if trace is None:
        data, _ = content(path, files.inside, KINDS["trace"].limit)
        digest = blake2b(data).digest()
        trace = known.get(digest)
        if trace is not None:
            known[inode] = trace
        else:
            trace = decoder.trace(data, rank, Source(str(path)))
            if trace.value is None or not trace.value.depends:
                known[digest] = known[inode] = Result(trace.value)
    if trace.value is not None:
        decoder.check_members(trace.value, rank, Source(str(path)))
    return trace


def assemble(name: str, machine: Machine, programs: Sequence[Program]) -> Job:
    """The Job of a foreign bundle: an axis a dimension, a class a distinct program.

    Args:
        name: of the traces.
        machine: see there.
        programs: for each rank; equal ones are one object.
    """
    alike: dict[int, list[int]] = {}
    for rank, program in enumerate(programs):
        alike.setdefault(id(program), []).append(rank)
    boxes = (tuple(map(Box, _boxes(tuple(ranks), machine.axes))) for ranks in alike.values())
    classes = tuple(RankClass(number, found) for number, found in enumerate(boxes))
    return Job(name, machine, machine.axes, tuple(programs[ranks[0]] for ranks in alike.values()), classes)


def assemble_named(names: Names, programs: Sequence[Program]) -> Job | None:
    """The Job that a manifest names, None when the traces do not do what it says."""
    job = names.job
    found: dict[int, Program] = {}
    runs = [(rank, members.program) for members in job.classes for rank in job.ranks(members)]
    if sorted(rank for rank, _ in runs) != list(range(len(programs))):
        return None
    differ = any(found.setdefault(number, programs[rank]) is not programs[rank] for rank, number in runs)
    if differ or sorted(found) != list(range(len(found))):
        return None
    return replace(job, programs=tuple(found[number] for number in range(len(found))))


def _boxes(ranks: tuple[int, ...], axes: Sequence[Axis]) -> list[tuple[tuple[int, ...] | None, ...]]:
    """A set of ranks as few disjoint boxes: along each axis, from the outermost, equal slices are one box."""
    if not axes:
        return [()]
    axis = axes[-1]
    slices: dict[int, list[int]] = {}
    for rank in ranks:
        slices.setdefault(rank // axis.stride, []).append(rank % axis.stride)
    alike: dict[tuple[int, ...], list[int]] = {}
    for coordinate, inner in slices.items():
        alike.setdefault(tuple(inner), []).append(coordinate)
    return [
        (*box, None if len(coordinates) == axis.size else tuple(coordinates))
        for inner, coordinates in alike.items()
        for box in _boxes(inner, axes[:-1])
    ]


# -- one trace, without the machine that it is for: what does not need to know how many NPUs there are


def read_single(data: bytes, rank: int | None, source: Source) -> tuple[Job | None, tuple[Diagnostic, ...]]:
    """A Job of one rank, None when the trace is broken, and what is wrong with it.

    Args:
        data: the bytes.
        rank: whose trace it is, None when its name does not tell: then its sends do.
        source: what it is called.
    """
    lengths: Counter[int] = Counter()
    senders: Counter[int] = Counter()
    with suppress(Diagnosed):
        for node in [chakra.parse("Node", message) for message in chakra.messages(data)[1:]]:
            for attribute in [] if node is None else node.attr:
                if attribute.name == "involved_dim":
                    lengths[len(attribute.bool_list.values)] += 1
                elif attribute.name == "comm_src" and node.type == chakra.SEND:
                    senders[attribute.int64_val] += 1
    further = min(16, max(1, _most(lengths))) - 1
    rank = max(0, _most(senders)) if rank is None else rank
    blocks = (Dimension("Switch", MANY, 1.0, 0.0), *[Dimension("Switch", 1, 1.0, 0.0)] * further)
    machine = Machine(blocks, dict.fromkeys(IMPLEMENTED, ("ring",) * len(blocks)), 1)
    decoder = Decoder(machine, _AnyGroup())
    result = decoder.trace(data, rank, source)
    found = (*result.diagnostics, *decoder.faults(), *decoder.remarks())
    if result.value is None:
        return None, found
    here = Box(((rank,), *[(0,)] * further))
    return Job("trace", machine, machine.axes, (result.value.program,), (RankClass(0, (here,)),)), found


def _most(counts: Counter[int]) -> int:
    """What was counted most often, of equals the first."""
    return max(counts, key=counts.__getitem__, default=0)


class _AnyGroup(dict[int, ListedGroup]):
    """A group file that has every group."""

    def get(self, key: int, default: Any = None) -> Any:
        """A group by this id, of two NPUs that nobody asks about."""
        del default
        return ListedGroup(key, (0, 1))
