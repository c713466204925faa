"""A text job of ASTRA-sim 1.0 -> Estimate: all of its ranks run alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.estimate.model import ClassOfRanks, Estimate, failed
from astrac.simulators.astra_sim_1.simulate import play
from astrac.simulators.results import Failure, Outcome, Run

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextJob


def estimate_text(job: TextJob) -> Estimate:
    """What 1.0 will report; `exposed` is its own: total - compute, with its cycle a stage and the updates."""
    played = play(job)
    npus = job.network.npus
    if played.cycles is None or played.exposed is None:
        outcome = Outcome.UNKNOWN if played.fails is None else Outcome.ABORT
        return failed(Failure(outcome, played.fails or played.unknown or "no result"), npus, job.passes)
    ranks = ClassOfRanks("all ranks", npus, 0, played.cycles, played.compute, played.exposed, 0, 0, 0)
    run = Run(0, npus - 1, played.cycles, played.exposed)
    return Estimate(played.cycles, job.passes, npus, (run,), None, None, (ranks,), (), (), (), None, None)
