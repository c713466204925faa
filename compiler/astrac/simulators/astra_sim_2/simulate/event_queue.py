"""The event queue of a discrete-event simulation: a list of calls per tick, in order of registration.

The order within a tick decides ties, so it is kept: each rank collects its own events of a tick in one list, which
stands in the global list where its first event was registered.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from astrac.simulators.astra_sim_2.simulate.network import Broken, TooMuch

if TYPE_CHECKING:
    from collections.abc import Callable

Call = tuple["Callable[[Any, Any], None]", Any, Any]
"""A function of an owner and an argument, with both: the owner can be exchanged while the call waits."""

MAX_TICK = 1 << 63
LATE = "more cycles than 63 bits hold"


class EventQueue:
    """Plays events in order.

    Attributes:
        now: the current tick, ns.
        calls: tick -> what happens there, in order.
        own: owner -> tick -> the owner's own events there, in order.
        fault: what the simulator has done with freed memory; None = nothing (section 6.3).
        due: whether something waits for the end of the tick.
        limit: calls that may still happen; a play that needs more is given up.
    """

    def __init__(self, limit: int) -> None:
        self.now = 0
        self.calls: dict[int, list[Call]] = {}
        self.own: dict[Any, dict[int, list[Call]]] = defaultdict(dict)
        self.due = False
        self.fault: str | None = None
        self.limit = limit
        self._ticks: list[int] = []

    def after(self, delay: int, call: Callable[[Any, Any], None], owner: Any, argument: Any = None) -> None:
        """Registers a call in the global list."""
        tick = self.now + delay
        if tick in self.calls:
            self.calls[tick].append((call, owner, argument))
        else:
            self.calls[tick] = [(call, owner, argument)]
            heappush(self._ticks, tick)

    def after_own(
        self, actor: Any, delay: int, call: Callable[[Any, Any], None], owner: Any, argument: Any = None
    ) -> None:
        """Registers a call in an actor's own list, which the global list holds once a tick."""
        tick = self.now + delay
        waiting = self.own[actor].get(tick)
        if waiting is None:
            self.own[actor][tick] = [(call, owner, argument)]
            self.after(delay, self._play_own, actor)
        else:
            waiting.append((call, owner, argument))

    def _play_own(self, actor: Any, _argument: None) -> None:
        waiting = self.own[actor]
        for call, owner, argument in waiting[self.now]:
            call(owner, argument)
        del waiting[self.now]

    def split(self, actor: Any, copies: list[Any]) -> None:
        """Between two ticks: copies of an actor get what waits for it, in its place."""
        if not copies:
            return
        for tick, calls in self.calls.items():
            self.calls[tick] = _spread(calls, actor, copies)
        for copy in copies:
            self.own[copy] = {
                tick: [(call, copy if owner is actor else owner, argument) for call, owner, argument in calls]
                for tick, calls in self.own[actor].items()
            }

    def play(self, between: Callable[[], None] = lambda: None) -> None:
        """Until nothing is left to happen; `between` is called after a tick in which something became due.

        Raises:
            Broken: when an event lies at tick 0, where the simulator's clock cannot stop.
            TooMuch: when the limit is passed.
        """
        while self._ticks:
            tick = heappop(self._ticks)
            if not 0 < tick < MAX_TICK:
                raise Broken(
                    "something lasts 0 ns at tick 0: the simulator aborts in its event queue" if not tick else LATE
                )
            self.now = tick
            calls = self.calls[tick]
            for call, owner, argument in calls:
                call(owner, argument)
            self.limit -= len(calls)
            if self.limit < 0:
                raise TooMuch
            del self.calls[tick]
            if self.due:
                self.due = False
                between()


def bundle(
    clock: EventQueue, owner: Any, endpoint: int, reduction: int, done: tuple[Callable[[Any, Any], None], Any, Any]
) -> None:
    """Calls `done` after the endpoint delay and, unless it is negative, a reduction: two events of the owner's own."""
    if reduction < 0:
        clock.after_own(owner, endpoint, *done)
    else:
        clock.after_own(owner, endpoint, _reduce, (clock, owner, reduction), done)


def _reduce(where: tuple[EventQueue, Any, int], done: tuple[Callable[[Any, Any], None], Any, Any]) -> None:
    clock, owner, reduction = where
    clock.after_own(owner, reduction, *done)


def late(received: Callable[[], None], _argument: None) -> None:
    """To be registered for a message that had come before anybody waited for it: it is received later in the tick."""
    received()


def _spread(calls: list[Call], actor: Any, copies: list[Any]) -> list[Call]:
    spread = []
    for entry in calls:
        spread.append(entry)
        if entry[1] is actor:
            spread.extend((entry[0], copy, entry[2]) for copy in copies)
    return spread
