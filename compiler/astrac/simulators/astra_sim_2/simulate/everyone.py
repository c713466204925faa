"""Every rank of a Job, message by message: the whole simulator in small.

It costs what the simulator costs, so it is for what one representative cannot know: ties within a tick, a shared
memory, and the congestion-aware backend. The bench puts it beside `play` as the naive way.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial
from typing import TYPE_CHECKING, Any

from astrac.job import Box, Collective, Load, MemoryType, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.clock import Clock
from astrac.simulators.astra_sim_2.simulate.desk import Desk, Script
from astrac.simulators.astra_sim_2.simulate.groups import involved
from astrac.simulators.astra_sim_2.simulate.messages import FreeWires, Post
from astrac.simulators.astra_sim_2.simulate.network import FREED_REQUEST, Broken, Network
from astrac.simulators.astra_sim_2.simulate.phases import course, startup
from astrac.simulators.astra_sim_2.simulate.prices import SKIPPED, lasting, memory_queue, memory_time, on_device
from astrac.simulators.astra_sim_2.simulate.streams import Station
from astrac.simulators.results import Outcome, RankResult

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from astrac.job import Job, Op
    from astrac.simulators.astra_sim_2.simulate.messages import Wires
    from astrac.simulators.astra_sim_2.simulate.phases import Course

NATIVE_TAGS = 500_000_000
"""Tags of sends and receives count modulo this."""


class _Memory:
    """One request at a time, in order of issue."""

    def __init__(self) -> None:
        self.busy = False
        self.waiting: deque[tuple[_Rank, int, int]] = deque()


class _Rank:
    """One rank: its desk and its station."""

    def __init__(self, play: Everyone, number: int, program: int, script: Script) -> None:
        self.number = number
        self.program = program
        self.desk = Desk(script)
        self.station = Station(number, play.network, play.clock, play.post)
        self.device = 0
        self.finish: int | None = None
        self.spans: dict[int, tuple[int, int]] = {}
        self.open: set[int] = set()
        self.odd = False
        self._play = play

    @property
    def done(self) -> bool:
        """Whether the simulator has declared it finished."""
        return self.finish is not None

    def round(self) -> None:
        """Issues what can be issued, then looks whether all is done."""
        while (number := self.desk.take()) is not None:
            self.spans[number] = (self._play.clock.now, self._play.clock.now)
            self.open.add(number)
            self._play.issue(self, number)
        if self.finish is None and self.desk.idle:
            self.finish = self._play.clock.now

    def end(self, number: int) -> None:
        """A node has ended."""
        self.spans[number] = (self.spans[number][0], self._play.clock.now)
        self.open.discard(number)
        self.desk.end(number)
        self.round()
        if self.done and isinstance(self.desk.script.ops[number], Load | Store):
            self._play.finished_by_memory()

    def end_by_message(self, number: int) -> None:
        """A send or receive has ended, out of the network's own event."""
        self.end(number)
        if self.done and self.odd:
            raise Broken(
                f"the last event of rank {self.number}, which has a host or memory node, is a send or receive: "
                "the simulator aborts in its statistics",
                rank=self.number,
            )


class Everyone:
    """A play of all ranks.

    Args:
        job: what they do.
        wires: makes the network, of the costs and the clock.
        limit: events that may be played before it is given up.
    """

    def __init__(self, job: Job, wires: Callable[[Network, Clock], Wires] = FreeWires, limit: int = 1 << 40) -> None:
        self.job = job
        self.network = Network(job.machine)
        self.clock = Clock(limit)
        self.post = Post(self.clock, wires(self.network, self.clock), job.machine.npus)
        self._memories: dict[int, _Memory] = defaultdict(_Memory)
        self._courses: dict[Hashable, Course] = {}
        self._issuers: dict[type[Op], Callable[[_Rank, int, Any], None]] = {
            Collective: self._collective,
            Send: self._send,
            Receive: self._receive,
            Load: self._remote,
            Store: self._remote,
        }
        scripts = [Script(program) for program in job.programs]
        self.ranks = [_Rank(self, number, program, scripts[program]) for number, program in enumerate(job.program_of)]

    def play(self) -> None:
        """To the end.

        Raises:
            Broken: with the reason, when the simulator would crash, hang or leave ranks unfinished.
        """
        startup(self.job.machine)
        for rank in self.ranks:
            rank.round()
        self.clock.play()
        unfinished = [rank for rank in self.ranks if rank.finish is None]
        if unfinished:
            raise Broken(self._why(unfinished), Outcome.HANG, rank=unfinished[0].number)
        for rank in self.ranks:
            if rank.desk.left:
                reason = f"nodes of rank {rank.number} never run: {[op.id for op in rank.desk.stuck]} form a cycle"
                raise Broken(reason, Outcome.HALF_FINISHED, rank=rank.number)

    def played(self, *, trace: bool) -> tuple[RankResult, ...]:
        """One class a Program and a pair of figures, after a play, with the times of a rank's nodes if asked."""
        axes = self.job.axes
        found: dict[tuple[int, int, int], list[_Rank]] = defaultdict(list)
        for rank in self.ranks:
            assert rank.finish is not None
            found[rank.program, rank.finish, rank.device].append(rank)
        return tuple(
            RankResult(
                program,
                tuple(Box(tuple((axis.coordinate(rank.number),) for axis in axes)) for rank in ranks),
                len(ranks),
                ranks[0].number,
                cycles,
                device,
                tuple(ranks[0].spans[number] for number in range(len(ranks[0].spans))) if trace else (),
            )
            for (program, cycles, device), ranks in found.items()
        )

    def _why(self, unfinished: list[_Rank]) -> str:
        rank = unfinished[0]
        running = [op for number, op in enumerate(rank.desk.script.ops) if number in rank.open]
        names = ", ".join(f"{type(op).__name__.lower()} {op.id}" for op in running or rank.desk.stuck)
        return f"{len(unfinished)} of {len(self.ranks)} ranks never finish; rank {rank.number} waits in {names}"

    def issue(self, rank: _Rank, number: int) -> None:
        """Starts a node."""
        op = rank.desk.script.ops[number]
        rank.odd = rank.odd or op.host or isinstance(op, Load | Store)
        time = lasting(self.job.machine, op)
        if time is None:
            self._issuers[type(op)](rank, number, op)
        elif time == SKIPPED:
            rank.open.discard(number)
            rank.desk.skip(number)
        else:
            rank.device += time if on_device(self.job.machine, op) else 0
            self.clock.after_own(rank.station, time, _Rank.end, rank, number)

    def finished_by_memory(self) -> None:
        """The memory's own event of a node's end follows the rank's last, and reads what that has freed."""
        if self.job.machine.memory.type is MemoryType.PER_NODE:
            self.clock.fault = FREED_REQUEST

    def _collective(self, rank: _Rank, number: int, op: Collective) -> None:
        dimensions = involved(op.group)
        listed = () if dimensions is not None else self.job.members(op.group, rank.number)
        if listed and rank.number not in listed:
            reason = f"collective {op.id} is issued by rank {rank.number}, which is not in its group"
            raise Broken(reason, rank=rank.number)
        key = (op.kind, op.bytes, dimensions, listed)
        if key not in self._courses:
            self._courses[key] = course(self.network, op.kind, op.bytes, dimensions or (), listed)
        group = None if dimensions is not None else getattr(op.group, "id", listed)
        rank.station.issue(self._courses[key], group, partial(rank.end, number))

    def _send(self, rank: _Rank, number: int, op: Send) -> None:
        there = self.job.axis(op.axis).peer(rank.number, op.offset)
        self.post.send(op.tag % NATIVE_TAGS, rank.number, there, op.bytes, partial(rank.end_by_message, number))

    def _receive(self, rank: _Rank, number: int, op: Receive) -> None:
        there = self.job.axis(op.axis).peer(rank.number, op.offset)
        self.post.receive(op.tag % NATIVE_TAGS, there, rank.number, op.bytes, partial(rank.end_by_message, number))

    def _remote(self, rank: _Rank, number: int, op: Load | Store) -> None:
        queue = memory_queue(self.job.machine, rank.number)
        memory = self._memories[queue]
        if memory.busy:
            memory.waiting.append((rank, number, op.bytes))
        else:
            memory.busy = True
            self._serve(memory, (rank, number, op.bytes))

    def _serve(self, memory: _Memory, request: tuple[_Rank, int, int]) -> None:
        rank, number, size = request
        duration = memory_time(self.job.machine, size)
        self.clock.after_own(rank.station, duration, _Rank.end, rank, number)
        self.clock.after_own(rank.station, duration, Everyone._next, self, memory)

    def _next(self, memory: _Memory) -> None:
        memory.busy = bool(memory.waiting)
        if memory.waiting:
            self._serve(memory, memory.waiting.popleft())
