"""network.json -> TextNetwork; what each key holds stands in `schemas/artifacts/astra-sim-1-network.schema.json`.

The simulator's JSON library converts in silence what nearly fits (`4.7` to 4, a text to a list of one), which no schema
can tell: so the values are taken by the schema's rows and told in 1.0's own codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.conform import load
from astrac.diagnostics import Diagnostic, Label, Result, diagnostic, has_errors
from astrac.positioned import Tree, child, load_json
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.check_files import SCHEMA, check_network
from astrac.simulators.astra_sim_1.job import TextDimension, TextNetwork
from astrac.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.source import Source


def read_network(source: Source) -> Result[TextNetwork]:
    """The network, or what is wrong with it: errors of the form, and what `check_network` finds."""
    tree, findings = load_json(source)
    if tree is None:
        return Result(None, findings)
    if not isinstance(tree.value, dict):
        return Result(None, (diagnostic("AS722", "network.json is an object: `{...}`", tree.at("")),))
    reader = _Reader(tree)
    network = reader.read()
    return Result(network, (*reader.findings, *(() if network is None else check_network(network))))


class _Reader:
    """Takes an object apart and collects what is wrong with it; one per call of `read_network`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.findings: list[Diagnostic] = []

    def read(self) -> TextNetwork | None:
        """The network when its form is right."""
        self.findings += _around(self.tree)
        value = self.tree.value
        count: int | None = None
        lists: dict[str, list[Any]] = {}
        for key, row in load(SCHEMA)["properties"].items():
            if key not in value:
                continue
            if row.get("type") == "array":
                self._take(key, row["items"], lists)
            elif row.get("type") == "integer":
                count = self._item("", row, child("", key))
            elif value[key] != row["const"]:
                self._tell("AS723", f"`{key}` is always `{row['const']}`", child("", key))
        if count is not None:
            self.findings += _lengths(self.tree, lists, count)
        if has_errors(self.findings) or count is None:
            return None
        rows = ({name: lists[key][at] for key, name in keys.DIMENSION_KEYS.items()} for at in range(count))
        return TextNetwork(tuple(TextDimension(**row) for row in rows), self.tree.values)

    def _take(self, key: str, row: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """Puts the items of a list, as far as they are of its type, to the others."""
        value, pointer = self.tree.value[key], child("", key)
        if isinstance(value, str) and "enum" in row:
            self._tell("AS846", f"`{key}` is a text, which reads as a list of one", pointer)
            lists[key] = [self._item(key, row, pointer)]
        elif isinstance(value, list):
            lists[key] = [self._item(key, row, child(pointer, at)) for at in range(len(value))]
        else:
            self._tell("AS722", f"`{key}` is a list, one entry a dimension", pointer)

    def _item(self, key: str, row: dict[str, Any], pointer: str) -> Any:
        """A value as its row of the schema wants it, or None when it is told that it is none."""
        value = self._value(pointer)
        if "enum" in row:
            if not isinstance(value, str):
                return self._tell("AS722", f"an entry of `{key}` is a text", pointer)
            if value not in row["enum"]:
                choices = sorted(row["enum"])
                listed = ", ".join(f"`{choice}`" for choice in choices)
                hints = did_you_mean(value, choices) or (f"one of {listed}",)
                return self._tell("AS723", f"`{value}` is not one of {listed}", pointer, hints)
            return value
        whole = row["type"] == "integer"
        if isinstance(value, bool) or not isinstance(value, int | float):
            message = "a whole number should stand here" if whole else f"an entry of `{key}` is a number"
            return self._tell("AS722", message, pointer)
        if whole and isinstance(value, float):
            if not value.is_integer():
                return self._tell("AS722", f"`{value}` is truncated to {int(value)}: write a whole number", pointer)
            self._tell("AS846", f"`{value}` reads as {int(value)}", pointer)
            return int(value)
        return value

    def _value(self, pointer: str) -> Any:
        """What stands at a pointer of a key, or of an entry of its list."""
        _, key, *at = pointer.split("/")
        return self.tree.value[key][int(at[0])] if at else self.tree.value[key]

    def _tell(self, code: str, message: str, pointer: str, hints: tuple[str, ...] = ()) -> None:
        self.findings.append(diagnostic(code, message, self.tree.at(pointer), hints=hints))


def _around(tree: Tree) -> Iterator[Diagnostic]:
    """Keys that are missing, unknown, repeated, and what follows the object."""
    schema = load(SCHEMA)
    unknown = [key for key in tree.value if key not in schema["properties"]]
    start = tree.at("").start
    for key in schema["required"]:
        if key in tree.value:
            continue
        misspelt = nearest(key, unknown, at_least=0.75)
        if misspelt is None:
            yield diagnostic("AS721", f"the key `{key}` is missing", tree.at("").source.span(start, start + 1))
            continue
        unknown.remove(misspelt)
        message = f"the key `{key}` is missing, and `{misspelt}` is none"
        yield diagnostic("AS721", message, tree.key(child("", misspelt)), hints=(f"write `{key}`",))
    for key in unknown:
        hints = did_you_mean(key, schema["required"])
        yield diagnostic("AS844", f"ASTRA-sim 1.0 reads no key `{key}`", tree.key(child("", key)), hints=hints)
    for repeated in tree.repeated:
        note = Label(repeated.first, "first written here")
        yield diagnostic("AS843", "this key is written twice, the last counts", repeated.last, note)
    if tree.rest is not None:
        yield diagnostic("AS845", "text after the JSON value is not read", tree.rest)


def _lengths(tree: Tree, lists: dict[str, list[Any]], count: int) -> Iterator[Diagnostic]:
    """One error when it is the count that is wrong, else one a list."""
    lengths = {key: len(items) for key, items in lists.items()}
    wrong = {key: length for key, length in lengths.items() if length != count}
    place = tree.at("/dimensions-count")
    if len(wrong) == len(lengths) > 1 and len(set(wrong.values())) == 1:
        message = f"`dimensions-count` is {count}, and every list has {_entries(*set(wrong.values()))}"
        yield diagnostic("AS724", message, place)
        return
    for key, length in wrong.items():
        message = f"`{key}` has {_entries(length)} for {count} dimension{'' if count == 1 else 's'}"
        yield diagnostic("AS724", message, tree.at(child("", key)), Label(place, "the count"))


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"
