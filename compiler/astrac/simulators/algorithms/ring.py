"""ring: each member passes on to the next what it has got from the one before.

docs/simulators/astra-sim-2.md, section 3.3. With n members, d = ns of a message, e = endpoint delay, rho = reduction:
n - 1 rounds of d + e, and rho in each where parts are summed; an all-reduce is both halves, an all-to-all walks the
parts round the ring in n(n-1)/2 messages.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.algorithms.row import Algorithm, Duration, MessageSchedule, Packet, Sizes, Words, away
from astrac.simulators.algorithms.schedule import reduced, walking

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.simulators.algorithms.row import Costs, LogicalRing, Phase, Place


def _sends(phase: Phase) -> int:
    size = phase.ring.size
    return {Kind.ALL_REDUCE: 2 * (size - 1), Kind.ALL_TO_ALL: size * (size - 1) // 2}.get(phase.kind, size - 1)


def _schedule(phase: Phase, place: Place) -> MessageSchedule:
    size = phase.ring.size
    destination, source = (place.index + place.direction) % size, (place.index - place.direction) % size
    packets = (Packet(destination, source, phase.message, pays) for pays in reduced(phase, 1, size - 1))
    return MessageSchedule(1, _sends(phase), 0, packets)


def _rounds(phase: Phase, costs: Costs) -> tuple[tuple[int, int], ...]:
    """(rounds, ns that each costs a member besides the message), half by half."""
    e, rho = costs.endpoint, costs.reduction(phase.message)
    rounds = phase.ring.size - 1
    scatter, gather = (rounds, e + rho), (rounds, e)
    return {
        Kind.REDUCE_SCATTER: (scatter,),
        Kind.ALL_GATHER: (gather,),
        Kind.ALL_REDUCE: (scatter, gather),
        Kind.ALL_TO_ALL: ((_sends(phase), e),),
    }[phase.kind]


def _duration(phase: Phase, costs: Costs) -> Duration | None:
    d = costs.shift(1, phase.message)
    if d is None:
        return None
    time = costs.endpoint + sum(rounds * (d + cost) for rounds, cost in _rounds(phase, costs))
    last = costs.reduction(phase.message) if phase.kind is Kind.REDUCE_SCATTER else costs.endpoint
    return Duration(time, last)


def _staggered(phase: Phase, costs: Costs, starts: list[int], _turn: int) -> list[int] | None:
    """`s_i <- max(s_i, s_(i-1) + d) + e (+ rho)` at each step, s = when a member is ready to send."""
    size = phase.ring.size
    if phase.message < 1:
        return None
    members = list(range(size))[:: -1 if phase.returning else 1]
    delays = [costs.delay(members[at - 1], member, phase.message) for at, member in enumerate(members)]
    ready = [starts[member] + costs.endpoint for member in members]
    for rounds, cost in _rounds(phase, costs):
        ready = _after(ready, delays, rounds, cost)
    return ready[::-1] if phase.returning else ready


def _after(ready: list[int], delays: list[int], steps: int, cost: int) -> list[int]:
    """Ready times after some steps, all at once: whose start it is that delays a member, and over how many links.

    In `steps` steps a start can travel up to as many links. From each member it travels as many rounds as it can, for
    a link never makes it earlier.
    """
    size = len(ready)
    rounds, rest = divmod(steps, size)
    whole = sum(delays)
    path = [0]
    for at in range(2 * size):
        path.append(path[-1] + delays[at % size])
    # Member `at` of the second lap is preceded by all others in the first.
    origin = [ready[at % size] - path[at + 1] for at in range(2 * size)]
    near = _window_max(origin, rest + 1)
    far = _window_max(origin, size - rest - 1) if rounds else []
    after = []
    for at in range(size, 2 * size):
        best = near[at] + rounds * whole
        if far and rest + 1 < size:
            best = max(best, far[at - rest - 1] + (rounds - 1) * whole)
        after.append(best + path[at + 1] + steps * cost)
    return after


def _window_max(values: list[int], width: int) -> list[int]:
    """For each index the largest of the last `width` values up to it."""
    best: list[int] = []
    candidates: deque[int] = deque()
    for at, value in enumerate(values):
        while candidates and values[candidates[-1]] <= value:
            candidates.pop()
        candidates.append(at)
        if candidates[0] <= at - width:
            candidates.popleft()
        best.append(values[candidates[0]])
    return best


def _order(phase: Phase, _costs: Costs, order: list[int], ring_of: Callable[[int], LogicalRing]) -> list[int]:
    """Each message makes the next of the ring take the place of its sender."""
    steps = _sends(phase)
    return [away(ring_of, rank, -steps if phase.returning else steps) for rank in order]


RING = Algorithm(
    words=Words("ring", "ring", "ring"),
    whole=Words("one_ring", "oneRing", "oneRing"),
    windowed=False,
    kinds=frozenset(IMPLEMENTED),
    instead=None,
    stand_in="ring",
    sizes=Sizes.ANY,
    dimensions_only=False,
    neighbours_only=True,
    turns=1,
    sends=_sends,
    state=walking(_schedule),
    duration=_duration,
    staggered=_staggered,
    order=_order,
)
