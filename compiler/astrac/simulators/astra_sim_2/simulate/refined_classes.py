"""Which ranks act alike, told by color refinement (1-WL, the Weisfeiler-Leman test) of the ranks themselves.

For Jobs that name single ranks (a foreign bundle). Ranks are colored by what their Program does, then told apart by
the colors of those they send to, receive from and meet, until nothing changes.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from astrac.job import IMPLEMENTED, Box, Collective, Compute, ListedGroup, Load, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.collectives import communicator, schedule_of_node
from astrac.simulators.astra_sim_2.simulate.members import span, taking_part
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.rank_classes import CommunicatorGroup, Origin, RankClasses, Representative
from astrac.simulators.astra_sim_2.simulate.simulation import TAGS
from astrac.simulators.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from astrac.job import Job, Op, Program
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network

ROUNDS = 40
"""Rounds of refinement before all ranks are told apart."""
FULL_COST = 64
"""Members up to which all links of a listed group are compared; larger groups are alike only when identical."""


class RefinedClasses(RankClasses):
    """The classes of any Job. Keys are colors."""

    def __init__(self, job: Job, network: Network) -> None:
        super().__init__(job, network)
        self._programs = job.program_of
        self._groups = _Groups(job, network)
        self._nodes: dict[int, dict[int, Op]] = {}
        self._first: dict[int, int] = {}
        talks = [_distinct(program, Send, Receive) for program in job.programs]
        meets = [_distinct(program, Collective) for program in job.programs]
        likes = _numbered([_likeness(*parts) for parts in zip(job.programs, talks, meets, strict=True)])
        self._receivers = [self._first_receivers(rank) for rank in range(len(self._programs))]
        self._peers = [self._peers_of(rank, talks[of]) for rank, of in enumerate(self._programs)]
        self._meets = [
            tuple(self._groups.number(rank, op) for op in meets[of].values()) for rank, of in enumerate(self._programs)
        ]
        marks = [
            (
                likes[of],
                tuple(network.link(rank, there) for there in self._peers[rank]),
                tuple(self._channel(rank, op) for op in job.programs[of].ops if isinstance(op, Send)),
                tuple(self._groups.marks[at] for at in self._meets[rank]),
            )
            for rank, of in enumerate(self._programs)
        ]
        self._colors = self._refined(_numbered(marks))

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

    def _channel(self, rank: int, op: Send | Receive) -> int | None:
        """The first node that receives a message of a rank's node."""
        there = self._job.axis(op.axis).peer(rank, op.offset)
        source, destination = (rank, there) if isinstance(op, Send) else (there, rank)
        return self._receivers[destination].get((source, op.tag % TAGS, op.bytes))

    # Colors.

    def _refined(self, colors: list[int]) -> list[int]:
        """Until nothing changes. What takes many rounds, along a line of ranks, would end with all apart: be it so."""
        for _ in range(ROUNDS):
            patterns = []
            for group in self._groups.ranks:
                seen = tuple(colors[member] for member in group)
                patterns.append((seen[0], len(seen)) if len(set(seen)) == 1 else seen)
            numbered = _numbered(patterns)
            finer = _numbered(
                [
                    (color, tuple(colors[there] for there in peers), tuple(numbered[at] for at in meets))
                    for color, peers, meets in zip(colors, self._peers, self._meets, strict=True)
                ]
            )
            if max(finer) == max(colors):
                return finer
            colors = finer
        return list(range(len(colors)))

    # The classes.

    def representatives(self) -> list[Representative]:
        """See `RankClasses`."""
        first: dict[int, int] = {}
        for rank, color in enumerate(self._colors):
            first.setdefault(color, rank)
        self._first = first
        return [Representative(color, self._programs[rank], rank) for color, rank in first.items()]

    def peer(self, key: int, op: Send | Receive) -> tuple[int, Link]:
        """See `RankClasses`."""
        rank = self._first[key]
        there = self._job.axis(op.axis).peer(rank, op.offset)
        return self._colors[there], self._network.link(rank, there)

    def channel(self, key: int, op: Send | Receive, program: int) -> int | None:
        """See `RankClasses`."""
        del program
        return self._channel(self._first[key], op)

    def own(self, rank: int, op: Collective) -> Collective:
        """See `RankClasses`."""
        program = self._programs[rank]
        if program not in self._nodes:
            self._nodes[program] = {node.id: node for node in self._job.programs[program].ops}
        own = self._nodes[program][op.id]
        assert isinstance(own, Collective)
        return own

    def name(self, rank: int, op: Collective) -> Hashable:
        """See `RankClasses`."""
        return self.members(op, rank) or op.group

    def group(self, key: int, op: Collective, schedule: CollectiveSchedule) -> CommunicatorGroup:
        """See `RankClasses`."""
        rank = self._first[key]
        ranks = taking_part(self._network, schedule, rank)
        last = max(ranks)
        if rank not in ranks:
            reason = f"collective {op.id} is issued by rank {rank}, which is not in its group: the simulator aborts"
            raise Broken(reason, rank=rank)
        if len(set(ranks)) < len(ranks):
            reason = f"the group of collective {op.id} names a rank twice: some ranks never finish"
            raise Broken(reason, Outcome.HANG)
        if last >= len(self._colors):
            reason = f"the group of collective {op.id} names rank {last}, which does not exist: the simulator aborts"
            raise Broken(reason, rank=last)
        members = [(self._colors[member], member) for member in ranks]
        return CommunicatorGroup(tuple(dict.fromkeys(color for color, _ in members)), iter(members))

    def refine(
        self, meeting: dict[int, Collective], schedule: CollectiveSchedule, ends: Sequence[int]
    ) -> dict[int, Origin]:
        """See `RankClasses`: colors are told apart by the ends of their ranks, and whom that tells apart in turn."""
        old = self._colors
        places = [
            self._index(rank, meeting[color], schedule) if color in meeting else -1 for rank, color in enumerate(old)
        ]
        marks = [(color, None if at < 0 else ends[at]) for color, at in zip(old, places, strict=True)]
        self._colors = self._refined(_numbered(marks))
        return {whom.key: Origin(old[whom.rank], places[whom.rank]) for whom in self.representatives()}

    def _index(self, rank: int, op: Collective, schedule: CollectiveSchedule) -> int:
        """A rank's place in the group of its own node."""
        listed = schedule.listed
        return (self.members(op, rank) if listed else taking_part(self._network, schedule, rank)).index(rank)

    def scatter(self) -> dict[int, Origin]:
        """See `RankClasses`."""
        old = self._colors
        self._colors = list(range(len(old)))
        self.representatives()
        return {rank: Origin(color, -1) for rank, color in enumerate(old)}

    def boxes(self, key: int) -> tuple[Box, ...]:
        """See `RankClasses`."""
        return tuple(Box.of(self._job.axes, rank) for rank, color in enumerate(self._colors) if color == key)


class _Groups:
    """The groups of ranks that exchange messages in collectives, numbered.

    Attributes:
        ranks: of each group.
        marks: what must be equal for two groups to be alike: the links within them as far as the algorithm uses them,
            and which of several ids of the same ranks it is.
    """

    def __init__(self, job: Job, network: Network) -> None:
        self.ranks: list[tuple[int, ...]] = []
        self.marks: list[Hashable] = []
        self._job = job
        self._network = network
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[Hashable, int | None] = {}
        self._schedules: dict[Hashable, CollectiveSchedule] = {}
        self._ids: dict[tuple[int, ...], list[int]] = {}

    def number(self, rank: int, op: Collective) -> int:
        """The number of a rank's group; the rank alone when the simulator would not get as far as to use it."""
        found = self._among(rank, op) if op.kind in IMPLEMENTED else None
        return self._interned((rank,), ()) if found is None or rank not in self._sets[found] else found

    def _among(self, rank: int, op: Collective) -> int | None:
        leader = communicator(self._job, op.group, rank)[:1]
        key: tuple[Hashable, ...] = (op.kind, op.bytes, op.group, leader)
        try:
            if key not in self._schedules:
                self._schedules[key] = schedule_of_node(self._job, self._network, op, rank)
        except Broken:
            return None
        schedule = self._schedules[key]
        if not schedule.listed:
            digits = span(self._network, schedule)
            key = (*key, rank - sum(rank // stride % size * stride for stride, size in digits))
        if key not in self._known:
            ranks = taking_part(self._network, schedule, rank)
            whole = all(0 <= member < self._network.npus for member in ranks)
            self._known[key] = self._interned(ranks, self._mark(schedule, op)) if whole else None
        return self._known[key]

    def _interned(self, ranks: tuple[int, ...], mark: Hashable) -> int:
        number = self._numbers.setdefault((ranks, mark), len(self.ranks))
        if number == len(self.ranks):
            self.ranks.append(ranks)
            self._sets.append(frozenset(ranks))
            self.marks.append(mark)
        return number

    def _mark(self, schedule: CollectiveSchedule, op: Collective) -> Hashable:
        ranks = schedule.phases[0].ring.members
        if not ranks:
            return ()
        ids = self._ids.setdefault(ranks, [])
        if isinstance(op.group, ListedGroup) and op.group.id not in ids:
            ids.append(op.group.id)
        which = ids.index(op.group.id) if isinstance(op.group, ListedGroup) else -1
        link = self._network.link
        if schedule.phases[0].algorithm.neighbours_only:
            return which, tuple(link(rank, ranks[at - 1]) for at, rank in enumerate(ranks))
        if len(ranks) > FULL_COST:
            return which, ranks
        return which, tuple(link(one, other) for one in ranks for other in ranks if one != other)


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
            op.group.dimensions if isinstance(op, Collective) else None,
        )
        for op in program.ops
    )
