"""Keys, blocks and names that a block does not take: what was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac import units
from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic, quoted
from astrac.language import schema, syntax
from astrac.language.slips import slip
from astrac.suggest import listed, nearest

if TYPE_CHECKING:
    from collections.abc import Collection

    from astrac.language.schema import Schema


def meant(word: str, entry: Schema, given: Collection[str] = ()) -> str:
    """The key or block that a word was probably meant to be: of what is missing first, never what is there already."""
    names = {*schema.keys(entry), *schema.branches(entry)}
    other = slip(word, entry.get("title", ""))
    if other in names:
        return other
    missing = [name for name in schema.required(entry) if name in names and name not in given]
    left = names.difference(given)
    return nearest(word, missing, 0.5) or nearest(word, left) or _within(word, left) or ""


def _within(word: str, names: Collection[str]) -> str | None:
    """The name that a word of several parts has among them: `tensor_parallel_size`."""
    parts = word.lower().replace("-", "_").split("_")
    return next((name for name in sorted(names) if len(parts) > 1 and name in parts), None)


def property_of(name: str, entry: Schema) -> str:
    """The property that holds a key or a block: then it is not missing as well."""
    return schema.branches(entry)[name][0] if name in schema.branches(entry) else name


def key(item: syntax.Attribute, entry: Schema, spec: Schema, given: Collection[str] = ()) -> Diagnostic:
    """For a key that the block does not have; `given` are those that it has."""
    name, branches = item.key_text or item.key_span.text, schema.branches(entry)
    if not item.key_text or name in branches:
        hints: tuple[str, ...] = (f"write `{_block_line(name, item.value, branches)}`",)
        return diagnostic("AS408", f"{quoted(name)} is a block, not a key", item.key_span, hints=hints)
    if len(item.key) > 1:
        hints = ("write `" + " { ".join(step.text for step in item.key) + ": ..." + " }" * (len(item.key) - 1) + "`",)
        return diagnostic("AS409", "a dotted key stands in `profile` and `sweep` only", item.key_span, hints=hints)
    places = [kind for kind, (_, branch) in branches.items() if name in schema.keys(branch)]
    other, found = slip(name, entry.get("title", "")), meant(name, entry, given)
    if found in branches:
        hints = (f"write `{_block_line(found, item.value, branches)}`",)
    elif other and not found:
        hints = (other,)
    elif len(places) == 1:
        hints = (f"it stands in a block inside: `{places[0]} {{ {name}: ... }}`",)
    else:
        hints = (f"did you mean `{found}`?",) if found else _homes(name, entry, spec) or _listed(entry)
    return diagnostic("AS401", f"unknown key {quoted(name)}", item.key_span, hints=hints)


def _block_line(kind: str, value: syntax.Expression, branches: dict[str, tuple[str, Schema]]) -> str:
    """A block with the value where it fits: `tensor { degree: 8 }`, and what else it needs."""
    entry = branches[kind][1] if kind in branches else {}
    keys = schema.keys(entry)
    unit = units.UNITS.get(value.unit.text) if isinstance(value, syntax.Number) and value.unit else None
    due = None if not isinstance(value, syntax.Number) else units.NONE if unit is None else unit.dimension
    fitting = [
        name
        for name, wanted in keys.items()
        if wanted.get("type") in ("number", "integer") and units.dimension(wanted.get("x-unit", "1")) == due
    ]
    if not fitting:
        return f"{kind} {{ ... }}"
    first = entry["x-lead"] if entry.get("x-lead") in fitting else fitting[0]
    others = [name for name in schema.required(entry) if name in keys and name != first]
    return f"{kind} {{ {', '.join([f'{first}: {value.span.text}', *(f'{name}: ...' for name in others)])} }}"


def _homes(name: str, entry: Schema, spec: Schema) -> tuple[str, ...]:
    """The hint that names the blocks that have such a key; none where none or too many do."""
    homes = sorted({path[-1] for path, home in schema.walk(spec) if path and name in schema.keys(home)})
    words = " and ".join(f"`{home}`" for home in homes)
    own = entry.get("title", "").lower()
    few = 1 <= len(homes) <= 3
    return (f"{quoted(name)} is a key of {words}" + (f", not of `{own}`" if own else ""),) if few else ()


def block(item: syntax.Block, entry: Schema, spec: Schema) -> Diagnostic:
    """For a block that may not stand in another (or at top level, when `entry` is the spec)."""
    name = item.kind.text
    if name in schema.keys(entry):
        hints: tuple[str, ...] = (f"write `{name}: ...`",)
        return diagnostic("AS408", f"{quoted(name)} is a key, not a block", item.kind.span, hints=hints)
    homes = sorted({path[-1] if path else "" for path, home in schema.walk(spec) if name in schema.branches(home)})
    other, found = slip(name, entry.get("title", "")), meant(name, entry)
    if homes:
        where = " or ".join(f"in `{home}`" if home else "at top level" for home in homes)
        hints = (f"it stands {where}",)
    elif other and not found:
        hints = (other,)
    else:
        hints = (f"did you mean `{found}`?",) if found else _listed(entry)
    return diagnostic("AS402", f"unknown block {quoted(name)}", item.kind.span, hints=hints)


def check_name(item: syntax.Block, entry: Schema) -> None:
    """Whether the block has a name exactly when it takes one.

    Raises:
        Diagnosed: AS407.
    """
    named = entry.get("x-named", "none")
    kind = quoted(item.kind.text)
    if item.name is None and named in ("required", "pattern"):
        example = f'{item.kind.text} "..."' if named == "pattern" else f"{item.kind.text} my_{item.kind.text}"
        hints = (f"write `{example} {{ ... }}`",)
        raise Diagnosed(diagnostic("AS407", f"a {kind} block needs a name", item.kind.span, hints=hints))
    if item.name is not None and named == "none":
        raise Diagnosed(diagnostic("AS407", f"a {kind} block takes no name", item.name.span))
    if item.name is not None and item.name.quoted and named != "pattern":
        hints = ("names are letters, digits and `_`, without quotes",)
        raise Diagnosed(diagnostic("AS407", f"the name of a {kind} block is a word", item.name.span, hints=hints))


def _listed(entry: Schema) -> tuple[str, ...]:
    kinds, keys = sorted(schema.branches(entry)), sorted(schema.keys(entry))
    return listed([f"{kind} {{ ... }}" for kind in kinds if kind not in keys] + keys)
