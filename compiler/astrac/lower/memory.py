"""What a rank must keep at the peak of a step, by term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.lower.stage import recomputed
from astrac.lower.weights import optimizer_cost
from astrac.plan import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.lower.chunk import Chunk
    from astrac.lower.stage import Stage
    from astrac.strategies.part import Part
    from astrac.strategies.units import Unit


def memory(stage: Stage) -> Memory:
    """Bytes of one rank of a stage.

    Activations are those of the micro-batches in flight, by the stage's own order of turns; what lies in a memory pool
    does not count here, but the largest unit of it that must be present does, as a buffer.
    """
    setting, wide = stage.setting, stage.setting.widths
    training = setting.spec.training
    assert training is not None
    weights = gradients = optimizer = buffers = 0
    for chunk in stage.chunks:
        for unit in chunk.units:
            for axes, elements in stage.weights.held(unit, trained=False).items():
                keeper = stage.weights.reducer(axes)
                kept = keeper.held(elements, keeper.sharding.parameters) * wide.weights
                whole = elements * wide.weights
                weights += 0 if "parameters" in stage.weights.remote else kept
                if kept < whole or "parameters" in stage.weights.remote:
                    ahead = 1 if stage.weights.options is None else 1 + stage.weights.options.prefetch
                    buffers = max(buffers, whole * ahead)
            for axes, elements in stage.weights.held(unit, trained=True).items():
                keeper = stage.weights.reducer(axes)
                gradients += keeper.held(elements, keeper.sharding.gradients) * wide.gradients
                optimizer += optimizer_cost(keeper.held(elements, keeper.sharding.optimizer), setting)[0]
    if training.pass_ == "forward":
        gradients = optimizer = 0
    return Memory(
        weights,
        0 if "gradients" in stage.weights.remote else gradients,
        0 if "optimizer_state" in stage.weights.remote else optimizer,
        _activations(stage),
        buffers,
    )


def _activations(stage: Stage) -> int:
    """The most that is kept for backward at any turn, plus the one unit that is being recomputed."""
    width = stage.setting.widths.activations
    if all(turn.forward for turn in stage.turns()):
        return max(part.inputs + part.outputs for chunk in stage.chunks for part in chunk.parts.values()) * width
    kept = [sum(_kept(chunk, unit, stage) for unit in chunk.units) for chunk in stage.chunks]
    now = peak = 0
    for turn in stage.turns():
        now += kept[turn.chunk] if turn.forward else -kept[turn.chunk]
        peak = max(peak, now)
    again = max(
        (sum(part.kept for part in _again(chunk, unit, stage)) for chunk in stage.chunks for unit in chunk.units),
        default=0,
    )
    return (peak + again) * width


def _again(chunk: Chunk, unit: Unit, stage: Stage) -> Sequence[Part]:
    return [chunk.parts[index] for index in unit.indices if recomputed(chunk.parts[index], stage.setting)]


def _kept(chunk: Chunk, unit: Unit, stage: Stage) -> int:
    """Elements that one micro-batch keeps of a unit: all but what is recomputed, which starts from the unit's input."""
    again = _again(chunk, unit, stage)
    kept = sum(chunk.parts[index].kept for index in unit.indices) - sum(part.kept for part in again)
    whole = len(again) == len(unit.indices)
    return kept + (chunk.parts[unit.first].inputs if whole else 0)
