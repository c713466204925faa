"""The traces of all ranks -> a Job, a file with many names read once; and one trace by itself."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.files import content
from astrac.job import IMPLEMENTED, Axis, Box, Dimension, Job, ListedGroup, Machine, RankClass
from astrac.simulators.astra_sim_2 import chakra
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.job import Program
    from astrac.simulators.astra_sim_2.groups import Names
    from astrac.simulators.astra_sim_2.read.decode import Trace
    from astrac.simulators.astra_sim_2.read.files import Files

MAX_RANKS = 1 << 20
MAX_FINDINGS = 10
"""A folder of a thousand broken traces is told about by its first ones."""

MANY = 1 << 31
"""NPUs, when nobody says how many: every peer that an id can name is one of them."""


def read_traces(
    files: Files, machine: Machine, groups: dict[int, ListedGroup], names: Names | None
) -> tuple[Result[list[Program]], tuple[Diagnostic, ...]]:
    """The programs of all ranks, equal ones as one object, or errors; and advice about nodes."""
    if machine.npus > MAX_RANKS:
        return Result(None, (diagnostic("AS700", f"{machine.npus} NPUs are more than {MAX_RANKS}"),)), ()
    decoder = Decoder(machine, groups, names)
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
    return Result(None, tuple(found)) if found else Result(programs), decoder.remarks()


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
    sizes = [dimension.size for dimension in machine.dimensions]
    strides = accumulate(sizes, mul, initial=1)
    axes = tuple(Axis(f"dim{at}", stride, size) for at, (stride, size) in enumerate(zip(strides, sizes, strict=False)))
    alike: dict[int, list[int]] = {}
    for rank, program in enumerate(programs):
        alike.setdefault(id(program), []).append(rank)
    classes = tuple(
        RankClass(at, tuple(map(Box, _boxes(tuple(ranks), axes)))) for at, ranks in enumerate(alike.values())
    )
    return Job(name, machine, axes, tuple(programs[ranks[0]] for ranks in alike.values()), classes)


def assemble_named(names: Names, programs: Sequence[Program]) -> Job | None:
    """The Job that a manifest names, None when the traces do not do what it says."""
    job = names.job
    found: dict[int, Program] = {}
    seen: set[int] = set()
    for members in job.classes:
        for rank in job.ranks(members):
            if (
                rank >= len(programs)
                or rank in seen
                or found.setdefault(members.program, programs[rank]) is not programs[rank]
            ):
                return None
            seen.add(rank)
    if len(seen) != len(programs) or sorted(found) != list(range(len(found))):
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
    found = (*result.diagnostics, *decoder.remarks())
    if result.value is None:
        return None, found
    axes = (Axis("dim0", 1, MANY), *(Axis(f"dim{at}", MANY, 1) for at in range(1, len(blocks))))
    here = Box(((rank,), *[(0,)] * further))
    return Job("trace", machine, axes, (result.value.program,), (RankClass(0, (here,)),)), found


def _most(counts: Counter[int]) -> int:
    """What was counted most often, of equals the first."""
    return max(counts, key=counts.__getitem__, default=0)


class _AnyGroup(dict[int, ListedGroup]):
    """A group file that has every group."""

    def get(self, key: int, default: Any = None) -> Any:
        """A group by this id, of two NPUs that nobody asks about."""
        del default
        return ListedGroup(key, (0, 1))
