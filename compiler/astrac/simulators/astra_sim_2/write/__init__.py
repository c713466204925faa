"""Job -> the files of a 2.x bundle, read back before they are written: they must say what the Job says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeVar

from astrac.bundle import json_text, text_artifact
from astrac.diagnostics import Diagnosed, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Collective, ListedGroup, Receive, Send
from astrac.simulators import templates
from astrac.simulators.astra_sim_2 import groups, keys
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.simulators.astra_sim_2.read.documents import read_groups, read_machine, read_memory, read_network
from astrac.simulators.astra_sim_2.write import traces
from astrac.simulators.trees import json_tree, yaml_tree
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.bundle import Artifact
    from astrac.diagnostics import Result
    from astrac.job import Job, Machine, Op, RemoteMemory

T = TypeVar("T")

_FOLDER = "astra_sim_2"
"""Of the templates."""


def write(job: Job, cycles: int | None) -> tuple[Artifact, ...]:
    """network.yml, system.json, memory.json, comm_groups.json where there are groups, the traces, run.sh.

    Raises:
        Diagnosed: AS703, AS910, AS911.
    """
    files = {
        keys.NETWORK: render_network(job.machine),
        keys.SYSTEM: render_system(job.machine),
        keys.MEMORY: render_memory(job.machine.memory),
    }
    numbering = groups.number(job)
    if numbering.ids:
        in_order = sorted(numbering.ids.items(), key=lambda item: item[1])
        files[keys.GROUPS] = json_text({str(number): members for members, number in in_order})
    path = f"{keys.WORKLOAD}/{trace_name(job)}.{{rank}}.et"
    of_ranks = tuple(traces.artifacts(job, numbering, path))
    _read_back(job, files, numbering, of_ranks)
    script = templates.render(_FOLDER, "run.sh", npus=job.machine.npus, arguments=command(job), cycles=cycles)
    return (
        *(text_artifact(name, text) for name, text in files.items()),
        *of_ranks,
        text_artifact(keys.SCRIPT, script, executable=True),
    )


def command(job: Job) -> tuple[str, ...]:
    """The simulator's arguments, relative to the folder: a path with `empty` in it would lose the groups."""
    files = {
        "workload": f"{keys.WORKLOAD}/{trace_name(job)}",
        "groups": keys.GROUPS if groups.number(job).ids else None,
        "system": keys.SYSTEM,
        "memory": keys.MEMORY,
        "network": keys.NETWORK,
        "queues": str(job.machine.queues) if job.machine.queues != 1 else None,
    }
    return tuple(f"{keys.OPTIONS[option]}={value}" for option, value in files.items() if value is not None)


def trace_name(job: Job) -> str:
    """What the traces are called: the Job's name where a shell and a path can hold it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", job.name).lstrip(".-") or "trace"


# -- texts


def render_network(machine: Machine) -> str:
    """The text of network.yml: one entry a dimension in each list, innermost first."""
    return templates.render(_FOLDER, "network.yml", npus=machine.npus, dimensions=machine.dimensions)


def render_system(machine: Machine) -> str:
    """system.json: switches as 0 and 1 (`false` would switch them on), lists with a word for every dimension."""
    scalars = {key: _number(getattr(machine, attribute)) for key, attribute in keys.SYSTEM_KEYS.items()}
    lists = {
        keys.IMPLEMENTATION_KEYS[kind]: machine.algorithms[kind] for kind in IMPLEMENTED if kind in machine.algorithms
    }
    return json_text({key: value for key, value in (scalars | lists).items() if value is not None})


def render_memory(memory: RemoteMemory) -> str:
    """memory.json; only the keys that its type makes the simulator read."""
    wanted = keys.memory_attributes(memory.type)
    values = {key: getattr(memory, attribute) for key, attribute in keys.MEMORY_KEYS.items() if attribute in wanted}
    return json_text(values | {"memory-type": memory.type.value})


def _number(value: str | float | None) -> str | float | None:
    """Switches become 0 and 1, whole doubles lose their fraction; the simulator reads the same number."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


# -- reading back


def _read_back(job: Job, texts: Mapping[str, str], numbering: groups.Numbering, traces: tuple[Artifact, ...]) -> None:
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
    # One trace of each program: all others are made of the same pieces.
    of_rank = {rank: artifact for artifact in traces for rank in artifact.ranks}
    first = {members.program: next(job.ranks(members)) for members in reversed(job.classes)}
    for program, rank in first.items():
        artifact = of_rank[rank]
        decoder = Decoder(job.machine, listed)  # one each: what it remembers is as large as the trace
        trace = _accepted(artifact.path, decoder.trace(b"".join(artifact.contents()), rank, Source(artifact.path)))
        found, meant = trace.program.ops, job.programs[program].ops
        if len(found) != len(meant):
            _differs(artifact.path)
        for op, back in zip(meant, found, strict=True):
            if _foreign(op, rank, job, numbering, listed) != back:
                _differs(f"{artifact.path}`, node `{op.id}")


def _accepted(name: str, result: Result[T]) -> T:
    if result.value is None or has_errors(result.diagnostics):
        raise Diagnosed(diagnostic("AS911", f"`{name}`: {result.diagnostics[0].message}"))
    return result.value


def _differs(what: str) -> NoReturn:
    raise Diagnosed(diagnostic("AS910", f"`{what}` does not read back as it was meant"))


def _foreign(op: Op, rank: int, job: Job, numbering: groups.Numbering, listed: Mapping[int, ListedGroup]) -> Op:
    """An op as the trace of a rank says it to readers that do not know our names."""
    if isinstance(op, Send | Receive):
        peer = job.axis(op.axis).peer(rank, op.offset)
        return replace(op, axis="rank", offset=job.axis("rank").offset(peer - rank))
    if isinstance(op, Collective):
        involved = op.group.dimensions
        number = numbering.id(op.group, rank)
        return replace(op, group=listed[number or 0] if involved is None else groups.by_dimensions(involved))
    return op
