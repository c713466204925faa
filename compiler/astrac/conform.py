"""Documents against the schemas of artifacts, in the user's words: what they do wrong, and what nobody reads."""

from __future__ import annotations

import json
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import resources, validator
from astrac.diagnostics import Label, diagnostic, quoted
from astrac.positioned import child
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.positioned import Tree


MAX_UNKNOWN = 50
"""Unknown keys of a file that is probably something else."""


class Mistake(NamedTuple):
    """What a document does against its schema: a code of AS7xx, the pointer of the value, and a message."""

    code: str
    pointer: str
    message: str
    hints: tuple[str, ...] = ()


def violations(value: Any, schema: str) -> Iterator[Mistake]:
    """All of them, in the order of the document's schema; keys that the schema does not know are none.

    Args:
        value: plain data.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
    """
    told: set[str] = set()
    for found in validator.violations(value, load(schema)):
        pointer = reduce(child, found.path, "")
        if found.keyword == "required":
            hints = _misspelt(found, load(schema))
            yield Mistake("AS704", pointer, f"`{found.wanted}` is missing", hints)
        elif found.of_key:
            message = f"`{_short(found.value)}` cannot be a key here"
            hints = tuple(filter(None, (found.schema.get("description"),)))
            yield Mistake("AS702", child(pointer, found.value), message, hints)
        elif found.keyword != "additionalProperties" and pointer not in told:  # a wrong type breaks other rules too
            told.add(pointer)
            message = _MESSAGES.get(found.keyword, _other)(found)
            yield Mistake("AS702", pointer, f"{_name(found.path)}{message}")


def findings(tree: Tree, schema: str) -> list[Diagnostic]:
    """The same as diagnostics, in the order of the text."""
    found = [
        diagnostic(violation.code, violation.message, tree.at(violation.pointer), hints=violation.hints)
        for violation in violations(tree.value, schema)
    ]
    return sorted(found, key=lambda finding: finding.labels[0].span.start)


def spare(tree: Tree) -> Iterator[Diagnostic]:
    """AS843 for keys that say the same twice, AS845 for what follows the value."""
    for key in tree.repeated:
        yield diagnostic("AS843", "this key is written twice", key.last, Label(key.first, "first written here"))
    if tree.rest is not None:
        yield diagnostic("AS845", "what follows the first document is not read", tree.rest)


def unread(tree: Tree, schema: str) -> Iterator[Diagnostic]:
    """What `spare` finds, AS860 for keys that the schema does not have, AS861 for those that it says are not read.

    Two annotations of a property say so: `x-unread` gives the values that promise nothing, so that they are passed
    over in silence, and `x-read-with` names the switch without which the key is not read.

    Args:
        tree: of a document that is an object.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
    """
    yield from spare(tree)
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


def _misspelt(found: validator.Violation, whole: dict[str, Any]) -> tuple[str, ...]:
    known = {**whole.get("properties", {}), **found.schema.get("properties", {})}
    strange = [key for key in found.value if key not in known]
    return tuple(
        f"`{key}` is not read: did you mean `{found.wanted}`?" for key in strange if did_you_mean(key, [found.wanted])
    )


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


def _type(found: validator.Violation) -> str:
    kinds = found.wanted if isinstance(found.wanted, list) else [found.wanted]
    words = " or ".join(_KINDS[kind] for kind in kinds)
    is_switch = isinstance(found.value, bool) and found.schema.get("enum") == [0, 1]
    switch = ": ASTRA-sim takes `false` for 1, write 0 or 1" if is_switch else ""
    return f"must be {words}, not `{_short(found.value)}`{switch}"


def _enum(found: validator.Violation) -> str:
    choices = ", ".join(f"`{choice}`" for choice in found.wanted)
    return f"must be one of {choices}, not `{_short(found.value)}`"


def _bound(words: str) -> Callable[[validator.Violation], str]:
    return lambda found: f"must be {words} {found.wanted}, not {_short(found.value)}"


def _other(found: validator.Violation) -> str:
    return f"is not what the simulator reads: `{_short(found.value)}` against {found.keyword}"


_MESSAGES: dict[str, Callable[[validator.Violation], str]] = {
    "type": _type,
    "enum": _enum,
    "pattern": lambda found: f"is not a word of ASTRA-sim: `{_short(found.value)}`",
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "minItems": lambda found: f"must have at least {found.wanted} entries, not {len(found.value)}",
    "uniqueItems": lambda _: "names an entry twice",
}
