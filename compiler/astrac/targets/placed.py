"""Texts of JSON and YAML -> plain values that know where they stand, in bounded time and memory.

A value is what the simulators' readers make of the text: whole numbers, decimal numbers, texts, and nothing that YAML
readers disagree about.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from json import JSONDecoder
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac.diagnostics import Diagnosed, Label, diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Source, Span

Steps: TypeAlias = "tuple[str | int, ...]"
"""From the top of a document to a value in it: keys and indices."""

MAX_JSON = 16 << 20
MAX_YAML = 1 << 18
MAX_DEPTH = 32


@dataclass(frozen=True)
class Placed:
    """A document.

    Attributes:
        source: its text.
        value: dicts, lists, texts, numbers, truth values and None.
        find: the characters of a value, by the steps to it.
    """

    source: Source
    value: Any
    find: Callable[[Steps], tuple[int, int]]

    def at(self, *steps: str | int) -> Span:
        """Where a value stands."""
        return self.source.span(*self.find(steps))


# -- JSON


def read_json(source: Source) -> Placed:
    """A JSON text; AS701 where it is none, or says something twice."""
    if len(source.text) > MAX_JSON:
        raise Diagnosed(diagnostic("AS700", f"`{source.name}` is larger than {MAX_JSON >> 20} MiB"))
    try:
        value = json.loads(source.text, object_pairs_hook=_once, parse_constant=_no_constant)
        if "\\u" in source.text:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except json.JSONDecodeError as error:
        place = source.span(error.pos, error.pos + 1)
        raise Diagnosed(diagnostic("AS701", f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", place)) from None
    except _RepeatedKeyError as error:
        first, second = _places_of_key(source, error.key)
        raise Diagnosed(
            diagnostic("AS701", f"key `{error.key}` is there twice", second, Label(first, "first here"))
        ) from None
    except RecursionError:
        raise Diagnosed(diagnostic("AS701", "nested too deeply", source.whole())) from None
    except ValueError as error:  # NaN, Infinity, or a number of thousands of digits
        raise Diagnosed(diagnostic("AS701", f"not JSON: {error}", source.whole())) from None
    return Placed(source, value, partial(_find, source.text))


class _RepeatedKeyError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return values


def _no_constant(word: str) -> None:
    raise ValueError(f"`{word}` is not a number")


def _places_of_key(source: Source, key: str) -> tuple[Span, Span]:
    """The first two places where a text stands as a key."""
    pattern = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"(?=\s*:)")
    spans = [source.span(*match.span()) for match in pattern.finditer(source.text)]
    return (spans[0], spans[1]) if len(spans) > 1 else (source.whole(), source.whole())


_BLANKS = re.compile(r"[ \t\r\n]*")


def _find(text: str, steps: Steps) -> tuple[int, int]:
    """Where a value stands in a text that is known to be JSON; looked for when somebody asks."""
    decode = JSONDecoder().raw_decode
    at = _after_blanks(text, 0)
    for step in steps:
        is_object = text[at] == "{"
        at = _after_blanks(text, at + 1)
        key: str | int = 0
        while True:
            if is_object:
                key, at = decode(text, at)
                at = _after_blanks(text, _after_blanks(text, at) + 1)  # the colon
            if key == step:
                break
            at = _after_blanks(text, decode(text, at)[1])
            at = _after_blanks(text, at + 1)  # the comma
            key = key + 1 if isinstance(key, int) else key
    return at, decode(text, at)[1]


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


# -- YAML

_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_MAX_DIGITS = 40


def read_yaml(source: Source) -> Placed:
    """A YAML text of one document, without anchors and tags; AS701 where it is none, or says something twice."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only who reads a network.yml pays for it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    if len(source.text) > MAX_YAML:
        raise Diagnosed(diagnostic("AS700", f"`{source.name}` is larger than {MAX_YAML >> 10} KiB"))
    places: dict[Steps, tuple[int, int]] = {}
    try:
        events = YAML(typ="safe", pure=True).parse(source.text)
        value = _document(events, source, places)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = source.whole() if mark is None else source.span(mark.index, mark.index + 1)
        raise Diagnosed(diagnostic("AS701", f"not YAML: {error.problem or error.context}", place)) from None
    except (YAMLError, ValueError, OverflowError) as error:  # characters that YAML does not allow
        words = str(error).partition("\n")[0]
        raise Diagnosed(diagnostic("AS701", f"not YAML: {words}", source.whole())) from None
    return Placed(source, value, places.__getitem__)


def _document(events: Iterator[Any], source: Source, places: dict[Steps, tuple[int, int]]) -> Any:
    """The value that a stream of events describes."""
    value: Any = None
    documents = 0
    for event in events:
        match type(event).__name__:
            case "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise _refused("ASTRA-sim reads the first document only", event, source)
                value = _value(next(events), events, source, (), places)
            case _:
                continue
    if documents == 0:
        places[()] = (0, 0)
    return value


def _value(
    event: Any, events: Iterator[Any], source: Source, steps: Steps, places: dict[Steps, tuple[int, int]]
) -> Any:
    """One value, from its first event on."""
    if len(steps) > MAX_DEPTH:
        raise _refused("nested too deeply", event, source)
    if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
        raise _refused("anchors, aliases and tags are not for configuration files", event, source)
    start, end = event.start_mark.index, event.end_mark.index
    places[steps] = (start, end)
    value: Any
    match type(event).__name__:
        case "ScalarEvent":
            return _plain(event.value) if event.style is None else str(event.value)
        case "SequenceStartEvent":
            value = []
            while type(event := next(events)).__name__ != "SequenceEndEvent":
                value.append(_value(event, events, source, (*steps, len(value)), places))
        case _:
            value = {}
            while type(event := next(events)).__name__ != "MappingEndEvent":
                key = str(getattr(event, "value", ""))
                if type(event).__name__ != "ScalarEvent":
                    raise _refused("a key must be a word", event, source)
                if key in value:
                    raise _refused(f"key `{key}` is there twice", event, source)
                value[key] = _value(next(events), events, source, (*steps, key), places)
    places[steps] = (start, max(end, event.end_mark.index))
    return value


def _plain(text: str) -> Any:
    """What a word without quotes says; `010` and `0x8` stay words, since readers disagree about them."""
    if len(text) <= _MAX_DIGITS and _WHOLE.fullmatch(text):
        return int(text)
    if len(text) <= _MAX_DIGITS and _DECIMAL.fullmatch(text) and not re.match(r"[-+]?0\d", text):
        return float(text)
    return {"true": True, "false": False, "null": None, "~": None, "": None}.get(text, text)


def _refused(message: str, event: Any, source: Source) -> Diagnosed:
    place = source.span(event.start_mark.index, event.end_mark.index)
    return Diagnosed(diagnostic("AS701", message, place))
