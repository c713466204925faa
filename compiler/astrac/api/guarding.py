"""The simulators' own files: which of a folder run together, and what is wrong with them, alone or together."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic
from astrac.files import content, unreadable
from astrac.simulators.table import SPEC, foreign, kinds, named, reader, recognise, simulators
from astrac.source import Source
from astrac.survey import Survey, survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from astrac.simulators.protocol import Ability, FileSet, Simulator

MAX_TEXT = 4 << 20


@dataclass(frozen=True)
class Guarded:
    """What was looked at, and what was found.

    Attributes:
        files: how many; the traces of a bundle are one.
        diagnostics: in the order of the files.
    """

    files: int
    diagnostics: tuple[Diagnostic, ...]


def check(
    path: str,
    kind: str | None = None,
    backend: str | None = None,
    *,
    only_inputs: bool = False,
    inside: Path | None = None,
) -> Guarded:
    """A file, or everything that a simulator reads below a folder.

    Args:
        path: of either.
        kind: of a file, a word of the table; None: what is in it tells.
        backend: that the files are for; None: the one that they say, else the simulator's first.
        only_inputs: pass over a file that no simulator reads.
        inside: the folder that a file of it may not lead out of, as a link.
    """
    if inside is None and Path(path).is_dir():
        return check_folder(path, backend)
    rows = kinds()
    place = Source(path)
    binary = next((word for word, row in rows.items() if not row.is_text and path.endswith(row.suffix)), None)
    try:
        expected = rows.get(kind or binary or "")
        data, _ = content(Path(path), inside, MAX_TEXT if expected is None else max(MAX_TEXT, expected.limit))
    except (Diagnosed, FileNotFoundError) as stop:
        if only_inputs and binary is None:
            return Guarded(0, ())
        missing = diagnostic("AS700", f"`{path}` does not exist", place.whole())
        return Guarded(1, (stop.diagnostic if isinstance(stop, Diagnosed) else missing,))
    word = kind or recognise(path, data)
    if word is None and only_inputs:
        return Guarded(0, ())
    if word is None or word == SPEC:
        message, *hints = foreign(data) or (
            "not one of ASTRA-sim's files, as far as its content tells",
            f"`--kind` takes one of {', '.join(rows)}",
        )
        return Guarded(1, (diagnostic("AS781", message, place.whole(), hints=hints),))
    if len(data) > rows[word].limit:
        message = f"larger than {rows[word].title} can be: {rows[word].limit >> 10} KiB"
        return Guarded(1, (diagnostic("AS700", message, place.whole()),))
    try:
        text = data.decode("utf-8-sig" if rows[word].mark else "utf-8") if rows[word].is_text else ""
    except UnicodeDecodeError as error:
        return Guarded(1, (diagnostic("AS700", f"not UTF-8: byte {error.start}", place.whole()),))
    return Guarded(1, reader(word).wing.check_file(word, Source(path, text), data, backend))


# -- folders


def check_folder(folder: str, backend: str | None = None) -> Guarded:
    """Every file below a folder that a simulator reads: as a set where files run together, else one by one."""
    found = survey(Path(folder))
    diagnostics = [*unreadable(found.unread), *_together(found, backend), *_apart(folder, found), *_unnamed(found)]
    files = sum(len(one.files) for one in (*found.sets, *found.nearly))
    seen: set[object] = set()
    for kind, path in found.alone:
        files += 1
        of_ranks = found.prefixes.get(path)
        for name in (path,) if of_ranks is None else of_ranks.paths(path):
            status = name.lstat()
            if (status.st_dev, status.st_ino) not in seen:  # hard links are one file
                seen.add((status.st_dev, status.st_ino))
                word = kind if of_ranks is None else of_ranks.kind
                diagnostics += check(str(name), word, backend, inside=Path(folder)).diagnostics
    return Guarded(files, tuple(diagnostics))


def check_files(paths: Sequence[str], backend: str | None = None, *, only_inputs: bool = False) -> Guarded:
    """Files that the user named: as a set those that run together, else one by one.

    Args:
        paths: of files, no folders.
        backend: as of `check`.
        only_inputs: as of `check`.
    """
    try:
        top = Path(os.path.commonpath([Path(path).parent for path in paths]))
    except ValueError:  # some are relative and some are not
        found = Survey()
    else:
        found = survey(top, [Path(path) for path in paths])
    diagnostics = [*_together(found, backend)]
    used = {path for one in (*found.sets, *found.nearly) for path in one.files.values()}
    used.update(file for prefix in used & found.prefixes.keys() for file in found.prefixes[prefix].paths(prefix))
    files = 0
    for path in paths:
        guarded = Guarded(1, ()) if Path(path) in used else check(path, None, backend, only_inputs=only_inputs)
        files += guarded.files
        diagnostics += guarded.diagnostics
    return Guarded(files, tuple(diagnostics))


def _together(found: Survey, backend: str | None) -> Iterator[Diagnostic]:
    """What is wrong with files that run together, or would; with a note what nobody could look at."""
    for one in (*found.sets, *found.nearly):
        yield from named(one.simulator).wing.check_set(one, backend)
    left = {kind for kind, _ in found.alone}
    for one in found.nearly:
        *machine, work = named(one.simulator).needs
        if one.files.keys() >= {*machine} and work not in one.files:
            there = "several" if work in left else "no"
            what = f"there are {there} {kinds()[work].called}: the other files were checked together without any"
            yield diagnostic("AS870", what, Source(str(one.files[machine[0]])).whole())


def _unnamed(found: Survey) -> Iterator[Diagnostic]:
    """AS883 for files of ranks by names that a simulator does not look for."""
    rows = kinds()
    others: dict[tuple[str, Path], list[Path]] = {}
    for kind, path in found.alone:
        if kind in rows and rows[kind].suffix and path not in found.prefixes:
            others.setdefault((kind, path.parent), []).append(path)
    for (kind, _), paths in others.items():
        suffix = rows[kind].suffix
        stem = re.sub(r"[._-]?(?:rank|npu|gpu)?[._-]?\d+[._-]?", "", paths[0].name.removesuffix(suffix)) or "trace"
        more = f" and {len(paths) - 1} others" if len(paths) > 1 else ""
        message = f"nobody finds `{paths[0].name}`{more}: the simulator opens `PREFIX.RANK{suffix}`"
        hint = f"rename `{paths[0].name}` to `{stem}.0{suffix}`"
        yield diagnostic("AS883", message, Source(str(paths[0])).whole(), hints=(hint,))


def _apart(folder: str, found: Survey) -> Iterator[Diagnostic]:
    """Where files could run together: AS708 when one is missing or of another version, a note when it is a guess."""
    judged = dict.fromkeys(entry for one in found.nearly for entry in one.files.items())
    alone = [*found.alone, *judged]
    counts = Counter(kind for kind, _ in alone)
    first = dict(reversed(alone))
    lacking = {simulator: [kind for kind in simulator.needs if kind not in first] for simulator in simulators()}
    nearly = [(simulator, missing[0]) for simulator, missing in lacking.items() if len(missing) == 1]
    rows = kinds()
    for simulator, gap in nearly:
        others = [kind for kind in first if kind not in simulator.needs and rows[kind].role == rows[gap].role]
        if rows[gap].role and others:
            path, title = first[others[0]], rows[others[0]].title
            message = f"`{path.name}` is {title}, and the files beside it are for the other version"
            yield diagnostic("AS708", message, Source(str(path)).whole())
    if all(lacking.values()):
        yield from islice((found for entry in nearly for found in _one_missing(*entry, first)), 1)
    for simulator, missing in lacking.items():
        several = [kind for kind in (*simulator.needs, *simulator.takes) if counts[kind] > 1]
        if several and not missing and not any(one.simulator == simulator.name for one in found.nearly):
            titles = " and ".join(f"{counts[kind]} of `{kind}`" for kind in several)
            message = f"the files were checked one by one, not together: there are {titles}"
            yield diagnostic("AS870", message, Source(folder).whole())
            return


def _one_missing(simulator: Simulator, missing: str, first: Mapping[str, Path]) -> Iterator[Diagnostic]:
    """All but one of the texts beside files of ranks."""
    rows = kinds()
    of_ranks = next((first[kind] for kind in simulator.needs if kind in first and rows[kind].suffix), None)
    texts = [first[kind] for kind in simulator.needs if kind in first and rows[kind].is_text]
    if of_ranks is not None and texts and texts[0].parent in (of_ranks.parent, of_ranks.parent.parent):
        lies = f"`{texts[0].name}` and traces lie here without a {rows[missing].called}"
        yield diagnostic("AS708", f"{lies}: ASTRA-sim needs all three", Source(str(texts[0])).whole())


# -- one set and nothing less


def sets_of(folder: Path, ability: Ability) -> list[FileSet]:
    """The sets of a folder that a simulator with this ability runs, one a simulator, in the table's order.

    Raises:
        Diagnosed: AS700 when it is no folder, AS708 when a file is not there or there are several.
    """
    if not folder.is_dir():
        raise Diagnosed(diagnostic("AS700", f"`{folder}` is no folder"))
    found = survey(folder)
    able = [simulator.name for simulator in simulators(ability)]
    first = {files.simulator: files for files in reversed(found.sets) if files.simulator in able}
    if not first:
        raise _incomplete(folder, found, ability)
    return [first[name] for name in able if name in first]


def machine_set(folder: Path, ability: Ability) -> FileSet | None:
    """A set that lacks nothing but the files of the ranks: a machine without work; None when there is none."""
    rows = kinds()
    found = survey(folder) if folder.is_dir() else Survey()
    for one in found.nearly:
        lacking = [kind for kind in named(one.simulator).needs if kind not in one.files]
        if named(one.simulator).can(ability) and lacking and not any(kind in found.files for kind in lacking):
            return one if all(rows[kind].suffix for kind in lacking) else None
    return None


def _incomplete(folder: Path, found: Survey, ability: Ability) -> Diagnosed:
    """Why no set is complete: what the simulator lacks for which most of the files are there."""
    rows = kinds()
    nearest = max(simulators(ability), key=lambda simulator: sum(kind in found.files for kind in simulator.reads))
    for kind in nearest.needs:
        if kind not in found.files:
            hint = f"name it with `{rows[kind].option}`"
            return Diagnosed(diagnostic("AS708", f"`{folder}` holds no {rows[kind].called}", hints=(hint,)))
    for kind in (*nearest.needs, *nearest.takes):
        several = found.files.get(kind, ())
        if len(several) > 1:
            named = ", ".join(f"`{file.relative_to(folder)}`" for file in sorted(several)[:4])
            message = f"`{folder}` holds several files for `{rows[kind].option}`: {named}"
            return Diagnosed(diagnostic("AS708", message, hints=("name each file with ASTRA-sim's own options",)))
    return Diagnosed(diagnostic("AS708", f"the files in `{folder}` do not lie together"))
