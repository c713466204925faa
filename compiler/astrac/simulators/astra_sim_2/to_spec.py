"""A Job that was read from files -> the text of a spec that builds the same network, system and memory.

The traces are not taken over, unless they are one collective after the other: layers and parallelism cannot be told
from nodes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, has_errors
from astrac.job import IMPLEMENTED, Collective, Kind
from astrac.simulators.astra_sim_2.read.files import of_set
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.simulators.spec_text import SpecWriter, benchmark

if TYPE_CHECKING:
    from astrac.job import Job
    from astrac.simulators.rows import FileSet


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
        files = found if traces else found._replace(files={**found.files, "trace": found.folder / "trace"})
        reading = examine(of_set(files))
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    wrong = tuple(finding for finding in reading.diagnostics if traces or finding.code != "AS709")
    machine, job = reading.machine, reading.job if traces else None
    if machine is None or (traces and job is None) or has_errors(wrong) or reading.unmodelled:
        return Result(None, wrong or tuple(reading.unmodelled.values()))
    writer = SpecWriter(machine)
    lines = writer.lines()
    lines += ["", *(_model(job, writer) if job is not None else benchmark(Kind.ALL_REDUCE, 1 << 20, 1))]
    made = writer.result(origin, lines)
    return Result(made.value, (*wrong, *made.diagnostics))


def _model(job: Job, writer: SpecWriter) -> list[str]:
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
            size = first.bytes * (job.machine.npus if first.kind is Kind.ALL_GATHER else 1)
            return benchmark(first.kind, size, len(ops))
    writer.leave_out(
        "the traces: a spec makes its own from a model and its parallelism; one collective stands for them"
    )
    return benchmark(Kind.ALL_REDUCE, 1 << 20, 1)
