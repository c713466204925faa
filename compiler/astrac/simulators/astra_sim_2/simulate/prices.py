"""What compute and memory nodes cost, in the simulator's own doubles (docs/simulators/astra-sim-2.md, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import Collective, Compute, Kind, Load, MemoryType, Store, roofline_ns
from astrac.simulators.astra_sim_2.simulate.network import Broken, whole

if TYPE_CHECKING:
    from astrac.job import Machine, Op


def replayed(op: Op) -> int:
    """`duration_micros x 1000` ns, 0 becomes 1 ns; nodes that carry no duration replay as 0."""
    time = op.duration * 1000 or 1 if isinstance(op, Compute | Collective) else 1
    if time < 0:
        raise Broken(f"node {op.id} lasts {time} ns")
    return time


def compute_time(machine: Machine, op: Compute) -> int | None:
    """Nanoseconds of a compute node; None for one that the simulator skips (roofline without bytes), waking no child.

    In roofline mode it is `job.roofline_ns`, cut off to whole ns.
    """
    if not machine.roofline or op.host:
        return replayed(op)
    if op.tensor_size == 0:
        return None
    peak, bandwidth = machine.peak_performance, machine.local_mem_bandwidth
    if not peak or not bandwidth:
        raise Broken("roofline-enabled needs both peak-perf and local-mem-bw: compute would last 0 ns or abort")
    if op.num_ops < 0 or op.tensor_size < 0:
        raise Broken(f"node {op.id} has {op.num_ops} operations on {op.tensor_size} bytes")
    if op.num_ops == 0:
        raise Broken(f"node {op.id} has 0 operations: its roofline time is not a number (2^63 cycles)")
    return whole(roofline_ns(op.num_ops, op.tensor_size, peak, bandwidth))


def memory_time(machine: Machine, size: int) -> int:
    """Nanoseconds of a load or store: `latency + floor(size / bw)`.

    A bandwidth that is missing or a fraction below 1 is read as 0: the transfer is free.
    """
    memory = machine.memory
    if size < 0:
        raise Broken(f"a memory node moves {size} bytes")
    return memory.latency + (whole(size / memory.bandwidth) if memory.bandwidth else 0)


def memory_queue(machine: Machine, rank: int) -> int:
    """Which queue a rank's memory requests share with others: the machine's, or its node's."""
    memory = machine.memory
    if memory.type is MemoryType.POOL:
        return 0
    if memory.type is MemoryType.NONE:
        raise Broken("a memory node without memory expansion: the simulator stops")
    if memory.npus_per_node < 1 or rank // memory.npus_per_node >= memory.nodes:
        raise Broken("num-nodes x num-npus-per-node does not cover all ranks: the simulator crashes")
    return rank // memory.npus_per_node


SKIPPED = -1
"""What `lasting` says of a node that ends as it is issued, waking nobody."""


def lasting(machine: Machine, op: Op) -> int | None:
    """Nanoseconds of a node that lasts by itself, `SKIPPED`, or None when it depends on other ranks.

    With replay-only every node replays its duration; a broadcast always does.
    """
    if machine.replay_only:
        return replayed(op)
    if isinstance(op, Compute):
        time = compute_time(machine, op)
        return SKIPPED if time is None else time
    if isinstance(op, Load | Store):
        return memory_time(machine, op.bytes) if machine.memory.type is MemoryType.PER_NPU else None
    if op.host:
        raise Broken(f"node {op.id} communicates on the host: the simulator aborts")
    return replayed(op) if isinstance(op, Collective) and op.kind is Kind.BROADCAST else None


def on_device(machine: Machine, op: Op) -> bool:
    """Whether its time counts as device compute in what the simulator prints; in replay-only all but host nodes do."""
    return not op.host and (machine.replay_only or isinstance(op, Compute))
