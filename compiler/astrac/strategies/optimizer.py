"""Optimizers: what they keep a parameter and what an update costs; a row each."""

from __future__ import annotations

from dataclasses import dataclass


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
