"""The ideal roofline: limited by arithmetic or by memory, whichever takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.training.compute.work import Cost, Work, whole_nanoseconds

if TYPE_CHECKING:
    from astrac.spec import Hardware


def roofline(hardware: Hardware) -> Cost:
    """Prices work at max(FLOPs / (peak x efficiency), bytes / memory bandwidth), cut off to whole ns, at least 1.

    Williams, Waterman and Patterson 2009. `efficiency` scales the peak only: ASTRA-sim prices the reductions of
    collectives with the same memory bandwidth. Exact until the cut.

    Args:
        hardware: FLOP/s for each data type, bytes per second.
    """

    def cost(work: Work) -> int:
        peak = getattr(hardware.peak, work.precision)
        assert peak is not None, f"rules let `{work.precision}` pass without a peak"
        compute = work.flops / (peak * hardware.efficiency)
        memory = work.bytes / hardware.memory.bandwidth
        return whole_nanoseconds(max(compute, memory))

    return cost
