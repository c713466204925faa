"""From one form of ASTRA-sim's inputs to another: mended texts, traces as text, differences, specs of bundles."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.bundles import text_job
from astrac.api.guarding import MAX_TEXT
from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors
from astrac.diff import diff_text
from astrac.fix import fix
from astrac.simulators.astra_sim_2 import simulator as simulator_2
from astrac.simulators.astra_sim_2 import transcript
from astrac.simulators.astra_sim_2.read import load
from astrac.simulators.astra_sim_2.read.folder import find, read
from astrac.simulators.importer import adopt_text
from astrac.simulators.recognise import KINDS, recognise
from astrac.simulators.survey import survey
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_1.job import TextJob


# -- fix


@dataclass(frozen=True)
class Mended:
    """A file, before and after; equal where there is nothing to mend.

    Attributes:
        path: of it.
        before, after: its texts.
        kind: of `kinds.KINDS`.
    """

    path: str
    before: str
    after: str
    kind: str

    @property
    def difference(self) -> str:
        """As a unified diff."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = unified_diff(old, new, self.path, f"{self.path}, mended")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)

    def write(self) -> None:
        """Puts the mended text in the file's place."""
        with Path(self.path).open("w", encoding="utf-8", newline="") as file:
            file.write(self.after)


def mend(path: str, kind: str | None = None) -> Result[Mended]:
    """What `fix` makes of a file.

    Args:
        path: of it.
        kind: of `kinds.KINDS`, None: what is in it tells.
    """
    try:
        data, _ = load.content(Path(path), None, MAX_TEXT)
        text = data.decode("utf-8")
    except (Diagnosed, FileNotFoundError, UnicodeDecodeError) as stop:
        found = stop.diagnostic if isinstance(stop, Diagnosed) else diagnostic("AS700", f"cannot read `{path}` as text")
        return Result(None, (found,))
    word = kind or recognise(path, data)
    if word is None or word in {"spec", "trace"}:
        message = "not one of ASTRA-sim's text files, as far as its content tells"
        return Result(None, (diagnostic("AS781", message, Source(path).whole()),))
    mark = text[:1] if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff")
    after = fix(Source(path, body), word, survey(Path(path).parent).files if word == "system" else None)
    # 1.0 takes a byte-order mark for a part of the first word; every other reader passes over it.
    return Result(Mended(path, text, after if word.endswith("-1") else mark + after, word))


# -- decode, encode


def decode(path: str, form: str = "jsonl") -> Result[Iterator[str]]:
    """The lines of a trace: `text` for people, `jsonl` to be encoded again."""
    try:
        data, _ = load.content(Path(path), None, KINDS["trace"].limit)
        lines = transcript.to_text(data) if form == "text" else transcript.to_lines(data)
        return Result(iter(list(lines)))
    except Diagnosed as stop:
        found = stop.diagnostic
        return Result(None, (found if found.labels else diagnostic(found.code, found.message, Source(path).whole()),))
    except FileNotFoundError:
        return Result(None, (diagnostic("AS700", f"`{path}` does not exist"),))


def encode(path: str, lines: Iterator[str]) -> Result[bytes]:
    """The trace that lines of JSON describe; `path` is what they are called."""
    try:
        return Result(b"".join(transcript.from_lines(lines)))
    except Diagnosed as stop:
        found = stop.diagnostic
        return Result(None, (diagnostic(found.code, found.message, Source(path).whole()),))


# -- diff, import


@dataclass(frozen=True)
class _Sides:
    """What a folder holds, for either simulator."""

    job: Job | None = None
    text: TextJob | None = None


def differences(one: str, other: str) -> Result[tuple[str, ...]]:
    """What is different between two bundles, in either simulator's eyes; errors in them stand in the way."""
    before, after = _sides(one), _sides(other)
    found = (*before.diagnostics, *after.diagnostics)
    if before.value is None or after.value is None:
        return Result(None, found)
    lines: list[str] = []
    for attribute, title in (("job", "ASTRA-sim 2.x"), ("text", "ASTRA-sim 1.0")):
        sides = getattr(before.value, attribute), getattr(after.value, attribute)
        if None in sides and sides != (None, None):
            lines.append(f"only `{one if sides[0] is not None else other}` is for {title}")
    if before.value.job is not None and after.value.job is not None:
        lines += simulator_2.differences(before.value.job, after.value.job)
    if before.value.text is not None and after.value.text is not None:
        lines += diff_text(before.value.text, after.value.text)
    return Result(tuple(lines), found)


def _sides(folder: str) -> Result[_Sides]:
    """The Jobs in a folder; AS708 when there is none."""
    found: list[Diagnostic] = []
    text = None
    families = {bundle.family: bundle for bundle in survey(Path(folder)).bundles} if Path(folder).is_dir() else {}
    job = None
    if "astra-sim-2" in families or "astra-sim-1" not in families:
        result = _job(folder)
        found += result.diagnostics
        job = result.value
    if "astra-sim-1" in families:
        parsed = text_job(families["astra-sim-1"])
        found += (finding for finding in parsed.diagnostics if finding.is_error)
        text = parsed.value
    broken = has_errors(found) or (job is None and text is None)
    return Result(None if broken else _Sides(job, text), tuple(found))


def _job(folder: str) -> Result[Job]:
    try:
        return read(find(Path(folder)))
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))


def import_bundle(folder: str) -> Result[str]:
    """The text of a spec that builds the same network, system and memory as a bundle, of 2.x where it is for both."""
    name = Path(folder).resolve().name
    found = survey(Path(folder)).files if Path(folder).is_dir() else {}
    if len(found.get("network", ())) == len(found.get("system", ())) == 1 and "trace" not in found:
        files = {kind: paths[0] for kind, paths in found.items() if len(paths) == 1}
        return simulator_2.machine_to_spec(files, Path(folder), name)
    sides = _sides(folder)
    if sides.value is None:
        return Result(None, sides.diagnostics)
    if sides.value.job is not None:
        made = simulator_2.to_spec(sides.value.job, name)
    else:
        assert sides.value.text is not None
        made = adopt_text(sides.value.text, name)
    return Result(made.value, (*sides.diagnostics, *made.diagnostics))
