"""ASTRA-SIM-2 section 4: a whole workload, played by one representative of each class of ranks that act alike."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from astrac.job import Collective, Load, Receive, Send, Store
from astrac.simulators.astra_sim_2.simulate.actor import Actor
from astrac.simulators.astra_sim_2.simulate.clock import Clock
from astrac.simulators.astra_sim_2.simulate.meetings import Meetings
from astrac.simulators.astra_sim_2.simulate.network import Broken
from astrac.simulators.astra_sim_2.simulate.prices import SKIPPED, on_device
from astrac.simulators.astra_sim_2.simulate.sharing import Sharing
from astrac.simulators.results import Outcome, RankResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Box, Job, Op
    from astrac.simulators.astra_sim_2.simulate.cast import Cast, Origin
    from astrac.simulators.astra_sim_2.simulate.costs import Cost
    from astrac.simulators.astra_sim_2.simulate.desk import Script
    from astrac.simulators.astra_sim_2.simulate.network import Network


class Representatives:
    """A play.

    Args:
        job: what is played.
        scripts: its Programs.
        network: its costs.
        cast: who stands for whom.
        cost: what things cost.
        limit: events that may be played.

    Attributes:
        clock: of the play.
        actors: by key of their role.
        sharing: the memory nodes.
        doubt: a defect of the simulator's memory that the play has met.
        unsettled: what only a play of every rank can tell.
    """

    def __init__(self, job: Job, scripts: list[Script], network: Network, cast: Cast, cost: Cost, limit: int) -> None:
        self.job = job
        self.network = network
        self.cast = cast
        self.cost = cost
        self.clock = Clock(limit)
        self.doubt: str | None = None
        self.unsettled: str | None = None
        self._scripts = scripts
        self.actors = {role.key: Actor(role, scripts[role.program]) for role in cast.roles()}
        self._meetings = Meetings(self)
        self.sharing = Sharing(self)
        self._issuers: dict[type[Op], Callable[[Actor, int, Any], None]] = {
            Collective: self._meetings.issue,
            Send: self._send,
            Receive: self._receive,
            Load: self.sharing.issue,
            Store: self.sharing.issue,
        }

    def play(self) -> None:
        """To the end.

        Raises:
            Broken: with the reason, when the simulator would crash, hang or leave ranks unfinished.
        """
        for actor in list(self.actors.values()):
            self._round(actor, -1)
        self._between()
        self.clock.play(self._between)
        for actor in self.actors.values():
            rank, desk = actor.role.rank, actor.desk
            if actor.finish is None:
                waits = actor.open or desk.stuck[:1]
                names = ", ".join(f"{type(op).__name__.lower()} {op.id}" for op in waits)
                raise Broken(f"rank {rank} never finishes: it waits in {names}", Outcome.HANG, rank=rank)
            if desk.left:
                reason = f"nodes {[op.id for op in desk.stuck]} of rank {rank} never run: they form a cycle"
                raise Broken(reason, Outcome.HALF_FINISHED, rank=rank)

    def _between(self) -> None:
        self._meetings.between()
        self.sharing.between()

    def played(self, *, trace: bool) -> tuple[RankResult, ...]:
        """The classes of ranks, after a play, with the times of their nodes if asked."""
        found = []
        for actor in self.actors.values():
            boxes = self.cast.boxes(actor.role.key)
            count = sum(self._size(box) for box in boxes)
            spans = tuple(zip(actor.starts, actor.ends, strict=True)) if trace else ()
            assert actor.finish is not None
            found.append(
                RankResult(actor.role.program, boxes, count, actor.role.rank, actor.finish, actor.device, spans)
            )
        return tuple(sorted(found, key=lambda played: played.rank))

    def _size(self, box: Box) -> int:
        axes = zip(self.job.axes, box.coordinates, strict=True)
        return prod(axis.size if allowed is None else len(allowed) for axis, allowed in axes)

    def split(self, origins: dict[Any, Origin]) -> dict[Any, Actor]:
        """Makes the actors of a refined cast out of those that they were part of; by their keys."""
        roles = {role.key: role for role in self.cast.roles()}
        parts: dict[Any, list[Any]] = defaultdict(list)
        for key, origin in origins.items():
            parts[origin.key].append(key)
        actors: dict[Any, Actor] = {}
        for old, keys in parts.items():
            actor = self.actors[old]
            copies = [actor.copy(roles[key], self._scripts[roles[key].program]) for key in keys[1:]]
            self.clock.split(actor, copies)
            self._meetings.copied(actor, copies)
            self.sharing.copied(actor, copies)
            actor.role = roles[keys[0]]
            actor.desk.script = self._scripts[actor.role.program]
            actors.update(zip(keys, [actor, *copies], strict=True))
        for actor in actors.values():
            actor.ways.clear()
        self.actors = actors
        self._meetings.refined()
        return actors

    # One rank: issue and end.

    def _round(self, actor: Actor, cause: int) -> list[int]:
        """Issues what can be issued, then looks whether all is done."""
        issued = []
        now = self.clock.now
        desk = actor.desk
        ops = desk.script.ops
        while (number := desk.take()) is not None:
            issued.append(number)
            actor.starts[number] = now
            actor.causes[number] = cause
            self._issue(actor, number, ops[number])
        if actor.finish is None and desk.idle:
            actor.finish = now
        return issued

    def _issue(self, actor: Actor, number: int, op: Op) -> None:
        if op.host or isinstance(op, Load | Store):
            actor.odd = True
        time = self.cost.lasting(self.job.machine, op)
        if time is None:
            self._issuers[type(op)](actor, number, op)
        elif time == SKIPPED:
            actor.ends[number] = self.clock.now
            actor.desk.skip(number)
        else:
            if on_device(self.job.machine, op):
                actor.device += time
            self.clock.after_own(actor, time, self.end, actor, (number, self.clock.now))

    def register(self, actor: Actor, number: int, time: int, tail: int) -> None:
        """Lets a node end after `time`, by an event that the simulator registers `tail` before."""
        if tail < time:
            self.clock.after(time - tail, self._announce, actor, (number, tail))
        else:
            self._announce(actor, (number, time))

    def _announce(self, actor: Actor, event: tuple[int, int]) -> None:
        number, tail = event
        self.clock.after_own(actor, tail, self.end, actor, (number, self.clock.now))

    def end(self, actor: Actor, event: tuple[int, int]) -> None:
        """A node has ended; the simulator registered that at tick `event[1]`."""
        number, registered = event
        now = self.clock.now
        before = actor.last
        if before[0] == now and before[1] == registered and self.cost.exact:
            self._look_at_order(actor, before[2], before[3], number)
        actor.ends[number] = now
        actor.desk.end(number)
        actor.last = (now, registered, number, self._round(actor, number))

    def _look_at_order(self, actor: Actor, first: int, issued: list[int], second: int) -> None:
        if actor.desk.order_matters(first, issued, second):
            self.unsettled = self.unsettled or (
                f"nodes {actor.op(first).id} and {actor.op(second).id} of rank {actor.role.rank} end in one tick, "
                "and only the ranks' numbering says which first"
            )

    def _end_by_message(self, actor: Actor, event: tuple[int, int]) -> None:
        """A send or receive has ended, out of the network's own event."""
        self.end(actor, event)
        if actor.finish is not None and actor.odd and self.cost.exact:
            raise Broken(
                f"the last event of rank {actor.role.rank}, which has a host or memory node, is a send or receive: "
                "the simulator aborts in its statistics",
                rank=actor.role.rank,
            )

    # Sends and receives.

    def _send(self, actor: Actor, number: int, op: Send) -> None:
        if op.bytes <= 0:
            raise Broken(f"node {op.id} sends {op.bytes} bytes: the simulator aborts")
        _, link = self.cast.peer(actor.role.key, op)
        time = self.cost.message(self.network, link, op.bytes)
        self.clock.after(time, self._arrive, actor, (number, self.clock.now))

    def _arrive(self, actor: Actor, event: tuple[int, int]) -> None:
        """A send's message is there: the send has ended, and so may a receive."""
        op = actor.op(event[0])
        key, _ = self.cast.peer(actor.role.key, op)
        self._end_by_message(actor, event)
        receiver = self.actors[key]
        channel = self.cast.channel(actor.role.key, op, receiver.role.program)
        if channel is None:
            return
        if receiver.posted[channel]:
            number = receiver.posted[channel].popleft()
            self._end_by_message(receiver, (number, event[1]))
        else:
            receiver.arrived[channel].append(event[1])

    def _receive(self, actor: Actor, number: int, op: Receive) -> None:
        channel = self.cast.channel(actor.role.key, op, actor.role.program)
        assert channel is not None
        if actor.arrived[channel]:
            actor.arrived[channel].popleft()
            self.clock.after(0, self._end_by_message, actor, (number, self.clock.now))
        else:
            actor.posted[channel].append(number)
