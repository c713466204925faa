"""Texts of JSON and YAML -> values that know where they stand, in bounded time and memory.

A value is what the simulators' readers make of the text: whole numbers, decimal numbers, texts, and nothing that YAML
readers disagree about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Label, diagnostic
from astrac.positioned import Tree, child, load_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.source import Source, Span

MAX_YAML = 1 << 18
"""Characters: ruamel.yaml reads a megabyte in seconds, and a network has a handful of lines."""

MAX_DEPTH = 32


def json_tree(source: Source) -> Tree:
    """A JSON text; raises AS720 where it is none, AS701 where it says something twice or goes on after the value."""
    tree, findings = load_json(source)
    if tree is None:
        raise Diagnosed(findings[0])
    for key in tree.repeated:
        name = key.pointer.rpartition("/")[2]
        raise Diagnosed(diagnostic("AS701", f"key `{name}` is there twice", key.last, Label(key.first, "first here")))
    if tree.rest is not None:
        raise Diagnosed(diagnostic("AS701", "what follows the value is not read", tree.rest))
    return tree


def yaml_tree(source: Source) -> Tree:
    """A YAML text of one document, without anchors and tags; raises AS701 where it is none, or says something twice."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only who reads a network.yml pays for it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    if len(source.text) > MAX_YAML:
        raise Diagnosed(diagnostic("AS700", f"the text has more than {MAX_YAML} characters", source.whole()))
    try:
        return _Composer(source, YAML(typ="safe", pure=True).parse(source.text)).tree()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = source.whole() if mark is None else source.span(mark.index, mark.index + 1)
        raise Diagnosed(diagnostic("AS701", f"not YAML: {error.problem or error.context}", place)) from None
    except (YAMLError, ValueError, OverflowError) as error:  # characters that YAML does not allow
        words = str(error).partition("\n")[0]
        raise Diagnosed(diagnostic("AS701", f"not YAML: {words}", source.whole())) from None


class _Composer:
    """Events of a YAML parser -> a tree; one per call of `yaml_tree`."""

    def __init__(self, source: Source, events: Iterator[Any]) -> None:
        self.source = source
        self.events = events
        self.values: dict[str, Span] = {"": source.whole()}
        self.keys: dict[str, Span] = {}

    def tree(self) -> Tree:
        """The value of the only document; raises Diagnosed (AS701) where there is a second one."""
        value: Any = None
        documents = 0
        for event in self.events:
            if type(event).__name__ == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._refused("ASTRA-sim reads the first document only", event)
                value = self._value(next(self.events), "", 0)
        return Tree(value, self.values, self.keys)

    def _value(self, event: Any, pointer: str, depth: int) -> Any:
        """One value, from its first event on."""
        if depth > MAX_DEPTH:
            raise self._refused("nested too deeply", event)
        if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
            raise self._refused("anchors, aliases and tags are not for configuration files", event)
        start, last = event, event
        value: Any
        match type(event).__name__:
            case "ScalarEvent":
                value = _plain(event.value) if event.style is None else str(event.value)
            case "SequenceStartEvent":
                value = []
                while type(last := next(self.events)).__name__ != "SequenceEndEvent":
                    value.append(self._value(last, child(pointer, len(value)), depth + 1))
            case _:
                value = {}
                while type(last := next(self.events)).__name__ != "MappingEndEvent":
                    key = self._key(last, pointer)
                    value[key] = self._value(next(self.events), child(pointer, key), depth + 1)
        end = max(start.end_mark.index, last.end_mark.index)
        self.values[pointer] = self.source.span(start.start_mark.index, end)
        return value

    def _key(self, event: Any, pointer: str) -> str:
        if type(event).__name__ != "ScalarEvent":
            raise self._refused("a key must be a word", event)
        inner = child(pointer, event.value)
        if inner in self.keys:
            span = self._span(event)
            raise Diagnosed(
                diagnostic("AS701", f"key `{event.value}` is there twice", span, Label(self.keys[inner], "first here"))
            )
        self.keys[inner] = self._span(event)
        return str(event.value)

    def _span(self, event: Any) -> Span:
        return self.source.span(event.start_mark.index, event.end_mark.index)

    def _refused(self, message: str, event: Any) -> Diagnosed:
        return Diagnosed(diagnostic("AS701", message, self._span(event)))


_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_MAX_DIGITS = 40


def _plain(text: str) -> Any:
    """What a word without quotes says; `010` and `0x8` stay words, since readers disagree about them."""
    if len(text) <= _MAX_DIGITS and _WHOLE.fullmatch(text):
        return int(text)
    if len(text) <= _MAX_DIGITS and _DECIMAL.fullmatch(text):
        return float(text)
    return {"true": True, "false": False, "null": None, "~": None, "": None}.get(text, text)
