"""`Document` -> diagnostics: bounds, required keys and all else that the schemas say of values (AS4xx).

jsonschema decides. Its import costs more than the whole check of a spec, so a spec that is plainly right, by the few
keywords that the block schemas use, does not pay for it; in any doubt jsonschema is asked.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

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
    if plainly_valid(tree, entry):
        return
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the module's docstring

    missing: dict[str, list[str]] = {}
    for error in Draft202012Validator(_with_blocks(entry)).iter_errors(tree):
        place = pointer + "".join(f"/{escaped(str(step))}" for step in error.absolute_path)
        if error.validator == "required":
            names = [name for name in error.validator_value if name not in error.instance]
            missing[place] = [name for name in names if not holes.explain(f"{place}/{name}")]
        elif not holes.explain(place):
            yield _VIOLATIONS.get(str(error.validator), _other)(document, place, error)
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


# -- the quick yes


def plainly_valid(value: Any, entry: Schema) -> bool:
    """Whether a value is right by the keywords below; False says only that jsonschema has to be asked."""
    return all(
        keyword.startswith("x-") or keyword in _SAYING or (keyword in _PLAIN and _PLAIN[keyword](value, told, entry))
        for keyword, told in entry.items()
    ) and _children_valid(value, entry)


def _children_valid(value: Any, entry: Schema) -> bool:
    if isinstance(value, list):
        if "x-blocks" in entry:
            return all(plainly_valid(item, entry["x-blocks"][item["kind"]]) for item in value)
        return "items" not in entry or all(plainly_valid(item, entry["items"]) for item in value)
    if isinstance(value, dict):
        properties, rest = entry.get("properties", {}), entry.get("additionalProperties", True)
        return all(
            plainly_valid(item, properties[key])
            if key in properties
            else isinstance(rest, dict) and plainly_valid(item, rest)
            for key, item in value.items()
        )
    return True


def _is_type(value: Any, told: Any, _: Schema) -> bool:
    kinds = told if isinstance(told, list) else [told]
    return any(isinstance(value, _TYPES[kind]) and (kind == "boolean") == isinstance(value, bool) for kind in kinds)


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, Fraction),
}  # fmt: skip

_SAYING = frozenset({"title", "description", "default", "properties", "additionalProperties", "items"})
"""Keywords that say nothing of the value itself; those of its parts are looked at apart."""

_PLAIN: dict[str, Callable[[Any, Any, Schema], bool]] = {
    "type": _is_type,
    "enum": lambda value, told, _: value in told,
    "minimum": lambda value, told, _: isinstance(value, str) or value >= told,
    "maximum": lambda value, told, _: isinstance(value, str) or value <= told,
    "exclusiveMinimum": lambda value, told, _: isinstance(value, str) or value > told,
    "exclusiveMaximum": lambda value, told, _: isinstance(value, str) or value < told,
    "minLength": lambda value, told, _: len(value) >= told,
    "minItems": lambda value, told, _: len(value) >= told,
    "maxItems": lambda value, told, _: len(value) <= told,
    "minProperties": lambda value, told, _: len(value) >= told,
    "uniqueItems": lambda value, _told, _entry: len({repr(item) for item in value}) == len(value),
    "required": lambda value, told, _: all(name in value for name in told),
}


# -- violations in our own words


def _with_blocks(entry: Schema) -> Schema:
    """The schema with `x-blocks` spelled out for jsonschema: the branch is chosen by `kind`, never by `oneOf`."""
    closed: Schema = {}
    for keyword, told in entry.items():
        if keyword == "x-blocks":
            closed[keyword] = told
            closed["items"] = {
                "allOf": [
                    {"if": {"properties": {"kind": {"const": kind}}}, "then": _with_blocks(branch)}
                    for kind, branch in told.items()
                ]
            }
        elif keyword == "properties":
            closed[keyword] = {name: _with_blocks(value) for name, value in told.items()}
        elif keyword in ("items", "additionalProperties") and isinstance(told, dict):
            closed[keyword] = _with_blocks(told)
        else:
            closed[keyword] = told
    return closed


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


def _bound(words: str) -> Callable[[Document, str, Any], Diagnostic]:
    def violation(document: Document, place: str, error: Any) -> Diagnostic:
        unit = document.units.get(place)
        limit = Fraction(error.validator_value)
        shown = str(Quantity(limit, units.dimension(unit))) if unit else units.decimal(limit)
        name = quoted(document.key(place).text)
        share = unit == "1" and limit == 1 and 2 <= error.instance <= 100
        hints = (f"write `{units.decimal(Fraction(error.instance))} %`",) if share else ()
        return diagnostic("AS410", f"{name} must be {words} {shown}", document.at(place), hints=hints)

    return violation


def _length(document: Document, place: str, error: Any) -> Diagnostic:
    few = str(error.validator).startswith("min")
    limit, count = error.validator_value, len(error.instance)
    blocks = error.schema.get("x-blocks") or {}
    origin = document.origins[place]
    if few and (blocks or error.validator == "minProperties"):
        what = ", ".join(f"`{kind}`" for kind in sorted(blocks or error.schema["properties"]))
        return diagnostic("AS411", f"{quoted(origin.value.text)} is empty: it needs one of {what}", origin.value)
    if error.validator == "minLength":
        return diagnostic("AS411", f"{quoted(origin.key.text)} is an empty text", origin.value)
    bound = "at least" if few else "at most"
    message = f"{quoted(origin.key.text)} takes {bound} {limit}, not {count}"
    return diagnostic("AS411", message, origin.value)


def _repeated(document: Document, place: str, error: Any) -> Diagnostic:
    seen: set[str] = set()
    span = document.at(place)
    for at, item in enumerate(error.instance):
        if repr(item) in seen:
            span = document.near(f"{place}/{at}")
            break
        seen.add(repr(item))
    return diagnostic("AS412", f"{quoted(span.text)} is there twice", span)


def _other(document: Document, place: str, error: Any) -> Diagnostic:
    return diagnostic("AS900", f"{quoted(document.key(place).text)}: {error.message}", document.at(place))


_VIOLATIONS: dict[str, Callable[[Document, str, Any], Diagnostic]] = {
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
