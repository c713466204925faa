"""The names that 1.0's files use: one table a file, shared by readers and writers."""

from __future__ import annotations

from astrac.job import Kind

NETWORK = "network.json"
SYSTEM = "system.txt"
WORKLOAD = "workload.txt"

TOPOLOGY_NAME = "Hierarchical"

IMPLEMENTATION_KEYS: dict[Kind, str] = {
    Kind.ALL_REDUCE: "all-reduce-implementation",
    Kind.ALL_GATHER: "all-gather-implementation",
    Kind.REDUCE_SCATTER: "reduce-scatter-implementation",
    Kind.ALL_TO_ALL: "all-to-all-implementation",
}
"""Keys of system.txt with the algorithms' words; all four must stand there."""

DIMENSION_KEYS: dict[str, str] = {
    "topologies-per-dim": "block",
    "dimension-type": "type",
    "units-count": "size",
    "links-count": "links",
    "link-latency": "latency",
    "link-bandwidth": "bandwidth",
    "nic-latency": "nic_latency",
    "router-latency": "router_latency",
    "hbm-latency": "memory_latency",
    "hbm-bandwidth": "memory_bandwidth",
    "hbm-scale": "memory_scale",
}
"""Lists of network.json, one entry a dimension, and the attribute of `TextDimension` that each fills."""

GROUP_WORD = "model_parallel_NPU_group:"
CHECKPOINTS_WORD = "checkpoints:"
INITIATES_WORD = "checkpoint_initiates:"
"""What ASTRA-sim's own workloads write before the extras; the simulator takes any token."""
