"""Compute models of one signature (`Cost`: work of a layer to whole nanoseconds)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.training.compute.cost import Cost, Work, products, roofline, slow
from astrac.training.compute.profile import Times, missing_times, profile, read_times
from astrac.training.compute.systolic import systolic

if TYPE_CHECKING:
    from astrac.spec import Hardware

__all__ = [
    "Cost",
    "Times",
    "Work",
    "cost_function",
    "missing_times",
    "products",
    "read_times",
    "slow",
]


def cost_function(hardware: Hardware, times: Times | None = None) -> Cost:
    """The cost function that a spec asks for: measured times first, then the systolic array, then the roofline.

    Args:
        hardware: the accelerator; its `slow` ranks are the caller's (`slow(hardware.slow, cost)`).
        times: measured times from `profile.read_times`, or None.
    """
    ideal = roofline(hardware)
    cost = ideal if hardware.systolic is None else systolic(hardware.systolic, ideal)
    return cost if times is None else profile(times, cost)
