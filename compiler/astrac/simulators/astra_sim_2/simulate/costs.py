"""What things cost in a play. `SIMULATOR` equals ASTRA-sim; `UNIT` serves a proof that a schedule ends at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from astrac.simulators.astra_sim_2.simulate.apart import apart
from astrac.simulators.astra_sim_2.simulate.members import Ends, Trees
from astrac.simulators.astra_sim_2.simulate.network import Network
from astrac.simulators.astra_sim_2.simulate.prices import lasting
from astrac.simulators.astra_sim_2.simulate.together import Together, together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.job import Machine, Op
    from astrac.simulators.astra_sim_2.simulate.network import Link
    from astrac.simulators.astra_sim_2.simulate.phases import Course


class Apart(Protocol):
    """When each member of a collective ends, given when each starts; see `apart.apart`."""

    def __call__(
        self,
        network: Network,
        course: Course,
        starts: Sequence[tuple[int, int]],
        trees: Trees,
        limit: int,
        *,
        ordered: bool,
    ) -> Ends:
        """Called when the last member has come."""


@dataclass(frozen=True)
class Cost:
    """A cost function for a play.

    Attributes:
        lasting: ns of a node that lasts by itself, `prices.SKIPPED`, or None when it depends on other ranks.
        message: ns of a send over a link.
        together: a collective whose members start together; None when they end apart.
        apart: the same for members that start or end apart.
        exact: whether ties within a tick matter.
    """

    lasting: Callable[[Machine, Op], int | None]
    message: Callable[[Network, Link, int], int]
    together: Callable[[Network, Course], Together | None]
    apart: Apart
    exact: bool = True


SIMULATOR = Cost(lasting, Network.delay, together, apart)
"""The congestion-unaware backend."""


def _unit_lasting(machine: Machine, op: Op) -> int | None:
    return None if lasting(machine, op) is None else 1


def _unit_apart(
    network: Network,
    course: Course,
    starts: Sequence[tuple[int, int]],
    trees: Trees,
    limit: int,
    *,
    ordered: bool,
) -> Ends:
    del network, course, trees, limit, ordered
    last = max(tick for _, tick in starts)
    return Ends((last + 1,) * len(starts), tuple(range(len(starts))))


UNIT = Cost(
    _unit_lasting,
    lambda _network, _link, _size: 1,
    lambda _network, _course: Together(1, 1),
    _unit_apart,
    exact=False,
)
"""Everything takes one tick; a collective ends one tick after its last member has come."""
