"""The nodes of each trace wait for each other in a way that ends."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import Collective
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Op, Program
    from astrac.simulators.astra_sim_2.check.evidence import Evidence


def structure(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS770 for a node that waits for one that is not there, AS771 for nodes that wait for each other."""
    for number, program in programs_of(evidence.job):
        for code, message in broken(program):
            yield diagnostic(code, message, evidence.of(number))


def broken(program: Program) -> Iterator[tuple[str, str]]:
    """Code and message of what is wrong with the dependencies of a program, at most one of each."""
    ids = {op.id for op in program.ops}
    strange = forwards = False
    for op in program.ops:
        for need in (*op.data, *op.control):
            if need not in ids:
                strange = True
            elif need >= op.id:
                forwards = True
    if strange:
        missing = [op for op in program.ops if not ids.issuperset((*op.data, *op.control))]
        first = missing[0]
        need = next(need for need in (*first.data, *first.control) if need not in ids)
        others = f", and {len(missing) - 1} other nodes wait like this" if len(missing) > 1 else ""
        yield "AS770", f"{node(first)} waits for node {need}, which the trace does not have{others}"
    if forwards:
        stuck = cycle(program.ops)
        if stuck:
            names = ", ".join(map(node, stuck[:4])) + (", ..." if len(stuck) > 4 else "")
            wait = "waits for itself" if len(stuck) == 1 else "wait for each other"
            yield "AS771", f"{names} {wait}"


def unordered(program: Program) -> tuple[Collective, Collective] | None:
    """Two collectives of a program of which neither waits for the other, None when all are in one order."""
    last: dict[int, Collective] = {}  # of the collectives that a node waits for, the one with most before it
    place: dict[int, int] = {}
    chain: list[Collective] = []
    for op in sorted(program.ops, key=lambda op: op.id):
        before = [last[need] for need in (*op.data, *op.control) if need in last]
        latest = max(before, key=lambda other: place[other.id], default=None)
        if isinstance(op, Collective):
            if chain and latest is not chain[-1]:
                return chain[-1], op
            place[op.id] = len(chain)
            chain.append(op)
            latest = op
        if latest is not None:
            last[op.id] = latest
    return None


def cycle(ops: tuple[Op, ...]) -> list[Op]:
    """The nodes of one cycle, in its order; none when there is none. Nodes that are missing are no obstacle."""
    known = {op.id: op for op in ops}
    waiting = {op.id: {need for need in (*op.data, *op.control) if need in known} for op in ops}
    sorter = TopologicalSorter(waiting)
    try:
        sorter.prepare()
    except CycleError:
        done: set[int] = set()
        while ready := sorter.get_ready():
            done.update(ready)
            sorter.done(*ready)
    else:
        return []
    # Every node that is left waits for one that is left: going there from anywhere ends in a cycle.
    way: dict[int, int] = {}
    at = min(waiting.keys() - done)
    while at not in way:
        way[at] = len(way)
        at = min(waiting[at] - done)
    return [known[identity] for identity, number in way.items() if number >= way[at]]
