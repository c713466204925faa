"""What a simulator is to the rest of the compiler, together with `table`: all that anybody outside may import.

A simulator is a row of `table.SIMULATORS` and a package. The row is light: words, kinds of files, abilities. The work
is done by the package's module `simulator`, which has the functions of `Wing` and is imported when one is called.
A function that belongs to an ability that the row does not have may be missing: nobody calls it.
"""

from astrac.simulators.results import Cause, Failure, Outcome, RankResult, Run, SimulationResult
from astrac.simulators.rows import Ability, Edit, FileKind, FileSet, Simulator, Wing

__all__ = [
    "Ability", "Cause", "Edit", "Failure", "FileKind", "FileSet", "Outcome", "RankResult", "Run", "SimulationResult",
    "Simulator", "Wing",
]  # fmt: skip
