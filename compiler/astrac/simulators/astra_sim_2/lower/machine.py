"""The machine of a spec in the simulator's own numbers.

The only place where exact numbers become doubles, and where a unit of the language becomes a unit of the simulator.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, NETWORK_GB, Dimension, Kind, Machine, MemoryType, RemoteMemory
from astrac.simulators.algorithms import by_word
from astrac.simulators.blocks import BLOCKS
from astrac.training.strategies.placement import npus

if TYPE_CHECKING:
    from astrac.spec import Dimension as DimensionBlock
    from astrac.spec import Spec

SHARING = {"npu": MemoryType.PER_NPU, "node": MemoryType.PER_NODE, "pool": MemoryType.POOL}
OPTIMIZATIONS = {"local_bw_aware": "localBWAware", "baseline": "baseline"}


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
    default = by_word(spec.system.algorithm)
    found: dict[Kind, tuple[str, ...]] = {}
    for kind in IMPLEMENTED:
        if default.whole:
            found[kind] = (default.able(kind).astra_sim_2,)
        else:
            blocks = spec.topology.dimensions
            found[kind] = tuple(_algorithm(block, kind, default.words.language) for block in blocks)
    return found


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
    nodes = pool.nodes or 0
    return RemoteMemory(
        SHARING[pool.sharing],
        latency=int(pool.latency * 10**9),
        bandwidth=int(Fraction(pool.bandwidth) / 10**9),
        nodes=nodes if pool.sharing == "node" else 0,
        npus_per_node=total // nodes if pool.sharing == "node" and nodes else 0,
    )


def _compute_word(spec: Spec) -> str:
    """The data type whose peak the system file carries; other types are steered."""
    assert spec.training is not None
    if spec.training.precision is not None:
        return spec.training.precision.compute
    return next(
        name for name in ("fp32", "tf32", "bf16", "fp16", "fp64", "fp8", "int8") if getattr(spec.hardware.peak, name)
    )
