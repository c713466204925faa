"""Section 5: how long one phase of a chunk takes.

Between the start and the end of a phase all members of a lane work on one chunk; the phase is over when the slowest is.
With s = bytes that go in, n = members, E = endpoint delay, t(m) = ns of an m-byte message, q = int(s / n), and
M(m) = 3 x int(m / 500,000) for the write and two reads of a reduction:

=================  ===================================  ===========================  =====================  ==========
algorithm          all-reduce                           reduce-scatter               all-gather             all-to-all
=================  ===================================  ===========================  =====================  ==========
ring               (2n-1)E + 2(n-1)t(q) + (n-1)M(q)     nE + (n-1)(t(q) + M(q))      nE + (n-1)t(s)         (S+1)E + S t(q), S = n(n-1)/2
direct             3E + 2t(q) + M(q)                    2E + t(q) + M(q)             2E + t(s)              2E + t(q)
halvingDoubling    (2k+1)E + sum t(m) + sum M(m)        (k+1)E + sum t(m) + sum M(m) (k+1)E + sum t(m)      -
=================  ===================================  ===========================  =====================  ==========

A chunk leaves an all-reduce or all-to-all with s bytes, a reduce-scatter with q, an all-gather with s x n.
"""  # noqa: E501 - a table

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.player.text.faults import Fault, PlayError
from astrac.player.text.messages import Exchange, exchange_time
from astrac.player.text.network import INT_LIMIT
from astrac.player.text.trees import tree_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.player.text.lanes import Lane

REDUCING = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER)


def reduction_time(size: int) -> int:
    """M: a write and two reads of a memory of 500,000 bytes a ns, each truncated to whole ns."""
    return 3 * (size // 500_000)


def size_after(kind: Kind, lane: Lane, size: int) -> int:
    """Bytes of a chunk when it leaves the phase."""
    if lane.algorithm.name == "doubleBinaryTree" or kind in {Kind.ALL_REDUCE, Kind.ALL_TO_ALL}:
        return size
    return size * lane.size if kind is Kind.ALL_GATHER else size // lane.size


@dataclass(frozen=True)
class Phases:
    """Durations of phases under one endpoint delay; each is worked out once.

    Attributes:
        endpoint_delay: E, cycles.
    """

    endpoint_delay: int
    _known: dict[tuple[Kind, Lane, int, bool], tuple[float, ...]] = field(default_factory=dict, repr=False)

    def steps(self, kind: Kind, lane: Lane, size: int, *, mirrored: bool = False) -> tuple[float, ...]:
        """Ns of a phase that `size` bytes enter: one number, or the terms to add one by one when they are not whole.

        `mirrored` chooses the second of the two trees of `doubleBinaryTree`.
        """
        key = (kind, lane, size, mirrored)
        if key not in self._known:
            if size >= INT_LIMIT:
                raise PlayError(
                    Fault.TOO_LARGE, f"a chunk of {size} bytes, 2^31 or more, enters a phase of {kind.name}"
                )
            self._known[key] = _collapse(
                ALGORITHMS[lane.algorithm.name](kind, lane, size, self.endpoint_delay, mirrored)
            )
        return self._known[key]


def _collapse(steps: tuple[float, ...]) -> tuple[float, ...]:
    """Whole terms may be added in any order; others are added as the simulator does, to the time of day."""
    return (sum(steps),) if all(isinstance(step, int) for step in steps) else steps


def _ring(kind: Kind, lane: Lane, size: int, delay: int, mirrored: bool) -> tuple[float, ...]:
    del mirrored
    members = lane.size
    sends = {Kind.ALL_REDUCE: 2 * (members - 1), Kind.ALL_TO_ALL: members * (members - 1) // 2}.get(kind, members - 1)
    message = size if kind is Kind.ALL_GATHER else size // members

    def packet_delay(index: int) -> int:
        """A block of n packets: its first is not reduced; of an all-reduce only the first block is."""
        block, place = divmod(index, members)
        reduces = place > 0 and (kind is Kind.REDUCE_SCATTER or (kind is Kind.ALL_REDUCE and block % 2 == 0))
        return delay + reduction_time(message) if reduces else delay

    times = lane.neighbour_times(message)
    if len(times) == 1 and isinstance(times[0], int):
        reductions = members - 1 if kind in REDUCING else 0
        return ((sends + 1) * delay + sends * times[0] + reductions * reduction_time(message),)
    if len(times) == 1:
        return _alternate([packet_delay(index) for index in range(sends + 1)], [times[0]] * sends)
    exchange = Exchange(
        members=members,
        sends=sends,
        window=1,
        offset=lambda _: 1,
        period=1,
        time=lambda source, _: times[(source + 1) % members],
        delay=packet_delay,
    )
    return (exchange_time(exchange),)


def _direct(kind: Kind, lane: Lane, size: int, delay: int, mirrored: bool) -> tuple[float, ...]:
    del mirrored
    members = lane.size
    others = members - 1
    window = others if lane.algorithm.window is None else min(lane.algorithm.window, others)
    message = size if kind is Kind.ALL_GATHER else size // members
    sends = 2 * others if kind is Kind.ALL_REDUCE else others

    def packet_delay(index: int) -> int:
        """A block of 2 x window packets: the first half is not reduced; of an all-reduce every other block is."""
        block, place = divmod(index, 2 * window)
        reduces = place >= window and (kind is Kind.REDUCE_SCATTER or (kind is Kind.ALL_REDUCE and block % 2 == 0))
        return delay + reduction_time(message) if reduces else delay

    def time(source: int, offset: int) -> float:
        return lane.time(source, (source + offset) % members, message)

    if lane.symmetric:
        times = {time(0, offset) for offset in range(1, members)}
        if len(times) == 1 and window == others:
            rounds = sends // others
            return _alternate([packet_delay(index * window) for index in range(rounds + 1)], [*times] * rounds)
    exchange = Exchange(
        members=1 if lane.symmetric else members,
        sends=sends,
        window=window,
        offset=lambda index: index % others + 1,
        period=others,
        time=time,
        delay=packet_delay,
        middle=others if kind is Kind.ALL_REDUCE else 0,
    )
    return (exchange_time(exchange),)


def _halving_doubling(kind: Kind, lane: Lane, size: int, delay: int, mirrored: bool) -> tuple[float, ...]:
    """Partners differ in one bit of their index, so all members are alike, also in a flat or a split row."""
    del mirrored
    if lane.size & (lane.size - 1):
        raise PlayError(Fault.POWER_OF_TWO, f"halvingDoubling among {lane.size} NPUs, not a power of two")
    if kind is Kind.ALL_TO_ALL:
        raise PlayError(Fault.KIND, "halvingDoubling cannot do an all-to-all")
    levels = lane.size.bit_length() - 1
    offsets = [1 << level for level in range(levels)]
    halves = [size >> level for level in range(1, levels + 1)]
    # The way back doubles what the way there would have halved next, so an odd size has lost its last bits.
    doubles = {Kind.ALL_REDUCE: size >> (levels + 1) << 1, Kind.ALL_GATHER: size}.get(kind, 0)
    back = [doubles << level for level in range(levels)]
    sent = {
        Kind.ALL_REDUCE: [*zip(offsets, halves, strict=True), *zip(reversed(offsets), back, strict=True)],
        Kind.REDUCE_SCATTER: [*zip(offsets, halves, strict=True)],
        Kind.ALL_GATHER: [*zip(reversed(offsets), back, strict=True)],
    }[kind]
    reduced = range(1, levels) if kind in REDUCING else range(0)
    delays = [delay + (reduction_time(sent[index][1]) if index in reduced else 0) for index in range(len(sent) + 1)]
    return _alternate(delays, [lane.time(0, offset, message) for offset, message in sent])


def _double_binary_tree(kind: Kind, lane: Lane, size: int, delay: int, mirrored: bool) -> tuple[float, ...]:
    """Always an all-reduce, whatever the kind: wrong for the others, and what the simulator does."""
    del kind
    if lane.size & (lane.size - 1):
        raise PlayError(Fault.POWER_OF_TWO, f"doubleBinaryTree among {lane.size} NPUs, not a power of two")
    return (tree_time(lane, size, delay, reduction_time(size), mirrored=mirrored),)


def _alternate(delays: list[int], times: list[float]) -> tuple[float, ...]:
    """Delay, message, delay, message, ..., delay."""
    return tuple(term for pair in zip(delays, [*times, 0], strict=True) for term in pair)


ALGORITHMS: dict[str, Callable[[Kind, Lane, int, int, bool], tuple[float, ...]]] = {
    "ring": _ring,
    "direct": _direct,
    "halvingDoubling": _halving_doubling,
    "doubleBinaryTree": _double_binary_tree,
}
