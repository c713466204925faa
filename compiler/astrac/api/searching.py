"""Which point is best: all splits of the ranks among axes, bounded before any is estimated.

Branch and bound: what a rank keeps, and how long its computations take one after the other, is known without the steps
of a plan. A point that does not fit is not estimated, nor is one that an estimated point beats in both: it is no faster
than its bound, and its memory is known. So the best and the whole front of time and memory are those of a search that
estimates everything.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING, NamedTuple

from astrac.api.evaluating import bounded
from astrac.api.results import Results
from astrac.api.sweeping import Spread, pool_of
from astrac.api.tables import Table
from astrac.figures import duration, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from astrac.api.evaluating import Bound, Task, Tasks
    from astrac.api.rows import Row
    from astrac.language.document import Document

BATCH = 32
"""Points that are bounded in one call of a pool."""


OBJECTIVES = {"step_time": "step_time_ns", "memory": "memory_bytes"}
"""What a search makes least: words, and the figures that they mean."""

MOST = 1 << 63
"""More bytes than any memory has."""


class Counts(NamedTuple):
    """What became of the points; they add up.

    Attributes:
        considered: all of them.
        estimated: those with a row of their own.
        memory: that do not fit.
        time: that an estimated one beats, in time by their bound and in memory.
        refused: that break a rule, by the code of the first.
    """

    considered: int = 0
    estimated: int = 0
    memory: int = 0
    time: int = 0
    refused: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """In a line."""
        refused = ", ".join(f"{count:,} {code}" for code, count in self.refused)
        return (
            f"{self.considered:,} considered = {self.estimated:,} estimated + {self.memory:,} do not fit + "
            f"{self.time:,} beaten by their bound + {sum(count for _, count in self.refused):,} refused"
            + (f" ({refused})" if refused else "")
        )


@dataclass(frozen=True, repr=False)
class Found:
    """What a search has found.

    Attributes:
        best: the row that is best; None where no point fits.
        front: rows of which none is better in both time and memory, the fastest first; () unless asked for.
        counts: what became of all points.
        table: the rows that were estimated, the best first.
        reasons: for each code of `counts.refused`, and for what does not fit, what the first such point was told.
    """

    best: Row | None
    front: tuple[Row, ...]
    counts: Counts
    table: Table
    reasons: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """A line: the best, and how many there were."""
        return f"<Found {self.best!r} of {self.counts.considered:,}>"

    def __str__(self) -> str:
        """For people."""
        return self.to_text()

    def to_text(self, *, top: int = 10, names: Sequence[str] | None = None) -> str:
        """Lines for people: the table, the front, what became of the points, and what sets the best.

        Args:
            top: at most so many rows.
            names: columns in place of the settings and the usual figures.
        """
        lines = [self.table.to_text(top=top, names=names)] if self.table.rows else []
        if len(self.front) > 1:
            steps = (f"{duration(row.step_time_ns or 0)} in {size(row.memory_bytes or 0)}" for row in self.front)
            lines.append(f"less memory  {', '.join(steps)}\n")
        lines.append(f"points       {self.counts}\n")
        lines += [f"             {code}, as at {reason}\n" for code, reason in self.reasons]
        settings = " ".join(f"--set '{key}={text}'" for key, text in self.settings().items())
        none = "none: no point fits and keeps all rules"
        lines.append(f"best         {settings if self.best is not None else none}\n")
        return "".join(lines)

    def settings(self) -> dict[str, str]:
        """What makes a spec the best point."""
        return {} if self.best is None else {setting.key: setting.text for setting in self.best.settings}


def splits(document: Document, axes: Sequence[str] = ()) -> str:
    """All ways to share the ranks of a spec among its axes, as an item of a `sweep`; "" where there is one axis.

    Args:
        document: of any point of the spec.
        axes: those that are shared out; all of the spec when there are none.

    Raises:
        ValueError: the spec has no such axis; its text says which there are.
    """
    blocks = (document.tree.get("parallelism") or {}).get("axes") or []
    degrees = {str(block["kind"]): int(block.get("degree") or 1) for block in blocks}
    for axis in axes:
        if axis not in degrees:
            raise ValueError(f"no axis `{axis}`: the spec has {', '.join(degrees) or 'none'}")
    chosen = list(axes) or list(degrees)
    sizes = [int(dimension["size"]) for dimension in (document.tree.get("topology") or {}).get("dimensions") or []]
    fixed = prod(degree for axis, degree in degrees.items() if axis not in chosen)
    rest, odd = divmod(prod(sizes), fixed)
    if odd or len(chosen) < 2:
        return ""
    ways = list(_factors(rest, len(chosen)))
    columns = (f"parallelism.{axis}.degree: {[way[at] for way in ways]}" for at, axis in enumerate(chosen))
    return f"together {{ {', '.join(columns)} }}"


def _factors(whole: int, count: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as so many factors, in order."""
    if count == 1:
        yield (whole,)
        return
    low = [each for each in range(1, isqrt(whole) + 1) if whole % each == 0]
    for first in sorted({*low, *(whole // each for each in low)}):
        yield from ((first, *others) for others in _factors(whole // first, count - 1))


def search(
    work: Tasks,
    *,
    objective: str = "step_time_ns",
    jobs: int | None = None,
    executor: Executor | None = None,
    results: Results | None = None,
    fresh: bool = False,
    whole_front: bool = True,
    watch: Callable[[str, int, int], None] = lambda _what, _done, _all: None,
) -> Found:
    """The best of a spec's points.

    Args:
        work: the points, with keys.
        objective: the figure that shall be least: `step_time_ns` or `memory_bytes`.
        jobs: processes; 1 for this one alone, None for this one until that takes long.
        executor: evaluates the points in their place.
        results: where rows are kept, and looked for by content.
        fresh: whether all points are computed, whatever is kept.
        whole_front: whether points that are no faster but need less memory are estimated as well.
        watch: told what is being done, how much of it is done, and of how much.
    """
    with ExitStack() as stack:
        kept = results or stack.enter_context(Results())
        spread = Spread(*pool_of(jobs, executor, stack))
        tasks = list(work)
        bounds = list(_bounds(tasks, spread, watch))
        refused: Counter[str] = Counter()
        reasons: dict[str, str] = {}
        fitting: list[tuple[Task, Bound]] = []
        unfit = 0
        for task, bound in zip(tasks, bounds, strict=True):
            if bound.code is None:
                fitting.append((task, bound))
                continue
            reasons.setdefault(bound.code, f"{task.name}: {bound.reason}" if task.name else str(bound.reason))
            if bound.room:
                unfit += 1
            else:
                refused[bound.code] += 1
        memory = objective == "memory_bytes"
        fitting.sort(key=lambda pair: (pair[1].memory or 0, pair[1].least) if memory else (pair[1].least,))
        rows: list[Row] = []
        beaten: list[Task] = []

        def wanted() -> Iterator[Task]:
            for task, bound in fitting:
                if _beaten(bound, rows, objective, whole_front=whole_front):
                    beaten.append(task)
                else:
                    yield task

        for done in spread.evaluated(wanted(), kept, work.name, fresh=fresh):
            row = done.row
            rows.append(row)
            watch("estimated", len(rows), len(fitting) - len(beaten))
    good = [row for row in rows if row.ok]
    for row in rows:
        if not row.ok and row.code is not None:
            refused[row.code] += 1
            reasons.setdefault(row.code, f"{row.name}: {row.reason}")
    table = Table(tuple(sorted(good, key=lambda row: (*_figures(row, objective), row.name))))
    counts = Counts(len(tasks), len(good), unfit, len(beaten), tuple(sorted(refused.items())))
    pareto = front(good) if whole_front else ()
    return Found(table.rows[0] if good else None, pareto, counts, table, tuple(sorted(reasons.items())))


def _figures(row: Row, objective: str) -> tuple[float, float]:
    time, memory = row.step_time_ns or 0.0, float(row.memory_bytes or 0)
    return (memory, time) if objective == "memory_bytes" else (time, memory)


def _bounds(tasks: list[Task], spread: Spread, watch: Callable[[str, int, int], None]) -> Iterator[Bound]:
    """The bounds of all tasks, in order."""
    batches = [tasks[first : first + BATCH] for first in range(0, len(tasks), BATCH)]
    pool = spread.opened(len(tasks))
    found = map(bounded, batches) if pool is None else pool.map(bounded, batches)
    for number, batch in enumerate(found):
        watch("bounded", min(len(tasks), (number + 1) * BATCH), len(tasks))
        yield from batch


def _beaten(bound: Bound, rows: Iterable[Row], objective: str, *, whole_front: bool) -> bool:
    """Whether some row is as fast as a point can be at best, and, where the front is wanted, needs no more memory."""
    memory = bound.memory or 0
    if not whole_front and objective == "step_time_ns":
        memory = MOST
    elif not whole_front:
        return any(row.ok and (row.memory_bytes or 0) < memory for row in rows)
    return any(
        row.ok
        and row.step_time_ns is not None
        and row.step_time_ns <= bound.least
        and (row.memory_bytes or 0) <= memory
        for row in rows
    )


def front(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows of which none is better in one of time and memory and as good in the other, the fastest first."""
    found: list[Row] = []
    for row in sorted(rows, key=lambda row: (*_figures(row, "step_time_ns"), row.name)):
        if not found or (row.memory_bytes or 0) < (found[-1].memory_bytes or 0):
            found.append(row)
    return tuple(found)


def with_splits(work: Tasks, axes: Sequence[str], make: Callable[[str], Tasks]) -> Tasks:
    """The points of a spec with all splits of its ranks besides.

    Args:
        work: the points without.
        axes: that are shared out; all of the spec when there are none.
        make: the points with one more item of a sweep.
    """
    first = next(iter(work), None)
    text = "" if first is None else splits(first.document, axes)
    return make(text) if text else work
