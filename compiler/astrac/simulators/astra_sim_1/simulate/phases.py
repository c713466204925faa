"""How long one phase of a chunk takes (docs/simulators/astra-sim-1.md, section 5).

Between the start and the end of a phase all members of a logical dimension work on one chunk; it is over when the
slowest is.
With s = bytes that go in, n = members, k = log2 n, E = endpoint delay, t(m) = ns of an m-byte message, q = int(s / n),
S = n(n-1)/2, and M(m) = 3 x int(m / 500,000) for the write and two reads of a reduction:

===============  ================================  ===========================  ===================  =============
algorithm        all-reduce                        reduce-scatter               all-gather           all-to-all
===============  ================================  ===========================  ===================  =============
ring             (2n-1)E + 2(n-1)t(q) + (n-1)M(q)  nE + (n-1)(t(q) + M(q))      nE + (n-1)t(s)       (S+1)E + St(q)
direct           3E + 2t(q) + M(q)                 2E + t(q) + M(q)             2E + t(s)            2E + t(q)
halvingDoubling  (2k+1)E + sum t + sum M           (k+1)E + sum t + sum M       (k+1)E + sum t       -
===============  ================================  ===========================  ===================  =============

A chunk leaves an all-reduce or all-to-all with s bytes, a reduce-scatter with q, an all-gather with s x n.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.algorithms.double_binary_tree import DOUBLE_BINARY_TREE
from astrac.simulators.algorithms.halving_doubling import HALVING_DOUBLING
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.messages import Budget, Exchange, exchange_time
from astrac.simulators.astra_sim_1.simulate.network import INT_LIMIT
from astrac.simulators.astra_sim_1.simulate.trees import tree_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.simulators.astra_sim_1.simulate.logical import LogicalDimension

REDUCING = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is the same for all phases.

    Attributes:
        delay: E, cycles.
        walk: memory may make messages take fractions of a ns, so phases are walked term by term.
        budget: of messages that are simulated one by one.
    """

    delay: int
    walk: bool = False
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a phase: the endpoint's or the memory's whole `delay`, or a message."""

    ns: float
    message: bool = False


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a phase takes, and what it ends with.

    Attributes:
        ns: from start to end.
        tail: ns from the end back to when its last events were scheduled, latest first: of phases that end in the same
            cycle, the one whose last event was scheduled first is over first.
        terms: one by one, for phases that are walked and whose NPUs are in step.
    """

    ns: float
    tail: tuple[float, ...] = ()
    terms: tuple[Term, ...] = ()


def reduction_time(size: int) -> int:
    """M: a write and two reads of a memory of 500,000 bytes a ns, each truncated to whole ns."""
    return 3 * (size // 500_000)


def size_after(kind: Kind, logical: LogicalDimension, size: int) -> int:
    """Bytes of a chunk when it leaves the phase."""
    if kind in {Kind.ALL_REDUCE, Kind.ALL_TO_ALL}:
        return size
    return size * logical.size if kind is Kind.ALL_GATHER else size // logical.size


def smallest_message(kind: Kind, logical: LogicalDimension, size: int) -> int:
    """Bytes of the smallest message of a phase that `size` bytes enter."""
    row = logical.algorithm.row
    if row is DOUBLE_BINARY_TREE or kind is Kind.ALL_GATHER:
        return size
    if row is HALVING_DOUBLING and kind is Kind.ALL_REDUCE:
        return size // (2 * logical.size) * 2
    return size // logical.size


@dataclass(frozen=True)
class Phases:
    """Durations of phases; each is worked out once.

    Attributes:
        endpoint: what is the same for all.
    """

    endpoint: Endpoint
    _known: dict[tuple[Kind, LogicalDimension, int], Duration] = field(default_factory=dict, repr=False)

    def duration(self, kind: Kind, logical: LogicalDimension, size: int) -> Duration:
        """Of a phase that `size` bytes enter."""
        key = (kind, logical, size)
        if key not in self._known:
            if size >= INT_LIMIT:
                raise SimulationError(
                    Fault.TOO_LARGE, f"a chunk of {size} bytes, 2^31 or more, enters a phase of {kind.name}"
                )
            row = logical.algorithm.row
            name = row.words.astra_sim_1
            if not row.sizes.admit(logical.size):
                reason = f"{name} among {logical.size} NPUs, not a power of two"
                raise SimulationError(Fault.POWER_OF_TWO, reason)
            if kind not in row.kinds:
                raise SimulationError(Fault.KIND, f"{name} cannot do an {kind.name.lower().replace('_', '-')}")
            self._known[key] = ALGORITHMS[row.words.language](kind, logical, size, self.endpoint)
        return self._known[key]


def _ring(kind: Kind, logical: LogicalDimension, size: int, endpoint: Endpoint) -> Duration:
    members = logical.size
    sends = {Kind.ALL_REDUCE: 2 * (members - 1), Kind.ALL_TO_ALL: members * (members - 1) // 2}.get(kind, members - 1)
    message = size if kind is Kind.ALL_GATHER else size // members

    def reduction(packet: int) -> int | None:
        """Packets come in blocks of n: the first is not reduced, and of an all-reduce only the first block is."""
        block, place = divmod(packet, members)
        reduced = place > 0 and (kind is Kind.REDUCE_SCATTER or (kind is Kind.ALL_REDUCE and block % 2 == 0))
        return reduction_time(message) if reduced else None

    if not logical.symmetric:
        endpoint.budget.look_at(logical.size)
    times = logical.neighbour_times(message)
    if len(times) > 1:
        exchange = Exchange(
            members=members,
            sends=sends,
            window=1,
            offset=lambda _: 1,
            period=1,
            time=lambda source, _: times[(source + 1) % members],
            delay=lambda packet: endpoint.delay + (reduction(packet) or 0),
        )
        return _exchanged(exchange, endpoint)
    if endpoint.walk:
        return _in_step(endpoint, [reduction(packet) for packet in range(sends + 1)], list(times) * sends)
    reductions = members - 1 if kind in REDUCING else 0
    ns = (sends + 1) * endpoint.delay + sends * times[0] + reductions * reduction_time(message)
    return Duration(ns, _tail(endpoint.delay, reduction(sends), times[0]))


def _direct(kind: Kind, logical: LogicalDimension, size: int, endpoint: Endpoint) -> Duration:
    members = logical.size
    others = members - 1
    window = others if logical.algorithm.window is None else min(logical.algorithm.window, others)
    message = size if kind is Kind.ALL_GATHER else size // members
    sends = 2 * others if kind is Kind.ALL_REDUCE else others

    def reduction(packet: int) -> int | None:
        """Packets come in blocks of 2 windows: the second half is reduced, for an all-reduce in every other block."""
        block, place = divmod(packet, 2 * window)
        reduced = place >= window and (kind is Kind.REDUCE_SCATTER or (kind is Kind.ALL_REDUCE and block % 2 == 0))
        return reduction_time(message) if reduced else None

    def time(source: int, offset: int) -> float:
        return logical.time(source, (source + offset) % members, message)

    if logical.symmetric and window == others:
        distances = 1 if logical.equidistant else others
        endpoint.budget.look_at(distances)
        times = {time(0, offset) for offset in range(1, distances + 1)}
        rounds = sends // others
        if len(times) == 1:
            reductions = [reduction(index * window) for index in range(rounds + 1)]
            return _in_step(endpoint, reductions, list(times) * rounds)
    exchange = Exchange(
        members=1 if logical.symmetric else members,
        sends=sends,
        window=window,
        offset=lambda index: index % others + 1,
        period=others,
        time=time,
        delay=lambda packet: endpoint.delay + (reduction(packet) or 0),
        middle=others if kind is Kind.ALL_REDUCE else 0,
    )
    return _exchanged(exchange, endpoint)


def _halving_doubling(kind: Kind, logical: LogicalDimension, size: int, endpoint: Endpoint) -> Duration:
    """Partners differ in one bit of their index, so all members are alike, also in a flat or a split row."""
    levels = logical.size.bit_length() - 1
    offsets = [1 << level for level in range(levels)]
    halves = [size >> level for level in range(1, levels + 1)]
    # The way back doubles what the way there would have halved next, so an odd size has lost its last bits.
    first = size >> (levels + 1) << 1 if kind is Kind.ALL_REDUCE else size
    doubles = [first << level for level in range(levels)]
    sent = {
        Kind.ALL_REDUCE: [*zip(offsets, halves, strict=True), *zip(reversed(offsets), doubles, strict=True)],
        Kind.REDUCE_SCATTER: [*zip(offsets, halves, strict=True)],
        Kind.ALL_GATHER: [*zip(reversed(offsets), doubles, strict=True)],
    }[kind]
    reduced = range(1, levels) if kind in REDUCING else range(0)
    reductions = [reduction_time(sent[packet][1]) if packet in reduced else None for packet in range(len(sent) + 1)]
    return _in_step(endpoint, reductions, [logical.time(0, offset, message) for offset, message in sent])


def _double_binary_tree(kind: Kind, logical: LogicalDimension, size: int, endpoint: Endpoint) -> Duration:
    """Always an all-reduce, whatever it stands for: wrong, and what the simulator does."""
    del kind
    endpoint.budget.look_at(logical.size)
    ns, message = tree_time(logical, size, endpoint.delay, reduction_time(size))
    return Duration(ns, _tail(endpoint.delay, None, message))


def _in_step(endpoint: Endpoint, reductions: list[int | None], times: list[float]) -> Duration:
    """All members alike: delay (and reduction), message, delay, message, ..., delay."""
    terms = []
    for reduction, time in zip(reductions, [*times, None], strict=True):
        terms.append(Term(endpoint.delay))
        if reduction is not None:
            terms.append(Term(reduction))
        if time is not None:
            terms.append(Term(time, message=True))
    ns = sum(term.ns for term in terms)
    return Duration(ns, _tail(endpoint.delay, reductions[-1], times[-1]), tuple(terms) if endpoint.walk else ())


def _tail(delay: int, reduction: int | None, message: float) -> tuple[float, ...]:
    """A reduction is an event of its own, also one of 0 ns."""
    if reduction is None:
        return (delay, delay + message)
    return (reduction, reduction + delay, reduction + delay + message)


def _exchanged(exchange: Exchange, endpoint: Endpoint) -> Duration:
    endpoint.budget.spend(exchange)
    return Duration(*exchange_time(exchange))


ALGORITHMS: dict[str, Callable[[Kind, LogicalDimension, int, Endpoint], Duration]] = {
    "ring": _ring,
    "direct": _direct,
    "halving_doubling": _halving_doubling,
    "double_binary_tree": _double_binary_tree,
}
"""By the language's word: the durations of the rows of `algorithms.ALGORITHMS` that have a word of 1.0."""
