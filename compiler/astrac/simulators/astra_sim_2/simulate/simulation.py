"""What a simulation by classes and one by ranks have in common: nodes are issued in rounds and end by events.

docs/simulators/astra-sim-2.md, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from astrac.job import Load, Store
from astrac.simulators.astra_sim_2.simulate.event_queue import EventQueue
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.prices import SKIPPED, on_device
from astrac.simulators.astra_sim_2.simulate.states import RankState
from astrac.simulators.results import RankResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from astrac.job import Box, Job, Op
    from astrac.simulators.astra_sim_2.simulate.costs import Cost
    from astrac.simulators.astra_sim_2.simulate.network import Network

TAGS = 500_000_000
"""Tags of sends and receives count modulo this."""

State = TypeVar("State", bound=RankState)


NAMED = 4
"""Nodes that a reason names."""


def names(ops: Iterable[Op]) -> str:
    """Nodes in words: the first of them, and how many others there are."""
    first, *rest = [f"{type(op).__name__.lower()} {op.id}" for op in ops] or [""]
    others = len(rest) - NAMED + 1
    return ", ".join([first, *rest[: NAMED - 1]]) + (f" and {others} other{'s'[: others > 1]}" if others > 0 else "")


class Simulation(Generic[State]):
    """Ranks at work.

    Args:
        job: what they do.
        network: the machine's costs.
        cost: what things cost.
        limit: events that may happen before the simulation is given up.

    Attributes:
        clock: the event queue.
        handlers: by type of node, what issues one that does not last by itself.
    """

    def __init__(self, job: Job, network: Network, cost: Cost, limit: int) -> None:
        self.job = job
        self.network = network
        self.cost = cost
        self.clock = EventQueue(limit)
        self.handlers: dict[type[Op], Callable[[State, int, Any], None]] = {}

    def issue(self, state: State, cause: int) -> list[int]:
        """Issues what can be issued after node `cause` has ended, then looks whether all is done."""
        now, queue, starts = self.clock.now, state.queue, state.starts
        ops = queue.graph.ops
        issued = []
        while (number := queue.take()) is not None:
            issued.append(number)
            starts[number] = now
            state.causes[number] = cause
            self._start(state, number, ops[number])
        if state.finish is None and queue.idle:
            state.finish = now
        return issued

    def _start(self, state: State, number: int, op: Op) -> None:
        if op.host or isinstance(op, Load | Store):
            state.odd = True
        time = self.cost.lasting(self.job.machine, op)
        if time is None:
            self.handlers[type(op)](state, number, op)
        elif time == SKIPPED:
            state.ends[number] = self.clock.now
            state.queue.skip(number)
        else:
            if on_device(self.job.machine, op):
                state.device += time
            self.clock.after_own(state.owner, time, self.end, state, (number, self.clock.now))

    def result(self, some: State, boxes: tuple[Box, ...], ranks: int, *, trace: bool) -> RankResult:
        """What ranks with the same figures have done, after a run, with the times of a rank's nodes if asked."""
        assert some.finish is not None
        spans = some.spans if trace else ()
        return RankResult(some.program, boxes, ranks, some.rank, some.finish, some.device, spans)

    def end(self, state: State, event: tuple[int, int]) -> None:
        """Node `event[0]` has ended; the simulator registered that at tick `event[1]`."""
        number, _ = event
        state.ends[number] = self.clock.now
        state.queue.end(number)
        self.issue(state, number)

    def end_by_message(self, state: State, event: tuple[int, int]) -> None:
        """A send or receive has ended, out of the network's own event."""
        self.end(state, event)
        if state.finish is not None and state.odd and self.cost.exact:
            raise Broken(
                f"the last event of rank {state.rank}, which has a host or memory node, is a send or receive: "
                "the simulator aborts in its statistics",
                rank=state.rank,
            )
