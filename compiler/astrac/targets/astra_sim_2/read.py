"""Texts of network.yml, system.json, memory.json, comm_groups.json -> the parts of a Machine, and groups.

Strict: what the simulator refuses, crashes on, or reads as something else is a finding at its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Label, Result, diagnostic
from astrac.job import Dimension, ListedGroup, Machine, MemoryType, RemoteMemory
from astrac.targets import conform
from astrac.targets.astra_sim_2 import keys

if TYPE_CHECKING:
    from astrac.diagnostics import Diagnostic
    from astrac.targets.placed import Placed

UNMODELLED: dict[str, object] = {
    "model-shared-bus": 0,
    "track-local-mem": 0,
    "per-node-custom-implementation": None,
    **{f"{key}-custom": None for key in keys.IMPLEMENTATION_KEYS.values()},
}
"""Keys of system.json that change what happens in ways that a Machine cannot say, and the value that does not."""


def read_network(placed: Placed) -> Result[tuple[Dimension, ...]]:
    """network.yml."""
    findings = conform.findings(placed, "network") or _uneven(placed)
    if findings:
        return Result(None, tuple(findings))
    lists = [placed.value[key] for key in ("topology", "npus_count", "bandwidth", "latency")]
    return Result(
        tuple(
            Dimension(block, size, float(bandwidth), float(latency))
            for block, size, bandwidth, latency in zip(*lists, strict=True)
        )
    )


def _uneven(placed: Placed) -> list[Diagnostic]:
    """Lists that are not as long as the first."""
    topology = placed.value["topology"]
    return [
        diagnostic(
            "AS702",
            f"`{key}` has {len(placed.value[key])} entries for {len(topology)} dimensions",
            placed.at(key),
            Label(placed.at("topology"), "the dimensions"),
        )
        for key in ("npus_count", "bandwidth", "latency")
        if len(placed.value[key]) != len(topology)
    ]


def read_machine(
    dimensions: tuple[Dimension, ...], system: Placed, memory: Placed | None, queues: int = 1
) -> Result[Machine]:
    """system.json and memory.json on top of a network; no memory.json is a machine without remote memory."""
    findings = conform.findings(system, "system")
    if not findings:
        findings = [*_short_lists(system, len(dimensions)), *_unmodelled(system)]
    remote = Result(RemoteMemory()) if memory is None else _read_memory(memory)
    findings += remote.diagnostics
    if findings or remote.value is None:
        return Result(None, tuple(findings))
    fields: dict[str, Any] = {
        attribute: system.value[key] for key, attribute in keys.SYSTEM_KEYS.items() if key in system.value
    }
    for attribute in ("local_mem_bandwidth", "peak_performance"):
        if attribute in fields:
            fields[attribute] = float(fields[attribute])
    for attribute in ("roofline", "replay_only"):
        fields[attribute] = fields.get(attribute, 0) == 1
    fields.setdefault("endpoint_delay", None)
    algorithms = {
        kind: tuple(system.value[key]) for kind, key in keys.IMPLEMENTATION_KEYS.items() if key in system.value
    }
    return Result(Machine(dimensions, algorithms, memory=remote.value, queues=queues, **fields))


def _short_lists(system: Placed, dimensions: int) -> list[Diagnostic]:
    """Algorithm lists without a word for each dimension, unless one logical ring runs over all."""
    return [
        diagnostic(
            "AS702",
            f"`{key}` has {len(system.value[key])} entries for {dimensions} dimensions",
            system.at(key),
            hints=("dimensions without a word would take no part",) if len(system.value[key]) < dimensions else (),
        )
        for key in keys.IMPLEMENTATION_KEYS.values()
        if key in system.value
        and len(system.value[key]) != dimensions
        and not (len(system.value[key]) == 1 and system.value[key][0].startswith("one"))
    ]


def _unmodelled(system: Placed) -> list[Diagnostic]:
    return [
        diagnostic("AS715", f"`{key}` is not modelled", system.at(key))
        for key, harmless in UNMODELLED.items()
        if key in system.value and system.value[key] != harmless
    ]


def _read_memory(placed: Placed) -> Result[RemoteMemory]:
    findings = conform.findings(placed, "memory")
    if findings:
        return Result(None, tuple(findings))
    values = {attribute: placed.value[key] for key, attribute in keys.MEMORY_KEYS.items() if key in placed.value}
    kind = MemoryType(values.pop("type"))
    wanted = keys.memory_attributes(kind)
    return Result(
        RemoteMemory(kind, **{attribute: value for attribute, value in values.items() if attribute in wanted})
    )


def read_groups(placed: Placed, npus: int) -> Result[dict[int, ListedGroup]]:
    """comm_groups.json by id."""
    findings = conform.findings(placed, "comm_groups")
    if not findings:
        findings = [
            diagnostic("AS714", f"NPU {member} of group {key}: there are {npus}", placed.at(key, at))
            for key, members in placed.value.items()
            for at, member in enumerate(members)
            if member >= npus
        ]
    if findings:
        return Result(None, tuple(findings))
    return Result({int(key): ListedGroup(int(key), tuple(members)) for key, members in placed.value.items()})
