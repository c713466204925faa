"""ASTRA-SIM-2 section 3.4 on one rank: chunk streams wait in queues, one a dimension, and run phase after phase."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from astrac.simulators.astra_sim_2.simulate.messages import ITINERARIES, Climb, TreeNode, Walk
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET
from astrac.simulators.astra_sim_2.simulate.phases import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.job import Kind
    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.messages import Post
    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Course, Phase

GROUP_STREAMS = 1_000_000
"""A communicator group numbers its streams from id x this."""
COLLECTIVE_TAGS = 500_000_000
"""Stream numbers become tags modulo this, above this."""


def stream_tag(stream: int) -> int:
    """The tag of a stream: its number as a 32-bit integer, then C's remainder."""
    wrapped = (stream + (1 << 31)) % (1 << 32) - (1 << 31)
    return (wrapped % COLLECTIVE_TAGS if wrapped >= 0 else -(-wrapped % COLLECTIVE_TAGS)) + COLLECTIVE_TAGS


class Queue:
    """A server for `servers` streams at a time, first come first served."""

    __slots__ = ("_running", "_servers", "_waiting")

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._running = 0
        self._waiting: deque[Stream] = deque()

    def add(self, stream: Stream) -> None:
        """Puts a stream at the end; `serve` starts it."""
        self._waiting.append(stream)

    def release(self) -> None:
        """One that ran is gone."""
        self._running -= 1

    def serve(self) -> None:
        """Starts what can run."""
        while self._waiting and self._running < self._servers:
            stream = self._waiting.popleft()
            self._running += 1
            stream.start()


class Allocator:
    """Which of a dimension's queues the next phase takes, and which way round it goes (1 clockwise, -1 the other).

    A first pass takes the first half and a returning phase the second; everything but a localBWAware all-reduce takes
    all in turn. With one queue there is no choice.
    """

    __slots__ = ("_all", "_first", "_last", "_queues")

    def __init__(self, queues: int) -> None:
        self._queues = queues
        self._all = 0
        self._first = 0
        self._last = queues // 2

    def any(self) -> tuple[int, int]:
        """The next of all."""
        queue = self._all
        self._all = (queue + 1) % self._queues
        return queue, -1 if self._queues > 1 and queue >= self._queues // 2 else 1

    def first(self) -> tuple[int, int]:
        """The next of the first half."""
        queue = self._first
        self._first = queue + 1 if queue + 1 < self._queues // 2 else 0
        return queue, 1

    def last(self) -> tuple[int, int]:
        """The next of the second half."""
        queue = self._last
        self._last = queue + 1 if queue + 1 < self._queues else self._queues // 2
        return queue, -1


class Station:
    """The system layer of one rank: its queues and the counters that outlive a collective.

    Attributes:
        streams: chunk streams issued so far: the number of the next whole-machine stream.
        group_streams: the same for each communicator group.
        trees: (kind, level) -> trees used so far; odd ones are the second tree.
    """

    def __init__(self, rank: int, network: Network, clock: EventQueue, post: Post) -> None:
        self.rank = rank
        self.network = network
        self.clock = clock
        self.post = post
        self.streams = 0
        self.group_streams: dict[Hashable, int] = defaultdict(int)
        self.trees: dict[tuple[Kind, int], int] = defaultdict(int)
        machine = network.machine
        servers = -(-machine.active_chunks // machine.queues)
        self._queues: dict[int, Queue] = defaultdict(lambda: Queue(servers))
        self._allocators: dict[int, Allocator] = defaultdict(lambda: Allocator(machine.queues))
        self._halves = machine.optimization != "baseline"

    def issue(self, course: Course, group: Hashable | None, done: Callable[[], None]) -> None:
        """Starts a collective.

        Args:
            course: its chunks and phases.
            group: its id or, when nobody gave it one, its members; None for the whole machine.
            done: called when this rank's last chunk has ended.
        """
        dataset = _Dataset(course.count, done)
        for _ in range(course.count):
            number = self.streams
            self.streams += 1
            tag = stream_tag(number) if group is None else self._group_tag(group)
            legs = deque(self._leg(course, phase) for phase in course.phases)
            Stream(self, tag, legs, dataset).proceed()

    def _group_tag(self, group: Hashable) -> Hashable:
        number = self.group_streams[group]
        self.group_streams[group] += 1
        return stream_tag(group * GROUP_STREAMS + number) if isinstance(group, int) else (group, number)

    def _leg(self, course: Course, phase: Phase) -> tuple[Phase, int, int, int]:
        allocator = self._allocators[phase.level]
        if course.kind.name != "ALL_REDUCE" or not self._halves:
            queue, direction = allocator.any()
        else:
            queue, direction = allocator.last() if phase.returning else allocator.first()
        second = 0
        if phase.algorithm.family is Family.TREE:
            second = self.trees[course.kind, phase.level] % 2
            self.trees[course.kind, phase.level] += 1
        return phase, phase.level * self.network.machine.queues + queue, direction, second

    def queue(self, number: int) -> Queue:
        """By its number."""
        return self._queues[number]


class _Dataset:
    __slots__ = ("done", "left")

    def __init__(self, left: int, done: Callable[[], None]) -> None:
        self.left = left
        self.done = done

    def end(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.done()


class Stream:
    """One chunk on one rank: the `Member` that its algorithms talk to."""

    __slots__ = (
        "_dataset",
        "_direction",
        "_endpoint",
        "_index",
        "_legs",
        "_phase",
        "_queue",
        "_second",
        "_station",
        "_tag",
    )

    def __init__(
        self, station: Station, tag: Hashable, legs: deque[tuple[Phase, int, int, int]], dataset: _Dataset
    ) -> None:
        self._station = station
        self._tag = tag
        self._legs = legs
        self._dataset = dataset
        self._queue: Queue | None = None

    def proceed(self) -> None:
        """To the next phase: enter its queue, leave the last one. The order is the simulator's."""
        previous, current = self._queue, None
        if self._legs:
            self._phase, number, self._direction, self._second = self._legs.popleft()
            self._queue = current = self._station.queue(number)
            current.add(self)
        else:
            self._dataset.end()
        if previous is not None:
            previous.release()
            previous.serve()
        if current is not None:
            current.serve()

    finished = proceed

    def start(self) -> None:
        """The queue lets this stream's phase begin."""
        phase = self._phase
        circle = phase.circle
        self._index = circle.index(self._station.rank)
        self._endpoint = self._station.network.endpoint(group=circle.listed)
        if phase.algorithm.family is Family.TREE:
            Climb(self, phase.size, TreeNode(circle.size, self._index, bool(self._second))).start()
        else:
            Walk(self, ITINERARIES[phase.algorithm.family](phase, self._index, self._direction)).start()

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        """See `messages.Member`."""
        clock = self._station.clock
        if reduction < 0:
            clock.after_own(self._station, self._endpoint, done, owner, argument)
        else:
            clock.after_own(
                self._station, self._endpoint, _reduce, (clock, self._station, reduction, done, owner, argument)
            )

    def fault(self) -> None:
        """See `messages.Member`."""
        self._station.clock.fault = FREED_PACKET

    def send(self, index: int, size: int) -> None:
        """See `messages.Member`."""
        rank = self._station.rank
        self._station.post.send(self._tag, rank, self._phase.circle.rank(rank, index), size, None)

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        """See `messages.Member`."""
        rank = self._station.rank
        self._station.post.receive(self._tag, self._phase.circle.rank(rank, index), rank, size, received)

    def reduction(self, size: int) -> int:
        """See `messages.Member`."""
        return self._station.network.reduction(size)


def _reduce(bundle: tuple[EventQueue, Station, int, Callable[[Any, Any], None], Any, Any], _argument: None) -> None:
    clock, station, reduction, done, owner, argument = bundle
    clock.after_own(station, reduction, done, owner, argument)
