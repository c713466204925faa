"""TextJob -> the files of a 1.0 bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from astrac.bundle import text_artifact
from astrac.simulators import texts
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import DLRMS, TRANSFORMERS, WORDS, Policy

if TYPE_CHECKING:
    from astrac.bundle import Artifact
    from astrac.job import Kind
    from astrac.simulators.astra_sim_1.job import TextJob, TextNetwork, TextSystem, TextWorkload


_DEFAULTS = {"--compute-scale": 1, "--comm-scale": 1, "--injection-scale": 1, "--num-queues-per-dim": 1}
"""Left out when they say nothing new."""

_RESULTS = "results"
"""Made by run.sh, below wherever it runs."""


def write(job: TextJob, cycles: int | None) -> tuple[Artifact, ...]:
    """The artifacts network.json, system.txt, workload.txt and run.sh, which expects `cycles`."""
    script = texts.render(
        "simulators",
        "run.sh",
        simulator="ASTRA-sim 1.0",
        variable="ASTRA_SIM_1",
        backend=None,
        others=(),
        arguments=command(job),
        output=_RESULTS,
        finished="all passes finished at time: [0-9]+",
        expected=1,
        unit="passes",
        cause="",
        cycles=cycles,
    )
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
        "--path": f"{_RESULTS}/",
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


def render(job: TextJob) -> dict[str, str]:
    """The texts of network.json, system.txt and workload.txt, by file name."""
    return {
        keys.NETWORK: render_network(job.network),
        keys.SYSTEM: render_system(job.system),
        keys.WORKLOAD: render_workload(job.workload),
    }


def render_network(network: TextNetwork) -> str:
    """network.json; whole numbers without a fraction, others with all the digits that a double needs."""
    lists = {
        key: [_plain(getattr(dimension, attribute)) for dimension in network.dimensions]
        for key, attribute in keys.DIMENSION_KEYS.items()
    }
    head = {"topology-name": keys.TOPOLOGY_NAME, "dimensions-count": len(network.dimensions)}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in (head | lists).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def render_system(system: TextSystem) -> str:
    """The text of system.txt; defaults are written out."""
    implementations = [(key, system.words(kind)) for kind, key in keys.IMPLEMENTATION_KEYS.items()]
    return texts.render("astra_sim_1", "system.txt", system=system, implementations=implementations)


def render_workload(workload: TextWorkload) -> str:
    """The text of workload.txt."""
    return texts.render("astra_sim_1", "workload.txt", workload=workload, head=" ".join(_head(workload)), word=_word)


def _head(workload: TextWorkload) -> tuple[str, ...]:
    """The policy and what it says before the count of layers."""
    extras = workload.extras
    words: list[object] = [workload.policy.value]
    if workload.policy in TRANSFORMERS:
        words += [keys.GROUP_WORD, extras.group]
    if workload.policy is Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD:
        words += [keys.CHECKPOINTS_WORD, len(extras.checkpoints), *extras.checkpoints]
        words += [keys.INITIATES_WORD, len(extras.initiates), *extras.initiates]
    if workload.policy in DLRMS:
        words += [extras.last_bottom]
    return tuple(str(word) for word in words)


def _word(kind: Kind | None) -> str:
    return "NONE" if kind is None else WORDS[kind]


def _plain(value: str | float) -> str | float:
    return int(value) if isinstance(value, float) and value.is_integer() else value
