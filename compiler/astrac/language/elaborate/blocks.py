"""Blocks by their schema: which keys and blocks they may hold, and what is filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Label, diagnostic, quoted
from astrac.language import schema, syntax
from astrac.language.document import ALL, Origin, escaped
from astrac.language.elaborate import misses
from astrac.language.elaborate.findings import Lost
from astrac.language.elaborate.values import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from astrac.language.elaborate.findings import Findings
    from astrac.language.elaborate.lets import Lets
    from astrac.language.schema import Schema


class Blocks:
    """Elaborates blocks, and notes of every value its origin, its unit, and whether it is a hole."""

    def __init__(self, spec: Schema, variant: syntax.Variant, lets: Lets, findings: Findings) -> None:
        whole = variant.source.whole()
        self.origins: dict[str, Origin] = {"": Origin(whole, whole)}
        self.units: dict[str, str] = {}
        self.holes: set[str] = {f"/{ALL}"} if variant.broken else set()
        self._spec = spec
        self._broken = variant.broken
        self._helped: set[tuple[str, tuple[str, ...]]] = set()
        self._siblings: dict[tuple[str, str], syntax.Block] = {}
        self._findings = findings
        self._reader = Reader(lets, _referable(spec, variant.in_force), self.origins, self.units)

    def tree(self, in_force: tuple[syntax.Block, ...]) -> dict[str, Any]:
        """The blocks in force, by kind; those that the file leaves out come from the defaults."""
        tree: dict[str, Any] = {}
        for block in in_force:
            kind = block.kind.text
            tree[kind] = self._named(block, self._spec["properties"][kind], f"/{kind}")
        if in_force:
            self._fill(tree, self._spec, "")
        self._order(tree)
        return tree

    def _order(self, tree: dict[str, Any]) -> None:
        """Puts dimensions of one NPU last, with their pointers: `construct` leaves them out, and no other one moves."""
        blocks = tree.get("topology", {}).get("dimensions", [])
        order = sorted(range(len(blocks)), key=lambda at: blocks[at].get("size") == 1)
        if order == [*range(len(blocks))]:
            return
        blocks[:] = [blocks[at] for at in order]
        top = "/topology/dimensions"
        places = {f"{top}/{old}": f"{top}/{new}" for new, old in enumerate(order)}

        def moved(pointer: str) -> str:
            block = "/".join(pointer.split("/")[:4])
            return places.get(block, block) + pointer[len(block) :]

        self.origins = {moved(pointer): origin for pointer, origin in self.origins.items()}
        self.units = {moved(pointer): unit for pointer, unit in self.units.items()}
        self.holes = {*map(moved, self.holes)}

    def library(self, others: tuple[syntax.Block, ...]) -> tuple[dict[str, Any], ...]:
        """Blocks that are not in force, of any kind."""
        made: list[dict[str, Any]] = []
        for block in others:
            kind = block.kind.text
            if self._findings.full:
                break
            if kind in self._spec["properties"]:
                entry = self._spec["properties"][kind]
                made.append({"kind": kind} | self._named(block, entry, f"/library/{len(made)}"))
            else:
                self._findings.add(misses.block(block, self._spec, self._spec))
                self._hole("", misses.meant(kind, self._spec), self._spec)
        return tuple(made)

    def _named(self, block: syntax.Block, entry: Schema, pointer: str) -> dict[str, Any]:
        """A block that may have a name of its own."""
        self.origins[pointer] = Origin(block.kind.span, block.header)
        tree: dict[str, Any] = {}
        with self._findings.collected():
            misses.check_name(block, entry)
        if block.name is not None and entry.get("x-named", "none") != "none":
            tree["name"] = block.name.text
            self.origins[f"{pointer}/name"] = Origin(block.kind.span, block.name.span)
        if self._broken and block.braces is None:
            self.holes.add(f"{pointer}/{ALL}")  # its braces may be what did not parse
        self._items(block.items, entry, pointer, tree)
        self._fill(tree, entry, pointer)
        return {name: tree[name] for name in entry.get("properties", ()) if name in tree} | tree

    def _items(self, items: Iterable[syntax.Item], entry: Schema, pointer: str, tree: dict[str, Any]) -> None:
        for item in items:
            if self._findings.full:
                self.holes.add(f"{pointer}/{ALL}")
                return
            with self._findings.collected():
                if isinstance(item, syntax.Attribute):
                    self._attribute(item, entry, pointer, tree)
                elif isinstance(item, syntax.Block):
                    self._child(item, entry, pointer, tree)
                elif isinstance(item, syntax.Broken):
                    self.holes.add(f"{pointer}/{ALL}")

    def _attribute(self, item: syntax.Attribute, entry: Schema, pointer: str, tree: dict[str, Any]) -> None:
        key = item.key_text or entry.get("x-word", "")
        place = f"{pointer}/{escaped(key)}"
        value = schema.value(entry, key, quoted=item.key[0].quoted) if len(item.key) == 1 and key else None
        if value is None:
            self._hole(pointer, misses.meant(key, entry, tree), entry)
            found = misses.key(item, entry, self._spec, tree)
            if (pointer, found.hints) in self._helped:
                raise Lost  # the same help once a block
            self._helped.add((pointer, found.hints))
            raise Diagnosed(found)
        if "x-word" in value:
            # `precision: bf16` is `precision { compute: bf16 }`
            inner: dict[str, Any] = tree.setdefault(key, {})
            self.origins[place] = Origin(item.key_span, item.key_span)
            self.holes.add(place)
            self._plain(item, value["x-word"], value, place, inner)
            self.holes.remove(place)
            self._fill(inner, value, place)
        else:
            self._plain(item, key, entry | {"properties": {key: value}}, pointer, tree)

    def _hole(self, pointer: str, meant: str, entry: Schema) -> None:
        """Notes what was probably meant by a word that is not known; without a guess, any block may have been."""
        if meant:
            self.holes.add(f"{pointer}/{misses.property_of(meant, entry)}")
        else:
            lists = (name for name, value in entry.get("properties", {}).items() if "x-blocks" in value)
            self.holes.update(f"{pointer}/{name}" for name in lists)

    def _plain(self, item: syntax.Attribute, key: str, entry: Schema, pointer: str, tree: dict[str, Any]) -> None:
        place = f"{pointer}/{escaped(key)}"
        self.origins[place] = Origin(item.key_span, item.value.span)
        self.holes.add(place)
        self._reader.title = entry.get("title", "")
        tree[key] = self._reader.read(item.value, key, entry["properties"][key], place)
        self.holes.remove(place)

    def _child(self, block: syntax.Block, entry: Schema, pointer: str, tree: dict[str, Any]) -> None:
        branches = schema.branches(entry)
        if block.kind.text not in branches:
            self.holes.add(f"{pointer}/{ALL}")
            raise Diagnosed(misses.block(block, entry, self._spec))
        name, branch = branches[block.kind.text]
        if "x-blocks" in entry["properties"][name]:
            siblings: list[dict[str, Any]] = tree.setdefault(name, [])
            place = f"{pointer}/{name}/{len(siblings)}"
            self._check_sibling(block, f"{pointer}/{name}")
            siblings.append({"kind": block.kind.text} | self._named(block, branch, place))
            self.origins.setdefault(f"{pointer}/{name}", self.origins[pointer])
        else:
            tree[name] = tree.get(name, {}) | self._named(block, branch, f"{pointer}/{name}")

    def _check_sibling(self, block: syntax.Block, pointer: str) -> None:
        """Blocks of one list need different names whatever their kinds, for they are referred to by name alone."""
        if block.name is None:
            return
        earlier = self._siblings.setdefault((pointer, block.name.text), block)
        if earlier.kind.text != block.kind.text:
            note = Label(earlier.header, "first given here")
            message = f"the name {quoted(block.name.text)} is given twice"
            self._findings.add(diagnostic("AS202", message, block.name.span, note))

    def _fill(self, tree: dict[str, Any], entry: Schema, pointer: str) -> None:
        """Defaults for what is not there; their origin is the block's."""
        properties: dict[str, Schema] = entry.get("properties", {})
        for name, value in properties.items():
            place = f"{pointer}/{name}"
            if name in tree or place in self.holes:
                continue
            if "default" in value:
                self._default(tree, name, value, place, pointer)
            elif "x-blocks" in value:
                tree[name] = []
                self.origins[place] = self.origins[pointer]
        for name, value in properties.items():
            other = value.get("x-default-of")
            if other in tree and name not in tree and f"{pointer}/{name}" not in self.holes:
                tree[name] = tree[other]
                self.origins[f"{pointer}/{name}"] = self.origins[pointer]

    def _default(self, tree: dict[str, Any], name: str, value: Schema, place: str, pointer: str) -> None:
        self.origins[place] = self.origins[pointer]
        if value["type"] == "object":
            tree[name] = dict(value["default"])
            self._fill(tree[name], value, place)
            return
        tree[name] = value["default"]
        if "x-unit" in value:
            self.units[place] = value["x-unit"]


def _referable(spec: Schema, in_force: tuple[syntax.Block, ...]) -> dict[str, tuple[str, ...]]:
    """The names of the blocks in lists with `x-names`, by that word: what `x-ref` may refer to."""
    names: dict[str, tuple[str, ...]] = {}
    for block in in_force:
        entry = spec["properties"][block.kind.text]
        branches = schema.branches(entry)
        for item in block.items:
            if isinstance(item, syntax.Block) and item.kind.text in branches:
                word = entry["properties"][branches[item.kind.text][0]].get("x-names", "")
                name = item.name or item.kind
                names[word] = (*names.get(word, ()), name.text)
    return names
