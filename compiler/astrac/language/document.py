"""The elaborated spec: a plain tree of exact values with all defaults filled, and where each came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import units
from astrac.diagnostics import Diagnosed, Label, diagnostic, quoted
from astrac.language.expression import Value, Values
from astrac.suggest import did_you_mean
from astrac.units import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.language import syntax
    from astrac.source import Source, Span


ALL = "*"
"""As the last step of a hole: anything may be missing in the block."""


class Origin(NamedTuple):
    """Where a value stands: its key (a block's kind) and itself (a block's header). Defaults have their block's."""

    key: Span
    value: Span


@dataclass(frozen=True)
class Document:
    """One elaborated file.

    Attributes:
        source: the root file's.
        name: of the sweep's point, empty where nothing is swept.
        point: what the sweep chose: key and value as written.
        tree: the blocks in force by kind. Numbers are exact and in base units, whole ones `int`, others `Fraction`;
            blocks collected by an array are `{kind, name, ...}` in file order.
        library: the file's other named blocks, each `{kind, name, ...}`; checked, but not part of the spec.
        origins: by JSON pointer into the tree; those of `library` begin with `/library/0`.
        units: the base unit of each dimensioned number, by pointer.
        holes: pointers where something was wrong; what is missing there was reported already.
        lets: values by name.
        assertions: the root file's.
        is_spec: whether the file is a spec; `tree` is empty otherwise.
        excluded: the sweep's `where` does not want this point.
        available: names that could be picked, by kind.
        picks: by kind, the name that picks the block in force.
    """

    source: Source
    name: str
    point: tuple[tuple[str, str], ...]
    tree: dict[str, Any]
    library: tuple[dict[str, Any], ...]
    origins: dict[str, Origin]
    units: dict[str, str]
    holes: frozenset[str]
    lets: dict[str, Value]
    assertions: tuple[syntax.Assertion, ...]
    is_spec: bool
    excluded: bool = False
    available: dict[str, tuple[str, ...]] = field(default_factory=dict)
    picks: dict[str, Span] = field(default_factory=dict)

    def at(self, pointer: str) -> Span:
        """The characters of a value, or of a block's header. Raises KeyError for what is not in the document."""
        return self.origins[pointer].value

    def near(self, pointer: str) -> Span:
        """Finds what `at` does, or else the nearest block around such a value, or else the start of the file."""
        while pointer and pointer not in self.origins:
            pointer = pointer.rpartition("/")[0]
        return self.origins[pointer].value if pointer in self.origins else self.source.whole()

    def key(self, pointer: str) -> Span:
        """The characters of a value's key, or of a block's kind. Raises KeyError for what is not in the document."""
        return self.origins[pointer].key

    def value(self, path: syntax.Path) -> Value:
        """What a dotted path leads to; each step is a block's name or kind, or kind and then name, the last one a key.

        Raises:
            Diagnosed: AS211 for a path that leads nowhere, AS212 for one that is ambiguous.
        """
        found: list[tuple[str, Any]] = [("", self.tree)]
        for step in path.names:
            inner = [pair for pointer, node in found for pair in _children(pointer, node, step.text)]
            # `topology.pod.rail.size`: the kind, and then the name.
            inner = inner or [pair for pair in found if isinstance(pair[1], dict) and pair[1].get("name") == step.text]
            if len(inner) > 1:
                labels = [Label(self.at(pointer), "this one?") for pointer, _ in inner[:2]]
                message = f"{quoted(step.text)} could mean several blocks"
                raise Diagnosed(diagnostic("AS212", message, step.span, *labels))
            if not inner:
                hints = did_you_mean(step.text, [name for _, node in found for name in _steps(node)])
                message = f"{quoted(path.text)} leads nowhere"
                raise Diagnosed(diagnostic("AS211", message, step.span, hints=hints))
            found = inner
        pointer, value = found[0]
        if isinstance(value, dict):
            raise Diagnosed(diagnostic("AS211", f"{quoted(path.text)} is a block, not a value", path.span))
        return self._as_value(pointer, value)

    def _as_value(self, pointer: str, value: Any) -> Value:
        if isinstance(value, bool | str):
            return value
        if isinstance(value, list):
            span = self.at(pointer)
            return Values(tuple((self._as_value(f"{pointer}/{at}", item), span) for at, item in enumerate(value)))
        return Quantity(Fraction(value), units.dimension(self.units.get(pointer, "1")))


def _children(pointer: str, node: Any, step: str) -> Iterator[tuple[str, Any]]:
    """What a step leads to from a block: a value, a block of that kind or name."""
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for at, item in enumerate(value):
                if step in (item.get("kind"), item.get("name")):
                    yield f"{pointer}/{key}/{at}", item
        elif key == step or (isinstance(value, dict) and value.get("name") == step):
            yield f"{pointer}/{key}", value


def _steps(node: Any) -> Iterator[str]:
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        blocks = value if isinstance(value, list) else [value]
        inner = [block for block in blocks if isinstance(block, dict)]
        for block in inner:
            yield from (str(block[name]) for name in ("kind", "name") if name in block)
        if not (isinstance(value, list) and inner):
            yield key


def escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def to_json(tree: Any, indent: str = "") -> str:
    """Readable JSON with exact numbers: decimals as they are, fractions whose decimals never end as `"1/3"`."""
    inner = indent + "  "
    match tree:
        case dict() if tree:
            entries = (f"{inner}{_text(key)}: {to_json(value, inner)}" for key, value in tree.items())
            return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
        case list() if any(isinstance(item, dict) for item in tree):
            return "[\n" + ",\n".join(inner + to_json(item, inner) for item in tree) + f"\n{indent}]"
        case list():
            return "[" + ", ".join(to_json(item, inner) for item in tree) + "]"
        case dict():
            return "{}"
        case bool():
            return "true" if tree else "false"
        case int():
            return str(tree)
        case Fraction():
            return units.exact_decimal(tree) or f'"{tree}"'
    return _text(str(tree))


def _text(text: str) -> str:
    import json  # noqa: PLC0415 - not needed to check a spec

    return json.dumps(text, ensure_ascii=False)
