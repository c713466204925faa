"""Documents against the schemas of artifacts, in the user's words: what they do wrong, and what nobody reads."""

from __future__ import annotations

import json
import math
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from astrac import resources
from astrac.diagnostics import diagnostic, quoted
from astrac.simulators.positioned import child
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jsonschema import Draft202012Validator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.positioned import Tree


MAX_UNKNOWN = 50
"""Unknown keys of a file that is probably something else."""

_Error: TypeAlias = Any
"""jsonschema's ValidationError, whose attributes are anything."""


class Violation(NamedTuple):
    """What a document does against its schema: a code of AS7xx, the pointer of the value, and a message."""

    code: str
    pointer: str
    message: str
    hints: tuple[str, ...] = ()


def violations(value: Any, schema: str) -> Iterator[Violation]:
    """All of them, in the order of the document's schema; keys that the schema does not know are none.

    Args:
        value: plain data.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
    """
    told: set[str] = set()
    for error in _validator(schema).iter_errors(value):
        keyword = str(error.validator)
        pointer = reduce(child, error.absolute_path, "")
        if keyword == "required":
            missing = _missing(error)
            yield Violation("AS704", pointer, f"`{missing}` is missing", _misspelt(missing, error, schema))
        elif "propertyNames" in error.absolute_schema_path:
            message = f"`{_short(error.instance)}` cannot be a key here"
            hints = tuple(filter(None, (error.schema.get("description"),)))
            yield Violation("AS702", child(pointer, error.instance), message, hints)
        elif keyword != "additionalProperties" and pointer not in told:  # a wrong type breaks other rules as well
            told.add(pointer)
            yield Violation("AS702", pointer, f"{_name(error.absolute_path)}{_MESSAGES.get(keyword, _other)(error)}")


def findings(tree: Tree, schema: str) -> list[Diagnostic]:
    """The same as diagnostics, in the order of the text."""
    found = [
        diagnostic(violation.code, violation.message, tree.at(violation.pointer), hints=violation.hints)
        for violation in violations(tree.value, schema)
    ]
    return sorted(found, key=lambda finding: finding.labels[0].span.start)


def unread(tree: Tree, schema: str) -> Iterator[Diagnostic]:
    """AS860 for keys that the schema does not have, AS861 for those that it says are not read.

    Two annotations of a property say so: `x-unread` gives the values that promise nothing, so that they are passed
    over in silence, and `x-read-with` names the switch without which the key is not read.

    Args:
        tree: of a document that is an object.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
    """
    known = load(schema)["properties"]
    told = 0
    for key, value in tree.value.items():
        if told == MAX_UNKNOWN:
            return
        row = known.get(key)
        place = tree.key(child("", key))
        if row is None:
            told += 1
            others = [other for other in known if other not in tree.value]
            yield diagnostic("AS860", f"ASTRA-sim reads no key {quoted(key)}", place, hints=did_you_mean(key, others))
        elif "x-unread" in row and value not in row["x-unread"]:
            yield diagnostic("AS861", f"ASTRA-sim 2.x never reads `{key}`", place)
        elif "x-read-with" in row and row["x-read-with"] not in tree.value:
            yield diagnostic("AS861", f"`{key}` is read with `{row['x-read-with']}` only", place)


@cache
def load(schema: str) -> dict[str, Any]:
    """The content of `schemas/artifacts/<schema>.schema.json`."""
    found: dict[str, Any] = json.loads(resources.text("schemas", "artifacts", f"{schema}.schema.json"))
    return found


@cache
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow to import, needed by few

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer).redefine("number", _is_number)
    strict: Any = validators.extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]
    validator: Draft202012Validator = strict(load(schema))
    return validator


def _is_integer(_: object, value: object) -> bool:
    """JSON Schema takes 8.0 for an integer; the network's reader does not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: object, value: object) -> bool:
    """JSON Schema lets infinity pass every lower bound."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _missing(error: _Error) -> str:
    """The one key that this error is about: jsonschema gives an error a key."""
    return next(str(name) for name in error.validator_value if error.message.startswith(repr(name)))


def _misspelt(missing: str, error: _Error, schema: str) -> tuple[str, ...]:
    whole: Any = _validator(schema).schema
    known = {**whole.get("properties", {}), **error.schema.get("properties", {})}
    strange = [key for key in error.instance if key not in known]
    return tuple(f"`{key}` is not read: did you mean `{missing}`?" for key in strange if did_you_mean(key, [missing]))


def _name(path: Iterable[str | int]) -> str:
    """`key` or `key`, entry 2: what the message is about."""
    steps = list(path)
    if not steps:
        return "the file "
    words = [f"`{steps[0]}`", *(f"entry {step + 1}" if isinstance(step, int) else f"`{step}`" for step in steps[1:])]
    return ", ".join(words) + " "


_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
    "null": "null",
}


def _short(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # a number of thousands of digits
        text = "..."
    return text if len(text) <= 40 else f"{text[:37]}..."


def _type(error: _Error) -> str:
    kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    words = " or ".join(_KINDS[kind] for kind in kinds)
    is_switch = isinstance(error.instance, bool) and error.schema.get("enum") == [0, 1]
    switch = ": ASTRA-sim takes `false` for 1, write 0 or 1" if is_switch else ""
    return f"must be {words}, not `{_short(error.instance)}`{switch}"


def _enum(error: _Error) -> str:
    choices = ", ".join(f"`{choice}`" for choice in error.validator_value)
    return f"must be one of {choices}, not `{_short(error.instance)}`"


def _bound(words: str) -> Callable[[_Error], str]:
    return lambda error: f"must be {words} {error.validator_value}, not {_short(error.instance)}"


def _other(error: _Error) -> str:
    return f"is not what the simulator reads: `{_short(error.instance)}` against {error.validator}"


_MESSAGES: dict[str, Callable[[_Error], str]] = {
    "type": _type,
    "enum": _enum,
    "pattern": lambda error: f"is not a word of ASTRA-sim: `{_short(error.instance)}`",
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "minItems": lambda error: f"must have at least {error.validator_value} entries, not {len(error.instance)}",
    "uniqueItems": lambda _: "names an entry twice",
}
