"""A finding about a value of the shipped library, told where a user can act on it.

Nobody edits `std/`: the place is the user's own line that brings the block in, the shipped one stands beside it, and
the help is the line that overrides the value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnostic, Label, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.language.document import Document
    from astrac.source import Source, Span

LIBRARY = "std/"
"""How the names of shipped files begin."""


def at_home(document: Document, finding: Diagnostic) -> Diagnostic:
    """The finding at a place of the user's own, with its settings as help: lines to paste."""
    labels, settings, own = finding.labels, finding.settings, True
    if labels and _shipped(document, labels[0].span.source):
        pointer = _pointer(document, labels[0].span)
        block = pointer if isinstance(_at(document, pointer), dict) else pointer.rpartition("/")[0]
        user = Label(_user(document, pointer), labels[0].text)
        labels = (user, replace(labels[0], text="given here"), *labels[1:])
        if not settings and block != pointer:
            settings, own = (Setting(block, f"{pointer.rpartition('/')[2]}: {labels[1].span.text}"),), False
    hints = dict.fromkeys((*finding.hints, *_lines(document, settings, own=own)))
    return replace(finding, labels=labels, settings=(), hints=tuple(hints))


def _shipped(document: Document, source: Source) -> bool:
    return source.name.startswith(LIBRARY) and source.name != document.source.name


def _pointer(document: Document, span: Span) -> str:
    """What a place gives; of several values that come from it, the one that is not a default of the others."""
    places = [pointer for pointer, origin in document.origins.items() if span in origin]
    return min(places, key=lambda pointer: pointer.count("/"), default="")


def _user(document: Document, pointer: str) -> Span:
    """The nearest block around a value that stands in a file of the user's, or else what picks it."""
    while pointer and _shipped(document, document.near(pointer).source):
        kind, pointer = pointer, pointer.rpartition("/")[0]
    return document.near(pointer) if pointer else document.picks.get(kind[1:], document.source.whole())


def _at(document: Document, pointer: str) -> Any:
    node: Any = document.tree
    for step in pointer.split("/")[1:]:
        node = node[int(step)] if isinstance(node, list) else node.get(step) if isinstance(node, dict) else None
    return node


def _lines(document: Document, settings: tuple[Setting, ...], *, own: bool) -> Iterator[str]:
    """What to write for some settings of one block in force."""
    if not settings:
        return
    kind = settings[0].block.split("/")[1]
    pick = document.picks.get(kind)
    ours, theirs = list[str](), list[str]()
    for block, text in settings:
        steps = [label for at in _above(block) if (label := _label(_at(document, at), at))]
        written = not _shipped(document, document.near(block).source) or any(
            pointer.startswith(f"{block}/") and not _shipped(document, origin.value.source)
            for pointer, origin in document.origins.items()
        )
        if written:
            ours.append(f"`{text}` in `{steps[-1].rpartition(' ')[2] if len(steps) > 1 else kind}`")
        else:
            theirs.append("".join(f"{step} {{ " for step in steps[1:]) + text + " }" * (len(steps) - 1))
    after = "" if own else ", with a value of your own"
    if ours:
        yield f"write {' and '.join(ours)}{after}"
    items = ", ".join(theirs)
    if theirs and pick is not None:
        yield f"write `{kind} my_{kind} from {pick.text} {{ {items} }}` in place of `{kind}: {pick.text}`{after}"
    elif theirs:
        name = document.tree[kind].get("name", "")
        yield f"write `{items}` in `{f'{kind} {name}'.rstrip()}`{after}"


def _above(pointer: str) -> Iterator[str]:
    """The pointers of a block and of those around it, the outermost first."""
    steps = pointer.split("/")[1:]
    return ("/" + "/".join(steps[: end + 1]) for end in range(len(steps)))


def _label(node: Any, pointer: str) -> str:
    """How a block is written: `switch rail`; "" for a list of blocks."""
    if not isinstance(node, dict):
        return ""
    return f"{node['kind']} {node.get('name', '')}".rstrip() if "kind" in node else pointer.rpartition("/")[2]
