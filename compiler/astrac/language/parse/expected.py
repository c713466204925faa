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
    borrowed = _borrowed(tokens, position, accepted)
    if borrowed:
        return (borrowed,)
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


def _borrowed(tokens: Sequence[Token], position: int, accepted: Iterable[str]) -> str:
    """What stands here for a form of another language, with the line to write; "" for none."""

    def text(at: int) -> str:
        """The characters of the token so many places on; "" outside the line."""
        line = tokens[position].span.first.line
        place = position + at
        inside = 0 <= place < len(tokens) and tokens[place].span.first.line == line
        return tokens[place].span.text.strip() if inside else ""

    word, last, following = text(0), text(-1), text(1)
    match tokens[position].type:
        case "UNEXPECTED" | "MINUS" | "SLASH" | "STAR" if not last and word in (";", "-", "/", "*", "%"):
            return "comments begin with `#`"
        case "DOT" if following.isdigit() and not last.isdigit():
            return f"write `0.{following}`"
        case "DOT" if following == "." or last.endswith("."):
            low, high = last.rstrip("."), text(2) or following
            few = low.isdigit() and high.isdigit() and 0 < int(high) - int(low) < MOST_SHOWN
            values = ", ".join(map(str, range(int(low), int(high) + 1))) if few else "2, 4, 8"
            return f"there are no ranges: a sweep lists its values, `[{values}]`"
        case "NUMBER" if last == "," and text(-2).isdigit():
            given = [text(-2), word]
            while text(2 * len(given) - 3) == "," and text(2 * len(given) - 2).isdigit():
                given.append(text(2 * len(given) - 2))
            if text(-3) == ":" and all(len(value) == 3 for value in given[1:]):
                return f"thousands are grouped with `_`: write `{'_'.join(given)}`"
            return f"a list stands in brackets: write `[{', '.join(given)}]`"
        case "EQUAL" if text(2) == "(":
            return f"a block is written `{following} {last} {{ ... }}`"
        case "EQUAL" if "COMPARISON" in accepted:
            return "did you mean `==`?"
        case "COLON" if following == "{" and last:
            return f"no `:` before `{{`: write `{' '.join(filter(None, (text(-2), last)))} {{`"
        case "NEWLINE" if last == ":" and text(-2):
            return f"a block is written `{text(-2)} {{ ... }}`"
        case "STAR" if last == "*" and text(-2).isdigit() and following.isdigit() and len(text(-2) + following) <= 5:
            return f"there is no power: write `{int(text(-2)) ** min(int(following), MOST_POWER)}`"
        case "STAR" if last == "*":
            return "there is no power: write the number"
        case "UNEXPECTED" if word == "^":
            return "there is no power: write the number"
        case "MINUS" if last.isidentifier() and following.isidentifier():
            return f"names are letters, digits and `_`: write `{last}_{following}`"
        case "UNEXPECTED" if word.startswith("$"):
            name = next((part for part in (following, text(2)) if part.isidentifier()), word.strip("${}"))
            return f"a let is used by its bare name: write `{name}`"
        case "UNEXPECTED" if word == "?":
            return "there are no conditions in a value: use a profile for the other case"
        case "LPAR" if last.isidentifier():
            return "there are no functions: write the value"
        case "NAME" if "FROM" in accepted and following.isidentifier():
            return "did you mean `from`?"
    return ""


MOST_SHOWN, MOST_POWER = 12, 64
"""Values of a range that a hint writes out, and the highest exponent that it works out."""
