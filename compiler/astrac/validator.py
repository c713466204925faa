"""A value -> what it does against its JSON Schema (2020-12).

jsonschema decides. Importing it takes longer than a check of a spec takes, so a value that is plainly right by the
keywords that our schemas use is never shown to it; a test compares the two. Two things are stricter than the standard:
8.0 is no integer, and infinity is no number. `x-blocks` holds a schema for each kind of the blocks of a list.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Schema: TypeAlias = Mapping[str, Any]


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
    if is_plainly_right(value, schema, schema):
        return []
    return [
        Violation(
            keyword=str(error.validator),
            path=tuple(error.absolute_path),
            value=error.instance,
            wanted=error.message if error.validator == "required" else error.validator_value,
            schema=error.schema,
            of_key="propertyNames" in error.absolute_schema_path,
        )
        for error in _engine()(schema).iter_errors(value)
    ]


@cache
def _engine() -> Any:
    """Jsonschema's validator, with numbers that may be fractions, blocks by their kinds, and a name a missing key."""
    from jsonschema import Draft202012Validator, ValidationError, validators  # noqa: PLC0415 - see above

    def required(_: Any, wanted: list[str], value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            yield from (ValidationError(name) for name in wanted if name not in value)

    def blocks(engine: Any, wanted: Mapping[str, Schema], value: Any, _: Any) -> Iterator[Any]:
        for at, item in enumerate(_entries(value)):
            yield from engine.descend(item, wanted.get(item["kind"], {}), path=at, schema_path=item["kind"])

    checker = Draft202012Validator.TYPE_CHECKER
    for kind, is_one in (("integer", _is_integer), ("number", _is_number)):
        checker = checker.redefine(kind, lambda _, value, is_one=is_one: is_one(value))
    extend: Any = validators.extend
    return extend(Draft202012Validator, {"required": required, "x-blocks": blocks}, type_checker=checker)


# -- the quick yes


def is_plainly_right(value: Any, schema: Schema, root: Schema) -> bool:
    """Whether a value is right by keywords that are looked at here; False says nothing.

    Args:
        value: the document, or a part of it.
        schema: of the value.
        root: of the document, in which `$ref` is looked up.
    """
    for keyword, wanted in schema.items():
        holds = _HOLDS.get(keyword)
        if holds is not None:
            if not holds(value, wanted):
                return False
        elif keyword in _PARTS:
            if not all(is_plainly_right(part, row, root) for part, row in _PARTS[keyword](value, wanted, schema, root)):
                return False
        elif keyword in _CASES:
            if not _CASES[keyword](lambda row: is_plainly_right(value, row, root), wanted, schema):
                return False
        elif not (keyword in _DESCRIBING or keyword.startswith("x-")):
            return False
    return True


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, Fraction) or (isinstance(value, float) and isfinite(value))


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": _is_number,
    "null": lambda value: value is None,
}


def _is_type(value: Any, wanted: str | list[str]) -> bool:
    return _TYPES[wanted](value) if isinstance(wanted, str) else any(_TYPES[kind](value) for kind in wanted)


def _is_one_of(value: Any, wanted: list[Any]) -> bool:
    """JSON's true is not 1."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in wanted)


def _are_unique(value: Any, _wanted: bool) -> bool:
    """Of numbers and words; anything else is left to jsonschema."""
    return isinstance(value, list) and all(type(item) in {int, str} for item in value) and len(set(value)) == len(value)


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "type": _is_type,
    "enum": _is_one_of,
    "const": lambda value, wanted: _is_one_of(value, [wanted]),
    "pattern": lambda value, wanted: not isinstance(value, str) or re.search(wanted, value) is not None,
    "minimum": lambda value, wanted: not _is_number(value) or value >= wanted,
    "maximum": lambda value, wanted: not _is_number(value) or value <= wanted,
    "exclusiveMinimum": lambda value, wanted: not _is_number(value) or value > wanted,
    "exclusiveMaximum": lambda value, wanted: not _is_number(value) or value < wanted,
    "minLength": lambda value, wanted: not isinstance(value, str) or len(value) >= wanted,
    "minItems": lambda value, wanted: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda value, wanted: not isinstance(value, list) or len(value) <= wanted,
    "minProperties": lambda value, wanted: not isinstance(value, dict) or len(value) >= wanted,
    "required": lambda value, wanted: not isinstance(value, dict) or all(name in value for name in wanted),
    "uniqueItems": _are_unique,
}
"""Keywords that speak of a value alone: whether it does what one says."""

_NEVER: Schema = {"enum": []}


def _others(value: Any, wanted: Schema | bool, schema: Schema, _root: Schema) -> Iterator[tuple[Any, Schema]]:
    """Properties that the schema does not name."""
    row = ({} if wanted else _NEVER) if isinstance(wanted, bool) else wanted
    if isinstance(value, dict):
        yield from ((value[name], row) for name in value if name not in schema.get("properties", ()))


def _referred(value: Any, wanted: str, _schema: Schema, root: Schema) -> Iterator[tuple[Any, Schema]]:
    """The schema that a `$ref` names, as `#/$defs/name`."""
    found: Any = root
    for step in wanted.split("/")[1:]:
        found = found[step]
    yield value, found


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_PARTS: dict[str, Callable[[Any, Any, Schema, Schema], Iterator[tuple[Any, Schema]]]] = {
    "properties": lambda value, wanted, *_: ((value[key], wanted[key]) for key in _names(value) if key in wanted),
    "additionalProperties": _others,
    "propertyNames": lambda value, wanted, *_: ((name, wanted) for name in _names(value)),
    "items": lambda value, wanted, *_: ((item, wanted) for item in _entries(value)),
    "x-blocks": lambda value, wanted, *_: ((item, wanted.get(item["kind"], {})) for item in _entries(value)),
    "allOf": lambda value, wanted, *_: ((value, row) for row in wanted),
    "$ref": _referred,
}
"""Keywords that speak of parts: the parts, each with its schema."""

_CASES: dict[str, Callable[[Callable[[Schema], bool], Any, Schema], bool]] = {
    "anyOf": lambda holds, wanted, _: any(map(holds, wanted)),
    "not": lambda holds, wanted, _: not holds(wanted),
    "if": lambda holds, wanted, schema: not holds(wanted) or holds(schema["then"]),
}
"""Keywords that weigh other schemas of the same value; what these say must be among the keywords above."""

_DESCRIBING = frozenset({"$schema", "$id", "$defs", "$comment", "title", "description", "default", "then"})
"""Keywords that say nothing of a value."""
