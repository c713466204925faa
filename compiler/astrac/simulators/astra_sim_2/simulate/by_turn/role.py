"""What a class of ranks does: the outline of its program, with the durations that the machine gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from astrac.job import Send
from astrac.simulators.astra_sim_2.simulate.by_turn.body import Refused, body_of
from astrac.simulators.astra_sim_2.simulate.by_turn.outline import outline_of
from astrac.simulators.astra_sim_2.simulate.issue import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Op, Program
    from astrac.score import Pass, Score
    from astrac.simulators.astra_sim_2.simulate.by_turn.body import Body, Node


class Message(NamedTuple):
    """A send of a turn: who receives it, its name within its micro-batch and training step, and after how many ns."""

    role: int
    name: int
    delay: int


class Role:
    """What a class of ranks does, by turns.

    Attributes:
        score: of its program.
        outline: of its program.
        bodies: of the turns of the sample.
        messages: for each turn of the sample the messages that it sends, by place.
        receives: for each turn of the sample the places of those that it receives, by name.
        devices: ns of device compute of each turn of the sample.
    """

    def __init__(
        self,
        program: Program,
        timed: Callable[[int, Op], Node],
        receiver: Callable[[Send], int | None],
    ) -> None:
        """Prices the nodes.

        Args:
            program: that the ranks run.
            timed: a node, given its index and what it is.
            receiver: the role that a send goes to; None for the same.
        """
        assert program.score is not None
        self.score: Score = program.score
        self.outline = outline_of(program)
        nodes = [timed(number, program.ops[number]) for number in self.outline.distinct]
        ends = [receiver(op) if isinstance(op := program.ops[at], Send) else None for at in self.outline.distinct]
        self.bodies: list[Body] = []
        self.messages: list[dict[int, Message]] = []
        self.receives: list[dict[int, int]] = []
        self.devices: list[int] = []
        for turn in self.outline.turns:
            priced = [nodes[sign] for sign in turn.signs]
            for start, end in turn.rings.items():
                priced[start] = priced[start]._replace(answer=end - start)
                priced[end] = priced[end]._replace(answer=1)
            messages = {}
            for place, name in turn.sends.items():
                role = ends[turn.signs[place]]
                if role is None:
                    raise Refused("a message to its own role that it does not wait for")
                messages[place] = Message(role, name + program.shift, priced[place].time)
            if any(ends[turn.signs[place]] is not None for place in turn.rings):
                raise Refused("a message that two roles receive")
            self.bodies.append(body_of(tuple(priced), turn.needs))
            self.messages.append(messages)
            self.receives.append({name + program.shift: place for name, place in turn.receives.items()})
            self.devices.append(sum(node.time for node in priced if node.slot == DEVICE))

    def homes(self) -> dict[int, tuple[Pass, int]]:
        """For the name of each message that comes in, the kind of turn that receives it."""
        turns = zip(self.receives, self.score.turns, strict=True)
        return {name: (turn.part, turn.virtual) for names, turn in turns for name in names}
