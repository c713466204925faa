"""Optimizers: what they keep a parameter and what an update costs; a row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astrac.training.strategies.part import Setting


@dataclass(frozen=True, slots=True)
class Optimizer:
    """`states` numbers a parameter; `flops` of one parameter's update."""

    states: int
    flops: int


OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": Optimizer(states=0, flops=2),  # w -= r g
    "momentum": Optimizer(states=1, flops=4),  # v = b v + g; w -= r v
    "adam": Optimizer(states=2, flops=12),  # m: 3, v: 4, root, sum, quotient, product, difference: 5
}


def update_cost(elements: int, setting: Setting) -> tuple[int, int, int]:
    """(bytes of state, bytes moved, FLOPs) of updating so many parameters.

    State: the optimizer's numbers and, in mixed precision, its own copy of the weights. An update reads the gradient,
    reads and writes the state, and writes the weights (which it reads where there is no copy).
    """
    assert setting.spec.training is not None
    row, wide = OPTIMIZERS[setting.spec.training.optimizer], setting.widths
    state = (row.states + (1 if wide.master else 0)) * wide.optimizer
    moved = wide.gradients + 2 * state + (1 if wide.master else 2) * wide.weights
    return elements * state, elements * moved, elements * row.flops
