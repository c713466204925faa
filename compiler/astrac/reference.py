"""Everything that is written from the grammar, the schemas and the codes, so that no meaning stands twice.

The generated files of a checkout are compared in CI, and written by `astrac docs`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from keyword import iskeyword
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from astrac import resources, units
from astrac.codes import CODES
from astrac.language import schema
from astrac.language.parse.generate import generate

if TYPE_CHECKING:
    from astrac.codes import Code
    from astrac.language.schema import Schema


def generated() -> dict[str, str]:
    """Every generated file: its path in the checkout and the content that it should have."""
    return {
        "grammar/astra.tables.json": generate(),
        "compiler/astrac/spec.py": _typed(schema.spec()),
        "grammar/DIAGNOSTICS.md": _diagnostics(),
        "schemas/README.md": _schemas(schema.spec()),
    }


def stale_references() -> tuple[str, ...]:
    """Generated files of the checkout that are not what the grammar, the schemas and the codes say."""
    return tuple(
        path
        for path, content in generated().items()
        if not (file := _checkout(path)).exists() or file.read_text(encoding="utf-8") != content
    )


def write_references() -> None:
    """Writes them anew."""
    for path, content in generated().items():
        _checkout(path).write_text(content, encoding="utf-8", newline="\n")


def _checkout(path: str) -> Path:
    return Path(str(resources.root())) / path


# -- grammar/DIAGNOSTICS.md: the page of every code

_CODES_HEAD = """\
# Every diagnostic

Written by `astrac docs` from `compiler/astrac/pages/`; do not edit. `astrac explain AS301` prints one page.
"""


def _diagnostics() -> str:
    """One chapter a hundred, one section a code."""
    parts = [_CODES_HEAD]
    for hundred, pages in groupby(CODES.values(), key=lambda code: code.code[:3]):
        chapter = tuple(pages)
        parts.append(f"## {hundred}xx: {chapter[0].area}\n")
        parts += map(_page, chapter)
    return "\n".join(parts)


def _page(code: Code) -> str:
    severity = "" if code.severity.value == "error" else f" ({code.severity.value})"
    parts = [f"### {code.code}: {code.title}{severity}", code.what, code.why]
    if code.bad:
        parts += [f"```\n{code.bad.rstrip()}\n```"]
    if code.good:
        parts += ["Instead:", f"```\n{code.good.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


# -- schemas/README.md: every block and every key

_WORDS = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text"}
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _schemas(spec: Schema) -> str:
    """One section a block, in the order of the spec; kinds that share a schema share a section."""
    sections: dict[str, tuple[list[str], Schema]] = {}
    for path, block in schema.walk(spec):
        if path:
            sections.setdefault(block["title"], ([], block))[0].append(" > ".join(path))
    return "\n".join(
        [resources.text("templates", "schemas.md"), *(_section(paths, block) for paths, block in sections.values())]
    )


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
    shown = [_WORDS[kind] for kind in kinds if not (kind == "string" and words)]
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


# -- spec.py: the schemas as frozen dataclasses

_SPEC_HEAD = '''"""The typed spec. Written by `astrac docs` from schemas/; do not edit.

Numbers are exact and in the base unit that stands beside them. None: not given, and without a default in the schema.
A key that is a word of Python ends in `_` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - `construct` reads the hints
from typing import Literal
'''

_HINTS = {"integer": "int", "number": "Fraction", "boolean": "bool", "string": "str"}


def _typed(spec: Schema) -> str:
    """The content that spec.py should have: one class a block, inner ones first."""
    classes: dict[str, str] = {}
    _add(spec, (), classes)
    return "\n\n".join([_SPEC_HEAD, *classes.values()])


def _add(block: Schema, kinds: tuple[str, ...], classes: dict[str, str]) -> None:
    by_title: dict[str, list[str]] = {}
    for kind, (name, branch) in schema.branches(block).items():
        collected = "x-blocks" in block["properties"][name]
        by_title.setdefault(branch["title"], []).extend([kind] if collected else [])
    for _, branch in schema.branches(block).values():
        is_map = isinstance(branch.get("additionalProperties"), dict)
        if branch["title"] not in classes and not is_map:
            _add(branch, tuple(by_title[branch["title"]]), classes)
    classes[block["title"]] = _class(block, kinds)


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
        return " | ".join(_HINTS[name] for name in entry["type"])
    if entry["type"] == "array":
        return f"tuple[{_hint(entry['items'])}, ...]"
    if entry["type"] == "object":
        rest = entry.get("additionalProperties")
        return f"dict[str, {_hint(rest)}]" if isinstance(rest, dict) else str(entry["title"])
    return _HINTS[entry["type"]]


def _literal(words: tuple[str, ...] | list[str]) -> str:
    return "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"
