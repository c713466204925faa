"""How often a loop runs, where constants and shapes decide it: a trip count, or a condition that counts."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac.models.onnx.facts import Facts, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.models.graph import Node

ENDLESS = 2**31 - 1
"""Trip counts from which on a file means that only its condition ends the loop."""

_MOST_STEPS, _FURTHEST = 2000, 2**40
"""Iterations that are followed one by one, and those that are looked up ahead."""

_STRAIGHT = frozenset(
    {"Add", "Sub", "Neg", "Cast", "CastLike", "Identity", "Reshape", "Squeeze", "Unsqueeze", "And"}
    | {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
)
"""Operators of conditions on numbers that grow evenly: what has held and no longer does never holds again."""

_BROKEN = (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError)


def trips(end: Site, body: Sequence[Node], given: int | None) -> int | None:
    """How often a loop runs, None where only the run will tell.

    Args:
        end: the marker behind the loop.
        body: the nodes inside.
        given: what the user says of a loop that does not say it itself.
    """
    limit, condition, *_ = *end.names("initial"), "", ""
    numbers, first = (end.facts.array(name) if name else None for name in (limit, condition))
    if first is not None and not first.all():
        return 0
    most = int(numbers.ravel()[0]) if numbers is not None and numbers.size else None
    if limit and most is None:
        return given
    try:
        ended = _Condition(end, body).ends()
    except _BROKEN:
        ended = None
    if ended is None:
        return given if most is None or most >= ENDLESS else most
    return ended if most is None else min(ended, most)


class _Condition:
    """The part of a body that decides whether there is another iteration."""

    def __init__(self, end: Site, body: Sequence[Node]) -> None:
        self.facts, self.name = end.facts, end.name(1)
        self.formal, self.initial, self.handed = end.names("formal"), end.names("initial"), end.node.inputs
        self.body = body
        self.carried: list[int] = []
        """Which values of the loop it depends on."""

    def steps(self) -> list[Node] | None:
        """The nodes that it takes, None where it takes data."""
        makers = {name: node for node in self.body for name in node.outputs}
        needed, seen, pending = set(), {""}, [self.name]
        while pending:
            name = pending.pop()
            if name in seen or self.facts.array(name) is not None:
                continue
            seen.add(name)
            if name in makers:
                needed.add(id(makers[name]))
                pending += makers[name].inputs
            elif name not in self.formal:
                return None
            elif (index := self.formal.index(name)) > 1:
                self.carried.append(index)
                pending.append(self.handed[index])
        return [node for node in self.body if id(node) in needed]

    def ends(self) -> int | None:
        """After which iteration it ends the loop; None where it does not, or where data decides."""
        known = self.facts.array(self.name)
        if known is not None:
            return None if known.all() else 1
        steps = self.steps()
        state: list[Any] = [self.facts.array(self.initial[index]) for index in self.carried]
        if not steps or any(data is None for data in state):
            return None
        import numpy as np  # noqa: PLC0415 - which the zoo's models do not need

        from astrac.models.onnx.fold import fold  # noqa: PLC0415

        inner = Facts(self.facts.constants, self.facts.values, self.facts.sizes)
        inner.data.update((name, self.facts.array(name)) for node in steps for name in node.inputs)
        sites = [Site(node, inner) for node in steps]

        def after(trip: int, state: Sequence[Any]) -> tuple[bool, list[Any]]:
            """Whether there is another iteration behind this one, and what it begins with."""
            inner.data[self.formal[0]] = np.asarray(trip - 1)
            inner.data.update((self.formal[index], data) for index, data in zip(self.carried, state, strict=True))
            for site in sites:
                inner.data.update(zip(site.node.outputs, fold(site) or (None,), strict=False))
            return bool(inner.data[self.name].all()), [inner.data[self.handed[index]] for index in self.carried]  # type: ignore[union-attr]

        even = all(node.op in _STRAIGHT for node in steps) and all(data.dtype.kind == "i" for data in state)
        found = _ahead(after, state) if even else _one_by_one(after, state)
        if found is not None:
            self.facts.counters.update(self.formal[index] for index in self.carried)
        return found


After: TypeAlias = "Callable[[int, Sequence[Any]], tuple[bool, list[Any]]]"
"""Of an iteration's number and what it begins with: whether there is another one, and what that begins with."""


def _one_by_one(after: After, state: Sequence[Any]) -> int | None:
    for trip in range(1, _MOST_STEPS + 1):
        goes_on, state = after(trip, state)
        if not goes_on:
            return trip
    return None


def _ahead(after: After, state: Sequence[Any]) -> int | None:
    """The first iteration behind which a condition fails, when the numbers grow by the same in each."""
    goes_on, second = after(1, state)
    if not goes_on:
        return 1
    pairs = list(zip(state, second, strict=True))

    def holds(trip: int) -> bool:
        return after(trip, [one + (trip - 1) * (two - one) for one, two in pairs])[0]

    low, high = 1, 2
    while holds(high):
        low, high = high, 2 * high
        if high > _FURTHEST:
            return None
    return low + bisect_left(range(low, high), True, key=lambda trip: not holds(trip))
