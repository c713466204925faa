"""A file of results: a row a point, kept as soon as it is there, found again by its content.

SQLite in WAL mode: several processes may read and write it at once, and what was written survives whoever is killed.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from astrac.api.rows import FIGURES, Finding, Row, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

MEMORY = ":memory:"
"""In place of a path: rows that are forgotten with the process."""

VERSION = 1
"""Of the columns."""

_OURS = 0x61737472  # `astr`
_PATIENCE = 60  # seconds that a writer waits for another
_KINDS = {"int": "INTEGER", "float": "REAL", "bool": "INTEGER"}
_COLUMNS = ("spec", "name", "settings", *FIGURES, "findings")


class ResultsError(ValueError):
    """A file that is no table of results, or one of another version."""


class Results:
    """The rows in a file, which is made where there is none; threads may share it.

    Raises:
        ResultsError: the file is something else.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: str | Path = MEMORY) -> None:
        self.path = str(path)
        self._lock = Lock()
        if self.path != MEMORY:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        with self._told():
            self._file = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._prepare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives the file back."""
        self._file.close()

    def get(self, key: str) -> Row | None:
        """A row of that content, whatever point of whatever spec it was computed for."""
        with self._lock, self._told():
            found = self._file.execute(_FIND, (key,)).fetchone()
        return None if found is None else _row(found)

    def put(self, row: Row, spec: str) -> None:
        """Keeps the row of a point of a spec; it is on its way to the disk when this returns."""
        values = {name: getattr(row, name) for name in FIGURES}
        values |= {"spec": spec, "name": row.name, "settings": json.dumps(row.settings, ensure_ascii=False)}
        values["findings"] = json.dumps(row.findings, ensure_ascii=False)
        with self._lock, self._told():
            self._file.execute(_KEEP, [_fit(values[name]) for name in _COLUMNS])

    def rows(self, spec: str | None = None) -> Iterator[Row]:
        """All rows, or those of one spec, in the order in which they came."""
        with self._lock, self._told():
            found = self._file.execute(_ALL, (spec, spec)).fetchall()
        return map(_row, found)

    def _prepare(self) -> None:
        with suppress(sqlite3.OperationalError):  # another process does the same, or a file system without
            self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute("BEGIN IMMEDIATE")
        ((ours,),) = self._file.execute("PRAGMA application_id")
        ((version,),) = self._file.execute("PRAGMA user_version")
        ((tables,),) = self._file.execute("SELECT count(*) FROM sqlite_master")
        if not tables:
            self._file.execute(_TABLE)
            self._file.execute(f"PRAGMA application_id = {_OURS}")
            self._file.execute(f"PRAGMA user_version = {VERSION}")
        self._file.execute("COMMIT")
        if tables and (ours, version) != (_OURS, VERSION):
            self._file.close()
            what = f"results of version {version}, not {VERSION}" if ours == _OURS else "no table of results"
            raise ResultsError(f"{self.path} is {what}")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite has against the file, in our words."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(None, str(error), self.path) from None
        except sqlite3.DatabaseError:
            raise ResultsError(f"{self.path} is no table of results") from None


_LIST = ", ".join(_COLUMNS)
_FIND = f"SELECT {_LIST} FROM points WHERE key = ? LIMIT 1"  # noqa: S608 - columns are ours
_KEEP = f"INSERT OR REPLACE INTO points ({_LIST}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - as above
_ALL = f"SELECT {_LIST} FROM points WHERE ? IS NULL OR spec = ? ORDER BY rowid"  # noqa: S608 - as above


def _kind(name: str) -> str:
    annotations = {field.name: str(field.type).partition(" ")[0] for field in fields(Row)}
    return _KINDS.get(annotations.get(name, ""), "TEXT")


_TABLE = (
    "CREATE TABLE points ("
    + ", ".join(f"{name} {_kind(name)}" for name in _COLUMNS)
    + ", PRIMARY KEY (key, spec, name))"
)

_MOST = 2**63


def _fit(value: Any) -> Any:
    """A number too large for SQLite's integers as a double."""
    return float(value) if isinstance(value, int) and not -_MOST <= value < _MOST else value


def _row(values: tuple[Any, ...]) -> Row:
    known = dict(zip(_COLUMNS, values, strict=True))
    known.pop("spec")
    known["settings"] = tuple(Setting(*each) for each in json.loads(known["settings"]))
    found = (Finding(*each) for each in json.loads(known["findings"]))
    known["findings"] = tuple(each._replace(hints=tuple(each.hints)) for each in found)
    known["fits"] = None if known["fits"] is None else bool(known["fits"])
    return Row(**known)
