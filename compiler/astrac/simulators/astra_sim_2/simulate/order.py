"""In which order ranks that act alike are served within a tick: what decides who is first at a shared memory.

Ranks that run in lock-step are served in the order in which their events were registered. Compute keeps that order, a
message hands it on to the receiver, and each step of a collective does so once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.algorithms.row import LogicalRing
from astrac.simulators.astra_sim_2.simulate.duration import RingCosts
from astrac.simulators.astra_sim_2.simulate.symmetric import trigger_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Network


def after_collective(
    network: Network, schedule: CollectiveSchedule, order: list[int], members: Callable[[int], tuple[int, ...]]
) -> list[int] | None:
    """The order in which ranks that start a collective together, in some order, end it; None where it is not known.

    Args:
        network: of the machine.
        schedule: of the collective, seen from one of the ranks.
        order: of all ranks that act alike, in all groups.
        members: of a rank's communicator group; () where the collective goes by dimensions.
    """
    path = trigger_path(network, schedule)
    if path is None:
        return None
    for phase in path:

        def ring_of(rank: int, ring: LogicalRing = phase.ring) -> LogicalRing:
            return LogicalRing(ring.size, 1, members(rank)) if ring.listed else ring

        following = phase.algorithm.order(phase, RingCosts(network, phase.ring), order, ring_of)
        if following is None:
            return None
        order = following
    return order
