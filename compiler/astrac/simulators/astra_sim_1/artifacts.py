"""TextJob -> the files of a 1.0 bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.bundle import text_artifact
from astrac.simulators import templates
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.write import render

if TYPE_CHECKING:
    from astrac.bundle import Artifact
    from astrac.simulators.astra_sim_1.job import TextJob

_DEFAULTS = {"--compute-scale": 1, "--comm-scale": 1, "--injection-scale": 1, "--num-queues-per-dim": 1}
"""Left out when they say nothing new."""


def artifacts(job: TextJob, cycles: int | None) -> tuple[Artifact, ...]:
    """network.json, system.txt, workload.txt, run.sh."""
    script = templates.render("astra_sim_1", "run.sh", arguments=command(job), cycles=cycles)
    return (
        *(text_artifact(name, text) for name, text in render(job).items()),
        text_artifact("run.sh", script, executable=True),
    )


def command(job: TextJob) -> tuple[str, ...]:
    """The simulator's arguments, relative to the folder; `results` is made by the script and must end in a slash."""
    options: dict[str, object] = {
        "--network-configuration": keys.NETWORK,
        "--system-configuration": keys.SYSTEM,
        "--workload-configuration": keys.WORKLOAD,
        "--path": "results/",
        "--run-name": "astrac",
        "--num-passes": job.passes,
        "--total-stat-rows": 1,
        "--stat-row": 0,
        "--compute-scale": job.compute_scale,
        "--comm-scale": job.comm_scale,
        "--injection-scale": job.injection_scale,
        "--num-queues-per-dim": job.queues,
    }
    if job.rendezvous:
        options["--rendezvous-protocol"] = "true"
    return tuple(f"{option}={value}" for option, value in options.items() if _DEFAULTS.get(option) != value)
