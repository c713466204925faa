"""The chunks of a collective, and the phases that each runs through (docs/simulators/astra-sim-1.md, section 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.logical import logical_dimensions
from astrac.simulators.astra_sim_1.simulate.phases import Duration, Endpoint, Phases, size_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.simulators.astra_sim_1.job import TextJob, TextSystem
    from astrac.simulators.astra_sim_1.simulate.logical import LogicalDimension

CHUNK_LIMIT = 2_000_000
"""Chunks of one collective; more are not simulated (the simulator would need hours)."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a chunk, on one logical dimension.

    Attributes:
        queue: of its dimension.
        kind: what the phase does.
        duration: of it.
        largest: bytes before or after it, whichever is more.
    """

    queue: int
    kind: Kind
    duration: Duration
    largest: int


def chunk_sizes(size: int, splits: int) -> Iterator[int]:
    """`int(size / splits)` bytes each, and one chunk more for what is left."""
    chunk = size // splits
    if chunk == 0:
        raise SimulationError(
            Fault.BELOW_SPLITS, f"{size} bytes cannot be split into {splits} chunks: the run never ends"
        )
    if size // chunk > CHUNK_LIMIT:
        raise SimulationError(Fault.UNKNOWN, f"a collective of {splits} chunks")
    while size > 0:
        yield min(chunk, size)
        size -= chunk


@dataclass
class Planner:
    """Lays out phases; remembers what the simulator remembers between chunks.

    Attributes:
        system: optimization and inter-dimension scheduling.
        dimensions: of each kind.
        phases: durations.
        queues: of each dimension.
    """

    system: TextSystem
    dimensions: Mapping[Kind, tuple[LogicalDimension, ...]]
    phases: Phases
    queues: int = 1
    _next_queue: dict[int, int] = field(default_factory=dict)
    _rotation: int = 0
    _plans: dict[tuple[Kind, tuple[bool, ...], int], tuple[Phase, ...]] = field(default_factory=dict)

    def tasks(self, kind: Kind, involved: tuple[bool, ...]) -> list[tuple[Kind, LogicalDimension]]:
        """What the next chunk does on which logical dimensions; nothing when no involved dimension has two NPUs."""
        order = self._rotate(list(self.dimensions[kind])[:: -1 if kind is Kind.ALL_GATHER else 1])
        walk = [logical for logical in order if logical.size > 1 and involved[logical.level]]
        if self.system.boost and any(self._needs_everyone(logical) for logical in walk):
            raise SimulationError(Fault.BOOST, f"boost-mode leaves out NPUs that {kind.name} needs")
        if kind is not Kind.ALL_REDUCE or self.system.optimization == "baseline" or not walk:
            return [(kind, logical) for logical in walk]
        *inner, last = walk
        scatters = [(Kind.REDUCE_SCATTER, logical) for logical in inner]
        return [*scatters, (Kind.ALL_REDUCE, last), *((Kind.ALL_GATHER, logical) for logical in reversed(inner))]

    def _needs_everyone(self, logical: LogicalDimension) -> bool:
        """Whether the NPUs of other rows are part of it: a flat row of several dimensions, a tree beside others."""
        beside = sum(other.size > 1 for other in self.dimensions[Kind.ALL_REDUCE]) > 1
        return len(logical.dimensions) > 1 or (logical.algorithm.row.dimensions_only and beside)

    def _rotate(self, order: list[LogicalDimension]) -> list[LogicalDimension]:
        if self.system.inter != "roundRobin":
            return order
        if self._rotation > len(order):
            raise SimulationError(Fault.UNKNOWN, "roundRobin over lists of different length rotates past the end")
        order = order[self._rotation :] + order[: self._rotation]
        self._rotation = 0 if self._rotation + 1 == len(order) else self._rotation + 1
        return order

    def plan(self, kind: Kind, involved: tuple[bool, ...], size: int) -> tuple[Phase, ...]:
        """The phases of one chunk of `size` bytes; equal chunks have equal ones where nothing takes turns."""
        if self.queues > 1 or self.system.inter == "roundRobin":
            return self._plan(kind, involved, size)
        key = (kind, involved, size)
        if key not in self._plans:
            self._plans[key] = self._plan(kind, involved, size)
        return self._plans[key]

    def _plan(self, kind: Kind, involved: tuple[bool, ...], size: int) -> tuple[Phase, ...]:
        result = []
        for task, logical in self.tasks(kind, involved):
            # A tree is an all-reduce whatever it stands for, also to the rules of the queues.
            step = logical.algorithm.row.runs(task)
            after = size_after(step, logical, size)
            duration = self.phases.duration(step, logical, size)
            result.append(Phase(self._queue(logical.level), step, duration, max(size, after)))
            size = after
        return tuple(result)

    def _queue(self, level: int) -> int:
        """The queue of the next phase in a dimension, whose queues take turns."""
        turn = self._next_queue.get(level, 0)
        self._next_queue[level] = (turn + 1) % self.queues
        return level * self.queues + turn


def planner(job: TextJob, *, walk: bool = False) -> Planner:
    """The planner of a job; `walk` as in `phases.Endpoint`. Raises SimulationError when the words do not fit."""
    return Planner(job.system, logical_dimensions(job), Phases(Endpoint(job.delay, walk)), job.queues)
