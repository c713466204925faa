"""direct: each member sends its part to every other one, all at once or a window of them at a time.

docs/simulators/astra-sim-2.md, section 3.3. The slowest message counts: e + max d + e (+ rho), and all of it twice in
an all-reduce.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.algorithms.row import Algorithm, Duration, MessageSchedule, Packet, Place, Sizes, Words, away
from astrac.simulators.algorithms.schedule import reduced, walking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.simulators.algorithms.row import Costs, LogicalRing, Phase

PAIRS = 1_000_000
"""Messages of a phase that are looked at one by one."""


def _sends(phase: Phase) -> int:
    peers = phase.ring.size - 1
    return 2 * peers if phase.kind is Kind.ALL_REDUCE else peers


def _schedule(phase: Phase, place: Place) -> MessageSchedule:
    size = phase.ring.size
    peers = size - 1
    parallel = peers if phase.window is None else min(phase.window, peers)
    batch = peers * parallel if phase.ring.listed else parallel

    def packets() -> Iterator[Packet]:
        for step, pays in enumerate(reduced(phase, parallel, batch)):
            offset = place.direction * (1 + step % peers)
            yield Packet((place.index + offset) % size, (place.index - offset) % size, phase.message, pays)

    return MessageSchedule(parallel, _sends(phase), peers if phase.kind is Kind.ALL_REDUCE else 0, packets())


def _duration(phase: Phase, costs: Costs) -> Duration | None:
    delays = costs.extremes(phase.message)
    if delays is None:
        return None
    shortest, longest = delays
    if phase.windowed or (phase.kind is Kind.ALL_REDUCE and longest > shortest):
        # A sliding window, or a second half that begins at unequal times: one member is played, for all do the same.
        return costs.mirrored(_schedule(phase, Place(0)))
    e, rho = costs.endpoint, costs.reduction(phase.message)
    if phase.kind is Kind.ALL_REDUCE:
        second = phase.ring.listed and phase.ring.size > 2
        return Duration(2 * longest + 3 * e + rho + (rho if second else 0), rho if second else e)
    last = rho if phase.kind is Kind.REDUCE_SCATTER else 0
    return Duration(e + longest + e + last, rho if phase.kind is Kind.REDUCE_SCATTER else e)


def _staggered(phase: Phase, costs: Costs, starts: list[int], _turn: int) -> list[int] | None:
    """`max over j (s_i, s_j + d_ji) + e (+ rho)`, when all sends are in flight at once."""
    size = phase.ring.size
    if phase.windowed or phase.kind is Kind.ALL_REDUCE or phase.message < 1 or size * size > PAIRS:
        return None
    e = costs.endpoint
    rho = costs.reduction(phase.message) if phase.kind is Kind.REDUCE_SCATTER else 0
    ready = [start + e for start in starts]
    ends = []
    for at in range(size):
        others = (ready[other] + costs.delay(other, at, phase.message) for other in range(size) if other != at)
        ends.append(max(ready[at], *others) + e + rho)
    return ends


def _order(phase: Phase, costs: Costs, order: list[int], ring_of: Callable[[int], LogicalRing]) -> list[int] | None:
    """A rank is served when the first message comes to it; who sends first sends to all others, nearest first."""
    delays = costs.extremes(phase.message)
    if delays is None or delays[0] != delays[1] or phase.windowed:
        return None
    direction = -1 if phase.returning else 1
    for _ in range(2 if phase.kind is Kind.ALL_REDUCE else 1):
        reached = (away(ring_of, rank, direction * steps) for rank in order for steps in range(1, phase.ring.size))
        order = list(dict.fromkeys(reached))
    return order


DIRECT = Algorithm(
    words=Words("direct", "direct", "direct"),
    whole=Words("one_direct", "oneDirect", "oneDirect"),
    windowed=True,
    kinds=frozenset(IMPLEMENTED),
    instead=None,
    stand_in="ring",
    sizes=Sizes.ANY,
    dimensions_only=False,
    neighbours_only=False,
    turns=1,
    sends=_sends,
    state=walking(_schedule),
    duration=_duration,
    staggered=_staggered,
    order=_order,
)
