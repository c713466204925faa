"""The congestion-aware analytical backend, which knows one dimension: messages queue for links.

Devices are the ranks and, on a Switch, one switch; every hop has a link of its own in each direction. A link carries
one message at a time, in order of arrival: it is busy for `floor(size / beta)` ns, and the message is at the next
device `floor(latency + size / beta)` ns after it was taken up. Each hop pays both terms (store and forward), so a
switch pays the serialisation twice. Everything else is the simulator's system layer, which `everyone` plays.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from astrac.job import bytes_per_ns
from astrac.simulators.astra_sim_2.simulate.network import Broken

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Dimension
    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.network import Network


@dataclass(slots=True)
class _Message:
    size: int
    route: deque[int]
    arrive: Callable[[Any, Any], None]
    channel: Any


@dataclass(slots=True)
class _Link:
    backend: CongestedNetwork
    busy: bool = False
    waiting: deque[_Message] = field(default_factory=deque)

    def take(self, message: _Message) -> None:
        """Carries a message now or when the link is free."""
        if self.busy:
            self.waiting.append(message)
            return
        self.busy = True
        dimension = self.backend.dimension
        serialisation = message.size / bytes_per_ns(dimension.bandwidth)
        self.backend.clock.after(int(dimension.latency + serialisation), CongestedNetwork.hop, self.backend, message)
        self.backend.clock.after(int(serialisation), _Link.free, self)

    def free(self, _argument: None) -> None:
        """Takes up the next message."""
        self.busy = False
        if self.waiting:
            self.take(self.waiting.popleft())


class CongestedNetwork:
    """The links of a machine of one dimension.

    Attributes:
        clock: the play's.
        dimension: the machine's.
    """

    def __init__(self, network: Network, clock: EventQueue) -> None:
        if len(network.machine.dimensions) != 1:
            raise Broken("the congestion-aware backend knows one dimension only: it stops")
        fault = network.blocks[0].congested_fault(network.sizes[0])
        if fault is not None:
            raise Broken(fault)
        self.clock = clock
        self.dimension: Dimension = network.machine.dimensions[0]
        self._block = network.blocks[0]
        self._links: dict[tuple[int, int], _Link] = {}

    def carry(self, source: int, destination: int, size: int, arrive: Callable[[Any, Any], None], channel: Any) -> None:
        """See `messages.NetworkBackend`."""
        if source == destination:
            raise Broken(f"rank {source} sends to itself", rank=source)
        route = deque(self._block.route(self.dimension.size, source, destination))
        self._send(_Message(size, route, arrive, channel))

    def hop(self, message: _Message) -> None:
        """A message has come to its next device."""
        message.route.popleft()
        if len(message.route) > 1:
            self._send(message)
        else:
            message.arrive(message.channel, None)

    def _send(self, message: _Message) -> None:
        ends = message.route[0], message.route[1]
        if ends not in self._links:
            self._links[ends] = _Link(self)
        self._links[ends].take(message)
