"""A broken file of ASTRA-sim's -> the same text with what has one right answer put right.

Case of names, `8.0`, booleans for switches, scalars for lists, short lists; comments and order stay as they are.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import resources
from astrac.diagnostics import Diagnosed
from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_1.job import Policy
from astrac.simulators.astra_sim_1.read_system import SETTINGS
from astrac.simulators.astra_sim_1.read_workload import KINDS as WORDS
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.positioned import child
from astrac.simulators.trees import json_tree, yaml_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.simulators.positioned import Tree
    from astrac.source import Source

SCHEMAS: dict[str, str] = {
    "network": "network",
    "system": "system",
    "memory": "memory",
    "groups": "comm_groups",
    "ns3-logical": "ns3-logical",
    "network-1": "astra-sim-1-network",
}
"""Kinds of files that are documents, and their schemas."""

ALGORITHMS = ("ring", "oneRing", "direct", "oneDirect", "halvingDoubling", "oneHalvingDoubling", "doubleBinaryTree")


class Edit(NamedTuple):
    """Characters `start` to `end` become `text`."""

    start: int
    end: int
    text: str


def fix(source: Source, kind: str, dimensions: int | None = None) -> str:
    """The text of a file, mended; as it is where nothing has one right answer.

    Args:
        source: the text.
        kind: of `simulators.recognise.KINDS`.
        dimensions: of the network that a system file is for, where somebody knows; else its longest list tells.
    """
    if kind == "system-1":
        edits = list(_system_1(source))
    elif kind == "workload-1":
        edits = list(_workload_1(source))
    elif kind in SCHEMAS:
        edits = list(_document(source, kind, dimensions))
    else:
        edits = []
    text = source.text
    # Of two edits of one place the later one knows more: a word first becomes a list, then one of the right length.
    last = {(edit.start, edit.end): edit for edit in edits}
    for edit in sorted(last.values(), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


# -- documents, by their schemas


def _document(source: Source, kind: str, dimensions: int | None) -> Iterator[Edit]:
    try:
        tree = yaml_tree(source) if kind == "network" else json_tree(source)
    except Diagnosed:
        return
    schema = _schema(SCHEMAS[kind])
    if not isinstance(tree.value, dict):
        return
    value = {}
    for key, old in tree.value.items():
        name = _same(key, (known for known in schema.get("properties", {}) if known not in tree.value))
        if name is not None:
            span = tree.key(child("", key))
            yield Edit(span.start, span.end, span.text.replace(key, name))
        row = schema.get("properties", {}).get(name or key) or schema.get("additionalProperties") or {}
        value[name or key] = _mended(old, row, schema)
        if _differ(value[name or key], old):
            yield from _rewritten(tree, child("", key), old, value[name or key], row, schema)
    if kind == "system":
        yield from _expanded(tree, value, dimensions)


@cache
def _schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(resources.text("schemas", "artifacts", f"{name}.schema.json"))
    return loaded


def _same(word: str, known: Iterable[str]) -> str | None:
    """The word that is this one but for case, dashes and blanks; None when it is one itself, or when there is none."""
    plain = re.sub(r"[\W_]", "", word).lower()
    found = [other for other in known if re.sub(r"[\W_]", "", other).lower() == plain and other != word]
    return found[0] if len(found) == 1 else None


def _resolved(row: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = row.get("$ref")
    found: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]] if reference else row
    return found


def _mended(value: Any, row: dict[str, Any], schema: dict[str, Any]) -> Any:
    """A value as its schema wants it, the value itself where that is not the only possibility."""
    row = _resolved(row, schema)
    kind = row.get("type")
    if kind == "array":
        items = row.get("items", {})
        if isinstance(value, list):
            return [_mended(item, items, schema) for item in value]
        if isinstance(value, str) and "pattern" in items:
            return [_mended(word, items, schema) for word in re.split(r"[_,;\s]+", value) if word]
        return [_mended(value, items, schema)] if isinstance(value, str | int | float) else value
    if isinstance(value, bool):
        return int(value) if row.get("enum") == [0, 1] else value
    if "enum" in row and isinstance(value, str):
        return _same(value, (word for word in row["enum"] if isinstance(word, str))) or value
    if "const" in row and isinstance(value, str):
        return row["const"]
    if kind == "integer":
        number = _number(value)
        return int(number) if number is not None and number == int(number) else value
    if kind == "number":
        number = _number(value)
        return value if number is None or not isinstance(value, str) else number
    if kind == "string":
        return _text(value, row)
    return value


def _number(value: Any) -> float | int | None:
    """A number, or a text that is one."""
    if isinstance(value, str):
        if re.fullmatch(r"[-+]?\d{1,15}", value, re.ASCII):
            return int(value)
        return float(value) if re.fullmatch(r"[-+]?\d{1,15}\.\d{1,15}", value, re.ASCII) else None
    return value if isinstance(value, int | float) and abs(value) < 2**53 else None


def _text(value: Any, row: dict[str, Any]) -> Any:
    """A word of the algorithms in its own case, or a number that must be a text."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and "pattern" in row and re.search(row["pattern"], value) is None:
        word, digits = re.fullmatch(r"(.*?)(\d*)", value, re.DOTALL).groups()  # type: ignore[union-attr]
        known = _same(word, ALGORITHMS) or word
        return known + digits if re.search(row["pattern"], known + digits) else value
    return value


def _differ(one: Any, other: Any) -> bool:
    """Whether two values are written differently: 8.0 equals 8, and is another text."""
    return json.dumps(one) != json.dumps(other)


def _rewritten(
    tree: Tree, pointer: str, old: Any, new: Any, row: dict[str, Any], schema: dict[str, Any]
) -> Iterator[Edit]:
    """Writes a value anew: of a list that stays as long, only the entries that change."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            if _differ(before, after):
                yield from _rewritten(tree, child(pointer, at), before, after, row, schema)
        return
    span = tree.at(pointer)
    yield Edit(span.start, span.end, _written(new, quoted=_is_json(tree)))


def _is_json(tree: Tree) -> bool:
    return tree.at("").source.text.lstrip()[:1] == "{"


def _written(value: Any, *, quoted: bool) -> str:
    if quoted:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[ " + ", ".join(_written(item, quoted=False) for item in value) + " ]"
    return str(value)


def _expanded(tree: Tree, value: dict[str, Any], dimensions: int | None) -> Iterator[Edit]:
    """Lists of one word for a machine of several dimensions."""
    lists = {key: value[key] for key in _lists() if isinstance(value.get(key), list) and value[key]}
    wanted = dimensions or max(map(len, lists.values()), default=0)
    for key, words in lists.items():
        if len(words) == 1 < wanted and isinstance(words[0], str) and not words[0].startswith("one"):
            pointer = next(child("", old) for old in tree.value if old == key or _same(old, [key]))
            span = tree.at(pointer)
            yield Edit(span.start, span.end, json.dumps(words * wanted))


def _lists() -> list[str]:
    return [keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED]


# -- texts of 1.0

_PAIR = re.compile(r"([A-Za-z][\w-]*)([ \t]*:[ \t]*)([^\s:]+)")
_COLUMN = re.compile(r"\S+")


def _system_1(source: Source) -> Iterator[Edit]:
    """`key: value`, the colon glued to the key and then a blank; words in their own case."""
    for match in _PAIR.finditer(source.text):
        key = match[1] if match[1] in SETTINGS else _same(match[1], SETTINGS)
        if key is None:
            continue
        value = _setting(key, match[3])
        if (key, value) != (match[1], match[3]) or not re.fullmatch(r":[ \t]+", match[2]):
            yield Edit(match.start(), match.end(), f"{key}: {value}")


def _setting(key: str, value: str) -> str:
    """A value as its key takes it, the value itself where there is no one answer."""
    setting = SETTINGS[key]
    if setting.value(value) is not None and setting.advice(value) is None:
        return value
    if key in _lists():
        words = [word for word in re.split(r"[_,;\[\]\"]+", value) if word]
        mended = "_".join(str(_text(word, _schema("system")["$defs"]["algorithms"]["items"])) for word in words)
    elif value in {"true", "false"}:
        mended = str(int(value == "true"))
    elif re.fullmatch(r"\d{1,15}\.0*", value, re.ASCII):
        mended = value.partition(".")[0]
    else:
        mended = _same(value, setting.takes.split("`")[1::2]) or value
    return mended if setting.value(mended) is not None else value


def _workload_1(source: Source) -> Iterator[Edit]:
    """The policies and the words for communication in capitals; numbers without a fraction."""
    policies = [policy.value for policy in Policy]
    first = _COLUMN.search(source.text)
    if first is not None and (policy := _same(first[0], policies)) is not None:
        yield Edit(*first.span(), policy)
    for line in re.finditer(r"[^\r\n]+", source.text):
        columns = list(_COLUMN.finditer(source.text, *line.span()))
        if len(columns) not in {12, 13}:
            continue
        for at, column in enumerate(columns[2:], 2):
            mended = None
            if at in {3, 6, 9, 12}:
                mended = _same(column[0], policies if at == 12 else WORDS)
            elif re.fullmatch(r"\d{1,18}\.0+", column[0], re.ASCII):
                mended = column[0].partition(".")[0]
            if mended is not None:
                yield Edit(*column.span(), mended)
