"""Which files of a folder run together, for commands that want one set and nothing less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.simulators.protocol import FileSet
from astrac.simulators.table import kinds, simulators
from astrac.survey import survey

if TYPE_CHECKING:
    from pathlib import Path

    from astrac.simulators.protocol import Ability
    from astrac.survey import Survey


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


def best_set(folder: Path, ability: Ability) -> FileSet:
    """The first of them."""
    return sets_of(folder, ability)[0]


def machine_set(folder: Path, ability: Ability) -> FileSet | None:
    """A set that lacks nothing but the files of the ranks: a machine without work; None when there is none."""
    rows = kinds()
    found = survey(folder).files if folder.is_dir() else {}
    for simulator in simulators(ability):
        of_ranks = [kind for kind in simulator.needs if rows[kind].suffix]
        texts = [kind for kind in simulator.needs if kind not in of_ranks]
        if (
            of_ranks
            and not any(kind in found for kind in of_ranks)
            and all(len(found.get(kind, ())) == 1 for kind in texts)
        ):
            kept = {kind: found[kind][0] for kind in (*texts, *simulator.takes) if len(found.get(kind, ())) == 1}
            return FileSet(simulator.name, folder, kept)
    return None


def _incomplete(folder: Path, found: Survey, ability: Ability) -> Diagnosed:
    """Why no set is complete: what the simulator lacks for which most of the files are there."""
    rows = kinds()
    able = simulators(ability)
    nearest = max(able, key=lambda simulator: sum(kind in found.files for kind in simulator.reads))
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
