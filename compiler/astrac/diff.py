"""Two Jobs -> what is different in what the simulator sees, whatever the files look like."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from astrac.job import Collective, ListedGroup, Receive, Send
from astrac.simulators.astra_sim_1 import keys as keys_1
from astrac.simulators.astra_sim_2 import keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from astrac.job import Group, Job, Machine, Op
    from astrac.simulators.astra_sim_1.job import TextJob

MAX_LINES = 50
"""Of one pair of programs: two traces that have nothing in common are told about by their first nodes."""

_ARROW = "->"

_NETWORK = {"block": "topology", "size": "npus_count", "bandwidth": "bandwidth", "latency": "latency"}
_SYSTEM = {attribute: key for key, attribute in keys.SYSTEM_KEYS.items()} | {"queues": "--num-queues-per-dim"}
_MEMORY = {attribute: key for key, attribute in keys.MEMORY_KEYS.items()}
_NETWORK_1 = {attribute: key for key, attribute in keys_1.DIMENSION_KEYS.items()}


def diff(one: Job, other: Job) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    found = list(_machines(one.machine, other.machine))
    if one.machine.npus == other.machine.npus:
        found += _programs(one, other)
    return tuple(found)


def diff_text(one: TextJob, other: TextJob) -> tuple[str, ...]:
    """The same for two jobs of ASTRA-sim 1.0."""
    found = list(_lists("network.json", one.network.dimensions, other.network.dimensions, _NETWORK_1, "dimension"))
    found += _scalars("system.txt", one.system, other.system, {}, ("algorithms", "origins"))
    for kind, key in keys_1.IMPLEMENTATION_KEYS.items():
        found += _changed("system.txt", key, "_".join(one.system.words(kind)), "_".join(other.system.words(kind)))
    found += _scalars("workload.txt", one.workload, other.workload, {}, ("rows", "origins"))
    found += _lists("workload.txt", one.workload.rows, other.workload.rows, {}, "layer")
    return tuple(found)


# -- values


def _changed(where: str, name: str, one: object, other: object) -> Iterator[str]:
    if one != other:
        yield f"{where}: {name} {_shown(one)} {_ARROW} {_shown(other)}"


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, Enum):
        return value.name if isinstance(value, int) else str(value.value)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.17g}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)


def _scalars(where: str, one: Any, other: Any, names: Mapping[str, str], apart: Sequence[str] = ()) -> Iterator[str]:
    """Attributes of two dataclasses of one kind; what is a dataclass itself is looked into."""
    for field in fields(one):
        if field.name in apart:
            continue
        before, after = getattr(one, field.name), getattr(other, field.name)
        name = names.get(field.name, field.name.replace("_", " "))
        if is_dataclass(before) and type(before) is type(after):
            yield from _scalars(f"{where}: {name}", before, after, names)
        else:
            yield from _changed(where, name, before, after)


def _lists(where: str, one: Sequence[Any], other: Sequence[Any], names: Mapping[str, str], noun: str) -> Iterator[str]:
    if len(one) != len(other):
        yield f"{where}: {len(one)} {_ARROW} {len(other)} {noun}s"
    for at, (before, after) in enumerate(zip(one, other, strict=False)):
        label = f"{where}: {noun} {getattr(before, 'name', at)}"
        yield from _scalars(label, before, after, names)


def _machines(one: Machine, other: Machine) -> Iterator[str]:
    yield from _lists("network.yml", one.dimensions, other.dimensions, _NETWORK, "dimension")
    yield from _scalars("system.json", one, other, _SYSTEM, ("dimensions", "algorithms", "memory"))
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        yield from _changed("system.json", key, one.algorithms.get(kind), other.algorithms.get(kind))
    yield from _scalars("memory.json", one.memory, other.memory, _MEMORY)


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
        yield f"{label}: {type(before).__name__.lower()} {_ARROW} {type(after).__name__.lower()}"
        return
    yield from _scalars(label, before, after, {"bytes": "size"}, ("group", "axis", "offset"))
    if isinstance(before, Collective) and isinstance(after, Collective):
        groups = _group(one, before.group, rank), _group(other, after.group, rank)
        yield from _changed(label, "group", *groups)
    elif isinstance(before, Send | Receive) and isinstance(after, Send | Receive):
        peers = (job.axis(op.axis).peer(rank, op.offset) for job, op in ((one, before), (other, after)))
        yield from _changed(label, "peer", *peers)


def _group(job: Job, group: Group, rank: int) -> object:
    """The dimensions of a group, or its members: its id and its axes are names."""
    named = None if isinstance(group, ListedGroup) else group.dimensions
    return named if named is not None else job.members(group, rank)
