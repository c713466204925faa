"""A broken document -> edits that put right what has one right answer, and leave comments and order as they are.

Case of names, `8.0`, booleans for switches, scalars for lists: what the schema of the document wants.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.conform import load
from astrac.diagnostics import Diagnosed
from astrac.positioned import child
from astrac.simulators.rows import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.positioned import Tree
    from astrac.source import Source


def same(word: str, known: Iterable[str]) -> str | None:
    """The word that is this one but for case, dashes and blanks; None when it is one itself, or when there is none."""
    plain = re.sub(r"[\W_]", "", word).lower()
    found = [other for other in known if re.sub(r"[\W_]", "", other).lower() == plain and other != word]
    return found[0] if len(found) == 1 else None


def of_document(
    source: Source,
    schema: str,
    parse: Callable[[Source], Tree],
    *,
    words: Iterable[str] = (),
    further: Callable[[Tree, dict[str, Any]], Iterator[Edit]] | None = None,
) -> Iterator[Edit]:
    """The edits of a document; none of a text that is no object.

    Args:
        source: the text.
        schema: a name of `schemas/artifacts/<name>.schema.json`.
        parse: makes a tree of the text, or raises Diagnosed.
        words: that texts of the document are made of, in their right case.
        further: edits that need the whole document, after its values were put right.
    """
    try:
        tree = parse(source)
    except Diagnosed:
        return
    if isinstance(tree.value, dict):
        mender = Mender(load(schema), tuple(words))
        value, edits = mender.document(tree)
        yield from edits
        if further is not None:
            yield from further(tree, value)


class Mender(NamedTuple):
    """Puts values right.

    Attributes:
        schema: of the whole document; rows refer to its `$defs`.
        words: see `of_document`.
    """

    schema: dict[str, Any]
    words: tuple[str, ...] = ()

    def document(self, tree: Tree) -> tuple[dict[str, Any], list[Edit]]:
        """The object as it should be, and the edits that make it so."""
        rows, others = self.schema.get("properties", {}), self.schema.get("additionalProperties") or {}
        value: dict[str, Any] = {}
        edits: list[Edit] = []
        for key, old in tree.value.items():
            name = same(key, (known for known in rows if known not in tree.value))
            if name is not None:
                span = tree.key(child("", key))
                edits.append(Edit(span.start, span.end, span.text.replace(key, name)))
            value[name or key] = new = self.mended(old, rows.get(name or key) or others)
            if _differ(new, old):
                edits += _rewritten(tree, child("", key), old, new)
        return value, edits

    def mended(self, value: Any, row: dict[str, Any]) -> Any:
        """A value as its row of the schema wants it, the value itself where that is not the only possibility."""
        if "$ref" in row:
            row = self.schema["$defs"][row["$ref"].rpartition("/")[2]]
        kind = row.get("type")
        if kind == "array":
            return self._list(value, row.get("items", {}))
        if isinstance(value, bool):
            return int(value) if row.get("enum") == [0, 1] else value
        if "enum" in row and isinstance(value, str):
            return same(value, (word for word in row["enum"] if isinstance(word, str))) or value
        if "const" in row and isinstance(value, str):
            return row["const"]
        if kind == "integer":
            number = _number(value)
            return int(number) if number is not None and number == int(number) else value
        if kind == "number":
            number = _number(value)
            return value if number is None or not isinstance(value, str) else number
        return self.text(value, row) if kind == "string" else value

    def _list(self, value: Any, items: dict[str, Any]) -> Any:
        """A list: of a scalar one of it alone, of words in one text one of them."""
        if isinstance(value, list):
            return [self.mended(item, items) for item in value]
        if isinstance(value, str) and "pattern" in items:
            return [self.mended(word, items) for word in re.split(r"[_,;\s]+", value) if word]
        return [self.mended(value, items)] if isinstance(value, str | int | float) else value

    def text(self, value: Any, row: dict[str, Any]) -> Any:
        """A known word, with the number that may follow it, in its own case; a number becomes a text."""
        if isinstance(value, int):
            return str(value)
        if isinstance(value, str) and "pattern" in row and re.search(row["pattern"], value) is None:
            word = value.rstrip("0123456789")
            mended = (same(word, self.words) or word) + value[len(word) :]
            return mended if re.search(row["pattern"], mended) else value
        return value


def _number(value: Any) -> float | int | None:
    """A number, or a text that is one."""
    if isinstance(value, str):
        if re.fullmatch(r"[-+]?\d{1,15}", value, re.ASCII):
            return int(value)
        return float(value) if re.fullmatch(r"[-+]?\d{1,15}\.\d{1,15}", value, re.ASCII) else None
    return value if isinstance(value, int | float) and abs(value) < 2**53 else None


def _differ(one: Any, other: Any) -> bool:
    """Whether two values are written differently: 8.0 equals 8, and is another text."""
    return json.dumps(one) != json.dumps(other)


def _rewritten(tree: Tree, pointer: str, old: Any, new: Any) -> Iterator[Edit]:
    """Writes a value anew: of a list that stays as long, only the entries that change."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            if _differ(before, after):
                yield from _rewritten(tree, child(pointer, at), before, after)
        return
    span = tree.at(pointer)
    is_json = span.source.text.lstrip()[:1] == "{"
    yield Edit(span.start, span.end, json.dumps(new, ensure_ascii=False) if is_json else _yaml(new))


def _yaml(value: Any) -> str:
    """A value in YAML's flow style."""
    return "[ " + ", ".join(map(_yaml, value)) + " ]" if isinstance(value, list) else str(value)
