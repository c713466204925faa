"""ASTRA-sim 1.0: where each question of `simulators.rows.Wing` is answered.

A module is imported when its function is asked for: a check of one text shall not pay for the engine, nor for jinja2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.rows import elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.results import SimulationResult

__getattr__ = elsewhere(
    __package__,
    {
        "check_file": "read",
        "check_set": "check",
        "judge": "check",
        "fix": "fix",
        "can_say": "can_say",
        "lower": "lower",
        "write": "write",
        "command": "write",
        "read": "read",
        "of_arguments": "read",
        "differences": "convert",
        "to_spec": "convert",
    },
)
"""Functions of the protocol, and the modules of this package that have them, by the same names."""


def set_apart(files: dict[str, list[Path]]) -> None:
    """Nothing: every text is read by itself."""
    del files


def describe(job: TextJob) -> None:
    """Nothing: the files hold all of a text job."""
    del job


def simulate(job: TextJob, _backend: str | None) -> SimulationResult:
    """What 1.0 will report; all of its ranks run alike. Exposed is its own: total less compute."""
    from astrac.job import Axis, Box  # noqa: PLC0415
    from astrac.simulators.astra_sim_1.simulate import simulate as run  # noqa: PLC0415
    from astrac.simulators.results import Failure, Outcome, RankResult, SimulationResult  # noqa: PLC0415

    ran, npus = run(job), job.network.npus
    axes = (Axis("rank", 1, npus),)
    if ran.cycles is None:
        outcome = Outcome.UNKNOWN if ran.fails is None else Outcome.ABORT
        failure = Failure(outcome, ran.fails or ran.unknown or "no result")
        return SimulationResult(axes, failure=failure, steps=job.passes)
    ranks = RankResult(0, (Box((None,)),), npus, 0, ran.cycles, ran.compute)
    return SimulationResult(axes, (ranks,), steps=job.passes)
