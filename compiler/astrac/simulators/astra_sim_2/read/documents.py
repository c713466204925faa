"""Texts of network.yml, system.json, memory.json, comm_groups.json -> the parts of a Machine, and groups.

Strict: what the simulator refuses, crashes on, or reads as something else is a finding at its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac import conform
from astrac.diagnostics import Label, Result, diagnostic
from astrac.job import IMPLEMENTED, Dimension, ListedGroup, Machine, MemoryType, RemoteMemory
from astrac.positioned import child
from astrac.simulators.algorithms import whole_2
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.blocks import names_2
from astrac.simulators.table import rivals
from astrac.simulators.texts import json_tree, yaml_tree
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Kind
    from astrac.positioned import Tree
    from astrac.source import Source

PARSERS: dict[str, Callable[[Source], Tree]] = {
    "network": yaml_tree,
    **dict.fromkeys(("system", "memory", "groups"), json_tree),
}
"""What makes a tree of a text, by kind of file; raises Diagnosed."""

TABLE = "per-node-custom-implementation"

TRACKS = "track-local-mem"
"""The key of system.json that asks for statistics of tensors."""

CUSTOM_KEYS = (TABLE, *(f"{key}-custom" for key in keys.IMPLEMENTATION_KEYS.values()))
"""Keys of system.json that name traces of custom collectives."""

UNMODELLED: dict[str, object] = {"model-shared-bus": 0, **dict.fromkeys(CUSTOM_KEYS)}
"""Keys of system.json that change what happens in ways that a Machine cannot say, and the value that does not."""


_FORMS: dict[str, str] = {
    "torus": "a torus is a `Ring` a dimension, `topology: [ Ring, Ring ]`: nothing is lost",
    "cube|dgx|hybrid": (
        "one block a dimension: `[ FullyConnected, Ring ]` is nearest, and loses links that run across dimensions"
    ),
    "mesh|grid|line|chain": (
        "a `Ring` a dimension is nearest: it has the link that closes each line, which a mesh has not"
    ),
    "tree|clos|leaf|spine|dragonfly|bus|crossbar|star": (
        "a `Switch` a level is nearest: it has no oversubscription and no contention unless its bandwidth is lowered"
    ),
}
"""Words for networks that no product of building blocks can say: the nearest form that exists, and what it loses."""


def read_network(tree: Tree) -> Result[tuple[Dimension, ...]]:
    """The dimensions of a network.yml, innermost first; without them AS702 and AS704."""
    old = old_key(tree)
    if old is not None:
        message = "these are keys of ASTRA-sim 1.0: 2.x reads `topology`, `npus_count`, `bandwidth` and `latency`"
        return Result(None, (diagnostic("AS704", message, tree.key(child("", old))),))
    findings = [_hinted(found, tree) for found in conform.findings(tree, "network")]
    if not findings:
        count, note = len(tree.value["topology"]), Label(tree.at("/topology"), "the dimensions")
        findings = [
            diagnostic("AS702", _entries(key, tree, count), tree.at(f"/{key}"), note)
            for key in ("npus_count", "bandwidth", "latency")
            if len(tree.value[key]) != count
        ]
    if findings:
        return Result(None, tuple(findings))
    rows = zip(*(tree.value[key] for key in ("topology", "npus_count", "bandwidth", "latency")), strict=True)
    return Result(tuple(Dimension(block, size, float(width), float(latency)) for block, size, width, latency in rows))


def old_key(tree: Tree) -> str | None:
    """The first list of a network that is written as for 1.0, in YAML, as ASTRA-sim's public page has it."""
    if not isinstance(tree.value, dict) or "npus_count" in tree.value:
        return None
    plain = json.dumps(dict.fromkeys(map(str, tree.value)))
    if not any(row.belongs(plain, "") for row in rivals("network")):
        return None
    ours = {"topology", "bandwidth", "latency"}
    return next((str(key) for key, value in tree.value.items() if isinstance(value, list) and key not in ours), None)


def _hinted(found: Diagnostic, tree: Tree) -> Diagnostic:
    """With the form that was meant, where a block has a name that none has."""
    words = tree.value.get("topology") if isinstance(tree.value, dict) else None
    for at, word in enumerate(words if isinstance(words, list) else ()):
        if isinstance(word, str) and found.labels[0].span == tree.at(f"/topology/{at}"):
            return replace(found, hints=_nearest(word, tree.value.get("npus_count")))
    return found


def _nearest(word: str, sizes: object) -> tuple[str, ...]:
    """What to write in place of a word that is no building block; of a torus of some NPUs, rings of their root."""
    plain = re.sub(r"[^a-z]", "", word.lower())
    count = re.search(r"torus\D*(\d)|(\d)\D*torus", word.lower())
    if count is not None and isinstance(sizes, list) and len(sizes) == 1 and type(sizes[0]) is int:
        rings = int(count[1] or count[2])
        side = max(2, round(max(sizes[0], 1) ** (1 / max(rings, 1))))
        if rings and side**rings == sizes[0]:
            lists = (", ".join([word] * rings) for word in ("Ring", str(side)))
            return ("a torus is a ring a dimension: `topology: [ {} ]`, `npus_count: [ {} ]`".format(*lists),)
    for block in names_2():
        if block.lower() == plain:
            return (f"did you mean `{block}`?",)
    for pattern, hint in _FORMS.items():
        if re.search(pattern, plain):
            return (hint, "the ns-3 backend takes any links")
    return did_you_mean(word, names_2())


def _entries(key: str, tree: Tree, dimensions: int) -> str:
    """How many entries a list has, and should have."""
    count = len(tree.value[key])
    entries = "1 entry" if count == 1 else f"{count} entries"
    return f"`{key}` has {entries} for {dimensions} dimension{'' if dimensions == 1 else 's'}"


def read_machine(
    dimensions: tuple[Dimension, ...] | None, system: Tree, remote: RemoteMemory | None, queues: int = 1
) -> Result[Machine]:
    """system.json on top of a network and a remote memory; nothing without a network, but what is wrong with it.

    Algorithm lists that do not fit the dimensions are errors (`short_lists` has some of them), but the Machine has
    them: the simulator runs some, as something else, and an estimate says what it would report.
    """
    findings = conform.findings(system, "system")
    if findings or dimensions is None:
        return Result(None, (*findings, *([] if findings else _mixed(system))))
    fields: dict[str, Any] = {
        attribute: system.value[key] for key, attribute in keys.SYSTEM_KEYS.items() if key in system.value
    }
    for attribute in {"local_mem_bandwidth", "peak_performance"} & fields.keys():
        fields[attribute] = float(fields[attribute])
    for attribute in ("roofline", "replay_only"):
        fields[attribute] = fields.get(attribute) == 1
    fields.setdefault("endpoint_delay", None)
    lists = {kind: system.value[key] for kind, key in keys.IMPLEMENTATION_KEYS.items() if key in system.value}
    algorithms = {kind: tuple(words) for kind, words in lists.items()}
    machine = Machine(dimensions, algorithms, memory=remote or RemoteMemory(), queues=queues, **fields)
    return Result(machine, (*_mixed(system), *_long_lists(system, len(dimensions))))


def _mixed(system: Tree) -> Iterator[Diagnostic]:
    """A word that lays one ring over all NPUs beside others."""
    for key in keys.IMPLEMENTATION_KEYS.values():
        words = system.value.get(key, [])
        for at, word in enumerate(words):
            if whole_2(word) and len(words) > 1:
                message = f"`{word}` runs over all NPUs, so it stands alone in `{key}`"
                yield diagnostic("AS702", message, system.at(f"/{key}/{at}"))
                break


def _lists(system: Tree) -> Iterator[tuple[Kind, str, int]]:
    """The kind, key and length of each algorithm list, but of those where one ring runs over all NPUs."""
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        words = system.value.get(key)
        if words is not None and not any(map(whole_2, words)):
            yield kind, key, len(words)


def _long_lists(system: Tree, dimensions: int) -> Iterator[Diagnostic]:
    """Algorithm lists with more words than dimensions, at which the simulator aborts before it runs anything."""
    for _, key, count in _lists(system):
        if count > dimensions:
            yield diagnostic("AS702", _entries(key, system, dimensions), system.at(f"/{key}"))


def short_lists(system: Tree, dimensions: int, issued: Collection[Kind] = IMPLEMENTED) -> Iterator[Diagnostic]:
    """AS702 for algorithm lists without a word for each dimension, AS881 for those of kinds that nobody issues."""
    for kind, key, count in _lists(system):
        if count < dimensions:
            code = "AS702" if kind in issued else "AS881"
            hints = ("dimensions without a word would take no part",)
            yield diagnostic(code, _entries(key, system, dimensions), system.at(f"/{key}"), hints=hints)


def unmodelled(system: Tree) -> dict[str, Diagnostic]:
    """AS715, by its key, for what the simulator would do and a Machine does not say."""
    if not isinstance(system.value, dict):
        return {}
    return {
        key: diagnostic("AS715", f"`{key}` is not modelled", system.at(f"/{key}"))
        for key, harmless in UNMODELLED.items()
        if key in system.value and system.value[key] != harmless
    }


def read_memory(tree: Tree) -> Result[RemoteMemory]:
    """What a memory.json says that its type makes the simulator read; without it AS702 and AS704."""
    findings = conform.findings(tree, "memory")
    if findings:
        return Result(None, tuple(findings))
    wanted = keys.memory_attributes(MemoryType(tree.value["memory-type"]))
    values = {
        attribute: tree.value[key]
        for key, attribute in keys.MEMORY_KEYS.items()
        if key in tree.value and attribute in wanted
    }
    return Result(RemoteMemory(**values | {"type": MemoryType(values["type"])}))


def read_groups(tree: Tree, npus: int) -> Result[dict[int, ListedGroup]]:
    """The groups of a comm_groups.json by their ids; without them AS702 and AS714."""
    findings = conform.findings(tree, "comm_groups")
    if not findings:
        findings = [
            diagnostic("AS714", f"NPU {member} of group {key}: there are {npus}", tree.at(f"/{key}/{at}"))
            for key, members in tree.value.items()
            for at, member in enumerate(members)
            if member >= npus
        ]
    if findings:
        return Result(None, tuple(findings))
    return Result({int(key): ListedGroup(int(key), tuple(members)) for key, members in tree.value.items()})
