"""The steady state of a pipeline: found where all that matters has come again, and then counted instead of played.

Two moments of a run are alike when every role is in the same state, as far from the moment and with the same messages
under way, so many turns later. When the turns that follow are alike as well, whatever happens between the two moments
happens once more if there are as many micro-batches more. Equal times of single events would prove nothing: a slack
that shrinks slowly shows in the states only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.score import Pass
from astrac.simulators.astra_sim_2.simulate.by_turn.body import Refused
from astrac.simulators.astra_sim_2.simulate.by_turn.play import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from astrac.simulators.astra_sim_2.simulate.by_turn.play import Actor, Met
    from astrac.simulators.astra_sim_2.simulate.by_turn.role import Role

DEPTHS = (2, 4, 8, 16, 24)
"""Micro-batches that are played to find a period, in units of the virtual stages of the pipeline."""


MANY = 500_000
"""Turns of all roles that are played one by one, where there is no period."""


@dataclass(frozen=True)
class Played:
    """What became of one role: the tick of its finish, and ns of compute, exposed communication and memory."""

    finish: int
    shares: tuple[int, ...]


@dataclass(frozen=True)
class Mark:
    """A moment at which a turn of the first role begins.

    Attributes:
        tick: of the run.
        at: the turn that each role is in.
        last: the last turn of each that the current one can reach.
        far: how many turns back something of each role has not ended.
        shares: of each role, up to the start of its segment.
    """

    tick: int
    at: tuple[int, ...]
    last: tuple[int, ...]
    far: tuple[int, ...]
    shares: tuple[tuple[int, ...], ...]


def played(roles: list[Role], together: Callable[[list[Met]], list[tuple[Met, tuple[int, int]]]]) -> list[Played]:
    """What becomes of each role in a whole run."""
    score = roles[0].score
    depth = sum(turn.part is Pass.FORWARD and not turn.micro_batch and not turn.iteration for turn in score.turns)
    depth *= len(roles)
    tried: set[int] = set()
    for depths in DEPTHS if score.iterations == 1 else ():
        few = depths * depth
        while few < score.micro_batches and few not in tried:
            tried.add(few)
            found = _extended(roles, few, together)
            if not isinstance(found, int):
                return found
            # Only after a whole number of periods is the end like that of the few.
            few += (score.micro_batches - few) % found if found else 0
    passes = sum(count for role in roles for count in role.score.counts)
    if passes > MANY:
        raise Refused("too many turns to play them all")
    return [Played(*_end(actor)) for actor in Run(roles, score.micro_batches, together).play()]


def _end(actor: Actor) -> tuple[int, tuple[int, ...]]:
    assert actor.finish is not None
    return actor.finish, tuple(actor.shares)


def _extended(
    roles: list[Role], few: int, together: Callable[[list[Met]], list[tuple[Met, tuple[int, int]]]]
) -> list[Played] | int:
    """A run of a few micro-batches, extended to all; else how many make a period, where the rest is none, or 0."""
    seen: dict[Hashable, list[Mark]] = {}
    pairs: list[tuple[Mark, Mark]] = []

    def watch(run: Run, tick: int) -> None:
        mark = Mark(
            tick,
            tuple(actor.at for actor in run.actors),
            tuple(actor.last for actor in run.actors),
            tuple(actor.far for actor in run.actors),
            tuple(tuple(actor.shares) for actor in run.actors),
        )
        before = seen.setdefault(tuple(actor.moment(tick) for actor in run.actors), [])
        pairs.extend((earlier, mark) for earlier in before[-1:])
        before.append(mark)

    run = Run(roles, few, together, watch)
    run.play()
    micro_batches = roles[0].score.micro_batches
    for earlier, later in pairs:
        period = _period(run.actors, earlier, later, few)
        if period:
            times, rest = divmod(micro_batches - few, period)
            if rest:
                return period
            found = []
            for number, actor in enumerate(run.actors):
                finish, shares = _end(actor)
                grown = zip(shares, earlier.shares[number], later.shares[number], strict=True)
                more = tuple(share + times * (after - before) for share, before, after in grown)
                found.append(Played(finish + times * (later.tick - earlier.tick), more))
            return found
    return 0


def _period(actors: Sequence[Actor], earlier: Mark, later: Mark, few: int) -> int:
    """How many micro-batches lie between two moments whose states are alike; 0 when the turns are not."""
    periods = set()
    for actor, start, end in zip(actors, earlier.at, later.at, strict=True):
        passes = sum(
            turn.micro_batch == 0 and turn.part in (Pass.FORWARD, Pass.BACKWARD) for turn in actor.role.score.turns
        )
        more, rest = divmod(end - start, passes)
        if rest or not more:
            return 0
        periods.add(more)
    if len(periods) > 1:
        return 0
    period = periods.pop()
    for actor, start, end, last, far in zip(actors, earlier.at, later.at, later.last, earlier.far, strict=True):
        if not _alike(actor, start, end, last, far, period, few):
            return 0
    return period


def _alike(actor: Actor, start: int, end: int, last: int, far: int, period: int, few: int) -> bool:
    """Whether one role's turns after two moments are alike, and those up to the later one the same in a longer run."""
    score = actor.role.score
    longer = score.course(few + period)
    samples = [score.sample(turn, few + period) for turn in longer]
    reached = max(last, actor.reach[end]) + 1
    if longer[:reached] != actor.turns[:reached] or samples[:reached] != actor.samples[:reached]:
        return False
    first = max(0, start - far)
    # What lies further back than anything that has not ended is looked at by nobody.
    if samples[first + end - start :] != actor.samples[first:]:
        return False
    ends = (Pass.END, Pass.CLOSE)
    moved = [
        turn if turn.part in ends else turn._replace(micro_batch=turn.micro_batch + period)
        for turn in actor.turns[first:]
    ]
    return longer[first + end - start :] == moved
