"""What is wrong with one file by itself, whoever made the data.

Places come from the data's `origins`; data that were never read have none, and then only the message tells.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from astrac.conform import load
from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import DLRMS, MAX_DIMENSIONS, WORDS, Policy, Stage
from astrac.simulators.astra_sim_1.simulate import loops
from astrac.simulators.astra_sim_1.simulate.faults import SimulationError
from astrac.simulators.astra_sim_1.simulate.network import INT_LIMIT
from astrac.simulators.blocks import by_name_1

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from astrac.simulators.astra_sim_1.job import TextDimension, TextNetwork, TextWorkload, Work
    from astrac.source import Span

MANY_LAYERS = 100

COLUMNS: dict[Stage, str] = {
    Stage.FORWARD: "forward",
    Stage.INPUT_GRADIENT: "input_gradient",
    Stage.WEIGHT_GRADIENT: "weight_gradient",
}
"""Attributes of `LayerRow`, and their words in messages with a blank."""

SCHEMA = "astra-sim-1-network"
"""Of network.json, in `schemas/artifacts/`."""


Problem: TypeAlias = tuple[str, str, str]
"""A code, a message, and the pointer of the value that it is about."""


def finding(
    code: str, message: str, origins: Mapping[str, Span], pointer: str, *notes: Label, hints: Iterable[str] = ()
) -> Diagnostic:
    """A diagnostic at a pointer, or without a place where the data have none."""
    return diagnostic(code, message, origins.get(pointer), *notes, hints=hints)


def check_network(network: TextNetwork) -> tuple[Diagnostic, ...]:
    """What is wrong with sizes, links, rates and words of each dimension, and with their number."""
    return tuple(finding(code, message, network.origins, pointer) for code, message, pointer in _network(network))


def _network(network: TextNetwork) -> Iterator[Problem]:
    if not network.dimensions:
        yield "AS723", "a network has at least one dimension", "/dimensions-count"
    if len(network.dimensions) > MAX_DIMENSIONS:
        message = f"{len(network.dimensions)} dimensions; ASTRA-sim 1.0 takes at most {MAX_DIMENSIONS}"
        yield "AS726", message, "/dimensions-count"
    for index, dimension in enumerate(network.dimensions):
        for code, key, message in _dimension(dimension):
            yield code, message, f"/{key}/{index}"


def _dimension(dimension: TextDimension) -> Iterator[tuple[str, str, str]]:
    """Code, key and message of what is wrong with a dimension."""
    block = by_name_1(dimension.block)
    assert block.astra_sim_1 is not None
    least, divisor = block.astra_sim_1.least, block.astra_sim_1.divisor(dimension.size)
    rule = block.astra_sim_1.rule.format(divisor=divisor)
    for key, value in (("units-count", dimension.size), ("links-count", dimension.links)):
        if value >= INT_LIMIT:
            yield "AS723", key, f"`{key}` is below 2^31"
    if dimension.size < least:
        yield "AS723", "units-count", f"{dimension.block} needs at least {least} NPU{'s' if least > 1 else ''}"
    elif dimension.links < 1 or dimension.links_used < 1:
        yield "AS725", "links-count", f"no link is left of {dimension.links}: {rule}"
    elif dimension.links % divisor:
        yield "AS847", "links-count", f"some of the {dimension.links} links are not used: {rule}"
    if dimension.type == "PP" and not block.switched:
        yield "AS723", "dimension-type", f"`PP` is for Switch only, not for {dimension.block}"
    for key, attribute in keys.DIMENSION_KEYS.items():
        row = load(SCHEMA)["properties"][key]["items"]
        if row.get("type") == "number":
            value, positive = getattr(dimension, attribute), "exclusiveMinimum" in row
            if value < 0 or (positive and value == 0):
                yield "AS723", key, f"`{key}` is {'more than 0' if positive else 'not negative'}"


def check_workload(workload: TextWorkload) -> tuple[Diagnostic, ...]:
    """What is wrong with extras and updates, and what the policy ignores."""
    return tuple(finding(code, message, workload.origins, pointer) for code, message, pointer in _workload(workload))


def _workload(workload: TextWorkload) -> Iterator[Problem]:
    yield from _extras(workload)
    issued = issued_columns(workload)
    communicating = {row for row, _ in issued}
    for index, row in enumerate(workload.rows):
        if row.update < 1 and index in communicating:
            message = f"layer `{row.name}` communicates, so its update takes at least 1 cycle"
            yield "AS747", message, f"/rows/{index}/update"
    yield from _ignored(workload, issued)
    yield from _named_twice(workload)
    if len(workload.rows) > MANY_LAYERS:
        message = f"{len(workload.rows)} layers: ASTRA-sim 1.0 writes its report in time that grows with their square"
        yield "AS848", message, "/count"


def _extras(workload: TextWorkload) -> Iterator[Problem]:
    extras, layers = workload.extras, len(workload.rows)
    if workload.policy in DLRMS and not 0 <= extras.last_bottom < layers:
        message = f"the last bottom layer is {extras.last_bottom}, and layers go from 0 to {layers - 1}"
        yield "AS852", message, "/extras/last_bottom"
    if extras.group < 1:
        yield "AS750", f"a model-parallel group has at least 1 NPU, not {extras.group}", "/extras/group"
    for name, numbers in (("checkpoints", extras.checkpoints), ("initiates", extras.initiates)):
        for index, layer in enumerate(numbers):
            pointer = f"/extras/{name}/{index}"
            if not 0 <= layer < layers:
                yield "AS751", f"there is no layer {layer}: layers go from 0 to {layers - 1}", pointer
            elif name == "initiates":
                try:
                    loops.nearest_checkpoint(workload, layer)
                except SimulationError as error:
                    yield "AS751", error.reason, pointer


def issued_columns(workload: TextWorkload) -> dict[tuple[int, Stage], None]:
    """The columns whose communication the policy starts, in order; one pass of its loop says it."""
    # A forward that is repeated issues the columns that it issued the first time.
    once = replace(workload, extras=replace(workload.extras, initiates=()))
    return {
        (step.row, step.stage): None
        for step in loops.steps(once, 1)
        if step.act is loops.Act.ISSUE
        and workload.rows[step.row].work(step.stage).kind is not None
        and loops.levels(workload, step.row, step.stage) is not loops.Levels.NONE
    }


UNUSED: dict[Policy, tuple[Stage, ...]] = {
    Policy.MICRO: tuple(Stage),
    Policy.DISTRIBUTED_INFERENCE: (Stage.INPUT_GRADIENT, Stage.WEIGHT_GRADIENT),
}
"""Columns whose times are never spent."""


def _nothing_issued(workload: TextWorkload) -> Iterator[Problem]:
    """AS749 where MICRO has no collective to run; a first layer with one elsewhere is shown as it should be."""
    row, told = (
        workload.rows[0],
        "nothing is simulated: MICRO runs the collective in columns 10 and 11 of the first layer",
    )
    for stage in (Stage.FORWARD, Stage.INPUT_GRADIENT):
        work = row.work(stage)
        if work.kind is not None:
            right = f"{row.name} {row.reserved} 0 NONE 0 0 NONE 0 0 {WORDS[work.kind]} {work.bytes} {row.update}"
            yield "AS749", f"{told}: `{right}`", f"/rows/0/{COLUMNS[stage]}/kind"
            return
    yield "AS749", f"{told}, which has none", "/rows/0/name"


def _named_twice(workload: TextWorkload) -> Iterator[Problem]:
    """AS853 at the first layer whose name an earlier one has."""
    counts = Counter(row.name for row in workload.rows)
    seen: set[str] = set()
    for index, row in enumerate(workload.rows):
        if row.name in seen:
            others = sum(count - 1 for count in counts.values()) - 1
            more = f", and so {others} other{'s'[: others > 1]}" if others else ""
            yield "AS853", f"an earlier layer is called `{row.name}`, too{more}", f"/rows/{index}/name"
            return
        seen.add(row.name)


def _ignored(workload: TextWorkload, issued: Container[tuple[int, Stage]]) -> Iterator[Problem]:
    """Communication that is never sent, layers and times that are never used: once a column."""
    policy = workload.policy
    not_used = f"is not used under {policy.value}"

    def told(code: str, part: str, what: str, wrong: Callable[[int, Stage], bool], *stages: Stage) -> Iterator[Problem]:
        for stage in stages:
            rows = [row for row in range(len(workload.rows)) if wrong(row, stage)]
            if rows:
                layers = f"layer `{workload.rows[rows[0]].name}`" if len(rows) == 1 else f"{len(rows)} layers"
                pointer = f"/rows/{rows[0]}/{COLUMNS[stage]}/{part}"
                yield code, f"the {COLUMNS[stage].replace('_', ' ')} {what.format(layers)}", pointer

    def work(row: int, stage: Stage) -> Work:
        return workload.rows[row].work(stage)

    def dropped(row: int, stage: Stage) -> bool:
        return work(row, stage).kind is not None and (row, stage) not in issued

    def sized(row: int, stage: Stage) -> bool:
        return work(row, stage).kind is None and work(row, stage).bytes > 0

    if policy is Policy.MICRO and not issued:
        yield from _nothing_issued(workload)
    else:
        yield from told("AS840", "kind", f"communication of {{}} {not_used}", dropped, *Stage)
    yield from told("AS850", "bytes", "communication of {} is NONE, and has a size", sized, *Stage)
    if policy is Policy.MICRO and len(workload.rows) > 1:
        yield "AS841", f"MICRO runs the first layer only: {len(workload.rows) - 1} are not used", "/rows/1/name"
    # The format needs a number: 0 and 1 stand for none.
    yield from told(
        "AS841", "time", f"time of {{}} {not_used}", lambda *at: work(*at).time > 1, *UNUSED.get(policy, ())
    )
