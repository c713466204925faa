"""`sweep`: the points of a product over lets and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic, quoted
from astrac.language import syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_POINTS = 10_000

_UNFIT = re.compile(r"[^\w.+=,-]+")


@dataclass(frozen=True)
class Point:
    """One choice of values.

    Attributes:
        name: fit for a folder; empty for the only point of a file that sweeps nothing.
        values: key and value as written.
        assignments: the same as attributes.
        where: which points are wanted; evaluated when the point's values are known.
    """

    name: str = ""
    values: tuple[tuple[str, str], ...] = ()
    assignments: tuple[syntax.Attribute, ...] = ()
    where: syntax.Expression | None = None


def points(file: syntax.File, settings: Iterable[syntax.Attribute]) -> Iterator[Point]:
    """All points, the last key changing fastest; what `--set` fixes is not swept.

    Raises:
        Diagnosed: AS215 for too many, AS216 for something other than a list of values.
    """
    fixed = {setting.key_text for setting in settings}
    sweep = next((item for item in file.items if isinstance(item, syntax.Sweep)), None)
    items = [] if sweep is None else [item for item in sweep.items if isinstance(item, syntax.Attribute)]
    for item in sweep.items if sweep else ():
        if not isinstance(item, syntax.Attribute | syntax.Broken):
            raise Diagnosed(
                diagnostic("AS216", "a sweep holds `let_or_path: [values]` and `where: condition`", item.span)
            )
    where = next((item.value for item in items if item.key_text == "where"), None)
    axes = [_axis(item) for item in items if item.key_text != "where" and item.key_text not in fixed]
    if sweep and prod(len(axis) for axis in axes) > MAX_POINTS:
        raise Diagnosed(diagnostic("AS215", f"the sweep has more than {MAX_POINTS:,} points", sweep.header))
    names: set[str] = set()
    for number, chosen in enumerate(product(*axes)):
        values = tuple((attribute.key_text, _written(attribute.value)) for attribute in chosen)
        name = _UNFIT.sub("", ",".join(f"{key}={value.replace('/', 'p')}" for key, value in values))
        if len(name) > 120 or name in names:
            name = f"point-{number}"
        names.add(name)
        yield Point(name, values, chosen, where)


def _axis(item: syntax.Attribute) -> tuple[syntax.Attribute, ...]:
    if not isinstance(item.value, syntax.Listing):
        message = f"{quoted(item.key_text)} is swept over a list of values"
        hints = (f"write `[{_written(item.value)}]`",)
        raise Diagnosed(diagnostic("AS216", message, item.value.span, hints=hints))
    if not item.value.values:
        raise Diagnosed(diagnostic("AS216", f"{quoted(item.key_text)} is swept over no values", item.value.span))
    return tuple(syntax.Attribute(item.key, value, item.span) for value in item.value.values)


def _written(value: syntax.Expression) -> str:
    return " ".join(value.span.text.split())
