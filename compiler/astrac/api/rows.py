"""A row: one point of a spec and what became of it, flat, frozen and small."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic

SCHEMA = "https://astrac.dev/schemas/artifacts/row.schema.json"


class Finding(NamedTuple):
    """What was found about a spec, without the texts that it points into.

    Attributes:
        code: such as `AS540`; `astrac explain` tells more.
        severity: `error`, `warning` or `note`.
        message: one line.
        place: `file:line:column`; "" where there is none.
        hints: what to do.
    """

    code: str
    severity: str
    message: str
    place: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Tells it in a line."""
        return f"{self.place}: {self.severity}[{self.code}]: {self.message}".removeprefix(": ")


def flat(found: Diagnostic) -> Finding:
    """A diagnostic as a finding."""
    place = ""
    if found.labels:
        span = found.labels[0].span
        place = f"{span.source.name}:{span.first.line}:{span.first.column}"
    return Finding(found.code, found.severity.value, found.message, place, found.hints)


class Setting(NamedTuple):
    """A value that was set or swept.

    Attributes:
        key: the `let` or the path.
        text: the value as written.
        value: in base units; the text of a word; None where it has none.
        unit: the base unit, such as `B/s`; "" where there is none.
    """

    key: str
    text: str
    value: float | str | bool | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Row:
    """One point of a spec and what became of it. Times are of the rank that finishes last.

    A point that failed may have figures all the same: one that does not fit into memory, or that an assertion refuses.

    Attributes:
        name: of the point; "" where nothing is swept.
        settings: what was set, and what the sweep chose.
        status: `ok` or `failed`.
        code, reason: of the first error; None without one.
        fits: whether it fits into memory; None where that is unknown.
        cycles_max, steps, npus: of the run.
        step_time_ns: one step.
        compute_ns, exposed_communication_ns, memory_ns, host_ns, bubble_ns: parts of `cycles_max`.
        memory_bytes: of the rank that needs most, all terms together.
        weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes, buffers_bytes, pool_bytes: its terms.
        capacity_bytes: what there is.
        samples_per_second, tokens_per_second, model_flops, utilisation: of a training step.
        doubt: why the figures may differ from the simulator's; None when they cannot.
        findings: all that was found.
        key: the digest of all that the figures follow from; None where it was not asked for.
        version: of astrac.
    """

    name: str = ""
    settings: tuple[Setting, ...] = ()
    status: str = "ok"
    code: str | None = None
    reason: str | None = None
    fits: bool | None = None
    cycles_max: int | None = None
    steps: int | None = None
    npus: int | None = None
    step_time_ns: float | None = None
    compute_ns: int | None = None
    exposed_communication_ns: int | None = None
    memory_ns: int | None = None
    host_ns: int | None = None
    bubble_ns: int | None = None
    memory_bytes: int | None = None
    weights_bytes: int | None = None
    gradients_bytes: int | None = None
    optimizer_bytes: int | None = None
    activations_bytes: int | None = None
    buffers_bytes: int | None = None
    pool_bytes: int | None = None
    capacity_bytes: int | None = None
    samples_per_second: float | None = None
    tokens_per_second: float | None = None
    model_flops: float | None = None
    utilisation: float | None = None
    doubt: str | None = None
    findings: tuple[Finding, ...] = ()
    key: str | None = None
    version: str = __version__

    @property
    def ok(self) -> bool:
        """Whether nothing found is an error."""
        return self.status == "ok"

    @property
    def step_time(self) -> float | None:
        """One step in seconds."""
        return None if self.step_time_ns is None else self.step_time_ns / 1e9

    def __getitem__(self, key: str) -> Any:
        """The value of a setting, as a number in base units where it is one, or a figure by its name."""
        for setting in self.settings:
            if setting.key == key:
                return setting.text if setting.value is None else setting.value
        if key in FIGURES:
            return getattr(self, key)
        raise KeyError(key)

    def __repr__(self) -> str:
        """A line: the point, and the step time or why there is none."""
        from astrac.figures import duration  # noqa: PLC0415 - for people alone

        said = [f"{setting.key}={setting.text}" for setting in self.settings]
        said += [] if self.step_time_ns is None else [duration(self.step_time_ns)]
        said += [] if self.ok else [f"{self.code}: {self.reason}"]
        return f"<{type(self).__name__} {', '.join(said)}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `schemas/artifacts/row.schema.json` describes them."""
        plain = {field.name: getattr(self, field.name) for field in fields(Row)}
        return {
            "$schema": SCHEMA,
            **plain,
            "settings": [setting._asdict() for setting in self.settings],
            "findings": [{**found._asdict(), "hints": list(found.hints)} for found in self.findings],
        }

    def cells(self) -> Iterator[tuple[str, Any]]:
        """Column and value for tables: the point, its settings, what became of it, the figures.

        A setting with a unit has two columns, as it is written and `key [unit]` as a number.
        """
        yield "name", self.name
        for setting in self.settings:
            plain = setting.value is not None and not setting.unit
            yield setting.key, setting.value if plain else setting.text
            if setting.unit:
                yield f"{setting.key} [{setting.unit}]", setting.value
        for name in FIGURES:
            yield name, getattr(self, name)


_INNER = ("name", "settings", "findings")

FIGURES = tuple(field.name for field in fields(Row) if field.name not in _INNER)
"""The columns that every table has."""


def to_json(row: Row) -> str:
    """A row as one line of JSON."""
    return json.dumps(row.to_dict(), ensure_ascii=False, allow_nan=False)


def from_dict(values: dict[str, Any]) -> Row:
    """The row that `to_dict` gave."""
    known = {field.name: values[field.name] for field in fields(Row) if field.name in values}
    known["settings"] = tuple(Setting(**each) for each in known.get("settings", ()))
    known["findings"] = tuple(Finding(**{**each, "hints": tuple(each["hints"])}) for each in known.get("findings", ()))
    return Row(**known)
