"""What a row of ALGORITHMS says, and what its functions are given: a phase of a collective and what messages cost.

A phase is one algorithm at work on one chunk, on one logical ring. Its members are counted by their index in the ring,
from 0; nothing here knows ranks, links or bandwidths. Sizes are bytes, times whole ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from astrac.job import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Words(NamedTuple):
    """What an algorithm is called: in the language, and in the files of a simulator; None where that has none."""

    language: str
    astra_sim_2: str | None
    astra_sim_1: str | None


class Sizes(Enum):
    """On how many members an algorithm runs."""

    ANY = "on any number"
    HANGS = "on powers of two; on others it never completes, or means nothing"
    CRASHES = "on powers of two; on others the simulator crashes"

    def admit(self, members: int) -> bool:
        """Whether an algorithm runs on so many."""
        return self is Sizes.ANY or members & (members - 1) == 0


class Duration(NamedTuple):
    """How long a phase lasts whose members start together and end together.

    Attributes:
        time: ns.
        tail: ns before the end at which the simulator registered the event that ends it: what decides ties.
        fault: whether the simulator writes to freed memory meanwhile.
    """

    time: int
    tail: int
    fault: bool = False


@dataclass(frozen=True, slots=True)
class LogicalRing:
    """Ranks in the order in which an algorithm counts them.

    Attributes:
        size: how many.
        stride: from one member's rank to the next; for listed members 1, between indices.
        members: ranks in listed order, of a communicator group; () otherwise.
    """

    size: int
    stride: int = 1
    members: tuple[int, ...] = ()

    def index(self, rank: int) -> int:
        """The index of a member."""
        return self.members.index(rank) if self.members else rank // self.stride % self.size

    def rank(self, of: int, index: int) -> int:
        """The member at an index (modulo the size) of the ring that rank `of` is in."""
        if self.members:
            return self.members[index % self.size]
        return of + (index % self.size - self.index(of)) * self.stride

    def ranks(self, of: int) -> tuple[int, ...]:
        """All members of the ring that rank `of` is in, by index."""
        return self.members or tuple(self.rank(of, index) for index in range(self.size))

    @property
    def listed(self) -> bool:
        """Whether it is a communicator group: such a ring is `Local` to the simulator."""
        return bool(self.members)


@dataclass(frozen=True, slots=True)
class Phase:
    """One algorithm at work on one chunk.

    Attributes:
        kind: what it does there; the reduce-scatter of an all-reduce for example.
        algorithm: its row.
        window: sends in flight of a windowed algorithm; None = as many as there are peers.
        ring: among whom.
        level: whose dimension's queue it waits in.
        size: bytes at its start.
        returning: the all-gather half of an all-reduce, which goes round the other way.
    """

    kind: Kind
    algorithm: Algorithm
    window: int | None
    ring: LogicalRing
    level: int
    size: int
    returning: bool = False

    @property
    def final_size(self) -> int:
        """Bytes that the next phase starts with."""
        kind = self.algorithm.runs(self.kind)
        if kind is Kind.REDUCE_SCATTER:
            return self.size // self.ring.size
        return self.size * self.ring.size if kind is Kind.ALL_GATHER else self.size

    @property
    def message(self) -> int:
        """Bytes of a message that carries one member's part: a whole shard of an all-gather, else a fraction."""
        return self.size if self.kind is Kind.ALL_GATHER else self.size // self.ring.size

    @property
    def windowed(self) -> bool:
        """Whether fewer sends are in flight than there are peers."""
        return self.window is not None and self.window < self.ring.size - 1


class Packet:
    """What a member sends and receives in one step, by index in the ring."""

    __slots__ = ("destination", "reduced", "size", "source")

    def __init__(self, destination: int, source: int, size: int, reduced: bool) -> None:
        self.destination = destination
        self.source = source
        self.size = size
        self.reduced = reduced


@dataclass(frozen=True, slots=True)
class MessageSchedule:
    """What one member does in a phase.

    Attributes:
        parallel: packets that it starts with.
        sends: messages in total.
        middle: messages after which an all-reduce by `direct` waits until it has received as many; 0 = no such point.
        packets: a packet for every start and every message received, in that order.
    """

    parallel: int
    sends: int
    middle: int
    packets: Iterator[Packet]


class Costs(Protocol):
    """What the messages of a phase cost on a machine where nothing contends."""

    @property
    def endpoint(self) -> int:
        """Ns at the start of a phase and for each message received."""

    def reduction(self, size: int) -> int:
        """Ns to reduce a message of `size` bytes with what is there."""

    def delay(self, source: int, destination: int, size: int) -> int:
        """Ns of a message from one member to another."""

    def shift(self, distance: int, size: int) -> int | None:
        """Ns of a message to the member `distance` further on; None when that is not the same for all members."""

    def partner(self, offset: int, size: int) -> int | None:
        """Ns of a message to the member whose index differs in the bit `offset`; None as above."""

    def extremes(self, size: int) -> tuple[int, int] | None:
        """Ns of a message between the nearest and the farthest two members; None when members do not look alike."""

    def mirrored(self, schedule: MessageSchedule) -> Duration | None:
        """A schedule that all members follow alike, played on the first of them; None when it never ends."""


class Member(Protocol):
    """What an algorithm needs of the rank that runs it, message by message."""

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        """Calls `done` after the endpoint delay and, unless it is negative, a reduction."""

    def send(self, index: int, size: int) -> None:
        """Sends to the member at an index of the ring."""

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        """Waits for a message from the member at an index of the ring."""

    def reduction(self, size: int) -> int:
        """Nanoseconds of a reduction."""

    def fault(self) -> None:
        """Notes that the simulator writes to memory that it has freed (section 6.3): what follows is luck."""

    def finished(self) -> None:
        """Ends the phase on this rank."""


class State(Protocol):
    """A member in the middle of a phase."""

    def start(self) -> None:
        """Does what needs no message received."""


@dataclass(frozen=True)
class Place:
    """Which member of a phase is meant.

    Attributes:
        index: in the ring.
        direction: 1 clockwise, -1 anticlockwise.
        turn: which of the algorithm's `turns` it is.
    """

    index: int
    direction: int = 1
    turn: int = 0


@dataclass(frozen=True)
class Algorithm:
    """A collective algorithm. No field has a default: whoever adds a row has to think of each.

    Attributes:
        words: of its ring in one dimension, or in a communicator group.
        whole: its words for one ring over all NPUs, whatever the dimensions; None where there is no such variant.
        windowed: whether a number after the word limits the sends in flight (`direct4`).
        kinds: collectives that it runs.
        instead: what it runs in place of all others; None: the simulator stops there.
        stand_in: the language's word of the algorithm that a spec gets for the others.
        sizes: on how many members it runs.
        dimensions_only: whether the simulator crashes on it in a communicator group, and where it is the last entry of
            a list that is shorter than the dimensions.
        neighbours_only: whether a member sends to the next one of the ring only.
        turns: how many variants there are that chunks take in turn, counted for each kind and dimension.
        sends: of a phase: messages that one member sends, about.
        state: of a member, a phase and a place: what the simulator does there, message by message.
        duration: of a phase and costs: how long it lasts when all members start together, in closed form; None where
            they end apart, or only messages tell.
        staggered: of a phase, costs, the tick at which each member starts and a turn: when each ends; None where only
            messages tell.
        order: of a phase, costs, ranks in the order in which they start, and the ring of each: the order in which they
            end, which decides who is first at a shared memory; None where it is not known.
    """

    words: Words
    whole: Words | None
    windowed: bool
    kinds: frozenset[Kind]
    instead: Kind | None
    stand_in: str
    sizes: Sizes
    dimensions_only: bool
    neighbours_only: bool
    turns: int
    sends: Callable[[Phase], int]
    state: Callable[[Member, Phase, Place], State]
    duration: Callable[[Phase, Costs], Duration | None]
    staggered: Callable[[Phase, Costs, list[int], int], list[int] | None]
    order: Callable[[Phase, Costs, list[int], Callable[[int], LogicalRing]], list[int] | None]

    def runs(self, kind: Kind) -> Kind:
        """What it does where it is listed for a kind."""
        return kind if kind in self.kinds or self.instead is None else self.instead

    @property
    def stands_in(self) -> bool:
        """Whether it is what others are replaced with: it runs every collective on any number of members."""
        return self.words.language == self.stand_in

    @property
    def listed_words(self) -> tuple[Words, ...]:
        """All of its words."""
        return (self.words,) if self.whole is None else (self.words, self.whole)


def away(ring_of: Callable[[int], LogicalRing], rank: int, steps: int) -> int:
    """The rank that stands `steps` further on in a rank's own ring."""
    ring = ring_of(rank)
    return ring.rank(rank, ring.index(rank) + steps)
