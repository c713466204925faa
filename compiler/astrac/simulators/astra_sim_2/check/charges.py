"""What the simulator charges beyond the bytes that a trace names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, diagnostic
from astrac.job import IMPLEMENTED, Collective, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Job
    from astrac.source import Span


def charged(job: Job, place: Callable[[], Span | None]) -> Iterator[Diagnostic]:
    """Collectives that ASTRA-sim raises to chunks x NPUs, or whose left-over chunk it charges whole.

    See docs/simulators/astra-sim-2.md, section 3.1.
    """
    splits, npus = job.machine.splits, job.machine.npus
    sizes: dict[str, dict[int, str]] = {"small": {}, "odd": {}}
    for program in job.programs:
        for op in program.ops:
            if not isinstance(op, Collective) or op.kind not in IMPLEMENTED or job.machine.replay_only:
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
        yield diagnostic("AS804", message, place())
    for size, name in _first(sizes["odd"]):
        chunk = size // splits
        count = -(-size // chunk) if chunk else 0
        message = (
            f"`{name}` moves {size:,} B, no multiple of {splits} chunks: ASTRA-sim runs {count} chunks of {chunk:,} B"
            f"{_others(sizes['odd'])}"
        )
        yield diagnostic("AS804", message, place())


def _first(sizes: dict[int, str]) -> list[tuple[int, str]]:
    return sorted(sizes.items())[:1]


def _others(sizes: dict[int, str]) -> str:
    more = len(sizes) - 1
    return "" if not more else f"; so it does with {more} other size{'s' if more > 1 else ''}"
