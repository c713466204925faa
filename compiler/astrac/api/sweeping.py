"""Many points: evaluated here or in other processes, each content once, and kept as soon as they are there."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from astrac.api.evaluating import cut_off, evaluate
from astrac.api.results import Results
from astrac.api.workers import Processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor, Future

    from astrac.api.evaluating import Task, Tasks
    from astrac.api.rows import Row

PATIENCE = 1.0
"""Seconds after which a sweep goes on in several processes where nobody says in how many: to start them takes half."""


MANY = 64
"""Tasks for which a pool is opened at once."""


@dataclass(frozen=True)
class Done:
    """A point that has its row.

    Attributes:
        number: of the point, in the order of the sweep.
        row: of the point.
        known: whether the row was there before.
    """

    number: int
    row: Row
    known: bool


def sweep(
    work: Tasks,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    results: Results | None = None,
    fresh: bool = False,
) -> Iterator[Done]:
    """The rows of a spec's points as they come.

    Args:
        work: the points, with keys.
        jobs: processes; 1 for this one alone, None for this one until that takes long.
        executor: evaluates the points in their place; its workers need astrac and the files that specs name.
        results: where rows are kept, and looked for by content.
        fresh: whether all points are computed, whatever is kept.
    """
    with ExitStack() as stack:
        kept = results or stack.enter_context(Results())
        spread = Spread(*pool_of(jobs, executor, stack))
        yield from spread.evaluated(work, kept, work.name, fresh=fresh)


def pool_of(jobs: int | None, executor: Executor | None, stack: ExitStack) -> tuple[Executor | None, ExitStack | None]:
    """The pool that is asked for, until a stack is left, and that stack where a pool may be opened later."""
    if executor is None and jobs is not None and jobs > 1:
        executor = stack.enter_context(Processes(jobs))
    return executor, stack if executor is None and jobs is None else None


@dataclass
class Spread:
    """Where points are evaluated.

    Attributes:
        pool: None for this process.
        stack: where a pool may be opened when that takes long; None where it may not.
    """

    pool: Executor | None
    stack: ExitStack | None = None

    def opened(self, tasks: int) -> Executor | None:
        """The pool for so many tasks, opened where there are many; None for this process."""
        if self.pool is None and self.stack is not None and tasks > MANY:
            self.pool = self.stack.enter_context(Processes(os.cpu_count() or 1))
        return self.pool

    def evaluated(self, work: Iterable[Task], results: Results, spec: str, *, fresh: bool = False) -> Iterator[Done]:
        """The rows of tasks as they come; no more tasks are drawn than keep the pool busy."""
        running: dict[Future[Row], list[tuple[int, Task]]] = {}
        asked: dict[str, Future[Row]] = {}
        computed: set[str] = set()
        begun = monotonic()
        for number, task in enumerate(work):
            assert task.key is not None
            known = results.get(task.key) if not fresh or task.key in computed else None
            computed.add(task.key)
            if known is not None:
                row = replace(known, name=task.name, settings=task.settings)
                results.put(row, spec)
                yield Done(number, row, known=True)
                continue
            if self.pool is None and self.stack is not None and monotonic() - begun > PATIENCE:
                self.pool = self.stack.enter_context(Processes(os.cpu_count() or 1))
            if self.pool is None:
                row = attempted_row(task)
                _keep(row, results, spec)
                yield Done(number, row, known=False)
                continue
            future = asked.get(task.key)
            if future is None:
                future = asked[task.key] = self.pool.submit(evaluate, task)
            running.setdefault(future, []).append((number, task))
            while len(running) >= getattr(self.pool, "window", WINDOW):
                yield from _finished(running, asked, results, spec)
        while running:
            yield from _finished(running, asked, results, spec)


WINDOW = 64
"""Calls that wait at once in an executor that does not say how many keep it busy."""


def attempted_row(task: Task) -> Row:
    """The row of a point, in this process, also where astrac fails at it."""
    try:
        return evaluate(task)
    except Exception as error:  # noqa: BLE001 - one point must not end a sweep of thousands
        return cut_off(task, _failed(error))


def _finished(
    running: dict[Future[Row], list[tuple[int, Task]]], asked: dict[str, Future[Row]], results: Results, spec: str
) -> Iterator[Done]:
    """Those that are done, at least one."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda future: running[future][0][0]):
        waiting = running.pop(future)
        first = waiting[0][1]
        assert first.key is not None
        del asked[first.key]
        row = _row(future, first)
        for number, task in waiting:
            named = replace(row, name=task.name, settings=task.settings)
            _keep(named, results, spec)
            yield Done(number, named, known=task is not first)


def _keep(row: Row, results: Results, spec: str) -> None:
    """Keeps a row, unless the point was cut off: the next time it is computed again."""
    if row.key is not None:
        results.put(row, spec)


def _row(future: Future[Row], task: Task) -> Row:
    try:
        return future.result()
    except (Exception, CancelledError) as error:  # noqa: BLE001 - as above
        return cut_off(task, _failed(error))


def _failed(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]


def in_order(done: Iterable[Done]) -> Iterator[Done]:
    """Rows in the order of the sweep: each waits for those before it."""
    waiting: dict[int, Done] = {}
    following = 0
    for each in done:
        waiting[each.number] = each
        while following in waiting:
            yield waiting.pop(following)
            following += 1


# -- more than one machine


ANSWER = 10
"""Seconds that a scheduler has to answer."""


@contextmanager
def dask(address: str) -> Iterator[Executor]:
    """An executor on the workers of a Dask scheduler.

    Raises:
        ImportError: Dask is not there.
        OSError: nobody answers at the address.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("a scheduler needs Dask: `pip install 'astrac[dask]'`") from None
    with distributed.Client(address, set_as_default=False, timeout=ANSWER) as client:
        executor = client.get_executor(pure=False)
        executor.window = max(8, 3 * sum(client.nthreads().values()))
        yield executor
