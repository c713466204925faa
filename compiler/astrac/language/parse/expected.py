"""Tokens in the words of a user: what was found, what may stand there, and what was probably meant.

No name of a terminal ever reaches a message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.diagnostics import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.language.parse.build import Token

KEYWORDS = ("USE", "LET", "FROM", "ASSERT", "PROFILE", "SWEEP", "TRUE", "FALSE", "AND", "OR", "NOT")

_SYMBOLS = {
    "COLON": "`:`", "EQUAL": "`=`", "COMMA": "`,`", "DOT": "`.`", "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`",
    "RSQB": "`]`", "LBRACE": "`{`", "RBRACE": "`}`", "FROM": "`from`",
    "STRING": "a text in quotes", "NAME": "a name", "NUMBER": "a number", "NEWLINE": "a line break",
}  # fmt: skip

_GROUPS = (
    ({"LET", "USE", "ASSERT", "PROFILE", "SWEEP", "NAME", "STRING"}, "a key or a block"),
    ({"NUMBER", "STRING", "TRUE", "FALSE", "NAME", "LSQB", "LPAR", "MINUS", "NOT"}, "a value"),
    ({"NUMBER", "STRING", "TRUE", "FALSE", "NAME", "LSQB", "LPAR", "MINUS"}, "a value"),
    ({"NUMBER", "STRING", "TRUE", "FALSE", "NAME", "LSQB", "LPAR"}, "a value"),
    ({"PLUS", "MINUS", "STAR", "SLASH", "COMPARISON", "AND", "OR"}, "an operator"),
    ({"PLUS", "MINUS", "STAR", "SLASH", "AND", "OR"}, "an operator"),
)

_HINTS: tuple[tuple[str, str], ...] = (
    (r"'.*", 'texts stand in double quotes: `"..."`'),
    ("[\u2018-\u201f\u00ab\u00bb]", 'texts stand in double quotes: `"..."`'),
    (r";", "items end at a line break or a comma"),
    (r"&", "write `and`"),
    (r"\|", "write `or`"),
    (r"!", "write `not`"),
    (r"[$@?\\^`~]", "names are letters, digits and `_`"),
    (r"//?|\*", "comments begin with `#`"),
)


def found(token: Token) -> str:
    """The token as a message names it."""
    text = token.span.text
    if token.type == "$END":
        return "end of the file"
    if token.type == "NEWLINE":
        return "end of the line"
    if token.type in KEYWORDS:
        return f"word of the language `{text}`"
    if token.type == "UNEXPECTED" and (not text.isprintable() or text.isspace()):
        return f"invisible character U+{ord(text[0]):04X}"
    return quoted(text)


def choices(accepted: Iterable[str]) -> str:
    """What could have stood there: `a value, `]` or a line break`, sorted, the same on every run."""
    left = set(accepted)
    words = []
    for members, word in _GROUPS:
        if members <= left:
            left -= members
            words.append(word)
    words = sorted(words) + sorted(_SYMBOLS[name] for name in left if name in _SYMBOLS)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def hints(tokens: Sequence[Token], position: int, accepted: Iterable[str]) -> tuple[str, ...]:
    """What was probably meant, for the slips that people make when they come from another language."""
    token, text = tokens[position], tokens[position].span.text
    before = tokens[position - 1] if position else None
    if token.type in KEYWORDS and "NAME" in accepted:
        return (f"`{text}` cannot be a name",)
    if token.type == "COLON" and before is not None and before.type in KEYWORDS:
        return (f"`{before.span.text}` is a word of the language and cannot be a key",)
    if token.type == "LBRACE" and before is not None and before.type == "NEWLINE":
        return ("`{` stands on the same line as the block's name",)
    if token.type == "EQUAL" and "COLON" in accepted:
        return ("a key is followed by `:`",)
    if token.type == "COLON" and "EQUAL" in accepted:
        return ("a `let` is followed by `=`",)
    if before is not None and before.type == "NUMBER" and token.type in ("COLON", "NAME", "LBRACE", "DOT"):
        return (f"is a comma missing in {quoted(before.span.text)}?",)
    if token.type in ("NAME", "STRING") and before is not None and before.type in ("RBRACE", "NUMBER", "STRING"):
        return ("a comma or a line break stands between two items",)
    if token.type == "COMPARISON" and "COMPARISON" not in accepted:
        return ("comparisons cannot be chained: join them with `and`",)
    if token.type in ("UNEXPECTED", "SLASH", "STAR"):
        return next(((hint,) for pattern, hint in _HINTS if re.fullmatch(pattern, text)), ())
    return ()
