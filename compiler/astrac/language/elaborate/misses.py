"""Keys, blocks and names that a block does not take: what was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic, quoted
from astrac.language import schema, syntax
from astrac.suggest import did_you_mean, listed, nearest

if TYPE_CHECKING:
    from astrac.language.schema import Schema


def meant(word: str, entry: Schema) -> str:
    """The property that a misspelt key or block was probably meant to be: then it is not missing as well."""
    kinds = {kind: name for kind, (name, _) in schema.branches(entry).items()}
    names = {name: name for name in schema.keys(entry)} | kinds
    return names.get(nearest(word, names) or "", "")


def key(item: syntax.Attribute, entry: Schema) -> Diagnostic:
    """For a key that the block does not have."""
    name, branches = item.key_text or item.key_span.text, schema.branches(entry)
    if not item.key_text or name in branches:
        hints: tuple[str, ...] = (f"write `{name} {{ ... }}`",)
        return diagnostic("AS408", f"{quoted(name)} is a block, not a key", item.key_span, hints=hints)
    if len(item.key) > 1:
        hints = ("write `" + " { ".join(step.text for step in item.key) + ": ..." + " }" * (len(item.key) - 1) + "`",)
        return diagnostic("AS409", "a dotted key stands in `profile` and `sweep` only", item.key_span, hints=hints)
    places = [kind for kind, (_, branch) in branches.items() if name in schema.keys(branch)]
    if places and len(places) == 1:
        hints = (f"it stands in a block inside: `{places[0]} {{ {name}: ... }}`",)
    else:
        hints = did_you_mean(name, (*schema.keys(entry), *branches)) or _listed(entry)
    return diagnostic("AS401", f"unknown key {quoted(name)}", item.key_span, hints=hints)


def block(item: syntax.Block, entry: Schema, spec: Schema) -> Diagnostic:
    """For a block that may not stand in another (or at top level, when `entry` is the spec)."""
    name = item.kind.text
    if name in schema.keys(entry):
        hints: tuple[str, ...] = (f"write `{name}: ...`",)
        return diagnostic("AS408", f"{quoted(name)} is a key, not a block", item.kind.span, hints=hints)
    homes = sorted({path[-1] if path else "" for path, home in schema.walk(spec) if name in schema.branches(home)})
    if homes:
        where = " or ".join(f"in `{home}`" if home else "at top level" for home in homes)
        hints = (f"it stands {where}",)
    else:
        hints = did_you_mean(name, (*schema.branches(entry), *schema.keys(entry))) or _listed(entry)
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
