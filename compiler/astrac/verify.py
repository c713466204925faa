"""Job -> diagnostics: whether the simulator would run it to its end, and what it would charge extra.

For a Job of our own a failure is our bug (AS92x): what a user can get wrong was reported before, with a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, diagnostic
from astrac.job import Collective, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Job, Op, Program
    from astrac.source import Span


def verify(job: Job, at: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
    """Findings about a Job that `schedule` made; what deadlocks is found when `estimate` plays it.

    Args:
        job: with everything that the simulator will see.
        at: the place of a JSON pointer of the Document.
    """
    broken = tuple(finding for program in job.programs for finding in _structure(program))
    return broken or tuple(_charged(job, at))


def _structure(program: Program) -> Iterator[Diagnostic]:
    """Ids are unique, dependencies exist, and there is no cycle among them."""
    ids = [op.id for op in program.ops]
    if len(set(ids)) < len(ids):
        yield diagnostic("AS920", "two nodes of a trace have one id")
    known = set(ids)
    missing = {need for op in program.ops for need in (*op.data, *op.control)} - known
    if missing:
        yield diagnostic("AS920", f"a trace depends on nodes that it does not have: {min(missing)}")
    elif _cyclic(program.ops):
        yield diagnostic("AS920", "nodes of a trace wait for each other")


def _cyclic(ops: tuple[Op, ...]) -> bool:
    children: dict[int, list[int]] = {op.id: [] for op in ops}
    waiting = {}
    for op in ops:
        needs = {*op.data, *op.control}
        waiting[op.id] = len(needs)
        for need in needs:
            children[need].append(op.id)
    ready = [identity for identity, count in waiting.items() if not count]
    for identity in ready:
        for child in children[identity]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return len(ready) < len(ops)


def _charged(job: Job, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """Collectives that ASTRA-sim raises to chunks x NPUs, or whose left-over chunk it charges whole (section 3.1)."""
    splits, npus = job.machine.splits, job.machine.npus
    sizes: dict[str, dict[int, str]] = {"small": {}, "odd": {}}
    for program in job.programs:
        for op in program.ops:
            if not isinstance(op, Collective):
                continue
            if op.kind is not Kind.ALL_GATHER and op.bytes < splits * npus:
                sizes["small"].setdefault(op.bytes, op.name)
            elif op.bytes % splits:
                sizes["odd"].setdefault(op.bytes, op.name)
    for size, name in _first(sizes["small"]):
        others = _others(sizes["small"])
        message = (
            f"`{name}` moves {size:,} B, fewer than chunks x NPUs = {splits} x {npus}: "
            f"ASTRA-sim charges {splits * npus:,} B{others}"
        )
        yield diagnostic("AS804", message, at("/system/chunks"))
    for size, name in _first(sizes["odd"]):
        chunk = size // splits
        count = -(-size // chunk) if chunk else 0
        message = (
            f"`{name}` moves {size:,} B, no multiple of {splits} chunks: ASTRA-sim runs {count} chunks of {chunk:,} B"
            f"{_others(sizes['odd'])}"
        )
        yield diagnostic("AS804", message, at("/system/chunks"))


def _first(sizes: dict[int, str]) -> list[tuple[int, str]]:
    return sorted(sizes.items())[:1]


def _others(sizes: dict[int, str]) -> str:
    more = len(sizes) - 1
    return "" if not more else f"; so it does with {more} other size{'s' if more > 1 else ''}"
