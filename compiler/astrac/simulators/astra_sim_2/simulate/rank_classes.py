"""Which ranks act alike, as a simulation by classes asks for it.

`axis_classes` tells it from the axes of a Job alone, `refined_classes` for any Job, rank by rank.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.simulators.astra_sim_2.simulate.collectives import communicator

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from astrac.job import Box, Collective, Job, Receive, Send
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Link, Network


class Representative(NamedTuple):
    """The rank that stands for a class.

    Attributes:
        key: of the class, until classes are refined.
        program: index of the Program that its ranks run.
        rank: the lowest of them.
    """

    key: Any
    program: int
    rank: int


class Origin(NamedTuple):
    """Where a refined class comes from.

    Attributes:
        key: of the class that it was part of.
        place: its ranks' index in the group of the collective that told them apart; -1 when they took no part.
    """

    key: Any
    place: int


class CommunicatorGroup(NamedTuple):
    """The ranks that exchange messages in a collective, as one of them sees it.

    Attributes:
        keys: of the distinct classes among them.
        members: all of them in order, as (key of the class, rank); an iterator, for it has the length of the group.
    """

    keys: tuple[Any, ...]
    members: Iterator[tuple[Any, int]]


class RankClasses(ABC):
    """A partition of the ranks, which gets finer as ranks are told apart."""

    def __init__(self, job: Job, network: Network) -> None:
        self._job = job
        self._network = network

    @abstractmethod
    def representatives(self) -> list[Representative]:
        """One of each class, by rank."""

    @abstractmethod
    def peer(self, key: Any, op: Send | Receive) -> tuple[Any, Link]:
        """The class that a class sends to or receives from, and the link between."""

    @abstractmethod
    def channel(self, key: Any, op: Send | Receive, program: int) -> int | None:
        """Names what a message matches: the first node of the receiver that receives such a one; None = no node does.

        Args:
            key: of the class that sends or receives.
            op: its node.
            program: of the receiver.
        """

    @abstractmethod
    def own(self, rank: int, op: Collective) -> Collective:
        """The node of a rank's own Program that is like another's."""

    @abstractmethod
    def name(self, rank: int, op: Collective) -> Hashable:
        """Equal for groups whose collectives are alike in phases and links."""

    @abstractmethod
    def group(self, key: Any, op: Collective, schedule: CollectiveSchedule) -> CommunicatorGroup:
        """Who takes part in a collective."""

    @abstractmethod
    def refine(
        self, meeting: dict[Any, Collective], schedule: CollectiveSchedule, ends: Sequence[int]
    ) -> dict[Any, Origin]:
        """Tells apart what the ends of a collective told apart.

        Args:
            meeting: the classes that take part, each with its node.
            schedule: of the collective.
            ends: of the members of one group, by index.

        Returns:
            The origins of all refined classes, by their new keys.
        """

    @abstractmethod
    def scatter(self) -> dict[Any, Origin]:
        """Tells all ranks apart; the origins of all, by their new keys."""

    @abstractmethod
    def boxes(self, key: Any) -> tuple[Box, ...]:
        """The ranks of a class."""

    def members(self, op: Collective, rank: int) -> tuple[int, ...]:
        """The communicator group of a rank, in listed order; () for one that is given by dimensions."""
        return communicator(self._job, self.own(rank, op).group, rank)
