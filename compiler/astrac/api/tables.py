"""Rows as a table: sorted, for people, for programs, for data frames."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from astrac.api.rows import FIGURES, Finding, Row, to_json
from astrac.figures import amount, columns, duration, rate, share, size
from astrac.suggest import mean_or_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

BEST = "step_time_ns"
"""What rows are sorted by where nobody says otherwise."""

LARGEST_FIRST = frozenset({"samples_per_second", "tokens_per_second", "utilisation", "ok", "fits"})
"""Figures of which more is better."""

_SHARES = {
    "compute_ns": "compute",
    "exposed_communication_ns": "exposed",
    "bubble_ns": "bubble",
}
SHOWN = (BEST, *_SHARES, "utilisation", "memory_bytes")
"""The figures that people see where they ask for no others."""

_HEADS = {BEST: "step time", **_SHARES, "memory_bytes": "memory"}


def column(word: str, keys: Iterable[str]) -> str:
    """A column by its name, by the head that people see, or without its unit: `step_time`, `memory`.

    Args:
        word: as somebody wrote it.
        keys: what is set and swept.

    Raises:
        KeyError: there is none; its text says which there are.
    """
    keys = tuple(keys)
    heads = {head.replace(" ", "_"): name for name, head in _HEADS.items()}
    if word in ("name", *keys, *FIGURES) or word.rpartition(" [")[0] in keys:
        return word
    if word in heads:
        return heads[word]
    raise KeyError(f"no column `{word}`: {mean_or_list(word, ('name', *keys, *heads, *FIGURES))[0]}")


@dataclass(frozen=True, repr=False)
class Table:
    """The rows of a sweep, in the order of its points.

    Attributes:
        rows: one a point.
        findings: what concerns no single point: where one is an error, no point has figures.
    """

    rows: tuple[Row, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Table: ...
    def __getitem__(self, at: int | slice) -> Row | Table:
        """A row by its number, or a table of several."""
        return Table(self.rows[at], self.findings) if isinstance(at, slice) else self.rows[at]

    def __repr__(self) -> str:
        """A line: how many rows, how many failed, the best."""
        failed = len(self.failed)
        said = f"{len(self)} rows" + (f", {failed} failed" if failed else "")
        return f"<Table {said}{'' if self.best is None else f', best {self.best!r}'}>"

    def __str__(self) -> str:
        """The table for people, the best first."""
        return self.sorted().to_text()

    @property
    def ok(self) -> bool:
        """Whether there are rows and none failed."""
        return bool(self.rows) and all(row.ok for row in self.rows)

    @cached_property
    def failed(self) -> Table:
        """The rows that failed."""
        return Table(tuple(row for row in self.rows if not row.ok))

    @cached_property
    def best(self) -> Row | None:
        """The row with the shortest step among those that did not fail."""
        return next((row for row in self.sorted().rows if row.ok), None)

    def sorted(self, by: str = BEST, *, reverse: bool = False) -> Table:
        """The best first: the largest of what is better when it is more, the smallest of all else; failed rows last.

        Args:
            by: a column.
            reverse: the worst first.

        Raises:
            KeyError: there is no such column.
        """
        by = column(by, self.settings)
        turned = (by in LARGEST_FIRST) != reverse
        cells = [(dict(row.cells()).get(by), row) for row in self.rows]
        numbers = [(value, at) for at, (value, _) in enumerate(cells) if isinstance(value, int | float)]
        words = [(value, at) for at, (value, _) in enumerate(cells) if isinstance(value, str)]
        numbers.sort(key=lambda pair: (-pair[0] if turned else pair[0], pair[1]))
        words.sort(reverse=reverse)
        order = [at for _, at in (*numbers, *words)] + [at for at, (value, _) in enumerate(cells) if value is None]
        rows = [self.rows[at] for at in order]
        return Table((*(row for row in rows if row.ok), *(row for row in rows if not row.ok)), self.findings)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns: `name`, settings, figures."""
        return tuple(dict.fromkeys([*(column for row in self.rows for column, _ in row.cells()), *FIGURES]))

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The keys that were set or swept."""
        return tuple(dict.fromkeys(setting.key for row in self.rows for setting in row.settings))

    # -- for programs

    def to_dicts(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Each row as column and value, all with the same columns."""
        wanted = self.columns if names is None else names
        return [{name: cells.get(name) for name in wanted} for cells in (dict(row.cells()) for row in self.rows)]

    def to_csv(self, names: Sequence[str] | None = None, *, head: bool = True) -> str:
        """The text of a CSV file."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        wanted = self.columns if names is None else names
        if head:
            writer.writerow(wanted)
        writer.writerows(row.values() for row in self.to_dicts(wanted))
        return out.getvalue()

    def to_jsonl(self, names: Sequence[str] | None = None) -> str:
        """A line of JSON a row: `Row.to_dict`, or the columns that are named."""
        lines = map(to_json, self.rows) if names is None else map(json.dumps, self.to_dicts(names))
        return "".join(f"{line}\n" for line in lines)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`, which DuckDB, Polars and pandas read as it is; needs `astrac[frames]`."""
        arrow = _extra("pyarrow")
        rows = self.to_dicts()
        kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string(), bool: arrow.bool_()}
        found = {name: [row[name] for row in rows] for name in self.columns}
        types = {name: _kind(name, values) for name, values in found.items()}
        return arrow.table(
            {
                name: arrow.array(
                    [value if value is None else types[name](value) for value in values], kinds[types[name]]
                )
                for name, values in found.items()
            }
        )

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; needs `astrac[frames]`."""
        return _extra("pandas").DataFrame(self.to_dicts(), columns=list(self.columns))

    def to_parquet(self, path: str | Path) -> None:
        """Writes a Parquet file; needs `astrac[frames]`."""
        parquet = _extra("pyarrow.parquet")
        parquet.write_table(self.to_arrow(), str(path))

    # -- for people

    def to_text(self, *, top: int | None = None, names: Sequence[str] | None = None) -> str:
        """Lines for people, in the order of the rows, with a mark at the best, and what was found below.

        Args:
            top: at most so many rows.
            names: columns in place of the settings and the usual figures.
        """
        return _text(self, top, names)


def _extra(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"this needs {module.partition('.')[0]}: `pip install 'astrac[frames]'`") from None


_FIELDS = {field.name: str(field.type) for field in fields(Row)}


def _kind(name: str, values: Iterable[Any]) -> type:
    """The type of a column: that of a figure, or one that all values of a setting fit into."""
    for kind in (bool, int, float):
        if _FIELDS.get(name, "").startswith(kind.__name__):
            return kind
    found = {type(value) for value in values if value is not None}
    return found.pop() if len(found) == 1 else float if found and found <= {int, float} else str


def _text(table: Table, top: int | None, names: Sequence[str] | None) -> str:
    best = table.best
    shown = (*table.settings, *SHOWN) if names is None else tuple(names)
    rows = table.rows[:top]
    if names is None:
        shown = tuple(name for name in shown if _tells(table, name))
    failed = any(not row.ok for row in rows)
    head = ["", *(_HEADS.get(name, name) for name in shown), *([""] if failed else [])]
    lines = [head]
    for row in rows:
        texts = {setting.key: setting.text for setting in row.settings}
        cells = dict(row.cells())
        figures = [texts[name] if name in texts else _cell(name, cells.get(name), row) for name in shown]
        lines.append(["*" if row is best else "", *figures, *([row.code or ""] if failed else [])])
    drawn = columns(lines, left={len(head) - 1} if failed else ())
    rest = len(table) - len(rows)
    if rest:
        drawn.append(f"... and {rest} more")
    drawn += ["", *notes] if (notes := list(_notes(table))) else []
    return "".join(f"{line}\n" for line in drawn)


def _tells(table: Table, name: str) -> bool:
    """Whether a column says anything: a setting that all rows share is none of the sweep's."""
    if name in FIGURES:
        return any(getattr(row, name) is not None for row in table.rows)
    texts = {setting.text for row in table.rows for setting in row.settings if setting.key == name}
    return len(texts) > 1 or len(table) < 2


_FORMATS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("_ns", duration),
    ("_bytes", size),
    ("_per_second", rate),
    ("model_flops", lambda value: amount(value, "FLOP")),
    ("utilisation", lambda value: f"{value:.1%}"),
)


def _cell(name: str, value: Any, row: Row) -> str:
    if value is None:
        return ""
    if name in _SHARES and row.cycles_max:
        return share(value, row.cycles_max)
    form = next((form for end, form in _FORMATS if name.endswith(end)), None)
    if form is not None:
        return form(value)
    return f"{value:,}" if type(value) is int and name in FIGURES else str(value)


def _notes(table: Table) -> Iterator[str]:
    """What was found at points, each kind once, with the first point that has it."""
    at: dict[tuple[str, str], list[tuple[Row, Finding]]] = {}
    for row in table.rows:
        first = [found for found in row.findings if found.severity == "error"][:1]
        for found in (*first, *(found for found in row.findings if found.severity == "warning")):
            at.setdefault((found.severity, found.code), []).append((row, found))
    for (severity, code), all_ in sorted(at.items()):
        row, finding = all_[0]
        count = f" at {len(all_)} points, first" if len(all_) > 1 else " at" if row.name else ""
        yield f"{severity}[{code}]{count}{f' {row.name}' if row.name else ''}: {finding.message}"
