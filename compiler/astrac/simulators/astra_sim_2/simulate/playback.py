"""What a play found."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Axis, Box

WORD = 1 << 64
"""The simulator counts cycles in 64 bits without sign: more compute than time wraps round."""


class Run(NamedTuple):
    """Consecutive ranks with the same figures."""

    first: int
    last: int
    cycles: int
    exposed: int


@dataclass(frozen=True)
class Played:
    """Ranks that were played as one.

    Attributes:
        program: index of the Program that they run.
        boxes: the ranks.
        ranks: how many.
        rank: one of them, whose figures these are.
        cycles: tick at which the simulator declares them finished, ns.
        device: ns of compute as the simulator totals it.
        spans: for each node of the Program in ascending id, (start, end) in ns; () unless traced.
    """

    program: int
    boxes: tuple[Box, ...]
    ranks: int
    rank: int
    cycles: int
    device: int
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def exposed(self) -> int:
        """`exposed communication` as the simulator prints it: idle, host and memory time count as exposed too."""
        return (self.cycles - self.device) % WORD


@dataclass(frozen=True)
class Playback:
    """What a play found.

    Attributes:
        axes: of the Job, innermost first: what the boxes speak of.
        classes: of ranks, by lowest rank; () when it fails.
        fails: why the simulator would crash, hang or half-finish; None when it would not.
        doubt: why the figures may differ from the simulator's; None when they cannot.
    """

    axes: tuple[Axis, ...]
    classes: tuple[Played, ...] = ()
    fails: str | None = None
    doubt: str | None = None

    @property
    def cycles(self) -> int:
        """Of the last rank to finish, ns; 0 when it fails."""
        return max((played.cycles for played in self.classes), default=0)

    def runs(self) -> tuple[Run, ...]:
        """Cycles and exposed communication of all ranks, in runs as long as they can be; () when the play fails."""
        if not self.classes:
            return ()
        boxes = [(box, (played.cycles, played.exposed)) for played in self.classes for box in played.boxes]
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
