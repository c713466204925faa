"""Job -> Bundle: the artifacts of every target, the estimate, and what the manifest says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.bundle import Bundle, json_text, text_artifact
from astrac.diagnostics import Diagnosed, Result
from astrac.job import AxisGroup, Collective
from astrac.targets import writer
from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from astrac.job import Box, Job
    from astrac.text_job import TextJob


def emit(
    job: Job | None,
    text_job: TextJob | None = None,
    *,
    estimate: Mapping[str, Any] | None = None,
    cycles: Mapping[str, int] | None = None,
    inputs: Iterable[tuple[str, str]] = (),
) -> Result[Bundle]:
    """The bundle of a 2.x job, a 1.0 job, or both, read back and found equal, but not yet written.

    Args:
        job: for `astra-sim-2`.
        text_job: for `astra-sim-1`.
        estimate: the content of estimate.json.
        cycles: the estimate by target, which `run.sh` prints beside the simulator's.
        inputs: base name and digest (`sha256:...`) of everything that the bundle was made from.

    Returns:
        The bundle, or what a target cannot express (AS7xx) or we got wrong (AS91x).
    """
    jobs = {"astra-sim-2": job, "astra-sim-1": text_job}
    wanted = {target: (writer(target), value) for target, value in jobs.items() if value is not None}
    try:
        files = [
            artifact
            for target, (target_writer, value) in wanted.items()
            for artifact in target_writer.artifacts(value, (cycles or {}).get(target))
        ]
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    if estimate is not None:
        files.append(text_artifact("estimate.json", json_text(dict(estimate))))
    head = {
        "$schema": "https://astrac.dev/schemas/artifacts/manifest.schema.json",
        "compiler": f"astrac {__version__}",
        "inputs": dict(sorted(inputs)),
        "commands": {target: target_writer.command(value) for target, (target_writer, value) in wanted.items()},
        **({} if job is None else {"job": _described(job)}),
    }
    return Result(Bundle(head, tuple(files)))


def _described(job: Job) -> dict[str, Any]:
    """The names that the traces do not hold: axes, groups by axes, and which ranks share a program."""
    groups = dict.fromkeys(
        op.group
        for program in job.programs
        for op in program.ops
        if isinstance(op, Collective) and isinstance(op.group, AxisGroup)
    )
    return {
        "name": job.name,
        "axes": [{"name": axis.name, "stride": axis.stride, "size": axis.size} for axis in job.axes],
        "groups": [{"axes": group.axes, "only": group.only, "dimensions": group.dimensions} for group in groups],
        "classes": [
            {"program": members.program, "boxes": [_box(box, job) for box in members.boxes]} for members in job.classes
        ],
    }


def _box(box: Box, job: Job) -> dict[str, tuple[int, ...]]:
    """The axes that a box confines, and to which coordinates."""
    return {axis.name: allowed for axis, allowed in zip(job.axes, box.coordinates, strict=True) if allowed is not None}
