"""`from`: a block that begins as a copy of another; and the overlay rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from astrac.diagnostics import Diagnosed, Diagnostic, Label, diagnostic, quoted
from astrac.language import syntax
from astrac.language.slips import where
from astrac.suggest import mean_or_list

if TYPE_CHECKING:
    from collections.abc import Iterable

Key: TypeAlias = tuple[str, str]
"""Kind and name of a block."""

MAX_COPIES = 64
"""Of `from` in a row."""


def named(items: Iterable[syntax.Item]) -> dict[Key, syntax.Block]:
    """The named blocks among items; of two with one name, the first."""
    found: dict[Key, syntax.Block] = {}
    for item in items:
        if isinstance(item, syntax.Block) and item.name is not None:
            found.setdefault((item.kind.text, item.name.text), item)
    return found


class Copier:
    """Carries out every `from`; what is wrong is added to the findings, and the block then stands without its base.

    Args:
        visible: the named blocks of all files.
        findings: where errors go.
        broken: something that may define a base did not parse, so a missing one is no error.
    """

    def __init__(self, visible: dict[Key, syntax.Block], findings: list[Diagnostic], *, broken: bool) -> None:
        self._visible = visible
        self._findings = findings
        self._broken = broken
        self._circles: set[int] = set()

    def block(self, block: syntax.Block, siblings: dict[Key, syntax.Block] | None = None) -> syntax.Block:
        """The block with its own items laid over those of its bases."""
        candidates = self._visible if siblings is None else siblings
        chain = [block]
        try:
            while chain[-1].base is not None:
                chain.append(self._base(chain, candidates))
        except Diagnosed as error:
            if not (self._broken and error.diagnostic.code == "AS208") and not self._is_known_circle(chain):
                self._findings.append(error.diagnostic)
            self._circles.update(map(id, chain))
            return block._replace(base=None, items=(*block.items, syntax.Broken(block.header)))
        items: tuple[syntax.Item, ...] = ()
        for link in reversed(chain):
            items = overlay(items, self.items(link.items))
        return block._replace(base=None, items=items)

    def items(self, items: tuple[syntax.Item, ...]) -> tuple[syntax.Item, ...]:
        """Carries out `from` for the blocks among items, which find their bases among their neighbours."""
        siblings = named(items)
        return tuple(self.block(item, siblings) if isinstance(item, syntax.Block) else item for item in items)

    def _is_known_circle(self, chain: list[syntax.Block]) -> bool:
        """Whether one of these was reported already: a circle is one mistake, however many blocks lie on it."""
        return any(id(link) in self._circles for link in chain[1:])

    def _base(self, chain: list[syntax.Block], candidates: dict[Key, syntax.Block]) -> syntax.Block:
        block = chain[-1]
        assert block.base is not None
        kind, name = block.kind.text, block.base.text
        found = candidates.get((kind, name))
        if found is None:
            hints = where(kind, name) or mean_or_list(name, [other for sort, other in candidates if sort == kind])
            message = f"no {quoted(kind)} is named {quoted(name)}"
            raise Diagnosed(diagnostic("AS208", message, block.base.span, hints=hints))
        if any(found is link for link in chain):
            message = f"{quoted(found.label)} is copied from itself"
            raise Diagnosed(diagnostic("AS209", message, block.base.span, Label(found.header, "from here")))
        if len(chain) > MAX_COPIES:
            message = f"{quoted(chain[0].label)} is copied over more than {MAX_COPIES} others"
            raise Diagnosed(diagnostic("AS209", message, chain[0].header))
        return found


def overlay(base: tuple[syntax.Item, ...], above: tuple[syntax.Item, ...]) -> tuple[syntax.Item, ...]:
    """Items laid over others: attributes replace, blocks merge by kind and name, new ones come last.

    A block without a name lies over the only one of its kind. `precision: bf16` and `precision { ... }` lie over each
    other as blocks; there the plain word has the empty key.

    Raises:
        Diagnosed: AS212 when there are several of the kind.
    """
    attributes = {item.key_text: item for item in base if isinstance(item, syntax.Attribute)}
    blocks = {_key(item): item for item in base if isinstance(item, syntax.Block)}
    others = [item for item in base if not isinstance(item, syntax.Attribute | syntax.Block)]
    for item in above:
        if isinstance(item, syntax.Attribute) and (item.key_text, None) not in blocks:
            attributes.pop(item.key_text, None)
            attributes[item.key_text] = item
        elif isinstance(item, syntax.Attribute | syntax.Block):
            block = item if isinstance(item, syntax.Block) else _as_block(item)
            plain = attributes.pop(block.kind.text, None) if block.name is None else None
            if plain is not None:
                blocks[block.kind.text, None] = _as_block(plain)
            key = _covered(block, blocks)
            under = blocks.get(key)
            blocks[key] = block if under is None else under._replace(items=overlay(under.items, block.items))
        else:
            others.append(item)
    return (*blocks.values(), *attributes.values(), *others)


def _key(block: syntax.Block) -> tuple[str, str | None]:
    return block.kind.text, None if block.name is None else block.name.text


def _as_block(attribute: syntax.Attribute) -> syntax.Block:
    word = attribute._replace(key=(attribute.key[0]._replace(text=""),))
    return syntax.Block(attribute.key[0], None, None, (word,), attribute.key_span, None)


def _covered(block: syntax.Block, blocks: dict[tuple[str, str | None], syntax.Block]) -> tuple[str, str | None]:
    kind = block.kind.text
    if block.name is not None:
        return _key(block)
    same = [(key, other) for key, other in blocks.items() if key[0] == kind]
    if (kind, None) in blocks or not same:
        return kind, None
    if len(same) > 1:
        labels = [Label(other.header, "this one?") for _, other in same[:2]]
        message = f"there are several {quoted(kind)} blocks: name the one that is meant"
        raise Diagnosed(diagnostic("AS212", message, block.header, *labels))
    return same[0][0]
