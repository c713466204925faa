"""Which files there are, and whether what they define is defined once."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from astrac.diagnostics import Diagnostic, Label, Result, diagnostic, has_errors, quoted
from astrac.language import syntax
from astrac.language.slips import shipped
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.source import Span

Load: TypeAlias = Callable[[str], Result[syntax.File]]

MAX_FILES = 1000

MAX_CHAIN = 100
"""Of files that use each other in a row."""


_INSIDE = (syntax.Attribute, syntax.Block, syntax.Broken)
_OVERLAY = (*_INSIDE, syntax.Let, syntax.Assertion)
_ANYTHING = (*_OVERLAY, syntax.Use, syntax.Profile, syntax.Sweep)


@dataclass(frozen=True)
class Files:
    """A root file and all that it uses, directly or not.

    Attributes:
        root: the root file.
        used: the others, in the order in which they are met.
        broken: whether a file is missing, an item did not parse, or two named blocks are one: names may be lost.
    """

    root: syntax.File
    used: tuple[syntax.File, ...]
    broken: bool


@dataclass(frozen=True)
class _Visit:
    """A file on the way from the root: its path, the `use` that led to it, and whether it is a shipped one."""

    path: str
    use: syntax.Use | None = None
    shipped: bool = False


def gather(root: syntax.File, load: Load, findings: list[Diagnostic]) -> Files:
    """All files, each loaded once however often it is used; what is wrong with them is added to the findings."""
    gathering = _Gathering(load, findings)
    gathering.follow(root, (_Visit(root.source.name),))
    files = Files(root, tuple(gathering.files.values()), gathering.broken)
    everything = (root, *files.used)
    twice = [_check_items(file.items, findings, _ANYTHING) for file in everything]
    _check_names(everything, findings)
    return replace(files, broken=files.broken or any(twice))


class _Gathering:
    def __init__(self, load: Load, findings: list[Diagnostic]) -> None:
        self.files: dict[str, syntax.File] = {}
        self.broken = False
        self._load = load
        self._findings = findings
        self._failed: set[str] = set()

    def follow(self, file: syntax.File, trail: tuple[_Visit, ...]) -> None:
        """Loads what a file uses; the trail leads from the root to it."""
        self.broken |= _has_broken(file.items) or any(map(_is_foreign_use, file.items))
        seen: dict[str, Span] = {}
        for use in (item for item in file.items if isinstance(item, syntax.Use)):
            visit = _visit(use, trail[-1])
            if visit.path in seen:
                note = Label(seen[visit.path], "first used here")
                self._findings.append(diagnostic("AS206", f"{quoted(visit.path)} is used twice", use.path.span, note))
                continue
            seen[visit.path] = use.path.span
            on_trail = next((at for at, earlier in enumerate(trail) if earlier.path == visit.path), None)
            if on_trail is not None:
                self._report_cycle(visit, trail[on_trail + 1 :])
            elif visit.path not in self.files and visit.path not in self._failed:
                self._enter(visit, trail)

    def _enter(self, visit: _Visit, trail: tuple[_Visit, ...]) -> None:
        assert visit.use is not None
        span = visit.use.path.span
        if len(self.files) >= MAX_FILES or len(trail) > MAX_CHAIN:
            self._fail(visit.path, diagnostic("AS205", "too many files use each other", span))
            return
        if not visit.path.endswith(".astra"):
            # What is no spec is not read either: its lines would stand in messages.
            self._fail(visit.path, diagnostic("AS204", f"{quoted(visit.path)} does not end in `.astra`", span))
            return
        try:
            loaded = self._load(visit.path)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or "no such file").lower()
            hints = did_you_mean(visit.path, shipped()) if visit.shipped else ()
            message = f"cannot read {quoted(visit.path)}: {reason}"
            self._fail(visit.path, diagnostic("AS204", message, span, hints=hints))
            return
        self._fail(visit.path, *loaded.diagnostics)
        if loaded.value is not None:
            self.files[visit.path] = loaded.value
            self.follow(loaded.value, (*trail, visit))

    def _fail(self, path: str, *errors: Diagnostic) -> None:
        self._failed.add(path)
        self._findings.extend(errors)
        self.broken |= has_errors(errors)

    def _report_cycle(self, visit: _Visit, following: tuple[_Visit, ...]) -> None:
        """At the `use` that closes the circle, with a note at the one that opened it."""
        assert visit.use is not None
        opening = following[0].use if following else None
        notes = () if opening is None else (Label(opening.path.span, "the circle begins here"),)
        self._findings.append(diagnostic("AS205", f"{quoted(visit.path)} uses itself", visit.use.path.span, *notes))


def _visit(use: syntax.Use, importer: _Visit) -> _Visit:
    """The file that a `use` means: relative to the file it stands in, or `std/...`, the shipped library."""
    written = use.path.value
    if written.startswith("std/") and ".." not in written:
        return _Visit(posixpath.normpath(written), use, shipped=True)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(importer.path), written))
    if path.startswith("std/") and not importer.shipped:
        path = "./" + path  # a folder of the user's own
    return _Visit(path, use, importer.shipped)


def _is_foreign_use(item: syntax.Item) -> bool:
    """Whether it is `import "..."`, or another word of that kind, which would bring what a `use` does."""
    return isinstance(item, syntax.Block) and item.name is not None and item.name.quoted and item.braces is None


def _has_broken(items: Iterable[syntax.Item]) -> bool:
    return any(
        isinstance(item, syntax.Broken)
        or (isinstance(item, syntax.Block | syntax.Profile | syntax.Sweep) and _has_broken(item.items))
        for item in items
    )


def _check_items(items: tuple[syntax.Item, ...], findings: list[Diagnostic], allowed: tuple[type, ...]) -> bool:
    """Items stand where they may, and no key or block is given twice; whether a named block is."""
    seen: dict[tuple[str, ...], Span] = {}
    twice = False
    findings += _nameless(items)
    for item in items:
        if not isinstance(item, allowed):
            word = item.span.text.split(maxsplit=1)[0]
            span = item.span.source.span(item.span.start, item.span.start + len(word))
            findings.append(diagnostic("AS207", f"`{word}` stands at the top level of a file only", span))
            continue
        if isinstance(item, syntax.Block | syntax.Profile | syntax.Sweep):
            twice |= _check_items(item.items, findings, _INSIDE if isinstance(item, syntax.Block) else _OVERLAY)
        identity = _identity(item)
        if identity is None:
            continue
        key, span, what = identity
        if key in seen:
            findings.append(diagnostic("AS202", f"{what} is given twice", span, Label(seen[key], "first given here")))
            twice |= isinstance(item, syntax.Block) and item.name is not None
        seen.setdefault(key, span)
    return twice


def _nameless(items: tuple[syntax.Item, ...]) -> Iterator[Diagnostic]:
    """Blocks without a name beside one of their kind that has one: an overlay would take them for the same."""
    blocks = [item for item in items if isinstance(item, syntax.Block)]
    named = {block.kind.text: block for block in reversed(blocks) if block.name is not None}
    for block in blocks:
        other = named.get(block.kind.text)
        if block.name is None and other is not None:
            note = Label(other.header, "beside this one")
            hint = f"write `{block.kind.text} my_{block.kind.text} {{ ... }}`"
            message = f"a {quoted(block.kind.text)} block needs a name"
            yield diagnostic("AS407", message, block.header, note, hints=(hint,))


def _identity(item: syntax.Item) -> tuple[tuple[str, ...], Span, str] | None:
    """What may not be there twice; an attribute and a nameless block of one key are the same."""
    match item:
        case syntax.Attribute():
            return ("key", item.key_text), item.key_span, f"key {quoted(item.key_text)}"
        case syntax.Block(name=None):
            return ("key", item.kind.text), item.header, f"block {quoted(item.label)}"
        case syntax.Block(name=syntax.Name() as name):
            return ("block", item.kind.text, name.text), item.header, f"block {quoted(item.label)}"
        case syntax.Let():
            return ("let", item.name.text), item.name.span, quoted(f"let {item.name.text}")
        case syntax.Profile():
            return ("profile", item.name.text), item.name.span, f"profile {quoted(item.name.text)}"
        case syntax.Sweep():
            return ("sweep",), item.header, "`sweep`"
    return None


def _check_names(files: tuple[syntax.File, ...], findings: list[Diagnostic]) -> None:
    """Lets and named blocks of different files share one space."""
    seen: dict[tuple[str, ...], tuple[syntax.File, Span]] = {}
    for file in reversed(files):
        for item in file.items:
            if not isinstance(item, syntax.Let | syntax.Block) or (isinstance(item, syntax.Block) and not item.name):
                continue
            identity = _identity(item)
            assert identity is not None
            key, span, what = identity
            earlier, place = seen.setdefault(key, (file, span))
            if earlier is not file:
                note = Label(place, "also defined here")
                findings.append(diagnostic("AS203", f"{what} is defined in two files", span, note))
