"""A layer as one rank runs it: what the strategies cut, and where they communicate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.job import Kind
    from astrac.models.model import Layer, Matmul
    from astrac.spec import LayerOverride, Spec
    from astrac.training.strategies.precision import Widths


def share(count: int, degree: int) -> int:
    """What a rank has of something that an axis divides: rounded up, so that no rank has less than it needs."""
    return -(-count // degree)


class ExchangePoint(Enum):
    """Where in a layer's work a strategy communicates."""

    BEFORE_FORWARD = "before forward"
    AFTER_FORWARD = "after forward"
    BEFORE_BACKWARD = "before backward"
    BEFORE_WEIGHT_GRADIENT = "before the weight gradient"
    AFTER_INPUT_GRADIENT = "after the input gradient"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A blocking collective of a strategy's axis around a layer. `bytes` as `comm_size`: for ALL_GATHER the shard."""

    point: ExchangePoint
    kind: Kind
    bytes: int
    axis: str


@dataclass(frozen=True, slots=True)
class Rotation:
    """Ring attention: the work runs in `steps` equal pieces while blocks of keys and values go round `axis`.

    Attributes:
        axis: the context axis.
        steps: its degree.
        bytes: of one block (K and V), and of its gradients.
    """

    axis: str
    steps: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """One layer on one rank, one micro-batch.

    Attributes:
        layer: as the model has it, uncut.
        weights: elements of the weight that this rank holds.
        bias: elements of the layer's other tensors that it holds: the bias, recurrence weights.
        weight_reads: elements of the weight that forward touches.
        macs: multiply-accumulates forward.
        vector_flops: other FLOPs forward.
        inputs, outputs, kept: activation elements read, written and kept.
        output_gradients: elements of the output's gradient that the weight gradient reads.
        leaves: elements of the output after the exchanges that follow it: what crosses to a next pipeline stage.
        matmuls: (batch, M, N, K) of the forward products, cut as well.
        exchanges: in the order in which they happen at each point.
        rotation: for ring attention.
        terms: parameter elements that are copies along the tensor axis and whose gradients are terms of a sum.
        reduced_on: axes along which ranks see other samples or tokens, so gradients are reduced over them.
        precision: word of the data type that it computes in.
        recompute: word of what backward computes again.
        sign: parts with one sign differ in their layers' names and places alone; -1 for a part like no other.
    """

    layer: Layer
    weights: int
    bias: int
    weight_reads: int
    macs: int
    vector_flops: int
    inputs: int
    outputs: int
    kept: int
    output_gradients: int
    leaves: int
    matmuls: tuple[Matmul, ...]
    precision: str
    recompute: str
    exchanges: tuple[Exchange, ...] = ()
    rotation: Rotation | None = None
    terms: int = 0
    reduced_on: tuple[str, ...] = ()
    sign: int = field(default=-1, compare=False)

    @property
    def key(self) -> object:
        """Equal for parts that do alike."""
        return self.layer.name if self.sign < 0 else self.sign

    def inside(self, *exchanges: Exchange) -> Part:
        """With exchanges nearest to the compute: last of those before, first of those after."""
        return replace(self, exchanges=_merge(exchanges, self.exchanges))

    def outside(self, *exchanges: Exchange) -> Part:
        """With exchanges around those that are there: first of those before, last of those after."""
        return replace(self, exchanges=_merge(self.exchanges, exchanges))

    def at(self, point: ExchangePoint) -> tuple[Exchange, ...]:
        """The exchanges of a point, in order."""
        return tuple(exchange for exchange in self.exchanges if exchange.point is point)


_BEFORE = (ExchangePoint.BEFORE_FORWARD, ExchangePoint.BEFORE_BACKWARD, ExchangePoint.BEFORE_WEIGHT_GRADIENT)


def _merge(inner: tuple[Exchange, ...], outer: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    before = [exchange for exchange in (*outer, *inner) if exchange.point in _BEFORE]
    after = [exchange for exchange in (*inner, *outer) if exchange.point not in _BEFORE]
    return (*before, *after)


def matches(override: LayerOverride, layer: Layer) -> bool:
    """Whether a `layer "pattern"` block speaks of a layer."""
    return fnmatchcase(layer.name, override.name)


@dataclass(frozen=True)
class Setting:
    """What strategies know when they cut a layer.

    Attributes:
        spec: the whole of it.
        degrees: axis word -> degree, 1 for absent ones.
        widths: data types.
        samples: of a micro-batch on one rank.
    """

    spec: Spec
    degrees: dict[str, int]
    widths: Widths
    samples: int

    def overrides(self, layer: Layer) -> Iterator[LayerOverride]:
        """What `layer "pattern"` blocks say of a layer, in file order: the last word wins."""
        return (found for found in self.spec.model.layers or () if matches(found, layer))

    def options(self, kind: str) -> object | None:
        """The block of an axis, None when its degree is 1 (then it changes nothing)."""
        if self.degrees[kind] == 1 or self.spec.parallelism is None:
            return None
        return next((axis for axis in self.spec.parallelism.axes if axis.kind == kind), None)
