"""An estimate for people: aligned, in units that are chosen to read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.estimate.model import MEMORY_TERMS, LayerTime
from astrac.figures import amount, columns, duration, rate, share, size
from astrac.simulators.protocol import Outcome

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from astrac.estimate.model import Estimate

ROWS = 12
"""Layers and path segments that are shown; JSON has all."""

_HEADS = {"communication": "exposed communication"}


def text(estimate: Estimate, title: str) -> str:
    """The report of one estimate; ends with a line break."""
    failure = estimate.failure
    if failure is not None:
        what = "no estimate" if failure.outcome is Outcome.UNKNOWN else "the simulator would not finish"
        return f"{title}\n  {what}: {failure.reason}\n"
    sections = (
        _summary(estimate),
        _classes(estimate),
        _traffic(estimate),
        _layers(estimate),
        _path(estimate),
        _memory(estimate),
        [f"note: {line}" for line in estimate.advice],
    )
    body = "\n\n".join("\n".join(f"  {line}" for line in section) for section in sections if section)
    return f"{title}\n{body}\n"


def brief(estimate: Estimate) -> list[str]:
    """The figures that follow a build."""
    if estimate.fails is not None:
        return [f"{'step time':<12}{estimate.fails}"]
    lines = [f"{'step time':<12}{duration(estimate.cycles / estimate.steps)}, {estimate.cycles:,} cycles of 1 ns"]
    slowest = estimate.slowest
    if slowest is not None:
        times = [(name, getattr(slowest, name)) for name in ("compute", "communication", "memory", "bubble")]
        parts = [f"{_HEADS.get(name, name)} {share(time, slowest.cycles)}" for name, time in times if time]
        lines.append(f"{'of which':<12}{', '.join(parts)}")
    if estimate.memory is not None:
        lines.append(f"{'memory':<12}{size(estimate.memory.total)} a rank")
    return lines


def _summary(estimate: Estimate) -> list[str]:
    lines = [f"{'step time':<12}{duration(estimate.cycles / estimate.steps)}"]
    if estimate.steps > 1:
        lines.append(f"{'run':<12}{duration(estimate.cycles)}, {estimate.steps} steps")
    lines.append(f"{'cycles':<12}{estimate.cycles:,} (1 cycle = 1 ns) on {estimate.npus:,} NPUs")
    speed = estimate.throughput
    if speed is not None:
        lines.append(f"{'samples':<12}{rate(speed.samples_per_second)}/s")
        if speed.tokens_per_second is not None:
            lines.append(f"{'tokens':<12}{rate(speed.tokens_per_second)}/s")
        if speed.utilisation is not None:
            lines.append(
                f"{'model FLOPs':<12}{amount(speed.model_flops, 'FLOP')} a step, {speed.utilisation:.1%} of the peak"
            )
    if estimate.doubt is not None:
        lines.append(f"{'note':<12}{estimate.doubt}")
    return lines


def _classes(estimate: Estimate) -> list[str]:
    names = ("compute", "communication", "memory", "host", "bubble")
    used = [name for name in names if any(getattr(entry, name) for entry in estimate.classes)]
    rows = []
    for entry in estimate.classes:
        shares = [f"{duration(getattr(entry, name))} {share(getattr(entry, name), entry.cycles)}" for name in used]
        rows.append([entry.name, f"{entry.ranks:,}", duration(entry.cycles), *shares])
    return _table(["ranks", "", "total", *(_HEADS.get(name, name) for name in used)], rows)


def _table(head: list[str], rows: list[list[str]], left: Container[int] = (0,)) -> list[str]:
    """Lines of a table under its head; none without rows."""
    return columns([head, *rows], left) if rows else []


def _traffic(estimate: Estimate) -> list[str]:
    rows = []
    for entry in estimate.traffic:
        faster = " (beats the wire)" if entry.wire > entry.time else ""
        wire = duration(entry.wire) + faster if entry.wire else ""
        words = " ".join(entry.algorithms)
        rows.append([entry.axis, entry.kind, words, f"{entry.count:,}", size(entry.bytes), duration(entry.time), wire])
    return _table(["exchange", "", "algorithm", "count", "bytes", "time", "wire alone"], rows, left=range(3))


def _layers(estimate: Estimate) -> list[str]:
    kinds = _kinds(estimate.layers)
    shown = set(sorted(kinds, key=lambda row: -sum(row[1:-1]))[:ROWS])
    rows = [[row.name, *map(duration, row[1:-1]), size(row.bytes)] for row in kinds if row in shown]
    lines = _table(["layer", "forward", "backward", "optimizer", "communication", "bytes"], rows)
    rest = len(kinds) - len(shown)
    return [*lines, f"... and {rest} smaller ones (--format json has all)"] if rest else lines


def _kinds(layers: Sequence[LayerTime]) -> list[LayerTime]:
    """Layers that repeat (`block0.up`, `block1.up`, ...) as one row."""
    groups: dict[str, list[LayerTime]] = {}
    for layer in layers:
        groups.setdefault(re.sub(r"^block\d+", "block*", layer.name), []).append(layer)
    return [
        LayerTime(
            f"{name} x {len(rows)}" if len(rows) > 1 else rows[0].name,
            *map(sum, zip(*(row[1:] for row in rows), strict=True)),
        )
        for name, rows in groups.items()
    ]


def _path(estimate: Estimate) -> list[str]:
    rows = [
        [segment.what, duration(segment.time), share(segment.time, estimate.cycles), f"{segment.count:,}"]
        for segment in estimate.path[:ROWS]
    ]
    return _table(["critical path", "time", "share", "pieces"], rows)


def _memory(estimate: Estimate) -> list[str]:
    terms = [] if estimate.memory is None else [(name, getattr(estimate.memory, name)) for name in MEMORY_TERMS]
    return _table(["memory", "bytes"], [[name, size(value)] for name, value in terms if value])
