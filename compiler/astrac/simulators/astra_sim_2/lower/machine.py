"""The machine of a spec, and compute, in the simulator's own numbers.

The only place where exact numbers become doubles, and where a unit of the language becomes a unit of the simulator.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, NETWORK_GB, Dimension, Kind, Machine, MemoryType, RemoteMemory, roofline_ns
from astrac.simulators.algorithms import by_word
from astrac.simulators.blocks import BLOCKS
from astrac.training.strategies.placement import npus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.spec import Dimension as DimensionBlock
    from astrac.spec import Spec

SHARING = {"npu": MemoryType.PER_NPU, "node": MemoryType.PER_NODE, "pool": MemoryType.POOL}
OPTIMIZATIONS = {"local_bw_aware": "localBWAware", "baseline": "baseline"}

LARGEST = 2**63 - 1
"""An int64 attribute of a Chakra node."""


def machine_of(spec: Spec) -> Machine:
    """network.yml, system.json and memory.json of a spec."""
    system, hardware, total = spec.system, spec.hardware, npus(spec.topology)
    word = "fp32" if spec.training is None else _compute_word(spec)
    peak = Fraction(getattr(hardware.peak, word) or 0) * hardware.efficiency
    return Machine(
        dimensions=tuple(_dimension(block) for block in spec.topology.dimensions),
        algorithms=_algorithms(spec),
        splits=system.chunks,
        active_chunks=system.active_chunks,
        optimization=OPTIMIZATIONS[system.optimization],
        scheduling=system.scheduling.upper(),
        endpoint_delay=int(system.endpoint_delay * 10**9),
        local_mem_bandwidth=float(Fraction(hardware.memory.bandwidth) / 10**9),
        peak_performance=float(peak / 10**12) if peak else None,
        roofline=bool(peak),
        memory=_remote(spec, total),
    )


def _dimension(block: DimensionBlock) -> Dimension:
    """Bandwidth in ASTRA-sim's network "GB", which are 2^30 bytes; latency in ns."""
    bandwidth = float(Fraction(block.bandwidth) / NETWORK_GB)
    name = BLOCKS[block.kind].astra_sim_2
    assert name is not None, "`schedule` refuses blocks that 2.x does not have"
    return Dimension(name, block.size, bandwidth, float(Fraction(block.latency) * 10**9))


def _algorithms(spec: Spec) -> dict[Kind, tuple[str, ...]]:
    """Every list in full; a `one_` ring stands alone, since ASTRA-sim ignores what follows it."""
    default, blocks = by_word(spec.system.algorithm), spec.topology.dimensions
    if default.whole:
        return {kind: (default.able(kind).astra_sim_2,) for kind in IMPLEMENTED}
    word = default.words.language
    return {kind: tuple(_algorithm(block, kind, word) for block in blocks) for kind in IMPLEMENTED}


def _algorithm(block: DimensionBlock, kind: Kind, default: str) -> str:
    named = by_word(wanted(block, kind, default)).able(kind)
    return named._replace(window=block.window if named.row.windowed else None).astra_sim_2


def wanted(block: DimensionBlock, kind: Kind, default: str) -> str:
    """The word of the spec for a kind of collective on a dimension, whether or not it can do that."""
    own = None if block.algorithms is None else getattr(block.algorithms, kind.name.lower())
    return own or block.algorithm or default


def _remote(spec: Spec, total: int) -> RemoteMemory:
    """Bandwidth in whole bytes per ns and latency in whole ns, as `rules` made sure."""
    pool = spec.memory_pool
    if pool is None:
        return RemoteMemory()
    latency, bandwidth = int(pool.latency * 10**9), int(Fraction(pool.bandwidth) / 10**9)
    nodes = pool.nodes or 0 if pool.sharing == "node" else 0
    return RemoteMemory(SHARING[pool.sharing], latency, bandwidth, nodes, total // nodes if nodes else 0)


def _compute_word(spec: Spec) -> str:
    """The data type whose peak the system file carries; other types are steered."""
    assert spec.training is not None
    if spec.training.precision is not None:
        return spec.training.precision.compute
    return next(
        name for name in ("fp32", "tf32", "bf16", "fp16", "fp64", "fp8", "int8") if getattr(spec.hardware.peak, name)
    )


def steer(time: int, flops: int, bytes_: int, peak_tflops: float, local_mem_gb: float) -> tuple[int, int] | None:
    """`num_ops` and `tensor_size` for which the simulator's roofline takes `time`: the true ones where it then does.

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
    yield from ((num_ops, 1) for num_ops in _near(time, Fraction(peak_tflops) * 1000))  # FLOPs a ns
    yield from ((1, tensor_size) for tensor_size in _near(time, Fraction(local_mem_gb)))  # bytes a ns


def _near(time: int, rate: Fraction) -> tuple[int, ...]:
    """Whole amounts that take about `time` ns at a rate per ns."""
    least = -int(-time * rate // 1)
    return (least, least + 1, least + 2, int((time + Fraction(1, 2)) * rate))
