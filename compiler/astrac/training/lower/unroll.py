"""A sampled plan -> the whole plan: every step of every micro-batch, for those who write them down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Result, diagnostic
from astrac.score import Chain, Other, Own, Pass, Turn
from astrac.training.lower.stage import TAGS_OF_RINGS
from astrac.training.lower.steps import StepBuilder
from astrac.training.lower.weights import BUCKET
from astrac.training.plan import Transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.score import Need, Score
    from astrac.source import Span
    from astrac.training.lower.virtual_stage import VirtualStage
    from astrac.training.plan import Plan, StageProgram, Step

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


def renamed(steps: Sequence[Step], theirs: Sequence[VirtualStage], mine: Sequence[VirtualStage]) -> dict[str, str]:
    """The names in a stage's steps -> those of a stage that does alike."""
    names = {"copies": "copies", "end": "end"}
    shift = mine[0].number - theirs[0].number
    for their, my in zip(theirs, mine, strict=True):
        for number in (their.number, their.number + 1):
            names[f"boundary{number}"] = f"boundary{number + shift}"
        names |= {one.name: other.name for one, other in zip(their.units, my.units, strict=True)}
        parts = zip(their.parts.values(), my.parts.values(), strict=True)
        names |= {one.layer.name: other.layer.name for one, other in parts}
    units = {unit.name for their in theirs for unit in their.units}
    for name in {step.layer for step in steps} - names.keys():
        ends = (name.split(BUCKET)[:at] for at in range(1, name.count(BUCKET) + 1))
        first = next(BUCKET.join(end) for end in ends if BUCKET.join(end) in units)
        names[name] = f"{names[first]}{BUCKET}{names[name.removeprefix(first + BUCKET)]}"
    return names


def unrolled(program: StageProgram) -> StageProgram:
    """A program with all of its steps, and no score."""
    score = program.score
    if score is None:
        return program
    names, shift = ({}, 0) if program.twin is None else (program.twin.names, program.twin.shift)
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
                    tag = action.tag + later * score.tags + 2 * shift
                action = replace(action, tag=tag)
            needs = (one for need in score.needs[index] for one in _resolved(need, turn, score, begins, chains))
            micro_batch = None if step.micro_batch is None else turn.micro_batch
            steps.add(action, needs, names.get(step.layer, step.layer), step.phase, micro_batch, step.axis)
        rings += len(ring)
    return replace(program, steps=tuple(steps.steps), score=None, twin=None)


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
