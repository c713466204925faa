"""ASTRA-SIM-2 section 4, representatives: what a play asks of whoever tells which ranks act alike.

`axes` tells it from the axes of a Job alone, `colours` for any Job, rank by rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from astrac.job import Box, Collective, Receive, Send
    from astrac.simulators.astra_sim_2.simulate.network import Link
    from astrac.simulators.astra_sim_2.simulate.phases import Course

TAGS = 500_000_000
"""Tags of sends and receives count modulo this."""


class Role(NamedTuple):
    """Ranks that are played as one.

    Attributes:
        key: names it until the cast is refined.
        program: index of the Program that they run.
        rank: one of them.
    """

    key: Any
    program: int
    rank: int


class Origin(NamedTuple):
    """Where a role of a refined cast comes from.

    Attributes:
        key: of the role that it was part of.
        seat: its place in the collective that told it apart; -1 when it took no part.
    """

    key: Any
    seat: int


class Assembly(NamedTuple):
    """The ranks of one collective's group, seen from a role.

    Attributes:
        keys: of the distinct roles among them.
        seats: every member in order, as (role's key, rank); an iterator, for it has the length of the group.
    """

    keys: tuple[Any, ...]
    seats: Iterator[tuple[Any, int]]


class Cast(Protocol):
    """Who is who."""

    def roles(self) -> list[Role]:
        """All of them."""

    def peer(self, key: Any, op: Send | Receive) -> tuple[Any, Link]:
        """The role that a role sends to or receives from, and the link between."""

    def channel(self, key: Any, op: Send | Receive, program: int) -> int | None:
        """Names what a message matches: the first node of the receiver that receives such a one; None = no node does.

        Args:
            key: the role that sends or receives.
            op: its node.
            program: of the receiver.
        """

    def members(self, rank: int, op: Collective) -> tuple[int, ...]:
        """Of a communicator group, in listed order; () for one that is given by dimensions."""

    def name(self, rank: int, op: Collective) -> Hashable:
        """Equal for groups whose collectives take the same course."""

    def group(self, rank: int, op: Collective) -> Hashable:
        """The group that a rank's own node names, like the one asked for."""

    def assembly(self, key: Any, op: Collective, course: Course) -> Assembly:
        """Who meets in a collective."""

    def refine(self, meeting: dict[Any, Collective], course: Course, ends: Sequence[int]) -> dict[Any, Origin]:
        """Tells apart what the ends of a collective told apart.

        Args:
            meeting: the roles that take part, each with its node.
            course: of the collective.
            ends: of one group, by seat.

        Returns:
            All roles of the refined cast, by their new keys.
        """

    def scatter(self) -> dict[Any, Origin]:
        """Tells all ranks apart; every one, by its new key, without a seat."""

    def boxes(self, key: Any) -> tuple[Box, ...]:
        """The ranks of a role."""
