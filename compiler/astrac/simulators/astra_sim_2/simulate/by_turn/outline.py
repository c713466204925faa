"""The turns of a program as far as no network tells: which nodes, and what they need of each other."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from astrac.job import Collective, Compute, Load, Receive, Send, Store
from astrac.score import Chain, Other, Own, Pass
from astrac.simulators.astra_sim_2.simulate.by_turn.body import Refused

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from astrac.job import Op, Program
    from astrac.score import Score, Turn
    from astrac.simulators.astra_sim_2.simulate.by_turn.body import Link

Kind = tuple[Pass, int, int]
"""A turn of the sample, whichever training step."""


@dataclass(frozen=True)
class TurnOutline:
    """A turn of the sample.

    Attributes:
        signs: of its nodes; nodes with one sign last equally long.
        needs: places of the turn that each node needs.
        computed: places of the first and the last compute node; -1 without any.
        met: the same for the chain of collectives.
        sent: the place of the last send.
        sends: names of the messages to other roles, by place.
        receives: places of those from other roles, by name.
        rings: places of receives by those of the sends to ranks of the same role that end them.
        numbers: indices of the nodes in their program.
        wanted: for a kind of earlier turn (the place there, the place here, how many training steps before).
        chained: places that need the last step of a chain before the turn.
    """

    signs: tuple[int, ...]
    needs: tuple[tuple[int, ...], ...]
    computed: tuple[int, int]
    met: tuple[int, int]
    sent: int
    sends: dict[int, int]
    receives: dict[int, int]
    rings: dict[int, int]
    numbers: tuple[int, ...]
    wanted: dict[Kind, list[tuple[int, int, int]]]
    chained: dict[Chain, list[int]]


class Outline:
    """The turns of a program's sample.

    Attributes:
        turns: in order.
        distinct: for each sign the index of a node with it.
    """

    def __init__(self, program: Program) -> None:
        assert program.score is not None
        self._score: Score = program.score
        self.distinct: list[int] = []
        self._signs: dict[Hashable, int] = {}
        self._links: dict[tuple[int, ...], tuple[Link, ...]] = {}
        self.turns = [self._outlined(sample, turn, program) for sample, turn in enumerate(self._score.turns)]

    def _sign(self, op: Op, number: int) -> int:
        match op:
            case Compute():
                key: Hashable = (op.num_ops, op.tensor_size, op.duration, op.host)
            case Collective():
                key = (op.kind, op.bytes, op.group, op.duration)
            case Send():
                key = (op.axis, op.offset, op.bytes)
            case Receive():
                key = Receive
            case _:
                key = (type(op), op.bytes if isinstance(op, Load | Store) else astuple(op))
        found = self._signs.setdefault(key, len(self._signs))
        if found == len(self.distinct):
            self.distinct.append(number)
        return found

    def _outlined(self, sample: int, turn: Turn, program: Program) -> TurnOutline:
        score = self._score
        base = (turn.iteration * score.micro_batches + turn.micro_batch) * score.tags
        signs: list[int] = []
        needs: list[tuple[int, ...]] = []
        sends: dict[int, int] = {}
        receives: dict[int, int] = {}
        rings: dict[int, int] = {}
        wanted: dict[Kind, list[tuple[int, int, int]]] = defaultdict(list)
        chained: dict[Chain, list[int]] = defaultdict(list)
        computed, met, sent = [-1, -1], [-1, -1], -1
        numbers = tuple(program.nodes[index] for index in score.span(sample))
        for place, (index, number) in enumerate(zip(score.span(sample), numbers, strict=True)):
            op = program.ops[number]
            own = set()
            for need in score.needs[index]:
                if isinstance(need, Own):
                    own.add(need.place)
                elif isinstance(need, Other):
                    wanted[score.turns[need.sample][:3]].append((need.place, place, need.back))
                else:
                    chained[need].append(place)
            match op:
                case Compute() | Collective() | Load() | Store():
                    chain = computed if isinstance(op, Compute) else met
                    if chain[1] >= 0:
                        own.add(chain[1])
                    else:
                        chain[0] = place
                    chain[1] = place
                case Send():
                    sends[place] = op.tag - base
                    sent = place
                case Receive():
                    if score.needs[index]:
                        raise Refused("a receive that waits for something")
                    receives[op.tag - base] = place
            signs.append(self._sign(op, number))
            needs.append(tuple(sorted(own)))
        for place, name in list(sends.items()):
            if name in receives:  # ranks of one role send each other
                rings[place] = receives.pop(name)
                del sends[place]
        ends = (computed[0], computed[1]), (met[0], met[1])
        return TurnOutline(
            tuple(signs), tuple(needs), *ends, sent, sends, receives, rings, numbers, dict(wanted), dict(chained)
        )

    def links(
        self, earlier: Turn, later: Turn, before: int, here: int, *, neighbours: bool, last_met: bool, last_sent: bool
    ) -> tuple[Link, ...]:
        """What a turn needs of an earlier one.

        Args:
            earlier: a turn.
            later: another, that comes after it.
            before: the turn of the sample that the earlier one is like.
            here: the same of the later one.
            neighbours: whether one comes directly after the other.
            last_met: whether no node of the chain of collectives lies between.
            last_sent: whether no send lies between.
        """
        back = later.iteration - earlier.iteration
        passes = later.part in (Pass.FORWARD, Pass.BACKWARD)
        same = back > 0 or not passes or earlier.micro_batch == later.micro_batch
        key = (before, here, back, same, neighbours, last_met, last_sent)
        if key not in self._links:
            self._links[key] = tuple(sorted(set(self._found(*key))))
        return self._links[key]

    def _found(
        self, before: int, here: int, back: int, same: bool, neighbours: bool, last_met: bool, last_sent: bool
    ) -> Iterator[Link]:
        old, new = self.turns[before], self.turns[here]
        if same:
            wanted = new.wanted.get(self._score.turns[before][:3], ())
            yield from ((need, place) for need, place, far in wanted if far == back)
        if neighbours:
            yield old.computed[1], new.computed[0]
            yield from ((old.computed[1], place) for place in new.chained.get(Chain.COMPUTED, ()))
        if last_met and old.met[1] >= 0 <= new.met[0]:
            yield old.met[1], new.met[0]
        if last_sent and old.sent >= 0:
            yield from ((old.sent, place) for place in new.chained.get(Chain.SENT, ()))


_KEPT = 32
_OUTLINES: OrderedDict[int, tuple[Program, Outline]] = OrderedDict()


def outline_of(program: Program) -> Outline:
    """The outline of a program; programs that share their nodes share it."""
    key = id(program.ops)
    found = _OUTLINES.get(key)
    if found is None or found[0].ops is not program.ops:
        found = _OUTLINES[key] = program, Outline(program)
        while len(_OUTLINES) > _KEPT:
            _OUTLINES.popitem(last=False)
    return found[1]
