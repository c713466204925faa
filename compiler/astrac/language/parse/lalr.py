"""The LALR machine: reads the tables that `generate` makes of grammar/astra.lark.

Lark is a toolkit to find the tables with; importing it takes longer than all else that a check of a spec does, so the
few lines that run them stand here. A test compares the outcome with lark's own parser.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from astrac import resources
from astrac.language.parse.build import Builder, Token

if TYPE_CHECKING:
    from astrac.source import Source

END = "$END"

MAX_TOKENS = 300_000
"""Of a file. A spec has a few hundred; what is beyond this takes seconds and was made by a faulty program."""


@dataclass(frozen=True)
class Tables:
    """The content of grammar/astra.tables.json.

    Attributes:
        terminals: all of them, as alternatives with their names; one of them matches wherever there are characters.
        ignored: names of terminals that are no tokens.
        keywords: the terminal of each reserved word.
        states: for each state, by terminal or rule: the next state, or `-1 - n` for rule n to be reduced.
        rules: for each rule its name, how many symbols it has, and what becomes of them: a method of `Builder`, `?`
            for the only one itself, `` for a list that is taken apart again.
        start: the first state.
        end: the state after the whole file.
    """

    terminals: re.Pattern[str]
    ignored: frozenset[str]
    keywords: dict[str, str]
    states: list[dict[str, int]]
    rules: list[tuple[str, int, str]]
    start: int
    end: int


@cache
def tables() -> Tables:
    """The tables that are shipped in grammar/astra.tables.json."""
    data = json.loads(resources.text("grammar", "astra.tables.json"))
    terminals, ignored = re.compile(data.pop("terminals")), frozenset(data.pop("ignored"))
    return Tables(terminals=terminals, ignored=ignored, **data)


def scan(source: Source) -> list[Token]:
    """All tokens, the end of the file as the last one, just past the last of the others; no more than MAX_TOKENS + 2.

    Line breaks inside round brackets do not count and are left out; the innermost bracket decides.
    """
    table = tables()
    tokens: list[Token] = []
    brackets: list[str] = []
    for match in table.terminals.finditer(source.text):
        kind = match.lastgroup or ""
        if kind in table.ignored or (kind == "NEWLINE" and brackets[-1:] == ["LPAR"]):
            continue
        if kind in ("LPAR", "LSQB", "LBRACE"):
            brackets.append(kind)
        elif kind in ("RPAR", "RSQB", "RBRACE") and brackets:
            brackets.pop()
        elif kind == "NAME":
            kind = table.keywords.get(match[0], kind)
        tokens.append(Token(kind, source.span(*match.span())))
        if len(tokens) > MAX_TOKENS:
            break
    end = next((token.span.end for token in reversed(tokens) if token.type != "NEWLINE"), 0)
    return [*tokens, Token(END, source.span(end, end))]


class Machine:
    """A parse under way: the states passed through and what was built on the way.

    Attributes:
        states: one more than values; the last one is where the machine is.
        values: tokens and what `Builder` made of them.
    """

    def __init__(self) -> None:
        self.states = [tables().start]
        self.values: list[Any] = []
        self._builder = Builder()

    def feed(self, token: Token) -> bool:
        """Goes on by one token; False when it cannot stand here."""
        table = tables()
        while True:
            action = table.states[self.states[-1]].get(token.type)
            if action is None:
                return False
            if action >= 0:
                self.states.append(action)
                self.values.append(token)
                return True
            name, size, method = table.rules[-1 - action]
            children = self.values[len(self.values) - size :]
            del self.states[len(self.states) - size :], self.values[len(self.values) - size :]
            self.values.append(self._reduced(method, children))
            self.states.append(table.states[self.states[-1]][name])
            if token.type == END and self.states[-1] == table.end:
                return True

    def accepted(self) -> set[str]:
        """The terminals that can stand here."""
        return {name for name in tables().states[self.states[-1]] if name.isupper() and self._accepts(name)}

    def at_item(self) -> bool:
        """Whether an item can begin here."""
        return "LET" in tables().states[self.states[-1]]

    def _accepts(self, terminal: str) -> bool:
        table, states = tables(), self.states.copy()
        while True:
            action = table.states[states[-1]].get(terminal)
            if action is None or action >= 0:
                return action is not None
            name, size, _ = table.rules[-1 - action]
            del states[len(states) - size :]
            states.append(table.states[states[-1]][name])
            if states[-1] == table.end:
                return True

    def _reduced(self, method: str, children: list[Any]) -> Any:
        if method == "?":
            return children[0]
        # A list that grows item by item is one list, not a new one for each item.
        grows = not method and children and isinstance(children[0], list)
        flat: list[Any] = children.pop(0) if grows else []
        for child in children:
            flat += child if isinstance(child, list) else [child]
        return getattr(self._builder, method)(flat) if method else flat
