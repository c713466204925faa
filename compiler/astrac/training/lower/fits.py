"""Whether what the ranks keep fits into their memory and into the memory pool."""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Span
    from astrac.training.plan import Plan, StageProgram

_NAMES = {"optimizer": "optimizer state"}


def fits(plan: Plan, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS540 (AS805 where overflow is allowed) for the rank that needs most, AS541 for the memory pool."""
    memory, pool = plan.spec.hardware.memory, plan.spec.memory_pool
    program = max(plan.programs, key=lambda program: program.memory.total)
    need, capacity = program.memory, int(memory.capacity)
    if need.total > capacity:
        sizes = {_NAMES.get(field.name, field.name): getattr(need, field.name) for field in fields(need)}
        del sizes["pool"]
        terms = ", ".join(f"{name} {_size(size)}" for name, size in sizes.items() if size)
        message = f"rank {_first_rank(program, plan)} needs {_size(need.total)} of {_size(capacity)}: {terms}"
        hint = "more tensor, pipeline or sharded data ranks, recomputation or a smaller micro-batch need less"
        if memory.allow_overflow:
            yield diagnostic("AS805", message, at("/hardware/memory/capacity"))
        else:
            yield diagnostic("AS540", message, at("/hardware/memory/capacity"), hints=(hint,))
    if pool is not None and pool.capacity is not None:
        ranks = prod(axis.size for axis in plan.axes)
        sharers = {"npu": 1, "node": ranks // (pool.nodes or 1), "pool": ranks}[pool.sharing]
        most = _most(plan, sharers)
        if most > pool.capacity:
            message = f"{sharers} ranks keep {_size(most)} in a memory of {_size(int(pool.capacity))}"
            holds = Label(at("/memory_pool/holds"), "this lies there")
            yield diagnostic("AS541", message, at("/memory_pool/capacity"), holds)


def _first_rank(program: StageProgram, plan: Plan) -> int:
    """The lowest rank that runs a program."""
    axis = plan.axis("pipeline")
    return program.slow[0] if program.slow else 0 if axis is None else program.stage * axis.stride


def _most(plan: Plan, sharers: int) -> int:
    """The most that ranks which share one memory keep in it together: consecutive ranks share."""
    held = {program.stage: program.memory.pool for program in plan.programs}
    axis = plan.axis("pipeline")
    if axis is None or sharers <= axis.stride:
        return sharers * max(held.values())
    rounds, rest = divmod(sharers // axis.stride, axis.size)
    window = max(sum(held[(first + step) % axis.size] for step in range(rest)) for first in range(axis.size))
    return axis.stride * (rounds * sum(held.values()) + window)


def _size(size: int) -> str:
    """Bytes in the largest decimal unit that leaves at least one of them, to three digits."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}" if size < 1000 * factor else f"{size / factor:,.0f} {unit}"
    return f"{size} B"
