"""A representative: the state of ranks that act alike."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.simulators.astra_sim_2.simulate.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Hashable

    from astrac.job import Collective, Kind, Op
    from astrac.simulators.astra_sim_2.simulate.cast import Role
    from astrac.simulators.astra_sim_2.simulate.desk import Script
    from astrac.simulators.astra_sim_2.simulate.phases import Course
    from astrac.simulators.astra_sim_2.simulate.together import Together


class Way(NamedTuple):
    """What one sort of collective is to one role.

    Attributes:
        course: its chunks and phases.
        keys: of the roles that meet in it.
        place: names the meeting: equal for the same group, whoever speaks of it.
        listed: whether it is a communicator group, whose streams are counted apart; None = it is the whole machine or
            some dimensions. Then the number of the group.
        levels: whose trees it uses.
        alone: how long it lasts when all members are this role and end together; None when they are not or do not.
    """

    course: Course
    keys: tuple[Any, ...]
    place: Hashable
    listed: int | None
    levels: tuple[int, ...]
    alone: Together | None


class Meeting(NamedTuple):
    """A collective that a rank has issued and that is not under way.

    Attributes:
        number: index of its node.
        since: the tick.
        turn: counts what was issued, for the order within a tick.
        way: what it is.
        mark: what must be equal on all members for their messages to match: kind, bytes, whether it is a
            communicator group, chunk streams before, trees before.
    """

    number: int
    since: int
    turn: int
    way: Way
    mark: tuple[Any, ...]


class Actor:
    """A representative.

    Attributes:
        role: whom it stands for.
        desk: its nodes.
        starts, ends: tick of each node, -1 before.
        causes: for each node the one whose end let it be issued, -1 at the start.
        device: ns of compute so far.
        finish: tick at which the simulator declares it finished.
        odd: whether it has issued a host or memory node.
        streams, group_streams: chunk streams issued, on the whole machine and by group.
        trees: (kind, level) -> trees used.
        arrived, posted: by channel, messages without a receive (when they were sent) and receives without a message.
        meeting: the collective that waits for its members.
        batch: its last collective with others, and which ranks it ended with in a known order.
        ways: by sort of collective; forgotten when the cast is refined.
        last: the last end: tick, when it was registered, node, nodes issued then.
    """

    def __init__(self, role: Role, script: Script) -> None:
        count = len(script.ops)
        self.role = role
        self.desk = Desk(script)
        self.starts = [-1] * count
        self.ends = [-1] * count
        self.causes = [-1] * count
        self.device = 0
        self.finish: int | None = None
        self.odd = False
        self.streams = 0
        self.group_streams: dict[int, int] = defaultdict(int)
        self.trees: dict[tuple[Kind, int], int] = defaultdict(int)
        self.arrived: dict[int, deque[int]] = defaultdict(deque)
        self.posted: dict[int, deque[int]] = defaultdict(deque)
        self.meeting: Meeting | None = None
        self.batch = (-1, -1)
        self.ways: dict[int, Way] = {}
        self.last = (-1, -1, -1, [-1])

    def copy(self, role: Role, script: Script) -> Actor:
        """The same so far, for a part of the ranks."""
        other = Actor(role, script)
        other.desk = self.desk.copy(script)
        other.starts, other.ends, other.causes = list(self.starts), list(self.ends), list(self.causes)
        other.device, other.finish, other.odd, other.streams = self.device, self.finish, self.odd, self.streams
        other.group_streams.update(self.group_streams)
        other.trees.update(self.trees)
        other.arrived.update({channel: deque(waiting) for channel, waiting in self.arrived.items()})
        other.posted.update({channel: deque(waiting) for channel, waiting in self.posted.items()})
        other.meeting, other.batch, other.last = self.meeting, self.batch, self.last
        return other

    def op(self, number: int) -> Any:
        """The node at an index."""
        return self.desk.script.ops[number]

    @property
    def open(self) -> list[Op]:
        """Nodes that have been issued and have not ended."""
        return [
            op for op, start, end in zip(self.desk.script.ops, self.starts, self.ends, strict=True) if start >= 0 > end
        ]

    @property
    def collective(self) -> Collective:
        """The node of its meeting."""
        assert self.meeting is not None
        op: Collective = self.op(self.meeting.number)
        return op
