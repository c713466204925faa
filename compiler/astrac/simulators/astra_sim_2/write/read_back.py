"""Reading what is to be written: every text, and one trace of every program, must say what the Job says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeVar

from astrac.diagnostics import Diagnosed, diagnostic, has_errors
from astrac.job import AxisGroup, Collective, ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2 import groups, keys
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.simulators.astra_sim_2.read.documents import read_groups, read_machine, read_memory, read_network
from astrac.simulators.trees import json_tree, yaml_tree
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.bundle import Artifact
    from astrac.diagnostics import Result
    from astrac.job import Job, Op

T = TypeVar("T")


def read_back(job: Job, texts: Mapping[str, str], numbering: groups.Numbering, traces: tuple[Artifact, ...]) -> None:
    """Raise AS910 or AS911 when the files do not describe the Job.

    Args:
        job: what they must say.
        texts: by name of `keys`.
        numbering: of the Job's groups.
        traces: of all ranks.
    """
    network = _accepted(keys.NETWORK, read_network(yaml_tree(Source(keys.NETWORK, texts[keys.NETWORK]))))
    system, memory = (json_tree(Source(name, texts[name])) for name in (keys.SYSTEM, keys.MEMORY))
    remote = _accepted(keys.MEMORY, read_memory(memory))
    machine = _accepted(keys.SYSTEM, read_machine(network, system, remote, job.machine.queues))
    if machine != job.machine:
        _differs(f"{keys.NETWORK}, {keys.SYSTEM} or {keys.MEMORY}")
    listed: dict[int, ListedGroup] = {}
    if keys.GROUPS in texts:
        listed = _accepted(keys.GROUPS, read_groups(json_tree(Source(keys.GROUPS, texts[keys.GROUPS])), machine.npus))
    if {group.members: number for number, group in listed.items()} != numbering.ids:
        _differs(keys.GROUPS)
    _read_traces(job, listed, numbering, traces)


def _accepted(name: str, result: Result[T]) -> T:
    if result.value is None or has_errors(result.diagnostics):
        message = result.diagnostics[0].message
        raise Diagnosed(diagnostic("AS911", f"`{name}`: {message}"))
    return result.value


def _differs(what: str) -> NoReturn:
    raise Diagnosed(diagnostic("AS910", f"`{what}` does not read back as it was meant"))


def _read_traces(
    job: Job, listed: dict[int, ListedGroup], numbering: groups.Numbering, traces: tuple[Artifact, ...]
) -> None:
    """One trace of each program; all others are made of the same pieces."""
    of_rank = {rank: artifact for artifact in traces for rank in artifact.ranks}
    first = {members.program: next(job.ranks(members)) for members in reversed(job.classes)}
    for program, rank in first.items():
        artifact = of_rank[rank]
        decoder = Decoder(job.machine, listed)  # one each: what it remembers is as large as the trace
        trace = _accepted(artifact.path, decoder.trace(b"".join(artifact.contents()), rank, Source(artifact.path)))
        found = trace.program.ops
        meant = job.programs[program].ops
        if len(found) != len(meant):
            _differs(artifact.path)
        for op, back in zip(meant, found, strict=True):
            if not _agrees(op, back, rank, job, numbering):
                _differs(f"{artifact.path}`, node `{op.id}")


def _agrees(op: Op, back: Op, rank: int, job: Job, numbering: groups.Numbering) -> bool:
    """Whether an op as others read it is the op: peers and groups may have other names there."""
    if isinstance(op, Send | Receive):
        if not isinstance(back, Send | Receive):
            return False
        peers = [job.axis(message.axis).peer(rank, message.offset) for message in (op, back)]
        return peers[0] == peers[1] and replace(back, axis=op.axis, offset=op.offset) == op
    if isinstance(op, Collective):
        if not isinstance(back, Collective):
            return False
        number = numbering.id(op.group, rank)
        same = (
            isinstance(back.group, ListedGroup) and back.group.id == number
            if number is not None
            else isinstance(back.group, AxisGroup)
            and isinstance(op.group, AxisGroup)
            and back.group.dimensions == op.group.dimensions
        )
        return same and replace(back, group=op.group) == op
    return back == op
