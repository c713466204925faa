"""Two values -> a line a difference; what both simulators' comparisons are made of."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ARROW = "->"


def changed(where: str, name: str, one: object, other: object) -> Iterator[str]:
    """The line of a value that is not the same."""
    if one != other:
        yield f"{where}: {name} {shown(one)} {ARROW} {shown(other)}"


def shown(value: object) -> str:
    """A value in the words of the files."""
    if value is None:
        return "missing"
    if isinstance(value, Enum):
        return value.name if isinstance(value, int) else str(value.value)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.17g}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)


def scalars(where: str, one: Any, other: Any, names: Mapping[str, str], apart: Sequence[str] = ()) -> Iterator[str]:
    """Attributes of two dataclasses of one kind; what is a dataclass itself is looked into."""
    for field in fields(one):
        if field.name in apart:
            continue
        before, after = getattr(one, field.name), getattr(other, field.name)
        name = names.get(field.name, field.name.replace("_", " "))
        if is_dataclass(before) and type(before) is type(after):
            yield from scalars(f"{where}: {name}", before, after, names)
        else:
            yield from changed(where, name, before, after)


def lists(where: str, one: Sequence[Any], other: Sequence[Any], names: Mapping[str, str], noun: str) -> Iterator[str]:
    """Two lists of dataclasses of one kind, entry by entry; `noun` is what an entry is."""
    if len(one) != len(other):
        yield f"{where}: {len(one)} {ARROW} {len(other)} {noun}s"
    for at, (before, after) in enumerate(zip(one, other, strict=False)):
        label = f"{where}: {noun} {getattr(before, 'name', at)}"
        yield from scalars(label, before, after, names)
