"""One collective whose members do not look alike: they start at different times, or have unequal links, or climb trees.

Every member is played message by message (section 3), with nothing else on the machine: an NPU has one collective in
flight at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from astrac.player.clock import Clock
from astrac.player.messages import FreeWires, Post
from astrac.player.network import Broken
from astrac.player.phases import Family
from astrac.player.streams import Station

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.job import Kind
    from astrac.player.network import Network
    from astrac.player.phases import Course

EVENTS_A_MESSAGE = 4
"""Events that one message costs, about: what it is to play it."""


class Ends(NamedTuple):
    """Of a collective's members.

    Attributes:
        ticks: when each ends, in their order.
        fault: whether the simulator writes to freed memory meanwhile.
    """

    ticks: tuple[int, ...]
    fault: bool = False


def messages(course: Course) -> int:
    """How many messages one member sends, about."""
    total = 0
    for phase in course.phases:
        peers = phase.circle.size - 1
        sends = {Family.RING: peers, Family.DIRECT: peers, Family.HALVING: peers.bit_length(), Family.TREE: 2}
        quadratic = phase.algorithm.family is Family.RING and phase.kind.name == "ALL_TO_ALL"
        total += sends[phase.algorithm.family] * (peers if quadratic else 2)
    return course.count * total


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


def apart(
    network: Network,
    course: Course,
    ranks: Sequence[int],
    starts: Sequence[int],
    trees: dict[tuple[Kind, int], int],
    limit: int,
) -> Ends:
    """When each member ends.

    Args:
        network: of the machine.
        course: of the collective.
        ranks: the members.
        starts: tick at which each starts; ties start in order of rank.
        trees: how many trees of each kind and level they have used before.
        limit: events that may be played.

    Raises:
        Broken: when members never end, or it is too much to play.
    """
    clock = Clock(limit)
    post = Post(clock, FreeWires(network, clock), network.npus)
    ends: dict[int, int] = {}
    shift = min(starts) - 1
    for start, rank in sorted(zip(starts, ranks, strict=True)):
        station = Station(rank, network, clock, post)
        station.trees.update(trees)
        clock.after(start - shift, _start, (station, course, ends))
    clock.play()
    if len(ends) < len(ranks):
        raise Broken(f"{course.kind.name} never completes on {len(ranks) - len(ends)} of its {len(ranks)} ranks")
    return Ends(tuple(ends[rank] + shift for rank in ranks), clock.fault is not None)


def _start(setting: tuple[Station, Course, dict[int, int]], _argument: None) -> None:
    station, course, ends = setting
    station.issue(course, 0, partial(_end, station, ends))


def _end(station: Station, ends: dict[int, int]) -> None:
    ends[station.rank] = station.clock.now
