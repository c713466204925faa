"""The measured tables of `tests/simulator` as Jobs, each beside what the real simulator printed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

from astrac.job import (
    Axis,
    AxisGroup,
    Box,
    Collective,
    Compute,
    Dimension,
    Job,
    Kind,
    ListedGroup,
    Load,
    Machine,
    MemoryType,
    Program,
    RankClass,
    Receive,
    RemoteMemory,
    Send,
    Store,
)

HERE = Path(__file__).parent / "simulator"
LISTS = {
    Kind.ALL_REDUCE: "all-reduce-implementation",
    Kind.ALL_GATHER: "all-gather-implementation",
    Kind.REDUCE_SCATTER: "reduce-scatter-implementation",
    Kind.ALL_TO_ALL: "all-to-all-implementation",
}


class Measured(NamedTuple):
    """A case: cycles and exposed are lists by rank, of `ranks` only; None when the run did not finish."""

    name: str
    job: Job
    ranks: list[int]
    cycles: list[int] | None
    exposed_max: int
    exposed: list[int] | None


def job(topology, system, traces, who, groups=None, memory=None, queues=1):
    """A Job from the words of the simulator's own files."""
    dimensions = tuple(
        Dimension(entry["type"], entry["npus"], float(entry["bandwidth_GBps"]), float(entry["latency_ns"]))
        for entry in topology
    )
    memory = memory or {}
    machine = Machine(
        dimensions=dimensions,
        algorithms={kind: tuple(system[key]) for kind, key in LISTS.items() if system.get(key)},
        splits=system["preferred-dataset-splits"],
        active_chunks=system["active-chunks-per-dimension"],
        optimization=system["collective-optimization"],
        endpoint_delay=system.get("endpoint-delay"),
        local_mem_bandwidth=system.get("local-mem-bw"),
        peak_performance=system.get("peak-perf"),
        roofline=bool(system.get("roofline-enabled", 0)),
        replay_only=bool(system.get("replay-only", 0)),
        memory=RemoteMemory(
            MemoryType(memory.get("memory-type", "NO_MEMORY_EXPANSION")),
            memory.get("remote-mem-latency", 0),
            memory.get("remote-mem-bw", 0),
            memory.get("num-nodes", 0),
            memory.get("num-npus-per-node", 0),
        ),
        queues=queues,
    )
    axes = []
    stride = 1
    for number, dimension in enumerate(dimensions):
        axes.append(Axis(f"dim{number}", stride, dimension.size))
        stride *= dimension.size
    programs = tuple(Program(tuple(_op(node, axes, groups) for node in trace)) for trace in traces)
    classes = []
    for program in range(len(programs)):
        ranks = [rank for rank, trace in enumerate(who) if trace == program]
        boxes = tuple(Box(tuple((axis.coordinate(rank),) for axis in axes)) for rank in ranks)
        if len(ranks) == stride:
            boxes = (Box((None,) * len(axes)),)
        classes.append(RankClass(program, boxes))
    return Job("measured", machine, tuple(axes), programs, tuple(classes))


def _op(node, axes, groups):
    common = {
        "id": node["id"],
        "data": tuple(node.get("deps", ())),
        "control": tuple(node.get("ctrl_deps", ())),
        "host": node.get("cpu", False),
    }
    size, tag = node.get("comm_size"), node.get("comm_tag")
    match node["type"]:
        case "COMP":
            work = {"num_ops": node.get("num_ops", 0), "tensor_size": node.get("tensor_size", 0)}
            return Compute(**common, duration=node.get("dur", 0), **work)
        case "COLL":
            if "pg_name" in node:
                group = ListedGroup(int(node["pg_name"]), tuple(groups[node["pg_name"]]))
            else:
                dimensions = tuple(node.get("involved_dim", [True] * 4))
                names = [axis.name for axis, on in zip(axes, dimensions, strict=False) if on]
                group = AxisGroup(tuple(names), (), dimensions)
            kind = Kind[node["comm_type"]]
            return Collective(**common, kind=kind, bytes=size, group=group, duration=node.get("dur", 0))
        case "SEND":
            return Send(**common, axis="rank", offset=node["comm_dst"] - node["comm_src"], bytes=size, tag=tag)
        case "RECV":
            return Receive(**common, axis="rank", offset=node["comm_src"] - node["comm_dst"], bytes=size, tag=tag)
        case "LOAD":
            return Load(**common, bytes=node["tensor_size"])
        case _:
            return Store(**common, bytes=node["tensor_size"])


def collectives(table):
    """The rows of a table of single collectives."""
    with (HERE / table).open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            yield _row(row)


def _row(row):
    sizes = [int(size) for size in row["npus"].split("_")]
    columns = (row["topology"], row["bandwidth_GBps"], row["latency_ns"])
    topology = [
        {"type": block, "npus": size, "bandwidth_GBps": bandwidth, "latency_ns": latency}
        for size, block, bandwidth, latency in zip(sizes, *(column.split("_") for column in columns), strict=True)
    ]
    system = {
        "preferred-dataset-splits": int(row["splits"]),
        "active-chunks-per-dimension": int(row["active_chunks"]),
        "collective-optimization": row["optimization"],
        "endpoint-delay": int(row["endpoint_delay"]),
        "local-mem-bw": None if row["local_mem_bw"] == "absent" else float(row["local_mem_bw"]),
        **{key: row["impl"].split("+") if row["impl"] else [] for key in LISTS.values()},
    }
    warm = int(row["warmup_us"])
    node = {"id": 1, "type": "COLL", "comm_type": row["collective"], "comm_size": int(row["size_bytes"])}
    if warm:
        node["deps"] = [0]
    traces = [[*([{"id": 0, "type": "COMP", "dur": warm}] if warm else []), node]]
    everyone = range(len_of(sizes))
    groups, ranks, who = None, list(everyone), [0 for _ in everyone]
    if row["group_kind"] == "involved_dim":
        node["involved_dim"] = json.loads(row["group"])
    if row["group_kind"] == "pg":
        ranks = json.loads(row["group"])
        groups, node["pg_name"] = {"1": ranks}, "1"
        if len(ranks) < len(everyone):
            traces.append([{"id": 0, "type": "COMP", "dur": 1}])
            who = [int(rank not in ranks) for rank in everyone]
    cycles = None
    if row["status"] == "ok":
        cycles = json.loads(row["cycles_by_npu"] or "null") or [int(row["cycles_max"])] * len(ranks)
    name = f"{row['row']}-{row['topology']}-{row['npus']}-{row['collective']}-{row['impl']}"
    played = job(topology, system, traces, who, groups)
    return Measured(name, played, ranks, cycles, int(row["exposed_max"] or 0), None)


def len_of(sizes):
    """NPUs of some dimensions."""
    count = 1
    for size in sizes:
        count *= size
    return count


def workloads():
    """The whole workloads."""
    for path in sorted((HERE / "workloads").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        traces = []
        for trace in data["traces"]:
            if isinstance(trace, dict):
                changes = trace["but"]
                base = traces[trace["like"]]
                trace = [{**node, **changes.get(str(number), {})} for number, node in enumerate(base)]  # noqa: PLW2901
            traces.append(trace)
        found = data["measured"]
        played = job(
            data["topology"], data["system"], traces, data["npu_to_trace"], data["comm_groups"], data["memory"]
        )
        yield Measured(data["name"], played, list(range(len(found["cycles"]))), found["cycles"], 0, found["exposed"])


def by_rank(playback, figure):
    """A figure of each rank."""
    return [getattr(run, figure) for run in playback.runs() for _ in range(run.first, run.last + 1)]
