"""What is wrong with a spec, before it has a place in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.diagnostics import Diagnostic, Setting
    from astrac.source import Span


def written(at: Callable[[str], Span], *pointers: str) -> Span:
    """The place of the first of some values that stands in the spec; of the last one's block where none does."""
    parents = ((pointer, pointer.rpartition("/")[0]) for pointer in pointers)
    return at(next((pointer for pointer, parent in parents if at(pointer) != at(parent)), pointers[-1]))


@dataclass(frozen=True)
class Finding:
    """A diagnostic that names its places by JSON pointers into the Document.

    Attributes:
        code: as in `diagnostics.Diagnostic`.
        pointer: of the value at fault.
        message: what is wrong.
        hint: what to do, "" for nothing.
        beside: a further pointer and what is to be said of it.
        settings: what to write in the spec.
    """

    code: str
    pointer: str
    message: str
    hint: str = ""
    beside: tuple[str, str] | None = None
    settings: tuple[Setting, ...] = ()

    def placed(self, at: Callable[[str], Span]) -> Diagnostic:
        """The diagnostic; `at` gives the place of a pointer, or of the nearest block around it."""
        notes = () if self.beside is None else (Label(at(self.beside[0]), self.beside[1]),)
        hints = (self.hint,) if self.hint else ()
        return diagnostic(self.code, self.message, at(self.pointer), *notes, hints=hints, settings=self.settings)
