"""What a rank must keep at the peak of a step, by term, and whether that fits into its memory and the memory pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from functools import partial
from math import lcm, prod
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.figures import amount
from astrac.training.lower.parts import phases
from astrac.training.plan import MemoryFootprint
from astrac.training.strategies.optimizer import update_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Span
    from astrac.training.lower.stage import StageBuilder
    from astrac.training.lower.virtual_stage import VirtualStage
    from astrac.training.plan import Plan, StageProgram
    from astrac.training.strategies.layer_units import LayerUnit
    from astrac.training.strategies.part import Part


def memory(stage: StageBuilder) -> MemoryFootprint:
    """Bytes of one rank of a stage.

    Activations are those of the micro-batches in flight, by the stage's own schedule. What lies in the memory
    pool counts there, but what must be present of it at once is a buffer: of gradients and optimizer state the largest
    unit, of parameters (as of sharded ones) the largest unit with those that are gathered ahead, and shared weights.
    """
    weights = stage.weights
    units = [unit for virtual in stage.virtual_stages for unit in virtual.units]
    kept, largest = Counter[str](), Counter[str]()
    for unit in units:
        mine = _kept_of(unit, stage)
        kept += mine
        largest |= mine
    here = Counter({term: size for term, size in kept.items() if term not in weights.remote})
    ahead = 1 if weights.options is None else 1 + weights.options.prefetch
    shared = {other for unit in units for other in weights.needed(unit) if other is not unit}
    buffers = max(_brought(unit, stage) for unit in units) * ahead + sum(_brought(unit, stage) for unit in shared)
    buffers += sum(largest[term] for term in ("gradients", "optimizer_state") if term in weights.remote)
    return MemoryFootprint(
        weights=here["parameters"],
        gradients=here["gradients"],
        optimizer=here["optimizer_state"],
        activations=_activations(stage),
        buffers=buffers,
        pool=kept.total() - here.total(),
    )


def _kept_of(unit: LayerUnit, stage: StageBuilder) -> Counter[str]:
    """Bytes of a unit on this rank, wherever they lie, by the words of `memory_pool { holds }`."""
    weights, wide = stage.weights, stage.setting.widths
    training = stage.setting.spec.training
    assert training is not None
    found = Counter[str]()
    for axes, elements in weights.held(unit, trained=False).items():
        reducer = weights.reducer(axes)
        found["parameters"] += reducer.held(elements, divided=reducer.sharding.parameters) * wide.weights
    for axes, elements in weights.held(unit, trained=True).items() if training.pass_ == "training" else ():
        reducer = weights.reducer(axes)
        found["gradients"] += reducer.held(elements, divided=reducer.sharding.gradients) * wide.gradients
        owned = reducer.held(elements, divided=reducer.sharding.optimizer)
        found["optimizer_state"] += update_cost(owned, stage.setting)[0]
    return found


def _brought(unit: LayerUnit, stage: StageBuilder) -> int:
    """Bytes of a unit's parameters that are brought for each pass and freed after it."""
    weights = stage.weights
    return stage.setting.widths.weights * sum(
        elements
        for axes, elements in weights.held(unit, trained=False).items()
        if "parameters" in weights.remote or weights.reducer(axes).sharding.parameters
    )


def _activations(stage: StageBuilder) -> int:
    """The most that is kept for backward at any time, plus the one unit that is being recomputed."""
    width = stage.setting.widths.activations
    if not stage.order.learns:
        return (
            max(part.inputs + part.outputs for virtual in stage.virtual_stages for part in virtual.parts.values())
            * width
        )
    kept = [sum(_kept(virtual, unit) for unit in virtual.units) for virtual in stage.virtual_stages]
    now = peak = 0
    for slot in stage.order.slots(stage.order.fullest(stage.pipe.micro_batches)):
        now += kept[slot.virtual] if slot.forward else -kept[slot.virtual]
        peak = max(peak, now)
    again = max(
        sum(part.kept for part in _again(virtual, unit)) for virtual in stage.virtual_stages for unit in virtual.units
    )
    return (peak + again) * width


def _again(virtual: VirtualStage, unit: LayerUnit) -> list[Part]:
    return [part for part in virtual.of(unit) if part.recompute != "none" and phases(part)]


def _kept(virtual: VirtualStage, unit: LayerUnit) -> int:
    """Elements that one micro-batch keeps of a unit: all but what is recomputed, which starts from kept inputs.

    Attention starts from its queries, keys and values; what is recomputed in full from the first that it reads. What
    has no backward pass (all before it is frozen) keeps nothing.
    """
    parts = [part for part in virtual.of(unit) if phases(part)]
    kept = sum(part.kept for part in parts if part.recompute == "none")
    attention = sum(part.inputs for part in parts if part.recompute == "selective")
    first = next((part.inputs for part in parts if part.recompute == "full"), 0)
    return kept + attention + first


# -- whether it fits

_NAMES = {"optimizer": "optimizer state"}

_figure = partial(amount, unit="B", digits=3, zeros=False)


def fits(plan: Plan, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS540 (AS805 where overflow is allowed) for the rank that needs most, AS541 for the memory pool."""
    memory, pool = plan.spec.hardware.memory, plan.spec.memory_pool
    program = max(plan.programs, key=lambda program: program.memory.total)
    need, capacity = program.memory, int(memory.capacity)
    if need.total > capacity:
        sizes = {_NAMES.get(field.name, field.name): getattr(need, field.name) for field in fields(need)}
        del sizes["pool"]
        terms = ", ".join(f"{name} {_figure(size)}" for name, size in sizes.items() if size)
        message = f"rank {_first_rank(program, plan)} needs {_figure(need.total)} of {_figure(capacity)}: {terms}"
        hint = "more tensor, pipeline or sharded data ranks, recomputation or a smaller micro-batch need less"
        if memory.allow_overflow:
            yield diagnostic("AS805", message, at("/hardware/memory/capacity"))
        else:
            yield diagnostic("AS540", message, at("/hardware/memory/capacity"), hints=(hint,))
    if pool is not None and pool.capacity is not None:
        ranks = prod(axis.size for axis in plan.axes)
        sharers = {"npu": 1, "node": ranks // (pool.nodes or 1), "pool": ranks}[pool.sharing]
        most = _most(plan, sharers, ranks)
        if most > pool.capacity:
            message = f"{sharers} ranks keep {_figure(most)} in a memory of {_figure(int(pool.capacity))}"
            holds = Label(at("/memory_pool/holds"), "this lies there")
            yield diagnostic("AS541", message, at("/memory_pool/capacity"), holds)


def _first_rank(program: StageProgram, plan: Plan) -> int:
    """The lowest rank that runs a program."""
    axis = plan.axis("pipeline")
    return program.slow[0] if program.slow else 0 if axis is None else program.stage * axis.stride


def _most(plan: Plan, sharers: int, ranks: int) -> int:
    """The most that ranks which share one memory keep in it together: `sharers` consecutive ones share."""
    held = {program.stage: program.memory.pool for program in plan.programs}
    axis = plan.axis("pipeline")
    if axis is None:
        return sharers * max(held.values())
    alike = lcm(sharers, axis.stride * axis.size)  # from there on the nodes repeat
    nodes = (range(first, first + sharers) for first in range(0, min(ranks, alike), sharers))
    return max(sum(held[axis.coordinate(rank)] for rank in node) for node in nodes)
