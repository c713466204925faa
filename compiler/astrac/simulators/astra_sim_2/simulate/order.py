"""In which order ranks that act alike are served within a tick: what decides who is first at a shared memory.

Ranks that run in lock-step are served in the order in which their events were registered. Compute keeps that order, a
message hands it on to the receiver, and each step of a collective does so once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.duration import extreme_links
from astrac.simulators.astra_sim_2.simulate.phases import Circle, Family
from astrac.simulators.astra_sim_2.simulate.together import trigger_path

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course, Phase

Order = list[int]
CircleOf = Callable[[int], Circle]
"""Of a rank: the ring that it goes round."""


def _away(circle_of: CircleOf, rank: int, steps: int) -> int:
    circle = circle_of(rank)
    return circle.rank(rank, circle.index(rank) + steps)


def _ring(_network: Network, phase: Phase, order: Order, circle_of: CircleOf) -> Order:
    """Each message makes the next of the ring take the place of its sender."""
    size = phase.circle.size
    steps = {Kind.ALL_REDUCE: 2 * (size - 1), Kind.ALL_TO_ALL: size * (size - 1) // 2}.get(phase.kind, size - 1)
    return [_away(circle_of, rank, -steps if phase.returning else steps) for rank in order]


def _direct(network: Network, phase: Phase, order: Order, circle_of: CircleOf) -> Order | None:
    """A rank is served when the first message comes to it; who sends first sends to all others, nearest first."""
    links = extreme_links(network, phase.circle)
    window = phase.algorithm.window
    equal = links is not None and len({network.delay(link, phase.message) for link in links}) == 1
    if not equal or (window is not None and window < phase.circle.size - 1):
        return None
    direction = -1 if phase.returning else 1
    for _ in range(2 if phase.kind is Kind.ALL_REDUCE else 1):
        order = list(
            dict.fromkeys(
                _away(circle_of, rank, direction * away) for rank in order for away in range(1, phase.circle.size)
            )
        )
    return order


def _halving(_network: Network, phase: Phase, order: Order, circle_of: CircleOf) -> Order:
    """Partners change places at each step: after all offsets, an index and its complement; in an all-reduce twice."""
    if phase.kind is Kind.ALL_REDUCE:
        return order
    return [_away(circle_of, rank, -1 - 2 * circle_of(rank).index(rank)) for rank in order]


PHASES: dict[Family, Callable[[Network, Phase, Order, CircleOf], Order | None]] = {
    Family.RING: _ring,
    Family.DIRECT: _direct,
    Family.HALVING: _halving,
    Family.TREE: lambda _network, _phase, _order, _circle_of: None,
}
"""The order in which ranks end a phase that they start in some order; None where it is not known."""


def after_collective(
    network: Network, course: Course, order: Order, members: Callable[[int], tuple[int, ...]]
) -> Order | None:
    """The order in which ranks that start a collective together, in some order, end it; None where it is not known.

    Args:
        network: of the machine.
        course: of the collective, seen from one of the ranks.
        order: of all ranks that act alike, in all groups.
        members: of a rank's communicator group; () where the collective goes by dimensions.
    """
    path = trigger_path(network, course)
    if path is None:
        return None
    for phase in path:

        def circle_of(rank: int, circle: Circle = phase.circle) -> Circle:
            return Circle(circle.size, 1, members(rank)) if circle.listed else circle

        following = PHASES[phase.algorithm.family](network, phase, order, circle_of)
        if following is None:
            return None
        order = following
    return order
