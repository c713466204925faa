"""Messages between ranks: what carries them, and how a send and a receive find each other.

docs/simulators/astra-sim-2.md, sections 2 and 4.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from astrac.simulators.astra_sim_2.simulate.event_queue import late
from astrac.simulators.astra_sim_2.simulate.network import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.network import Network


class NetworkBackend(Protocol):
    """Carries a message of `size` bytes, and calls `arrive(channel)` when it is there."""

    def carry(self, source: int, destination: int, size: int, arrive: Callable[[Any, Any], None], channel: Any) -> None:
        """Called at the tick of the send."""


@dataclass(frozen=True)
class UncongestedNetwork:
    """The congestion-unaware backend: nothing contends."""

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


class MessageMatcher:
    """Matches sends with receives, as the analytical frontends do."""

    def __init__(self, clock: EventQueue, backend: NetworkBackend, npus: int) -> None:
        self._clock = clock
        self._backend = backend
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
        self._backend.carry(source, destination, size, self._arrive, channel)

    def receive(self, tag: Hashable, source: int, destination: int, size: int, received: Callable[[], None]) -> None:
        """Waits for a message; one that has arrived already is received later in this tick."""
        if size <= 0:
            reason = f"rank {destination} receives a message of {size} bytes: the simulator aborts"
            raise Broken(reason, rank=destination)
        channel = self._channels[tag, source, destination, size]
        if channel.arrived:
            channel.arrived -= 1
            self._clock.after(0, late, received)
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
