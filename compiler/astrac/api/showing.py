"""What commands say of a compilation."""

from __future__ import annotations

import csv
import io
import shlex
from typing import TYPE_CHECKING

from astrac.codes import CODES
from astrac.estimate.report import brief, text
from astrac.figures import columns, duration, share, size
from astrac.simulators.table import named
from astrac.training.plan import Communicate, Computation, Remote, Transfer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.api.compiling import Compiled
    from astrac.api.estimating import Estimated
    from astrac.estimate import Estimate
    from astrac.training.plan import Plan, Step


def announcement(compiled: Compiled, folder: str) -> str:
    """One line before anything is written: where, how many files, how many bytes."""
    files = sum(max(1, len(artifact.ranks)) for artifact in compiled.bundle.artifacts)
    stored = sum(artifact.size for artifact in compiled.bundle.artifacts)
    return f"bundle      {folder}: {files:,} files for {compiled.estimate.npus:,} ranks, {size(stored)}"


def summary(compiled: Compiled, folder: str) -> str:
    """What was built, what it will take, and how to run it."""
    runs = [
        f"run         {variable}=PATH_OF_{variable} {shlex.quote(f'{folder}/{name}/run.sh')}"
        for name, variable in ((name, named(name).variable) for name in compiled.jobs)
    ]
    return "\n".join([*brief(compiled.estimate), *runs])


def report(entry: Estimated) -> str:
    """An estimate for people."""
    assert entry.estimate is not None
    return text(entry.estimate, entry.title)


def reports(found: Sequence[Estimated]) -> str:
    """All estimates for people, and, where there are several, a row for each at the end."""
    known = [entry for entry in found if entry.estimate is not None]
    texts = [report(entry) for entry in known]
    if len(known) > 1:
        texts.append(_overview(known))
    return "\n".join(texts)


def _overview(found: Sequence[Estimated]) -> str:
    rows = [["", "step time", "compute", "exposed", "bubble", "utilisation", "memory"]]
    for entry in found:
        values = entry.estimate
        assert values is not None
        slowest = values.slowest
        parts = (0, 0, 0) if slowest is None else (slowest.compute, slowest.communication, slowest.bubble)
        used = None if values.throughput is None else values.throughput.utilisation
        rows.append(
            [
                ", ".join(f"{key} {value}" for key, value in entry.point) or entry.title,
                "fails" if values.fails is not None else duration(values.cycles / values.steps),
                *(share(part, values.cycles) for part in parts),
                "" if used is None else f"{used:.1%}",
                "" if values.memory is None else size(values.memory.total),
            ]
        )
    return "\n".join(columns(rows, left=(0,))) + "\n"


def estimates_csv(found: Sequence[Estimated]) -> str:
    """One row an estimate: what the sweep chose, then the figures, empty where there is no estimate."""
    keys = list(dict.fromkeys(key for entry in found for key, _ in entry.point))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *keys, *FIGURES])
    for entry in found:
        chosen = dict(entry.point)
        figures = {} if entry.estimate is None or entry.estimate.fails is not None else _figures(entry.estimate)
        picked = (chosen.get(key, "") for key in keys)
        writer.writerow([entry.title, *picked, *(figures.get(figure, "") for figure in FIGURES)])
    return out.getvalue()


FIGURES = (
    "cycles_max",
    "step_time_ns",
    "compute_ns",
    "exposed_communication_ns",
    "bubble_ns",
    "memory_bytes",
    "samples_per_second",
    "tokens_per_second",
    "utilisation",
)
"""Columns of the CSV; times of the slowest rank."""


def _figures(values: Estimate) -> dict[str, object]:
    found: dict[str, object] = {"cycles_max": values.cycles, "step_time_ns": values.cycles / values.steps}
    slowest = values.slowest
    if slowest is not None:
        found["compute_ns"] = slowest.compute
        found["exposed_communication_ns"] = slowest.communication
        found["bubble_ns"] = slowest.bubble
    if values.memory is not None:
        found["memory_bytes"] = values.memory.total
    if values.throughput is not None:
        known = {name: value for name, value in vars(values.throughput).items() if value is not None}
        found |= known
    return found


def page(code: str) -> str:
    """The page of a diagnostic's code."""
    row = CODES[code]
    parts = [f"{row.code}: {row.title} ({row.severity.value})", row.what, row.why]
    if row.bad:
        parts += ["This is refused:" if row.severity.value == "error" else "This is reported:", _indented(row.bad)]
        parts += ["This is right:", _indented(row.good)]
    return "\n\n".join(parts) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip("\n").split("\n"))


def plan_text(plan: Plan) -> str:
    """The steps of every program, a line each: id, what, why, and what it waits for."""
    lines = [f"axes: {', '.join(f'{axis.name} {axis.size} (stride {axis.stride})' for axis in plan.axes)}"]
    for program in plan.programs:
        lines += ["", f"{program.name}:"]
        lines += [_step(step) for step in program.steps]
    return "\n".join(lines) + "\n"


def _step(step: Step) -> str:
    waits = f"needs {' '.join(map(str, step.needs))}" if step.needs else ""
    if step.after:
        waits += f"{', ' if waits else ''}after {' '.join(map(str, step.after))}"
    batch = "" if step.micro_batch is None else f" m{step.micro_batch}"
    where = f"{step.layer}, {step.phase.value}{batch}" + (f" i{step.iteration}" if step.iteration else "")
    return f"{step.id:5} {_action(step):<60} {where:<48} {waits}".rstrip()


def _action(step: Step) -> str:
    match step.action:
        case Computation(flops, moved, time):
            return f"compute {time:,} ns, {flops:,} FLOP, {moved:,} B"
        case Communicate(kind, size, axes, only):
            some = f" of {list(only)}" if only else ""
            return f"{kind.name.lower()} {size:,} B over {' x '.join(axes)}{some}"
        case Transfer(axis, offset, size, tag, send):
            return f"{'send' if send else 'receive'} {size:,} B, {axis} {offset:+}, tag {tag}"
        case Remote(size, store):
            return f"{'store' if store else 'load'} {size:,} B"
