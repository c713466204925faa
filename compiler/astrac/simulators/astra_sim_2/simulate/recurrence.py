"""ASTRA-SIM-2 section 3.3 for members that start apart: when each ends a phase, given when each starts it.

A message leaves when its sender is ready, and is taken up when it is there and the receiver waits for it; so ready
times follow from one another without playing messages. `s` is when a member is ready to send, d its link's delay, e the
endpoint delay, rho a reduction.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.simulators.astra_sim_2.simulate.messages import ITINERARIES, TreeNode
from astrac.simulators.astra_sim_2.simulate.phases import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.simulators.astra_sim_2.simulate.network import Network
    from astrac.simulators.astra_sim_2.simulate.phases import Phase

PAIRS = 1_000_000
"""Links of a direct phase that are looked at one by one."""


def _ring(network: Network, phase: Phase, ranks: Sequence[int], starts: list[int], _second: bool) -> list[int] | None:
    """`s_i <- max(s_i, s_(i-1) + d) + e (+ rho)` at each step; all steps at once by `_round`."""
    if phase.message < 1:
        return None
    if phase.returning:
        ranks, starts = ranks[::-1], starts[::-1]
    e = network.endpoint(group=phase.circle.listed)
    rho = network.reduction(phase.message)
    size = phase.circle.size
    delays = [network.delay(network.link(ranks[at - 1], rank), phase.message) for at, rank in enumerate(ranks)]
    halves = {
        Kind.REDUCE_SCATTER: ((size - 1, e + rho),),
        Kind.ALL_GATHER: ((size - 1, e),),
        Kind.ALL_REDUCE: ((size - 1, e + rho), (size - 1, e)),
        Kind.ALL_TO_ALL: ((size * (size - 1) // 2, e),),
    }
    ready = [start + e for start in starts]
    for steps, cost in halves[phase.kind]:
        ready = _round(ready, delays, steps, cost)
    return ready[::-1] if phase.returning else ready


def _round(ready: list[int], delays: list[int], steps: int, cost: int) -> list[int]:
    """Ready times after some steps of a ring: whose start it is that delays a member, and over how many links.

    In `steps` steps a start can travel up to as many links. From each member it travels as many rounds as it can, for
    a link never makes it earlier.
    """
    size = len(ready)
    rounds, rest = divmod(steps, size)
    whole = sum(delays)
    path = [0]
    for at in range(2 * size):
        path.append(path[-1] + delays[at % size])
    # Member `at` of the second lap is preceded by all others in the first.
    origin = [ready[at % size] - path[at + 1] for at in range(2 * size)]
    near = _window_max(origin, rest + 1)
    far = _window_max(origin, size - rest - 1) if rounds else []
    after = []
    for at in range(size, 2 * size):
        best = near[at] + rounds * whole
        if far and rest + 1 < size:
            best = max(best, far[at - rest - 1] + (rounds - 1) * whole)
        after.append(best + path[at + 1] + steps * cost)
    return after


def _window_max(values: list[int], width: int) -> list[int]:
    """For each index the largest of the last `width` values up to it."""
    best: list[int] = []
    candidates: deque[int] = deque()
    for at, value in enumerate(values):
        while candidates and values[candidates[-1]] <= value:
            candidates.pop()
        candidates.append(at)
        if candidates[0] <= at - width:
            candidates.popleft()
        best.append(values[candidates[0]])
    return best


def _halving(
    network: Network, phase: Phase, ranks: Sequence[int], starts: list[int], _second: bool
) -> list[int] | None:
    """`s_i <- max(s_i, s_partner + d) + e (+ rho of the next message)` at each step."""
    size = phase.circle.size
    if size & (size - 1):
        return None
    e = network.endpoint(group=phase.circle.listed)
    ways = [ITINERARIES[Family.HALVING](phase, index, 1) for index in range(size)]
    packets = [next(way.packets) for way in ways]
    ready = [start + e for start in starts]
    for _ in range(ways[0].sends):
        following = [next(way.packets) for way in ways]
        if packets[0].size < 1:
            return None
        arrived = [
            max(ready[at], ready[packet.source] + network.delay(network.link(ranks[packet.source], rank), packet.size))
            for at, (rank, packet) in enumerate(zip(ranks, packets, strict=True))
        ]
        rho = network.reduction(following[0].size) if following[0].reduced else 0
        ready = [time + e + rho for time in arrived]
        packets = following
    return ready


def _direct(network: Network, phase: Phase, ranks: Sequence[int], starts: list[int], _second: bool) -> list[int] | None:
    """`max over j (s_i, s_j + d_ji) + e (+ rho)`, when all sends are in flight at once."""
    size = phase.circle.size
    window = phase.algorithm.window
    windowed = window is not None and window < size - 1
    if windowed or phase.kind is Kind.ALL_REDUCE or phase.message < 1 or size * size > PAIRS:
        return None
    e = network.endpoint(group=phase.circle.listed)
    rho = network.reduction(phase.message) if phase.kind is Kind.REDUCE_SCATTER else 0
    ready = [start + e for start in starts]
    ends = []
    for at, rank in enumerate(ranks):
        others = (
            ready[other] + network.delay(network.link(source, rank), phase.message)
            for other, source in enumerate(ranks)
            if other != at
        )
        ends.append(max(ready[at], *others) + e + rho)
    return ends


def _tree(network: Network, phase: Phase, ranks: Sequence[int], starts: list[int], second: bool) -> list[int] | None:
    """Up: a node is ready when both children have come; down: when its parent has. Each reduction is paid both ways."""
    e = network.endpoint(group=phase.circle.listed)
    rho = network.reduction(phase.size)
    size = phase.circle.size
    nodes = [TreeNode(size, index, second) for index in range(size)]
    delay = [
        0 if node.parent < 0 else network.delay(network.link(ranks[at], ranks[node.parent]), phase.size)
        for at, node in enumerate(nodes)
    ]
    root = next(at for at, node in enumerate(nodes) if node.parent < 0)
    downwards = [root]
    for at in downwards:
        downwards.extend(nodes[at].children)
    ready = [0] * size
    for at in reversed(downwards):
        children = nodes[at].children
        come = max((ready[child] + delay[child] for child in children), default=starts[at])
        ready[at] = max(starts[at], come) + e + (rho if children else 0)
    ends = list(ready)
    for at in downwards[1:]:
        back = network.delay(network.link(ranks[nodes[at].parent], ranks[at]), phase.size)
        come = ends[nodes[at].parent] + back
        ends[at] = max(ready[at], come) + e + (rho if nodes[at].children else 0)
    return ends


PHASES: dict[Family, Callable[[Network, Phase, Sequence[int], list[int], bool], list[int] | None]] = {
    Family.RING: _ring,
    Family.DIRECT: _direct,
    Family.HALVING: _halving,
    Family.TREE: _tree,
}
"""Of the phase, the members' ranks and starts by index, and which tree: their ends; None = play the messages."""
