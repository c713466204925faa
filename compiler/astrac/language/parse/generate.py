"""Makes the parse tables of the grammar, with lark. Only for `astrac docs` and the tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lark import Lark
from lark.parsers.lalr_analysis import Shift

from astrac import resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lark import Token


class Unchanged:
    """A post-lexer that does nothing but keep the terminal that no rule has."""

    always_accept = ("UNEXPECTED",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Passes all tokens on unchanged."""
        return stream


def grammar(**options: Any) -> Lark:
    """Lark's own parser of the language."""
    text = resources.text("grammar", "astra.lark")
    return Lark(text, parser="lalr", lexer="basic", maybe_placeholders=False, postlex=Unchanged(), **options)


def generate() -> str:
    """The content that grammar/astra.tables.json should have."""
    lark = grammar()
    table = lark.parser.parser._parse_table  # noqa: SLF001 - the table is what lark is used for
    rules = {rule: number for number, rule in enumerate(lark.rules)}
    keywords = {term.pattern.value: term.name for term in lark.terminals if term.pattern.value.isalpha()}
    patterns = [term for term in lark.terminals if term.name not in keywords.values()]
    # The order in which lark's lexer tries them.
    patterns.sort(key=lambda term: (-term.priority, -term.pattern.max_width, -len(term.pattern.value), term.name))
    numbers = _numbered(table.states, table.start_states["start"])
    content = {
        "terminals": "|".join(f"(?P<{term.name}>{term.pattern.to_regexp()})" for term in patterns),
        "ignored": sorted(lark.ignore_tokens),
        "keywords": dict(sorted(keywords.items())),
        "states": [
            {
                symbol: numbers[argument] if action is Shift else -1 - rules[argument]
                for symbol, (action, argument) in sorted(table.states[state].items())
            }
            for state in numbers
        ],
        "rules": [_rule(rule) for rule in lark.rules],
        "start": numbers[table.start_states["start"]],
        "end": numbers[table.end_states["start"]],
    }
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_text(value)}" for name, value in content.items()) + "\n}\n"


def _numbered(states: dict[int, dict[str, tuple[Any, Any]]], start: int) -> dict[int, int]:
    """Lark's numbers of states depend on the order of sets; ours on the order in which they are met from the first."""
    numbers = {start: 0}
    for state in (queue := [start]):
        for _, (action, argument) in sorted(states[state].items()):
            if action is Shift and argument not in numbers:
                numbers[argument] = len(numbers)
                queue.append(argument)
    return numbers


def _text(value: Any) -> str:
    """One line an entry of a list, so that a change of the grammar can be seen in a diff."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
    return json.dumps(value)


def _rule(rule: Any) -> tuple[str, int, str]:
    name = str(rule.origin.name)
    if name.startswith("_"):
        method = ""
    elif rule.options.expand1 and not rule.alias:
        assert len(rule.expansion) == 1
        method = "?"
    else:
        method = rule.alias or name
    return name, len(rule.expansion), method
