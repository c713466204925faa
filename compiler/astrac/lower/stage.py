"""The steps of one rank: its pipeline turns, layer by layer, with what its strategies exchange."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from astrac.compute.work import Work
from astrac.job import Kind
from astrac.lower.parts import phases, work
from astrac.lower.track import Track
from astrac.plan import Communicate, Computation, Phase, Remote, Step, Transfer
from astrac.strategies import pipeline
from astrac.strategies.data import KIND as DATA
from astrac.strategies.data import Meeting, Reducer, reducer
from astrac.strategies.optimizer import OPTIMIZERS
from astrac.strategies.part import Part, Point, Setting
from astrac.strategies.placement import SHARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from astrac.compute.work import Cost
    from astrac.spec import Data
    from astrac.strategies.units import Unit

TAGS_OF_RINGS = 1 << 28
"""Tags of ring attention start here, above those of pipelines; all stay below the simulator's 5e8."""


@dataclass(frozen=True)
class Chunk:
    """A contiguous piece of the model on one stage.

    Attributes:
        number: its place in the chain of all pieces (virtual stages), from 0.
        units: of the model.
        parts: by index of the layer.
        sent: bytes of one micro-batch that cross its end.
        received: bytes of one micro-batch that cross its beginning.
    """

    number: int
    units: tuple[Unit, ...]
    parts: dict[int, Part]
    sent: int
    received: int


@dataclass(frozen=True)
class Pipe:
    """Where a stage stands: `pieces` virtual stages in all, `micro_batches` of a step."""

    stage: int
    stages: int
    pieces: int
    schedule: str
    micro_batches: int


@dataclass(frozen=True)
class Gradient:
    """Of `elements` parameters of a unit on this rank, complete when the steps `made` have ended."""

    unit: Unit
    elements: int
    made: tuple[int, ...]


class Stage:
    """Builds the steps of the ranks of one pipeline stage."""

    def __init__(
        self, pipe: Pipe, chunks: Sequence[Chunk], setting: Setting, cost: Cost, tied: dict[str, tuple[int, int]]
    ) -> None:
        self.pipe, self.chunks, self.setting, self.cost, self.tied = pipe, chunks, setting, cost, tied
        self.track = Track()
        options: Data | None = setting.options(DATA)  # type: ignore[assignment]
        self.options = options
        training = setting.spec.training
        assert training is not None
        self.training = training
        pool = setting.spec.memory_pool
        self.remote = frozenset(() if pool is None else pool.holds)
        self.reducers: dict[tuple[str, ...], Reducer] = {}
        self._computations: dict[tuple[str, Phase], Computation] = {}
        self._rings = 0

    def steps(self) -> tuple[Step, ...]:
        """All of them, every iteration."""
        for iteration in range(self.training.steps):
            self.track.iteration = iteration
            self._iteration()
        if self.remote:
            # ASTRA-sim's statistics abort where a trace with memory nodes ends in another kind of event.
            last = len(self.track.steps) - 1
            self.track.add(Computation(0, 0, 1), (last,), "end", Phase.OPTIMIZER)
        return tuple(self.track.steps)

    def _iteration(self) -> None:
        pipe = self.pipe
        self.exits: dict[tuple[int, int], int] = {}
        self.gathered: dict[tuple[str, int, bool], tuple[int, ...]] = {}
        self.reduced: dict[str, list[int]] = defaultdict(list)
        self.waiting: dict[tuple[str, ...], list[Gradient]] = defaultdict(list)
        self.late: list[Callable[[], object]] = []
        self.deferred = 0
        chunks = len(self.chunks)
        order = pipeline.turns(pipe.schedule, pipe.stage, pipe.stages, pipe.micro_batches, chunks)
        if self.training.pass_ == "forward":
            order = [turn for turn in order if turn.forward]
        for turn in order:
            if turn.forward:
                self._forward(self.chunks[turn.chunk], turn.micro_batch)
            else:
                self._backward(self.chunks[turn.chunk], turn.micro_batch)
        if self.training.pass_ == "forward":
            return
        self._close_buckets(None)
        for action in self.late:
            action()
        self._meet_copies()
        self._update()

    # -- forward

    def _forward(self, chunk: Chunk, micro_batch: int) -> None:
        entry = self._receive(chunk, micro_batch, forward=True)
        outcome: dict[int, int] = {}
        for position, unit in enumerate(chunk.units):
            self._gather_ahead(chunk, micro_batch, position, 1)
            weights = self._weights(unit, micro_batch, forward=True)
            for index in unit.indices:
                part = chunk.parts[index]
                needs = [outcome[source] for source in part.layer.inputs if source in outcome] or entry
                outcome[index] = self._run(part, Phase.FORWARD, (*needs, *weights), micro_batch)
        last = chunk.units[-1].last
        self.exits[micro_batch, chunk.number] = outcome[last]
        if chunk.number + 1 < self.pipe.pieces:
            alive = [outcome[last], *(outcome[index] for index in _leaving(chunk))]
            self._send(chunk, micro_batch, alive, forward=True)

    def _run(self, part: Part, phase: Phase, needs: Iterable[int], micro_batch: int) -> int:
        """A layer forward, with its exchanges; the id that ends it."""
        needs = self._exchange(part, Point.BEFORE_FORWARD, phase, needs, micro_batch)
        done = self._compute(part, phase, needs, micro_batch)
        return self._exchange(part, Point.AFTER_FORWARD, phase, (done,), micro_batch)[-1]

    # -- backward

    def _backward(self, chunk: Chunk, micro_batch: int) -> None:
        entry = self._receive(chunk, micro_batch, forward=False) or (self.exits[micro_batch, chunk.number],)
        readers = _readers(chunk)
        gradient: dict[int, int] = {}
        final = micro_batch == self.pipe.micro_batches - 1
        for position in reversed(range(len(chunk.units))):
            unit = chunk.units[position]
            self._gather_ahead(chunk, micro_batch, position, -1)
            weights = self._weights(unit, micro_batch, forward=False)
            self._recompute(chunk, unit, micro_batch, weights)
            made: list[int] = []
            for index in reversed(unit.indices):
                part = chunk.parts[index]
                needs = [gradient[reader] for reader in readers[index] if reader in gradient] or entry
                gradient[index] = self._differentiate(part, (*needs, *weights), micro_batch, made)
            self._reduce(chunk, unit, tuple(made), micro_batch, final=final)
        if chunk.number > 0:
            first = chunk.units[0].first
            ends = [gradient[index] for index in gradient if _reads_outside(chunk.parts[index], first)]
            self._send(chunk, micro_batch, ends or [gradient[first]], forward=False)

    def _differentiate(self, part: Part, needs: Iterable[int], micro_batch: int, made: list[int]) -> int:
        """A layer backward; ids of weight gradients go to `made`. Returns the id that ends the input's gradient."""
        done = tuple(needs)
        todo = phases(part)
        if todo:
            done = self._exchange(part, Point.BEFORE_BACKWARD, Phase.INPUT_GRADIENT, done, micro_batch)
        output = done
        for phase in todo:
            if phase is Phase.WEIGHT_GRADIENT:
                again = self._exchange(part, Point.BEFORE_WEIGHT_GRADIENT, phase, output, micro_batch)
                made.append(self._compute(part, phase, again, micro_batch))
            else:
                done = (self._compute(part, phase, output, micro_batch),)
                done = self._exchange(part, Point.AFTER_INPUT_GRADIENT, phase, done, micro_batch)
        return done[-1]

    def _recompute(self, chunk: Chunk, unit: Unit, micro_batch: int, weights: tuple[int, ...]) -> None:
        """Runs again what was not kept: the whole unit, or its attention."""
        outcome: dict[int, int] = {}
        for index in unit.indices:
            part = chunk.parts[index]
            if recomputed(part, self.setting):
                needs = [outcome[source] for source in part.layer.inputs if source in outcome]
                needs = needs or [self.exits[micro_batch, chunk.number]]
                outcome[index] = self._run(part, Phase.RECOMPUTE, (*needs, *weights), micro_batch)

    # -- the data axes

    def reducer(self, axes: tuple[str, ...]) -> Reducer:
        """How parameters that meet over these axes are divided and reduced."""
        if axes not in self.reducers:
            degrees = self.setting.degrees
            shard_on = (SHARD, "context", "expert") if SHARD in degrees else None
            self.reducers[axes] = reducer(axes, self.setting, shard_on)
        return self.reducers[axes]

    def held(self, unit: Unit, *, trained: bool) -> dict[tuple[str, ...], int]:
        """Elements of a unit on this rank (all, or those that train), by the axes along which they are copies."""
        found: dict[tuple[str, ...], int] = defaultdict(int)
        for part in self._parts(unit):
            if self._owned(part) and (part.layer.trainable or not trained):
                found[part.reduced_on] += self._owned(part)
        return found

    def _owned(self, part: Part) -> int:
        """Parameters of a part; a tied weight counts again where its owner lives on another stage."""
        owner = part.layer.shared_with
        if owner is None or any(owner == other.layer.name for chunk in self.chunks for other in chunk.parts.values()):
            return part.params
        return part.weights + part.bias

    def _parts(self, unit: Unit) -> list[Part]:
        return [chunk.parts[index] for chunk in self.chunks for index in unit.indices if index in chunk.parts]

    def _reduce(self, chunk: Chunk, unit: Unit, made: tuple[int, ...], micro_batch: int, *, final: bool) -> None:
        """Hands a unit's gradients to the reductions that are due: after the last micro-batch, or after each."""
        for axes, elements in self.held(unit, trained=True).items():
            if not made or not (final or (self.reducer(axes).sharding.gradients and axes)):
                continue
            gradient = Gradient(unit, elements, made)
            if final and any(part.layer.name in self.tied for part in self._parts(unit)):
                self.late.append(partial(self._meet_tied, axes, gradient))
                continue
            self.waiting[axes].append(gradient)
            if self._full(axes):
                self._close(axes, None if final else micro_batch)
        if not final and unit is chunk.units[0]:
            self._close_buckets(micro_batch)

    def _full(self, axes: tuple[str, ...]) -> bool:
        """Whether the gradients that wait for these axes are a bucket: one unit, or as many bytes as asked for."""
        if self.options is None or self.options.buckets is None:
            return True
        size = sum(gradient.elements for gradient in self.waiting[axes]) * self.setting.widths.reduce
        return size >= self.options.buckets

    def _close_buckets(self, micro_batch: int | None) -> None:
        for axes in list(self.waiting):
            self._close(axes, micro_batch)

    def _close(self, axes: tuple[str, ...], micro_batch: int | None) -> None:
        """Reduces the bucket that waits for these axes: now, or when backward has ended."""
        bucket = self.waiting.pop(axes, [])
        if not bucket:
            return
        if self.options is not None and not self.options.overlap and micro_batch is None:
            self.late.insert(self.deferred, partial(self._meet_bucket, axes, bucket, None))
            self.deferred += 1
        else:
            self._meet_bucket(axes, bucket, micro_batch)

    def _meet_bucket(self, axes: tuple[str, ...], bucket: Sequence[Gradient], micro_batch: int | None) -> None:
        """The collectives that reduce the gradients of some units as one."""
        names = [gradient.unit.name for gradient in bucket]
        name = names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"
        needs = tuple(identity for gradient in bucket for identity in gradient.made)
        keeper = self.reducer(axes)
        for meeting in keeper.gradients(sum(gradient.elements for gradient in bucket)):
            needs = (self._meet(meeting, needs, name, Phase.REDUCTION, micro_batch),)
        for gradient in bucket:
            self.reduced[gradient.unit.name] += needs
            if "gradients" in self.remote:
                held = keeper.held(gradient.elements, keeper.sharding.gradients)
                self._remote(held * self.setting.widths.gradients, True, needs, gradient.unit.name)

    def _meet_tied(self, axes: tuple[str, ...], gradient: Gradient) -> None:
        """The gradient of a weight that two stages hold: summed between them, then reduced as any other.

        After all of backward: the first stage is the last to have its own, and nothing may wait behind this.
        """
        made = gradient.made
        for part in self._parts(gradient.unit):
            if part.layer.name in self.tied:
                size = part.weights * self.setting.widths.reduce
                action = Communicate(Kind.ALL_REDUCE, size, ("pipeline",), self.tied[part.layer.name])
                made = (self.track.add(action, made, part.layer.name, Phase.REDUCTION, axis="pipeline"),)
        self._meet_bucket(axes, [replace(gradient, made=made)], None)

    def _meet_copies(self) -> None:
        """Sequence parallelism: norms and row biases are copies that saw different tokens."""
        copies = [part for chunk in self.chunks for part in chunk.parts.values() if part.replicated]
        elements = sum(part.bias if part.weights and part.layer.macs else part.params for part in copies)
        if elements:
            action = Communicate(Kind.ALL_REDUCE, elements * self.setting.widths.reduce, copies[0].replicated)
            needs = sorted({identity for ids in self.reduced.values() for identity in ids})
            done = self.track.add(action, needs[-1:], "copies", Phase.REDUCTION, axis="tensor")
            for ids in self.reduced.values():
                ids.append(done)

    def _gather_ahead(self, chunk: Chunk, micro_batch: int, position: int, direction: int) -> None:
        """Gathers the sharded weights of this unit and of those that come next, as far as `prefetch` says."""
        ahead = 0 if self.options is None else self.options.prefetch
        for step in range(ahead + 1):
            at = position + direction * step
            if 0 <= at < len(chunk.units):
                self._weights(chunk.units[at], micro_batch, forward=direction > 0)

    def _weights(self, unit: Unit, micro_batch: int, *, forward: bool) -> tuple[int, ...]:
        """Ids that bring a unit's weights before a pass: gathered from shards, loaded from the pool, or none."""
        key = (unit.name, micro_batch, forward)
        if key not in self.gathered:
            self.gathered[key] = self._bring(unit, micro_batch, forward=forward)
        return self.gathered[key]

    def _bring(self, unit: Unit, micro_batch: int, *, forward: bool) -> tuple[int, ...]:
        phase = Phase.FORWARD if forward else Phase.INPUT_GRADIENT
        found: list[int] = []
        # Not earlier than the compute that was last in line when it was asked for: weights are freed in between.
        needs = self.track.computed
        for axes, elements in self.held(unit, trained=False).items():
            keeper = self.reducer(axes)
            if "parameters" in self.remote:
                held = keeper.held(elements, keeper.sharding.parameters) * self.setting.widths.weights
                needs = (self._remote(held, False, needs, unit.name, phase, micro_batch),)
                found += needs
            if keeper.sharding.parameters:
                found += [
                    self._meet(meeting, needs, unit.name, phase, micro_batch) for meeting in keeper.parameters(elements)
                ]
        return tuple(found)

    # -- the optimizer

    def _update(self) -> None:
        """Updates every unit in the order in which its gradients came, then gathers what ZeRO-1 and 2 divided."""
        for unit in (unit for chunk in reversed(self.chunks) for unit in reversed(chunk.units)):
            for axes, elements in self.held(unit, trained=True).items():
                keeper = self.reducer(axes)
                self._update_unit(unit, keeper, keeper.held(elements, keeper.sharding.optimizer), elements)

    def _update_unit(self, unit: Unit, keeper: Reducer, mine: int, elements: int) -> None:
        state, moved, flops = optimizer_cost(mine, self.setting)
        wide = self.setting.widths
        needs = tuple(self.reduced[unit.name])
        if "gradients" in self.remote:
            needs = (*needs, self._remote(mine * wide.gradients, False, needs, unit.name))
        if "optimizer_state" in self.remote and state:
            needs = (*needs, self._remote(state, False, needs, unit.name))
        time = self.cost(Work(flops, moved, (), unit.name, Phase.OPTIMIZER.value, wide.compute))
        done = (self.track.add(Computation(flops, moved, time), needs, unit.name, Phase.OPTIMIZER),)
        if "optimizer_state" in self.remote and state:
            self._remote(state, True, done, unit.name)
        if "parameters" in self.remote:
            self._remote(mine * wide.weights, True, done, unit.name)
        if not keeper.sharding.parameters:
            for meeting in keeper.parameters(elements):
                done = (self._meet(meeting, done, unit.name, Phase.OPTIMIZER, None),)

    # -- single steps

    def _compute(self, part: Part, phase: Phase, needs: Iterable[int], micro_batch: int) -> int:
        if part.rotation is not None and phase is not Phase.WEIGHT_GRADIENT:
            return self._rotate(part, phase, tuple(needs), micro_batch)
        return self.track.add(self._computation(part, phase), needs, part.layer.name, phase, micro_batch)

    def _computation(self, part: Part, phase: Phase) -> Computation:
        key = (part.layer.name, phase)
        if key not in self._computations:
            todo = work(part, phase, self.setting)
            self._computations[key] = Computation(todo.flops, todo.bytes, self.cost(todo))
        return self._computations[key]

    def _rotate(self, part: Part, phase: Phase, needs: tuple[int, ...], micro_batch: int) -> int:
        """Ring attention: each piece of the work runs while the next block is on its way."""
        ring = part.rotation
        assert ring is not None
        whole = self._computation(part, phase)
        size = ring.backward_bytes if phase is Phase.INPUT_GRADIENT else ring.forward_bytes
        block, done = needs, needs
        for step in range(ring.steps):
            if step + 1 < ring.steps:
                tag = TAGS_OF_RINGS + self._rings
                self._rings += 1
                out = Transfer(ring.axis, 1, size, tag, send=True)
                self.track.add(out, block, part.layer.name, phase, micro_batch, ring.axis)
            piece = _slice(whole, step, ring.steps)
            done = (self.track.add(piece, (*block, *done), part.layer.name, phase, micro_batch),)
            if step + 1 < ring.steps:
                inward = Transfer(ring.axis, -1, size, tag, send=False)
                block = (self.track.add(inward, (), part.layer.name, phase, micro_batch, ring.axis),)
        return done[0]

    def _exchange(
        self, part: Part, point: Point, phase: Phase, needs: Iterable[int], micro_batch: int
    ) -> tuple[int, ...]:
        """The part's collectives at a point, one after the other; the ids to wait for afterwards."""
        ids = tuple(needs)
        for exchange in part.at(point):
            action = Communicate(exchange.kind, exchange.bytes, (exchange.axis,))
            ids = (self.track.add(action, ids, part.layer.name, phase, micro_batch, exchange.axis),)
        return ids

    def _meet(self, meeting: Meeting, needs: Iterable[int], name: str, phase: Phase, micro_batch: int | None) -> int:
        action = Communicate(meeting.kind, meeting.bytes, meeting.axes)
        return self.track.add(action, needs, name, phase, micro_batch, DATA)

    def _remote(
        self,
        size: int,
        store: bool,
        needs: Iterable[int],
        name: str,
        phase: Phase = Phase.OPTIMIZER,
        micro_batch: int | None = None,
    ) -> int:
        return self.track.add(Remote(size, store), needs, name, phase, micro_batch, "memory")

    def _tag(self, micro_batch: int, boundary: int, *, forward: bool) -> int:
        """One per iteration, micro-batch, boundary between virtual stages, and direction."""
        pipe = self.pipe
        turn = (self.track.iteration * pipe.micro_batches + micro_batch) * pipe.pieces + boundary
        return 2 * turn + (0 if forward else 1)

    def _receive(self, chunk: Chunk, micro_batch: int, *, forward: bool) -> tuple[int, ...]:
        """Posts the receive that a turn begins with; none at the ends of the chain."""
        boundary = chunk.number if forward else chunk.number + 1
        if boundary in (0, self.pipe.pieces):
            return ()
        size = chunk.received if forward else chunk.sent
        tag = self._tag(micro_batch, boundary, forward=forward)
        action = Transfer("pipeline", -1 if forward else 1, size, tag, send=False)
        phase = Phase.FORWARD if forward else Phase.INPUT_GRADIENT
        return (self.track.add(action, (), f"boundary{boundary}", phase, micro_batch, "pipeline"),)

    def _send(self, chunk: Chunk, micro_batch: int, needs: Iterable[int], *, forward: bool) -> None:
        boundary = chunk.number + 1 if forward else chunk.number
        size = chunk.sent if forward else chunk.received
        tag = self._tag(micro_batch, boundary, forward=forward)
        action = Transfer("pipeline", 1 if forward else -1, size, tag, send=True)
        phase = Phase.FORWARD if forward else Phase.INPUT_GRADIENT
        self.track.add(action, needs, f"boundary{boundary}", phase, micro_batch, "pipeline")


def recomputed(part: Part, setting: Setting) -> bool:
    """Whether backward computes a layer again instead of keeping its activations."""
    training = setting.spec.training
    assert training is not None
    word = training.recompute
    if word == "selective":
        return part.layer.activation_product
    transformer = setting.spec.model.transformer is not None
    return word == "full" and (part.layer.block is not None or not transformer)


def optimizer_cost(elements: int, setting: Setting) -> tuple[int, int, int]:
    """(bytes of state, bytes moved, FLOPs) of updating so many parameters.

    State: the optimizer's numbers and, in mixed precision, its own copy of the weights. An update reads the gradient,
    reads and writes the state, and writes the weights (which it reads where there is no copy).
    """
    assert setting.spec.training is not None
    row, wide = OPTIMIZERS[setting.spec.training.optimizer], setting.widths
    state = (row.states + (1 if wide.master else 0)) * wide.optimizer
    moved = wide.gradients + 2 * state + (1 if wide.master else 2) * wide.weights
    return elements * state, elements * moved, elements * row.flops


def _slice(whole: Computation, step: int, steps: int) -> Computation:
    """Piece `step` of a computation cut into `steps`, which add up to it (but each takes at least 1 ns)."""

    def piece(total: int) -> int:
        return total * (step + 1) // steps - total * step // steps

    return replace(whole, flops=piece(whole.flops), bytes=piece(whole.bytes), time=max(1, piece(whole.time)))


def _readers(chunk: Chunk) -> dict[int, list[int]]:
    """For each layer of a chunk, the layers of the chunk that read it."""
    found: dict[int, list[int]] = {index: [] for index in chunk.parts}
    for index, part in chunk.parts.items():
        for source in part.layer.inputs:
            if source in found:
                found[source].append(index)
    return found


def _leaving(chunk: Chunk) -> list[int]:
    """Layers of a chunk that nothing in it reads: their outputs leave it."""
    return [index for index, readers in _readers(chunk).items() if not readers]


def _reads_outside(part: Part, first: int) -> bool:
    return any(source < first for source in part.layer.inputs)
