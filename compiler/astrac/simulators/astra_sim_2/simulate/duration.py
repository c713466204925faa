"""ASTRA-SIM-2 section 3.3: how long one phase lasts when all its members start together and look alike.

One row of `FORMS` an algorithm. m = message bytes, d = its link's delay, e = endpoint delay, rho = reduction.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
from astrac.simulators.astra_sim_2.simulate.messages import ITINERARIES, Walk
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET
from astrac.simulators.astra_sim_2.simulate.phases import Family

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.simulators.astra_sim_2.simulate.network import Link, Network
    from astrac.simulators.astra_sim_2.simulate.phases import Circle, Phase


MAX_LISTED = 1024
"""Members of a communicator group whose links are all compared."""


class Duration(NamedTuple):
    """Of a phase or a collective.

    Attributes:
        time: ns.
        tail: ns before the end at which the simulator registered the event that ends it: what decides ties.
        fault: whether the simulator writes to freed memory meanwhile.
    """

    time: int
    tail: int
    fault: bool = False


def step_link(network: Network, circle: Circle, distance: int) -> Link | None:
    """Between members `distance` apart, clockwise; None when it is not the same for all of them."""
    if not circle.listed:
        return network.link(0, distance * circle.stride)
    ranks = circle.members
    links = {network.link(rank, ranks[(index + distance) % circle.size]) for index, rank in enumerate(ranks)}
    return links.pop() if len(links) == 1 else None


def _partner_link(network: Network, circle: Circle, offset: int) -> Link | None:
    """Between halvingDoubling partners: indices that differ in one bit."""
    if not circle.listed:
        return network.link(0, offset * circle.stride)
    ranks = circle.members
    links = {network.link(rank, ranks[index ^ offset]) for index, rank in enumerate(ranks)}
    return links.pop() if len(links) == 1 else None


def extreme_links(network: Network, circle: Circle) -> set[Link] | None:
    """Of all pairs, at least the fastest and the slowest links for any size; None when members do not look alike."""
    if circle.listed:
        if circle.size > MAX_LISTED:
            return None
        links = {step_link(network, circle, distance) for distance in range(1, circle.size)}
        return None if None in links else {link for link in links if link is not None}
    ends = set()
    for size, stride in zip(network.sizes, network.strides, strict=False):
        steps = stride // circle.stride
        if stride % circle.stride == 0 and steps < circle.size:
            ends |= {network.link(0, stride), network.link(0, stride * (size // 2))}
    return ends


def _ring(network: Network, phase: Phase) -> Duration | None:
    link = step_link(network, phase.circle, 1)
    if link is None:
        return None
    size = phase.circle.size
    e = network.endpoint(group=phase.circle.listed)
    d, rho = network.delay(link, phase.message), network.reduction(phase.message)
    steps = size - 1
    match phase.kind:
        case Kind.ALL_GATHER:
            return Duration(e + steps * (d + e), e)
        case Kind.REDUCE_SCATTER:
            return Duration(e + steps * (d + e + rho), rho)
        case Kind.ALL_REDUCE:
            return Duration(e + steps * (d + e + rho) + steps * (d + e), e)
        case _:
            return Duration(e + size * steps // 2 * (d + e), e)


def _direct(network: Network, phase: Phase) -> Duration | None:
    circle = phase.circle
    links = extreme_links(network, circle)
    if links is None:
        return None
    e = network.endpoint(group=circle.listed)
    delays = [network.delay(link, phase.message) for link in links]
    d, rho = max(delays), network.reduction(phase.message)
    window = phase.algorithm.window
    if window is not None and window < circle.size - 1:
        return _replayed(network, phase)
    match phase.kind:
        case Kind.REDUCE_SCATTER:
            return Duration(e + d + e + rho, rho)
        case Kind.ALL_REDUCE if d > min(delays):
            return _replayed(network, phase)
        case Kind.ALL_REDUCE:
            second = circle.listed and circle.size > 2
            return Duration(2 * d + 3 * e + rho + (rho if second else 0), rho if second else e)
        case _:
            return Duration(e + d + e, e)


def _halving(network: Network, phase: Phase) -> Duration | None:
    """Each halving step but the last pays the reduction of the next, smaller message, and the last none."""
    circle = phase.circle
    if circle.size & (circle.size - 1):
        return None
    offsets = [1 << step for step in range(circle.size.bit_length() - 1)]
    links = {offset: _partner_link(network, circle, offset) for offset in offsets}
    e = network.endpoint(group=circle.listed)
    time = e
    message = phase.size
    halving = phase.kind is not Kind.ALL_GATHER
    if halving:
        for offset in offsets:
            link = links[offset]
            if link is None or message < 2:
                return None
            message //= 2
            following = message // 2
            time += network.delay(link, message) + e + (network.reduction(following) if offset != offsets[-1] else 0)
        # The all-gather half doubles back what one more halving would have left: a low bit is lost.
        message = message // 2 * 2
    if phase.kind is not Kind.REDUCE_SCATTER:
        for offset in reversed(offsets):
            link = links[offset]
            if link is None or not message:
                return None
            time += network.delay(link, message) + e
            message *= 2
    return Duration(time, e)


FORMS: dict[Family, Callable[[Network, Phase], Duration | None]] = {
    Family.RING: _ring,
    Family.DIRECT: _direct,
    Family.HALVING: _halving,
    Family.TREE: lambda _network, _phase: None,
}
"""None where members end apart or something is not regular: then they are played (`members`)."""


def duration(network: Network, phase: Phase) -> Duration | None:
    """Of a phase whose members start together; None when they do not end together or must be played to know."""
    return FORMS[phase.algorithm.family](network, phase) if phase.message else None


class _Mirror:
    """One member that stands for all: what it sends to the k-th next, it gets from the k-th before at that time."""

    def __init__(self, network: Network, phase: Phase) -> None:
        self.clock = EventQueue(limit=1_000_000)
        self.end: int | None = None
        self._network = network
        self._phase = phase
        self._endpoint = network.endpoint(group=phase.circle.listed)
        self._arrived: dict[tuple[int, int], int] = defaultdict(int)
        self._receivers: dict[tuple[int, int], list[Callable[[], None]]] = defaultdict(list)

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        if reduction < 0:
            self.clock.after_own(self, self._endpoint, done, owner, argument)
        else:
            self.clock.after_own(self, self._endpoint, _Mirror._reduce, self, (reduction, done, owner, argument))

    def fault(self) -> None:
        self.clock.fault = FREED_PACKET

    def _reduce(self, bundle: tuple[int, Callable[[Any, Any], None], Any, Any]) -> None:
        reduction, done, owner, argument = bundle
        self.clock.after_own(self, reduction, done, owner, argument)

    def send(self, index: int, size: int) -> None:
        link = step_link(self._network, self._phase.circle, index)
        assert link is not None
        self.clock.after(self._network.delay(link, size), _Mirror._arrive, self, (index, size))

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        key = -index % self._phase.circle.size, size
        if self._arrived[key]:
            self._arrived[key] -= 1
            self.clock.after(0, _Mirror._late, self, received)
        else:
            self._receivers[key].append(received)

    def _arrive(self, key: tuple[int, int]) -> None:
        if self._receivers[key]:
            self._receivers[key].pop(0)()
        else:
            self._arrived[key] += 1

    def _late(self, received: Callable[[], None]) -> None:
        received()

    def reduction(self, size: int) -> int:
        return self._network.reduction(size)

    def finished(self) -> None:
        self.end = self.clock.now


def _replayed(network: Network, phase: Phase) -> Duration | None:
    """A sliding window, or `direct` all-reduce over unequal hops: one member is played, for all do the same."""
    mirror = _Mirror(network, phase)
    mirror.clock.now = 1
    Walk(mirror, ITINERARIES[phase.algorithm.family](phase, 0, 1)).start()
    mirror.clock.play()
    if mirror.end is None:
        return None
    return Duration(mirror.end - 1, network.endpoint(group=phase.circle.listed), mirror.clock.fault is not None)
