"""What is known of a rank, or of ranks that are simulated as one, at a moment of the simulation."""

from __future__ import annotations

from collections import defaultdict, deque
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.simulators.astra_sim_2.simulate.issue import IssueQueue

if TYPE_CHECKING:
    from collections.abc import Hashable

    from astrac.job import Collective, Kind, Op
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.issue import DependencyGraph
    from astrac.simulators.astra_sim_2.simulate.rank_classes import Representative
    from astrac.simulators.astra_sim_2.simulate.symmetric import CollectiveDuration


class RankState:
    """One rank.

    Attributes:
        rank: its number.
        program: index of the Program that it runs.
        queue: its nodes.
        owner: in whose own list of the event queue its events stand.
        starts, ends: tick of each node, -1 before.
        causes: for each node the one whose end let it be issued, -1 at the start.
        device: ns of compute so far.
        finish: tick at which the simulator declares it finished.
        odd: whether it has issued a host or memory node.
    """

    def __init__(self, rank: int, program: int, graph: DependencyGraph) -> None:
        self.rank = rank
        self.program = program
        self.queue = IssueQueue(graph)
        self.owner: Any = self
        self.starts = [-1] * len(graph.ops)
        self.ends = [-1] * len(graph.ops)
        self.causes = [-1] * len(graph.ops)
        self.device = 0
        self.finish: int | None = None
        self.odd = False

    def op(self, number: int) -> Any:
        """The node at an index."""
        return self.queue.graph.ops[number]

    @property
    def open(self) -> list[Op]:
        """Nodes that have been issued and have not ended."""
        nodes = zip(self.queue.graph.ops, self.starts, self.ends, strict=True)
        return [op for op, start, end in nodes if start >= 0 > end]

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The tick at which each node has started and ended."""
        return tuple(zip(self.starts, self.ends, strict=True))


class Rendezvous(NamedTuple):
    """What collectives of one signature are to one class of ranks.

    Attributes:
        schedule: their chunks and phases.
        keys: of the classes that meet in them.
        place: names where members meet: equal for the same group, whoever speaks of it.
        listed: the number of the communicator group, whose streams are counted apart; None where the collective is
            the whole machine's or some dimensions'.
        levels: whose trees they use.
        alone: how long one lasts when all members are of this class and end together; None when they are not or do not.
    """

    schedule: CollectiveSchedule
    keys: tuple[Any, ...]
    place: Hashable
    listed: int | None
    levels: tuple[int, ...]
    alone: CollectiveDuration | None


class PendingCollective(NamedTuple):
    """A collective that a class of ranks has issued and that is not under way.

    Attributes:
        number: index of its node.
        since: the tick.
        turn: counts what was issued, for the order within a tick.
        rendezvous: whom it waits for.
        envelope: what must be equal on all members for their messages to match: kind, bytes, whether it is a
            communicator group, chunk streams before, trees before.
    """

    number: int
    since: int
    turn: int
    rendezvous: Rendezvous
    envelope: tuple[Any, ...]


class RankClassState(RankState):
    """Ranks that are simulated as one.

    Attributes:
        key: of the class.
        streams, group_streams: chunk streams issued, on the whole machine and by communicator group.
        trees: (kind, level) -> trees used.
        arrived, posted: by channel, messages without a receive (when they were sent) and receives without a message.
        pending: the collective that waits for its members.
        batch: the last collective with others, and which ranks it ended with in a known order.
        rendezvous: by signature of a collective; forgotten when classes are refined.
        last: the last end: tick, when it was registered, node, nodes issued then.
    """

    def __init__(self, whom: Representative, graph: DependencyGraph) -> None:
        super().__init__(whom.rank, whom.program, graph)
        self.key = whom.key
        self.streams = 0
        self.group_streams: dict[int, int] = defaultdict(int)
        self.trees: dict[tuple[Kind, int], int] = defaultdict(int)
        self.arrived: dict[int, deque[int]] = defaultdict(deque)
        self.posted: dict[int, deque[int]] = defaultdict(deque)
        self.pending: PendingCollective | None = None
        self.batch = (-1, -1)
        self.rendezvous: dict[int, Rendezvous] = {}
        self.last = (-1, -1, -1, [-1])

    def become(self, whom: Representative, graph: DependencyGraph) -> None:
        """Stands for a part of its ranks from now on."""
        self.rank, self.program, self.key = whom.rank, whom.program, whom.key
        self.queue.graph = graph
        self.rendezvous = {}

    def copy(self, whom: Representative, graph: DependencyGraph) -> RankClassState:
        """The same so far, for another part of the ranks."""
        other = copy(self)
        other.owner = other
        other.queue = self.queue.copy(graph)
        other.starts, other.ends, other.causes = list(self.starts), list(self.ends), list(self.causes)
        other.group_streams, other.trees = self.group_streams.copy(), self.trees.copy()
        other.arrived = defaultdict(deque, {channel: deque(times) for channel, times in self.arrived.items()})
        other.posted = defaultdict(deque, {channel: deque(nodes) for channel, nodes in self.posted.items()})
        other.become(whom, graph)
        return other

    @property
    def collective(self) -> Collective:
        """The node of its pending collective."""
        assert self.pending is not None
        op: Collective = self.op(self.pending.number)
        return op
