"""ASTRA-SIM-2 section 4, representatives: which ranks act alike, told by colour refinement of the ranks themselves.

For Jobs that name single ranks (a foreign bundle). Ranks are coloured by what their Program does, then told apart by
the colours of those they send to, receive from and meet, until nothing changes.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from astrac.job import IMPLEMENTED, Box, Collective, Compute, ListedGroup, Load, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.cast import TAGS, Assembly, Origin, Role
from astrac.simulators.astra_sim_2.simulate.groups import involved
from astrac.simulators.astra_sim_2.simulate.members import span, taking_part
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.phases import Family, course
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from astrac.job import Job, Op, Program
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course

ROUNDS = 40
"""Of refinement, before all ranks are told apart."""
FULL_COST = 64
"""Members up to which all links of a listed group are compared; larger groups are alike only when identical."""


class Ranks:
    """The cast of any Job. Keys are colours."""

    def __init__(self, job: Job, network: Network) -> None:
        self._job = job
        self._network = network
        self._programs = job.program_of
        self._numbers: dict[tuple[int, ...], int] = {}
        self._shapes: list[Hashable] = []
        self._places: list[frozenset[int]] = []
        self._known: dict[Hashable, int] = {}
        self._ways: dict[Hashable, Course] = {}
        self._nodes: dict[int, dict[int, Op]] = {}
        talks = [_distinct(program, Send, Receive) for program in job.programs]
        meets = [_distinct(program, Collective) for program in job.programs]
        likes = _numbered([_likeness(*parts) for parts in zip(job.programs, talks, meets, strict=True)])
        self._receivers = [self._first_receivers(rank) for rank in range(len(self._programs))]
        self._peers = [self._peers_of(rank, talks[of]) for rank, of in enumerate(self._programs)]
        self._meets = [
            tuple(self._group(rank, op) for op in meets[of].values()) for rank, of in enumerate(self._programs)
        ]
        marks = [
            (
                likes[of],
                self._links(rank),
                tuple(self._channels(rank)),
                tuple(self._shapes[at] for at in self._meets[rank]),
            )
            for rank, of in enumerate(self._programs)
        ]
        self._groups = list(self._numbers)
        self._colours = self._refined(_numbered(marks))
        self._first: dict[int, int] = {}

    # What is true of one rank.

    def _first_receivers(self, rank: int) -> dict[tuple[int, int, int], int]:
        first: dict[tuple[int, int, int], int] = {}
        for op in self._job.programs[self._programs[rank]].ops:
            if isinstance(op, Receive):
                first.setdefault((self._job.axis(op.axis).peer(rank, op.offset), op.tag % TAGS, op.bytes), op.id)
        return first

    def _peers_of(self, rank: int, talks: dict[Hashable, Any]) -> tuple[int, ...]:
        peers = tuple(self._job.axis(op.axis).peer(rank, op.offset) for op in talks.values())
        for there in peers:
            if there == rank or not 0 <= there < len(self._programs):
                reason = f"rank {rank} sends to or receives from rank {there}: the simulator aborts"
                raise Broken(reason, rank=rank)
        return peers

    def _channels(self, rank: int) -> Iterator[int | None]:
        """For each send, the node that receives it: part of what tells ranks apart."""
        for op in self._job.programs[self._programs[rank]].ops:
            if isinstance(op, Send):
                yield self._receivers[self._job.axis(op.axis).peer(rank, op.offset)].get(
                    (rank, op.tag % TAGS, op.bytes)
                )

    def _links(self, rank: int) -> tuple[Link, ...]:
        return tuple(self._network.link(rank, there) for there in self._peers[rank])

    def _group(self, rank: int, op: Collective) -> int:
        """The number of a rank's group; the rank alone when the simulator would not get as far as to use it."""
        try:
            way, first = self._way(rank, op)
        except Broken:
            return self._numbered((rank,), ())
        name = (op.kind, op.bytes, op.group, first)
        if name not in self._known:
            ranks = taking_part(self._network, way, rank)
            shape = self._shape(way) if way.phases[0].circle.listed else ()
            whole = all(0 <= member < len(self._programs) for member in ranks)
            self._known[name] = self._numbered(ranks, shape) if whole else -1
        number = self._known[name]
        return number if number >= 0 and rank in self._places[number] else self._numbered((rank,), ())

    def _numbered(self, ranks: tuple[int, ...], shape: Hashable) -> int:
        number = self._numbers.setdefault(ranks, len(self._numbers))
        if number == len(self._shapes):
            self._shapes.append(shape)
            self._places.append(frozenset(ranks))
        return number

    def _way(self, rank: int, op: Collective) -> tuple[Course, int]:
        """The course of a rank's collective, and the lowest rank of its group, or -1 for a listed one."""
        if op.kind not in IMPLEMENTED:
            raise Broken(f"{op.kind.name} is not implemented")
        dimensions = involved(op.group)
        listed = () if dimensions is not None else self._job.members(op.group, rank)
        name = (op.kind, op.bytes, op.group, listed[:1])
        if name not in self._ways:
            self._ways[name] = course(self._network, op.kind, op.bytes, dimensions or (), listed)
        way = self._ways[name]
        if way.phases[0].circle.listed:
            return way, listed[0]
        return way, rank - sum(rank // stride % size * stride for stride, size in span(self._network, way))

    def _shape(self, way: Course) -> Hashable:
        """The links among the members of a listed group, as far as its algorithm uses them."""
        ranks = way.phases[0].circle.members
        if way.phases[0].algorithm.family is Family.RING:
            return tuple(self._network.link(rank, ranks[at - 1]) for at, rank in enumerate(ranks))
        if len(ranks) > FULL_COST:
            return ranks
        return tuple(self._network.link(one, other) for one in ranks for other in ranks if one != other)

    # Colours.

    def _refined(self, colours: list[int]) -> list[int]:
        """Until nothing changes. What takes many rounds, along a line of ranks, would end with all apart: be it so."""
        for _ in range(ROUNDS):
            patterns = []
            for group in self._groups:
                seen = tuple(colours[member] for member in group)
                patterns.append((seen[0], len(seen)) if len(set(seen)) == 1 else seen)
            numbered = _numbered(patterns)
            finer = _numbered(
                [
                    (colour, tuple(colours[there] for there in peers), tuple(numbered[at] for at in meets))
                    for colour, peers, meets in zip(colours, self._peers, self._meets, strict=True)
                ]
            )
            if max(finer) == max(colours):
                return finer
            colours = finer
        return list(range(len(colours)))

    # The cast.

    def roles(self) -> list[Role]:
        """See `Cast`."""
        first: dict[int, int] = {}
        for rank, colour in enumerate(self._colours):
            first.setdefault(colour, rank)
        self._first = first
        return [Role(colour, self._programs[rank], rank) for colour, rank in first.items()]

    def peer(self, key: int, op: Send | Receive) -> tuple[int, Link]:
        """See `Cast`."""
        rank = self._first[key]
        there = self._job.axis(op.axis).peer(rank, op.offset)
        return self._colours[there], self._network.link(rank, there)

    def channel(self, key: int, op: Send | Receive, program: int) -> int | None:
        """See `Cast`."""
        del program
        rank = self._first[key]
        there = self._job.axis(op.axis).peer(rank, op.offset)
        source, destination = (rank, there) if isinstance(op, Send) else (there, rank)
        return self._receivers[destination].get((source, op.tag % TAGS, op.bytes))

    def members(self, rank: int, op: Collective) -> tuple[int, ...]:
        """See `Cast`; a rank's own node names its group, whoever's node is asked for."""
        if involved(op.group) is not None:
            return ()
        return self._job.members(self._own(rank, op).group, rank)

    def name(self, rank: int, op: Collective) -> Hashable:
        """See `Cast`."""
        return self.members(rank, op) or op.group

    def group(self, rank: int, op: Collective) -> Hashable:
        """See `Cast`."""
        own = self._own(rank, op).group
        return own.id if isinstance(own, ListedGroup) else own

    def _own(self, rank: int, op: Collective) -> Collective:
        """The node of a rank's own Program that is like another's."""
        program = self._programs[rank]
        if program not in self._nodes:
            self._nodes[program] = {node.id: node for node in self._job.programs[program].ops}
        own = self._nodes[program][op.id]
        assert isinstance(own, Collective)
        return own

    def assembly(self, key: int, op: Collective, course: Course) -> Assembly:
        """See `Cast`."""
        rank = self._first[key]
        ranks = taking_part(self._network, course, rank)
        if rank not in ranks:
            reason = f"collective {op.id} is issued by rank {rank}, which is not in its group: the simulator aborts"
            raise Broken(reason, rank=rank)
        if len(set(ranks)) < len(ranks):
            reason = f"the group of collective {op.id} names a rank twice: some ranks never finish"
            raise Broken(reason, Outcome.HANG)
        if max(ranks) >= len(self._colours):
            last = max(ranks)
            reason = f"the group of collective {op.id} names rank {last}, which does not exist: the simulator aborts"
            raise Broken(reason, rank=last)
        return Assembly(
            tuple(dict.fromkeys(self._colours[member] for member in ranks)),
            ((self._colours[member], member) for member in ranks),
        )

    def refine(self, meeting: dict[int, Collective], course: Course, ends: Sequence[int]) -> dict[int, Origin]:
        """See `Cast`: colours are told apart by the ends of their seats, and whom that tells apart in turn."""
        old = self._colours
        seats = [
            self._seat(rank, meeting[colour], course) if colour in meeting else -1 for rank, colour in enumerate(old)
        ]
        marks = [(colour, None if seat < 0 else ends[seat]) for colour, seat in zip(old, seats, strict=True)]
        self._colours = self._refined(_numbered(marks))
        return {role.key: Origin(old[role.rank], seats[role.rank]) for role in self.roles()}

    def _seat(self, rank: int, op: Collective, course: Course) -> int:
        """A rank's place in the group of its own node."""
        listed = course.phases[0].circle.listed
        return (self.members(rank, op) if listed else taking_part(self._network, course, rank)).index(rank)

    def scatter(self) -> dict[int, Origin]:
        """See `Cast`."""
        old = self._colours
        self._colours = list(range(len(old)))
        self.roles()
        return {rank: Origin(colour, -1) for rank, colour in enumerate(old)}

    def boxes(self, key: int) -> tuple[Box, ...]:
        """See `Cast`."""
        return tuple(
            Box(tuple((axis.coordinate(rank),) for axis in self._job.axes))
            for rank, colour in enumerate(self._colours)
            if colour == key
        )


def _numbered(values: Sequence[Any]) -> list[int]:
    """Equal values get equal numbers, from 0 in order of appearance."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _relation(op: Op) -> Hashable:
    """Whom a node talks to or meets, as its Program names them; None for nodes that do neither."""
    if isinstance(op, Send | Receive):
        return op.axis, op.offset
    return (op.group, op.kind, op.bytes) if isinstance(op, Collective) else None


def _distinct(program: Program, *types: type[Op]) -> dict[Hashable, Any]:
    """A node for each relation of the Program, in order of appearance."""
    found: dict[Hashable, Any] = {}
    for op in program.ops:
        if isinstance(op, types):
            found.setdefault(_relation(op), op)
    return found


_NAMELESS = ("name", "axis", "offset", "group")
_SCALARS: dict[type[Op], Callable[[Op], Any]] = {
    node: attrgetter(*(field.name for field in fields(node) if field.name not in _NAMELESS))
    for node in (Compute, Collective, Send, Receive, Load, Store)
}
"""What tells nodes apart but for whom they talk to."""


def _likeness(program: Program, talks: dict[Hashable, Any], meets: dict[Hashable, Any]) -> Hashable:
    """What a Program does, whoever its peers are: they count as the first, the second, ... that it names."""
    order = {relation: number for relations in (talks, meets) for number, relation in enumerate(relations)}
    return tuple(
        (
            type(op),
            _SCALARS[type(op)](op),
            None if isinstance(op, Compute) else order.get(_relation(op)),
            involved(op.group) if isinstance(op, Collective) else None,
        )
        for op in program.ops
    )
