"""Where the chain of units is cut into virtual stages, and what crosses each cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.training.lower.parts import phases, work
from astrac.training.lower.virtual_stage import Boundary, VirtualStage
from astrac.training.plan import Phase
from astrac.training.strategies import pipeline
from astrac.training.strategies.layer_units import units as in_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.models.model import Model
    from astrac.source import Span
    from astrac.training.compute.cost import Cost
    from astrac.training.strategies.layer_units import LayerUnit
    from astrac.training.strategies.part import Part, Setting


def cut(
    model: Model, parts: Sequence[Part], pieces: int, setting: Setting, cost: Cost, at: Callable[[str], Span]
) -> tuple[VirtualStage, ...]:
    """The units in `pieces` contiguous virtual stages: where `layer { stage }` says so, else as even in time as can be.

    Raises:
        Diagnosed: AS530 when there are fewer units than pieces, AS531 when given stages do not make contiguous ones.
    """
    units = in_units(model)
    if len(units) < pieces:
        message = f"{pieces} pipeline stages need as many units to cut between; the model has {len(units)}"
        raise Diagnosed(diagnostic("AS530", message, at("/parallelism")))
    given = _given(units, parts, setting)
    if any(mark is not None for mark in given):
        starts = _starts(given, pieces, at)
    elif pieces == 1:
        starts = (0,)
    else:
        known: dict[object, int] = {}
        for part in parts:
            if part.key not in known:
                known[part.key] = sum(cost(work(part, phase, setting)) for phase in (Phase.FORWARD, *phases(part)))
        times = tuple(sum(known[parts[index].key] for index in unit.indices) for unit in units)
        starts = pipeline.balance(times, pieces)
    ends = (*starts[1:], len(units))
    bounds = [units[start].first for start in starts[1:]]
    crossing = _crossing(model, parts) if bounds else []
    width = setting.widths.activations
    edges = [Boundary(0, 0), *(crossing[bound - 1].times(width) for bound in bounds), Boundary(0, 0)]
    return tuple(
        VirtualStage(
            number,
            units[first:end],
            {index: parts[index] for unit in units[first:end] for index in unit.indices},
            edges[number],
            edges[number + 1],
        )
        for number, (first, end) in enumerate(zip(starts, ends, strict=True))
    )


def _given(units: Sequence[LayerUnit], parts: Sequence[Part], setting: Setting) -> list[tuple[int, str] | None]:
    """The stage that overrides give to each unit, and the pointer of the last that gives one."""
    marks = setting.spec.model.layers
    found: list[tuple[int, str] | None] = []
    for unit in units:
        stages = [
            (override.stage, f"/model/layers/{marks.index(override)}/stage")
            for index in unit.indices
            for override in setting.overrides(parts[index].layer)
            if override.stage is not None
        ]
        found.append(stages[-1] if stages else None)
    return found


def _starts(given: Sequence[tuple[int, str] | None], pieces: int, at: Callable[[str], Span]) -> tuple[int, ...]:
    """First units of stages 0, 1, ...; a unit without a stage follows the one before it."""
    hint = f"the pipeline has stages 0 to {pieces - 1}; a layer without a stage follows the one before it"
    starts = [0]
    current, last = 0, "/model/layers"
    for position, mark in enumerate(given):
        stage, pointer = mark or (current, last)
        last = pointer
        if stage == current:
            continue
        if stage != current + 1 or stage >= pieces or not position:
            before = f"comes after stage {current}" if position else "has the first layer, and stage 0 none"
            message = f"stages must follow each other along the model: stage {stage} {before}"
            raise Diagnosed(diagnostic("AS531", message, at(pointer), hints=(hint,)))
        current = stage
        starts.append(position)
    if len(starts) < pieces:
        message = f"the layers' stages end at {current}, the pipeline has {pieces}"
        raise Diagnosed(diagnostic("AS531", message, at(last), hints=(hint,)))
    return tuple(starts)


def _crossing(model: Model, parts: Sequence[Part]) -> list[Boundary]:
    """Elements alive after each layer: outputs of it and of earlier ones that a later layer still reads.

    A tensor that a far stage reads crosses every boundary on the way. `model.cuts` counts tensors where it knows them;
    edges between layers say what the tensor axis has cut of that, and which of them have a gradient to go back.
    """
    sizes = [(part.layer.output_elements, part.leaves, part.leaves if _learns(part) else 0) for part in parts]
    last_reader = list(range(len(parts)))
    for index, part in enumerate(parts):
        for source in part.layer.inputs:
            last_reader[source] = max(last_reader[source], index)
    change = [[0, 0, 0] for _ in range(len(parts) + 1)]
    for index, reader in enumerate(last_reader):
        if reader > index:
            for column in range(3):
                change[index][column] += sizes[index][column]
                change[reader][column] -= sizes[index][column]
    found, alive = [], [0, 0, 0]
    for index in range(len(parts) - 1):
        alive = [have + more for have, more in zip(alive, change[index], strict=True)]
        whole, cut_, learning = alive
        beside = model.cuts[index] - whole if model.cuts else 0
        found.append(Boundary(cut_ + beside, learning and learning + beside))
    return found


def _learns(part: Part) -> bool:
    """Whether anything that the output of a layer depends on is trained."""
    return part.layer.input_gradient or (part.layer.trainable and part.weights + part.bias > 0)
