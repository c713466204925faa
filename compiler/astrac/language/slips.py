"""What people write who come from other tools, and what it is here; read when something is wrong."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from astrac import resources

if TYPE_CHECKING:
    from collections.abc import Iterator


def slip(word: str, where: str) -> str:
    """A word of ours, or a line of help; "" for neither.

    Args:
        word: what was written; case and dashes do not matter.
        where: the title of the block's schema, or `Title.key` for a word that a key does not know.
    """
    words: dict[str, str] = _table().get(where, {})
    return words.get(word.lower().replace("-", "_"), "")


def shipped() -> Iterator[str]:
    """The paths of the shipped library."""
    folders = [("std", resources.resource("specs", "std"))]
    for path, folder in folders:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.is_dir():
                folders.append((f"{path}/{entry.name}", entry))
            else:
                yield f"{path}/{entry.name}"


def where(kind: str, name: str) -> tuple[str, ...]:
    """The hint that names the shipped file which has a block; none where none has."""
    header = re.compile(rf"^{re.escape(kind)} {re.escape(name)}\b", re.MULTILINE)
    found = (path for path in shipped() if header.search(resources.text("specs", *path.split("/"))))
    return tuple(f'{kind} `{name}` stands in {path}: add `use "{path}"`' for path in found)[:1]


@cache
def _table() -> Any:
    return json.loads(resources.text("schemas", "slips.json"))
