"""One collective whose members do not look alike: they start at different times, or have unequal links, or climb trees.

Every member is played message by message (section 3), with nothing else on the machine: an NPU has one collective in
flight at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
from astrac.simulators.astra_sim_2.simulate.messages import MessageMatcher, UncongestedNetwork
from astrac.simulators.astra_sim_2.simulate.network import Broken, TooMuch
from astrac.simulators.astra_sim_2.simulate.streams import SystemLayer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.job import Kind
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Network

Turns = dict[tuple["Kind", int], int]
"""(kind, level) -> variants of an algorithm used."""
EVENTS_A_MESSAGE = 4
"""Events that one message costs, about: what it is to play it."""


class Ends(NamedTuple):
    """Of a collective's members.

    Attributes:
        ticks: when each ends, in the order of the members.
        order: the members, by index, in the order in which they end.
        fault: whether the simulator writes to freed memory meanwhile.
    """

    ticks: tuple[int, ...]
    order: tuple[int, ...]
    fault: bool = False


def messages(schedule: CollectiveSchedule) -> int:
    """About how many messages one member sends."""
    return schedule.count * sum(phase.algorithm.sends(phase) for phase in schedule.phases)


def span(network: Network, schedule: CollectiveSchedule) -> list[tuple[int, int]]:
    """(stride, size) of the digits in which the ranks of a collective by dimensions differ, outermost first."""
    digits = {(phase.ring.stride, phase.ring.size) for phase in schedule.phases}
    whole = (1, network.npus)
    return [whole] if whole in digits else sorted(digits, reverse=True)


def taking_part(network: Network, schedule: CollectiveSchedule, rank: int) -> tuple[int, ...]:
    """The ranks that a rank's collective exchanges messages with, itself included; ascending unless listed."""
    if schedule.listed:
        return schedule.phases[0].ring.members
    digits = span(network, schedule)
    ranks = [rank - sum(rank // stride % size * stride for stride, size in digits)]
    for stride, size in digits:
        ranks = [at + index * stride for at in ranks for index in range(size)]
    return tuple(ranks)


def messages_apart(
    network: Network, schedule: CollectiveSchedule, starts: Sequence[tuple[int, int]], turns: Turns, limit: int
) -> Ends:
    """When each member of a collective ends, message by message.

    Args:
        network: of the machine.
        schedule: of the collective.
        starts: rank and tick of each member; those that start in one tick do so in this order.
        turns: how many variants of an algorithm they have used before, by kind and level.
        limit: events that may be played.

    Raises:
        Broken: when members never end.
        TooMuch: when it is too much to play.
    """
    if len(starts) * messages(schedule) * EVENTS_A_MESSAGE > limit:
        raise TooMuch
    clock = EventQueue(limit)
    matcher = MessageMatcher(clock, UncongestedNetwork(network, clock), network.npus)
    ends: dict[int, int] = {}
    shift = min(tick for _, tick in starts) - 1
    for rank, tick in starts:
        layer = SystemLayer(rank, network, clock, matcher)
        layer.turns.update(turns)
        clock.after(tick - shift, _start, (layer, schedule, ends))
    clock.play()
    if len(ends) < len(starts):
        reason = f"{schedule.kind.name} never completes on {len(starts) - len(ends)} of its {len(starts)} ranks"
        raise Broken.collective(reason)
    index = {rank: number for number, (rank, _) in enumerate(starts)}
    return Ends(
        tuple(ends[rank] + shift for rank, _ in starts), tuple(index[rank] for rank in ends), clock.fault is not None
    )


def _start(setting: tuple[SystemLayer, CollectiveSchedule, dict[int, int]], _argument: None) -> None:
    layer, schedule, ends = setting
    layer.issue(schedule, 0, partial(_end, layer, ends))


def _end(layer: SystemLayer, ends: dict[int, int]) -> None:
    ends[layer.rank] = layer.clock.now
