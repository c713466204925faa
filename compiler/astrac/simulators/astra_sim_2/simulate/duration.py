"""What the messages of a phase cost on a machine, and how long the phase lasts when its members start together.

docs/simulators/astra-sim-2.md, sections 2 and 3.3. The formulas stand in the rows of `algorithms`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from astrac.simulators.algorithms.row import Duration
from astrac.simulators.algorithms.schedule import RingState
from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue, bundle, late
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET
from astrac.simulators.blocks import Symmetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from astrac.simulators.algorithms.row import LogicalRing, MessageSchedule, Phase
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network

MAX_LISTED = 1024
"""Members of a ring whose links are all compared."""


@dataclass(frozen=True)
class RingCosts:
    """The costs on one logical ring: a `row.Costs`.

    Attributes:
        network: of the machine.
        ring: any of those that differ in the other dimensions only: they have equal costs.
    """

    network: Network
    ring: LogicalRing

    @cached_property
    def endpoint(self) -> int:
        """Ns at the start of a phase and for each message received."""
        return self.network.endpoint(group=self.ring.listed)

    def reduction(self, size: int) -> int:
        """Ns to reduce a message."""
        return self.network.reduction(size)

    def delay(self, source: int, destination: int, size: int) -> int:
        """Ns of a message from one member to another, by index."""
        return self.network.delay(self.network.link(self._ranks[source], self._ranks[destination]), size)

    def shift(self, distance: int, size: int) -> int | None:
        """Ns of a message to the member `distance` further on; None when that is not the same for all members."""
        link = self._shift(distance)
        return None if link is None else self.network.delay(link, size)

    def partner(self, offset: int, size: int) -> int | None:
        """Ns of a message to the member whose index differs in the bit `offset`; None as above."""
        link = self._common(lambda index: index ^ offset)
        return None if link is None else self.network.delay(link, size)

    def extremes(self, size: int) -> tuple[int, int] | None:
        """Ns of a message between the nearest and the farthest members; None when members do not look alike."""
        links = self._extremes()
        if links is None:
            return None
        delays = [self.network.delay(link, size) for link in links]
        return min(delays), max(delays)

    def mirrored(self, schedule: MessageSchedule) -> Duration | None:
        """A schedule that all members follow alike, played on the first of them; None when it never ends."""
        mirror = _Mirror(self)
        mirror.clock.now = 1
        RingState(mirror, schedule).start()
        mirror.clock.play()
        return None if mirror.end is None else Duration(mirror.end - 1, self.endpoint, mirror.clock.fault is not None)

    @cached_property
    def _ranks(self) -> tuple[int, ...]:
        return self.ring.ranks(0)

    @cached_property
    def _regular(self) -> bool:
        """Whether the links of the first member are those of all: no listed order, no block with an edge."""
        ring, dimensions = self.ring, zip(self.network.strides, self.network.blocks, strict=False)
        within = [block for stride, block in dimensions if ring.stride <= stride < ring.stride * ring.size]
        return not ring.listed and all(block.symmetry is not Symmetry.NONE for block in within)

    def _shift(self, distance: int) -> Link | None:
        return self._common(lambda index: (index + distance) % self.ring.size)

    def _common(self, to: Callable[[int], int]) -> Link | None:
        """The link from each member to another, if it is the same for all."""
        ring = self.ring
        if self._regular:
            return self.network.link(0, to(0) * ring.stride)
        ranks = self._ranks
        links = {self.network.link(rank, ranks[to(index)]) for index, rank in enumerate(ranks)}
        return links.pop() if len(links) == 1 else None

    def _extremes(self) -> Iterable[Link] | None:
        """Of all pairs, at least the fastest and the slowest links for any size; None when members are not alike."""
        ring, network = self.ring, self.network
        if not self._regular:
            if ring.size > MAX_LISTED:
                return None
            shifts = [self._shift(distance) for distance in range(1, ring.size)]
            known = {link for link in shifts if link is not None}
            return None if None in shifts else known
        ends = set()
        for size, stride in zip(network.sizes, network.strides, strict=False):
            steps = stride // ring.stride
            if stride % ring.stride == 0 and steps < ring.size:
                ends |= {network.link(0, stride), network.link(0, stride * (size // 2))}
        return ends


def duration(network: Network, phase: Phase) -> Duration | None:
    """How long a phase lasts whose members start together; None when they end apart or must be played to know."""
    return phase.algorithm.duration(phase, RingCosts(network, phase.ring)) if phase.message else None


class _Mirror:
    """One member that stands for all: what it sends to the k-th next, it gets from the k-th before at that time."""

    def __init__(self, costs: RingCosts) -> None:
        self.clock = EventQueue(limit=1_000_000)
        self.end: int | None = None
        self._costs = costs
        self._arrived: dict[tuple[int, int], int] = defaultdict(int)
        self._receivers: dict[tuple[int, int], list[Callable[[], None]]] = defaultdict(list)

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        bundle(self.clock, self, self._costs.endpoint, reduction, (done, owner, argument))

    def fault(self) -> None:
        self.clock.fault = FREED_PACKET

    def send(self, index: int, size: int) -> None:
        delay = self._costs.shift(index, size)
        assert delay is not None
        self.clock.after(delay, _Mirror._arrive, self, (index, size))

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        key = -index % self._costs.ring.size, size
        if self._arrived[key]:
            self._arrived[key] -= 1
            self.clock.after(0, late, received)
        else:
            self._receivers[key].append(received)

    def _arrive(self, key: tuple[int, int]) -> None:
        if self._receivers[key]:
            self._receivers[key].pop(0)()
        else:
            self._arrived[key] += 1

    def reduction(self, size: int) -> int:
        return self._costs.reduction(size)

    def finished(self) -> None:
        self.end = self.clock.now
