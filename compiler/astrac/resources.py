"""Where the shipped data lies: grammar, schemas, templates, specs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@cache
def root() -> Traversable:
    """The folder that holds `grammar schemas templates specs`: inside a wheel, or the checkout's root."""
    packaged = files("astrac") / "_data"
    return packaged if packaged.is_dir() else Path(__file__).parents[2]


def resource(*parts: str) -> Traversable:
    """One of the shipped files or folders."""
    return root().joinpath(*parts)


@cache
def text(*parts: str) -> str:
    """The text of a shipped file."""
    return resource(*parts).read_text(encoding="utf-8")
