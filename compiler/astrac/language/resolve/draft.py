"""What a root file says before one point of its sweep is chosen; overlays and assignments make new drafts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, quoted
from astrac.language import schema, syntax
from astrac.language.resolve.copy import Key, named, overlay
from astrac.language.slips import slip, where
from astrac.suggest import did_you_mean, mean_or_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from astrac.language.resolve.sweep import Point


@dataclass(frozen=True)
class Draft:
    """A root file with its `from` carried out.

    Attributes:
        file: the root file.
        lets: all that are visible.
        used: the named blocks of used files.
        blocks: the root file's own.
        picks: `hardware: h100_sxm` at top level, by kind.
        assertions: the root file's.
        broken: see `syntax.Variant`.
    """

    file: syntax.File
    lets: dict[str, syntax.Let]
    used: dict[Key, syntax.Block]
    blocks: tuple[syntax.Block, ...]
    picks: dict[str, syntax.Attribute]
    assertions: tuple[syntax.Assertion, ...]
    broken: bool

    @property
    def is_spec(self) -> bool:
        """Whether the file is a spec rather than a library."""
        kinds = schema.spec()["properties"]
        nameless = {kind for kind, entry in kinds.items() if entry.get("x-named", "none") in ("none", "optional")}
        return bool(self.picks) or any(
            (block.name is None and block.kind.text in nameless)
            or (block.kind.text == "model" and any(_kind(item) == "collective" for item in block.items))
            for block in self.blocks
        )

    def overlaid(self, items: tuple[syntax.Item, ...]) -> Draft:
        """Lays a profile's items over the draft."""
        lets = {item.name.text: item for item in items if isinstance(item, syntax.Let)}
        assertions = tuple(item for item in items if isinstance(item, syntax.Assertion))
        above = tuple(item for item in items if isinstance(item, syntax.Block))
        attributes = [item for item in items if isinstance(item, syntax.Attribute)]
        ours = named(self.blocks)
        visible = (*self.blocks, *(block for key, block in self.used.items() if key not in ours))
        laid = overlay(visible, above)
        theirs = {key: block for key, block in named(laid).items() if key in self.used and key not in ours}
        blocks = tuple(item for item in laid if isinstance(item, syntax.Block) and not _is_one_of(item, theirs))
        draft = replace(
            self,
            lets=self.lets | lets,
            used=self.used | theirs,
            blocks=blocks,
            assertions=self.assertions + assertions,
        )
        return draft.assigned(attributes)

    def assigned(self, attributes: Iterable[syntax.Attribute]) -> Draft:
        """Carries out each `path: value`; lets and picks first, for paths go through what is picked.

        Raises:
            Diagnosed: AS211 for a path that leads nowhere, AS212 for one that is ambiguous.
        """
        draft = self
        for attribute in sorted(attributes, key=lambda attribute: len(attribute.key) > 1):
            draft = draft._name(attribute) if len(attribute.key) == 1 else draft._path(attribute)
        return draft

    def closed(self, point: Point) -> syntax.Variant:
        """The variant of one point.

        Raises:
            Diagnosed: AS214 for two blocks of a kind and no pick, AS208 for a pick of something that is not there.
        """
        in_force = self._in_force() if self.is_spec else ()
        return syntax.Variant(
            name=point.name,
            source=self.file.source,
            point=point.values,
            lets=self.lets,
            in_force=in_force,
            others=tuple(block for block in self.blocks if not any(block is chosen for chosen in in_force)),
            assertions=self.assertions,
            where=point.where,
            is_spec=self.is_spec,
            broken=self.broken,
            available={
                kind: tuple(sorted({name for sort, name in {**self.used, **named(self.blocks)} if sort == kind}))
                for kind in _kinds()
            },
            picks={kind: pick.value.span for kind, pick in self.picks.items()},
        )

    def _name(self, attribute: syntax.Attribute) -> Draft:
        name = attribute.key_text
        if name in self.lets:
            let = syntax.Let(attribute.key[0], attribute.value, attribute.span)
            return replace(self, lets=self.lets | {name: let})
        if name in _kinds():
            return replace(self, picks=self.picks | {name: attribute})
        raise Diagnosed(_nowhere(attribute, self._in_force(), (*self.lets, *_kinds())))

    def _path(self, attribute: syntax.Attribute) -> Draft:
        first, *rest = attribute.key
        in_force = self._in_force()
        block = _step(first, in_force)
        if block is None:
            if first.text not in _kinds():
                names = [name for found in in_force for name in _names(found)]
                raise Diagnosed(_nowhere(attribute, in_force, (*names, *_kinds())))
            created = _put(_nameless(first), rest, attribute)
            return replace(self, blocks=(*self.blocks, created))
        changed = _put(block, rest, attribute)
        if any(block is own for own in self.blocks):
            return replace(self, blocks=tuple(changed if own is block else own for own in self.blocks))
        assert block.name is not None
        return replace(self, used=self.used | {(block.kind.text, block.name.text): changed})

    def _in_force(self) -> tuple[syntax.Block, ...]:
        found = (self._chosen(kind) for kind in _kinds())
        return tuple(block for block in found if block is not None)

    def _chosen(self, kind: str) -> syntax.Block | None:
        own = [block for block in self.blocks if block.kind.text == kind]
        if kind in self.picks:
            return self._picked(kind, self.picks[kind].value)
        if len(own) > 1:
            hints = (f"pick one: `{kind}: {own[0].name.text}`",) if own[0].name else ()
            note = Label(own[0].header, "the other one")
            message = f"two {quoted(kind)} blocks and no word which one is in force"
            raise Diagnosed(diagnostic("AS214", message, own[1].header, note, hints=hints))
        return own[0] if own else None

    def _picked(self, kind: str, value: syntax.Expression) -> syntax.Block:
        visible = {**self.used, **named(self.blocks)}
        names = [name for sort, name in visible if sort == kind]
        word, seen = value, set[str]()
        while isinstance(word, syntax.Path) and (kind, word.text) not in visible and word.text in self.lets:
            if word.text in seen:
                break
            seen.add(word.text)
            word = self.lets[word.text].value
        if not isinstance(word, syntax.Path):
            raise Diagnosed(diagnostic("AS208", f"a pick is the name of a {quoted(kind)} block", word.span))
        if (kind, word.text) not in visible:
            message = f"no {quoted(kind)} is named {quoted(word.text)}"
            other = slip(word.text, f"Spec.{kind}")
            hints = (other,) if other else where(kind, word.text) or mean_or_list(word.text, names)
            raise Diagnosed(diagnostic("AS208", message, word.span, hints=hints))
        return visible[kind, word.text]


def _kinds() -> tuple[str, ...]:
    return tuple(schema.spec()["properties"])


def _kind(item: syntax.Item) -> str | None:
    return item.kind.text if isinstance(item, syntax.Block) else None


def _is_one_of(block: syntax.Block, blocks: dict[Key, syntax.Block]) -> bool:
    return any(block is other for other in blocks.values())


def _names(block: syntax.Block) -> tuple[str, ...]:
    return (block.kind.text,) if block.name is None else (block.kind.text, block.name.text)


def _step(name: syntax.Name, blocks: Iterable[syntax.Block]) -> syntax.Block | None:
    """The block that a step of a path means: by its name or its kind."""
    found = [block for block in blocks if name.text in _names(block)]
    if len(found) > 1:
        labels = [Label(block.header, "this one?") for block in found[:2]]
        raise Diagnosed(diagnostic("AS212", f"{quoted(name.text)} could mean several blocks", name.span, *labels))
    return found[0] if found else None


def _put(block: syntax.Block, steps: list[syntax.Name], attribute: syntax.Attribute) -> syntax.Block:
    """The block with the value at the end of the path; blocks on the way that are not there come into being."""
    if len(steps) == 1:
        leaf = attribute._replace(key=(steps[0],))
        return block._replace(items=overlay(block.items, (leaf,)))
    inner = [item for item in block.items if isinstance(item, syntax.Block)]
    found = _step(steps[0], inner)
    if found is None and block.name is not None and block.name.text == steps[0].text:
        return _put(block, steps[1:], attribute)  # `topology.pod.rail.size`: the kind, and then the name
    changed = _put(found or _nameless(steps[0]), steps[1:], attribute)
    if found is None:
        return block._replace(items=overlay(block.items, (changed,)))
    return block._replace(items=tuple(changed if item is found else item for item in block.items))


def _nameless(kind: syntax.Name) -> syntax.Block:
    return syntax.Block(kind, None, None, (), kind.span, None)


def _nowhere(attribute: syntax.Attribute, in_force: Iterable[syntax.Block], choices: Iterable[str]) -> Diagnostic:
    """For a path whose first step is nothing: what it may be a part of, else what is like it."""
    step = attribute.key[0]
    whole = [f"{block.kind.text}.{attribute.key_text}" for block in in_force if _holds(block, step.text)]
    hints = tuple(f"did you mean `{path}`?" for path in whole[:1]) or did_you_mean(step.text, choices)
    return diagnostic("AS211", f"{quoted(attribute.key_text)} leads nowhere", step.span, hints=hints)


def _holds(block: syntax.Block, name: str) -> bool:
    """Whether a block may have a key, or has a block, of that name."""
    inner = [item for item in block.items if isinstance(item, syntax.Block)]
    return name in schema.spec()["properties"][block.kind.text]["properties"] or any(
        name in _names(item) for item in inner
    )
