"""A piece of the model on one stage, and where the stage stands in the pipeline."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from astrac.training.lower.parts import of_layer
from astrac.training.strategies.part import Part

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from astrac.training.strategies.layer_units import LayerUnit


@dataclass(frozen=True, slots=True)
class Boundary:
    """What one micro-batch sends across a cut of the model, of what has a gradient back too; elements, then bytes."""

    forward: int
    backward: int

    def times(self, width: int) -> Boundary:
        """The same in bytes, for elements of `width` bytes."""
        return Boundary(self.forward * width, self.backward * width)


@dataclass(frozen=True)
class VirtualStage:
    """A contiguous piece of the model on one stage: Megatron's model chunk.

    Attributes:
        number: its place in the chain of all pieces (virtual stages), from 0.
        units: of the model.
        parts: by index of the layer.
        begin, end: bytes of one micro-batch that cross them.
    """

    number: int
    units: tuple[LayerUnit, ...]
    parts: dict[int, Part]
    begin: Boundary
    end: Boundary

    def of(self, unit: LayerUnit) -> Iterator[Part]:
        """The parts of one of its units."""
        return (self.parts[index] for index in unit.indices)

    def repeated(self) -> Iterator[LayerUnit]:
        """Units like one before and one after: what they do, others do as well, both first and last."""
        owners = {part.layer.shared_with for part in self.parts.values()}
        alike: dict[object, list[LayerUnit]] = {}
        for unit in self.units:
            own = [part.layer.name for part in self.of(unit) if part.layer.name in owners]
            key = (*own, *((_OF_PART(part), of_layer(part.layer)) for part in self.of(unit)))
            alike.setdefault(key, []).append(unit)
        return (unit for units in alike.values() for unit in units[1:-1])

    def likeness(self) -> Hashable:
        """Equal for virtual stages that do alike, but for names and where they stand; None for one like no other."""
        if any(part.layer.shared_with is not None for part in self.parts.values()):
            return None
        first = self.units[0].first
        units = tuple((unit.first - first, unit.last - first) for unit in self.units)
        parts = tuple(
            (_OF_PART(part), of_layer(part.layer), tuple(max(-1, source - first) for source in part.layer.inputs))
            for part in self.parts.values()
        )
        return first > 0, units, parts, self.begin, self.end

    def readers(self) -> dict[int, list[int]]:
        """For each of its layers, those of its layers that read it; what nothing here reads leaves the stage."""
        found: dict[int, list[int]] = {index: [] for index in self.parts}
        for index, part in self.parts.items():
            for source in part.layer.inputs:
                if source in found:
                    found[source].append(index)
        return found


_OF_PART = attrgetter(*(field.name for field in fields(Part) if field.name not in {"layer", "sign"}))


@dataclass(frozen=True)
class PipelinePosition:
    """Where a stage stands: `pieces` virtual stages in all, `micro_batches` of a step."""

    stage: int
    stages: int
    pieces: int
    schedule: str
    micro_batches: int
