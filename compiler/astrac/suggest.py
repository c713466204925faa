"""`did you mean`: one function, used everywhere."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def _likeness(word: str, choice: str) -> float:
    first, second = (text.lower().replace("-", "_") for text in (word, choice))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def nearest(word: str, choices: Iterable[str], at_least: float = 0.6) -> str | None:
    """The choice most like `word`, case and dashes ignored, or None when none is like it; of equals the first sorted."""
    if len(word) > 100:
        return None
    scored = [(-_likeness(word, choice), choice) for choice in set(choices)]
    best = min(scored, default=(0.0, ""))
    return best[1] if -best[0] >= at_least else None


def did_you_mean(word: str, choices: Iterable[str]) -> tuple[str, ...]:
    """The hint as a tuple of none or one: ready to be a diagnostic's `hints`."""
    found = nearest(word, choices)
    return () if found is None else (f"did you mean `{found}`?",)
