"""The text of spec.py: the schemas as frozen dataclasses."""

from __future__ import annotations

from keyword import iskeyword
from textwrap import fill
from typing import TYPE_CHECKING

from astrac.language import schema

if TYPE_CHECKING:
    from astrac.language.schema import Schema

_HEAD = '''"""The typed spec. Written by `astrac docs` from schemas/; do not edit.

Numbers are exact and in the base unit that stands beside them. None: not given, and without a default in the schema.
A key that is a word of Python ends in `_` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - `construct` reads the hints
from typing import Literal
'''

_TYPES = {"integer": "int", "number": "Fraction", "boolean": "bool", "string": "str"}


def typed(spec: Schema) -> str:
    """The content that spec.py should have: one class a block, inner ones first."""
    classes: dict[str, str] = {}
    _add(spec, (), classes)
    return "\n\n".join([_HEAD, *classes.values()])


def _add(block: Schema, kinds: tuple[str, ...], classes: dict[str, str]) -> None:
    by_title: dict[str, list[str]] = {}
    for kind, (name, branch) in schema.branches(block).items():
        collected = "x-blocks" in block["properties"][name]
        by_title.setdefault(branch["title"], []).extend([kind] if collected else [])
    for _, branch in schema.branches(block).values():
        if branch["title"] not in classes and not _is_map(branch):
            _add(branch, tuple(by_title[branch["title"]]), classes)
    classes[block["title"]] = _class(block, kinds)


def _is_map(block: Schema) -> bool:
    return isinstance(block.get("additionalProperties"), dict)


def _class(block: Schema, kinds: tuple[str, ...]) -> str:
    fields: list[tuple[str, str, str]] = []
    if kinds:
        fields.append(("kind", _literal(kinds), "The block's kind."))
    for name, entry in block["properties"].items():
        if name == "kind" and kinds:
            continue
        if name == "name" and block.get("x-named", "none") != "none":
            optional = block["x-named"] == "optional"
            fields.append((name, "str | None = None" if optional else "str", entry["description"]))
            continue
        hint = _hint(entry) if _is_given(block, name) else f"{_hint(entry)} | None = None"
        unit = f" [{entry['x-unit']}]" if entry.get("x-unit", "1") != "1" else ""
        fields.append((name + "_" * iskeyword(name), hint, entry["description"] + unit))
    attributes = "\n".join(_wrapped(f"{name}: {text}", " " * 8, " " * 12) for name, _, text in fields)
    lines = "\n".join(_field(name, hint) for name, hint, _ in fields)
    first, _, rest = block["description"].partition(". ")
    summary = _wrapped(f'"""{first.rstrip(".")}.', " " * 4, " " * 4)
    more = "\n\n" + _wrapped(rest, " " * 4, " " * 4) if rest else ""
    return (
        f"@dataclass(frozen=True, kw_only=True)\nclass {block['title']}:\n"
        f'{summary}{more}\n\n    Attributes:\n{attributes}\n    """\n\n{lines}\n'
    )


def _field(name: str, hint: str) -> str:
    """The line of a field, broken where ruff would break it."""
    line = f"    {name}: {hint}"
    if len(line) <= 120:
        return line
    opening, _, rest = line.partition("[")
    inner, _, closing = rest.rpartition("]")
    return f"{opening}[\n        {inner}\n    ]{closing}"


def _wrapped(text: str, first: str, others: str) -> str:
    return fill(
        text, 120, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _is_given(block: Schema, name: str) -> bool:
    """Whether an elaborated and valid document always has the key."""
    entry = block["properties"][name]
    other = entry.get("x-default-of")
    return (
        name in block.get("required", ())
        or "default" in entry
        or "x-blocks" in entry
        or (other is not None and _is_given(block, other))
    )


def _hint(entry: Schema) -> str:
    if "x-blocks" in entry:
        titles = dict.fromkeys(branch["title"] for branch in entry["x-blocks"].values())
        return f"tuple[{' | '.join(titles)}, ...]"
    if "enum" in entry:
        return _literal(entry["enum"])
    if isinstance(entry["type"], list):
        return " | ".join(_TYPES[name] for name in entry["type"])
    if entry["type"] == "array":
        return f"tuple[{_hint(entry['items'])}, ...]"
    if entry["type"] == "object":
        rest = entry.get("additionalProperties")
        return f"dict[str, {_hint(rest)}]" if isinstance(rest, dict) else str(entry["title"])
    return _TYPES[entry["type"]]


def _literal(words: tuple[str, ...] | list[str]) -> str:
    return "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"
