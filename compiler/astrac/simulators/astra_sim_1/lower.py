"""Plan -> the text job of ASTRA-sim 1.0, where one of its policies can say the plan.

1.0 knows layers, not traces: a row computes and communicates forward, for the input gradient and for the weight
gradient, once a pass, over dimensions that the policy fixes for all rows (docs/simulators/astra-sim-1.md, section 1).

One message gets `link-bandwidth x k`, where k counts the links that the block lends it (both directions of a Ring). So
that it gets the same bytes per ns as in 2.x, the link is the dimension's bandwidth over k, and links are chosen such
that k is 1, or 2 on a Ring: the product is then exact in doubles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.job import IMPLEMENTED
from astrac.simulators.algorithms import Named, by_word_2
from astrac.simulators.algorithms.ring import RING
from astrac.simulators.astra_sim_1.can_say import HINT, can_say
from astrac.simulators.astra_sim_1.check import check_derived
from astrac.simulators.astra_sim_1.job import (
    LayerRow,
    Policy,
    TextDimension,
    TextJob,
    TextNetwork,
    TextSystem,
    TextWorkload,
    Work,
)
from astrac.simulators.astra_sim_2.lower.machine import machine_of
from astrac.simulators.blocks import BLOCKS, LONE, by_name_2
from astrac.training.plan import Communicate, Computation, Phase
from astrac.training.strategies.layer_units import is_matrix, units
from astrac.training.strategies.placement import bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.job import Dimension, Kind, Machine
    from astrac.simulators.astra_sim_1.can_say import Near
    from astrac.training.plan import Plan, Step


def lower(plan: Plan, near: Near) -> Result[TextJob]:
    """The text job of a plan, checked; times in cycles of 1 ns, steps as passes.

    Args:
        plan: the lowered training step.
        near: the place of a JSON pointer of the spec's document.

    Returns:
        The job with all that `check_derived` finds; without it AS710 with what no policy can say, at the block that
        says it.
    """
    unsaid = can_say(plan, near)
    if unsaid:
        return Result(None, unsaid)
    try:
        workload, passes = _micro(plan) if plan.spec.model.collective is not None else _training(plan, near)
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))
    machine = machine_of(plan.spec)
    job = TextJob(derive_network(machine), derive_system(machine), workload, passes)
    return Result(job, check_derived(job))


def derive_network(machine: Machine) -> TextNetwork:
    """The dimensions, without memory, NIC or router cost: 2.x has none."""
    return TextNetwork(tuple(_dimension(dimension) for dimension in machine.dimensions))


def _dimension(dimension: Dimension) -> TextDimension:
    size = dimension.size
    row = BLOCKS[LONE] if size == 1 else by_name_2(dimension.block)
    assert row.astra_sim_1 is not None
    links = row.astra_sim_1.links(size)
    bandwidth = dimension.bandwidth / row.links_used(size, links)
    return TextDimension(row.astra_sim_1.name, size, links, bandwidth, dimension.latency)


def derive_system(machine: Machine) -> TextSystem:
    """The same knobs; a kind without words in 2.x takes the all-reduce's, since 1.0 wants all four."""
    known = {kind: tuple(_word(word) for word in words) for kind, words in machine.algorithms.items()}
    default = known.get(IMPLEMENTED[0]) or (Named(RING).astra_sim_1,) * len(machine.dimensions)
    return TextSystem(
        scheduling=machine.scheduling,
        algorithms={kind: known.get(kind, default) for kind in IMPLEMENTED},
        optimization=machine.optimization,
        splits=machine.splits,
        endpoint_delay=10 if machine.endpoint_delay is None else machine.endpoint_delay,
        active_chunks=machine.active_chunks,
    )


def _word(word: str) -> str:
    named = by_word_2(word)
    return word if named is None else named.astra_sim_1


def _micro(plan: Plan) -> tuple[TextWorkload, int]:
    """MICRO issues the weight-gradient collective of its only layer once a pass, all passes at time 0."""
    steps = plan.programs[0].steps
    action = steps[0].action
    assert isinstance(action, Communicate)
    row = LayerRow(steps[0].layer, weight_gradient=Work(0, action.kind, action.bytes))
    return TextWorkload(Policy.MICRO, (row,)), len(steps)


def _training(plan: Plan, near: Near) -> tuple[TextWorkload, int]:
    training = plan.spec.training
    assert training is not None
    policy = _policy(plan, near)
    rows = _rows(plan, apart=policy is not Policy.DATA)
    steps = [step for step in plan.programs[0].steps if step.iteration == 0]
    _fill(steps, rows, near, updates=policy is Policy.DATA)
    if policy is Policy.DATA:
        # It never runs the input gradient of the first row: that of an activation behind the first matrix.
        first = next(iter(rows.values()))
        spent = first.times.pop("input_gradient", 0)
        first.times["weight_gradient"] = first.times.get("weight_gradient", 0) + spent
    layers = [row.finished() for row in dict.fromkeys(rows.values())]
    if policy is not Policy.DATA:
        updates = (step.action for step in steps if step.phase is Phase.OPTIMIZER)
        spent = sum(update.time for update in updates if isinstance(update, Computation))
        layers.insert(0, LayerRow("optimizer", weight_gradient=Work(spent)))
    return TextWorkload(policy, tuple(layers)), training.steps


def _policy(plan: Plan, near: Near) -> Policy:
    """The policy whose dimensions are those of the tensor and data axes."""
    tensor, data = plan.axis("tensor"), plan.axis("data")
    if tensor is None:
        return Policy.DATA
    if data is None:
        return Policy.MODEL
    first = bounds(plan.spec.topology)[1]
    if tensor.stride == 1 and tensor.size == first:
        return Policy.HYBRID_DATA_MODEL
    if data.stride == 1 and data.size == first:
        return Policy.HYBRID_MODEL_DATA
    message = "ASTRA-sim 1.0's hybrid policies give one axis the first dimension and the other all the rest"
    raise Diagnosed(diagnostic("AS710", message, near("/parallelism")))


@dataclass(eq=False)
class _Row:
    """A row while it is filled."""

    name: str
    times: dict[str, int] = field(default_factory=dict)
    sent: dict[str, tuple[Kind, int]] = field(default_factory=dict)
    update: int = 0

    def finished(self) -> LayerRow:
        def work(column: str) -> Work:
            kind, size = self.sent.get(column, (None, 0))
            return Work(self.times.get(column, 0), kind, size)

        return LayerRow(
            self.name, work("forward"), work("input_gradient"), work("weight_gradient"), max(1, self.update)
        )


def _rows(plan: Plan, *, apart: bool) -> dict[str, _Row]:
    """Rows by the names of the layers and units that belong to them, in model order.

    A row is a unit, or, where layers communicate themselves, a layer with a matrix and those that follow it; what a
    whole unit does then belongs to the row of its first layer, which is the last of it in backward.
    """
    found: dict[str, _Row] = {}
    row: _Row | None = None
    for unit in units(plan.model):
        first = True
        for index in unit.indices:
            layer = plan.model.layers[index]
            if row is None or (is_matrix(layer) if apart else first):
                row = _Row(layer.name if apart else unit.name)
            found[layer.name] = row
            if first:
                found[unit.name] = row
            first = False
    return found


_COLUMNS = {
    Phase.FORWARD: "forward",
    Phase.INPUT_GRADIENT: "input_gradient",
    Phase.WEIGHT_GRADIENT: "weight_gradient",
    Phase.REDUCTION: "weight_gradient",
}


def _fill(steps: Sequence[Step], rows: dict[str, _Row], near: Near, *, updates: bool) -> None:
    """Adds every step to the row and the column that it belongs to; a bucket goes to the last of its units.

    Raises:
        Diagnosed: AS710 for a step of no layer, and where a column would need two kinds of collectives.
    """
    for step in steps:
        name, action = step.layer, step.action
        while name not in rows:  # a bucket, `first..last`
            name = name.partition("..")[2]
            if not name:
                raise _unsaid(f"ASTRA-sim 1.0 has no layer for `{step.layer}`", near)
        row = rows[name]
        if step.phase is Phase.OPTIMIZER:
            if updates and isinstance(action, Computation):
                row.update += action.time
            continue
        column = _COLUMNS[step.phase]
        if isinstance(action, Computation):
            row.times[column] = row.times.get(column, 0) + action.time
        elif isinstance(action, Communicate):
            kind, size = row.sent.get(column, (action.kind, 0))
            if kind is not action.kind:
                words = " and ".join(sorted(word.name.lower() for word in (kind, action.kind)))
                raise _unsaid(f"ASTRA-sim 1.0 has one collective a column, `{row.name}` needs {words}", near)
            row.sent[column] = (kind, size + action.bytes)


def _unsaid(message: str, near: Near) -> Diagnosed:
    return Diagnosed(diagnostic("AS710", message, near("/parallelism"), hints=(HINT,)))
