"""Lark with the tables of grammar/astra.lark, which are shipped so that no run has to compute them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import lark
from lark import Lark

from astrac import resources
from astrac.parse.build import Builder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Layout:
    """Lark's post-lexer: drops line breaks inside round brackets, where they do not count."""

    always_accept = ("UNEXPECTED",)

    def process(self, stream: Iterator[lark.Token]) -> Iterator[lark.Token]:
        """The tokens without those line breaks; the innermost bracket decides."""
        brackets: list[str] = []
        for token in stream:
            if token.type in ("LPAR", "LSQB", "LBRACE"):
                brackets.append(token.type)
            elif token.type in ("RPAR", "RSQB", "RBRACE") and brackets:
                brackets.pop()
            if token.type != "NEWLINE" or brackets[-1:] != ["LPAR"]:
                yield token


@cache
def engine() -> Lark:
    """The parser, from the shipped tables where this version of lark wrote them, from the grammar otherwise."""
    shipped = json.loads(resources.text("grammar", "astra.tables.json"), object_hook=_whole_keys)
    if shipped["lark"] != lark.__version__:
        return _from_grammar(Builder())
    # What lark's own generated parsers call: the public `load` takes a pickle only.
    load: Callable[..., Lark] = Lark._load_from_dict  # noqa: SLF001
    return load(shipped["data"], shipped["memo"], transformer=Builder(), postlex=Layout())


def tables() -> str:
    """The content that grammar/astra.tables.json should have."""
    from lark.grammar import Rule  # noqa: PLC0415 - only when the tables are made anew
    from lark.lexer import TerminalDef  # noqa: PLC0415

    data, memo = _from_grammar(None).memo_serialize([TerminalDef, Rule])
    unwanted = {"transformer", "postlex", "lexer_callbacks", "edit_terminals", "strict"}
    data["options"] = {name: value for name, value in data["options"].items() if name not in unwanted}
    return json.dumps({"lark": lark.__version__, "data": data, "memo": memo}, separators=(",", ":")) + "\n"


def _from_grammar(transformer: Builder | None) -> Lark:
    return Lark(
        resources.text("grammar", "astra.lark"),
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        postlex=Layout(),
        transformer=transformer,
    )


def _whole_keys(table: dict[str, Any]) -> dict[Any, Any]:
    """JSON knows only texts as keys; lark's tables have numbers."""
    return {int(key) if key.isdigit() else key: value for key, value in table.items()}
