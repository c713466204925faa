"""Bundles of ASTRA-sim 2.x as somebody else writes them, from rows of data: for the tests of the guard."""

from __future__ import annotations

import json
import os

from astrac.targets.astra_sim_2.transcript import from_lines

SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
}
LISTS = [key for key in SYSTEM if key.endswith("-implementation")]
TYPES = {
    "COLL": "COMM_COLL", "SEND": "COMM_SEND", "RECV": "COMM_RECV", "LOAD": "MEM_LOAD", "STORE": "MEM_STORE",
}  # fmt: skip
COLLECTIVES = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip


def system_of(changes, dimensions):
    """The system file of a row: a word for every dimension, then the row's changes; None takes a key away."""
    full = SYSTEM | {key: ["ring"] * dimensions for key in LISTS} | changes
    return {key: value for key, value in full.items() if value is not None}


def node(row):
    """A node of a row as a line of a transcript; what is no field of a node is an attribute."""
    rest = dict(row)
    kind = rest.pop("type")
    line = {"id": rest.pop("id"), "name": rest.pop("name", f"n{row['id']}")}
    line["type"] = kind if isinstance(kind, int) else f"{TYPES.get(kind, kind)}_NODE"
    for field, key in (("data_deps", "deps"), ("ctrl_deps", "ctrl_deps"), ("duration_micros", "duration")):
        if rest.get(key):
            line[field] = rest[key]
        rest.pop(key, None)
    if isinstance(rest.get("comm_type"), str):
        rest["comm_type"] = COLLECTIVES.index(rest["comm_type"])
    return line | {"attr": {"is_cpu_op": False} | rest}


def trace(nodes):
    """The bytes of a trace."""
    return b"".join(from_lines(map(json.dumps, [{"version": "0.0.4"}, *map(node, nodes)])))


def write(row, folder):
    """The files of a row in a folder; traces that are alike are hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    dimensions = row["network"].partition("\n")[0].count(",") + 1
    (folder / "network.yml").write_text(row["network"])
    system = row.get("system_text") or json.dumps(system_of(row.get("system", {}), dimensions), indent=2)
    (folder / "system.json").write_text(system)
    (folder / "memory.json").write_text(json.dumps(row.get("memory") or {"memory-type": "NO_MEMORY_EXPANSION"}))
    if row.get("groups"):
        (folder / row.get("groups_name", "comm_groups.json")).write_text(json.dumps(row["groups"]))
    first = {}
    for rank, number in enumerate(row["ranks"]):
        path = folder / f"w.{rank}.et"
        if rank in row.get("drop", ()):
            continue
        if number in first:
            os.link(first[number], path)
            continue
        data = trace(row["traces"][number])
        data = data[data[0] + 1 :] if row.get("no_metadata") else data
        path.write_bytes(data[: len(data) - row.get("cut", 0)])
        first[number] = path
    return folder
