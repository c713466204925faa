"""Specs as the tests of parallelism write them, and what the compiler makes of them, added up."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

from astrac.api.compiling import compile_data, plan_data
from astrac.job import Kind
from astrac.training.plan import Communicate, Computation, Remote, Transfer
from chakra_reader import trace

BLOCKS = {
    "use": 'use "std/hardware/h100.astra"',
    "hardware": "hardware gpu from h100_sxm",
    "topology": "",
    "memory_pool": "",
    "model": "",
    "parallelism": "",
    "training": "",
    "system": "",
}


def topology(*sizes, kind="switch", more=""):
    dimensions = (
        f"  {kind} d{index} {{ size: {size}, bandwidth: 50 GB/s, latency: 500 ns{more} }}"
        for index, size in enumerate(sizes)
    )
    return "\n".join(["topology pod {", *dimensions, "}"])


def parallelism(**axes):
    return "\n".join(["parallelism {", *(f"  {kind} {{ {words} }}" for kind, words in axes.items()), "}"])


def spec(**blocks):
    return "\n".join(text for text in (BLOCKS | blocks).values() if text) + "\n"


def planned(text):
    """Up to the estimate; the spec must have no error."""
    (result,) = plan_data("test.astra", text.encode())
    assert result.value is not None, [found.message for found in result.diagnostics]
    return result.value


def compiled(text):
    """With the files."""
    (result,) = compile_data("test.astra", text.encode())
    assert result.value is not None, [found.message for found in result.diagnostics]
    return result.value


def codes(text):
    """Of all that the compiler says about a spec."""
    return [found.code for result in plan_data("test.astra", text.encode()) for found in result.diagnostics]


def traffic(steps):
    """Bytes by axis, phase, and kind of collective or `send`, `load`, `store`."""
    found = Counter()
    for step in steps:
        match step.action:
            case Communicate(kind=kind, bytes=size):
                found[step.axis, step.phase.value, kind.name.lower()] += size
            case Transfer(bytes=size, send=True):
                found[step.axis, step.phase.value, "send"] += size
            case Remote(bytes=size, store=store):
                found[step.axis, step.phase.value, "store" if store else "load"] += size
    return found


def flops(steps):
    """FLOPs by phase."""
    found = Counter()
    for step in steps:
        if isinstance(step.action, Computation):
            found[step.phase.value] += step.action.flops
    return +found


def columns(plan, count=traffic):
    """Summed over one rank of each stage."""
    return sum((count(program.steps) for program in plan.programs if not program.slow), Counter())


def first_rank(plan, program):
    axis = plan.axis("pipeline")
    return program.slow[0] if program.slow else 0 if axis is None else program.stage * axis.stride


def members(plan, axes, rank, only=()):
    """The ranks that differ from one in some axes only."""
    digits = [
        [(at - axis.coordinate(rank)) * axis.stride for at in (only or range(axis.size))]
        for axis in plan.axes
        if axis.name in axes
    ]
    return tuple(sorted(rank + sum(offsets) for offsets in product(*digits)))


def plan_totals(plan, program):
    """What the trace of a program's first rank adds up to: collectives by kind and members, messages by peer, work."""
    rank = first_rank(plan, program)
    found = Counter()
    for step in program.steps:
        match step.action:
            case Computation(flops=operations, bytes=moved):
                found["flops"] += operations
                found["bytes"] += moved
            case Communicate(kind=kind, bytes=size, axes=axes, only=only):
                found[kind.name, members(plan, axes, rank, only)] += size
            case Transfer(axis=axis, offset=offset, bytes=size, send=send):
                found["SEND" if send else "RECV", plan.axis(axis).peer(rank, offset)] += size
            case Remote(bytes=size, store=store):
                found["STORE" if store else "LOAD"] += size
    return +found


def files(result):
    """The bundle by path, of one rank for files that ranks share."""
    return {
        path: b"".join(artifact.contents()) for artifact in result.bundle.artifacts for path in list(artifact.paths)[:1]
    }


def trace_of(result, rank):
    """The nodes of a rank's trace."""
    for artifact in result.bundle.artifacts:
        if rank in artifact.ranks:
            return trace(b"".join(artifact.contents()))[1]
    raise AssertionError(rank)


def groups_of(result):
    """The group file: id to members."""
    texts = [text for path, text in files(result).items() if path.endswith("groups.json")]
    return json.loads(texts[0]) if texts else {}


def trace_totals(result, rank):
    """The same as `plan_totals`, from the bytes of the trace and of the group file."""
    sizes = [dimension.size for dimension in result.job.machine.dimensions]
    groups, found = groups_of(result), Counter()
    for node in trace_of(result, rank):
        match node["type"]:
            case "COMP":
                found["flops"] += node.get("flops", node["num_ops"])
                found["bytes"] += node.get("bytes", node["tensor_size"])
            case "COLL" if "pg_name" in node:
                found[Kind(node["comm_type"]).name, tuple(groups[node["pg_name"]])] += node["comm_size"]
            case "COLL":
                ranks = ranks_of(node["involved_dim"], sizes, rank)
                found[Kind(node["comm_type"]).name, ranks] += node["comm_size"]
            case "SEND" | "RECV" as word:
                found[word, node["comm_dst" if word == "SEND" else "comm_src"]] += node["comm_size"]
            case word:
                found[word] += node["tensor_size"]
    return +found


def ranks_of(involved, sizes, rank):
    """The ranks that differ from one in some dimensions only, by mixed radix."""
    found, stride = [rank], 1
    for size, on in zip(sizes, involved, strict=True):
        if on:
            found = [r + (at - r // stride % size) * stride for r in found for at in range(size)]
        stride *= size
    return tuple(sorted(found))
