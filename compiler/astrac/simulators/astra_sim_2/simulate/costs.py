"""What things cost in a simulation. `SIMULATOR` equals ASTRA-sim; `UNIT` serves a proof that a schedule ends at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from astrac.simulators.astra_sim_2.simulate.members import Ends, Turns
from astrac.simulators.astra_sim_2.simulate.network import Network
from astrac.simulators.astra_sim_2.simulate.prices import lasting
from astrac.simulators.astra_sim_2.simulate.staggered import staggered
from astrac.simulators.astra_sim_2.simulate.symmetric import CollectiveDuration, symmetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.job import Machine, Op
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Link


class Staggered(Protocol):
    """When each member of a collective ends, given when each starts; see `staggered.staggered`."""

    def __call__(
        self,
        network: Network,
        schedule: CollectiveSchedule,
        starts: Sequence[tuple[int, int]],
        turns: Turns,
        limit: int,
        *,
        ordered: bool,
    ) -> Ends:
        """Called when the last member has come."""


@dataclass(frozen=True)
class Cost:
    """The cost functions of a simulation.

    Attributes:
        lasting: ns of a node that lasts by itself, `prices.SKIPPED`, or None when it depends on other ranks.
        message: ns of a send over a link.
        symmetric: a collective whose members start together; None when they end apart.
        staggered: the same for members that start or end apart.
        exact: whether ties within a tick matter.
    """

    lasting: Callable[[Machine, Op], int | None]
    message: Callable[[Network, Link, int], int]
    symmetric: Callable[[Network, CollectiveSchedule], CollectiveDuration | None]
    staggered: Staggered
    exact: bool = True


SIMULATOR = Cost(lasting, Network.delay, symmetric, staggered)
"""The congestion-unaware backend."""


def _unit_lasting(machine: Machine, op: Op) -> int | None:
    return None if lasting(machine, op) is None else 1


def _unit_staggered(
    network: Network,
    schedule: CollectiveSchedule,
    starts: Sequence[tuple[int, int]],
    turns: Turns,
    limit: int,
    *,
    ordered: bool,
) -> Ends:
    del network, schedule, turns, limit, ordered
    last = max(tick for _, tick in starts)
    return Ends((last + 1,) * len(starts), tuple(range(len(starts))))


UNIT = Cost(
    _unit_lasting,
    lambda _network, _link, _size: 1,
    lambda _network, _schedule: CollectiveDuration(1, 1),
    _unit_staggered,
    exact=False,
)
"""Everything takes one tick; a collective ends one tick after its last member has come."""
