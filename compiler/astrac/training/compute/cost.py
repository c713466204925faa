"""What a cost function prices, the shape that all of them have, and the plainest: a roofline, and a straggler's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from astrac.models.model import Layer, Matmul
    from astrac.spec import Hardware, Slow


@dataclass(frozen=True, slots=True)
class Work:
    """What one rank does for one layer in one phase: a node of the trace.

    Attributes:
        flops: all floating-point operations, a multiply-accumulate being two.
        bytes: read and written: weights and activations, in and out.
        matmuls: the products of this phase (see `products`), for array models; () when there are none.
        layer: the layer's name.
        phase: `forward`, `recompute`, `input_gradient`, `weight_gradient` or `optimizer`.
        precision: the data type of the products (`bf16`), which picks the peak.
    """

    flops: int
    bytes: int
    matmuls: tuple[Matmul, ...] = ()
    layer: str = ""
    phase: str = "forward"
    precision: str = "fp32"


Cost: TypeAlias = Callable[[Work], int]
"""A cost function: work to whole nanoseconds, at least 1."""


def products(layer: Layer, forward: tuple[Matmul, ...], phase: str) -> tuple[Matmul, ...]:
    """The matrix products that a phase of a layer runs.

    For the forward product y = x W, x of M x K and W of K x N: dx = dy W^T is M x K over N, dW = x^T dy is K x N over M
    (SCALE-Sim's three runs a layer, which ASTRA-sim's own workload generator makes). When both operands are activations
    (attention), both gradients belong to the input-gradient phase, and there is no weight gradient.

    Args:
        layer: which gradients there are.
        forward: its products, as large as the rank's part of them.
        phase: as in `Work`; the optimizer has none.
    """
    left = tuple((batch, m, k, n) for batch, m, n, k in forward)
    right = tuple((batch, k, n, m) for batch, m, n, k in forward)
    if phase in ("forward", "recompute"):
        return forward
    through = () if layer.through_time is None else (layer.through_time,)
    if phase == "input_gradient" and layer.input_gradient and through:
        return tuple((batch, m, k, n) for batch, m, n, k in (*_of_inputs(forward, through[0][3]), *through))
    if phase == "input_gradient" and layer.input_gradient:
        wanted = layer.operand_gradients if layer.activation_product else (True, False)
        return (left if wanted[0] else ()) + (right if wanted[1] else ())
    if phase == "weight_gradient" and layer.weight_gradient_macs:
        return right + (() if layer.input_gradient else tuple((batch, m, k, n) for batch, m, n, k in through))
    return ()


def _of_inputs(forward: tuple[Matmul, ...], hidden: int) -> tuple[Matmul, ...]:
    """The part of a recurrent net's products that meets its inputs, not its state."""
    return tuple((batch, m, n, k - hidden) for batch, m, n, k in forward)


def whole_nanoseconds(seconds: Fraction) -> int:
    """A time cut off to whole nanoseconds as the simulator cuts it, but at least 1: a node of 0 ns would break it."""
    return max(1, int(seconds * 10**9))


def roofline(hardware: Hardware) -> Cost:
    """Prices work at max(FLOPs / (peak x efficiency), bytes / memory bandwidth), cut off to whole ns, at least 1.

    Williams, Waterman and Patterson 2009. `efficiency` scales the peak only: ASTRA-sim prices the reductions of
    collectives with the same memory bandwidth. Exact until the cut.

    Args:
        hardware: FLOP/s for each data type, bytes per second.
    """

    @cache
    def speed(precision: str) -> tuple[int, int]:
        peak = getattr(hardware.peak, precision)
        assert peak is not None, f"rules let `{precision}` pass without a peak"
        return Fraction(peak * hardware.efficiency, 10**9).as_integer_ratio()

    moved, over = Fraction(hardware.memory.bandwidth, 10**9).as_integer_ratio()

    def cost(work: Work) -> int:
        done, within = speed(work.precision)
        return max(1, work.flops * within // done, work.bytes * over // moved)

    return cost


def slow(straggler: Slow, cost: Cost) -> Cost:
    """What a straggler takes: `factor` times what its peers take, cut off to whole ns.

    Args:
        straggler: the factor, at least 1.
        cost: of its peers.
    """

    def slower(work: Work) -> int:
        return int(cost(work) * straggler.factor)

    return slower
