"""Algorithms of equal members: what one sends and receives, packet by packet, and how the simulator walks through it.

docs/simulators/astra-sim-2.md, section 3.3.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from astrac.job import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.simulators.algorithms.row import Member, MessageSchedule, Packet, Phase, Place


def reduced(phase: Phase, parallel: int, batch: int) -> Iterator[bool]:
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


class RingState:
    """A schedule on one rank, packet by packet."""

    __slots__ = ("_free", "_inserted", "_left", "_member", "_packets", "_received", "_schedule", "_sent")

    def __init__(self, member: Member, schedule: MessageSchedule) -> None:
        self._member = member
        self._schedule = schedule
        self._left = schedule.sends
        self._free = 0
        self._received = 0
        self._inserted = 0
        self._sent = 0
        self._packets: deque[Packet] = deque()

    def start(self) -> None:
        """Prepares all packets that need nothing received."""
        for _ in range(self._schedule.parallel):
            self._insert()

    def _insert(self) -> None:
        packet = next(self._schedule.packets)
        self._packets.append(packet)
        reduction = self._member.reduction(packet.size) if packet.reduced else -1
        self._member.bundle(reduction, RingState._ready, self, self._inserted)
        self._inserted += 1

    def _receive(self) -> None:
        self._received += 1
        self._insert()

    def _ready(self, packet: int) -> None:
        if packet < self._sent:
            self._member.fault()
        self._free += 1
        middle = self._schedule.middle
        if middle and self._left <= middle:
            if self._received < middle:
                return
            for _ in range(self._schedule.parallel):
                self._send()
        else:
            self._send()
        if self._left == 0 and self._free == self._schedule.parallel:
            self._member.finished()

    def _send(self) -> None:
        if self._packets and self._left and self._free:
            packet = self._packets.popleft()
            self._member.send(packet.destination, packet.size)
            self._member.receive(packet.source, packet.size, self._receive)
            self._sent += 1
            self._left -= 1
            self._free -= 1


def walking(schedule: Callable[[Phase, Place], MessageSchedule]) -> Callable[[Member, Phase, Place], RingState]:
    """The `state` of an algorithm that is a schedule."""
    return lambda member, phase, place: RingState(member, schedule(phase, place))
