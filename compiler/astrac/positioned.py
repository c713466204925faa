"""JSON with positions: every key and value knows where it stands.

Python's own reader keeps no positions. This one is strict (RFC 8259), reads one value and says what follows it, keeps
both places of a key that is written twice, and is bounded: by the size of the text, the depth, the length of numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from math import isinf
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac.diagnostics import Diagnosed, Label, Result, diagnostic

if TYPE_CHECKING:
    from astrac.source import Source, Span

MAX_TEXT = 16 * 2**20
"""Characters of a text."""

MAX_DEPTH = 100
"""Lists and objects inside each other."""

MAX_DIGITS = 400
"""Characters of a number."""

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRINGS = JSONDecoder()
_WORD = re.compile(r"[A-Za-z0-9_.+-]+")

Value: TypeAlias = Any
"""dict, list, str, int, float, bool or None."""


@dataclass(frozen=True)
class Repeated:
    """A key that stands twice in an object; the last value counts.

    Attributes:
        pointer: of the key.
        first, last: where it stands.
        equal: whether both values are the same.
    """

    pointer: str
    first: Span
    last: Span
    equal: bool


@dataclass(frozen=True)
class Tree:
    """A JSON value and where its parts stand, by JSON pointer (`/units-count/0`; `~` and `/` in keys as `~0` and `~1`).

    Attributes:
        value: the plain value; whole numbers are `int`, those with a fraction or an exponent `float`.
        values: pointer -> the value's span; the pointer of the whole is "".
        keys: pointer -> the span of the key, quotes included.
        repeated: keys that stand twice, in order.
        rest: what follows the value, None when it is blank.
    """

    value: Value
    values: dict[str, Span] = field(repr=False)
    keys: dict[str, Span] = field(repr=False)
    repeated: tuple[Repeated, ...] = ()
    rest: Span | None = None

    def at(self, pointer: str) -> Span:
        """Where the value stands; an unknown pointer raises KeyError."""
        return self.values[pointer]

    def key(self, pointer: str) -> Span:
        """Where the key stands; an unknown pointer, or one of a list's item, raises KeyError."""
        return self.keys[pointer]


def child(pointer: str, step: str | int) -> str:
    """The pointer of an item or a key of `pointer`."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"


def load_json(source: Source) -> Result[Tree]:
    """The value that the text starts with, or one AS720 at the first character that is not JSON."""
    try:
        return Result(_Reader(source).read())
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))


class _Reader:
    """Recursive descent over the text; one per call of `load_json`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.place = 0
        self.open: list[int] = []
        self.values: dict[str, Span] = {}
        self.keys: dict[str, Span] = {}
        self.repeated: list[Repeated] = []

    def read(self) -> Tree:
        """The value that the text starts with; raises Diagnosed (AS720) at the first character that is not JSON."""
        if len(self.text) > MAX_TEXT:
            raise Diagnosed(diagnostic("AS720", f"the text has more than {MAX_TEXT} characters", self.source.whole()))
        value = self._value("")
        self._skip_blanks()
        rest = self.source.span(self.place, len(self.text)) if self.place < len(self.text) else None
        return Tree(value, self.values, self.keys, tuple(self.repeated), rest)

    def _value(self, pointer: str) -> Value:
        self._skip_blanks()
        start = self.place
        character = self.text[start : start + 1]
        if character in {"{", "["}:
            value = self._nested(pointer, character)
        elif character == '"':
            value = self._string()
        elif character in set("-0123456789"):
            value = self._number()
        else:
            value = self._literal()
        self.values[pointer] = self.source.span(start, self.place)
        return value

    def _nested(self, pointer: str, bracket: str) -> Value:
        if len(self.open) == MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} lists and objects inside each other", self.place, self.place + 1)
        self.open.append(self.place)
        self.place += 1
        value = self._object(pointer) if bracket == "{" else self._list(pointer)
        self.open.pop()
        return value

    def _object(self, pointer: str) -> dict[str, Value]:
        result: dict[str, Value] = {}
        while self._more(result, "}"):
            self._skip_blanks()
            start = self.place
            if self.text[start : start + 1] != '"':
                raise self._unexpected("a key in double quotes")
            name = self._string()
            inner = child(pointer, name)
            span = self.source.span(start, self.place)
            first = self.keys.get(inner)
            self.keys[inner] = span
            self._skip_blanks()
            if self.text[self.place : self.place + 1] != ":":
                raise self._unexpected("`:` after the key")
            self.place += 1
            value = self._value(inner)
            if first is not None:
                self.repeated.append(Repeated(inner, first, span, value == result[name]))
            result[name] = value
        return result

    def _list(self, pointer: str) -> list[Value]:
        result: list[Value] = []
        while self._more(result, "]"):
            result.append(self._value(child(pointer, len(result))))
        return result

    def _more(self, before: dict[str, Value] | list[Value], bracket: str) -> bool:
        """Whether another item follows; passes the comma before it, or the closing bracket."""
        self._skip_blanks()
        found = self.text[self.place : self.place + 1]
        if found == bracket:
            self.place += 1
            return False
        if not before:
            return True
        if found != ",":
            raise self._unexpected(f"`,` or `{bracket}`")
        comma = self.place
        self.place += 1
        self._skip_blanks()
        if self.text[self.place : self.place + 1] == bracket:
            raise self._wrong("a comma before the closing bracket", comma, comma + 1)
        return True

    def _string(self) -> str:
        start = self.place
        try:
            value, self.place = _STRINGS.raw_decode(self.text, start)
        except JSONDecodeError as error:
            message = error.msg[:1].lower() + error.msg[1:]
            raise self._wrong(message.removesuffix(" at").removesuffix(" starting"), error.pos, error.pos + 1) from None
        if _SURROGATE.search(value):
            raise self._wrong("half of a surrogate pair", start, self.place)
        return str(value)

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.place)
        word = _WORD.match(self.text, self.place)
        end = word.end() if word else self.place + 1
        if match is None or match.end() != end:
            raise self._wrong("not a number of JSON", self.place, end)
        if end - self.place > MAX_DIGITS:
            raise self._wrong(f"a number of more than {MAX_DIGITS} characters", self.place, end)
        if isinf(float(match[0])):
            raise self._wrong("a number too large for a double", self.place, end)
        value = float(match[0]) if match[1] or match[2] else int(match[0])
        self.place = end
        return value

    def _literal(self) -> bool | None:
        word = _WORD.match(self.text, self.place)
        if word is None or word[0] not in _LITERALS:
            raise self._unexpected("a value")
        self.place = word.end()
        return _LITERALS[word[0]]

    def _skip_blanks(self) -> None:
        if self.text[self.place : self.place + 1].isspace():
            blanks = _BLANK.match(self.text, self.place)
            self.place = blanks.end() if blanks else self.place

    def _unexpected(self, wanted: str) -> Diagnosed:
        """What stands where something else should."""
        if self.place >= len(self.text):
            notes = [Label(self.source.span(start, start + 1), "opened here") for start in self.open[-1:]]
            end = self.source.span(len(self.text), len(self.text))
            return Diagnosed(diagnostic("AS720", f"the text ends where {wanted} should stand", end, *notes))
        word = _WORD.match(self.text, self.place)
        end_of_word = word.end() if word else self.place + 1
        return self._wrong(f"{wanted} should stand here", self.place, end_of_word)

    def _wrong(self, message: str, start: int, end: int) -> Diagnosed:
        return Diagnosed(diagnostic("AS720", f"not JSON: {message}", self.source.span(start, end)))
