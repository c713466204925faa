"""network.json -> TextNetwork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, Result, diagnostic, has_errors
from astrac.positioned import Tree, child, load_json
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.check_files import check_network
from astrac.simulators.astra_sim_1.job import TextDimension, TextNetwork
from astrac.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from astrac.source import Source

COUNTS = ("units-count", "links-count")
"""Lists of whole numbers."""

TEXTS: dict[str, tuple[str, ...]] = {"topologies-per-dim": keys.BLOCKS, "dimension-type": keys.DIMENSION_TYPES}
"""Lists of words; the others are numbers."""

REQUIRED = ("topology-name", "dimensions-count", *keys.DIMENSION_KEYS)


def read_network(source: Source) -> Result[TextNetwork]:
    """The network, or what is wrong with it: errors of the form, and what `check_network` finds."""
    tree, findings = load_json(source)
    if tree is None:
        return Result(None, findings)
    reader = _Reader(tree)
    network = reader.read()
    if network is not None:
        reader.findings += check_network(network)
    return Result(network, tuple(reader.findings))


class _Reader:
    """Takes a tree apart and collects what is wrong with it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.findings: list[Diagnostic] = []

    def read(self) -> TextNetwork | None:
        """The network when its form is right."""
        value = self.tree.value
        if not isinstance(value, dict):
            self._error("AS722", "network.json is an object: `{...}`", "")
            return None
        self._look_around(value)
        count = self._count(value.get("dimensions-count"))
        lists = {key: self._list(key, value[key]) for key in keys.DIMENSION_KEYS if key in value}
        if count is not None:
            self._check_lengths(lists, count)
        if has_errors(self.findings) or count is None:
            return None
        rows = zip(*(lists[key] or [] for key in keys.DIMENSION_KEYS), strict=True)
        names = tuple(keys.DIMENSION_KEYS.values())
        dimensions = tuple(TextDimension(**dict(zip(names, row, strict=True))) for row in rows)
        return TextNetwork(dimensions, self.tree.values)

    def _look_around(self, value: dict[str, object]) -> None:
        """Keys that are missing, unknown, repeated, and what follows the object."""
        unknown = [key for key in value if key not in REQUIRED]
        for key in REQUIRED:
            if key in value:
                continue
            misspelt = nearest(key, unknown, at_least=0.75)
            if misspelt is None:
                start = self.tree.at("").start
                span = self.tree.at("").source.span(start, start + 1)
                self.findings.append(diagnostic("AS721", f"the key `{key}` is missing", span))
                continue
            unknown.remove(misspelt)
            message = f"the key `{key}` is missing, and `{misspelt}` is none"
            place = self.tree.key(child("", misspelt))
            self.findings.append(diagnostic("AS721", message, place, hints=(f"write `{key}`",)))
        for key in unknown:
            span = self.tree.key(child("", key))
            hints = did_you_mean(key, REQUIRED)
            self.findings.append(diagnostic("AS844", f"ASTRA-sim 1.0 reads no key `{key}`", span, hints=hints))
        for repeated in self.tree.repeated:
            note = Label(repeated.first, "first written here")
            self.findings.append(diagnostic("AS843", "this key is written twice, the last counts", repeated.last, note))
        if self.tree.rest is not None:
            self.findings.append(diagnostic("AS845", "text after the JSON value is not read", self.tree.rest))
        if "topology-name" in value and value["topology-name"] != keys.TOPOLOGY_NAME:
            self._error("AS723", f"`topology-name` is always `{keys.TOPOLOGY_NAME}`", "/topology-name")

    def _count(self, value: object) -> int | None:
        return None if value is None else self._whole(value, "/dimensions-count")

    def _list(self, key: str, value: object) -> list[object] | None:
        """The items when all are of their type."""
        pointer = child("", key)
        if isinstance(value, str) and key in TEXTS:
            self._advise(f"`{key}` is a text, which reads as a list of one", pointer)
            return [self._item(key, value, pointer)]
        if not isinstance(value, list):
            self._error("AS722", f"`{key}` is a list, one entry a dimension", pointer)
            return None
        return [self._item(key, item, child(pointer, index)) for index, item in enumerate(value)]

    def _item(self, key: str, value: object, pointer: str) -> object:
        if key in TEXTS:
            return self._word(key, value, pointer)
        if key in COUNTS:
            return self._whole(value, pointer)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._error("AS722", f"an entry of `{key}` is a number", pointer)
            return None
        return value

    def _word(self, key: str, value: object, pointer: str) -> object:
        choices = TEXTS[key]
        if not isinstance(value, str):
            self._error("AS722", f"an entry of `{key}` is a text", pointer)
        elif value not in choices:
            listed = ", ".join(f"`{choice}`" for choice in choices)
            hints = did_you_mean(value, choices) or (f"one of {listed}",)
            self.findings.append(
                diagnostic("AS723", f"`{value}` is not one of {listed}", self.tree.at(pointer), hints=hints)
            )
        return value

    def _whole(self, value: object, pointer: str) -> int | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._error("AS722", "a whole number should stand here", pointer)
            return None
        if isinstance(value, float) and not value.is_integer():
            self._error("AS722", f"`{value}` is truncated to {int(value)}: write a whole number", pointer)
            return None
        if isinstance(value, float):
            self._advise(f"`{value}` reads as {int(value)}", pointer)
        return int(value)

    def _check_lengths(self, lists: dict[str, list[object] | None], count: int) -> None:
        """One error when it is the count that is wrong, else one a list."""
        lengths = {key: len(items) for key, items in lists.items() if items is not None}
        wrong = {key: length for key, length in lengths.items() if length != count}
        if len(wrong) == len(lengths) > 1 and len(set(wrong.values())) == 1:
            message = f"`dimensions-count` is {count}, and every list has {_entries(*set(wrong.values()))}"
            self._error("AS724", message, "/dimensions-count")
            return
        for key, length in wrong.items():
            note = Label(self.tree.at("/dimensions-count"), "the count")
            message = f"`{key}` has {_entries(length)} for {count} dimension{'' if count == 1 else 's'}"
            self.findings.append(diagnostic("AS724", message, self.tree.at(child("", key)), note))

    def _error(self, code: str, message: str, pointer: str) -> None:
        self.findings.append(diagnostic(code, message, self.tree.at(pointer)))

    def _advise(self, message: str, pointer: str) -> None:
        self.findings.append(diagnostic("AS846", message, self.tree.at(pointer)))


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"
