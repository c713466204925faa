"""Pipeline parallelism: where the model is cut, and in what order a stage runs its micro-batches.

Orders: GPipe (Huang et al. 2019), 1F1B (Narayanan et al. 2019) and interleaved 1F1B (Narayanan et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = "pipeline"


@dataclass(frozen=True, slots=True)
class PipelineSlot:
    """The forward or backward pass of a micro-batch through one of a stage's virtual stages, by its index there."""

    forward: bool
    micro_batch: int
    virtual: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order of a stage: some forward passes, then one forward and one backward in turn, then the backward rest.

    Attributes:
        grouped: micro-batches go in groups of as many as there are stages: a group passes through all virtual stages
            of a stage, of which there are several, before the next one starts. Otherwise all are one group.
        warm_up: how many forward passes come first at (stage, stages, virtual stages); None = all.
    """

    grouped: bool = False
    warm_up: Callable[[int, int, int], int] | None = None


SCHEDULES: dict[str, Schedule] = {
    "gpipe": Schedule(),
    "one_f_one_b": Schedule(warm_up=lambda stage, stages, _: stages - stage - 1),
    "interleaved": Schedule(
        grouped=True, warm_up=lambda stage, stages, virtual: 2 * (stages - stage - 1) + (virtual - 1) * stages
    ),
}


@dataclass(frozen=True)
class StageOrder:
    """The order in which a stage runs micro-batches.

    Attributes:
        schedule: a key of `SCHEDULES`; a grouped one needs a number of micro-batches that is a multiple of the stages.
        stage: from 0.
        stages: of the pipeline.
        virtual_stages: that each stage holds.
        learns: whether there are backward passes.
    """

    schedule: str
    stage: int
    stages: int
    virtual_stages: int
    learns: bool = True

    def slots(self, micro_batches: int) -> list[PipelineSlot]:
        """The forward and the backward slot of each of so many micro-batches on each virtual stage, in order."""
        row = SCHEDULES[self.schedule]
        size = self.stages if row.grouped else micro_batches
        groups = [range(first, min(first + size, micro_batches)) for first in range(0, micro_batches, size)]
        there = range(self.virtual_stages)
        forward = [PipelineSlot(True, index, virtual) for group in groups for virtual in there for index in group]
        if not self.learns:
            return forward
        backward = [
            PipelineSlot(False, index, virtual) for group in groups for virtual in there[::-1] for index in group
        ]
        total = len(forward)
        warm_up = (
            total if row.warm_up is None else min(row.warm_up(self.stage, self.stages, self.virtual_stages), total)
        )
        alternating = [slot for pair in zip(forward[warm_up:], backward, strict=False) for slot in pair]
        return [*forward[:warm_up], *alternating, *backward[total - warm_up :]]

    def fullest(self, micro_batches: int) -> int:
        """Of so many micro-batches, how many show the most that a stage ever keeps.

        Where all go forward first, all; else those of the first forward passes, and of two groups that follow in turn.
        """
        row = SCHEDULES[self.schedule]
        if row.warm_up is None or (self.virtual_stages > 1 and not row.grouped):
            return micro_batches
        return min(micro_batches, (self.virtual_stages + 4) * self.stages)


def fewest(micro_batches: int, *, apart: bool) -> int:
    """Of so many micro-batches, how many show every collective and computation of a stage.

    One does where gradients wait for the last; where each is reduced `apart`, one more.
    """
    return min(micro_batches, 2 if apart else 1)


_CANDIDATES = 400


@lru_cache(maxsize=128)
def balance(times: tuple[int, ...], pieces: int) -> tuple[int, ...]:
    """Cuts a chain of work into contiguous, non-empty pieces the longest as short, then all as even as can be.

    Args:
        times: of each unit, in order; at least as many as pieces.
        pieces: how many.

    Returns:
        The index of the first unit of each piece; the first is 0.
    """
    starts = _coarse(len(times), max(_CANDIDATES, pieces))
    sums = [0, *accumulate(times)]
    at = [sums[start] for start in starts] + [sums[-1]]
    count = len(starts)
    best: list[tuple[int, int]] = [(at[end], at[end] ** 2) for end in range(count + 1)]
    choices: list[list[int]] = []
    for piece in range(1, pieces):
        row: list[tuple[int, int]] = [(0, 0)] * (count + 1)
        choice = [0] * (count + 1)
        for end in range(piece + 1, count + 1):
            row[end], choice[end] = min(
                ((max(best[cut][0], at[end] - at[cut]), best[cut][1] + (at[end] - at[cut]) ** 2), cut)
                for cut in range(piece, end)
            )
        best = row
        choices.append(choice)
    cuts = [count]
    for choice in reversed(choices):
        cuts.append(choice[cuts[-1]])
    return (0, *(starts[cut] for cut in reversed(cuts[1:])))


def _coarse(count: int, at_most: int) -> list[int]:
    """At most so many starts, evenly spread: keeps the search small for models of thousands of units."""
    if count <= at_most:
        return list(range(count))
    return [index * count // at_most for index in range(at_most)]
