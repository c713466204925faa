"""A broken text of 2.x -> edits of what has one right answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed
from astrac.job import IMPLEMENTED
from astrac.positioned import child
from astrac.simulators.algorithms import whole_2, words_2
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.edits import of_document, same
from astrac.simulators.rows import Edit
from astrac.simulators.texts import json_tree, yaml_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.positioned import Tree
    from astrac.source import Source


def fix(kind: str, source: Source, beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """The edits of a text.

    Args:
        kind: of `kinds.KINDS`.
        source: the text.
        beside: looks for files of the same folder; lists of a system file get as long as its only network is.
    """
    if kind == "system":
        networks = beside().get("network", ())
        return of_document(
            source, "system", json_tree, words=words_2(), further=lambda tree, value: _expanded(tree, value, networks)
        )
    schema = {"network": "network", "memory": "memory", "groups": "comm_groups"}.get(kind)
    parse = yaml_tree if kind == "network" else json_tree
    return iter(()) if schema is None else of_document(source, schema, parse)


def _dimensions(networks: Sequence[Path]) -> int | None:
    """How many dimensions a network has; None without exactly one."""
    from astrac.simulators.astra_sim_2.kinds import KINDS  # noqa: PLC0415
    from astrac.simulators.astra_sim_2.read.documents import read_network  # noqa: PLC0415

    if len(networks) != 1:
        return None
    try:
        found = read_network(yaml_tree(KINDS["network"].text(networks[0]))).value
    except Diagnosed:
        return None
    return None if found is None else len(found)


def _expanded(tree: Tree, value: dict[str, Any], networks: Sequence[Path]) -> Iterator[Edit]:
    """Lists of one word for a machine of several dimensions; where nobody knows how many, the longest list tells."""
    names = [keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED]
    lists = {key: value[key] for key in names if isinstance(value.get(key), list) and value[key]}
    wanted = _dimensions(networks) or max(map(len, lists.values()), default=0)
    for key, words in lists.items():
        if len(words) == 1 < wanted and isinstance(words[0], str) and not whole_2(words[0]):
            span = tree.at(next(child("", old) for old in tree.value if old == key or same(old, [key])))
            yield Edit(span.start, span.end, json.dumps(words * wanted))
