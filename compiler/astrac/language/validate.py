"""`Document` -> diagnostics: bounds, required keys and all else that the schemas say of values (AS4xx).

The block schemas use a dozen keywords of JSON Schema. They are checked here, for importing jsonschema costs more than
the whole check of a spec; a test compares what is found with what jsonschema finds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import units
from astrac.diagnostics import Diagnostic, Result, diagnostic, quoted
from astrac.language import schema
from astrac.language.document import ALL, Document, escaped
from astrac.units import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.language.schema import Schema


def validate(document: Document, spec: Schema | None = None) -> Result[Document]:
    """The document itself, and what the schemas do not allow in it.

    What `elaborate` reported already (the document's holes) is not reported again.
    """
    spec = spec or schema.spec()
    findings: list[Diagnostic] = []
    holes = _Holes(document)
    if document.is_spec:
        findings += _check(document, holes, "", document.tree, spec)
    for at, block in enumerate(document.library):
        content = {key: value for key, value in block.items() if key != "kind"}
        findings += _check(document, holes, f"/library/{at}", content, spec["properties"][block["kind"]])
    return Result(document, tuple(findings))


def _check(
    document: Document, holes: _Holes, pointer: str, tree: dict[str, Any], entry: Schema
) -> Iterator[Diagnostic]:
    missing: dict[str, list[str]] = {}
    for violation in violations(tree, entry, pointer):
        place = violation.place
        if violation.keyword == "required":
            names = [name for name in violation.limit if name not in violation.value]
            missing[place] = [name for name in names if not holes.explain(f"{place}/{name}")]
        elif not holes.explain(place):
            yield _VIOLATIONS.get(violation.keyword, _other)(document, violation)
    for place, names in missing.items():
        if names:
            yield _missing(document, place, names)


class _Holes:
    """What was reported already: the holes, and all that holds one."""

    def __init__(self, document: Document) -> None:
        self._holes = document.holes
        self._around = {hole[:at] for hole in document.holes for at, letter in enumerate(hole) if letter == "/"}

    def explain(self, place: str) -> bool:
        """Whether what is wrong there follows from a hole in it, or from a part that its block has lost."""
        block = place.rpartition("/")[0]
        return place in self._holes or place in self._around or f"{block}/{ALL}" in self._holes


# -- values by their schema


class Violation(NamedTuple):
    """A keyword of a schema that a value breaks.

    Attributes:
        place: the value's JSON pointer.
        keyword: of the schema.
        limit: what stands behind the keyword.
        value: the value itself.
        entry: the value's whole schema.
    """

    place: str
    keyword: str
    limit: Any
    value: Any
    entry: Schema


def violations(value: Any, entry: Schema, place: str = "") -> Iterator[Violation]:
    """What a schema does not allow in a value and in its parts; a value of a wrong type is looked at no further."""
    if "type" in entry and not _is_type(value, entry["type"]):
        yield Violation(place, "type", entry["type"], value, entry)
        return
    for keyword, limit in entry.items():
        if keyword not in _ELSEWHERE and not keyword.startswith("x-"):
            allows = _ALLOWS.get(keyword)
            if allows is None or not allows(value, limit):
                yield Violation(place, keyword, limit, value, entry)
    if isinstance(value, list):
        for at, item in enumerate(value):
            part = entry["x-blocks"][item["kind"]] if "x-blocks" in entry else entry.get("items", {})
            yield from violations(item, part, f"{place}/{at}")
    elif isinstance(value, dict):
        properties, rest = entry.get("properties", {}), entry.get("additionalProperties", {})
        for key, item in value.items():
            part = properties.get(key, rest)
            if part is False:
                yield Violation(place, "additionalProperties", part, value, entry)
            else:
                yield from violations(item, part, f"{place}/{escaped(key)}")


def _is_type(value: Any, told: str | list[str]) -> bool:
    kinds = told if isinstance(told, list) else [told]
    return any(isinstance(value, _TYPES[kind]) and (kind == "boolean") == isinstance(value, bool) for kind in kinds)


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, Fraction),
}  # fmt: skip

_ELSEWHERE = frozenset({"type", "title", "description", "default", "properties", "additionalProperties", "items"})
"""Keywords that say nothing of the value itself, or are looked at before."""

_ALLOWS: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda value, words: value in words,
    "minimum": lambda value, limit: isinstance(value, str) or value >= limit,
    "maximum": lambda value, limit: isinstance(value, str) or value <= limit,
    "exclusiveMinimum": lambda value, limit: isinstance(value, str) or value > limit,
    "exclusiveMaximum": lambda value, limit: isinstance(value, str) or value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
    "minProperties": lambda value, limit: len(value) >= limit,
    "uniqueItems": lambda value, _: len({repr(item) for item in value}) == len(value),
    "required": lambda value, names: all(name in value for name in names),
}


# -- violations in our own words


def _missing(document: Document, place: str, names: list[str]) -> Diagnostic:
    *most, last = (quoted(name) for name in names)
    listed = f"{', '.join(most)} and {last}" if most else last
    if place == "":
        available = [f"`{name}: {choice}`" for name in names for choice in document.available.get(name, ())]
        hints = ("pick one of those in reach: " + ", ".join(available[:6]),) if available else ()
        return diagnostic(
            "AS403", f"the spec has no {listed}".replace(" and ", " and no "), document.at(""), hints=hints
        )
    origin = document.origins[place]
    return diagnostic("AS403", f"{quoted(origin.value.text)} lacks {listed}", origin.value)


def _bound(words: str) -> Callable[[Document, Violation], Diagnostic]:
    def bound(document: Document, violation: Violation) -> Diagnostic:
        place, value = violation.place, violation.value
        unit = document.units.get(place)
        limit = Fraction(violation.limit)
        shown = str(Quantity(limit, units.dimension(unit))) if unit else units.decimal(limit)
        name = quoted(document.key(place).text)
        share = unit == "1" and limit == 1 and 2 <= value <= 100
        hints = (f"write `{units.decimal(Fraction(value))} %`",) if share else ()
        return diagnostic("AS410", f"{name} must be {words} {shown}", document.at(place), hints=hints)

    return bound


def _length(document: Document, violation: Violation) -> Diagnostic:
    place, keyword, limit, value, entry = violation
    few = keyword.startswith("min")
    blocks = entry.get("x-blocks") or {}
    origin = document.origins[place]
    if few and (blocks or keyword == "minProperties"):
        what = ", ".join(f"`{kind}`" for kind in sorted(blocks or entry["properties"]))
        return diagnostic("AS411", f"{quoted(origin.value.text)} is empty: it needs one of {what}", origin.value)
    if keyword == "minLength":
        return diagnostic("AS411", f"{quoted(origin.key.text)} is an empty text", origin.value)
    bound = "at least" if few else "at most"
    message = f"{quoted(origin.key.text)} takes {bound} {limit}, not {len(value)}"
    return diagnostic("AS411", message, origin.value)


def _repeated(document: Document, violation: Violation) -> Diagnostic:
    first: dict[str, int] = {}
    again = next(at for at, item in enumerate(violation.value) if first.setdefault(repr(item), at) != at)
    span = document.near(f"{violation.place}/{again}")
    return diagnostic("AS412", f"{quoted(span.text)} is there twice", span)


def _other(document: Document, violation: Violation) -> Diagnostic:
    message = f"{quoted(document.key(violation.place).text)} breaks `{violation.keyword}` of its schema"
    return diagnostic("AS900", message, document.at(violation.place))


_VIOLATIONS: dict[str, Callable[[Document, Violation], Diagnostic]] = {
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "exclusiveMaximum": _bound("less than"),
    "minLength": _length,
    "minItems": _length,
    "maxItems": _length,
    "minProperties": _length,
    "uniqueItems": _repeated,
}
