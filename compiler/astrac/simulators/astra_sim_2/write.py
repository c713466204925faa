"""Job -> the files of a 2.x bundle, read back before they are written: they must say what the Job says.

A Program is encoded once, with holes where the rank matters; a rank's trace fills them. Only three things depend on the
rank: its number and its peer's in sends and receives, and the ids of its communicator groups. They are a Node's last
attributes, so a hole is plain bytes between two pieces that all ranks share; only the length that leads the Node
depends on what is filled in, and there are few different lengths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias, TypeVar

from astrac import varint
from astrac.bundle import Artifact, json_text, text_artifact
from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Collective, ListedGroup, Receive, Send
from astrac.simulators import texts
from astrac.simulators.astra_sim_2 import chakra, groups, keys
from astrac.simulators.astra_sim_2.read.decode import Decoder
from astrac.simulators.astra_sim_2.read.documents import (
    read_groups,
    read_machine,
    read_memory,
    read_network,
    short_lists,
)
from astrac.simulators.astra_sim_2.simulate import BACKENDS
from astrac.simulators.texts import json_tree, yaml_tree
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.job import Group, Job, Machine, Op, Program, RemoteMemory

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
    of_ranks = tuple(_traces(job, numbering, path))
    _read_back(job, files, numbering, of_ranks)
    script = texts.render(
        "simulators",
        "run.sh",
        simulator="ASTRA-sim 2.x",
        variable="ASTRA_SIM",
        backend=job.backend,
        others=[other for other in BACKENDS if job.backend not in (None, other)],
        arguments=command(job),
        output="log",
        finished=r"sys\[[0-9]+\] finished, [0-9]+",
        expected=job.machine.npus,
        unit="ranks",
        cause=": AS807 says where it does",
        cycles=cycles,
    )
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


def render_network(machine: Machine) -> str:
    """The text of network.yml: one entry a dimension in each list, innermost first."""
    return texts.render(_FOLDER, "network.yml", npus=machine.npus, dimensions=machine.dimensions)


def render_system(machine: Machine) -> str:
    """system.json: switches as 0 and 1 (`false` would switch them on), lists with a word for every dimension."""
    scalars = {key: getattr(machine, attribute) for key, attribute in keys.SYSTEM_KEYS.items()}
    # Whole doubles lose their fraction; the simulator reads the same number.
    whole = {key: int(value) for key, value in scalars.items() if isinstance(value, float | bool) and value % 1 == 0}
    lists = {
        keys.IMPLEMENTATION_KEYS[kind]: machine.algorithms[kind] for kind in IMPLEMENTED if kind in machine.algorithms
    }
    return json_text({key: value for key, value in (scalars | whole | lists).items() if value is not None})


def render_memory(memory: RemoteMemory) -> str:
    """memory.json; only the keys that its type makes the simulator read."""
    wanted = keys.memory_attributes(memory.type)
    values = {key: getattr(memory, attribute) for key, attribute in keys.MEMORY_KEYS.items() if attribute in wanted}
    return json_text(values | {"memory-type": memory.type.value})


# -- traces


class _Peer(NamedTuple):
    """A hole for both ends of a message."""

    axis: str
    offset: int
    send: bool


_Hole: TypeAlias = "_Peer | Group"
_Values: TypeAlias = "tuple[bytes, ...]"


@dataclass(frozen=True)
class _Template:
    """An encoded Program: before[0], length, nodes[0], a value, before[1], length, nodes[1], a value, ..., tail.

    Attributes:
        before: the finished bytes before each Node with a hole.
        nodes: the bytes of that Node up to its hole.
        filled: which of `holes` it has.
        tail: the finished bytes after the last hole.
        holes: the distinct ones.
    """

    before: tuple[bytes, ...]
    nodes: tuple[bytes, ...]
    filled: tuple[int, ...]
    tail: bytes
    holes: tuple[_Hole, ...]
    _lengths: dict[tuple[int, ...], list[bytes]] = field(default_factory=dict, compare=False)

    def pieces(self, values: _Values) -> list[bytes]:
        """The trace, to be joined; there are few different lengths of values, so those that lead Nodes are kept."""
        sizes = tuple(map(len, values))
        lengths = self._lengths.get(sizes)
        if lengths is None:
            nodes = zip(self.nodes, self.filled, strict=True)
            lengths = self._lengths[sizes] = [varint.encode(len(node) + sizes[hole]) for node, hole in nodes]
        pieces = [b""] * (4 * len(self.nodes) + 1)
        pieces[:-1:4] = self.before
        pieces[1::4] = lengths
        pieces[2::4] = self.nodes
        pieces[3::4] = [values[hole] for hole in self.filled]
        pieces[-1] = self.tail
        return pieces

    def contents(self, values: _Values) -> Iterator[bytes]:
        """Makes the bytes of the trace when it is asked: only one is in memory at a time."""
        yield b"".join(self.pieces(values))


def _traces(job: Job, numbering: groups.Numbering, path: str) -> Iterator[Artifact]:
    """The traces of all ranks, ordered by their lowest rank; ranks with equal bytes share an artifact.

    Args:
        job: its programs and classes.
        numbering: of its groups.
        path: with `{rank}` in it.
    """
    shares: dict[tuple[int, _Values], list[int]] = {}
    templates = [_encode(program, len(job.machine.dimensions)) for program in job.programs]
    for members in job.classes:
        template = templates[members.program]
        for rank in job.ranks(members):
            values = tuple(_fill(hole, rank, job, numbering) for hole in template.holes)
            shares.setdefault((members.program, values), []).append(rank)
    for (program, values), ranks in sorted(shares.items(), key=lambda share: min(share[1])):
        yield Artifact(
            path=path,
            ranks=tuple(sorted(ranks)),
            size=sum(map(len, templates[program].pieces(values))),
            contents=partial(templates[program].contents, values),
        )


def _encode(program: Program, dimensions: int) -> _Template:
    finished = bytearray(chakra.framed(chakra.metadata()))
    before: list[bytes] = []
    nodes: list[bytes] = []
    filled: list[int] = []
    holes: dict[_Hole, int] = {}
    for op in program.ops:
        hole: _Hole | None = None
        involved = None
        if isinstance(op, Send | Receive):
            hole = _Peer(op.axis, op.offset, isinstance(op, Send))
        elif isinstance(op, Collective):
            involved = op.group.dimensions
            if involved is None:
                # Beside a `pg_name`, which then decides alone; never left out, since four would be assumed.
                hole, involved = op.group, (True,) * dimensions
        node = chakra.node(op, involved)
        if hole is None:
            finished += chakra.framed(node)
            continue
        before.append(bytes(finished))
        nodes.append(node)
        filled.append(holes.setdefault(hole, len(holes)))
        finished.clear()
    return _Template(tuple(before), tuple(nodes), tuple(filled), bytes(finished), tuple(holes))


def _fill(hole: _Hole, rank: int, job: Job, numbering: groups.Numbering) -> bytes:
    if isinstance(hole, _Peer):
        peer = job.axis(hole.axis).peer(rank, hole.offset)
        source, destination = (rank, peer) if hole.send else (peer, rank)
        return chakra.attributes({"comm_src": source, "comm_dst": destination})
    return chakra.attributes({"pg_name": str(numbering.id(hole, rank))})


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
    _accepted(keys.SYSTEM, Result(machine, tuple(short_lists(system, len(machine.dimensions)))))
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
