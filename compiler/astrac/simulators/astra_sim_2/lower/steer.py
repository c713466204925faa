"""Numbers that make ASTRA-sim's roofline take exactly the time that our cost function says."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from astrac.job import roofline_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 2**63 - 1
"""An int64 attribute of a Chakra node."""


def steer(time: int, flops: int, bytes_: int, peak_tflops: float, local_mem_gb: float) -> tuple[int, int] | None:
    """`num_ops` and `tensor_size` for which the simulator takes `time`: the true ones where it then does.

    Otherwise `tensor_size` 1 (limited by arithmetic) with a fitting `num_ops`, or, for hours-long nodes whose `num_ops`
    would not fit into 63 bits, `num_ops` 1 (limited by memory) with a fitting `tensor_size`.

    Args:
        time: whole ns, at least 1.
        flops: the node's FLOPs.
        bytes_: the bytes that it moves.
        peak_tflops: `peak-perf` of system.json, 1e12 FLOP/s.
        local_mem_gb: `local-mem-bw` of system.json, 1e9 bytes per second.

    Returns:
        None when no such numbers exist: at fewer than 2 GFLOP/s or 1 GB/s, where whole operations are too coarse, and
        beyond 2^63 bytes or nanoseconds.
    """
    if time > LARGEST:
        return None
    for num_ops, tensor_size in _candidates(time, flops, bytes_, peak_tflops, local_mem_gb):
        if (
            0 < num_ops <= LARGEST
            and 0 < tensor_size <= LARGEST
            and int(roofline_ns(num_ops, tensor_size, peak_tflops, local_mem_gb)) == time
        ):
            return num_ops, tensor_size
    return None


def _candidates(
    time: int, flops: int, bytes_: int, peak_tflops: float, local_mem_gb: float
) -> Iterator[tuple[int, int]]:
    """Pairs to try, best first: just past `time`, its neighbours, then the middle of the nanosecond."""
    yield flops, bytes_
    operations = Fraction(peak_tflops) * 1000  # FLOPs a ns
    moved = Fraction(local_mem_gb)  # bytes a ns
    for num_ops in _near(time, operations):
        yield num_ops, 1
    for tensor_size in _near(time, moved):
        yield 1, tensor_size


def _near(time: int, rate: Fraction) -> tuple[int, ...]:
    """Whole amounts that take about `time` ns at a rate per ns."""
    least = -int(-time * rate // 1)
    return (least, least + 1, least + 2, int((time + Fraction(1, 2)) * rate))
