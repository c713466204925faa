"""Texts of simulators' files: looked at, read as documents or as words that know where they stand, and written.

A document is read in bounded time and memory. Its values are what the simulators' readers make of the text: whole
numbers, decimal numbers, texts, and nothing that YAML readers disagree about.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import resources
from astrac.diagnostics import Diagnosed, Label, diagnostic
from astrac.positioned import Repeated, Tree, child, load_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from jinja2 import Template

    from astrac.source import Source, Span

# -- looked at without parsing: a file that is broken must still be known for what it is

_COMMENTS = re.compile(r"(?:\s|//[^\n]*|#[^\n]*)*")


def is_object(text: str) -> bool:
    """Whether a text is meant to be JSON: comments before the brace are what is wrong with it."""
    start = _COMMENTS.match(text)
    return start is not None and text[start.end() : start.end() + 1] == "{"


def document(text: str) -> dict[str, object] | None:
    """A JSON object, None when the text is broken."""
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError):
        return None


def has(*names: str, least: int = 1) -> Callable[[str, str], bool]:
    """Whether a JSON object has some of these keys at its top; of one that is broken, anywhere."""
    pattern = re.compile(rf'"({"|".join(names)})"\s*:')

    def belongs(text: str, _name: str) -> bool:
        if not is_object(text):
            return False
        value = document(text)
        found = set(pattern.findall(text)) if value is None else set(names).intersection(value)
        return len(found) >= least

    return belongs


# -- documents

MAX_YAML = 1 << 18
"""Characters: ruamel.yaml reads a megabyte in seconds, and a network has a handful of lines."""

MAX_DEPTH = 32

MAX_DIGITS = 40
"""Longer numbers are too large for everything that is read."""


def json_tree(source: Source) -> Tree:
    """A JSON text; raises AS720 where it is none, AS701 where it says two things or goes on after the value."""
    tree, findings = load_json(source)
    if tree is None:
        raise Diagnosed(findings[0])
    _say_one_thing(tree.repeated)
    if tree.rest is not None:
        raise Diagnosed(diagnostic("AS701", "what follows the value is not read", tree.rest))
    return tree


def _say_one_thing(repeated: Iterable[Repeated]) -> None:
    """Raises AS701 for the first key that stands twice with different values."""
    for key in repeated:
        if not key.equal:
            name = key.pointer.rpartition("/")[2]
            note = Label(key.first, "first here")
            raise Diagnosed(diagnostic("AS701", f"key `{name}` is there twice", key.last, note))


def yaml_tree(source: Source) -> Tree:
    """The first document of a YAML text, as yaml-cpp reads it; raises AS701 where it is none, or says two things."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only who reads a network.yml pays for it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    if len(source.text) > MAX_YAML:
        raise Diagnosed(diagnostic("AS700", f"the text has more than {MAX_YAML} characters", source.whole()))
    try:
        text = _TABS.sub(lambda blanks: " " * len(blanks[0]), source.text)
        return _Composer(source, YAML(typ="safe", pure=True).parse(text)).tree()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = source.whole() if mark is None else source.span(mark.index, mark.index + 1)
        raise Diagnosed(diagnostic("AS701", f"not YAML: {error.problem or error.context}", place)) from None
    except (YAMLError, ValueError, OverflowError) as error:  # characters that YAML does not allow
        words = str(error).partition("\n")[0]
        raise Diagnosed(diagnostic("AS701", f"not YAML: {words}", source.whole())) from None


_TABS = re.compile(r"(?<=\S)[ \t]+|^[ \t]+$", re.MULTILINE)
"""Blanks that indent nothing: yaml-cpp takes tabs there, and ruamel.yaml does not."""

MAX_LOOKED_AT = 1_000_000
"""Values that may be looked at for what aliases repeat."""


class _Composer:
    """Events of a YAML parser -> a tree; one per call of `yaml_tree`."""

    def __init__(self, source: Source, events: Iterator[Any]) -> None:
        self.source = source
        self.events = events
        self.values: dict[str, Span] = {"": source.whole()}
        self.keys: dict[str, Span] = {}
        self.repeated: list[Repeated] = []
        self.anchors: dict[str, tuple[Any, str]] = {}
        self.looked_at = 0

    def tree(self) -> Tree:
        """The value of the first document; a second one is the rest."""
        value: Any = None
        rest: Span | None = None
        documents = 0
        for event in self.events:
            if type(event).__name__ == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    rest = self.source.span(event.start_mark.index, len(self.source.text))
                    break
                value = self._value(next(self.events), "", 0)
        _say_one_thing(self.repeated)
        return Tree(value, self.values, self.keys, tuple(self.repeated), rest)

    def _value(self, event: Any, pointer: str, depth: int) -> Any:
        """One value, from its first event on."""
        if depth > MAX_DEPTH:
            raise self._refused("nested too deeply", event)
        if type(event).__name__ == "AliasEvent":
            return self._copy(event, pointer)
        start, last = event, event
        value: Any
        match type(event).__name__:
            case "ScalarEvent":
                plain = _plain(event.value)
                value = plain if event.style is None or isinstance(plain, int | float) else str(event.value)
            case "SequenceStartEvent":
                value = []
                while type(last := next(self.events)).__name__ != "SequenceEndEvent":
                    value.append(self._value(last, child(pointer, len(value)), depth + 1))
            case _:
                value = {}
                while type(last := next(self.events)).__name__ != "MappingEndEvent":
                    key = self._key(last)
                    inner = child(pointer, key)
                    first = self.keys.get(inner)
                    self.keys[inner] = self._span(last)
                    item = self._value(next(self.events), inner, depth + 1)
                    if first is not None:
                        self.repeated.append(Repeated(inner, first, self.keys[inner], item == value[key]))
                    value[key] = item
        end = max(start.end_mark.index, last.end_mark.index)
        self.values[pointer] = self.source.span(start.start_mark.index, end)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, pointer
        return value

    def _copy(self, event: Any, pointer: str) -> Any:
        """The value of an anchor; its parts stand where the alias does."""
        if event.anchor not in self.anchors:
            raise self._refused(f"`*{event.anchor}` names nothing before it", event)
        value, origin = self.anchors[event.anchor]
        inside = [known for known in self.values if known == origin or known.startswith(f"{origin}/")]
        self.looked_at += len(self.values)
        if self.looked_at > MAX_LOOKED_AT:
            raise self._refused("aliases make this text too long", event)
        for known in inside:
            self.values[pointer + known.removeprefix(origin)] = self._span(event)
            if known in self.keys and known != origin:
                self.keys[pointer + known.removeprefix(origin)] = self._span(event)
        return value

    def _key(self, event: Any) -> str:
        if type(event).__name__ != "ScalarEvent":
            raise self._refused("a key must be a word", event)
        return str(event.value)

    def _span(self, event: Any) -> Span:
        return self.source.span(event.start_mark.index, event.end_mark.index)

    def _refused(self, message: str, event: Any) -> Diagnosed:
        return Diagnosed(diagnostic("AS701", message, self._span(event)))


_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


def _plain(text: str) -> Any:
    """What a word without quotes says; `010` and `0x8` stay words, since readers disagree about them."""
    if len(text) <= MAX_DIGITS and _WHOLE.fullmatch(text):
        return int(text)
    if len(text) <= MAX_DIGITS and _DECIMAL.fullmatch(text):
        return float(text)
    return {"true": True, "false": False, "null": None, "~": None, "": None}.get(text, text)


# -- one stream of words, taken one after the other

WORD = re.compile(r"[^ \t\n\v\f\r]+")
"""What C++ streams take for a word; Python's `\\s` has more blanks (a no-break space is part of a word there)."""

_INTEGER = re.compile(r"[+-]?[0-9]+")


class Word(NamedTuple):
    """A word, its place, and its line, counted from 1."""

    text: str
    span: Span
    line: int

    @property
    def integer(self) -> int | None:
        """The number that it is, None when it is none: plain decimal digits with an optional sign."""
        if _INTEGER.fullmatch(self.text) is None:
            return None
        digits = self.text.lstrip("+-").lstrip("0")
        # A number out of every range stays out of range; its digits do not matter.
        return int(self.text) if len(digits) <= MAX_DIGITS else int(self.text[:1] + "9" * MAX_DIGITS)


class Words:
    """The words of a text, and how far they are taken.

    Attributes:
        source: the text.
        place: how many are taken.
    """

    def __init__(self, source: Source, form: re.Pattern[str] = WORD) -> None:
        self.source = source
        self.place = 0
        self._found = list(form.finditer(source.text))

    @property
    def left(self) -> int:
        """How many are not taken yet."""
        return len(self._found) - self.place

    def at(self, index: int) -> Word:
        """A word by its number, from 0; negative ones count from the end."""
        match = self._found[index]
        return Word(match[0], self.source.span(*match.span()), self.source.position(match.start()).line)

    def next(self) -> Word | None:
        """The next word, taken; None at the end."""
        word = self.peek()
        self.place += word is not None
        return word

    def peek(self) -> Word | None:
        """The next word, not taken; None at the end."""
        return self.at(self.place) if self.left else None

    def rest(self, start: int | None = None) -> list[Word]:
        """All that are not taken yet, or all from a number on."""
        return [self.at(index) for index in range(self.place if start is None else start, len(self._found))]

    def skip_line(self, line: int, stops: Collection[str] = ()) -> None:
        """Takes what is left of a line, up to one of some words."""
        while (word := self.peek()) is not None and word.line == line and word.text not in stops:
            self.place += 1

    @property
    def end(self) -> Span:
        """Just past the last word."""
        place = self._found[-1].end() if self._found else 0
        return self.source.span(place, place)


def by_line(words: list[Word]) -> list[list[Word]]:
    """The words of each line that has any."""
    return [list(line) for _, line in groupby(words, key=lambda word: word.line)]


# -- templates


def render(target: str, name: str, **values: object) -> str:
    """The text of `templates/<target>/<name>.j2`; a name that it uses and is not given is an error of ours."""
    return _template(target, name).render(values)


def decimal(value: float) -> str:
    """A double with exactly the digits that it needs to be read back the same, and no exponent.

    YAML 1.1 readers take `1e-05` for a string.
    """
    return f"{Decimal(repr(float(value))):f}"


@cache
def _template(target: str, name: str) -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only who writes pays for it

    environment = Environment(  # noqa: S701 - plain text, nothing to escape
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["decimal"] = decimal
    return environment.from_string(resources.text("templates", target, f"{name}.j2"))
