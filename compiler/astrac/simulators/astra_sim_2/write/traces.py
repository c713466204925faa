"""Programs -> traces. A Program is encoded once, with holes where the rank matters; a rank's trace fills them.

Only three things depend on the rank: its number and its peer's in sends and receives, and the ids of its communicator
groups. They are a Node's last attributes, so a hole is plain bytes between two pieces that all ranks share; only the
length that leads the Node depends on what is filled in, and there are few different lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac import varint
from astrac.bundle import Artifact
from astrac.job import Collective, Receive, Send
from astrac.simulators.astra_sim_2 import chakra, groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Group, Job, Program


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
        """The trace, to be joined."""
        pieces = [b""] * (4 * len(self.nodes) + 1)
        pieces[:-1:4] = self.before
        pieces[1::4] = self._lengths_for(tuple(map(len, values)))
        pieces[2::4] = self.nodes
        pieces[3::4] = [values[hole] for hole in self.filled]
        pieces[-1] = self.tail
        return pieces

    def contents(self, values: _Values) -> Iterator[bytes]:
        """Makes the bytes of the trace when it is asked: only one is in memory at a time."""
        yield b"".join(self.pieces(values))

    def _lengths_for(self, sizes: tuple[int, ...]) -> list[bytes]:
        """The length that leads each Node, when the holes' values have these sizes; there are few different sizes."""
        if sizes not in self._lengths:
            nodes = zip(self.nodes, self.filled, strict=True)
            self._lengths[sizes] = [varint.encode(len(node) + sizes[hole]) for node, hole in nodes]
        return self._lengths[sizes]


def artifacts(job: Job, numbering: groups.Numbering, path: str) -> Iterator[Artifact]:
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
