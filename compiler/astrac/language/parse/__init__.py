"""Bytes -> `syntax.File`.

All syntax errors of a file come out of one run. An item that does not parse becomes a `Broken` one and reading goes on
behind it, so one slip gives one message. Where brackets do not match there is no telling what is an item: then there
is no File.
"""

from __future__ import annotations

import codecs
import re

from astrac.diagnostics import MAX_FINDINGS, Diagnostic, Label, Result, diagnostic, quoted
from astrac.language import syntax
from astrac.language.parse.build import Token
from astrac.language.parse.expected import choices, found, hints
from astrac.language.parse.lalr import MAX_TOKENS, Machine, scan
from astrac.source import Source

__all__ = ["parse"]

MAX_DEPTH = 32
"""How deep brackets may nest. Real specs need five; what walks the tree afterwards can then be recursive."""

_CLOSING = {"LBRACE": "RBRACE", "LSQB": "RSQB", "LPAR": "RPAR"}
_BRACES = {"RBRACE": 1, "LBRACE": -1}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def parse(name: str, data: bytes) -> Result[syntax.File]:
    """The file with that name (only ever shown) and content, and its syntax errors (AS1xx).

    There is a File, with the broken items marked, unless the bytes are no text or the brackets do not match.
    """
    source = _decode(name, data)
    if isinstance(source, Diagnostic):
        return Result(None, (source,))
    tokens = scan(source)
    if len(tokens) > MAX_TOKENS:
        message = f"more than {MAX_TOKENS:,} words and signs"
        return Result(None, (diagnostic("AS109", message, tokens[-1].span),))
    if all(token.type in ("NEWLINE", "$END") for token in tokens):
        return Result(None, (diagnostic("AS103", "the spec is empty", source.whole()),))
    mismatch = _match_brackets(tokens)
    if mismatch is None:
        return _Parse(source, tokens).result()
    # A text that is not closed swallows brackets: then it alone is the mistake.
    texts = tuple(_unclosed_text(token) for token in tokens if _is_unclosed_text(token))
    return Result(None, texts or (mismatch,))


def _decode(name: str, data: bytes) -> Source | Diagnostic:
    if data.startswith(_UTF_16) or b"\0" in data[:4]:
        hint = "save it as UTF-8"
        return diagnostic("AS102", "the file is UTF-16 or binary, not UTF-8", Source(name).whole(), hints=(hint,))
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} on line {line}"
        return diagnostic("AS102", message, Source(name).whole(), hints=("save it as UTF-8",))


def _match_brackets(tokens: list[Token]) -> Diagnostic | None:
    """Fills in every token's depth and level; or says which brackets do not match."""
    opened: list[Token] = []
    levels = [0]
    for token in tokens:
        token.level = levels[-1]
        if token.type in _CLOSING.values():
            if not opened:
                return diagnostic("AS105", f"nothing is open for {found(token)} to close", token.span)
            opening = opened.pop()
            if _CLOSING[opening.type] != token.type:
                message = f"`{opening.span.text}` is closed by {found(token)}"
                return diagnostic("AS105", message, token.span, Label(opening.span, "opened here"))
            if opening.type == "LBRACE":
                levels.pop()
        token.depth = len(opened)
        if token.type in _CLOSING:
            opened.append(token)
        if token.type == "LBRACE":
            levels.append(len(opened))
        if len(opened) > MAX_DEPTH:
            return diagnostic("AS106", f"brackets are nested deeper than {MAX_DEPTH}", token.span)
    return _unclosed(tokens, opened[-1]) if opened else None


def _unclosed(tokens: list[Token], opening: Token) -> Diagnostic:
    words: list[str] = []
    for token in reversed(tokens[: tokens.index(opening)]):
        if token.type not in ("NAME", "STRING", "FROM", "PROFILE", "SWEEP"):
            break
        words.insert(0, token.span.text)
    inside = f"block {quoted(' '.join(words))}" if opening.type == "LBRACE" else f"`{opening.span.text}`"
    return diagnostic("AS104", f"the file ends inside {inside}", tokens[-1].span, Label(opening.span, "never closed"))


def _is_unclosed_text(token: Token) -> bool:
    return token.type == "UNEXPECTED" and token.span.text.startswith('"')


def _unclosed_text(token: Token) -> Diagnostic:
    escape = re.search(r'\\[^"\\]', token.span.text)
    if escape:
        hint = 'the only escapes in a text are `\\"` and `\\\\`'
        span = token.span.source.span(token.span.start + escape.start(), token.span.start + escape.end())
        return diagnostic("AS107", f"{quoted(escape[0])} means nothing in a text", span, hints=(hint,))
    hint = "a text ends on the line where it begins"
    return diagnostic("AS107", "this text is not closed", token.span, hints=(hint,))


class _Parse:
    """One parse: the tokens, and what was found wrong so far."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._errors: list[Diagnostic] = []
        self._accepted: dict[tuple[int, ...], set[str]] = {}

    def result(self) -> Result[syntax.File]:
        machine = Machine()
        position = 0
        while position < len(self._tokens):
            if len(self._errors) >= MAX_FINDINGS:
                message = f"after {MAX_FINDINGS:,} mistakes the rest is not looked at"
                return Result(None, (*self._errors, diagnostic("AS108", message, self._tokens[position].span)))
            position = position + 1 if machine.feed(self._tokens[position]) else self._recover(machine, position)
        return Result(syntax.File(self._source, machine.values[0]), tuple(self._errors))

    def _recover(self, machine: Machine, position: int) -> int:
        """Reports the token, puts a broken item in place of the one it stands in, returns where to go on."""
        self._report(machine, position)
        token = self._tokens[position]
        after = position
        while not _ends_item(self._tokens[after], token.level) or self._brace_follows(after):
            after += 1
        while after > position and self._number_follows(after) and self._tokens[position - 1].type == "COMMA":
            after += 2  # the rest of a list without brackets
        start, closed = token.span, 0
        while closed or not machine.at_item():
            machine.states.pop()
            value = machine.values.pop()
            start = getattr(value, "span", start)
            # A block before the token that is complete, but not yet taken for one, goes as a whole.
            closed += _BRACES.get(getattr(value, "type", ""), 0)
        end = self._tokens[after - 1].span if after > position else start
        machine.feed(Token("BROKEN", start.to(end)))
        return after

    def _brace_follows(self, position: int) -> bool:
        """Whether a line break is followed by a block's brace, which then belongs to the broken item."""
        return self._tokens[position].type == "NEWLINE" and self._tokens[position + 1].type == "LBRACE"

    def _number_follows(self, position: int) -> bool:
        return [token.type for token in self._tokens[position : position + 2]] == ["COMMA", "NUMBER"]

    def _report(self, machine: Machine, position: int) -> None:
        state = tuple(machine.states)
        if state not in self._accepted:
            self._accepted[state] = machine.accepted() - {"BROKEN"}
        accepted, token = self._accepted[state], self._tokens[position]
        if _is_unclosed_text(token):
            self._errors.append(_unclosed_text(token))
            return
        span = self._source.span(token.span.start, token.span.start) if token.type == "NEWLINE" else token.span
        message = f"unexpected {found(token)}: expected {choices(accepted)}"
        self._errors.append(diagnostic("AS101", message, span, hints=hints(self._tokens, position, accepted)))


def _ends_item(token: Token, level: int) -> bool:
    if token.type == "RBRACE":
        return token.depth == level - 1
    return token.depth == level and token.type in ("COMMA", "NEWLINE", "$END")
