"""What the ranks of one stage do with parameters: bring them, reduce their gradients, update them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.training.compute.cost import Work
from astrac.training.plan import Communicate, Computation, Phase, Remote
from astrac.training.strategies.data import KIND as DATA
from astrac.training.strategies.data import Reducer, reducer_of
from astrac.training.strategies.optimizer import update_cost
from astrac.training.strategies.placement import SHARD
from astrac.training.strategies.tensor import KIND as TENSOR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from astrac.spec import Data
    from astrac.training.compute.cost import Cost
    from astrac.training.lower.steps import StepBuilder
    from astrac.training.lower.virtual_stage import VirtualStage
    from astrac.training.strategies.layer_units import LayerUnit
    from astrac.training.strategies.part import Part, Setting

Axes = tuple[str, ...]

BUCKET = ".."
"""Between the names of the first and the last unit of a bucket."""


@dataclass(frozen=True)
class UnitGradient:
    """The gradient of `elements` parameters of a unit on this rank, complete when the steps `made` have ended."""

    unit: LayerUnit
    elements: int
    made: tuple[int, ...]


class Weights:
    """The parameters of one stage, by unit and by the axes along which they are copies.

    Attributes:
        options: the data axis' block, None without one.
        remote: what lies in the memory pool.
    """

    def __init__(
        self,
        virtual_stages: Sequence[VirtualStage],
        setting: Setting,
        cost: Cost,
        tied: dict[str, tuple[int, ...]],
        steps: StepBuilder,
    ) -> None:
        self._virtual_stages, self._setting, self._cost, self._tied, self._steps = (
            virtual_stages,
            setting,
            cost,
            tied,
            steps,
        )
        options: Data | None = setting.options(DATA)  # type: ignore[assignment]
        self.options = options
        pool = setting.spec.memory_pool
        self.remote = frozenset(() if pool is None else pool.holds)
        self._reducers: dict[Axes, Reducer] = {}
        self._parts = {unit: tuple(virtual.of(unit)) for virtual in virtual_stages for unit in virtual.units}
        self._homes = self._find_homes()
        self._needed: dict[LayerUnit, tuple[LayerUnit, ...]] = {}
        self._held: dict[tuple[LayerUnit, bool], dict[Axes, int]] = {}
        self._fresh: dict[LayerUnit, tuple[int, ...]] = {}
        self.restart()

    def restart(self) -> None:
        """Before each training step: nothing is gathered, nothing waits, nothing is reduced."""
        self._gathered: dict[tuple[LayerUnit, int, bool], tuple[int, ...]] = {}
        self._reduced: dict[LayerUnit, list[int]] = defaultdict(list)
        self._waiting: dict[Axes, list[UnitGradient]] = defaultdict(list)
        self._deferred: list[Callable[[], None]] = []
        self._last: list[tuple[Axes, UnitGradient]] = []
        self._stored: set[tuple[LayerUnit, Axes]] = set()

    # -- who holds what

    def reducer(self, axes: Axes) -> Reducer:
        """How parameters that are copies along these axes are divided and reduced."""
        if axes not in self._reducers:
            shard_on = (SHARD, "context", "expert") if SHARD in self._setting.degrees else None
            self._reducers[axes] = reducer_of(axes, self._setting, shard_on)
        return self._reducers[axes]

    def held(self, unit: LayerUnit, *, trained: bool) -> dict[Axes, int]:
        """Elements of a unit on this rank (all, or those that train), by the axes along which they are copies."""
        key = (unit, trained)
        if key not in self._held:
            found: dict[Axes, int] = defaultdict(int)
            for part in self._parts[unit]:
                elements = self._owned(part)
                if elements and (part.layer.trainable or not trained):
                    found[part.reduced_on] += elements
            self._held[key] = dict(found)
        return self._held[key]

    def _find_homes(self) -> dict[str, tuple[LayerUnit, Part]]:
        """Where each weight of this stage counts, by the layer that owns it: at the first layer here that uses it."""
        found: dict[str, tuple[LayerUnit, Part]] = {}
        for unit, parts in self._parts.items():
            for part in parts:
                found.setdefault(part.layer.shared_with or part.layer.name, (unit, part))
        return found

    def _owned(self, part: Part) -> int:
        """Parameters of a part; a shared weight counts once on each stage."""
        _, home = self._homes[part.layer.shared_with or part.layer.name]
        return part.weights + part.bias if home is part else part.bias

    def needed(self, unit: LayerUnit) -> tuple[LayerUnit, ...]:
        """The unit, and those of this stage where weights that it shares count."""
        if unit not in self._needed:
            homes = (self._homes[part.layer.shared_with or part.layer.name][0] for part in self._parts[unit])
            self._needed[unit] = tuple(dict.fromkeys((unit, *homes)))
        return self._needed[unit]

    # -- before a pass

    def gather_ahead(self, virtual: VirtualStage, micro_batch: int, position: int, *, forward: bool) -> None:
        """Brings the weights of a unit and of those that come next, as far as `prefetch` says."""
        direction = 1 if forward else -1
        for step in range(1 + (0 if self.options is None else self.options.prefetch)):
            at = position + direction * step
            if 0 <= at < len(virtual.units):
                self.bring(virtual.units[at], micro_batch, forward=forward)

    def bring(self, unit: LayerUnit, micro_batch: int, *, forward: bool) -> tuple[int, ...]:
        """Ids that bring a unit's weights before a pass: gathered from shards, loaded from the pool, or none."""
        ids: list[int] = []
        for needed in self.needed(unit):
            key = (needed, micro_batch, forward)
            if key not in self._gathered:
                phase = Phase.FORWARD if forward else Phase.INPUT_GRADIENT
                self._gathered[key] = self._bring(needed, micro_batch, phase)
            ids += self._gathered[key]
        return tuple(ids)

    def _bring(self, unit: LayerUnit, micro_batch: int, phase: Phase) -> tuple[int, ...]:
        found = list(self._fresh.pop(unit, ()))
        # Not before the compute that is last in line when they are asked for: earlier weights are freed by then.
        needs = self._steps.computed
        for axes, elements in self.held(unit, trained=False).items():
            reducer = self.reducer(axes)
            if "parameters" in self.remote:
                size = reducer.held(elements, divided=reducer.sharding.parameters) * self._setting.widths.weights
                needs = (self._move(size, needs, unit, store=False, phase=phase, micro_batch=micro_batch),)
                found += needs
            if reducer.sharding.parameters:
                gathers = reducer.parameters(elements)
                found += [self._communicate(gather, needs, unit.name, phase, micro_batch) for gather in gathers]
        return tuple(found)

    # -- gradients

    def reduce(self, unit: LayerUnit, made: tuple[int, ...], micro_batch: int, *, final: bool) -> None:
        """Hands a unit's gradients to the reductions that are due: after the last micro-batch, or after each."""
        for axes, elements in self.held(unit, trained=True).items():
            if not made:
                continue
            gradient = self._with_sum(UnitGradient(unit, elements, made), axes)
            if not final and not self._scattered(axes):
                self._keep(gradient, axes, gradient.made, divided=False)
            elif final and not self._scattered(axes) and self._tied_here(unit):
                self._last.append((axes, gradient))
            else:
                self._waiting[axes].append(gradient)
                if self._full(axes):
                    self._flush(axes, None if final else micro_batch)

    def close(self, micro_batch: int, *, final: bool) -> None:
        """Reduces what waits when a backward pass of a virtual stage ends: no bucket spans two of them."""
        self._flush_all(None if final else micro_batch)

    def finish(self) -> None:
        """After all of backward: what was put off, what stages share, what the tensor axis holds in copies."""
        for action in self._deferred:
            action()
        self._reduce_across_stages()
        self._reduce_copies()

    def _scattered(self, axes: Axes) -> bool:
        """Whether these gradients are divided, so that each micro-batch's are reduced by themselves."""
        return self.reducer(axes).sharding.gradients and bool(axes)

    def _tied_here(self, unit: LayerUnit) -> bool:
        """Whether a weight that counts in this unit is on other stages as well."""
        return any(self._homes[owner][0] is unit for owner in self._tied if owner in self._homes)

    def _full(self, axes: Axes) -> bool:
        """Whether the gradients that wait for these axes are a bucket: one unit, or as many bytes as asked for."""
        if self.options is None or self.options.buckets is None:
            return True
        size = sum(gradient.elements for gradient in self._waiting[axes]) * self._setting.widths.reduce
        return size >= self.options.buckets

    def _flush_all(self, micro_batch: int | None) -> None:
        for axes in list(self._waiting):
            self._flush(axes, micro_batch)

    def _flush(self, axes: Axes, micro_batch: int | None) -> None:
        """Reduces the bucket that waits for these axes: now, or when backward has ended."""
        bucket = self._waiting.pop(axes)
        if self.options is not None and not self.options.overlap and micro_batch is None:
            self._deferred.append(partial(self._reduce_bucket, axes, bucket, None))
        else:
            self._reduce_bucket(axes, bucket, micro_batch)

    def _reduce_bucket(self, axes: Axes, bucket: Sequence[UnitGradient], micro_batch: int | None) -> None:
        """The collectives that reduce the gradients of some units as one."""
        names = [gradient.unit.name for gradient in bucket]
        name = names[0] if len(names) == 1 else f"{names[0]}{BUCKET}{names[-1]}"
        needs = tuple(identity for gradient in bucket for identity in gradient.made)
        for collective in self.reducer(axes).gradients(sum(gradient.elements for gradient in bucket)):
            needs = (self._communicate(collective, needs, name, Phase.REDUCTION, micro_batch),)
        for gradient in bucket:
            self._reduced[gradient.unit] += needs
            self._keep(gradient, axes, needs, divided=self.reducer(axes).sharding.optimizer)

    def _reduce_across_stages(self) -> None:
        """Sums the gradients of weights that stages hold together, then reduces them as any others.

        After all of backward: the first stage is the last to have its own, and nothing may wait behind this. In one
        order on all stages. Of a gradient that each micro-batch has scattered a rank has its own shard to sum.
        """
        made = {gradient.unit: gradient.made for _, gradient in self._last}
        for owner in sorted(owner for owner in self._tied if owner in self._homes):
            unit, part = self._homes[owner]
            if not part.layer.trainable:
                continue
            elements = part.weights if unit in made else self.reducer(part.reduced_on).shard(part.weights)
            size = elements * self._setting.widths.reduce
            action = Communicate(Kind.ALL_REDUCE, size, ("pipeline",), self._tied[owner])
            needs = (*(made.get(unit) or self._reduced[unit]), *self._steps.quiet)
            done = self._steps.add(action, needs, owner, Phase.REDUCTION, axis="pipeline")
            if unit in made:
                made[unit] = (done,)
            else:
                self._reduced[unit] = [done]
        for axes, gradient in self._last:
            self._reduce_bucket(axes, [replace(gradient, made=made[gradient.unit])], None)

    def _reduce_copies(self) -> None:
        """Sequence parallelism: norms, routers and row biases are copies that saw different tokens."""
        trained = [part for parts in self._parts.values() for part in parts if part.terms and part.layer.trainable]
        elements = sum(part.terms for part in trained)
        if not elements:
            return
        action = Communicate(Kind.ALL_REDUCE, elements * self._setting.widths.reduce, (TENSOR,))
        before = max(identity for ids in self._reduced.values() for identity in ids)
        done = self._steps.add(action, (before,), "copies", Phase.REDUCTION, axis=TENSOR)
        for ids in self._reduced.values():
            ids.append(done)

    # -- gradients in the memory pool

    def _with_sum(self, gradient: UnitGradient, axes: Axes) -> UnitGradient:
        """With the sum of earlier micro-batches, which the memory pool may hold."""
        if (gradient.unit, axes) not in self._stored:
            return gradient
        size = self._kept_bytes(gradient, axes, divided=self._scattered(axes))
        return replace(gradient, made=(self._move(size, gradient.made, gradient.unit, store=False),))

    def _keep(self, gradient: UnitGradient, axes: Axes, needs: Iterable[int], *, divided: bool) -> None:
        """Moves a gradient, or a rank's shard of it, to the memory pool where it belongs there."""
        if "gradients" in self.remote:
            self._stored.add((gradient.unit, axes))
            self._move(self._kept_bytes(gradient, axes, divided=divided), needs, gradient.unit, store=True)

    def _kept_bytes(self, gradient: UnitGradient, axes: Axes, *, divided: bool) -> int:
        return self.reducer(axes).held(gradient.elements, divided=divided) * self._setting.widths.gradients

    # -- the optimizer

    def update(self, skipped: Collection[LayerUnit]) -> None:
        """Updates the units in the order in which their gradients came, then gathers what ZeRO-1 and 2 divided."""
        units = (unit for virtual in reversed(self._virtual_stages) for unit in reversed(virtual.units))
        for unit in (unit for unit in units if unit not in skipped):
            for axes, elements in self.held(unit, trained=True).items():
                self._update(unit, self.reducer(axes), elements)

    def _update(self, unit: LayerUnit, reducer: Reducer, elements: int) -> None:
        wide = self._setting.widths
        mine = reducer.held(elements, divided=reducer.sharding.optimizer)
        state, moved, flops = update_cost(mine, self._setting)
        needs = tuple(self._reduced[unit])
        if "gradients" in self.remote:
            needs = (*needs, self._move(mine * wide.gradients, needs, unit, store=False))
        if "optimizer_state" in self.remote and state:
            needs = (*needs, self._move(state, needs, unit, store=False))
        time = self._cost(Work(flops, moved, (), unit.name, Phase.OPTIMIZER.value, wide.compute))
        done = (self._steps.add(Computation(flops, moved, time), needs, unit.name, Phase.OPTIMIZER),)
        if "optimizer_state" in self.remote and state:
            self._move(state, done, unit, store=True)
        if not reducer.sharding.parameters:
            for gather in reducer.parameters(elements):
                done = (self._communicate(gather, done, unit.name, Phase.OPTIMIZER, None),)
                self._fresh[unit] = (*self._fresh.get(unit, ()), *done)
        if "parameters" in self.remote:
            kept = reducer.held(elements, divided=reducer.sharding.parameters)
            self._move(kept * wide.weights, done, unit, store=True)

    # -- single steps

    def _communicate(
        self, action: Communicate, needs: Iterable[int], name: str, phase: Phase, micro_batch: int | None
    ) -> int:
        return self._steps.add(action, needs, name, phase, micro_batch, DATA)

    def _move(
        self,
        size: int,
        needs: Iterable[int],
        unit: LayerUnit,
        *,
        store: bool,
        phase: Phase = Phase.OPTIMIZER,
        micro_batch: int | None = None,
    ) -> int:
        return self._steps.add(Remote(size, store), needs, unit.name, phase, micro_batch, "memory")
