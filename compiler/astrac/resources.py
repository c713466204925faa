"""Where the shipped data lies: pages, grammar, schemas, templates, specs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@cache
def package() -> Traversable:
    """The folder of the package itself, in a zip file too."""
    folder = Path(__file__).parent
    if folder.is_dir():
        return folder
    from importlib.resources import files  # noqa: PLC0415 - only a zip file is worth the time it takes

    return files("astrac")


@cache
def root() -> Traversable:
    """The folder that holds `grammar schemas templates specs`: in a wheel, in a zip file, or the checkout's root."""
    shipped = package() / "_data"
    return shipped if shipped.is_dir() else Path(__file__).parents[2]


def resource(*parts: str) -> Traversable:
    """One of the shipped files or folders."""
    return root().joinpath(*parts)


@cache
def text(*parts: str) -> str:
    """The text of a shipped file."""
    return resource(*parts).read_text(encoding="utf-8")
