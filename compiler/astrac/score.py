"""A score: what one rank does in a run, each kind of turn written once, and the order in which turns are played.

A turn is the forward or the backward pass of one micro-batch through one virtual stage. Nothing in it depends on its
micro-batch but whether that is the first, the last, or one in between, so three micro-batches show all that a thousand
do; of training steps two do. Steps need each other by their places in turns, never by absolute numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SAMPLES = 3
"""Micro-batches that show all that any number does: the first, one in between, the last."""
ITERATIONS = 2
"""Training steps that show all that any number does: later ones use what the first has updated."""


class Pass(Enum):
    """What a turn is: a pass through a virtual stage, what follows all of backward, or what closes the whole run."""

    FORWARD = auto()
    BACKWARD = auto()
    END = auto()
    CLOSE = auto()


class Slot(Protocol):
    """A pass of a micro-batch through a virtual stage, as a pipeline's schedule tells it."""

    @property
    def forward(self) -> bool:
        """Else backward."""

    @property
    def micro_batch(self) -> int:
        """From 0."""

    @property
    def virtual(self) -> int:
        """The virtual stage, by its index on the stage."""


def pass_of(slot: Slot) -> Pass:
    """What turn a slot is."""
    return Pass.FORWARD if slot.forward else Pass.BACKWARD


class Turn(NamedTuple):
    """One turn of a course; `virtual` and `micro_batch` are 0 where it is no pass."""

    part: Pass
    virtual: int
    micro_batch: int
    iteration: int


class Chain(Enum):
    """The last step of its kind before a turn."""

    COMPUTED = auto()
    SENT = auto()


class Own(NamedTuple):
    """A step of the same turn, by its place there."""

    place: int


class Other(NamedTuple):
    """A step of another turn, by the sample that the turn is like and the place in it.

    It belongs to the same micro-batch; a turn that belongs to none needs the steps of all micro-batches that are like
    the sample's. `back` is how many training steps before.
    """

    sample: int
    place: int
    back: int = 0


Need: TypeAlias = Own | Other | Chain


class Irregular(Exception):  # noqa: N818 - a finding, not an error
    """What a step needs cannot be told by turns."""


@dataclass(frozen=True)
class Score:
    """How the steps of a sample make a run of any length.

    Attributes:
        turns: of the sample, in its order.
        starts: index of each turn's first step in the sample, and at the end the number of steps.
        needs: of each step of the sample, each need once.
        micro_batches: of a training step.
        iterations: training steps.
        tags: of messages between stages that each micro-batch takes.
        slots: the passes of so many micro-batches through the stage, in order.
    """

    turns: tuple[Turn, ...]
    starts: tuple[int, ...]
    needs: tuple[tuple[Need, ...], ...]
    micro_batches: int
    iterations: int
    tags: int
    slots: Callable[[int], Sequence[Slot]]

    @cached_property
    def _numbers(self) -> dict[Turn, int]:
        return {turn: number for number, turn in enumerate(self.turns)}

    def span(self, sample: int) -> range:
        """The steps of a turn of the sample."""
        return range(self.starts[sample], self.starts[sample + 1])

    def sample(self, turn: Turn, micro_batches: int | None = None) -> int:
        """The turn of the sample that one is like; in a run of so many micro-batches instead of its own if asked."""
        at = turn.micro_batch
        if at:
            count = micro_batches or self.micro_batches
            at = min(count, SAMPLES) - 1 if at == count - 1 else 1
        return self._numbers[Turn(turn.part, turn.virtual, at, min(turn.iteration, ITERATIONS - 1))]

    def like(self, sample: int) -> range:
        """The micro-batches that are like that of a turn of the sample."""
        at, last = self.turns[sample].micro_batch, self.micro_batches - 1
        if at == 0:
            return range(1)
        return range(1, last) if at < SAMPLES - 1 and last >= SAMPLES - 1 else range(last, last + 1)

    @property
    def counts(self) -> list[int]:
        """How often each turn of the sample is played in the whole run."""
        rounds = [1, self.iterations - 1] if self.iterations >= ITERATIONS else [1]
        return [
            1 if turn.part is Pass.CLOSE else len(self.like(sample)) * rounds[turn.iteration]
            for sample, turn in enumerate(self.turns)
        ]

    def course(self, micro_batches: int | None = None) -> list[Turn]:
        """All turns of the run in order; of so many micro-batches instead of its own if asked."""
        shown = self.micro_batches if micro_batches is None else micro_batches
        passes = [(pass_of(slot), slot.virtual, slot.micro_batch) for slot in self.slots(shown)]
        ends = any(turn.part is Pass.END for turn in self.turns)
        course: list[Turn] = []
        for iteration in range(self.iterations):
            course += [Turn(*each, iteration) for each in passes]
            if ends:
                course.append(Turn(Pass.END, 0, 0, iteration))
        if self.turns[-1].part is Pass.CLOSE:
            course.append(Turn(Pass.CLOSE, 0, 0, self.iterations - 1))
        return course


def relative(
    turns: Sequence[Turn],
    starts: Sequence[int],
    needs: Sequence[Sequence[int]],
    chains: Sequence[dict[Chain, int]],
) -> tuple[tuple[Need, ...], ...]:
    """The needs of a sample's steps by places.

    Args:
        turns: of the sample, in order.
        starts: index of the first step of each turn, and at the end the number of steps.
        needs: of each step, by index.
        chains: before each turn the last step of each kind, where there is one.

    Raises:
        Irregular: when a step needs what cannot be told by places.
    """
    home = [number for number in range(len(turns)) for _ in range(starts[number], starts[number + 1])]

    def told(need: int, number: int) -> Need:
        other = home[need]
        if other == number:
            return Own(need - starts[number])
        mine, theirs = turns[number], turns[other]
        passes = mine.part in (Pass.FORWARD, Pass.BACKWARD)
        back = mine.iteration - theirs.iteration
        if not back and passes and theirs.micro_batch == mine.micro_batch:
            return Other(other, need - starts[other])
        for chain, last in chains[number].items():
            if last == need:
                return chain
        if theirs.part is Pass.END if back else not passes:
            return Other(other, need - starts[other], back)
        raise Irregular

    return tuple(
        tuple(told(need, number) for need in needs[index])
        for number in range(len(turns))
        for index in range(starts[number], starts[number + 1])
    )
