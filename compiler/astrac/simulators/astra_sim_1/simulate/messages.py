"""Phases whose members do not run in step, message by message (docs/simulators/astra-sim-1.md, section 5).

All members start together. Each holds packets that become sends one by one: a packet is released by the start of the
phase or by a message that arrived, takes the endpoint delay (and the reduction, where it has one), then its send and
the matching receive are posted at once. The network remembers one message per (chunk, sender, receiver, size): a send
that is posted while its predecessor still waits for its receive is lost, and the run never ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE_LIMIT = 1_000_000
"""Messages that a job may have simulated one by one (seconds); with more it is refused."""


@dataclass(slots=True)
class Budget:
    """What is left of the messages that may be simulated."""

    left: int = MESSAGE_LIMIT

    def look_at(self, members: int) -> None:
        """Whether a row may be looked at one member at a time."""
        if members > MESSAGE_LIMIT:
            raise SimulationError(Fault.UNKNOWN, f"a row of {members} NPUs that are not alike")

    def spend(self, exchange: Exchange) -> None:
        """Pays for the messages of an exchange."""
        self.left -= exchange.members * exchange.sends
        if self.left < 0:
            reason = f"{exchange.members} NPUs that are not alike send {exchange.sends} messages each in a phase"
            raise SimulationError(Fault.UNKNOWN, reason)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What every member of an exchange does.

    Attributes:
        members: in the row; 1 when one member stands for all.
        sends: messages that each posts.
        window: packets in flight.
        offset: from a send's index to the receiver, counted from the sender (modulo the row).
        period: sends after which a member sends to the same receiver again.
        time: ns of a message from a member, by its index and the offset.
        delay: ns from a packet's release to its send, by the packet's index.
        middle: sends that must all be answered before the next one goes; 0 = none (all-reduce of `direct`).
    """

    members: int
    sends: int
    window: int
    offset: Callable[[int], int]
    period: int
    time: Callable[[int, int], float]
    delay: Callable[[int], int]
    middle: int = 0


@dataclass(slots=True)
class _Member:
    packets: int = 0
    free: int = 0
    received: int = 0
    sent: int = 0
    end: float = -1


_ARRIVAL, _RELEASED = 0, 1


def exchange_time(exchange: Exchange) -> tuple[float, tuple[float, ...]]:
    """Ns until the last member is through, and ns since its last events were scheduled, latest first."""
    return _Exchange(exchange).run()


class _Exchange:
    """The state of one exchange: a heap of arrivals and releases, in the simulator's order within a tick."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.members = [_Member() for _ in range(exchange.members)]
        self.posted: list[dict[int, float]] = [{} for _ in range(exchange.members)]
        self.heap: list[tuple[float, float, int, int, int, float]] = []
        self.sequence = 0
        self.scheduled: float = 0

    def run(self) -> tuple[float, tuple[float, ...]]:
        """Ns until the last member is through, and ns since its last events were scheduled, latest first."""
        last: tuple[float, ...] = (0,)
        for member in range(self.exchange.members):
            for _ in range(self.exchange.window):
                self._release(0, member)
        while self.heap:
            now, scheduled, _, kind, member, before = heappop(self.heap)
            last = (now, now - scheduled, now - before)
            self.scheduled = scheduled
            if kind == _ARRIVAL:
                self.members[member].received += 1
                self._release(now, member)
            else:
                self._released(now, member)
        if any(member.end < 0 for member in self.members):
            raise SimulationError(Fault.LOST_MESSAGE, "a fast NPU's message overtakes the one before it and is lost")
        return last[0], last[1:]

    def _at(self, now: float, time: float, kind: int, member: int) -> None:
        # Within a tick the simulator runs events in the order in which they were scheduled.
        self.sequence += 1
        heappush(self.heap, (time, now, self.sequence, kind, member, self.scheduled))

    def _release(self, now: float, member: int) -> None:
        state = self.members[member]
        self._at(now, now + self.exchange.delay(state.packets), _RELEASED, member)
        state.packets += 1

    def _released(self, now: float, member: int) -> None:
        """A packet has passed the endpoint: send what may go."""
        exchange, state = self.exchange, self.members[member]
        state.free += 1
        burst = 1
        if exchange.middle and state.sent >= exchange.middle:
            if state.received < exchange.middle:
                return
            burst = exchange.window
        for _ in range(burst):
            if state.sent < exchange.sends and state.free and state.sent < state.packets:
                self._send(now, member)
        if state.sent == exchange.sends and state.free == exchange.window and state.end < 0:
            state.end = now

    def _send(self, now: float, member: int) -> None:
        """Post a send and its receive; the one may complete a pair with the other side's, each way."""
        exchange, state = self.exchange, self.members[member]
        index, state.sent, state.free = state.sent, state.sent + 1, state.free - 1
        offset = exchange.offset(index)
        self.posted[member][index] = now
        receiver, sender = (member + offset) % exchange.members, (member - offset) % exchange.members
        if index >= exchange.period and index - exchange.period not in self.posted[receiver]:
            raise SimulationError(Fault.LOST_MESSAGE, "a fast NPU's message overtakes the one before it and is lost")
        for source, target in {(member, receiver), (sender, member)}:
            if index in self.posted[source] and index in self.posted[target]:
                arrival = self.posted[source][index] + exchange.time(source, offset)
                self._at(now, max(arrival, now), _ARRIVAL, target)
