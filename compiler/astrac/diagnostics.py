"""Errors are values: what a pass has to say about its input, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from astrac.codes import CODES, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from astrac.source import Span

T = TypeVar("T")

MAX_FINDINGS = 1000
"""Of one pass over one file: beyond it the file is something else, and nobody reads on."""


@dataclass(frozen=True)
class Label:
    """A place and what is to be said of it; the text may be empty when the message says it all."""

    span: Span
    text: str = ""


class Setting(NamedTuple):
    """What mends a spec: a text to write in a block, which is named by its JSON pointer."""

    block: str
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: a key of `codes.CODES`, such as `AS301`; its severity stands there.
        message: one line, lower case, without a full stop; names and values in backquotes.
        labels: places; the first is the primary one, the others explain ("first defined here").
        hints: what to do, a line each ("did you mean `GB/s`?").
        settings: what to write in a spec, where there is one; they become a hint when it is known whose the blocks are.
    """

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    hints: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def severity(self) -> Severity:
        """How bad the finding is, which depends on its code alone, as SARIF wants it."""
        return CODES[self.code].severity

    @property
    def is_error(self) -> bool:
        """Whether it stops the compilation."""
        return self.severity is Severity.ERROR


def diagnostic(
    code: str,
    message: str,
    span: Span | None = None,
    *notes: Label,
    hints: Iterable[str] = (),
    settings: Iterable[Setting] = (),
) -> Diagnostic:
    """A diagnostic with one primary place and any number of further ones."""
    primary = () if span is None else (Label(span),)
    return Diagnostic(code, message, primary + notes, tuple(hints), tuple(settings))


class Diagnosed(Exception):  # noqa: N818 - not an error of the program
    """Carries one diagnostic out of a deep place of a pass to the loop that collects; never leaves a pass."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.diagnostic = finding


class Result(NamedTuple, Generic[T]):
    """What a pass returns: a value, absent when errors made it meaningless, and all that it found."""

    value: T | None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is a value and nothing found is an error."""
        return self.value is not None and not has_errors(self.diagnostics)


def quoted(text: str) -> str:
    """Puts a text in backquotes for a message: one line, at most 60 characters, nothing that a terminal would obey."""
    return f"`{printable(text if len(text) <= 60 else text[:57] + '...')}`"


def printable(text: str) -> str:
    """Escapes the characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def has_errors(findings: Iterable[Diagnostic]) -> bool:
    """Whether any finding is an error."""
    return any(finding.is_error for finding in findings)
