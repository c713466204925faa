"""Looking at a text without parsing it: a file that is broken must still be known for what it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMENTS = re.compile(r"(?:\s|//[^\n]*|#[^\n]*)*")


def is_object(text: str) -> bool:
    """Whether a text is meant to be JSON: comments before the brace are what is wrong with it."""
    start = _COMMENTS.match(text)
    return start is not None and text[start.end() : start.end() + 1] == "{"


def document(text: str) -> dict[str, object] | None:
    """A JSON object, None when the text is broken."""
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError):
        return None


def has(*names: str, least: int = 1) -> Callable[[str, str], bool]:
    """Whether a JSON object has some of these keys at its top; of one that is broken, anywhere."""
    pattern = re.compile(rf'"({"|".join(names)})"\s*:')

    def belongs(text: str, _name: str) -> bool:
        if not is_object(text):
            return False
        value = document(text)
        found = set(pattern.findall(text)) if value is None else set(names).intersection(value)
        return len(found) >= least

    return belongs
