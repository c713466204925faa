"""The logical topology: JSON with the sizes of the dimensions, as texts."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from astrac import conform
from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.simulators.trees import json_tree

if TYPE_CHECKING:
    from astrac.positioned import Tree
    from astrac.source import Source

MAX_NPUS = 1 << 31


def read_logical(source: Source) -> Result[tuple[int, ...]]:
    """The sizes, innermost first; AS782 for what the frontend cannot read, AS860 for keys that it does not."""
    try:
        tree = json_tree(source)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    found = [
        diagnostic(
            "AS782",
            violation.message.removesuffix(" against pattern"),
            tree.at(violation.pointer),
            hints=_hints(tree, violation.pointer),
        )
        for violation in conform.violations(tree.value, "ns3-logical")
    ]
    if isinstance(tree.value, dict):
        found += conform.unread(tree, "ns3-logical")
    if any(finding.is_error for finding in found):
        return Result(None, tuple(found))
    sizes = tuple(int(size) for size in tree.value["logical-dims"])
    if prod(sizes) >= MAX_NPUS:
        found.append(diagnostic("AS782", f"{prod(sizes)} NPUs are too many", tree.at("/logical-dims")))
        return Result(None, tuple(found))
    return Result(sizes, tuple(found))


def _hints(tree: Tree, pointer: str) -> tuple[str, ...]:
    written = tree.values[pointer].text
    return (f'write `"{written}"`, a text',) if re.fullmatch(r"[1-9]\d*", written) else ()
