"""Traces of all ranks, a file with many names once."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.files import content
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from astrac.diagnostics import Diagnostic
    from astrac.job import ListedGroup, Machine, Program
    from astrac.simulators.astra_sim_2.names import Names
    from astrac.simulators.astra_sim_2.read.decode import Trace
    from astrac.simulators.astra_sim_2.read.files import Files

MAX_RANKS = 1 << 20
MAX_FINDINGS = 10
"""A folder of a thousand broken traces is told about by its first ones."""


class Traces(NamedTuple):
    """The programs of all ranks, equal ones as one object, or errors; and advice about nodes."""

    result: Result[list[Program]]
    remarks: tuple[Diagnostic, ...]


def traces(files: Files, machine: Machine, groups: dict[int, ListedGroup], names: Names | None) -> Traces:
    """All of them; a file with many names is read once."""
    if machine.npus > MAX_RANKS:
        finding = diagnostic("AS700", f"{machine.npus} NPUs are more than {MAX_RANKS}")
        return Traces(Result(None, (finding,)), ())
    decoder = Decoder(machine, groups, names)
    known: dict[object, Trace | None] = {}
    programs: list[Program] = []
    found: list[Diagnostic] = []
    missing: list[int] = []
    for rank in range(machine.npus):
        path = files.trace(rank)
        try:
            trace = _trace(path, files, rank, decoder, known)
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
        named = files.workload.name
        more = f", and {len(missing) - 1} others" if len(missing) > 1 else ""
        message = f"of {machine.npus} traces `{named}.{missing[0]}.et` is missing{more}"
        place = Source(str(files.trace(missing[0]))).whole()
        found.insert(0, diagnostic("AS709", message, place))
    return Traces(Result(None, tuple(found)) if found else Result(programs), decoder.remarks())


def _trace(path: Path, files: Files, rank: int, decoder: Decoder, known: dict[object, Trace | None]) -> Result[Trace]:
    """The trace of a rank; of bytes that were broken before, nothing is told again."""
    status = path.stat()
    inode = (status.st_dev, status.st_ino)
    trace = known.get(inode)
    if trace is None and inode not in known:
        data, status = content(path, files.inside, KINDS["trace"].limit)
        digest = blake2b(data).digest()
        trace = known.get(digest)
        if trace is None and digest not in known:
            read = decoder.trace(data, rank, Source(str(path)))
            trace = read.value
            if trace is None or not trace.depends:
                known[digest] = known[inode] = trace
            if trace is None:
                return read
        elif trace is None or not trace.depends:
            known[inode] = trace
    if trace is None:
        return Result(None)
    decoder.check_members(trace, rank, Source(str(path)))
    return Result(trace)
