"""The system layer of one rank: chunk streams wait in queues, one a dimension, and run phase after phase.

docs/simulators/astra-sim-2.md, section 3.4.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from astrac.job import Kind
from astrac.simulators.algorithms.row import Place
from astrac.simulators.astra_sim_2.simulate.chunk_queue import ChunkQueue
from astrac.simulators.astra_sim_2.simulate.event_queue import bundle
from astrac.simulators.astra_sim_2.simulate.network import FREED_PACKET

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.simulators.algorithms.row import Phase
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
    from astrac.simulators.astra_sim_2.simulate.messages import MessageMatcher
    from astrac.simulators.astra_sim_2.simulate.network import Network

GROUP_STREAMS = 1_000_000
"""A communicator group numbers its streams from id x this."""
COLLECTIVE_TAGS = 500_000_000
"""Stream numbers become tags modulo this, above this."""


def stream_tag(stream: int) -> int:
    """The tag of a stream: its number as a 32-bit integer, then C's remainder."""
    wrapped = (stream + (1 << 31)) % (1 << 32) - (1 << 31)
    return (wrapped % COLLECTIVE_TAGS if wrapped >= 0 else -(-wrapped % COLLECTIVE_TAGS)) + COLLECTIVE_TAGS


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


class SystemLayer:
    """The queues of one rank, and the counters that outlive a collective.

    Attributes:
        streams: chunk streams issued so far: the number of the next whole-machine stream.
        group_streams: the same for each communicator group.
        turns: (kind, level) -> variants of an algorithm used so far: the two trees take turns.
    """

    def __init__(self, rank: int, network: Network, clock: EventQueue, post: MessageMatcher) -> None:
        self.rank = rank
        self.network = network
        self.clock = clock
        self.post = post
        self.streams = 0
        self.group_streams: dict[Hashable, int] = defaultdict(int)
        self.turns: dict[tuple[Kind, int], int] = defaultdict(int)
        machine = network.machine
        servers = -(-machine.active_chunks // machine.queues)
        self._queues: dict[int, ChunkQueue[Stream]] = defaultdict(lambda: ChunkQueue(servers))
        self._allocators: dict[int, Allocator] = defaultdict(lambda: Allocator(machine.queues))
        self._halves = machine.optimization != "baseline"

    def issue(self, schedule: CollectiveSchedule, group: Hashable | None, done: Callable[[], None]) -> None:
        """Starts a collective.

        Args:
            schedule: its chunks and phases.
            group: its id or, when nobody gave it one, its members; None for the whole machine.
            done: called when this rank's last chunk has ended.
        """
        dataset = _Dataset(schedule.count, done)
        for _ in range(schedule.count):
            number = self.streams
            self.streams += 1
            tag = stream_tag(number) if group is None else self._group_tag(group)
            legs = deque(self._leg(schedule, phase) for phase in schedule.phases)
            Stream(self, tag, legs, dataset).proceed()

    def _group_tag(self, group: Hashable) -> Hashable:
        number = self.group_streams[group]
        self.group_streams[group] += 1
        return stream_tag(group * GROUP_STREAMS + number) if isinstance(group, int) else (group, number)

    def _leg(self, schedule: CollectiveSchedule, phase: Phase) -> tuple[Phase, int, int, int]:
        allocator = self._allocators[phase.level]
        if schedule.kind is not Kind.ALL_REDUCE or not self._halves:
            queue, direction = allocator.any()
        else:
            queue, direction = allocator.last() if phase.returning else allocator.first()
        turn = 0
        if phase.algorithm.turns > 1:
            turn = self.turns[schedule.kind, phase.level] % phase.algorithm.turns
            self.turns[schedule.kind, phase.level] += 1
        return phase, phase.level * self.network.machine.queues + queue, direction, turn

    def queue(self, number: int) -> ChunkQueue[Stream]:
        """The queue of a number."""
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
    """One chunk on one rank: the `row.Member` that its algorithms talk to."""

    __slots__ = (
        "_dataset",
        "_direction",
        "_endpoint",
        "_index",
        "_layer",
        "_legs",
        "_phase",
        "_queue",
        "_tag",
        "_turn",
    )

    def __init__(
        self, layer: SystemLayer, tag: Hashable, legs: deque[tuple[Phase, int, int, int]], dataset: _Dataset
    ) -> None:
        self._layer = layer
        self._tag = tag
        self._legs = legs
        self._dataset = dataset
        self._queue: ChunkQueue[Stream] | None = None

    def proceed(self) -> None:
        """To the next phase: enter its queue, leave the last one. The order is the simulator's."""
        previous, current = self._queue, None
        if self._legs:
            self._phase, number, self._direction, self._turn = self._legs.popleft()
            self._queue = current = self._layer.queue(number)
            current.add(self)
        else:
            self._dataset.end()
        if previous is not None:
            previous.release()
            previous.serve(Stream.start)
        if current is not None:
            current.serve(Stream.start)

    finished = proceed

    def start(self) -> None:
        """The queue lets this stream's phase begin."""
        phase = self._phase
        ring = phase.ring
        self._index = ring.index(self._layer.rank)
        self._endpoint = self._layer.network.endpoint(group=ring.listed)
        phase.algorithm.state(self, phase, Place(self._index, self._direction, self._turn)).start()

    def bundle(self, reduction: int, done: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        """See `row.Member`."""
        bundle(self._layer.clock, self._layer, self._endpoint, reduction, (done, owner, argument))

    def fault(self) -> None:
        """See `row.Member`."""
        self._layer.clock.fault = FREED_PACKET

    def send(self, index: int, size: int) -> None:
        """See `row.Member`."""
        rank = self._layer.rank
        self._layer.post.send(self._tag, rank, self._phase.ring.rank(rank, index), size, None)

    def receive(self, index: int, size: int, received: Callable[[], None]) -> None:
        """See `row.Member`."""
        rank = self._layer.rank
        self._layer.post.receive(self._tag, self._phase.ring.rank(rank, index), rank, size, received)

    def reduction(self, size: int) -> int:
        """See `row.Member`."""
        return self._layer.network.reduction(size)
