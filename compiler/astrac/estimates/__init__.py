"""Job -> Estimate: what ASTRA-sim will report, and where the time goes.

Cycles come from the simulation, to the nanosecond. Everything else is read off the nodes of one representative of each
class of ranks, or, for memory and model FLOPs, off the Plan that the Job was made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.estimates.breakdown import breakdown, critical_path, layers, traffic, whole
from astrac.estimates.model import Estimate, Throughput
from astrac.job import Job
from astrac.training.strategies.placement import npus

if TYPE_CHECKING:
    from astrac.simulators.protocol import SimulationResult
    from astrac.training.plan import Plan

__all__ = ["Estimate", "estimate"]


def estimate(result: SimulationResult, job: Any = None, plan: Plan | None = None, *, detail: bool = True) -> Estimate:
    """What a run takes, and where the time goes.

    Args:
        result: of the simulation.
        job: what was simulated; where its nodes are not known, all that is known of ranks is how long they compute.
        plan: that the job was made from; without one, memory, throughput and the names of axes are unknown.
        detail: also how all other ranks spend their time, what is exchanged, layers and the critical path.
    """
    steps = result.steps if plan is None or plan.spec.training is None else plan.spec.training.steps
    slowest = max(result.classes, key=lambda ranks: ranks.cycles, default=None)
    nodes = job if isinstance(job, Job) else None
    shown = result.classes if detail or slowest is None else (slowest,)
    looked_at = None if slowest is None or not detail else nodes
    return Estimate(
        cycles=result.cycles,
        steps=steps,
        npus=result.npus,
        runs=result.runs(),
        failure=result.failure,
        doubt=result.doubt,
        classes=tuple(whole(ranks) if nodes is None else breakdown(nodes, ranks, plan) for ranks in shown),
        traffic=() if looked_at is None or slowest is None else traffic(looked_at, slowest, plan),
        layers=() if looked_at is None or slowest is None else layers(looked_at, slowest, plan),
        path=() if looked_at is None else critical_path(looked_at, result, plan),
        memory=None
        if plan is None
        else max((program.memory for program in plan.programs), key=lambda need: need.total),
        throughput=_throughput(plan, result.cycles, steps),
        backend=result.backend,
        assumes=() if plan is None else _assumed(plan),
    )


def _assumed(plan: Plan) -> tuple[str, ...]:
    """What the figures rest on and nobody said."""
    hardware = plan.spec.hardware
    whole_peak = plan.model.layers and hardware.efficiency == 1 and hardware.systolic is None
    peak = ("products reach 100 % of the peak: `hardware { efficiency }` says how much they do",) if whole_peak else ()
    return (*plan.model.assumes, *peak)


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
