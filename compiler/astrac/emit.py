"""Job -> Bundle: the artifacts of every target, the estimate, and what the manifest says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from astrac.bundle import MANIFEST, Bundle, json_text, text_artifact
from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.simulators import conform, writer
from astrac.simulators.astra_sim_2.simulator import describe
from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from astrac.job import Job
    from astrac.simulators.astra_sim_1.job import TextJob


def emit(
    job: Job | None,
    text_job: TextJob | None = None,
    *,
    estimate: Mapping[str, Any] | None = None,
    cycles: Mapping[str, int] | None = None,
    inputs: Iterable[tuple[str, str]] = (),
    spec: Mapping[str, Any] | None = None,
) -> Result[Bundle]:
    """The bundle of a 2.x job, a 1.0 job, or both, read back and found equal, but not yet written.

    Args:
        job: for `astra-sim-2`.
        text_job: for `astra-sim-1`.
        estimate: the content of estimate.json.
        cycles: the estimate by target, which `run.sh` prints beside the simulator's.
        inputs: base name and digest (`sha256:...`) of everything that the bundle was made from.
        spec: which of them is the spec, and how it was compiled, so that it can be compiled again.

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
        **({} if spec is None else {"spec": spec}),
        "inputs": [{"name": name, "digest": digest} for name, digest in sorted(inputs)],
        "commands": {target: target_writer.command(value) for target, (target_writer, value) in wanted.items()},
        **({} if job is None else {"job": describe(job)}),
    }
    head = json.loads(json_text(head))
    for violation in conform.violations({**head, "files": []}, "manifest"):
        return Result(None, (diagnostic("AS911", f"`{MANIFEST}`: {violation.message}"),))
    return Result(Bundle(head, tuple(files)))
