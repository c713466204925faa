"""`Document` -> diagnostics: bounds, required keys and all else that the schemas say of values (AS4xx)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from astrac import units
from astrac.diagnostics import Diagnostic, Result, diagnostic, quoted
from astrac.language import schema
from astrac.language.document import ALL, Document, escaped
from astrac.units import Quantity
from astrac.validator import violations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.language.schema import Schema
    from astrac.validator import Violation


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
    for violation in violations(tree, entry):
        place = pointer + "".join(f"/{escaped(str(step))}" for step in violation.path)
        if violation.keyword == "required":
            if not holes.explain(f"{place}/{violation.wanted}"):
                missing.setdefault(place, []).append(violation.wanted)
        elif not holes.explain(place):
            yield _MESSAGES.get(violation.keyword, _other)(document, place, violation)
    for place, names in missing.items():
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


def _bound(words: str) -> Callable[[Document, str, Violation], Diagnostic]:
    def violation(document: Document, place: str, found: Violation) -> Diagnostic:
        unit = document.units.get(place)
        limit = Fraction(found.wanted)
        shown = str(Quantity(limit, units.dimension(unit))) if unit else units.decimal(limit)
        name = quoted(document.key(place).text)
        share = unit == "1" and limit == 1 and 2 <= found.value <= 100
        hints = (f"write `{units.decimal(Fraction(found.value))} %`",) if share else ()
        return diagnostic("AS410", f"{name} must be {words} {shown}", document.at(place), hints=hints)

    return violation


def _length(document: Document, place: str, found: Violation) -> Diagnostic:
    few = found.keyword.startswith("min")
    limit, count = found.wanted, len(found.value)
    blocks = found.schema.get("x-blocks") or {}
    origin = document.origins[place]
    if few and (blocks or found.keyword == "minProperties"):
        what = ", ".join(f"`{kind}`" for kind in sorted(blocks or found.schema["properties"]))
        return diagnostic("AS411", f"{quoted(origin.value.text)} is empty: it needs one of {what}", origin.value)
    if found.keyword == "minLength":
        return diagnostic("AS411", f"{quoted(origin.key.text)} is an empty text", origin.value)
    bound = "at least" if few else "at most"
    message = f"{quoted(origin.key.text)} takes {bound} {limit}, not {count}"
    return diagnostic("AS411", message, origin.value)


def _repeated(document: Document, place: str, found: Violation) -> Diagnostic:
    first: dict[str, int] = {}
    again = next(at for at, item in enumerate(found.value) if first.setdefault(repr(item), at) != at)
    span = document.near(f"{place}/{again}")
    return diagnostic("AS412", f"{quoted(span.text)} is there twice", span)


def _other(document: Document, place: str, found: Violation) -> Diagnostic:
    message = f"{quoted(document.key(place).text)} breaks `{found.keyword}` of its schema"
    return diagnostic("AS900", message, document.at(place))


_MESSAGES: dict[str, Callable[[Document, str, Violation], Diagnostic]] = {
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
