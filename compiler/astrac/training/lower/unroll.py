"""A sampled plan -> the whole plan: every step of every micro-batch, for those who write them down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Result, diagnostic
from astrac.score import Chain, Other, Own, Pass, Turn
from astrac.training.lower.stage import TAGS_OF_RINGS
from astrac.training.lower.steps import StepBuilder
from astrac.training.plan import Transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.score import Need, Score
    from astrac.source import Span
    from astrac.training.plan import Plan, StageProgram

LARGEST = 3_000_000
"""Steps of all distinct ranks together; a kilobyte of memory each."""


def whole(plan: Plan, at: Callable[[str], Span]) -> Result[Plan]:
    """The plan with all of its steps; AS533 where they are too many to be written down."""
    long = tuple(too_long(plan, at))
    return Result(None if long else replace(plan, programs=tuple(map(unrolled, plan.programs))), long)


def too_long(plan: Plan, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS533 for a run that is too long to be written down."""
    if plan.length > LARGEST:
        rounds = plan.micro_batches * (1 if plan.spec.training is None else plan.spec.training.steps)
        message = (
            f"{rounds:,} micro-batches through {len(plan.model.layers):,} layers are about {plan.length:,} steps, "
            f"more than {LARGEST:,}"
        )
        hint = "fewer `steps`, a smaller `global_batch` or a larger `micro_batch` tell as much"
        yield diagnostic("AS533", message, at("/training"), hints=(hint,))


def unrolled(program: StageProgram) -> StageProgram:
    """A program with all of its steps, and no score."""
    score = program.score
    if score is None:
        return program
    steps = StepBuilder()
    rings = 0
    begins: dict[Turn, int] = {}
    for turn in score.course():
        sample = score.sample(turn)
        like = score.turns[sample]
        steps.iteration = turn.iteration
        begins[turn] = len(steps.steps)
        chains = steps.chains
        later = turn.iteration * score.micro_batches + turn.micro_batch
        later -= like.iteration * score.micro_batches + like.micro_batch
        ring: dict[int, int] = {}  # tags of the sample -> tags here
        for index in score.span(sample):
            step = program.steps[index]
            action = step.action
            if isinstance(action, Transfer):
                if action.tag >= TAGS_OF_RINGS:
                    tag = ring.setdefault(action.tag, TAGS_OF_RINGS + rings + len(ring))
                else:
                    tag = action.tag + later * score.tags
                action = replace(action, tag=tag)
            needs = (one for need in score.needs[index] for one in _resolved(need, turn, score, begins, chains))
            micro_batch = None if step.micro_batch is None else turn.micro_batch
            steps.add(action, needs, step.layer, step.phase, micro_batch, step.axis)
        rings += len(ring)
    return replace(program, steps=tuple(steps.steps), score=None)


def _resolved(need: Need, turn: Turn, score: Score, begins: dict[Turn, int], chains: dict[Chain, int]) -> Iterator[int]:
    """The steps that a step of a turn needs, by their numbers in the whole run."""
    match need:
        case Own(place):
            yield begins[turn] + place
        case Chain():
            yield chains[need]
        case Other(sample, place, back):
            like, iteration = score.turns[sample], turn.iteration - back
            if turn.part in (Pass.FORWARD, Pass.BACKWARD) and not back:
                numbers = range(turn.micro_batch, turn.micro_batch + 1)
            else:
                numbers = score.like(sample)
            for number in numbers:
                yield begins[Turn(like.part, like.virtual, number, iteration)] + place
