"""The steps of one rank: its pipeline slots, layer by layer, with what its strategies exchange."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.score import ITERATIONS, SAMPLES, Chain, Pass, Score, Turn, pass_of, relative
from astrac.training.lower.parts import phases, work
from astrac.training.lower.steps import StepBuilder
from astrac.training.lower.weights import Weights
from astrac.training.plan import Communicate, Computation, Phase, Step, Transfer
from astrac.training.strategies import pipeline
from astrac.training.strategies.part import ExchangePoint, Part, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.training.compute.cost import Cost
    from astrac.training.lower.virtual_stage import PipelinePosition, VirtualStage
    from astrac.training.strategies.layer_units import LayerUnit

Ids = tuple[int, ...]

TAGS_OF_RINGS = 1 << 28
"""Tags of ring attention start here, above those of pipelines; all stay below the simulator's 5e8."""


class StageBuilder:
    """Builds the steps of the ranks of one pipeline stage.

    Attributes:
        pipe: where it stands.
        virtual_stages: what it holds.
        setting: what strategies know.
        weights: its parameters.
        order: in which it runs micro-batches.
        skipped: units whose steps are not written.
    """

    def __init__(
        self,
        pipe: PipelinePosition,
        virtual_stages: Sequence[VirtualStage],
        setting: Setting,
        cost: Cost,
        tied: dict[str, tuple[int, ...]],
        skipped: frozenset[LayerUnit] = frozenset(),
    ) -> None:
        self.pipe, self.virtual_stages, self.setting, self.skipped = pipe, virtual_stages, setting, skipped
        self._cost, self._steps = cost, StepBuilder()
        self.weights = Weights(virtual_stages, setting, cost, tied, self._steps)
        training = setting.spec.training
        assert training is not None
        learns = training.pass_ == "training"
        self.order = pipeline.StageOrder(pipe.schedule, pipe.stage, pipe.stages, len(virtual_stages), learns)
        self._readers = {virtual.number: virtual.readers() for virtual in virtual_stages}
        self._phases = {part.layer.name: phases(part) for virtual in virtual_stages for part in virtual.parts.values()}
        self._computations: dict[tuple[object, Phase], Computation | None] = {}
        self._exchanges: dict[tuple[object, ExchangePoint], tuple[Communicate, ...]] = {}
        self._rings = 0

    def steps(self, micro_batches: int, iterations: int) -> tuple[Step, ...]:
        """Those of so many micro-batches and training steps; the last micro-batch reduces what all of them made."""
        self._play(self.order.slots(micro_batches), micro_batches, iterations)
        return tuple(self._steps.steps)

    def sampled(self, iterations: int) -> tuple[tuple[Step, ...], Score]:
        """The steps of a sample, and how they make so many training steps of all micro-batches.

        Raises:
            Irregular: when they do not.
        """
        shown = min(self.pipe.micro_batches, SAMPLES)
        # Neighbours in the sample never belong to one micro-batch: what a step needs of either is told apart.
        apart = replace(self.order, schedule="gpipe")
        self._play(apart.slots(shown), shown, min(iterations, ITERATIONS))
        steps = tuple(self._steps.steps)
        turns, starts, chains = zip(*self._turns, strict=True)
        starts = (*starts, len(steps))
        needs = relative(turns, starts, [step.needs for step in steps], chains)
        return steps, Score(
            turns, starts, needs, self.pipe.micro_batches, iterations, 2 * self.pipe.pieces, self.order.slots
        )

    def busy(self) -> int:
        """Ns that a rank computes at least in a training step, the optimizer aside: its computations are a chain."""
        found = 0
        for virtual in self.virtual_stages:
            for part in virtual.parts.values():
                todo = [Phase.FORWARD]
                if self.order.learns and (backward := self._phases[part.layer.name]):
                    todo += backward if part.recompute == "none" else (Phase.RECOMPUTE, *backward)
                computations = (self._computation(part, phase) for phase in todo)
                found += sum(computation.time for computation in computations if computation is not None)
        return found * self.pipe.micro_batches

    def passage(self) -> int:
        """Ns that a micro-batch takes at least through the first virtual stage: forward, and its gradient back."""
        wanted = (Phase.FORWARD, *((Phase.INPUT_GRADIENT,) if self.order.learns else ()))
        found = 0
        for part in self.virtual_stages[0].parts.values():
            todo = (phase for phase in wanted if phase is Phase.FORWARD or phase in self._phases[part.layer.name])
            computations = (self._computation(part, phase) for phase in todo)
            found += sum(computation.time for computation in computations if computation is not None)
        return found

    def _play(self, slots: list[pipeline.PipelineSlot], micro_batches: int, iterations: int) -> None:
        self._turns: list[tuple[Turn, int, dict[Chain, int]]] = []
        for iteration in range(iterations):
            self._steps.iteration = iteration
            self._exits: dict[tuple[int, int], Ids] = {}
            self.weights.restart()
            for slot in slots:
                self._begin(Turn(pass_of(slot), slot.virtual, slot.micro_batch, iteration))
                virtual = self.virtual_stages[slot.virtual]
                if slot.forward:
                    self._forward(virtual, slot.micro_batch)
                else:
                    self._backward(virtual, slot.micro_batch, final=slot.micro_batch == micro_batches - 1)
            if self.order.learns:
                self._begin(Turn(Pass.END, 0, 0, iteration))
                self.weights.finish()
                self.weights.update(self.skipped)
        if self.weights.remote:
            # ASTRA-sim's statistics abort where a trace with memory nodes ends in another kind of event.
            self._begin(Turn(Pass.CLOSE, 0, 0, iterations - 1))
            self._steps.add(Computation(0, 0, 1), (len(self._steps.steps) - 1,), "end", Phase.OPTIMIZER)

    def _begin(self, turn: Turn) -> None:
        self._turns.append((turn, len(self._steps.steps), self._steps.chains))

    # -- forward

    def _forward(self, virtual: VirtualStage, micro_batch: int) -> None:
        entry = self._receive(virtual, micro_batch, forward=True)
        outcome: dict[int, Ids] = {}
        for position, unit in enumerate(virtual.units):
            if unit in self.skipped:
                continue
            self.weights.gather_ahead(virtual, micro_batch, position, forward=True)
            brought = self.weights.bring(unit, micro_batch, forward=True)
            for index in unit.indices:
                part = virtual.parts[index]
                needs = _joined(outcome[source] for source in part.layer.inputs if source in outcome) or entry
                outcome[index] = self._run(part, Phase.FORWARD, (*needs, *brought), micro_batch)
        last = outcome[virtual.units[-1].last]
        self._exits[micro_batch, virtual.number] = last
        leaving = (ids for index, ids in outcome.items() if not self._readers[virtual.number][index])
        self._send(virtual, micro_batch, _joined((last, *leaving)), forward=True)

    def _run(self, part: Part, phase: Phase, needs: Ids, micro_batch: int) -> Ids:
        """A layer forward, with its exchanges; the ids that end it."""
        needs = self._exchange(part, ExchangePoint.BEFORE_FORWARD, phase, needs, micro_batch)
        done = self._compute(part, phase, needs, micro_batch)
        return self._exchange(part, ExchangePoint.AFTER_FORWARD, phase, done, micro_batch)

    # -- backward

    def _backward(self, virtual: VirtualStage, micro_batch: int, *, final: bool) -> None:
        entry = self._receive(virtual, micro_batch, forward=False) or self._exits[micro_batch, virtual.number]
        readers = self._readers[virtual.number]
        gradient: dict[int, Ids] = {}
        for position in reversed(range(len(virtual.units))):
            unit = virtual.units[position]
            if unit in self.skipped or not any(self._phases[part.layer.name] for part in virtual.of(unit)):
                continue
            self.weights.gather_ahead(virtual, micro_batch, position, forward=False)
            brought = self.weights.bring(unit, micro_batch, forward=False)
            self._recompute(virtual, unit, micro_batch, brought)
            made: list[int] = []
            for index in reversed(unit.indices):
                needs = _joined(gradient[reader] for reader in readers[index] if reader in gradient) or entry
                gradient[index] = self._differentiate(virtual.parts[index], (*needs, *brought), micro_batch, made)
            self.weights.reduce(unit, tuple(made), micro_batch, final=final)
        self.weights.close(micro_batch, final=final)
        first = virtual.units[0].first
        outward = (index for index, part in virtual.parts.items() if min(part.layer.inputs, default=0) < first)
        needs = _joined(gradient[index] for index in outward if index in gradient)
        self._send(virtual, micro_batch, needs, forward=False)

    def _differentiate(self, part: Part, needs: Ids, micro_batch: int, made: list[int]) -> Ids:
        """A layer backward; ids of weight gradients go to `made`. Returns the ids that end the input's gradient."""
        todo = self._phases[part.layer.name]
        if not todo:
            return needs
        output = self._exchange(part, ExchangePoint.BEFORE_BACKWARD, Phase.INPUT_GRADIENT, needs, micro_batch)
        done = output
        for phase in todo:
            if phase is Phase.WEIGHT_GRADIENT:
                again = self._exchange(part, ExchangePoint.BEFORE_WEIGHT_GRADIENT, phase, output, micro_batch)
                made += self._compute(part, phase, again, micro_batch)
            else:
                done = self._compute(part, phase, output, micro_batch)
                done = self._exchange(part, ExchangePoint.AFTER_INPUT_GRADIENT, phase, done, micro_batch)
        return done

    def _recompute(self, virtual: VirtualStage, unit: LayerUnit, micro_batch: int, brought: Ids) -> None:
        """Runs again what was not kept: all of a unit with its exchanges, or attention, whose inputs were kept."""
        outcome: dict[int, Ids] = {}
        for index in unit.indices:
            part = virtual.parts[index]
            if part.recompute == "none":
                continue
            needs = _joined(outcome[source] for source in part.layer.inputs if source in outcome)
            needs = (*(needs or self._exits[micro_batch, virtual.number]), *brought)
            run = self._run if part.recompute == "full" else self._compute
            outcome[index] = run(part, Phase.RECOMPUTE, needs, micro_batch)

    # -- single steps

    def _compute(self, part: Part, phase: Phase, needs: Ids, micro_batch: int) -> Ids:
        """A layer's work in one phase; a layer without any is no step."""
        computation = self._computation(part, phase)
        if computation is None:
            return needs
        if part.rotation is not None and phase is not Phase.WEIGHT_GRADIENT:
            return self._rotate(part, phase, computation, needs, micro_batch)
        return (self._steps.add(computation, needs, part.layer.name, phase, micro_batch),)

    def _computation(self, part: Part, phase: Phase) -> Computation | None:
        key = (part.key, phase)
        if key not in self._computations:
            todo = work(part, phase, self.setting)
            found = Computation(todo.flops, todo.bytes, self._cost(todo))
            self._computations[key] = found if todo.flops or todo.bytes or found.time > 1 else None
        return self._computations[key]

    def _rotate(self, part: Part, phase: Phase, whole: Computation, needs: Ids, micro_batch: int) -> Ids:
        """Ring attention: each piece of the work runs while the next block is on its way.

        Backward, the gradients of a block follow it: each rank adds its own and sends them on, until they are home.
        """
        ring = part.rotation
        assert ring is not None
        why = (part.layer.name, phase, micro_batch)
        block, done = needs, needs
        carried: Ids = ()
        for step in range(ring.steps):
            moves = step + 1 < ring.steps
            arriving = self._pass_on(part, phase, block, micro_batch) if moves else ()
            done = (self._steps.add(_slice(whole, step, ring.steps), (*block, *done), *why),)
            if phase is Phase.INPUT_GRADIENT and step:
                carried = self._pass_on(part, phase, (*done, *carried), micro_batch)
            block = arriving
        return (*done, *carried)

    def _pass_on(self, part: Part, phase: Phase, needs: Ids, micro_batch: int) -> Ids:
        """Sends a block to the next rank of the ring; the id that receives one from the rank before."""
        ring = part.rotation
        assert ring is not None
        why = (part.layer.name, phase, micro_batch)
        tag = TAGS_OF_RINGS + self._rings
        self._rings += 1
        self._steps.add(Transfer(ring.axis, 1, ring.bytes, tag, send=True), needs, *why, ring.axis)
        return (self._steps.add(Transfer(ring.axis, -1, ring.bytes, tag, send=False), (), *why, ring.axis),)

    def _exchange(self, part: Part, point: ExchangePoint, phase: Phase, needs: Ids, micro_batch: int) -> Ids:
        """The part's collectives at a point, one after the other; the ids to wait for afterwards."""
        key = (part.key, point)
        if key not in self._exchanges:
            exchanges = (exchange for exchange in part.at(point) if exchange.bytes)
            self._exchanges[key] = tuple(Communicate(each.kind, each.bytes, (each.axis,)) for each in exchanges)
        for action in self._exchanges[key]:
            needs = (self._steps.add(action, needs, part.layer.name, phase, micro_batch, action.axes[0]),)
        return needs

    def _receive(self, virtual: VirtualStage, micro_batch: int, *, forward: bool) -> Ids:
        """Posts the receive that a pipeline slot begins with; none where nothing comes."""
        boundary = virtual.number if forward else virtual.number + 1
        size = virtual.begin.forward if forward else virtual.end.backward
        return self._transfer(boundary, size, micro_batch, (), forward=forward, send=False)

    def _send(self, virtual: VirtualStage, micro_batch: int, needs: Ids, *, forward: bool) -> None:
        boundary = virtual.number + 1 if forward else virtual.number
        size = virtual.end.forward if forward else virtual.begin.backward
        self._transfer(boundary, size, micro_batch, needs, forward=forward, send=True)

    def _transfer(self, boundary: int, size: int, micro_batch: int, needs: Ids, *, forward: bool, send: bool) -> Ids:
        """One side of a message across a boundary between virtual stages; none where nothing crosses.

        A tag for each training step, micro-batch, boundary and direction.
        """
        if not size:
            return ()
        pipe = self.pipe
        passage = (self._steps.iteration * pipe.micro_batches + micro_batch) * pipe.pieces + boundary
        offset = 1 if send == forward else -1
        action = Transfer("pipeline", offset, size, 2 * passage + (0 if forward else 1), send)
        phase = Phase.FORWARD if forward else Phase.INPUT_GRADIENT
        return (self._steps.add(action, needs, f"boundary{boundary}", phase, micro_batch, "pipeline"),)


def _joined(ids: Iterable[Ids]) -> Ids:
    """All of them, each once, in order."""
    return tuple(dict.fromkeys(identity for several in ids for identity in several))


def _slice(whole: Computation, step: int, steps: int) -> Computation:
    """Piece `step` of a computation cut into `steps`, which add up to it (but each takes at least 1 ns)."""

    def piece(total: int) -> int:
        return total * (step + 1) // steps - total * step // steps

    return replace(whole, flops=piece(whole.flops), bytes=piece(whole.bytes), time=max(1, piece(whole.time)))
