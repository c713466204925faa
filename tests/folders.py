"""A folder of files as the first simulator of the table reads it."""

from pathlib import Path

from astrac.api.guarding import sets_of
from astrac.diagnostics import Diagnosed, Result, has_errors
from astrac.simulators.astra_sim_2.read import reading
from astrac.simulators.protocol import Ability


def read(where):
    """The Job of a folder, or of `Files` by their roles; none where anything is wrong."""
    try:
        found = (
            reading.read(sets_of(where, Ability.SIMULATE)[0])
            if isinstance(where, Path)
            else reading.job_of(lambda: where)
        )
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    return Result(None if has_errors(found.diagnostics) else found.value, found.diagnostics)
