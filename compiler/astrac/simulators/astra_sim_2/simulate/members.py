"""One collective whose members do not look alike: they start at different times, or have unequal links, or climb trees.

Every member is played message by message (section 3), with nothing else on the machine: an NPU has one collective in
flight at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
from astrac.simulators.astra_sim_2.simulate.messages import ITINERARIES, FreeWires, Post
from astrac.simulators.astra_sim_2.simulate.network import Broken, TooMuch
from astrac.simulators.astra_sim_2.simulate.phases import Family
from astrac.simulators.astra_sim_2.simulate.streams import Station

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.job import Kind
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course

Trees = dict[tuple["Kind", int], int]
"""(kind, level) -> trees used."""
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


def messages(course: Course) -> int:
    """How many messages one member sends; about two in a tree."""
    sends = (
        2 if phase.algorithm.family is Family.TREE else ITINERARIES[phase.algorithm.family](phase, 0, 1).sends
        for phase in course.phases
    )
    return course.count * sum(sends)


def span(network: Network, course: Course) -> list[tuple[int, int]]:
    """(stride, size) of the digits in which the ranks of a collective by dimensions differ, outermost first."""
    digits = {(phase.circle.stride, phase.circle.size) for phase in course.phases}
    whole = (1, network.npus)
    return [whole] if whole in digits else sorted(digits, reverse=True)


def taking_part(network: Network, course: Course, rank: int) -> tuple[int, ...]:
    """The ranks that a rank's collective exchanges messages with, itself included; ascending unless listed."""
    if course.phases[0].circle.listed:
        return course.phases[0].circle.members
    digits = span(network, course)
    ranks = [rank - sum(rank // stride % size * stride for stride, size in digits)]
    for stride, size in digits:
        ranks = [at + index * stride for at in ranks for index in range(size)]
    return tuple(ranks)


def messages_apart(
    network: Network, course: Course, starts: Sequence[tuple[int, int]], trees: Trees, limit: int
) -> Ends:
    """When each member of a collective ends, message by message.

    Args:
        network: of the machine.
        course: of the collective.
        starts: rank and tick of each member; those that start in one tick do so in this order.
        trees: how many trees of each kind and level they have used before.
        limit: events that may be played.

    Raises:
        Broken: when members never end.
        TooMuch: when it is too much to play.
    """
    if len(starts) * messages(course) * EVENTS_A_MESSAGE > limit:
        raise TooMuch
    clock = EventQueue(limit)
    post = Post(clock, FreeWires(network, clock), network.npus)
    ends: dict[int, int] = {}
    shift = min(tick for _, tick in starts) - 1
    for rank, tick in starts:
        station = Station(rank, network, clock, post)
        station.trees.update(trees)
        clock.after(tick - shift, _start, (station, course, ends))
    clock.play()
    if len(ends) < len(starts):
        reason = f"{course.kind.name} never completes on {len(starts) - len(ends)} of its {len(starts)} ranks"
        raise Broken.collective(reason)
    index = {rank: number for number, (rank, _) in enumerate(starts)}
    return Ends(
        tuple(ends[rank] + shift for rank, _ in starts), tuple(index[rank] for rank in ends), clock.fault is not None
    )


def _start(setting: tuple[Station, Course, dict[int, int]], _argument: None) -> None:
    station, course, ends = setting
    station.issue(course, 0, partial(_end, station, ends))


def _end(station: Station, ends: dict[int, int]) -> None:
    ends[station.rank] = station.clock.now
