"""The text of schemas/README.md: every block and every key."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from astrac import units
from astrac.language import schema

if TYPE_CHECKING:
    from astrac.language.schema import Schema

_HEAD = """\
# Every block and every key

Written by `astrac docs` from the schemas in this folder; do not edit. The language itself is in
[grammar/README.md](../grammar/README.md), the diagnostics in [grammar/DIAGNOSTICS.md](../grammar/DIAGNOSTICS.md).

A unit in the column of that name says that the value needs a unit of that kind: `B` a size, `s` a time, `B/s` a
bandwidth, `FLOP/s` a compute rate, `Hz` a frequency, `%` a share, which may also be a plain number. A key without a
default and without "required" may be left out.

The schemas are JSON Schema, draft 2020-12, with annotations of our own:

| annotation | at | says |
| --- | --- | --- |
| `x-named` | a block | whether it has a name: `required`, `optional`, `none`, `pattern` (in quotes); held as `name` |
| `x-unit` | a number | the unit that the document's number is in; numbers without it are counts and ratios |
| `x-blocks` | an array | collects blocks of these kinds in file order, as `{kind, name, ...}` |
| `x-names` | an array with `x-blocks` | what its blocks are to references: `x-ref` with the same word |
| `x-ref` | a text | the word names one of these blocks |
| `x-word` | a block | a plain value is the block with this key alone: `precision: bf16` |
| `x-words` | a number | words that stand for themselves beside the numbers |
| `x-default-of` | a key | the default is the value of that other key of the block |

The numbers in the document are exact; defaults are filled in by `elaborate`, everything else is checked by `validate`.
A new key is one entry here; `astrac docs` then writes this page and `compiler/astrac/spec.py` anew.
"""

_TYPES = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text"}
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def schemas(spec: Schema) -> str:
    """One section a block, in the order of the spec; kinds that share a schema share a section."""
    sections: dict[str, tuple[list[str], Schema]] = {}
    for path, block in schema.walk(spec):
        if path:
            sections.setdefault(block["title"], ([], block))[0].append(" > ".join(path))
    return "\n".join([_HEAD, *(_section(paths, block) for paths, block in sections.values())])


def _section(paths: list[str], block: Schema) -> str:
    heading = ", ".join(f"`{path}`" for path in paths)
    rows = [_row(name, entry, block) for name, entry in schema.keys(block).items()]
    branches: dict[str, tuple[list[str], str, Schema]] = {}
    for kind, (name, branch) in schema.branches(block).items():
        branches.setdefault(branch["title"], ([], name, branch))[0].append(kind)
    rows += [_block_row(kinds, name, branch, block) for kinds, name, branch in branches.values()]
    rest = block.get("additionalProperties")
    if isinstance(rest, dict):
        rows.append(_row("any name", rest, block))
    table = "| key | value | unit | default | meaning |\n| --- | --- | --- | --- | --- |\n" + "\n".join(rows)
    return f"## {heading}\n\n{block['description']} {_NAMED[block.get('x-named', 'none')]}\n\n{table}\n"


_NAMED = {
    "required": "It has a name.",
    "optional": "It may have a name.",
    "pattern": "Its name stands in quotes.",
    "none": "It has no name.",
}


def _row(name: str, entry: Schema, block: Schema) -> str:
    shown = name if name == "any name" else f"`{name}`"
    unit = {"1": "%", "": ""}.get(entry.get("x-unit", ""), entry.get("x-unit", ""))
    value = _value(entry) if "x-word" not in entry else _value(entry["properties"][entry["x-word"]])
    return _cells(shown, value, f"`{unit}`" if unit else "", _default(name, entry, block), entry["description"])


def _block_row(kinds: list[str], name: str, branch: Schema, block: Schema) -> str:
    value = "blocks, in order" if "x-blocks" in block["properties"][name] else "block"
    needed = "required" if name in schema.required(block) and value == "block" else ""
    default = "all defaults" if "default" in block["properties"][name] else needed
    first, _, _ = branch["description"].partition(". ")
    return _cells(", ".join(f"`{kind} {{ }}`" for kind in kinds), value, "", default, first.rstrip(".") + ".")


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(name: str, entry: Schema, block: Schema) -> str:
    if "default" in entry:
        return f"`{_shown(entry['default'], entry)}`"
    if "x-default-of" in entry:
        return f"as `{entry['x-default-of']}`"
    return "required" if name in schema.required(block) else ""


def _value(entry: Schema) -> str:
    if "enum" in entry:
        return ", ".join(f"`{word}`" for word in entry["enum"])
    if "x-ref" in entry:
        return f"name of a {entry['x-ref']}"
    if entry["type"] == "array":
        return f"list of: {_value(entry['items'])}"
    kinds = entry["type"] if isinstance(entry["type"], list) else [entry["type"]]
    words = [f"`{word}`" for word in entry.get("x-words", ())]
    shown = [_TYPES[kind] for kind in kinds if not (kind == "string" and words)]
    limits = [f"{sign} {_shown(entry[bound], entry)}" for bound, sign in _BOUNDS.items() if bound in entry]
    return " or ".join([", ".join([shown[0], *limits]), *shown[1:], *words])


def _shown(value: Any, entry: Schema) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Fraction):
        unit = entry.get("x-unit", "1")
        exact = Fraction(value)
        if unit == "1":
            return units.exact_decimal(exact) or str(exact)
        return str(units.Quantity(exact, units.dimension(unit))) if exact else "0"
    return str(value)
