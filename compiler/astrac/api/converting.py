"""From one form of a simulator's inputs to another: mended texts, traces as text, differences, specs of bundles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac.api.guarding import MAX_TEXT, machine_set, sets_of
from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors, quoted
from astrac.files import content, unreadable
from astrac.simulators.protocol import Ability, Edit
from astrac.simulators.table import SPEC, kinds, named, reader, recognise, simulators
from astrac.source import Source
from astrac.survey import survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.diagnostics import Diagnostic


# -- fix

MAX_ROUNDS = 5
"""One repair may open the way to another; what does not settle then is left as it is."""

MAX_TRIALS = 50
"""Of parts of the repairs of a text, when all together would add a finding."""


@dataclass(frozen=True)
class Mended:
    """A file, before and after; equal where there is nothing to mend.

    Attributes:
        path: of it.
        before, after: its texts.
    """

    path: str
    before: str
    after: str

    @property
    def difference(self) -> str:
        """As a unified diff."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = unified_diff(old, new, self.path, f"{self.path}, mended")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


def texts_of(path: str) -> Result[tuple[tuple[str, str | None], ...]]:
    """A file; or the texts in a folder with their kinds, in the order of the table: the first help to mend others."""
    if not Path(path).is_dir():
        return Result(((path, None),))
    found = survey(Path(path))
    texts = [kind for kind, row in kinds().items() if row.is_text]
    files = ((str(file), kind) for kind in texts for file in found.files.get(kind, ()))
    return Result(tuple(files), tuple(unreadable(found.unread)))


def mend(path: str, kind: str | None = None) -> Result[Mended]:
    """A file with what has one right answer put right; as it is where nothing has one.

    Args:
        path: of it.
        kind: a word of the table, None: what is in it tells.
    """
    try:
        data, _ = content(Path(path), None, MAX_TEXT)
        text = data.decode("utf-8")
    except (Diagnosed, FileNotFoundError, UnicodeDecodeError) as stop:
        found = stop.diagnostic if isinstance(stop, Diagnosed) else diagnostic("AS700", f"cannot read `{path}` as text")
        return Result(None, (found,))
    word = kind or recognise(path, data)
    if word is None or word == SPEC or not kinds()[word].is_text:
        message = "not one of ASTRA-sim's text files, as far as its content tells"
        return Result(None, (diagnostic("AS781", message, Source(path).whole()),))
    simulator = reader(word)

    def edits_of(text: str) -> list[Edit]:
        """All that the text lends itself to; a mark is not taken for a part of the first word."""
        body = text.removeprefix("\ufeff")
        further = simulator.wing.fix(word, Source(path, body), lambda: survey(Path(path).parent).files)
        shift = len(text) - len(body)
        mark = [Edit(0, shift, "")] if shift and not kinds()[word].mark else []
        return mark + [Edit(edit.start + shift, edit.end + shift, edit.text) for edit in further]

    def findings(text: str) -> tuple[Diagnostic, ...]:
        body = text.removeprefix("\ufeff") if kinds()[word].mark else text
        return simulator.wing.check_file(word, Source(path, body), body.encode(), None)

    return _settled(path, text, edits_of, findings)


_Findings: TypeAlias = "Callable[[str], tuple[Diagnostic, ...]]"


def _settled(path: str, text: str, edits_of: Callable[[str], list[Edit]], findings: _Findings) -> Result[Mended]:
    """A text after all repairs that add no finding, until there are no more; AS885 for each that would."""
    after = text
    for _ in range(MAX_ROUNDS):
        kept, refused = _sound(Source(path, after), edits_of(after), findings)
        before, after = after, edited(after, kept)
        if after == before:
            return Result(Mended(path, text, after), tuple(refused))
    return Result(Mended(path, text, text))


def _sound(source: Source, edits: list[Edit], findings: _Findings) -> tuple[list[Edit], list[Diagnostic]]:
    """The edits that add no finding, all together or in ever smaller parts, and what is said of the others."""
    parts = [edits] if edits else []
    kept: list[Edit] = []
    refused: list[Diagnostic] = []
    found = findings(source.text) if edits else ()
    for _ in range(MAX_TRIALS):
        if not parts:
            break
        part = parts.pop()
        then = findings(edited(source.text, [*kept, *part]))
        if len(then) <= len(found) and _errors(then) <= _errors(found):
            kept, found = kept + part, then
        elif len(part) > 1:
            parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        else:
            span = source.span(part[0].start, part[0].end)
            added = Counter(one.code for one in then) - Counter(one.code for one in found)
            message = f"{quoted(span.text)} stays: {quoted(part[0].text)} would bring {', '.join(sorted(added))}"
            refused.append(diagnostic("AS885", message, span, hints=("write it by hand, together with the rest",)))
    return kept, refused


def _errors(found: Iterable[Diagnostic]) -> int:
    return sum(finding.is_error for finding in found)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A text with edits carried out; of two edits of one place the later one knows more."""
    last = {(edit.start, edit.end): edit for edit in edits}
    for edit in sorted(last.values(), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


# -- decode, encode


def decode(path: str, form: str = "jsonl") -> Result[Iterator[str]]:
    """The lines of a file that is no text: `text` for people, `jsonl` to be encoded again."""
    binary = {word: row for word, row in kinds().items() if not row.is_text}
    try:
        data, _ = content(Path(path), None, max(row.limit for row in binary.values()))
        word = recognise(path, data)
        simulator = reader(word if word in binary else next(iter(binary)))
        return Result(iter(list(simulator.wing.decode(data, form))))
    except Diagnosed as stop:
        found = stop.diagnostic
        return Result(None, (found if found.labels else diagnostic(found.code, found.message, Source(path).whole()),))
    except FileNotFoundError:
        return Result(None, (diagnostic("AS700", f"`{path}` does not exist"),))


def encode(path: str, lines: Iterator[str]) -> Result[bytes]:
    """The trace that lines of JSON describe; `path` is what they are called."""
    word = next(word for word, row in kinds().items() if not row.is_text)
    try:
        return Result(reader(word).wing.encode(lines))
    except Diagnosed as stop:
        found = stop.diagnostic
        return Result(None, (diagnostic(found.code, found.message, Source(path).whole()),))


# -- diff, import


def differences(one: str, other: str) -> Result[tuple[str, ...]]:
    """What is different between two bundles, in each simulator's eyes; errors in them stand in the way."""
    before, after = _jobs(one), _jobs(other)
    found = (*before.diagnostics, *after.diagnostics)
    if before.value is None or after.value is None:
        return Result(None, found)
    able = simulators(Ability.CONVERT)
    lines = [
        f"only `{one if simulator.name in before.value else other}` is for {simulator.title}"
        for simulator in able
        if (simulator.name in before.value) != (simulator.name in after.value)
    ]
    for simulator in able:
        if simulator.name in before.value and simulator.name in after.value:
            lines += simulator.wing.differences(before.value[simulator.name], after.value[simulator.name])
    return Result(tuple(lines), found)


def _jobs(folder: str) -> Result[dict[str, Any]]:
    """The jobs in a folder by their simulator; AS708 when there is none."""
    jobs: dict[str, Any] = {}
    found: list[Diagnostic] = []
    try:
        for files in sets_of(Path(folder), Ability.CONVERT):
            read = named(files.simulator).wing.read(files)
            found += read.diagnostics
            if read.value is not None:
                jobs[files.simulator] = read.value
    except Diagnosed as stop:
        found.append(stop.diagnostic)
    return Result(None if has_errors(found) or not jobs else jobs, tuple(found))


def import_bundle(folder: str) -> Result[str]:
    """The text of a spec that builds the same network, system and memory as a bundle.

    Of a folder that holds sets for several simulators the first of the table counts; without the files of the ranks,
    the machine alone is imported.
    """
    try:
        found = machine_set(Path(folder), Ability.CONVERT) or sets_of(Path(folder), Ability.CONVERT)[0]
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    return named(found.simulator).wing.to_spec(found, Path(folder).resolve().name)
