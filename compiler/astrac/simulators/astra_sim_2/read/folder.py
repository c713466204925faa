"""A folder -> Job: its files are known by our manifest, or by what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors
from astrac.simulators.astra_sim_2.read.files import Files, of_manifest, of_survey
from astrac.simulators.astra_sim_2.read.reading import examine
from astrac.simulators.survey import survey

if TYPE_CHECKING:
    from astrac.job import Job


def read(where: str | Path | Files) -> Result[Job]:
    """The Job that a folder or a set of files describes.

    Args:
        where: a folder, whose files are recognised by what is in them, or the files by their roles.

    Returns:
        The Job. Axes and groups have our names where a manifest of ours says them and the files agree; otherwise axes
        are `dim0`, `dim1`, ..., groups are the group file's, and messages go along `rank`. Without a Job: AS700 to
        AS709, AS714, AS715, AS720.
    """
    try:
        files = where if isinstance(where, Files) else find(Path(where))
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    reading = examine(files)
    found = reading.diagnostics or tuple(reading.unmodelled.values())
    return Result(None if has_errors(found) else reading.job, found)


def find(folder: Path) -> Files:
    """The files of the bundle in a folder.

    Raises:
        Diagnosed: AS700 when it is no folder, AS708 when a file is not there or there are several.
    """
    if not folder.is_dir():
        raise Diagnosed(diagnostic("AS700", f"`{folder}` is no folder"))
    return of_manifest(folder) or of_survey(survey(folder).files, folder)
