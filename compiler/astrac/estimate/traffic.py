"""What a rank exchanges, by purpose and by layer, with the time that the wire alone would need."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING

from astrac.estimate.model import AxisTraffic, LayerTime
from astrac.job import AxisGroup, Collective, Compute, Kind, ListedGroup, Load, Receive, Send, Store, bytes_per_ns
from astrac.simulators.table import ports, word_in_groups
from astrac.training.plan import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Dimension, Group, Job, Op
    from astrac.simulators.protocol import RankResult
    from astrac.training.plan import Plan


def traffic(job: Job, ranks: RankResult, plan: Plan | None) -> tuple[AxisTraffic, ...]:
    """Sums over the nodes of one rank, largest first."""
    ops = job.programs[ranks.program].ops
    steps = () if plan is None else plan.programs[ranks.program].in_order_of_nodes()
    sums: dict[tuple[str, str, tuple[str, ...]], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    walls: dict[tuple[Kind, int, Group], int] = {}
    for index, (op, (start, end)) in enumerate(zip(ops, ranks.spans, strict=True)):
        if isinstance(op, Compute | Receive):
            continue
        axis = steps[index].axis if steps else ""
        words: tuple[str, ...] = ()
        if isinstance(op, Collective):
            key = (op.kind, op.bytes, op.group)
            if key not in walls:
                walls[key] = wire_time(job, op)
            wire, kind = walls[key], op.kind.name.lower()
            moved = op.bytes * (job.size(op.group) if op.kind is Kind.ALL_GATHER else 1)
            axis = axis or _group_name(op.group)
            words = _algorithms(job, op)
        else:
            wire, kind, moved = 0, _KINDS[type(op)], op.bytes  # type: ignore[attr-defined]
            axis = axis or ("memory" if isinstance(op, Load | Store) else "transfers")
        entry = sums[axis, kind, words]
        for place, value in enumerate((1, moved, end - start, wire)):
            entry[place] += value
    found = [
        AxisTraffic(axis, kind, count, size, time, wire, words)
        for (axis, kind, words), (count, size, time, wire) in sums.items()
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.time, entry.axis, entry.kind)))


_KINDS: dict[type[Op], str] = {Send: "send", Load: "load", Store: "store"}


def _group_name(group: Group) -> str:
    if isinstance(group, ListedGroup):
        return f"group {group.id}"
    return "x".join(group.axes) or "all ranks"


def _involved(job: Job, group: Group) -> tuple[bool, ...]:
    """Dimensions that a collective runs on; a communicator group: the first that its members differ in."""
    dimensions = job.machine.dimensions
    if isinstance(group, AxisGroup) and group.dimensions is not None:
        return group.dimensions[: len(dimensions)]
    if job.size(group) == job.machine.npus:
        return (True,) * len(dimensions)
    first = group.members[1] - group.members[0] if isinstance(group, ListedGroup) else job.axis(group.axes[0]).stride
    edges = [prod(dimension.size for dimension in dimensions[: index + 1]) for index in range(len(dimensions))]
    inside = next((index for index, edge in enumerate(edges) if abs(first) < edge), len(dimensions) - 1)
    return tuple(index == inside for index in range(len(dimensions)))


def _algorithms(job: Job, op: Collective) -> tuple[str, ...]:
    words = job.machine.algorithms.get(op.kind, ())
    if len(words) == 1:
        return words
    if isinstance(op.group, ListedGroup) or op.group.dimensions is None:
        return (word_in_groups(),) if job.size(op.group) < job.machine.npus else words
    return tuple(word for word, takes_part in zip(words, op.group.dimensions, strict=False) if takes_part)


def wire_time(job: Job, op: Collective) -> int:
    """Ns that the bytes of a collective need at full bandwidth, without latency: the largest of its dimensions.

    Per rank and dimension of n: 2 (n-1)/n S for all-reduce, (n-1)/n S for reduce-scatter and all-to-all, (n-1) S for
    all-gather of shards S; on several dimensions S shrinks (grows) by n from one to the next.
    """
    involved = _involved(job, op.group)
    dimensions = [
        dimension for dimension, takes_part in zip(job.machine.dimensions, involved, strict=True) if takes_part
    ]
    if len(dimensions) == 1:
        return int(_moved(op.kind, op.bytes, job.size(op.group)) / _rate(dimensions[0]))
    times: list[float] = []
    size = float(op.bytes)
    for dimension in reversed(dimensions) if op.kind is Kind.ALL_GATHER else dimensions:
        times.append(_moved(op.kind, size, dimension.size) / _rate(dimension))
        size *= _SHRINKS[op.kind](dimension.size) if op.kind in _SHRINKS else 1.0
    return int(max(times, default=0.0))


_SHRINKS: dict[Kind, Callable[[int], float]] = {
    Kind.ALL_REDUCE: lambda n: 1 / n,
    Kind.REDUCE_SCATTER: lambda n: 1 / n,
    Kind.ALL_GATHER: float,
}

_MOVES: dict[Kind, Callable[[int], float]] = {
    Kind.ALL_REDUCE: lambda n: 2 * (n - 1) / n,
    Kind.REDUCE_SCATTER: lambda n: (n - 1) / n,
    Kind.ALL_TO_ALL: lambda n: (n - 1) / n,
    Kind.ALL_GATHER: lambda n: float(n - 1),
}


def _moved(kind: Kind, size: float, ranks: int) -> float:
    return _MOVES[kind](ranks) * size if kind in _MOVES else 0.0


def _rate(dimension: Dimension) -> float:
    """Bytes per ns that a rank can send along a dimension: all links at once where it is fully connected."""
    return bytes_per_ns(dimension.bandwidth) * ports(dimension.block, dimension.size)


def layers(job: Job, ranks: RankResult, plan: Plan | None) -> tuple[LayerTime, ...]:
    """Time by layer, in the order of the trace; () without a Plan."""
    if plan is None:
        return ()
    ops = job.programs[ranks.program].ops
    steps = plan.programs[ranks.program].in_order_of_nodes()
    sums: dict[str, dict[str, int]] = {}
    for op, step, (start, end) in zip(ops, steps, ranks.spans, strict=True):
        entry = sums.setdefault(
            step.layer, dict.fromkeys(("forward", "backward", "optimizer", "communication", "bytes"), 0)
        )
        if isinstance(op, Compute):
            entry[_COLUMNS.get(step.phase, "backward")] += end - start
        elif not isinstance(op, Receive):
            entry["communication"] += end - start
            entry["bytes"] += op.bytes  # type: ignore[attr-defined]
    order = {layer.name: index for index, layer in enumerate(plan.model.layers)}
    names = sorted(sums, key=lambda name: (order.get(name, len(order)), name))
    return tuple(LayerTime(name, **sums[name]) for name in names)


_COLUMNS = {Phase.FORWARD: "forward", Phase.OPTIMIZER: "optimizer"}
