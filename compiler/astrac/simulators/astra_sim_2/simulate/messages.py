"""ASTRA-SIM-2 section 3, message by message: the algorithms as the simulator's ranks run them.

Closed forms exist where all members start together and look alike (`duration`). Where they do not, every member is
played here, with the order of events within a tick that the simulator has.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any, Protocol

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.phases import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Phase


class Wires(Protocol):
    """Carries a message of `size` bytes, and calls `arrive(channel)` when it is there."""

    def carry(self, source: int, destination: int, size: int, arrive: Callable[[Any, Any], None], channel: Any) -> None:
        """Called at the tick of the send."""


@dataclass(frozen=True)
class FreeWires:
    """Section 2: nothing contends."""

    network: Network
    clock: EventQueue

    def carry(self, source: int, destination: int, size: int, arrive: Callable[[Any, Any], None], channel: Any) -> None:
        """A message arrives after its link's delay."""
        self.clock.after(self.network.delay(self.network.link(source, destination), size), arrive, channel)


class _Channel:
    """Messages that match: same tag, source, destination and size. The n-th sent is the n-th received."""

    __slots__ = ("arrived", "receivers", "senders")

    def __init__(self) -> None:
        self.senders: deque[Callable[[], None] | None] = deque()
        self.receivers: deque[Callable[[], None]] = deque()
        self.arrived = 0


class Post:
    """Matches sends with receives, as the analytical frontends do."""

    def __init__(self, clock: EventQueue, wires: Wires, npus: int) -> None:
        self._clock = clock
        self._wires = wires
        self._npus = npus
        self._channels: dict[tuple[Hashable, int, int, int], _Channel] = defaultdict(_Channel)

    def send(self, tag: Hashable, source: int, destination: int, size: int, sent: Callable[[], None] | None) -> None:
        """Starts a message; `sent` is called when it arrives."""
        if size <= 0:
            raise Broken(f"rank {source} sends a message of {size} bytes: the simulator aborts", rank=source)
        if not 0 <= destination < self._npus:
            reason = f"rank {source} sends to rank {destination}, which does not exist: the simulator aborts"
            raise Broken(reason, rank=source)
        channel = self._channels[tag, source, destination, size]
        channel.senders.append(sent)
        self._wires.carry(source, destination, size, self._arrive, channel)

    def receive(self, tag: Hashable, source: int, destination: int, size: int, received: Callable[[], None]) -> None:
        """Waits for a message; one that has arrived already is received later in this tick."""
        if size <= 0:
            reason = f"rank {destination} receives a message of {size} bytes: the simulator aborts"
            raise Broken(reason, rank=destination)
        channel = self._channels[tag, source, destination, size]
        if channel.arrived:
            channel.arrived -= 1
            self._clock.after(0, _late, received)
        else:
            channel.receivers.append(received)

    @staticmethod
    def _arrive(channel: _Channel, _argument: None) -> None:
        sent = channel.senders.popleft()
        if sent is not None:
            sent()
        if channel.receivers:
            channel.receivers.popleft()()
        else:
            channel.arrived += 1


def _late(received: Callable[[], None], _argument: None) -> None:
    received()


class Packet:
    """What a member sends and receives in one step, by index in the circle."""

    __slots__ = ("destination", "reduced", "size", "source")

    def __init__(self, destination: int, source: int, size: int, reduced: bool) -> None:
        self.destination = destination
        self.source = source
        self.size = size
        self.reduced = reduced


@dataclass(frozen=True, slots=True)
class Itinerary:
    """What one member does in one phase of the ring, direct and halvingDoubling algorithms.

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


def _reduced(phase: Phase, parallel: int, batch: int) -> Iterator[bool]:
    """Which packets pay a reduction: `parallel` never do, then `batch` may, and so on.

    In an all-reduce only every other batch does: the first is its reduce-scatter half.
    """
    first = True
    while True:
        for _ in range(parallel):
            yield False
        for _ in range(batch):
            yield phase.kind is Kind.REDUCE_SCATTER or (phase.kind is Kind.ALL_REDUCE and first)
        first = not first


def _ring(phase: Phase, index: int, direction: int) -> Itinerary:
    size = phase.circle.size
    sends = {Kind.ALL_REDUCE: 2 * (size - 1), Kind.ALL_TO_ALL: size * (size - 1) // 2}.get(phase.kind, size - 1)
    destination, source = (index + direction) % size, (index - direction) % size
    packets = (Packet(destination, source, phase.message, reduced) for reduced in _reduced(phase, 1, size - 1))
    return Itinerary(1, sends, 0, packets)


def _direct(phase: Phase, index: int, direction: int) -> Itinerary:
    size = phase.circle.size
    peers = size - 1
    parallel = peers if phase.algorithm.window is None else min(phase.algorithm.window, peers)
    batch = peers * parallel if phase.circle.listed else parallel

    def packets() -> Iterator[Packet]:
        for step, reduced in enumerate(_reduced(phase, parallel, batch)):
            offset = direction * (1 + step % peers)
            yield Packet((index + offset) % size, (index - offset) % size, phase.message, reduced)

    all_reduce = phase.kind is Kind.ALL_REDUCE
    return Itinerary(parallel, 2 * peers if all_reduce else peers, peers if all_reduce else 0, packets())


def _halving(phase: Phase, index: int, _direction: int) -> Itinerary:
    size = phase.circle.size
    steps = log2(size)
    gather = phase.kind is Kind.ALL_GATHER

    def packets() -> Iterator[Packet]:
        message = phase.size if gather else phase.size // 2
        offset, factor = (size // 2, 0.5) if gather else (1, 2.0)
        partner = index
        for reduced in _reduced(phase, 1, int(steps - 1)):
            backwards = offset > 0 and index // offset % 2
            receiver = (index - offset if backwards else index + offset) % size
            partner = receiver if offset else partner
            yield Packet(receiver, partner, message, reduced)
            offset, message = int(offset * factor), int(message / factor)
            if offset == size and phase.kind is Kind.ALL_REDUCE:
                factor = 0.5
                offset, message = int(offset * factor), int(message / factor)

    return Itinerary(1, int(2 * steps if phase.kind is Kind.ALL_REDUCE else steps), 0, packets())


ITINERARIES: dict[Family, Callable[[Phase, int, int], Itinerary]] = {
    Family.RING: _ring,
    Family.DIRECT: _direct,
    Family.HALVING: _halving,
}
"""Of a phase, the member's index in the circle and the direction (1 clockwise, -1 anticlockwise)."""


class Member(Protocol):
    """What an algorithm needs of the rank that runs it."""

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        """Calls `done` after the endpoint delay and, unless it is negative, a reduction."""

    def send(self, index: int, size: int) -> None:
        """To the member at an index of the circle."""

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        """From the member at an index of the circle."""

    def reduction(self, size: int) -> int:
        """Nanoseconds of a reduction."""

    def fault(self) -> None:
        """The simulator writes to memory that it has freed (section 6.3, M1): what follows is luck."""

    def finished(self) -> None:
        """The phase is over on this rank."""


class Walk:
    """Ring, direct or halvingDoubling on one rank: an itinerary, packet by packet."""

    __slots__ = ("_free", "_inserted", "_itinerary", "_left", "_member", "_packets", "_received", "_sent")

    def __init__(self, member: Member, itinerary: Itinerary) -> None:
        self._member = member
        self._itinerary = itinerary
        self._left = itinerary.sends
        self._free = 0
        self._received = 0
        self._inserted = 0
        self._sent = 0
        self._packets: deque[Packet] = deque()

    def start(self) -> None:
        """All packets that need nothing received."""
        for _ in range(self._itinerary.parallel):
            self._insert()

    def _insert(self) -> None:
        packet = next(self._itinerary.packets)
        self._packets.append(packet)
        reduction = self._member.reduction(packet.size) if packet.reduced else -1
        self._member.bundle(reduction, Walk._ready, self, self._inserted)
        self._inserted += 1

    def _receive(self) -> None:
        self._received += 1
        self._insert()

    def _ready(self, packet: int) -> None:
        if packet < self._sent:
            self._member.fault()
        self._free += 1
        middle = self._itinerary.middle
        if middle and self._left <= middle:
            if self._received < middle:
                return
            for _ in range(self._itinerary.parallel):
                self._send()
        else:
            self._send()
        if self._left == 0 and self._free == self._itinerary.parallel:
            self._member.finished()

    def _send(self) -> None:
        if self._packets and self._left and self._free:
            packet = self._packets.popleft()
            self._member.send(packet.destination, packet.size)
            self._member.receive(packet.source, packet.size, self._receive)
            self._sent += 1
            self._left -= 1
            self._free -= 1


class TreeNode:
    """Where an index stands in one of the two trees, by index; -1 = nobody."""

    __slots__ = ("children", "parent")

    def __init__(self, size: int, index: int, second: bool) -> None:
        """The first tree has root `size - 1` over a perfect in-order tree of the others, the second root 0."""
        place = index if second else index + 1
        to_index = 0 if second else -1
        top = size // 2
        if place % size == 0:
            self.parent = -1
            self.children: tuple[int, ...] = (top + to_index,)
            return
        level = place & -place
        above = place + level if not place & (level << 1) else place - level
        self.parent = (size - 1 if not second else 0) if place == top else above + to_index
        half = level // 2
        self.children = (place - half + to_index, place + half + to_index) if half else ()


class Climb:
    """doubleBinaryTree on one rank: reduce to the root, then broadcast; always an all-reduce."""

    __slots__ = ("_member", "_node", "_size", "_waiting")

    def __init__(self, member: Member, size: int, node: TreeNode) -> None:
        self._member = member
        self._size = size
        self._node = node
        self._waiting = len(node.children)

    def start(self) -> None:
        """A leaf sends after the endpoint delay; the others wait for their children at once."""
        if not self._node.children:
            self._member.bundle(-1, Climb._up, self)
        for child in self._node.children:
            self._member.receive(child, self._size, self._from_child)

    def _from_child(self) -> None:
        self._member.bundle(self._member.reduction(self._size), Climb._reduced, self)

    def _reduced(self, _argument: None) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            if self._node.parent < 0:
                self._down(None)
            else:
                self._up(None)

    def _up(self, _argument: None) -> None:
        self._member.send(self._node.parent, self._size)
        self._member.receive(self._node.parent, self._size, self._from_parent)

    def _from_parent(self) -> None:
        reduction = self._member.reduction(self._size) if self._node.children else -1
        self._member.bundle(reduction, Climb._down, self)

    def _down(self, _argument: None) -> None:
        for child in self._node.children:
            self._member.send(child, self._size)
        self._member.finished()
