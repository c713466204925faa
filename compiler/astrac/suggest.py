"""`did you mean`: one function, used everywhere."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str], at_least: float = 0.6) -> str | None:
    """The choice most like a word, case and dashes ignored; None when none is like it, of equals the first sorted."""
    if len(word) > 100:
        return None
    matcher = SequenceMatcher(None, b=_folded(word), autojunk=False)
    best, found = at_least, None
    for choice in sorted(set(choices)):
        matcher.set_seq1(_folded(choice))
        # The two quick ones are upper bounds.
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best:
            ratio = matcher.ratio()
            if ratio > best or (found is None and ratio >= best):
                best, found = ratio, choice
    return found


def did_you_mean(word: str, choices: Iterable[str]) -> tuple[str, ...]:
    """The hint as a tuple of none or one: ready to be a diagnostic's `hints`."""
    found = nearest(word, choices)
    return () if found is None else (f"did you mean `{found}`?",)


def listed(choices: Iterable[str]) -> tuple[str, ...]:
    """The hint that names all choices, in the order that they have; none where there are none."""
    words = ", ".join(f"`{choice}`" for choice in choices)
    return (f"there are {words}",) if words else ()


def mean_or_list(word: str, choices: Iterable[str]) -> tuple[str, ...]:
    """The nearest choice, or, when none is like the word, the first of all."""
    known = sorted(set(choices))
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return did_you_mean(word, known) or tuple(hint + more for hint in listed(known[:LISTED]))


LISTED = 12
"""Choices that a message names."""


def _folded(text: str) -> str:
    return text.lower().replace("-", "_")
