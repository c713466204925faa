"""What is wrong with one file by itself, whoever made the data.

Places come from the data's `origins`; data that were never read have none, and then only the message tells.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.simulators.astra_sim_1.job import DLRMS, MAX_DIMENSIONS, Policy, Stage
from astrac.simulators.astra_sim_1.simulate import loops
from astrac.simulators.astra_sim_1.simulate.faults import PlayError
from astrac.simulators.astra_sim_1.simulate.network import INT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from astrac.simulators.astra_sim_1.job import TextDimension, TextNetwork, TextWorkload
    from astrac.source import Span

MANY_LAYERS = 100

COLUMNS: dict[Stage, str] = {
    Stage.FORWARD: "forward",
    Stage.INPUT_GRADIENT: "input_gradient",
    Stage.WEIGHT_GRADIENT: "weight_gradient",
}
"""Attributes of `LayerRow`, and their words in messages with a blank."""

POSITIVE = (("link-bandwidth", "bandwidth"), ("hbm-bandwidth", "memory_bandwidth"))
NOT_NEGATIVE = (
    ("link-latency", "latency"),
    ("nic-latency", "nic_latency"),
    ("router-latency", "router_latency"),
    ("hbm-latency", "memory_latency"),
    ("hbm-scale", "memory_scale"),
)


def finding(
    code: str, message: str, origins: Mapping[str, Span], pointer: str, *notes: Label, hints: Iterable[str] = ()
) -> Diagnostic:
    """A diagnostic at a pointer, or without a place where the data have none."""
    return diagnostic(code, message, origins.get(pointer), *notes, hints=hints)


def check_network(network: TextNetwork) -> tuple[Diagnostic, ...]:
    """Sizes, links, rates and words of each dimension, and their number."""
    findings = []
    if not network.dimensions:
        findings.append(finding("AS723", "a network has at least one dimension", network.origins, "/dimensions-count"))
    if len(network.dimensions) > MAX_DIMENSIONS:
        message = f"{len(network.dimensions)} dimensions; ASTRA-sim 1.0 takes at most {MAX_DIMENSIONS}"
        findings.append(finding("AS726", message, network.origins, "/dimensions-count"))
    for index, dimension in enumerate(network.dimensions):
        findings += [
            finding(code, message, network.origins, f"/{key}/{index}")
            for code, key, message in _dimension_problems(dimension)
        ]
    return tuple(findings)


def _dimension_problems(dimension: TextDimension) -> Iterable[tuple[str, str, str]]:
    """Code, key and message of what is wrong with a dimension."""
    least = 2 if dimension.block == "FullyConnected" else 1
    for key, value in (("units-count", dimension.size), ("links-count", dimension.links)):
        if value >= INT_LIMIT:
            yield "AS723", key, f"`{key}` is below 2^31"
    if dimension.size < least:
        yield "AS723", "units-count", f"{dimension.block} needs at least {least} NPU{'s' if least > 1 else ''}"
    elif dimension.links < 1 or dimension.links_used < 1:
        yield "AS725", "links-count", f"no link is left of {dimension.links}: {_links_rule(dimension)}"
    elif dimension.block != "Switch" and dimension.links % (2 if dimension.block == "Ring" else dimension.size - 1):
        yield "AS847", "links-count", f"some of the {dimension.links} links are not used: {_links_rule(dimension)}"
    if dimension.type == "PP" and dimension.block != "Switch":
        yield "AS723", "dimension-type", f"`PP` is for Switch only, not for {dimension.block}"
    for key, attribute in POSITIVE:
        if getattr(dimension, attribute) <= 0:
            yield "AS723", key, f"`{key}` is more than 0"
    for key, attribute in NOT_NEGATIVE:
        if getattr(dimension, attribute) < 0:
            yield "AS723", key, f"`{key}` is not negative"


def _links_rule(dimension: TextDimension) -> str:
    return {
        "Ring": "a Ring uses an even number of links",
        "FullyConnected": f"FullyConnected uses a multiple of {dimension.size - 1}",
        "Switch": "a Switch uses at least 1 link",
    }[dimension.block]


def check_workload(workload: TextWorkload) -> tuple[Diagnostic, ...]:
    """Extras, updates, and what the policy ignores."""
    findings = [*_check_extras(workload), *_check_updates(workload), *_check_ignored(workload)]
    if len(workload.rows) > MANY_LAYERS:
        message = f"{len(workload.rows)} layers: ASTRA-sim 1.0 writes its report in time that grows with their square"
        findings.append(finding("AS848", message, workload.origins, "/count"))
    return tuple(findings)


def _check_extras(workload: TextWorkload) -> Iterable[Diagnostic]:
    extras, layers = workload.extras, len(workload.rows)
    if workload.policy in DLRMS and not 0 <= extras.last_bottom < layers:
        message = f"the last bottom layer is {extras.last_bottom}, and layers go from 0 to {layers - 1}"
        yield finding("AS852", message, workload.origins, "/extras/last_bottom")
    if extras.group < 1:
        message = f"a model-parallel group has at least 1 NPU, not {extras.group}"
        yield finding("AS750", message, workload.origins, "/extras/group")
    for name, numbers in (("checkpoints", extras.checkpoints), ("initiates", extras.initiates)):
        for index, layer in enumerate(numbers):
            pointer = f"/extras/{name}/{index}"
            if not 0 <= layer < layers:
                message = f"there is no layer {layer}: layers go from 0 to {layers - 1}"
                yield finding("AS751", message, workload.origins, pointer)
            elif name == "initiates":
                yield from _check_recomputation(workload, layer, pointer)


def _check_recomputation(workload: TextWorkload, layer: int, pointer: str) -> Iterable[Diagnostic]:
    try:
        loops.nearest_checkpoint(workload, layer)
    except PlayError as error:
        yield finding("AS751", error.reason, workload.origins, pointer)


def issued_columns(workload: TextWorkload) -> dict[tuple[int, Stage], None]:
    """The columns whose communication the policy starts, in order; one pass of its loop says it."""
    if workload.extras.initiates:
        # A forward that is repeated issues the columns that it issued the first time.
        workload = _without_recomputation(workload)
    return {
        (step.row, step.stage): None
        for step in loops.steps(workload, 1)
        if step.act is loops.Act.ISSUE
        and workload.rows[step.row].work(step.stage).kind is not None
        and loops.levels(workload, step.row, step.stage) is not loops.Levels.NONE
    }


def _without_recomputation(workload: TextWorkload) -> TextWorkload:
    return replace(workload, extras=replace(workload.extras, initiates=()))


def _check_updates(workload: TextWorkload) -> Iterable[Diagnostic]:
    communicating = {row for row, _ in issued_columns(workload)}
    for index, row in enumerate(workload.rows):
        if row.update < 1 and index in communicating:
            message = f"layer `{row.name}` communicates, so its update takes at least 1 cycle"
            yield finding("AS747", message, workload.origins, f"/rows/{index}/update")


def _check_ignored(workload: TextWorkload) -> Iterable[Diagnostic]:
    """Communication that is never sent, layers and times that are never used: once a column."""
    issued = issued_columns(workload)
    dropped: dict[Stage, list[int]] = defaultdict(list)
    sizes: dict[Stage, list[int]] = defaultdict(list)
    for index, row in enumerate(workload.rows):
        for stage in Stage:
            work = row.work(stage)
            if work.kind is not None and (index, stage) not in issued:
                dropped[stage].append(index)
            if work.kind is None and work.bytes:
                sizes[stage].append(index)
    for stage, rows in dropped.items():
        column = COLUMNS[stage].replace("_", " ")
        message = f"the {column} communication of {_layers(workload, rows)} is not used under {workload.policy.value}"
        yield finding("AS840", message, workload.origins, f"/rows/{rows[0]}/{COLUMNS[stage]}/kind")
    for stage, rows in sizes.items():
        column = COLUMNS[stage].replace("_", " ")
        message = f"the {column} communication of {_layers(workload, rows)} is NONE, and has a size"
        yield finding("AS850", message, workload.origins, f"/rows/{rows[0]}/{COLUMNS[stage]}/bytes")
    yield from _check_unused(workload)


def _check_unused(workload: TextWorkload) -> Iterable[Diagnostic]:
    if workload.policy is Policy.MICRO:
        used = [Stage.FORWARD, Stage.INPUT_GRADIENT, Stage.WEIGHT_GRADIENT]
        if len(workload.rows) > 1:
            message = f"MICRO runs the first layer only: {len(workload.rows) - 1} are not used"
            yield finding("AS841", message, workload.origins, "/rows/1/name")
    elif workload.policy is Policy.DISTRIBUTED_INFERENCE:
        used = [Stage.INPUT_GRADIENT, Stage.WEIGHT_GRADIENT]
    else:
        return
    for stage in used:
        rows = [index for index, row in enumerate(workload.rows) if row.work(stage).time]
        if rows:
            column = COLUMNS[stage].replace("_", " ")
            message = f"the {column} time of {_layers(workload, rows)} is not used under {workload.policy.value}"
            yield finding("AS841", message, workload.origins, f"/rows/{rows[0]}/{COLUMNS[stage]}/time")


def _layers(workload: TextWorkload, rows: list[int]) -> str:
    """`layer a`, or how many."""
    return f"layer `{workload.rows[rows[0]].name}`" if len(rows) == 1 else f"{len(rows)} layers"
