"""The Python interface: functions of a spec, by path or as text, whose results are frozen, plain and picklable.

Exceptions are for wrong use alone: a file that is not there, a value of a type that no spec has. What is wrong with a
spec is among the findings of what comes back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac.api.checking import MAX_SPEC_BYTES, Options, read
from astrac.api.rows import Finding, Row, flat
from astrac.api.tables import Table
from astrac.diagnostics import has_errors
from astrac.estimates.model import Estimate, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from astrac.api.checking import Inputs
    from astrac.api.compiling import Planned
    from astrac.api.evaluating import Task, Tasks
    from astrac.api.searching import Found
    from astrac.diagnostics import Diagnostic, Result

TEXT = "<text>"
"""The name of a spec that is no file."""

Value: TypeAlias = "str | bool | int | float | Real | Decimal | os.PathLike[str] | Iterable[Value]"
"""What a setting may be: a text is an expression of the language (`"400 Gbps"`, `"h100_sxm"`), a path a file's name."""

Values: TypeAlias = "str | Iterable[Value]"
"""What a key is swept over: `"range(8, 64, 2x)"`, or values."""


@dataclass(frozen=True)
class Spec:
    """A spec with settings that are laid over it; `load` and `loads` make one.

    Attributes:
        name: the path, or another name that messages show.
        data: the text.
        settings: key and value as `--set` takes them.
        profile: that is laid over it.
    """

    name: str
    data: bytes
    settings: tuple[tuple[str, str], ...] = ()
    profile: str | None = None

    def __repr__(self) -> str:
        """A line: the name and what is set."""
        said = [f"{key}={value}" for key, value in self.settings]
        said += [] if self.profile is None else [f"profile={self.profile}"]
        return f"<Spec {' '.join([self.name, *said])}>"

    def having(self, settings: Mapping[str, Value] | None = None, *, profile: str | None = None) -> Spec:
        """The same spec with more settings, or with another profile."""
        laid = dict(self.settings) | {key: written(value) for key, value in (settings or {}).items()}
        return replace(self, settings=tuple(laid.items()), profile=profile or self.profile)


SpecLike: TypeAlias = "Spec | str | os.PathLike[str]"
"""A spec: loaded, a path, or a text, which has a line break or a brace."""


@dataclass(frozen=True, repr=False)
class Report:
    """What was found about a spec.

    Attributes:
        findings: errors, warnings and notes.
        text: all of them with the lines they are about.
    """

    findings: tuple[Finding, ...]
    text: str

    def __repr__(self) -> str:
        """A line: how many, and the first error."""
        first = next((f", first {found}" for found in self.errors), "")
        return f"<Report {len(self.findings)} findings, {len(self.errors)} errors{first}>"

    def __str__(self) -> str:
        """For people."""
        return self.text

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Those that stop a compilation."""
        return tuple(found for found in self.findings if found.severity == "error")

    @property
    def ok(self) -> bool:
        """Whether nothing found is an error."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"ok": self.ok, "findings": [{**each._asdict(), "hints": list(each.hints)} for each in self.findings]}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Estimation(Row):
    """A row with all that an estimate tells.

    Attributes:
        estimate: what every kind of rank does, what is exchanged, layers, critical path; None where there is none.
    """

    estimate: Estimate | None = None

    def __str__(self) -> str:
        """The report for people, or what is wrong."""
        wrong = [str(found) for found in self.findings if found.severity == "error"]
        figures = [] if self.estimate is None else [text(self.estimate, self.name or "estimate")]
        return "\n".join([*wrong, *figures])


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Built(Estimation):
    """A row, and the bundle of that point.

    Attributes:
        folder: of the bundle; None where nothing was written.
    """

    folder: Path | None = None


def load(path: str | os.PathLike[str]) -> Spec:
    """The spec in a file; `std/...` is the shipped library.

    Raises:
        OSError: it cannot be read.
    """
    return Spec(os.fspath(path), read(os.fspath(path)))


def loads(text: str, name: str = TEXT) -> Spec:
    """A spec as a text; files that it names are looked for beside `name`."""
    return Spec(name, text.encode("utf-8", "surrogatepass")[: MAX_SPEC_BYTES + 1])


def check(spec: SpecLike, settings: Mapping[str, Value] | None = None, *, profile: str | None = None) -> Report:
    """All that `build` would say about a spec; writes nothing.

    Args:
        spec: a path, a text, or what `load` gave.
        settings: laid over it.
        profile: of the spec, laid over it before.
    """
    from astrac.api.compiling import examine  # noqa: PLC0415 - start-up

    given = _spec(spec, settings, profile)
    return _report(examine(given.name, given.data, _options(given)))


def estimate(
    spec: SpecLike,
    settings: Mapping[str, Value] | None = None,
    *,
    profile: str | None = None,
    point: str | None = None,
) -> Estimation:
    """How long a step of one point takes, and why.

    Args:
        spec: a path, a text, or what `load` gave.
        settings: laid over it; a key of its sweep that is set is not swept.
        profile: of the spec, laid over it before.
        point: of its sweep, by name.
    """
    from astrac.api.evaluating import attempted  # noqa: PLC0415 - start-up

    return _one(_spec(spec, settings, profile), Options(point=point), lambda task, _: attempted(task, detail=True))[0]


def build(
    spec: SpecLike,
    folder: str | os.PathLike[str],
    settings: Mapping[str, Value] | None = None,
    *,
    profile: str | None = None,
    point: str | None = None,
    targets: Iterable[str] = (),
    copy: bool = False,
) -> Built:
    """Writes the bundle of one point, whole or not at all.

    Args:
        spec: a path, a text, or what `load` gave.
        folder: new, empty, or with a bundle of ours.
        settings: laid over the spec; a key of its sweep that is set is not swept.
        profile: of the spec, laid over it before.
        point: of its sweep, by name.
        targets: only these simulators; () for all that can run the spec.
        copy: whether equal files are written several times instead of linked.
    """
    from astrac.api.compiling import write  # noqa: PLC0415 - start-up
    from astrac.api.evaluating import compiled  # noqa: PLC0415 - start-up

    given = _spec(spec, settings, profile)
    row, made = _one(given, Options(point=point, targets=tuple(targets)), compiled)
    if made is None or not row.ok:
        estimated = estimate(given, point=point)  # which has figures of what does not fit
        return Built(**_fields(row if estimated.ok else estimated))
    wrote = write(made, Path(folder), copy=copy)
    if wrote.value is None:
        return Built(**_fields(_failed(row, wrote.diagnostics)))
    return Built(**_fields(row), folder=wrote.value)


def sweep(
    spec: SpecLike,
    over: Mapping[str | tuple[str, ...], Values] | None = None,
    settings: Mapping[str, Value] | None = None,
    *,
    where: str | Iterable[str] = (),
    profile: str | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    scheduler: str | None = None,
    results: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    told: Callable[[Row], object] | None = None,
) -> Table:
    """The rows of many points.

    Args:
        spec: a path, a text, or what `load` gave.
        over: what is swept besides the spec's own sweep, or otherwise: `{"rail_speed": ["200 Gbps", "400 Gbps"]}`. Keys
            that change together are one: `{("nodes", "latency"): [(8, "1 us"), (16, "2 us")]}`.
        settings: laid over the spec; a key of its sweep that is set is not swept.
        where: conditions; only points for which all hold are wanted.
        profile: of the spec, laid over it before.
        jobs: processes; 1 for this one alone, None for this one until that takes longer than a second.
        executor: evaluates the points instead; its workers need astrac and the files that the spec names.
        scheduler: address of a Dask scheduler, whose workers do that.
        results: a file in which rows are kept as they come, and found again; None for none.
        fresh: whether all points are computed, whatever is kept.
        told: called with each row as it comes.

    Raises:
        ResultsError: `results` is a file of another kind.
    """
    from astrac.api.evaluating import Tasks  # noqa: PLC0415 - start-up
    from astrac.api.results import MEMORY, Results  # noqa: PLC0415 - start-up
    from astrac.api.sweeping import dask, in_order  # noqa: PLC0415 - start-up
    from astrac.api.sweeping import sweep as rows_of  # noqa: PLC0415 - start-up

    given = _spec(spec, settings, profile)
    conditions = [where] if isinstance(where, str) else where
    items = [*(_swept(key, values) for key, values in (over or {}).items()), *(f"where: {each}" for each in conditions)]
    work = Tasks(given.name, given.data, replace(_options(given), over=tuple(items)), keyed=True)
    rows = []
    with ExitStack() as stack:
        kept = stack.enter_context(Results(MEMORY if results is None else os.fspath(results)))
        pool = executor if scheduler is None else stack.enter_context(dask(scheduler))
        for done in in_order(rows_of(work, jobs=jobs, executor=pool, results=kept, fresh=fresh)):
            rows.append(done.row)
            if told is not None:
                told(done.row)
    return Table(tuple(rows), tuple(map(flat, dict.fromkeys(work.in_common))))


def search(
    spec: SpecLike,
    split: Iterable[str] = (),
    over: Mapping[str | tuple[str, ...], Values] | None = None,
    settings: Mapping[str, Value] | None = None,
    *,
    objective: str = "step_time",
    where: str | Iterable[str] = (),
    profile: str | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    scheduler: str | None = None,
    results: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    whole_front: bool = True,
) -> Found:
    """The best way to share a machine out, among all splits of its NPUs and all points of the spec's sweep.

    Args:
        spec: a path, a text, or what `load` gave.
        split: axes among which the NPUs are shared in every way; all of the spec when there are none.
        over: what is tried besides, as in `sweep`.
        settings: laid over the spec; a key of its sweep that is set is not swept.
        objective: `step_time` or `memory`, whichever shall be least.
        where: conditions; only points for which all hold are wanted.
        profile: of the spec, laid over it before.
        jobs: processes; 1 for this one alone, None for this one until that takes longer than a second.
        executor: evaluates the points instead; its workers need astrac and the files that the spec names.
        scheduler: address of a Dask scheduler, whose workers do that.
        results: a file in which rows are kept as they come, and found again; None for none.
        fresh: whether all points are computed, whatever is kept.
        whole_front: whether points that are no faster but need less memory are estimated as well.

    Raises:
        ResultsError: `results` is a file of another kind.
        ValueError: the spec has no such axis, or there is no such objective.
    """
    from astrac.api.evaluating import Tasks  # noqa: PLC0415 - start-up
    from astrac.api.results import MEMORY, Results  # noqa: PLC0415 - start-up
    from astrac.api.searching import OBJECTIVES, with_splits  # noqa: PLC0415 - start-up
    from astrac.api.searching import search as search_of  # noqa: PLC0415 - start-up
    from astrac.api.sweeping import dask  # noqa: PLC0415 - start-up

    if objective not in OBJECTIVES:
        raise ValueError(f"no objective `{objective}`: there are {', '.join(OBJECTIVES)}")
    given = _spec(spec, settings, profile)
    conditions = [where] if isinstance(where, str) else where
    items = [*(_swept(key, values) for key, values in (over or {}).items()), *(f"where: {each}" for each in conditions)]

    def points(*more: str) -> Tasks:
        return Tasks(given.name, given.data, replace(_options(given), over=(*items, *more)), keyed=True)

    with ExitStack() as stack:
        return search_of(
            with_splits(points(), tuple(split), points),
            objective=OBJECTIVES[objective],
            jobs=jobs,
            executor=executor if scheduler is None else stack.enter_context(dask(scheduler)),
            results=stack.enter_context(Results(MEMORY if results is None else os.fspath(results))),
            fresh=fresh,
            whole_front=whole_front,
        )


def results(path: str | os.PathLike[str], spec: str | None = None) -> Table:
    """All rows that sweeps kept in a file, in the order in which they came, or those of one spec.

    Raises:
        OSError: there is no such file.
        ResultsError: the file is of another kind.
    """
    from astrac.api.results import Results  # noqa: PLC0415 - start-up

    Path(path).stat()
    with Results(os.fspath(path)) as kept:
        return Table(tuple(kept.rows(spec)))


# -- what is given


def _spec(spec: SpecLike, settings: Mapping[str, Value] | None, profile: str | None) -> Spec:
    if isinstance(spec, str) and ("\n" in spec or "{" in spec):
        spec = loads(spec)
    elif not isinstance(spec, Spec):
        spec = load(spec)
    return spec.having(settings, profile=profile)


def _options(spec: Spec) -> Options:
    return Options(profile=spec.profile, settings=tuple(f"{key}={value}" for key, value in spec.settings))


def written(value: Value) -> str:
    """A Python value as a spec has it.

    Raises:
        TypeError: no spec has such a value.
        ValueError: it is not finite.
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Integral():
            return str(int(value))
        case Rational():
            ratio = Fraction(value)
            return f"{ratio.numerator} / {ratio.denominator}"
        case Real() | Decimal() if not isfinite(value):
            raise ValueError(f"{value} is no value of a spec")
        case Decimal():
            return f"{value:f}"
        case Real():
            return float.__repr__(float(value))
        case os.PathLike():
            return '"' + os.fspath(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Mapping():
            raise TypeError("a setting is a value: give each key of a block by its path")
        case Iterable():
            return f"[{', '.join(map(written, value))}]"
        case _ if hasattr(value, "item"):  # a scalar of numpy's
            return written(value.item())
    raise TypeError(f"{value!r} is no value of a spec: give a number, a text, a path or a list")


def _swept(key: str | tuple[str, ...], values: Values) -> str:
    """What is swept as an item of a `sweep`."""
    if isinstance(key, str):
        text = values if isinstance(values, str) else written(values)
        return f"{key}: {text}"
    if isinstance(values, str):
        raise TypeError(f"{key} change together: give a list of as many values each time")
    rows = [tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else (row,) for row in values]
    if any(len(row) != len(key) for row in rows):
        raise ValueError(f"{key} change together: give {len(key)} values each time")
    columns = (f"{name}: {written([row[at] for row in rows])}" for at, name in enumerate(key))
    return f"together {{ {', '.join(columns)} }}"


# -- what comes back


def _report(found: Iterable[Diagnostic]) -> Report:
    from astrac.render import render  # noqa: PLC0415 - start-up

    once = tuple(dict.fromkeys(found))
    return Report(tuple(map(flat, once)), render(once))


def _one(spec: Spec, options: Options, make: Callable[[Task, Inputs], Result[Any]]) -> tuple[Estimation, Any]:
    """The only point of a spec, and what is made of it; a row with AS230 where there are several."""
    from astrac.api.evaluating import Tasks, row_of  # noqa: PLC0415 - start-up
    from astrac.diagnostics import diagnostic  # noqa: PLC0415 - start-up
    from astrac.source import Source  # noqa: PLC0415 - start-up

    given = _options(spec)
    work = Tasks(spec.name, spec.data, replace(options, profile=given.profile, settings=given.settings))
    points = list(work)
    if has_errors(work.found) or len(points) != 1:
        names = ", ".join(task.name for task in points)
        hint = f"choose a `point`, set what is swept, or call `sweep`: there are {names}"
        several = diagnostic("AS230", f"the spec sweeps {len(points)} points", Source(spec.name).whole(), hints=(hint,))
        return _failed(Estimation(), work.found or (several,)), None
    result = make(points[0], work.inputs)
    made: Planned | None = result.value
    row = row_of(points[0], result)
    return Estimation(**_fields(row), estimate=None if made is None else made.estimate), made


def _failed(row: Estimation, found: Iterable[Diagnostic]) -> Estimation:
    told = tuple(map(flat, found))
    error = next(each for each in told if each.severity == "error")
    return replace(row, status="failed", code=error.code, reason=error.message, findings=(*row.findings, *told))


def _fields(row: Row) -> dict[str, Any]:
    """What a kind of row with more begins with."""
    return {field.name: getattr(row, field.name) for field in fields(row)}
