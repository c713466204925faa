"""Pipeline parallelism: where the model is cut, and in what order a stage runs its micro-batches.

Orders: GPipe (Huang et al. 2019), 1F1B (Narayanan et al. 2019) and interleaved 1F1B (Narayanan et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KIND = "pipeline"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that a stage does next: the forward or backward pass of a micro-batch through one of its chunks."""

    forward: bool
    micro_batch: int
    chunk: int = 0


def _gpipe(_: int, __: int, micro_batches: int, chunks: int) -> list[Turn]:
    forward = [Turn(True, index, chunk) for chunk in range(chunks) for index in range(micro_batches)]
    backward = [Turn(False, index, chunk) for chunk in reversed(range(chunks)) for index in range(micro_batches)]
    return forward + backward


def _alternate(forward: list[Turn], backward: list[Turn], warm_up: int) -> list[Turn]:
    """`warm_up` forwards, then one forward and one backward in turn, then the backwards that are left."""
    turns = forward[:warm_up]
    for ahead, behind in zip(forward[warm_up:], backward, strict=False):
        turns += [ahead, behind]
    return turns + backward[len(forward) - warm_up :]


def _one_f_one_b(stage: int, stages: int, micro_batches: int, _: int) -> list[Turn]:
    forward = [Turn(True, index) for index in range(micro_batches)]
    backward = [Turn(False, index) for index in range(micro_batches)]
    return _alternate(forward, backward, min(stages - stage - 1, micro_batches))


def _interleaved(stage: int, stages: int, micro_batches: int, chunks: int) -> list[Turn]:
    """Micro-batches go in groups of `stages`: a group passes through all chunks before the next one starts."""
    groups = range(0, micro_batches, stages)
    forward = [
        Turn(True, first + index, chunk) for first in groups for chunk in range(chunks) for index in range(stages)
    ]
    backward = [
        Turn(False, first + index, chunk)
        for first in groups
        for chunk in reversed(range(chunks))
        for index in range(stages)
    ]
    warm_up = (stages - stage - 1) * 2 + (chunks - 1) * stages
    return _alternate(forward, backward, min(warm_up, len(forward)))


SCHEDULES: dict[str, Callable[[int, int, int, int], list[Turn]]] = {
    "gpipe": _gpipe,
    "one_f_one_b": _one_f_one_b,
    "interleaved": _interleaved,
}


def turns(schedule: str, stage: int, stages: int, micro_batches: int, chunks: int) -> list[Turn]:
    """The order of a stage: every forward and backward turn of each of its chunks once.

    `interleaved` needs a number of micro-batches that is a multiple of the stages.
    """
    return SCHEDULES[schedule](stage, stages, micro_batches, chunks)


_CANDIDATES = 400


def balance(times: Sequence[int], pieces: int) -> tuple[int, ...]:
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
