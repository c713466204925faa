"""In which order ranks that act alike are served within a tick: what decides who is first at a shared memory.

Ranks that run in lock-step are served in the order in which their events were registered. Compute keeps that order, a
message hands it on to the receiver, and each step of a collective does so once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.player.duration import extreme_links
from astrac.player.phases import Family
from astrac.player.together import trigger_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.player.network import Network
    from astrac.player.phases import Course, Phase

Order = list[int]


def _shifted(order: Order, phase: Phase, steps: int) -> Order:
    circle = phase.circle
    return [circle.rank(rank, circle.index(rank) + steps) for rank in order]


def _ring(_network: Network, phase: Phase, order: Order) -> Order:
    """Each message makes the next of the ring take the place of its sender."""
    size = phase.circle.size
    steps = {Kind.ALL_REDUCE: 2 * (size - 1), Kind.ALL_TO_ALL: size * (size - 1) // 2}.get(phase.kind, size - 1)
    return _shifted(order, phase, -steps if phase.returning else steps)


def _direct(network: Network, phase: Phase, order: Order) -> Order | None:
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
                phase.circle.rank(rank, phase.circle.index(rank) + direction * step)
                for rank in order
                for step in range(1, phase.circle.size)
            )
        )
    return order


def _halving(_network: Network, phase: Phase, order: Order) -> Order:
    """Partners change places at each step: after all offsets, an index and its complement."""
    if phase.kind is Kind.ALL_REDUCE:
        return order
    circle = phase.circle
    return [circle.rank(rank, circle.size - 1 - circle.index(rank)) for rank in order]


PHASES: dict[Family, Callable[[Network, Phase, Order], Order | None]] = {
    Family.RING: _ring,
    Family.DIRECT: _direct,
    Family.HALVING: _halving,
    Family.TREE: lambda _network, _phase, _order: None,
}
"""The order in which ranks end a phase that they start in some order; None where it is not known."""


def after_collective(network: Network, course: Course, order: Order) -> Order | None:
    """The order in which ranks that start a collective together, in some order, end it; None where it is not known."""
    for phase in trigger_path(network, course):
        following = PHASES[phase.algorithm.family](network, phase, order)
        if following is None:
            return None
        order = following
    return order
