"""Jobs compared, and made specs.

Of two Jobs it is told what is different in what the simulator sees, whatever the files look like. A spec builds the
same network, system and memory; the traces are not taken over, unless they are one collective after the other: layers
and parallelism cannot be told from nodes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, has_errors
from astrac.job import IMPLEMENTED, Collective, Receive, Send
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.read.documents import TRACKS
from astrac.simulators.astra_sim_2.read.files import of_set
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.simulators.conversions import ARROW, SpecWriter, changed, lists, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Group, Job, Op
    from astrac.simulators.rows import FileSet

MAX_LINES = 50
"""Of one pair of programs: two traces that have nothing in common are told about by their first nodes."""

_NETWORK = {"block": "topology", "size": "npus_count", "bandwidth": "bandwidth", "latency": "latency"}
_SYSTEM = {attribute: key for key, attribute in keys.SYSTEM_KEYS.items()} | {"queues": "--num-queues-per-dim"}
_MEMORY = {attribute: key for key, attribute in keys.MEMORY_KEYS.items()}


def differences(one: Job, other: Job) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    return tuple(_differences(one, other))


def _differences(one: Job, other: Job) -> Iterator[str]:
    before, after = one.machine, other.machine
    yield from lists("network.yml", before.dimensions, after.dimensions, _NETWORK, "dimension")
    yield from scalars("system.json", before, after, _SYSTEM, ("dimensions", "algorithms", "memory"))
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        yield from changed("system.json", key, before.algorithms.get(kind), after.algorithms.get(kind))
    yield from scalars("memory.json", before.memory, after.memory, _MEMORY)
    if before.npus != after.npus:
        return
    # Pairs of programs that some rank runs in both; ranks with the same pair are told together.
    pairs: dict[tuple[int, int], list[int]] = {}
    for rank, pair in enumerate(zip(one.program_of, other.program_of, strict=True)):
        pairs.setdefault(pair, []).append(rank)
    for (first, second), ranks in pairs.items():
        more = f" and {len(ranks) - 1} others" if len(ranks) > 1 else ""
        lines = [*islice(_nodes(one, other, first, second, ranks[0]), MAX_LINES + 1)]
        lines[MAX_LINES:] = ["..."] * (len(lines) > MAX_LINES)
        yield from (f"rank {ranks[0]}{more}: {line}" for line in lines)


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


def to_spec(found: FileSet, origin: str) -> Result[str]:
    """The spec of a bundle, or of a machine where there are no traces.

    Args:
        found: the files.
        origin: name of where they lie, for a comment.

    Returns:
        The text, with AS876 for what it leaves out; nothing, with AS788, where it would build something else.
    """
    traces = "trace" in found.files
    try:
        files = of_set(found)
        reading = examine(files if traces else replace(files, workload=None))
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    wrong, machine, job = reading.diagnostics, reading.machine, reading.job
    unmodelled = {key: found for key, found in reading.unmodelled.items() if key != TRACKS}
    if machine is None or (traces and job is None) or has_errors(wrong) or unmodelled:
        return Result(None, wrong or tuple(unmodelled.values()))
    writer = SpecWriter(machine)
    if reading.trees["system"].value.get(TRACKS):
        writer.leave_out(f"`{TRACKS}`: it changes no time, and asks for statistics")
    return writer.finish(origin, writer.model() if job is None else _model(job, writer), wrong)


def _model(job: Job, writer: SpecWriter) -> Iterator[str]:
    """A row of equal collectives over all NPUs, where that is all there is."""
    ops = job.programs[0].ops if len(job.programs) == 1 else ()
    first = ops[0] if ops else None
    if isinstance(first, Collective) and first.kind in IMPLEMENTED and job.size(first.group) == job.machine.npus:
        same = all(
            isinstance(op, Collective) and (op.kind, op.bytes, op.group) == (first.kind, first.bytes, first.group)
            for op in ops
        )
        chained = all(before.id in (*after.data, *after.control) for before, after in pairwise(ops))
        if same and chained and first.bytes:
            yield from writer.model(first.kind, first.bytes, len(ops))
            return
    writer.leave_out(
        "the traces: a spec makes its own from a model and its parallelism; one collective stands for them"
    )
    yield from writer.model()
