"""The names that 2.x's files use: one table a file, shared by writers and readers."""

from __future__ import annotations

from astrac.job import Kind, MemoryType

NETWORK = "network.yml"
SYSTEM = "system.json"
MEMORY = "memory.json"
GROUPS = "comm_groups.json"
WORKLOAD = "workload"
SCRIPT = "run.sh"

OPTIONS: dict[str, str] = {
    "workload": "--workload-configuration",
    "groups": "--comm-group-configuration",
    "system": "--system-configuration",
    "memory": "--remote-memory-configuration",
    "network": "--network-configuration",
    "queues": "--num-queues-per-dim",
}
"""Of the simulator's command line."""

IMPLEMENTATION_KEYS: dict[Kind, str] = {
    Kind.ALL_REDUCE: "all-reduce-implementation",
    Kind.ALL_GATHER: "all-gather-implementation",
    Kind.REDUCE_SCATTER: "reduce-scatter-implementation",
    Kind.ALL_TO_ALL: "all-to-all-implementation",
}

SYSTEM_KEYS: dict[str, str] = {
    "scheduling-policy": "scheduling",
    "endpoint-delay": "endpoint_delay",
    "active-chunks-per-dimension": "active_chunks",
    "preferred-dataset-splits": "splits",
    "collective-optimization": "optimization",
    "local-mem-bw": "local_mem_bandwidth",
    "peak-perf": "peak_performance",
    "roofline-enabled": "roofline",
    "replay-only": "replay_only",
}
"""Scalars of system.json and the attribute of `Machine` that each fills."""

MEMORY_KEYS: dict[str, str] = {
    "memory-type": "type",
    "remote-mem-latency": "latency",
    "remote-mem-bw": "bandwidth",
    "num-nodes": "nodes",
    "num-npus-per-node": "npus_per_node",
}
"""Of memory.json and the attribute of `RemoteMemory` that each fills."""


def memory_attributes(kind: MemoryType) -> tuple[str, ...]:
    """Attributes of `RemoteMemory` that the simulator reads for a type of memory."""
    access = () if kind is MemoryType.NONE else ("latency", "bandwidth")
    return ("type", *access, *(("nodes", "npus_per_node") if kind is MemoryType.PER_NODE else ()))
