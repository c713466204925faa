"""What is wrong with one file of a 2.x bundle by itself, and what it says without effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import conform
from astrac.diagnostics import Diagnosed, Label, diagnostic
from astrac.job import Kind, MemoryType
from astrac.positioned import child
from astrac.simulators.algorithms import ALGORITHMS, by_word_2
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.read.documents import (
    PARSERS,
    old_key,
    read_groups,
    read_machine,
    read_memory,
    read_network,
)
from astrac.simulators.texts import yaml_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.diagnostics import Diagnostic, Result
    from astrac.positioned import Tree
    from astrac.simulators.algorithms.row import Algorithm
    from astrac.source import Source, Span

ANY_NPUS = 1 << 31
"""As many as an id can name, where nobody says how many there are."""


def check_file(kind: str, source: Source, data: bytes, backend: str | None) -> tuple[Diagnostic, ...]:
    """Errors and advice.

    Args:
        kind: of `kinds.KINDS`.
        source: the text; of a trace its name, which tells the rank.
        data: the bytes.
        backend: that the file is for, None for the first.
    """
    if kind == "trace":
        from astrac.simulators.astra_sim_2.check.evidence import Evidence  # noqa: PLC0415 - texts do without protobuf
        from astrac.simulators.astra_sim_2.check.job import check_trace  # noqa: PLC0415
        from astrac.simulators.astra_sim_2.read.reading import read_single  # noqa: PLC0415

        match = re.fullmatch(r"(?s:.+)\.(0|[1-9]\d*)\.et", source.name, re.ASCII)
        job, found = read_single(data, int(match[1]) if match else None, source)
        return found if job is None else (*found, *check_trace(Evidence(job, {}, lambda _: source.name)))
    if kind == "custom-table":
        return read_table(source)[1]
    try:
        tree = PARSERS[kind](source)
    except Diagnosed as stop:
        return (stop.diagnostic,)
    result = _READERS[kind](tree)
    if kind == "network" and backend == "congestion_aware" and result.value is not None and len(result.value) > 1:
        message = f"the congestion-aware backend takes one dimension, and the network has {len(result.value)}"
        return (diagnostic("AS780", message, tree.at("/topology")),)
    splits = about_splits(tree, customs(tree)) if kind == "system" and isinstance(tree.value, dict) else ()
    return (*result.diagnostics, *splits, *advice(tree, kind))


def advice(tree: Tree, kind: str, npus: int | None = None) -> tuple[Diagnostic, ...]:
    """Advice alone; `npus` of the machine, where it is known."""
    return tuple(_ADVICE[kind](tree, npus)) if isinstance(tree.value, dict) else ()


def _about_system(tree: Tree, _npus: int | None) -> Iterator[Diagnostic]:
    value = tree.value
    yield from conform.unread(tree, "system")
    if value.get("local-mem-bw", 0) == 0 and value.get("roofline-enabled") != 1:  # else it is an error
        whole = tree.at("")
        place = tree.values.get("/local-mem-bw", whole.source.span(whole.start, whole.start + 1))
        yield diagnostic("AS862", "without `local-mem-bw` the reductions of collectives take no time", place)
    for row in ALGORITHMS.values():
        yield from _instead(tree, row)
    if value.get("model-shared-bus") == 1:
        yield _about_bus(tree)
    if value.get("model-shared-bus") == 1 and not value.keys() & {"L", "o", "g", "G"}:
        message = "`L`, `o`, `g` and `G` are missing: the bus costs nothing but `local-reduction-delay`"
        yield diagnostic("AS875", message, tree.at("/model-shared-bus"))


def _about_bus(tree: Tree) -> Diagnostic:
    """AS886: the bus of `L`, `o`, `g` and `G`, and algorithms that send several messages at once through it."""
    lists = {key: tree.value.get(key) for key in keys.IMPLEMENTATION_KEYS.values()}
    words = [(word, key) for key, list_ in lists.items() if isinstance(list_, list) for word in map(str, list_)]
    at_once = [(word, key) for word, key in words if (named := by_word_2(word)) is not None and named.row.windowed]
    message = "every message waits for a bus in its NPU: other times than without, which nothing here foretells"
    if at_once:
        message += f"; `{at_once[0][0]}` sends several at once, and the simulator can abort when they pass each other"
    hints = ("`model-shared-bus: 0` takes `endpoint-delay` in its place",)
    notes = [Label(tree.at(f"/{key}"), "sends several at once") for _, key in at_once[:1]]
    return diagnostic("AS886", message, tree.at("/model-shared-bus"), *notes, hints=hints)


def _instead(tree: Tree, row: Algorithm) -> Iterator[Diagnostic]:
    """An algorithm in the list of a kind in whose place it runs another: told once, at the first.

    In an all-reduce over several dimensions all but the last reduce-scatter and all-gather.
    """
    word = row.words.astra_sim_2
    lists = {kind: tree.value.get(key) for kind, key in keys.IMPLEMENTATION_KEYS.items()}
    whole = {kind: words for kind, words in lists.items() if isinstance(words, list) and word in words}
    found = {_words(kind): kind for kind in whole if kind not in row.kinds}
    first = whole.get(Kind.ALL_REDUCE, ())
    if word in first[:-1] and tree.value.get("collective-optimization") != "baseline":
        found = {"reduce-scatter of an all-reduce": Kind.ALL_REDUCE, **found}
    if found and row.instead is not None:
        kinds = ", ".join(f"the {name}" for name in found)
        kind = next(iter(found.values()))
        place = tree.at(f"/{keys.IMPLEMENTATION_KEYS[kind]}/{whole[kind].index(word)}")
        yield diagnostic("AS863", f"`{word}` runs an {_words(row.instead)} in place of {kinds}", place)


def _words(kind: Kind) -> str:
    return kind.name.lower().replace("_", "-")


def _about_memory(tree: Tree, _npus: int | None) -> Iterator[Diagnostic]:
    yield from conform.unread(tree, "memory")
    try:
        wanted = keys.memory_attributes(MemoryType(tree.value.get("memory-type")))
    except ValueError:
        return
    for key, attribute in keys.MEMORY_KEYS.items():
        if key in tree.value and attribute not in wanted:
            message = f"`{key}` has no effect with `{tree.value['memory-type']}`"
            yield diagnostic("AS861", message, tree.key(f"/{key}"))
    if "latency" in wanted and "remote-mem-latency" not in tree.value:
        message = "`remote-mem-latency` is missing: an access takes its transfer's time only"
        yield diagnostic("AS875", message, tree.at("/memory-type"))


def _about_groups(tree: Tree, npus: int | None) -> Iterator[Diagnostic]:
    yield from conform.spare(tree)
    first: dict[tuple[int, ...], str] = {}
    for key, members in tree.value.items():
        if not isinstance(members, list) or not all(type(member) is int for member in members):
            continue
        pointer = child("", key)
        place = tree.at(pointer)
        if members != sorted(members) and len(members) != npus:  # the order of all NPUs is not looked at
            yield diagnostic("AS864", f"group {key} is a ring in this order, not in ascending order", place)
        if len(members) == 1:
            yield diagnostic("AS869", f"a collective in group {key}, of one NPU, would never end", place)
        other = first.setdefault(tuple(members), key)
        if other != key:
            note = Label(tree.key(child("", other)), "the same members")
            yield diagnostic("AS869", f"group {key} has the members of group {other}", tree.key(pointer), note)


_READERS: dict[str, Callable[[Tree], Result[Any]]] = {
    "network": read_network,
    "system": lambda tree: read_machine(None, tree, None),
    "memory": read_memory,
    "groups": lambda tree: read_groups(tree, ANY_NPUS),
}
"""Errors of a document, by kind of file."""

_ADVICE: dict[str, Callable[[Tree, int | None], Iterator[Diagnostic]]] = {
    "network": lambda tree, _: iter(()) if old_key(tree) else conform.unread(tree, "network"),
    "system": _about_system,
    "memory": _about_memory,
    "groups": _about_groups,
}
"""Everything else."""


# -- custom collectives: algorithms written as traces of sends, receives and reductions, one a member


class Custom(NamedTuple):
    """An algorithm that a system file names.

    Attributes:
        prefix: of its traces, as written.
        place: where it stands.
        kind: of the collectives that it serves, None for an entry of a table.
        node: id of the node that it serves, None for all of a kind.
    """

    prefix: str
    place: Span
    kind: Kind | None = None
    node: int | None = None


def customs(system: Tree) -> list[Custom]:
    """Those that a system file names for kinds of collectives."""
    return [
        Custom(words[0], system.at(f"/{key}-custom/0"), kind)
        for kind, key in keys.IMPLEMENTATION_KEYS.items()
        if isinstance(words := system.value.get(f"{key}-custom"), list) and len(words) == 1 and type(words[0]) is str
    ]


def read_table(source: Source) -> tuple[list[Custom], tuple[Diagnostic, ...]]:
    """The entries of a table of algorithms by node, and AS785 for what ASTRA-sim cannot read or never uses."""
    try:
        tree = yaml_tree(source)
    except Diagnosed as stop:
        return [], (stop.diagnostic,)
    if not isinstance(tree.value, dict):
        message = "the table is `node: path`, an entry a line"
        return [], (diagnostic("AS785", message, source.whole()),)
    # A path may be a number: every scalar of YAML is a text to ASTRA-sim.
    value = {
        key: tree.at(child("", key)).text if isinstance(item, int | float) else item for key, item in tree.value.items()
    }
    wrong = {violation.pointer: violation.message for violation in conform.violations(value, "custom-table")}
    found = tuple(diagnostic("AS785", message, tree.keys[pointer]) for pointer, message in wrong.items())
    entries = [
        Custom(path, tree.keys[pointer], node=int(key))
        for key, path in value.items()
        if (pointer := child("", key)) not in wrong
    ]
    return entries, found


def about_splits(system: Tree, entries: list[Custom]) -> Iterator[Diagnostic]:
    """AS786: a custom collective is one chunk, and ASTRA-sim waits for as many as the splits say."""
    splits = system.value.get("preferred-dataset-splits")
    if entries and isinstance(splits, int) and splits > 1:
        message = f"custom collectives never complete with {splits} chunks: `preferred-dataset-splits` must be 1"
        yield diagnostic("AS786", message, system.at("/preferred-dataset-splits"))
