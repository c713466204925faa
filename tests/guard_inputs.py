"""Bundles of ASTRA-sim 2.x as somebody else writes them, from rows of data: for the tests of the guard."""

from __future__ import annotations

import csv
import json
import os
from math import prod
from pathlib import Path

from astrac.simulators.astra_sim_2.chakra import from_lines

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
    for field, keys in (
        ("data_deps", ("deps",)),
        ("ctrl_deps", ("ctrl_deps",)),
        ("duration_micros", ("duration", "dur")),
    ):
        for key in keys:
            value = rest.pop(key, None)
            if value:
                line[field] = value
    if rest.pop("cpu", False):
        rest["is_cpu_op"] = True
    if isinstance(rest.get("comm_type"), str):
        rest["comm_type"] = COLLECTIVES.index(rest["comm_type"])
    return line | {"attr": {"is_cpu_op": False} | rest}


def trace(nodes):
    """The bytes of a trace."""
    return b"".join(from_lines(map(json.dumps, [{"version": "0.0.4"}, *map(node, nodes)])))


def write(row, folder):
    """The files of a row in a folder; `ranks` are runs of (trace, how many), and equal traces are hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    dimensions = row["network"].partition("\n")[0].count(",") + 1
    (folder / "network.yml").write_text(row["network"])
    system = row.get("system_text") or json.dumps(system_of(row.get("system", {}), dimensions), indent=2)
    (folder / "system.json").write_text(system)
    (folder / "memory.json").write_text(json.dumps(row.get("memory") or {"memory-type": "NO_MEMORY_EXPANSION"}))
    if row.get("groups"):
        (folder / row.get("groups_name", "comm_groups.json")).write_text(json.dumps(row["groups"]))
    first = {}
    numbers = [number for number, count in row["ranks"] for _ in range(count)]
    for rank, number in enumerate(numbers):
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


# -- the measured tables

SIMULATOR = Path(__file__).parent / "simulator"


def network_of(dimensions):
    """network.yml of (block, NPUs, bandwidth, latency)."""
    lists = [f"[ {', '.join(map(str, values))} ]" for values in zip(*dimensions, strict=True)]
    return "".join(
        f"{key}: {values}\n"
        for key, values in zip(("topology", "npus_count", "bandwidth", "latency"), lists, strict=True)
    )


def measured():
    """The runs of the measured tables and workloads: name, whether all ranks finished, and the files as a row."""
    for table, backend in (("golden_collectives.csv", None), ("golden_aware_1d.csv", "congestion_aware")):
        with (SIMULATOR / table).open(encoding="utf-8") as lines:
            for line in csv.DictReader(lines):
                yield f"{table}:{line['row']}", line["status"] == "ok", _of_line(line) | {"backend": backend}
    for path in sorted((SIMULATOR / "workloads").glob("*.json")):
        workload = json.loads(path.read_text(encoding="utf-8"))
        columns = ("type", "npus", "bandwidth_GBps", "latency_ns")
        dimensions = [tuple(entry[column] for column in columns) for entry in workload["topology"]]
        yield (
            path.stem,
            workload["measured"]["status"] == "ok",
            {
                "network": network_of(dimensions),
                "system": dict.fromkeys(SYSTEM) | workload["system"],
                "memory": workload["memory"],
                "groups": workload["comm_groups"],
                "traces": _traces(workload["traces"]),
                "ranks": [(number, 1) for number in workload["npu_to_trace"]],
            },
        )


def _traces(written):
    """Traces, some of them written as the changes to another."""
    traces = []
    for trace in written:
        if isinstance(trace, dict):
            base = enumerate(traces[trace["like"]])
            traces.append([{**node, **trace["but"].get(str(number), {})} for number, node in base])
        else:
            traces.append(trace)
    return traces


def _of_line(line):
    """A row of a table of single collectives as files."""
    columns = ("topology", "npus", "bandwidth_GBps", "latency_ns")
    dimensions = list(zip(*(line[column].split("_") for column in columns), strict=True))
    npus = prod(int(dimension[1]) for dimension in dimensions)
    system = dict.fromkeys(LISTS, line["impl"].split("+") if line["impl"] else []) | {
        "endpoint-delay": int(line["endpoint_delay"]),
        "active-chunks-per-dimension": int(line["active_chunks"]),
        "preferred-dataset-splits": int(line["splits"]),
        "collective-optimization": line["optimization"],
        "local-mem-bw": None if line["local_mem_bw"] == "absent" else int(line["local_mem_bw"]),
    }
    warmup = [{"id": 0, "type": "COMP", "dur": int(line["warmup_us"])}] if int(line["warmup_us"]) else []
    collective = {"id": 1, "type": "COLL", "comm_type": line["collective"], "comm_size": int(line["size_bytes"])}
    collective |= {"deps": [0]} if warmup else {}
    row = {"network": network_of(dimensions), "system": system, "ranks": [(0, npus)]}
    if line["group_kind"] == "involved_dim":
        collective["involved_dim"] = json.loads(line["group"])
    elif line["group_kind"] == "pg":
        collective["pg_name"] = "1"
        row["groups"] = {"1": json.loads(line["group"])}
        row["ranks"] = [(int(rank not in row["groups"]["1"]), 1) for rank in range(npus)]
    return row | {"traces": [[*warmup, collective], [{"id": 1, "type": "COMP", "dur": 1}]]}
