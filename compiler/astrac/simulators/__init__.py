"""The simulators that a bundle can be for: one row each, one folder each.

A target's module `artifacts` has `artifacts(job, cycles) -> tuple[Artifact, ...]`, all below the target's folder, read
back and checked, and `command(job) -> tuple[str, ...]`, what `run.sh` runs. It is imported when it is used: writers
need libraries that `check` does without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from astrac.bundle import Artifact


class Target(NamedTuple):
    """A row of TARGETS.

    Attributes:
        title: for people.
        package: below `astrac.simulators`.
        variable: of the environment, names the simulator's binary to `run.sh` and to the tests.
    """

    title: str
    package: str
    variable: str


class Writer(Protocol):
    """What a target's `artifacts` module offers; `job` is a Job or a TextJob, whichever the target takes."""

    def artifacts(self, job: Any, cycles: int | None) -> tuple[Artifact, ...]:
        """The target's files; raises Diagnosed (AS7xx what it cannot hold, AS91x what does not read back)."""

    def command(self, job: Any) -> tuple[str, ...]:
        """The simulator's arguments, relative to the target's folder."""


TARGETS: dict[str, Target] = {
    "astra-sim-2": Target("ASTRA-sim 2.x", "astra_sim_2", "ASTRA_SIM"),
    "astra-sim-1": Target("ASTRA-sim 1.0", "astra_sim_1", "ASTRA_SIM_1"),
}
"""By the word for `--target`, which is also the folder in a bundle."""


def writer(name: str) -> Writer:
    """The writer of a target of TARGETS."""
    return cast("Writer", import_module(f"astrac.simulators.{TARGETS[name].package}.artifacts"))
