"""JSON Schema 2020-12, as far as our schemas use it: a value -> what it does against its schema.

The package `jsonschema` takes longer to import than a check of a spec takes. Violations are those that it finds, in
its order; a test compares them. Two things are stricter: 8.0 is no integer, and infinity is no number. `x-blocks` holds
a schema for each kind of the blocks of a list; other keywords that begin with `x-`, and those that only describe, say
nothing of a value. A keyword that is not known here is violated by every value.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Schema: TypeAlias = Mapping[str, Any]

    _Path: TypeAlias = tuple[Any, Any] | None
    """The path of what a value is in, and the step to it."""


class Violation(NamedTuple):
    """What a value does against its schema.

    Attributes:
        keyword: of the schema that forbids it.
        path: keys and indices from the whole document to the value; of a forbidden key to the object that has it.
        value: what is wrong; for `required` the object that lacks something.
        wanted: what the keyword says; for `required` the name of the one property that is missing.
        schema: of the value.
        of_key: whether the value is a key, which `propertyNames` speaks of.
    """

    keyword: str
    path: tuple[str | int, ...]
    value: Any
    wanted: Any
    schema: Schema
    of_key: bool = False


def violations(value: Any, schema: Schema) -> list[Violation]:
    """All that a value does against a schema; `$ref` is followed within the schema."""
    validation = _Validation(schema)
    validation.check(value, schema, None)
    return validation.found


class _Validation:
    """Walks a value and its schema; one per call of `violations`."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.found: list[Violation] = []
        self.in_key = False

    def check(self, value: Any, schema: Schema, path: _Path) -> None:
        """Keyword by keyword, in the schema's order."""
        for keyword, wanted in schema.items():
            holds = _HOLDS.get(keyword)
            if holds is not None:
                if not holds(value, wanted):
                    self._violated(keyword, path, value, wanted, schema)
            elif keyword in _WALKS:
                _WALKS[keyword](self, value, wanted, schema, path)
            elif not (keyword in _DESCRIBING or keyword.startswith("x-")):
                self._violated(keyword, path, value, wanted, schema)

    def _violated(self, keyword: str, path: _Path, value: Any, wanted: Any, schema: Schema) -> None:
        steps: list[str | int] = []
        while path is not None:
            path, step = path
            steps.append(step)
        self.found.append(Violation(keyword, tuple(reversed(steps)), value, wanted, schema, self.in_key))

    def _is_valid(self, value: Any, schema: Schema) -> bool:
        apart = _Validation(self.root)
        apart.check(value, schema, None)
        return not apart.found

    # -- keywords that speak of parts

    def required(self, value: Any, wanted: list[str], schema: Schema, path: _Path) -> None:
        """A violation for each property that is missing."""
        for name in wanted if isinstance(value, dict) else ():
            if name not in value:
                self._violated("required", path, value, name, schema)

    def properties(self, value: Any, wanted: Mapping[str, Schema], _schema: Schema, path: _Path) -> None:
        """The properties that the schema names."""
        if isinstance(value, dict):
            for name, row in wanted.items():
                if name in value:
                    self.check(value[name], row, (path, name))

    def additional(self, value: Any, wanted: Schema | bool, schema: Schema, path: _Path) -> None:
        """The properties that it does not name."""
        if not isinstance(value, dict) or wanted is True:
            return
        known = schema.get("properties", ())
        others = [name for name in value if name not in known]
        if isinstance(wanted, bool):
            if others:
                self._violated("additionalProperties", path, value, wanted, schema)
            return
        for name in others:
            self.check(value[name], wanted, (path, name))

    def names(self, value: Any, wanted: Schema, _schema: Schema, path: _Path) -> None:
        """The keys themselves."""
        self.in_key = True
        for name in value if isinstance(value, dict) else ():
            self.check(name, wanted, path)
        self.in_key = False

    def items(self, value: Any, wanted: Schema, _schema: Schema, path: _Path) -> None:
        """The entries of a list."""
        for at, item in enumerate(value if isinstance(value, list) else ()):
            self.check(item, wanted, (path, at))

    def blocks(self, value: Any, wanted: Mapping[str, Schema], _schema: Schema, path: _Path) -> None:
        """The blocks of a list, each by the schema of its kind."""
        for at, item in enumerate(value if isinstance(value, list) else ()):
            if item["kind"] in wanted:
                self.check(item, wanted[item["kind"]], (path, at))

    def reference(self, value: Any, wanted: str, _schema: Schema, path: _Path) -> None:
        """The schema that a `$ref` names, as `#/$defs/name`."""
        found: Any = self.root
        for step in wanted.split("/")[1:]:
            found = found[step]
        self.check(value, found, path)

    def all_of(self, value: Any, wanted: list[Schema], _schema: Schema, path: _Path) -> None:
        """Every one of several schemas."""
        for schema in wanted:
            self.check(value, schema, path)

    def any_of(self, value: Any, wanted: list[Schema], schema: Schema, path: _Path) -> None:
        """At least one of several schemas."""
        if not any(self._is_valid(value, one) for one in wanted):
            self._violated("anyOf", path, value, wanted, schema)

    def negation(self, value: Any, wanted: Schema, schema: Schema, path: _Path) -> None:
        """Not this schema."""
        if self._is_valid(value, wanted):
            self._violated("not", path, value, wanted, schema)

    def condition(self, value: Any, wanted: Schema, schema: Schema, path: _Path) -> None:
        """`then` where `if` holds."""
        if self._is_valid(value, wanted):
            self.check(value, schema["then"], path)


def _is_number(value: Any) -> bool:
    return (isinstance(value, int | Fraction) and not isinstance(value, bool)) or (
        isinstance(value, float) and isfinite(value)
    )


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "null": lambda value: value is None,
}


def _is_type(value: Any, wanted: str | list[str]) -> bool:
    return _TYPES[wanted](value) if isinstance(wanted, str) else any(_TYPES[kind](value) for kind in wanted)


def _equal(value: Any, other: Any) -> bool:
    """JSON's true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _are_unique(value: Any, _wanted: bool) -> bool:
    if not isinstance(value, list):
        return True
    try:
        return len({(item, isinstance(item, bool)) for item in value}) == len(value)
    except TypeError:  # lists and objects
        return not any(_equal(one, other) for at, one in enumerate(value) for other in value[:at])


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "type": _is_type,
    "enum": lambda value, wanted: any(_equal(value, one) for one in wanted),
    "const": _equal,
    "pattern": lambda value, wanted: not isinstance(value, str) or re.search(wanted, value) is not None,
    "minimum": lambda value, wanted: not _is_number(value) or value >= wanted,
    "maximum": lambda value, wanted: not _is_number(value) or value <= wanted,
    "exclusiveMinimum": lambda value, wanted: not _is_number(value) or value > wanted,
    "exclusiveMaximum": lambda value, wanted: not _is_number(value) or value < wanted,
    "minLength": lambda value, wanted: not isinstance(value, str) or len(value) >= wanted,
    "minItems": lambda value, wanted: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda value, wanted: not isinstance(value, list) or len(value) <= wanted,
    "minProperties": lambda value, wanted: not isinstance(value, dict) or len(value) >= wanted,
    "uniqueItems": _are_unique,
}
"""Keywords that speak of a value alone: whether it does what one says."""

_WALKS: dict[str, Callable[[_Validation, Any, Any, Schema, _Path], None]] = {
    "required": _Validation.required,
    "properties": _Validation.properties,
    "additionalProperties": _Validation.additional,
    "propertyNames": _Validation.names,
    "items": _Validation.items,
    "x-blocks": _Validation.blocks,
    "$ref": _Validation.reference,
    "allOf": _Validation.all_of,
    "anyOf": _Validation.any_of,
    "not": _Validation.negation,
    "if": _Validation.condition,
}
"""Keywords that speak of its parts, or of other schemas."""

_DESCRIBING = frozenset({"$schema", "$id", "$defs", "$comment", "title", "description", "default", "then"})
"""Keywords that say nothing by themselves."""
