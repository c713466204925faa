"""What a simulation gives, whichever simulator is meant: figures of all ranks, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Axis, Box

WORD = 1 << 64
"""The simulator counts cycles in 64 bits without sign: more compute than time wraps round."""


class Outcome(Enum):
    """How a run ends."""

    FINISHED = "every rank runs all of its nodes"
    HANG = "a rank or a collective waits for what never comes"
    HALF_FINISHED = "ranks are declared finished, and some of their nodes have not run"
    ABORT = "the simulator refuses the input, aborts, crashes, or loops for ever"
    UNKNOWN = "nobody could tell at a sane cost"
    SAMPLED = "a sample of the job does not tell, the whole job does"


class Cause(Enum):
    """What a failure comes from, where there is something to be said about it."""

    COLLECTIVE = "a collective never completes"
    STREAMS = "a collective never completes: its members have issued different numbers of chunk streams before"
    GROUPS = "members of a collective wait for each other in different groups"


@dataclass(frozen=True)
class Failure:
    """Why there are no figures.

    Attributes:
        outcome: any but FINISHED.
        reason: for people, lower case, without a full stop; nothing is decided by its words.
        rank: the first that the reason speaks of; None when it speaks of none.
        cause: None where nothing depends on it.
    """

    outcome: Outcome
    reason: str
    rank: int | None = None
    cause: Cause | None = None


class Run(NamedTuple):
    """Consecutive ranks with the same figures."""

    first: int
    last: int
    cycles: int
    exposed: int


@dataclass(frozen=True)
class RankResult:
    """What ranks that were simulated as one have done.

    Attributes:
        program: index of the Program that they run.
        boxes: the ranks.
        ranks: how many.
        rank: one of them, whose figures these are.
        cycles: tick at which the simulator declares them finished, ns.
        device: ns of compute as the simulator totals it.
        spans: for each node of the Program in ascending id, (start, end) in ns; () unless traced.
        shares: ns of compute, exposed communication, exposed memory traffic and exposed host work; () where only the
            spans tell.
    """

    program: int
    boxes: tuple[Box, ...]
    ranks: int
    rank: int
    cycles: int
    device: int
    spans: tuple[tuple[int, int], ...] = ()
    shares: tuple[int, ...] = ()

    @property
    def exposed(self) -> int:
        """`exposed communication` as the simulator prints it: idle, host and memory time count as exposed too."""
        return (self.cycles - self.device) % WORD


@dataclass(frozen=True)
class SimulationResult:
    """What a simulation of a Job found.

    Attributes:
        axes: of the Job, innermost first: what the boxes speak of.
        classes: of ranks, by lowest rank; () when the run fails.
        failure: why the simulator would crash, hang or half-finish, or that nobody knows; None when it would not.
        doubt: why the figures may differ from the simulator's; None when they cannot.
        steps: training steps, as far as the job says.
        backend: of the simulator; None for its first.
    """

    axes: tuple[Axis, ...]
    classes: tuple[RankResult, ...] = ()
    failure: Failure | None = None
    doubt: str | None = None
    steps: int = 1
    backend: str | None = None

    @property
    def npus(self) -> int:
        """The number of ranks."""
        return prod(axis.size for axis in self.axes)

    @property
    def outcome(self) -> Outcome:
        """How the run ends."""
        return Outcome.FINISHED if self.failure is None else self.failure.outcome

    @property
    def fails(self) -> str | None:
        """Why there are no figures, for people; None when there are."""
        return None if self.failure is None else self.failure.reason

    @property
    def cycles(self) -> int:
        """Tick at which the last rank finishes, ns; 0 when the run fails."""
        return max((ranks.cycles for ranks in self.classes), default=0)

    def runs(self) -> tuple[Run, ...]:
        """Cycles and exposed communication of all ranks, in runs as long as they can be; () when the run fails."""
        if not self.classes:
            return ()
        boxes = [(box, (ranks.cycles, ranks.exposed)) for ranks in self.classes for box in ranks.boxes]
        parts = self._parts(len(self.axes) - 1, 0, boxes)
        runs = []
        for figures, group in groupby(parts, key=lambda part: part[2]):
            ranks = list(group)
            runs.append(Run(ranks[0][0], ranks[-1][1], *figures))
        return tuple(runs)

    def _parts(
        self, level: int, base: int, boxes: list[tuple[Box, tuple[int, int]]]
    ) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Runs of the ranks below an axis, given the boxes that they are in: whole when all have the same figures."""
        figures = {figure for _, figure in boxes}
        if len(figures) == 1:
            width = self.axes[level].stride * self.axes[level].size if level >= 0 else 1
            yield base, base + width - 1, figures.pop()
            return
        axis = self.axes[level]
        by_coordinate: dict[int, list[tuple[Box, tuple[int, int]]]] = {}
        everywhere = []
        for entry in boxes:
            allowed = entry[0].coordinates[level]
            if allowed is None:
                everywhere.append(entry)
            for at in allowed or ():
                by_coordinate.setdefault(at, []).append(entry)
        for at in range(axis.size):
            yield from self._parts(level - 1, base + at * axis.stride, by_coordinate.get(at, []) + everywhere)
