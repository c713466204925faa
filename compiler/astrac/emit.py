"""Jobs -> Bundle: the artifacts of every simulator, the estimate, and what the manifest says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac.bundle import MANIFEST, Bundle, json_text, text_artifact
from astrac.conform import violations
from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.simulators.table import named
from astrac.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def emit(
    jobs: Mapping[str, Any],
    *,
    estimate: Mapping[str, Any] | None = None,
    cycles: Mapping[str, int] | None = None,
    inputs: Iterable[tuple[str, str]] = (),
    spec: Mapping[str, Any] | None = None,
) -> Result[Bundle]:
    """The bundle of jobs, read back and found equal, but not yet written.

    Args:
        jobs: by the name of the simulator that runs each.
        estimate: the content of estimate.json.
        cycles: the estimate by simulator, which `run.sh` prints beside the simulator's.
        inputs: base name and digest (`sha256:...`) of everything that the bundle was made from.
        spec: which of them is the spec, and how it was compiled, so that it can be compiled again.

    Returns:
        The bundle, or what a simulator cannot express (AS7xx) or we got wrong (AS91x).
    """
    wings = {name: named(name).wing for name in jobs}
    try:
        files = [
            replace(artifact, path=f"{name}/{artifact.path}")
            for name, wing in wings.items()
            for artifact in wing.write(jobs[name], (cycles or {}).get(name))
        ]
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    if estimate is not None:
        files.append(text_artifact("estimate.json", json_text(dict(estimate))))
    described = [entry for name, wing in wings.items() if (entry := wing.describe(jobs[name])) is not None]
    head = {
        "$schema": "https://astrac.dev/schemas/artifacts/manifest.schema.json",
        "compiler": f"astrac {__version__}",
        **({} if spec is None else {"spec": spec}),
        "inputs": [{"name": name, "digest": digest} for name, digest in sorted(inputs)],
        "commands": {name: wing.command(jobs[name]) for name, wing in wings.items()},
        **({"job": described[0]} if described else {}),
    }
    head = json.loads(json_text(head))
    for violation in violations({**head, "files": []}, "manifest"):
        return Result(None, (diagnostic("AS911", f"`{MANIFEST}`: {violation.message}"),))
    return Result(Bundle(head, tuple(files)))
