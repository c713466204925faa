"""The commands on many points of a spec: sweep and search."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from astrac.cli.shared import (
    STANDARD_INPUT,
    VARIANT,
    Usage,
    argument,
    command,
    counted,
    flag,
    positive,
    read,
    report,
    shown,
    variant,
    writing,
)
from astrac.cli.streams import steering
from astrac.diagnostics import has_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from astrac.api.checking import Options
    from astrac.api.evaluating import Tasks
    from astrac.api.results import Results
    from astrac.api.rows import Row
    from astrac.api.sweeping import Done
    from astrac.api.tables import Table

FORMATS = ("table", "csv", "jsonl", "parquet")


@command(
    "astrac sweep specs/sweep_degrees.astra --top 5 -o degrees.parquet",
    argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input"),
    argument(
        "--over",
        metavar="PATH=VALUES",
        action="append",
        default=[],
        help="sweep this, too, or otherwise: 'rail_speed=range(100 Gbps, 800 Gbps, 2x)', 'topology.rail.size=[8, 16]'",
    ),
    argument("--where", metavar="CONDITION", action="append", default=[], help="only points for which this holds, too"),
    argument("--sort", metavar="COLUMN", help="the best first (default: step_time)"),
    flag("--reverse", "the worst first"),
    argument("--top", type=positive, metavar="N", help="show the first N rows"),
    argument("--columns", metavar="A,B,...", help="show these: settings, and figures such as step_time, memory"),
    argument("--format", choices=FORMATS, help="of the output (default: what FILE ends in, else table)"),
    argument("-o", "--output", metavar="FILE", help="write all rows there, besides the table"),
    argument("-j", "--jobs", type=positive, metavar="N", help="processes (default: one for each processor)"),
    argument("--scheduler", metavar="ADDRESS", help="of Dask: evaluate on its workers instead"),
    argument("--results", metavar="FILE", help="where rows are kept (default: out/NAME.sqlite)"),
    flag("--fresh", "compute every point anew, also those whose rows are kept"),
    *VARIANT,
)
def sweep(options: argparse.Namespace) -> int:
    """Estimate all points of a spec's sweep: one table, the best first. Status 1 when a point failed."""
    from astrac.api.evaluating import Tasks
    from astrac.api.sweeping import in_order
    from astrac.api.sweeping import sweep as rows_of

    form = _format(options)
    over = (*(text.replace("=", ": ", 1) for text in options.over), *(f"where: {text}" for text in options.where))
    work = Tasks(shown(options.spec), read(options.spec), replace(variant(options), over=over), keyed=True)
    if has_errors(work.found):
        report(work.found)
        return 1
    order = _column(options.sort or "step_time", work)
    names = None if options.columns is None else [_column(word.strip(), work) for word in options.columns.split(",")]
    arranged = options.sort is not None or options.reverse or options.top is not None
    streams = form in ("csv", "jsonl") and options.output is None and not arranged
    with ExitStack() as stack:
        results, path = _results(options, stack)
        progress = _Progress(work.points, path)
        pool = _pool(options.scheduler, stack)
        done = in_order(rows_of(work, jobs=options.jobs, executor=pool, results=results, fresh=options.fresh))
        rows = progress.watched(done)
        found = _table(_streamed(rows, form, names) if streams else rows)
    status = _judged(found, work)
    if not found.rows or has_errors(work.in_common):
        return status
    progress.told()
    ordered = found.sorted(order, reverse=options.reverse)
    if options.output is not None:
        with writing(options.output):
            _write(ordered if arranged else found, form, options.output, names)
    if options.output is not None or form == "table":
        sys.stdout.write(ordered.to_text(top=options.top, names=names))
    elif not streams:
        sys.stdout.write(_text(ordered[: options.top], form, names))
    return status


@command(
    "astrac search specs/sweep_degrees.astra --split tensor,pipeline,data --top 5",
    argument("spec", metavar="SPEC", help="a .astra spec, or - for standard input"),
    argument(
        "--split",
        metavar="A,B,...",
        default="",
        help="share the NPUs among these axes in every way (default: all axes of the spec); the others stay",
    ),
    argument(
        "--over",
        metavar="PATH=VALUES",
        action="append",
        default=[],
        help="try this, too: 'training.micro_batch=range(1, 8, 2x)', 'training.recompute=[none, selective, full]'",
    ),
    argument("--where", metavar="CONDITION", action="append", default=[], help="only points for which this holds"),
    argument(
        "--objective", choices=("step_time", "memory"), default="step_time", help="what is least (default: step_time)"
    ),
    flag("--best-only", "leave out points that can only need less memory; what is left is no front of both"),
    argument("--top", type=positive, metavar="N", help="show the first N rows (default: 10)"),
    argument("--columns", metavar="A,B,...", help="show these: settings, and figures such as step_time, memory"),
    argument("--format", choices=FORMATS, help="of the output (default: what FILE ends in, else table)"),
    argument("-o", "--output", metavar="FILE", help="write all rows that were estimated there, besides the table"),
    argument("-j", "--jobs", type=positive, metavar="N", help="processes (default: one for each processor)"),
    argument("--scheduler", metavar="ADDRESS", help="of Dask: evaluate on its workers instead"),
    argument("--results", metavar="FILE", help="where rows are kept (default: out/NAME.sqlite)"),
    flag("--fresh", "compute every point anew, also those whose rows are kept"),
    *VARIANT,
)
def search(options: argparse.Namespace) -> int:
    """Find the fastest way to share a machine out. Status 0 when a point fits and keeps all rules, else 1."""
    from astrac.api.evaluating import Tasks
    from astrac.api.searching import search as search_of
    from astrac.api.searching import with_splits

    form = _format(options)
    data, name = read(options.spec), shown(options.spec)
    over = (*(text.replace("=", ": ", 1) for text in options.over), *(f"where: {text}" for text in options.where))

    def points(*more: str) -> Tasks:
        return Tasks(name, data, replace(variant(options), over=(*over, *more)), keyed=True)

    axes = [word.strip() for word in options.split.split(",") if word.strip()]
    try:
        work = with_splits(points(), axes, points)
    except ValueError as error:
        raise Usage(f"--split: {error}") from None
    if has_errors(work.found):
        report(work.found)
        return 1
    names = None if options.columns is None else [_column(word.strip(), work) for word in options.columns.split(",")]
    with ExitStack() as stack:
        results, path = _results(options, stack)
        watch = _Watch()
        found = search_of(
            work,
            objective=_column(options.objective, work),
            jobs=options.jobs,
            executor=_pool(options.scheduler, stack),
            results=results,
            fresh=options.fresh,
            whole_front=not options.best_only,
            watch=watch,
        )
        watch.clear()
    if not found.counts.considered:
        return _judged(found.table, work)
    if options.output is not None:
        with writing(options.output):
            _write(found.table, form, options.output, names)
    if options.output is None and form != "table":
        sys.stdout.write(_text(found.table[: options.top], form, names))
        return int(found.best is None)
    sys.stdout.write(found.to_text(top=options.top or 10, names=names))
    print(f"rows         {path}", file=sys.stderr)
    return int(found.best is None)


class _Watch:
    """A line on a terminal about how far a search is."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._last = monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Shows it, but not too often."""
        if self._shows and monotonic() - self._last > 0.1:
            self._last = monotonic()
            steering(sys.stderr, f"\r\x1b[K{done:,} of {counted(total, 'point')} {what}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._shows:
            steering(sys.stderr, "\r\x1b[K")


def several(name: str, data: bytes, options: Options) -> Tasks | None:
    """The points of a spec that has several to be told of; None for any other."""
    from astrac.api.evaluating import Tasks

    work = Tasks(name, data, options, keyed=True)
    return work if work.points > 1 and options.point is None and not has_errors(work.found) else None


def table(work: Tasks, title: str) -> int:
    """The table of a sweep, nothing kept; the exit status."""
    from astrac.api.sweeping import in_order
    from astrac.api.sweeping import sweep as rows_of

    found = _table(done.row for done in in_order(rows_of(work)))
    if found.rows and not has_errors(work.in_common):
        sys.stdout.write(f"{title}\n" * bool(title) + str(found))
    return _judged(found, work)


def _judged(found: Table, work: Tasks) -> int:
    """Tells what concerns no single point; the exit status."""
    if found.rows and not has_errors(work.in_common):
        return int(not found.ok)
    report(work.in_common)
    if not has_errors(work.in_common):
        print("astrac: no point of the sweep is wanted: `where` holds for none", file=sys.stderr)
    return 1


def _results(options: argparse.Namespace, stack: ExitStack) -> tuple[Results, str]:
    """Where rows are kept, until the stack is left, and the name of that file."""
    from astrac.api.results import Results, ResultsError

    stem = "stdin" if options.spec == STANDARD_INPUT else Path(options.spec).name.removesuffix(".astra")
    path = options.results or str(Path("out") / f"{stem}.sqlite")
    try:
        return stack.enter_context(Results(path)), path
    except (ResultsError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Usage(f"cannot use {path}: {reason.lower()}; --results names another file") from None


def _format(options: argparse.Namespace) -> str:
    """The format that is asked for, or that the name of the file tells."""
    ending = Path(options.output or "").suffix.removeprefix(".")
    form: str = options.format or (ending if ending in FORMATS else "table")
    if form == "parquet":
        from importlib.util import find_spec

        if options.output is None:
            raise Usage("--format parquet needs -o FILE")
        if find_spec("pyarrow") is None:
            raise Usage("--format parquet needs pyarrow: `pip install 'astrac[frames]'`")
    return form


def _column(word: str, work: Tasks) -> str:
    from astrac.api.tables import column

    try:
        return column(word, work.keys)
    except KeyError as error:
        raise Usage(error.args[0]) from None


def _pool(address: str | None, stack: ExitStack) -> Executor | None:
    """The workers of a scheduler, until the stack is left."""
    if address is None:
        return None
    from astrac.api.sweeping import dask

    try:
        return stack.enter_context(dask(address))
    except (ImportError, OSError, ValueError) as error:
        raise Usage(f"cannot use the scheduler {address}: {error}") from None


def _table(rows: Iterable[Row]) -> Table:
    from astrac.api.tables import Table

    return Table(tuple(rows))


def _streamed(rows: Iterable[Row], form: str, names: Sequence[str] | None) -> Iterator[Row]:
    """The rows, each written as soon as it is there."""
    head = True
    for row in rows:
        sys.stdout.write(_text(_table([row]), form, names, head=head))
        sys.stdout.flush()
        head = False
        yield row


def _text(table: Table, form: str, names: Sequence[str] | None, *, head: bool = True) -> str:
    if form == "csv":
        return table.to_csv(names, head=head)
    return table.to_jsonl(names) if form == "jsonl" else table.to_text(names=names)


def _write(table: Table, form: str, path: str, names: Sequence[str] | None) -> None:
    if form == "parquet":
        table.to_parquet(path)
    else:
        Path(path).write_text(_text(table, form, names), encoding="utf-8", newline="")


class _Progress:
    """A line on a terminal while rows come, and what became of them at the end."""

    def __init__(self, points: int, path: str) -> None:
        self._points = points
        self._path = path
        self._begun = self._last = monotonic()
        self._rows = self._known = self._failed = 0
        self._best: Row | None = None
        self._shows = sys.stderr.isatty()

    def watched(self, done: Iterable[Done]) -> Iterator[Row]:
        """The rows as they come; an interrupt is told what it costs."""
        try:
            for each in done:
                self._count(each)
                yield each.row
        except KeyboardInterrupt:
            self._clear()
            kept = f"{counted(self._rows, 'point')} of at most {self._points} are kept in {self._path}"
            print(f"astrac sweep: interrupted: {kept}; the same command goes on from there", file=sys.stderr)
            raise
        self._clear()

    def told(self) -> None:
        """A line about where the rows are."""
        new = self._rows - self._known
        before = f", {self._known} known before" if self._known else ""
        seconds = monotonic() - self._begun
        print(f"results     {self._path}: {counted(new, 'point')} computed in {seconds:.1f} s{before}", file=sys.stderr)

    def _count(self, done: Done) -> None:
        self._rows += 1
        self._known += done.known
        self._failed += not done.row.ok
        row = done.row
        if row.ok and row.step_time_ns and (self._best is None or row.step_time_ns < (self._best.step_time_ns or 0)):
            self._best = row
        if self._shows and monotonic() - self._last > 0.1:
            self._last = monotonic()
            self._show()

    def _show(self) -> None:
        new = self._rows - self._known
        left = (self._points - self._rows) * (self._last - self._begun) / max(1, new)
        parts = [f"{self._rows} of {counted(self._points, 'point')}"]
        parts += [] if self._best is None else [f"best {self._best!r}"[:60]]
        parts += [f"{self._failed} failed"] if self._failed else []
        parts += [f"{left:.0f} s left"] if new else []
        steering(sys.stderr, f"\r\x1b[K{', '.join(parts)}")
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._shows:
            steering(sys.stderr, "\r\x1b[K")
