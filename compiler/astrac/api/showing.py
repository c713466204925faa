"""What commands say of a compilation."""

from __future__ import annotations

import csv
import io
import shlex
from typing import TYPE_CHECKING

from astrac.codes import CODES
from astrac.estimate.text import brief, size, text
from astrac.plan import Communicate, Computation, Remote, Transfer
from astrac.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.api.compiling import Compiled
    from astrac.api.estimating import Estimated
    from astrac.plan import Plan, Step


def announcement(compiled: Compiled, folder: str) -> str:
    """One line before anything is written: where, how many files, how many bytes."""
    files = sum(max(1, len(artifact.ranks)) for artifact in compiled.bundle.artifacts)
    stored = sum(artifact.size for artifact in compiled.bundle.artifacts)
    return f"bundle      {folder}: {files:,} files for {compiled.job.machine.npus:,} ranks, {size(stored)}"


def summary(compiled: Compiled, folder: str) -> str:
    """What was built, what it will take, and how to run it."""
    built = [name for name in TARGETS if any(a.path.startswith(f"{name}/") for a in compiled.bundle.artifacts)]
    runs = [
        f"run         {variable}=PATH_OF_{variable} {shlex.quote(f'{folder}/{name}/run.sh')}"
        for name, variable in ((name, TARGETS[name].variable) for name in built)
    ]
    return "\n".join([*brief(compiled.estimate), *runs])


def report(entry: Estimated) -> str:
    """An estimate for people."""
    assert entry.estimate is not None
    return text(entry.estimate, entry.title)


def estimates_csv(found: Sequence[Estimated]) -> str:
    """One row an estimate: what the sweep chose, then the figures."""
    keys = list(dict.fromkeys(key for entry in found for key, _ in entry.point))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = ("cycles_max", "step_time_ns", "compute_ns", "exposed_communication_ns", "bubble_ns", "memory_bytes")
    writer.writerow(["name", *keys, *figures])
    for entry in found:
        values = entry.estimate
        if values is None:
            continue
        chosen = dict(entry.point)
        slowest = max(values.classes, key=lambda ranks: ranks.cycles, default=None)
        shares = ("", "", "") if slowest is None else (slowest.compute, slowest.communication, slowest.bubble)
        need = "" if values.memory is None else values.memory.total
        picked = (chosen.get(key, "") for key in keys)
        writer.writerow([entry.title, *picked, values.cycles, values.cycles / values.steps, *shares, need])
    return out.getvalue()


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
    """The steps of every duty, a line each: id, what, why, and what it waits for."""
    lines = [f"axes: {', '.join(f'{axis.name} {axis.size} (stride {axis.stride})' for axis in plan.axes)}"]
    for duty in plan.duties:
        lines += ["", f"{duty.name}:"]
        lines += [_step(step) for step in duty.steps]
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
