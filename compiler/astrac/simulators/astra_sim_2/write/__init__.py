"""Job -> the files of a 2.x bundle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.bundle import text_artifact
from astrac.simulators.astra_sim_2 import groups, keys
from astrac.simulators.astra_sim_2.write import texts, traces
from astrac.simulators.astra_sim_2.write.read_back import read_back

if TYPE_CHECKING:
    from astrac.bundle import Artifact
    from astrac.job import Job


def write(job: Job, cycles: int | None) -> tuple[Artifact, ...]:
    """network.yml, system.json, memory.json, comm_groups.json where there are groups, the traces, run.sh.

    Raises:
        Diagnosed: AS703, AS910, AS911.
    """
    files = {
        keys.NETWORK: texts.render_network(job.machine),
        keys.SYSTEM: texts.render_system(job.machine),
        keys.MEMORY: texts.render_memory(job.machine.memory),
    }
    numbering = groups.number(job)
    if numbering.ids:
        files[keys.GROUPS] = texts.render_groups(numbering.ids)
    path = f"{keys.WORKLOAD}/{trace_name(job)}.{{rank}}.et"
    of_ranks = tuple(traces.artifacts(job, numbering, path))
    read_back(job, files, numbering, of_ranks)
    script = texts.render_script(job.machine, command(job), cycles)
    return (
        *(text_artifact(name, text) for name, text in files.items()),
        *of_ranks,
        text_artifact(keys.SCRIPT, script, executable=True),
    )


def command(job: Job) -> tuple[str, ...]:
    """The simulator's arguments, relative to the folder: a path with `empty` in it would lose the groups."""
    files = {
        "workload": f"{keys.WORKLOAD}/{trace_name(job)}",
        "groups": keys.GROUPS if groups.number(job).ids else None,
        "system": keys.SYSTEM,
        "memory": keys.MEMORY,
        "network": keys.NETWORK,
        "queues": str(job.machine.queues) if job.machine.queues != 1 else None,
    }
    return tuple(f"{keys.OPTIONS[option]}={value}" for option, value in files.items() if value is not None)


def trace_name(job: Job) -> str:
    """What the traces are called: the Job's name where a shell and a path can hold it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", job.name).lstrip(".-") or "trace"
