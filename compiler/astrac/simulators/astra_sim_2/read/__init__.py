"""A folder, or ASTRA-sim's own options -> Job: any 2.x bundle, ours or another tool's, as the simulator will see it.

`read` wants the Job and takes nothing less; `examine` reads on after errors and keeps all that the files say.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, has_errors
from astrac.simulators.astra_sim_2.read.files import Files, of_arguments
from astrac.simulators.astra_sim_2.read.find import find
from astrac.simulators.astra_sim_2.read.reading import Reading, examine

if TYPE_CHECKING:
    from astrac.job import Job

__all__ = ["Files", "Reading", "examine", "find", "of_arguments", "read"]


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
