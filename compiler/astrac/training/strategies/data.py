"""Data parallelism and its sharded forms: how gradients are reduced and parameters gathered.

All-reduce of gradients (none), ZeRO-1 (optimizer), ZeRO-2 (gradients), ZeRO-3 / FSDP (parameters): Rajbhandari et al.
2020. Reduction is over every axis whose ranks see other tokens: data, context, and expert for weights that are not
experts'. A shard is `ceil(n / ranks)` elements, so sizes are padded up to whole shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.training.plan import Communicate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.training.strategies.part import Setting

KIND = "data"


@dataclass(frozen=True, slots=True)
class Sharding:
    """What `data { shard }` divides."""

    optimizer: bool = False
    gradients: bool = False
    parameters: bool = False


SHARDS: dict[str, Sharding] = {
    "none": Sharding(),
    "optimizer": Sharding(optimizer=True),
    "gradients": Sharding(optimizer=True, gradients=True),
    "parameters": Sharding(optimizer=True, gradients=True, parameters=True),
}


@dataclass(frozen=True)
class Reducer:
    """How the parameters that are copies along one set of axes are kept alike.

    Attributes:
        sharding: what is divided.
        shards: the axes among which it is divided, and their ranks; with hybrid sharding fewer than `replicas`.
        replicas: axes along which shards are copies, reduced by all-reduce.
        ranks: number of shards.
        reduce, weights: bytes per element of gradients in flight and of weights.
    """

    sharding: Sharding
    shards: tuple[str, ...]
    replicas: tuple[str, ...]
    ranks: int
    reduce: int
    weights: int

    def shard(self, elements: int) -> int:
        """Elements of one shard, rounded up."""
        return -(-elements // self.ranks)

    def gradients(self, elements: int) -> tuple[Communicate, ...]:
        """The collectives that reduce the gradients of `elements` parameters."""
        if not self.sharding.optimizer or self.ranks == 1:
            axes = (*self.shards, *self.replicas)
            return (Communicate(Kind.ALL_REDUCE, elements * self.reduce, axes),) if axes else ()
        shard = self.shard(elements)
        scatter = Communicate(Kind.REDUCE_SCATTER, shard * self.ranks * self.reduce, self.shards)
        if not self.replicas:
            return (scatter,)
        return (scatter, Communicate(Kind.ALL_REDUCE, shard * self.reduce, self.replicas))

    def parameters(self, elements: int) -> tuple[Communicate, ...]:
        """The collective that gives every rank the whole of `elements` parameters again."""
        if not self.sharding.optimizer or self.ranks == 1:
            return ()
        return (Communicate(Kind.ALL_GATHER, self.shard(elements) * self.weights, self.shards),)

    def held(self, elements: int, *, divided: bool) -> int:
        """Elements a rank keeps of something that is divided or not."""
        return self.shard(elements) if divided else elements


def reducer_of(reduced_on: Sequence[str], setting: Setting, shard_on: Sequence[str] | None) -> Reducer:
    """For parameters whose gradients are reduced on these axes.

    `shard_on` names the axes (parts of the data axis) that hybrid sharding stays within, None for all of them.
    """
    options = setting.options(KIND)
    word = "none" if options is None else options.shard  # type: ignore[attr-defined]
    shards = tuple(axis for axis in reduced_on if shard_on is None or axis in shard_on)
    ranks = 1
    for axis in shards:
        ranks *= setting.degrees[axis]
    return Reducer(
        SHARDS[word],
        shards,
        tuple(axis for axis in reduced_on if axis not in shards),
        ranks,
        setting.widths.reduce,
        setting.widths.weights,
    )
