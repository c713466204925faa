"""halvingDoubling: partners whose indices differ in one bit exchange halves, then quarters, ... or the other way round.

docs/simulators/astra-sim-2.md, section 3.3. A reduce-scatter sends S/2, S/4, ... at offsets 1, 2, 4, ...; an all-gather
S, 2S, ... at n/2, n/4, ...; an all-reduce is the first and then its mirror.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.algorithms.row import Algorithm, Duration, MessageSchedule, Packet, Place, Sizes, Words, away
from astrac.simulators.algorithms.schedule import reduced, walking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.simulators.algorithms.row import Costs, LogicalRing, Phase


def _sends(phase: Phase) -> int:
    steps = log2(phase.ring.size)
    return int(2 * steps if phase.kind is Kind.ALL_REDUCE else steps)


def _schedule(phase: Phase, place: Place) -> MessageSchedule:
    """As the simulator does it, in doubles, also on sizes for which it was not made."""
    size, index = phase.ring.size, place.index
    gather = phase.kind is Kind.ALL_GATHER

    def packets() -> Iterator[Packet]:
        message = phase.size if gather else phase.size // 2
        offset, factor = (size // 2, 0.5) if gather else (1, 2.0)
        partner = index
        for pays in reduced(phase, 1, int(log2(size) - 1)):
            backwards = offset > 0 and index // offset % 2
            receiver = (index - offset if backwards else index + offset) % size
            partner = receiver if offset else partner
            yield Packet(receiver, partner, message, pays)
            offset, message = int(offset * factor), int(message / factor)
            if offset == size and phase.kind is Kind.ALL_REDUCE:
                factor = 0.5
                offset, message = int(offset * factor), int(message / factor)

    return MessageSchedule(1, _sends(phase), 0, packets())


def _duration(phase: Phase, costs: Costs) -> Duration | None:
    """Each halving step but the last pays the reduction of the next, smaller message, and the last none."""
    if not Sizes.HANGS.admit(phase.ring.size):
        return None
    offsets = [1 << step for step in range(phase.ring.size.bit_length() - 1)]
    time, message = costs.endpoint, phase.size
    steps: list[tuple[int, int, int]] = []  # offset, bytes, reduction
    if phase.kind is not Kind.ALL_GATHER:
        for offset in offsets:
            message //= 2
            steps.append((offset, message, costs.reduction(message // 2) if offset != offsets[-1] else 0))
        # The all-gather half doubles back what one more halving would have left: a low bit is lost.
        message = message // 2 * 2
    if phase.kind is not Kind.REDUCE_SCATTER:
        steps += [(offset, message << step, 0) for step, offset in enumerate(reversed(offsets))]
    for offset, size, reduction in steps:
        delay = costs.partner(offset, size) if size else None
        if delay is None:
            return None
        time += delay + costs.endpoint + reduction
    return Duration(time, costs.endpoint)


def _staggered(phase: Phase, costs: Costs, starts: list[int], _turn: int) -> list[int] | None:
    """`s_i <- max(s_i, s_partner + d) + e (+ rho of the next message)` at each step."""
    size = phase.ring.size
    if not Sizes.HANGS.admit(size):
        return None
    schedules = [_schedule(phase, Place(index)) for index in range(size)]
    packets = [next(schedule.packets) for schedule in schedules]
    ready = [start + costs.endpoint for start in starts]
    for _ in range(schedules[0].sends):
        following = [next(schedule.packets) for schedule in schedules]
        if packets[0].size < 1:
            return None
        arrived = [
            max(ready[at], ready[packet.source] + costs.delay(packet.source, at, packet.size))
            for at, packet in enumerate(packets)
        ]
        rho = costs.reduction(following[0].size) if following[0].reduced else 0
        ready = [time + costs.endpoint + rho for time in arrived]
        packets = following
    return ready


def _order(phase: Phase, _costs: Costs, order: list[int], ring_of: Callable[[int], LogicalRing]) -> list[int]:
    """Partners change places at each step: after all offsets, an index and its complement; in an all-reduce twice."""
    if phase.kind is Kind.ALL_REDUCE:
        return order
    return [away(ring_of, rank, -1 - 2 * ring_of(rank).index(rank)) for rank in order]


HALVING_DOUBLING = Algorithm(
    words=Words("halving_doubling", "halvingDoubling", "halvingDoubling"),
    whole=Words("one_halving_doubling", "oneHalvingDoubling", "oneHalvingDoubling"),
    windowed=False,
    kinds=frozenset({Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER}),
    instead=None,
    stand_in="ring",
    sizes=Sizes.HANGS,
    dimensions_only=False,
    neighbours_only=False,
    turns=1,
    sends=_sends,
    state=walking(_schedule),
    duration=_duration,
    staggered=_staggered,
    order=_order,
)
