"""One NPU stands for all: its collectives and queues, event by event (docs/simulators/astra-sim-1.md, section 5)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1.job import FLOAT32_LIMIT, Stage, TextJob
from astrac.simulators.astra_sim_1.simulate import loops
from astrac.simulators.astra_sim_1.simulate.chunks import chunk_sizes, planner
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.loops import Act, Priority, Step
from astrac.simulators.astra_sim_1.simulate.queues import Chunk, Queue, ending_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Kind
    from astrac.simulators.astra_sim_1.simulate.phases import Duration, Term

COMPUTE_LIMIT = 2**53
PHASE_LIMIT = 2_000_000
"""Phases of chunks, and steps of the loop, that are simulated (tens of seconds); with more a job is refused."""

HIGHEST = 100_000_000

OWN, PHASES = 0, 1
"""Order within a cycle."""


def _refuse(job: TextJob) -> None:
    """What the simulator has and this engine has not."""
    if job.system.inter in {"themis", "themisFlex"}:
        reason = "themis balances loads in an order of NPUs that one NPU cannot stand for"
        raise SimulationError(Fault.UNKNOWN, reason)
    if job.system.shared_bus is not None:
        raise SimulationError(Fault.UNKNOWN, "model-shared-bus: the bus inside an NPU is not modelled")
    if job.rendezvous:
        raise SimulationError(Fault.UNKNOWN, "--rendezvous-protocol: handshakes are not modelled")
    scales = (job.compute_scale, job.comm_scale, job.injection_scale)
    if not all(0 <= scale <= FLOAT32_LIMIT for scale in scales):
        raise SimulationError(Fault.SETTING, f"scales {scales}")
    if job.passes < 0 or job.queues < 1 or job.system.active_chunks < 1:
        reason = f"{job.passes} passes, {job.queues} queues, {job.system.active_chunks} active chunks"
        raise SimulationError(Fault.SETTING, reason)


@dataclass(slots=True)
class Issued:
    """A collective that was issued; filled in while it runs.

    Attributes:
        row, stage: the column.
        kind, bytes: of it, scaled.
        issued: cycle.
        finished: cycle, updates included; None while it runs, for ever if it has no bytes.
        chunks: how many are not through.
    """

    row: int
    stage: Stage
    kind: Kind
    bytes: int
    issued: float
    finished: float | None = None
    chunks: int = 0


class Engine:
    """Simulates one job, by one call of `run`.

    All NPUs act alike and a phase ends for all when the slowest has ended, so one NPU stands for all. In a cycle
    its own events (compute, updates) come before the ends of phases, because these take effect when the last NPU of the
    event queue has reached them.

    Attributes:
        now: the current cycle, with fractions where memory is slower than the network by some.
        compute: cycles of all columns computed so far.
        passes: cycles in which passes have ended.
        issued: all collectives, in order.
    """

    def __init__(self, job: TextJob) -> None:
        _refuse(job)
        self.job = job
        self.now: float = 0
        self.compute = 0
        self.passes: list[int] = []
        self.issued: list[Issued] = []
        self._walks = any(dimension.memory_scale > 0 for dimension in job.network.dimensions)
        self._planner = planner(job, walk=self._walks)
        self._slots = -(-job.system.active_chunks // job.queues)
        self._involved = loops.involved_levels(job)
        self._steps = loops.steps(job.workload, job.passes)
        self._finished = False
        self._heap: list[tuple[float, int, tuple[float, ...], int, Callable[[], None]]] = []
        self._sequence = 0
        self._scheduled: float = 0
        self._alarms: dict[int, float] = {}
        self._jumps = self._fractions = False
        self._budget = PHASE_LIMIT
        self._queues: defaultdict[int, Queue] = defaultdict(partial(Queue, job.system.intra))
        self._running: defaultdict[tuple[int, Stage], int] = defaultdict(int)
        self._waiting: tuple[int, Stage] | None = None
        self._counter = 0

    def run(self) -> int:
        """The cycle in which everything is over."""
        self._advance()
        while self._heap:
            self.now, _, (self._scheduled, *_), _, event = heappop(self._heap)
            self._alarms.pop(int(self.now), None)
            event()
        if not self._finished:
            row, stage = self._waiting or (0, Stage.FORWARD)
            name = self.job.workload.rows[row].name
            reason = f"layer {row} (`{name}`) waits for ever for its {stage.value} collective of 0 bytes"
            raise SimulationError(Fault.ZERO_SIZE, reason)
        return int(self.now)

    # -- events

    def _push(self, time: float, event: Callable[[], None], order: int = OWN, lags: tuple[float, ...] = ()) -> None:
        """An event; of those of one cycle the own ones come first, then those that were scheduled first.

        Args:
            time: when.
            event: what happens.
            order: OWN for the arrival of a message and for the NPU's own events.
            lags: cycles from the end of a phase back to when its last events were scheduled; () is now.
        """
        self._sequence += 1
        scheduled = tuple(time - lag for lag in lags) or (self.now,)
        heappush(self._heap, (time, order, scheduled, self._sequence, event))

    def _after(self, cycles: float, event: Callable[[], None]) -> None:
        """An event of the NPU's own, some whole cycles from now.

        The NPU keeps one alarm a cycle: what is due in a cycle that has one already is done then, even if fractions of
        a ns (memory slower than the network) put it at another moment.
        """
        cycle = int(self.now) + int(cycles)
        alarm = self._alarms.get(cycle, -1)
        if alarm < self.now:
            self._alarms[cycle] = alarm = self.now + cycles
        self._push(alarm, event)

    def _spend(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            raise SimulationError(Fault.UNKNOWN, f"more than {PHASE_LIMIT} phases of chunks and steps")

    # -- the loop of the policy

    def _advance(self) -> None:
        """The loop's next steps, until one takes time."""
        for step in self._steps:
            self._spend(1)
            if self._take(step):
                return
        self._finished = True

    def _take(self, step: Step) -> bool:
        """Do a step; whether the loop has to pause."""
        column = (step.row, step.stage)
        match step.act:
            case Act.COMPUTE:
                cycles = self.job.cycles(*column)
                if cycles >= COMPUTE_LIMIT:
                    raise SimulationError(Fault.TOO_LONG, f"layer {step.row} computes for {cycles} cycles")
                self.compute += cycles
                if cycles:
                    self._after(cycles, self._advance)
                return cycles > 0
            case Act.TICK:
                self._after(1, self._advance)
                return True
            case Act.WAIT if self._running[column]:
                self._waiting = column
                return True
            case Act.ISSUE:
                self._issue(step)
            case Act.PASS_END:
                self.passes.append(int(self.now))
        return False

    def _issue(self, step: Step) -> None:
        """Start a collective chunk by chunk; one that has no dimension to work on is dropped but uses up a priority."""
        kind = self.job.workload.rows[step.row].work(step.stage).kind
        if kind is None:
            return
        size = self.job.bytes(step.row, step.stage)
        priority = self._priority(step.priority)
        collective = Issued(step.row, step.stage, kind, size, self.now)
        involved = self._involved[loops.levels(self.job.workload, step.row, step.stage)]
        ending = ending_first(self._queues.values(), self.now, self._scheduled)
        for part in chunk_sizes(size, self.job.system.splits) if size else ():
            phases = self._planner.plan(kind, involved, part)
            if not phases:
                return
            collective.chunks += 1
            self._spend(len(phases))
            chunk = Chunk(len(self.issued), priority, phases)
            queue = self._queues[chunk.phase.queue]
            queue.note(chunk, ending, self.now, self._scheduled)
            queue.insert(chunk)
            self._fill(queue)
        self.issued.append(collective)
        self._running[step.row, step.stage] += 1

    def _priority(self, wanted: Priority) -> int:
        """One counter for all: LIFO counts up, FIFO down."""
        if wanted is Priority.HIGHEST:
            return HIGHEST
        order = self.job.system.scheduling if wanted is Priority.SYSTEM else wanted.value
        before = self._counter
        self._counter += 1 if order == "LIFO" else -1
        return before

    # -- the queues

    def _fill(self, queue: Queue) -> None:
        """Start waiting chunks while slots are free."""
        while (chunk := queue.take(self._slots)) is not None:
            duration = chunk.phase.duration
            self._check_fractions(duration)
            if duration.terms:
                self._walk(chunk, iter(duration.terms))
                continue
            chunk.end = self.now + duration.ns
            self._push(chunk.end, partial(self._end_phase, chunk), PHASES, duration.tail)

    def _walk(self, chunk: Chunk, terms: Iterator[Term]) -> None:
        """A phase of fractions of ns, term by term."""
        term = next(terms, None)
        if term is None:
            self._end_phase(chunk)
        elif term.message:
            self._push(self.now + term.ns, partial(self._walk, chunk, terms))
        else:
            self._after(term.ns, partial(self._walk, chunk, terms))

    def _check_fractions(self, duration: Duration) -> None:
        """With fractions of a ns about, a phase that cannot be walked would miss what the alarms round."""
        if not self._walks:
            return
        self._jumps |= not duration.terms
        self._fractions |= not isinstance(duration.ns, int)
        if self._jumps and self._fractions:
            reason = "memory is slower than the network by fractions of a ns, and NPUs are not in step"
            raise SimulationError(Fault.UNKNOWN, reason)

    def _end_phase(self, chunk: Chunk) -> None:
        """On to the next queue, or done."""
        left = self._queues[chunk.phase.queue]
        if left.leaving_matters(self.now):
            raise self._apart(left)
        left.running.remove(chunk)
        if not chunk.left:
            self._end_chunk(self.issued[chunk.collective])
            self._fill(left)
            return
        chunk.step += 1
        entered = self._queues[chunk.phase.queue]
        entered.insert(chunk)
        self._fill(left)
        self._fill(entered)
        if entered.arriving_matters(chunk, self.now):
            raise self._apart(entered)

    def _apart(self, queue: Queue) -> SimulationError:
        """With one slot, an NPU that has started another chunk than the rest waits for ever."""
        reason = f"in cycle {self.now} collectives start while a chunk's phase ends, and NPUs choose different chunks"
        return SimulationError(Fault.CHOSEN_APART if self._slots == 1 and queue.tie.certain else Fault.UNKNOWN, reason)

    def _end_chunk(self, collective: Issued) -> None:
        collective.chunks -= 1
        if collective.chunks == 0:
            update = self.job.workload.rows[collective.row].update
            self._after(update, lambda: self._finish(collective))

    def _finish(self, collective: Issued) -> None:
        """The update is over: who waits for the column may go on."""
        collective.finished = self.now
        column = (collective.row, collective.stage)
        self._running[column] -= 1
        if self._waiting == column and not self._running[column]:
            self._waiting = None
            self._advance()
