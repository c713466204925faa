"""ASTRA-sim 2.x, its analytical backends: where each question of `simulators.rows.Wing` is answered.

A module is imported when its function is asked for: a check of one text shall not pay for protobuf, nor a check of
traces for jinja2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.simulators.rows import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.results import SimulationResult
    from astrac.source import Span
    from astrac.training.plan import Plan

__getattr__ = elsewhere(
    __package__,
    {
        "check_file": "check.files",
        "check_set": "check.bundle",
        "set_apart": "read.files",
        "fix": "fix",
        "lower": "lower",
        "write": "write",
        "command": "write",
        "describe": "groups",
        "read": "read.reading",
        "of_arguments": "read.reading",
        "decode": "chakra",
        "encode": "chakra",
        "differences": "convert",
        "to_spec": "convert",
    },
)
"""Functions of the protocol, and the modules of this package that have them, by the same names."""


def can_say(plan: Plan, near: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
    """Nothing: whatever a plan has, a trace says; what does not run is told by `lower`."""
    del plan, near
    return ()


def judge(job: Job) -> tuple[Diagnostic, ...]:
    """Nothing: what a Job does wrong shows when it is simulated."""
    del job
    return ()


def simulate(job: Job, backend: str | None) -> SimulationResult:
    """What a run reports, with the times of every node of a rank of each class; of a sampled job without these."""
    from astrac.simulators.astra_sim_2.simulate import BACKENDS, simulate_sample  # noqa: PLC0415
    from astrac.simulators.results import Failure, Outcome, SimulationResult  # noqa: PLC0415

    first = next(iter(BACKENDS))
    meant = job.backend or backend or first
    if backend not in (None, meant):
        reason = f"this bundle is for `{meant}`, not for `{backend}`: build it with `--set system.backend={backend}`"
        return SimulationResult(job.axes, failure=Failure(Outcome.UNKNOWN, reason))
    if any(program.score is not None for program in job.programs):
        result = simulate_sample(job, meant)
    else:
        result = BACKENDS[meant](job, trace=True)
    return replace(result, backend=None if meant == first else meant)
