"""Spec x layers -> Plan: what every rank does.

`overrides` lays the spec's words over the layers, `parts` cuts each layer as the axes say, `partition` cuts the chain
into pipeline stages, `stage` writes the steps of the ranks of one stage, `memory` adds up what they keep
and compares that with the hardware.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.job import Axis, Kind
from astrac.spec import Data
from astrac.training.compute import slow
from astrac.training.lower.memory import fits, memory
from astrac.training.lower.overrides import override, uneven, unmatched
from astrac.training.lower.partition import cut
from astrac.training.lower.parts import parts, phases
from astrac.training.lower.stage import StageBuilder
from astrac.training.lower.steps import StepBuilder
from astrac.training.lower.unroll import renamed, whole
from astrac.training.lower.virtual_stage import PipelinePosition, VirtualStage
from astrac.training.plan import Communicate, MemoryFootprint, Phase, Plan, StageProgram, Twin
from astrac.training.strategies.data import KIND as DATA
from astrac.training.strategies.data import SHARDS
from astrac.training.strategies.part import Setting
from astrac.training.strategies.pipeline import fewest
from astrac.training.strategies.placement import Placement, axis_blocks, npus, place
from astrac.training.strategies.precision import own_type, widths, without_peak

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from astrac.models.model import Model
    from astrac.source import Span
    from astrac.spec import CollectiveBenchmark, Spec, Training
    from astrac.training.compute.cost import Cost
    from astrac.training.strategies.layer_units import LayerUnit


def lower(
    spec: Spec, model: Model, cost: Cost, at: Callable[[str], Span], *, brief: Brief | None = None
) -> Result[Plan]:
    """The plan of a spec that `rules` found nothing wrong with.

    Args:
        spec: valid.
        model: its layers for one micro-batch; without layers for a collective benchmark.
        cost: what a piece of work takes.
        at: the place of a JSON pointer of the Document.
        brief: to write less; None for all steps.
    """
    if spec.model.collective is not None:
        return Result(_benchmark(spec, model, spec.model.collective))
    assert spec.training is not None
    try:
        plan = _training(spec, spec.training, model, cost, at, brief=brief)
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))
    return Result(plan.value, (*plan.diagnostics, *(() if plan.value is None else fits(plan.value, at))))


class Brief(Enum):
    """What a plan in brief leaves out.

    SAMPLED: micro-batches and training steps like others; a `Score` tells how all of them are made of those shown.
    MICRO_BATCHES: micro-batches that show no other collective or computation.
    UNITS: units that are like others, as well.
    STEPS: all steps; what a rank keeps and how long it computes is known without.
    """

    SAMPLED = auto()
    MICRO_BATCHES = auto()
    UNITS = auto()
    STEPS = auto()


def _benchmark(spec: Spec, model: Model, benchmark: CollectiveBenchmark) -> Plan:
    """One collective over all ranks, repeated."""
    total = npus(spec.topology)
    kind = Kind[benchmark.kind.upper()]
    size = int(benchmark.size)
    steps = StepBuilder()
    for number in range(benchmark.repeat):
        action = Communicate(kind, -(-size // total) if kind is Kind.ALL_GATHER else size, ("rank",))
        steps.add(action, (), f"{benchmark.kind}{number}", Phase.FORWARD)
    program = StageProgram("all ranks", 0, (), tuple(steps.steps), MemoryFootprint(buffers=size))
    return Plan(spec, model, (Axis("rank", 1, total),), (program,), 0, 1, len(steps.steps))


def _training(
    spec: Spec, training: Training, model: Model, cost: Cost, at: Callable[[str], Span], *, brief: Brief | None
) -> Result[Plan]:
    placement = place(spec)
    own = own_type(model)
    if training.precision is None and own is None:
        message = "`training.precision` is needed: the model has no single data type of its own"
        raise Diagnosed(diagnostic("AS505", message, at("/training")))
    marks, tensor = spec.model.layers, placement.degrees["tensor"]
    marked = override(model, marks, cut=tensor > 1)
    setting = Setting(spec, placement.degrees, widths(training.precision, own or ""), model.batch)
    found = (*unmatched(model, marks, at), *_peaks(setting, model, at))
    if spec.model.transformer is None and tensor > 1:
        found += tuple(uneven(marked, marks, tensor, at))
    if has_errors(found):
        return Result(None, found)
    stages, schedule, per_rank = _pipeline(spec, placement)
    virtual_stages = cut(marked, parts(marked.layers, setting), stages * per_rank, setting, cost, at)
    samples = training.global_batch // (placement.degrees["data"] * placement.degrees["expert"])
    micro_batches = samples // model.batch
    tied = _tied(virtual_stages, stages, at)
    shown = micro_batches
    skipped: frozenset[LayerUnit] = frozenset()
    if brief in (Brief.MICRO_BATCHES, Brief.UNITS):
        data = setting.options(DATA)
        apart = isinstance(data, Data) and SHARDS[data.shard].gradients
        shown = fewest(micro_batches, apart=apart)
        # A bucket is as large as its units together, and a layer's measured time is its own.
        if brief is Brief.UNITS and not (isinstance(data, Data) and data.buckets) and spec.model.times is None:
            skipped = frozenset(unit for virtual in virtual_stages for unit in virtual.repeated())
    programs: list[StageProgram] = []
    shared = {layer.shared_with for layer in marked.layers}
    alike: dict[Hashable, tuple[StageProgram, tuple[VirtualStage, ...]]] = {}
    before = passage = 0
    for stage in range(stages):
        before += passage
        mine = virtual_stages[stage::stages]
        pipe = PipelinePosition(stage, stages, len(virtual_stages), schedule, micro_batches)
        for name, ranks, price in _speeds(spec, placement, stage, stages, cost):
            builder = StageBuilder(pipe, mine, setting, price, tied, skipped)
            if brief is Brief.STEPS:
                # The first micro-batch has to come through all stages before, and the last gradient has to go back.
                busy = builder.busy() * training.steps + before
                passage = builder.passage()
                programs.append(StageProgram(name, stage, ranks, (), memory(builder), busy=busy))
                continue
            if brief not in (None, Brief.SAMPLED):
                programs.append(StageProgram(name, stage, ranks, builder.steps(shown, 1), memory(builder)))
                continue
            key = None
            if brief is Brief.SAMPLED and price is cost and spec.model.times is None:
                key = _likeness(mine, shared)
            if key in alike:
                first, theirs = alike[key]
                assert first.score is not None
                score = replace(first.score, slots=builder.order.slots)
                names = renamed(first.steps, theirs, mine)
                twin = Twin(names, stage - first.stage)
                programs.append(StageProgram(name, stage, ranks, first.steps, memory(builder), score, twin))
                continue
            steps, score = builder.sampled(training.steps)
            programs.append(StageProgram(name, stage, ranks, steps, memory(builder), score))
            if key is not None:
                alike[key] = programs[-1], mine
    all_ = (part_ for virtual in virtual_stages for part_ in virtual.parts.values())
    length = micro_batches * training.steps * sum(1 + len(phases(part_)) + len(part_.exchanges) for part_ in all_)
    plan = Plan(spec, marked, placement.axes, tuple(programs), model.batch, micro_batches, length)
    if brief in (Brief.SAMPLED, Brief.STEPS):
        return Result(plan, found)
    made = whole(plan, at)
    return Result(made.value, (*found, *made.diagnostics))


def _likeness(stage: tuple[VirtualStage, ...], shared: set[str | None]) -> Hashable:
    """Equal for stages that do alike; None for one like no other."""
    if any(part_.layer.name in shared for virtual in stage for part_ in virtual.parts.values()):
        return None
    found = tuple(virtual.likeness() for virtual in stage)
    return None if None in found else found


def _pipeline(spec: Spec, placement: Placement) -> tuple[int, str, int]:
    """The number of stages, the schedule, and the virtual stages of each."""
    for _, block in axis_blocks(spec):
        if block.kind == "pipeline" and placement.degrees["pipeline"] > 1:
            return placement.degrees["pipeline"], block.schedule, block.chunks
    return 1, "one_f_one_b", 1


def _tied(
    virtual_stages: tuple[VirtualStage, ...], stages: int, at: Callable[[str], Span]
) -> dict[str, tuple[int, ...]]:
    """Layers whose weight several stages hold, with those stages.

    Raises:
        Diagnosed: AS532 when they do not hold the same part of it.
    """
    homes: dict[str, set[int]] = {}
    sizes: dict[str, int] = {}
    for virtual in virtual_stages:
        for part_ in virtual.parts.values():
            owner = part_.layer.shared_with or part_.layer.name
            homes.setdefault(owner, set()).add(virtual.number % stages)
            if sizes.setdefault(owner, part_.weights) != part_.weights:
                message = (
                    f"`{owner}` and `{part_.layer.name}` share a weight, and the tensor axis cuts only one of them"
                )
                raise Diagnosed(diagnostic("AS532", message, at("/model/layers")))
    return {owner: tuple(sorted(found)) for owner, found in homes.items() if len(found) > 1}


def _speeds(
    spec: Spec, placement: Placement, stage: int, stages: int, cost: Cost
) -> Iterator[tuple[str, tuple[int, ...], Cost]]:
    """The programs of a stage: its stragglers apart from the others."""
    name = f"stage {stage}" if stages > 1 else "all ranks"
    straggler = spec.hardware.slow
    axis = next((axis for axis in placement.axes if axis.name == "pipeline"), None)

    def here(rank: int) -> bool:
        return axis is None or axis.coordinate(rank) == stage

    ranks = () if straggler is None else tuple(sorted({rank for rank in straggler.ranks if here(rank)}))
    on_stage = npus(spec.topology) // stages
    if len(ranks) < on_stage:
        yield (f"{name}, others" if ranks else name), (), cost
    if ranks and straggler is not None:
        yield f"{name}, slow", ranks, slow(straggler, cost)


def _peaks(setting: Setting, model: Model, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS506 for data types that something computes in and that have no peak."""
    words = {setting.widths.compute}
    words |= {found.precision for layer in model.layers for found in setting.overrides(layer) if found.precision}
    found = (without_peak(setting.spec.hardware, word, "/hardware/peak") for word in sorted(words))
    return (finding.placed(at) for finding in found if finding is not None)
