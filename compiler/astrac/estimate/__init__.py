"""Job -> Estimate: what ASTRA-sim will report, and where the time goes.

Cycles come from the player, to the nanosecond. Everything else is read off the nodes of one representative of each
class of ranks, or, for memory and model FLOPs, off the Plan that the Job was made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Result
from astrac.estimate.breakdown import breakdown
from astrac.estimate.model import AxisTraffic, ClassOfRanks, Estimate, LayerTime, Throughput, failed
from astrac.estimate.path import critical_path
from astrac.estimate.text_job import estimate_text
from astrac.estimate.traffic import layers, traffic
from astrac.simulators.astra_sim_2.simulate import BACKENDS
from astrac.training.strategies.placement import npus

if TYPE_CHECKING:
    from astrac.job import Job
    from astrac.training.plan import Plan

__all__ = ["AxisTraffic", "ClassOfRanks", "Estimate", "LayerTime", "Throughput", "estimate", "estimate_text", "failed"]


def estimate(job: Job, plan: Plan | None = None, *, backend: str = "congestion_unaware") -> Result[Estimate]:
    """What a run of the job will take.

    Args:
        job: of our own or read from any folder.
        plan: that the job was made from; without one, memory, throughput and the names of axes are unknown.
        backend: a key of `astra_sim_2.simulate.BACKENDS`.
    """
    playback = BACKENDS[backend](job, trace=True)
    steps = 1 if plan is None or plan.spec.training is None else plan.spec.training.steps
    classes = tuple(breakdown(job, played, plan) for played in playback.classes)
    slowest = max(playback.classes, key=lambda played: played.cycles, default=None)
    return Result(
        Estimate(
            cycles=playback.cycles,
            steps=steps,
            npus=job.machine.npus,
            runs=playback.runs(),
            failure=playback.failure,
            doubt=playback.doubt,
            classes=classes,
            traffic=() if slowest is None else traffic(job, slowest, plan),
            layers=() if slowest is None else layers(job, slowest, plan),
            path=() if slowest is None else critical_path(job, playback, plan),
            memory=None
            if plan is None
            else max((program.memory for program in plan.programs), key=lambda need: need.total),
            throughput=_throughput(plan, playback.cycles, steps),
        )
    )


def _throughput(plan: Plan | None, cycles: int, steps: int) -> Throughput | None:
    """Samples and tokens per second, and the share of the peak that the model's own FLOPs reach."""
    if plan is None or plan.spec.training is None or not cycles:
        return None
    training, hardware = plan.spec.training, plan.spec.hardware
    seconds = cycles / steps / 1e9
    backward = training.pass_ == "training"
    each = sum(
        2 * (layer.macs + (layer.input_gradient_macs + layer.weight_gradient_macs if backward else 0))
        for layer in plan.model.layers
    )
    flops = each * training.global_batch // plan.model.batch
    word = training.precision.compute if training.precision is not None else None
    peak = getattr(hardware.peak, word) if word is not None else None
    return Throughput(
        samples_per_second=training.global_batch / seconds,
        tokens_per_second=None if plan.model.tokens is None else training.global_batch * plan.model.tokens / seconds,
        model_flops=flops,
        utilisation=None if peak is None else flops / (seconds * float(peak) * npus(plan.spec.topology)),
    )
