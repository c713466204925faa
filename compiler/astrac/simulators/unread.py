"""Keys that a simulator does not read: misspelt ones, those of other versions, those that wait for another key."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from astrac import resources
from astrac.diagnostics import diagnostic, quoted
from astrac.simulators.positioned import child
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.positioned import Tree


MAX_FINDINGS = 50
"""Unknown keys of a file that is probably something else."""


def unread(tree: Tree, schema: str) -> Iterator[Diagnostic]:
    """AS860 for keys that the schema does not have, AS861 for those that it says are not read.

    Two annotations of a property say so: `x-unread` gives the values that promise nothing, so that they are passed
    over in silence, and `x-read-with` names the switch without which the key is not read.

    Args:
        tree: of a document that is an object.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
    """
    known = _properties(schema)
    told = 0
    for key, value in tree.value.items():
        if told == MAX_FINDINGS:
            return
        row = known.get(key)
        place = tree.key(child("", key))
        if row is None:
            told += 1
            others = [other for other in known if other not in tree.value]
            yield diagnostic("AS860", f"ASTRA-sim reads no key {quoted(key)}", place, hints=did_you_mean(key, others))
        elif "x-unread" in row and value not in row["x-unread"]:
            yield diagnostic("AS861", f"ASTRA-sim 2.x never reads `{key}`", place)
        elif "x-read-with" in row and row["x-read-with"] not in tree.value:
            yield diagnostic("AS861", f"`{key}` is read with `{row['x-read-with']}` only", place)


@cache
def _properties(schema: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(resources.text("schemas", "artifacts", f"{schema}.schema.json"))[
        "properties"
    ]
    return found
