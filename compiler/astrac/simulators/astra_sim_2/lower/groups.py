"""How the ranks of a collective are told to the simulator, and which ranks run which program."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from astrac.job import AxisGroup, Box, Machine
from astrac.training.plan import Communicate
from astrac.training.strategies.placement import bounds

if TYPE_CHECKING:
    from astrac.training.plan import Plan, StageProgram


class Groups:
    """How the ranks of a collective are told to the simulator.

    `involved_dim` keeps algorithms and endpoint delay of each dimension; it needs whole dimensions, and members that
    have issued equally many collectives before, which ranks of one pipeline stage have. Anything else is a communicator
    group; once there is one, so is the group of all ranks. See docs/simulators/astra-sim-2.md, sections 3.5 and 6.1
    (number 5).
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self.edges = bounds(plan.spec.topology)
        self.axes = {axis.name: axis for axis in plan.axes}
        self.order = [axis.name for axis in plan.axes]
        self.total = machine.npus
        actions = {
            step.action for program in plan.programs for step in program.steps if isinstance(step.action, Communicate)
        }
        self.listed = any(self._dimensions(action) is None for action in actions)
        self.known: dict[tuple[tuple[str, ...], tuple[int, ...]], AxisGroup] = {}

    def of(self, action: Communicate) -> AxisGroup:
        """The group of a collective."""
        key = (action.axes, action.only)
        if key not in self.known:
            dimensions = self._dimensions(action)
            if dimensions is not None and all(dimensions) and self.listed:
                dimensions = None
            axes = tuple(sorted(action.axes, key=self.order.index))
            self.known[key] = AxisGroup(axes, action.only, dimensions)
        return self.known[key]

    def _dimensions(self, action: Communicate) -> tuple[bool, ...] | None:
        """Which dimensions the axes fill wholly, or None when they do not fill whole ones."""
        if action.only or "pipeline" in action.axes:
            return None
        involved = []
        for low, high in pairwise(self.edges):
            covered = 1
            for name in action.axes:
                axis = self.axes[name]
                end = axis.stride * axis.size
                covered *= max(1, min(high, end) // max(low, axis.stride)) if low < end and high > axis.stride else 1
            if covered not in (1, high // low):
                return None
            involved.append(covered == high // low)
        return tuple(involved)


def boxes(program: StageProgram, plan: Plan) -> tuple[Box, ...]:
    """The ranks of a program: its stage, without the stragglers that have a program of their own."""
    stage = next((index for index, axis in enumerate(plan.axes) if axis.name == "pipeline"), None)
    if program.slow:
        return tuple(Box.of(plan.axes, rank) for rank in program.slow)
    slow = [rank for other in plan.programs if other.stage == program.stage for rank in other.slow]
    boxes = [Box(tuple((program.stage,) if index == stage else None for index in range(len(plan.axes))))]
    for rank in slow:
        point = tuple(axis.coordinate(rank) for axis in plan.axes)
        boxes = [piece for box in boxes for piece in _without(box, point, plan)]
    return tuple(boxes)


def _without(box: Box, point: tuple[int, ...], plan: Plan) -> list[Box]:
    """A box without one of its points, as disjoint boxes; the box itself when the point lies outside."""
    if not box.holds(point):
        return [box]
    pieces = []
    fixed: list[tuple[int, ...] | None] = list(box.coordinates)
    for index, (axis, here) in enumerate(zip(plan.axes, point, strict=True)):
        allowed = fixed[index] if fixed[index] is not None else tuple(range(axis.size))
        rest = tuple(coordinate for coordinate in allowed or () if coordinate != here)
        if rest:
            pieces.append(Box((*fixed[:index], rest, *fixed[index + 1 :])))
        fixed[index] = (here,)
    return pieces
