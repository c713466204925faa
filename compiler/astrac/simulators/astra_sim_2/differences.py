"""Two Jobs -> what is different in what the simulator sees, whatever the files look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import Collective, Receive, Send
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.differences import ARROW, changed, lists, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Group, Job, Machine, Op

MAX_LINES = 50
"""Of one pair of programs: two traces that have nothing in common are told about by their first nodes."""

_NETWORK = {"block": "topology", "size": "npus_count", "bandwidth": "bandwidth", "latency": "latency"}
_SYSTEM = {attribute: key for key, attribute in keys.SYSTEM_KEYS.items()} | {"queues": "--num-queues-per-dim"}
_MEMORY = {attribute: key for key, attribute in keys.MEMORY_KEYS.items()}


def differences(one: Job, other: Job) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    found = list(_machines(one.machine, other.machine))
    if one.machine.npus == other.machine.npus:
        found += _programs(one, other)
    return tuple(found)


def _machines(one: Machine, other: Machine) -> Iterator[str]:
    yield from lists("network.yml", one.dimensions, other.dimensions, _NETWORK, "dimension")
    yield from scalars("system.json", one, other, _SYSTEM, ("dimensions", "algorithms", "memory"))
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        yield from changed("system.json", key, one.algorithms.get(kind), other.algorithms.get(kind))
    yield from scalars("memory.json", one.memory, other.memory, _MEMORY)


# -- traces


def _programs(one: Job, other: Job) -> Iterator[str]:
    """Pairs of programs that some rank runs in both; ranks with the same pair are told together."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for rank, pair in enumerate(zip(one.program_of, other.program_of, strict=True)):
        pairs.setdefault(pair, []).append(rank)
    for (first, second), ranks in pairs.items():
        found = []
        for line in _nodes(one, other, first, second, ranks[0]):
            found.append(line)
            if len(found) > MAX_LINES:
                found[-1] = "..."
                break
        more = f" and {len(ranks) - 1} others" if len(ranks) > 1 else ""
        yield from (f"rank {ranks[0]}{more}: {line}" for line in found)


def _nodes(one: Job, other: Job, first: int, second: int, rank: int) -> Iterator[str]:
    before = {op.id: op for op in one.programs[first].ops}
    after = {op.id: op for op in other.programs[second].ops}
    for identity in sorted({*before, *after}):
        if identity not in after:
            yield f"node {identity} `{before[identity].name}` is gone"
        elif identity not in before:
            yield f"node {identity} `{after[identity].name}` is new"
        else:
            yield from _node(one, other, before[identity], after[identity], rank)


def _node(one: Job, other: Job, before: Op, after: Op, rank: int) -> Iterator[str]:
    label = f"node {before.id} `{before.name}`"
    if type(before) is not type(after):
        yield f"{label}: {type(before).__name__.lower()} {ARROW} {type(after).__name__.lower()}"
        return
    yield from scalars(label, before, after, {"bytes": "size"}, ("group", "axis", "offset"))
    if isinstance(before, Collective) and isinstance(after, Collective):
        groups = _group(one, before.group, rank), _group(other, after.group, rank)
        yield from changed(label, "group", *groups)
    elif isinstance(before, Send | Receive) and isinstance(after, Send | Receive):
        peers = (job.axis(op.axis).peer(rank, op.offset) for job, op in ((one, before), (other, after)))
        yield from changed(label, "peer", *peers)


def _group(job: Job, group: Group, rank: int) -> object:
    """The dimensions of a group, or its members: its id and its axes are names."""
    return group.dimensions if group.dimensions is not None else job.members(group, rank)
