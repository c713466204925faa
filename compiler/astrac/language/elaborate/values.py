"""A value by its schema: position decides what a word means, and which unit a number must have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac import units
from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic, quoted
from astrac.language import syntax
from astrac.language.document import Origin
from astrac.language.expression import Value, Values, Word, describe, evaluate, unknown_name
from astrac.language.slips import slip
from astrac.suggest import did_you_mean, listed
from astrac.units import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.language.elaborate.lets import Lets
    from astrac.language.schema import Schema
    from astrac.source import Span


class Reader:
    """Reads expressions as values, and notes the origin of list items and the unit of numbers.

    Args:
        lets: values of words.
        names: what can be referred to, by `x-ref`.
        origins, units: of the document, by pointer; filled in.

    Attributes:
        title: of the schema of the block that is read.
    """

    def __init__(
        self, lets: Lets, names: Mapping[str, tuple[str, ...]], origins: dict[str, Origin], units: dict[str, str]
    ) -> None:
        self._lets = lets
        self._names = names
        self._origins = origins
        self._units = units
        self.title = ""

    def read(self, node: syntax.Expression, key: str, entry: Schema, pointer: str) -> Any:
        """The plain value of an expression.

        Args:
            node: the expression.
            key: what messages call it.
            entry: its schema.
            pointer: its place in the document.

        Raises:
            Diagnosed: AS2xx for names, AS3xx for units, AS4xx for anything that the schema does not want.
            Lost: when it depends on something that was reported already.
        """
        while isinstance(node, syntax.Group):
            node = node.inner
        if isinstance(node, syntax.Listing) and entry["type"] == "array":
            return [
                self._item(value.span, pointer, at, self.read(value, key, entry["items"], f"{pointer}/{at}"))
                for at, value in enumerate(node.values)
            ]
        if isinstance(node, syntax.Path) and node.text in self._choices(entry):
            if node.text in self._lets.names:
                message = f"{quoted(node.text)} is a word that {quoted(key)} knows, and also a `let`"
                raise Diagnosed(diagnostic("AS213", message, node.span, hints=("give the `let` another name",)))
            return node.text
        if isinstance(node, syntax.Number) and node.unit and node.unit.text == "%" and "x-unit" not in entry:
            raise Diagnosed(diagnostic("AS307", f"{quoted(key)} is a plain number, without `%`", node.span))
        due = units.dimension(entry["x-unit"]) if "x-unit" in entry else units.NONE
        return self._accept(evaluate(node, replace(self._lets.scope, due=due)), node.span, key, entry, pointer)

    def _accept(self, value: Value, span: Span, key: str, entry: Schema, pointer: str) -> Any:
        types = entry["type"] if isinstance(entry["type"], list) else [entry["type"]]
        choices = self._choices(entry)
        match value:
            case Quantity() if "number" in types or "integer" in types:
                return self._number(value, span, key, entry, pointer)
            case Values() if "array" in types:
                return [
                    self._item(place, pointer, at, self._accept(item, place, key, entry["items"], f"{pointer}/{at}"))
                    for at, (item, place) in enumerate(value.items)
                ]
            case Word() if value.text in choices:
                return value.text
            case Word():
                raise Diagnosed(self._unknown_word(value, key, entry, types))
            case bool() if "boolean" in types:
                return value
            case str() if "string" in types and "x-ref" not in entry and "enum" not in entry:
                return value
        hints: tuple[str, ...] = (
            (f"write `{value}`, without quotes",) if isinstance(value, str) and value in choices else ()
        )
        if isinstance(value, bool):
            hints = self._slip(str(value), key, choices)
        elif "boolean" in types and isinstance(value, Quantity) and value.value in (0, 1):
            hints = (f"did you mean `{'true' if value.value else 'false'}`?",)
        message = f"{quoted(key)} needs {self._wanted(entry, types)}, not {describe(value)}"
        raise Diagnosed(diagnostic("AS404", message, span, hints=hints))

    def _item(self, span: Span, pointer: str, at: int, value: Any) -> Any:
        self._origins[f"{pointer}/{at}"] = Origin(span, span)
        return value

    def _number(self, value: Quantity, span: Span, key: str, entry: Schema, pointer: str) -> Any:
        wanted = units.dimension(entry.get("x-unit", "1"))
        if value.dimension != wanted:
            if value.dimension == units.NONE:
                example = " or ".join(f"`{unit}`" for unit in units.examples(wanted))
                unitless = f"write it with a unit, such as {example}"
                raise Diagnosed(diagnostic("AS302", f"{quoted(key)} needs a unit", span, hints=(unitless,)))
            message = f"{quoted(key)} is {units.describe(wanted)}, not {units.describe(value.dimension)}"
            what = units.describe(wanted).partition(" (")[0]
            hints = () if wanted == units.NONE else (f"write {what}, such as `1 {units.examples(wanted)[0]}`",)
            raise Diagnosed(diagnostic("AS307", message, span, hints=hints))
        if "x-unit" in entry:
            self._units[pointer] = entry["x-unit"]
        if value.value.denominator == 1:
            return value.value.numerator
        if entry["type"] != "number":
            message = f"{quoted(key)} needs a whole number, not {units.decimal(value.value)}"
            raise Diagnosed(diagnostic("AS406", message, span))
        return value.value

    def _choices(self, entry: Schema) -> tuple[str, ...]:
        """The words that stand for themselves here."""
        if "x-ref" in entry:
            return self._names.get(entry["x-ref"], ())
        return (*entry.get("enum", ()), *entry.get("x-words", ()))

    def _unknown_word(self, word: Word, key: str, entry: Schema, types: list[str]) -> Diagnostic:
        choices = self._choices(entry)
        hints = self._slip(word.text, key, choices) or did_you_mean(word.text, (*choices, *self._lets.names))
        if "x-ref" in entry:
            message = f"no {entry['x-ref']} is named {quoted(word.text)}"
            return diagnostic("AS219", message, word.span, hints=hints or listed(choices))
        if choices:
            words = "the choices are " + ", ".join(f"`{choice}`" for choice in sorted(choices))
            message = f"{quoted(word.text)} is not a word that {quoted(key)} knows"
            return diagnostic("AS405", message, word.span, hints=(*hints, words))
        if "string" in types:
            message = f"{quoted(key)} needs a text in quotes, not {describe(word)}"
            return diagnostic("AS404", message, word.span, hints=hints or (f'write `"{word.text}"`',))
        if "boolean" in types:
            message = f"{quoted(key)} needs `true` or `false`, not {describe(word)}"
            meant = "true" if word.text.lower() in _YES else "false" if word.text.lower() in _NO else ""
            hints = (f"did you mean `{meant}`?",) if meant else did_you_mean(word.text, ("true", "false"))
            return diagnostic("AS404", message, word.span, hints=hints)
        if "array" in types:
            message = f"{quoted(key)} needs a list, not {describe(word)}"
            return diagnostic("AS404", message, word.span, hints=(f"write `[{word.text}]`",))
        return unknown_name(word, self._lets.names, hints)

    def _slip(self, word: str, key: str, choices: tuple[str, ...]) -> tuple[str, ...]:
        """The hint for a word that other tools have for a choice, or for none."""
        other = slip(word, f"{self.title}.{key}") or ("none" if word.lower() in _NO and "none" in choices else "")
        return () if not other else (f"did you mean `{other}`?",) if other in choices else (other,)

    def _wanted(self, entry: Schema, types: list[str]) -> str:
        if "x-ref" in entry:
            return f"the name of a {entry['x-ref']}"
        if "enum" in entry:
            return "one of " + ", ".join(f"`{choice}`" for choice in sorted(entry["enum"]))
        if "x-unit" in entry and entry["x-unit"] != "1":
            return units.describe(units.dimension(entry["x-unit"]))
        return " or ".join(_TYPES[name] for name in types)


_YES, _NO = ("on", "yes", "enabled", "always"), ("off", "no", "disabled", "never", "null", "nil", "false")
"""Words of other tools for `true` and for `false` or `none`."""

_TYPES = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "`true` or `false`",
    "string": "a text in quotes",
    "array": "a list in `[ ]`",
    "object": "a block",
}
