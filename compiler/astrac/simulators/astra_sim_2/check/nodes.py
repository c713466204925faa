"""Compute and memory nodes against the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import Collective, Compute, Kind, Load, MemoryType, Store
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Machine, Op
    from astrac.simulators.astra_sim_2.check.evidence import Evidence


def nodes(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS777 for compute, AS778 for memory that the simulator cannot price; AS866, AS874 are advice. Once a sort."""
    machine = evidence.job.machine
    found: dict[str, tuple[str, Op, int]] = {}
    for number, program in programs_of(evidence.job):
        for op in program.ops:
            if type(op) in _FINDERS:
                for code, message in _FINDERS[type(op)](machine, op):
                    found.setdefault(message, (code, op, number))
    for message, (code, op, number) in found.items():
        notes = evidence.label("memory", "/memory-type", "the memory") if code == "AS778" else ()
        yield diagnostic(code, f"{node(op)} {message}", evidence.of(number), *notes)
    yield from _nodes_of_memory(evidence)


def _compute(machine: Machine, op: Compute) -> Iterator[tuple[str, str]]:
    if machine.replay_only or op.host:
        return
    if machine.roofline and op.tensor_size == 0:
        yield "AS777", "has `tensor_size` 0: the roofline skips it, and what waits for it never runs"
    elif machine.roofline and op.num_ops == 0:
        yield "AS777", "has `num_ops` 0: its roofline time is 2^63 cycles"
    elif not machine.roofline and op.num_ops > 1 and op.duration == 0:
        yield "AS874", "says `num_ops` and no duration: without `roofline-enabled` it lasts 1 ns"


def _memory(machine: Machine, _op: Load | Store) -> Iterator[tuple[str, str]]:
    if machine.memory.type is MemoryType.NONE and not machine.replay_only:
        yield "AS778", "needs a remote memory, and the memory file has none"


def _collective(machine: Machine, op: Collective) -> Iterator[tuple[str, str]]:
    if machine.replay_only:
        yield "AS866", f"lasts its duration, {op.duration or '0.001'} us: `replay-only` simulates no collective"
    elif op.kind is Kind.BROADCAST:
        yield "AS866", f"is a BROADCAST, which lasts its duration, {op.duration or '0.001'} us, and is not simulated"


_FINDERS: dict[type[Op], Callable[..., Iterator[tuple[str, str]]]] = {
    Compute: _compute,
    Load: _memory,
    Store: _memory,
    Collective: _collective,
}


def _nodes_of_memory(evidence: Evidence) -> Iterator[Diagnostic]:
    """Nodes of memory that do not reach all NPUs."""
    memory, npus = evidence.job.machine.memory, evidence.job.machine.npus
    if memory.type is MemoryType.PER_NODE and memory.nodes * memory.npus_per_node < npus:
        reached = memory.nodes * memory.npus_per_node
        message = f"{memory.nodes} nodes of {memory.npus_per_node} NPUs are {reached} NPUs, and there are {npus}"
        yield diagnostic("AS778", message, evidence.at("memory", "/num-nodes"))
