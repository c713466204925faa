"""Stragglers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astrac.spec import Slow
    from astrac.training.compute.work import Cost, Work


def slow(straggler: Slow, cost: Cost) -> Cost:
    """What a straggler takes: `factor` times what its peers take, cut off to whole ns.

    Args:
        straggler: the factor, at least 1.
        cost: of its peers.
    """

    def slower(work: Work) -> int:
        return int(cost(work) * straggler.factor)

    return slower
