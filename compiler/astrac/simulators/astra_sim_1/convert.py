"""Jobs of ASTRA-sim 1.0 compared, and made specs.

Of two jobs it is told what is different in what the simulator sees. A spec builds the same network and system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Result
from astrac.job import IMPLEMENTED, Dimension, Machine
from astrac.simulators.algorithms import by_word_1
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import Policy
from astrac.simulators.astra_sim_1.read import read
from astrac.simulators.blocks import by_name_1
from astrac.simulators.conversions import SpecWriter, changed, lists, scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.rows import FileSet

_NETWORK = {attribute: key for key, attribute in keys.DIMENSION_KEYS.items()}

_MEMORY_1 = 500_000
"""GB/s with which 2.x prices reductions as 1.0 does: `3 x floor(bytes / 500000)` ns."""


def differences(one: TextJob, other: TextJob) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    found = list(lists("network.json", one.network.dimensions, other.network.dimensions, _NETWORK, "dimension"))
    found += scalars("system.txt", one.system, other.system, {}, ("algorithms", "origins"))
    for kind, key in keys.IMPLEMENTATION_KEYS.items():
        found += changed("system.txt", key, "_".join(one.system.words(kind)), "_".join(other.system.words(kind)))
    found += scalars("workload.txt", one.workload, other.workload, {}, ("rows", "origins"))
    found += lists("workload.txt", one.workload.rows, other.workload.rows, {}, "layer")
    return tuple(found)


# -- specs


def to_spec(found: FileSet, origin: str) -> Result[str]:
    """A spec that builds the same network and system; AS876 for what it leaves out, AS788 without it."""
    job, read_ = read(found)
    if job is None:
        return Result(None, read_)
    writer = SpecWriter(_machine(job))
    for message in _unsayable(job):
        writer.refuse(message)
    return writer.finish(origin, _text_model(job, writer), read_)


def _machine(job: TextJob) -> Machine:
    """The 2.x machine with the same physics: a message gets the links that its block lends it."""
    return Machine(
        dimensions=tuple(
            Dimension(
                by_name_1(dimension.block).astra_sim_2 or dimension.block,
                dimension.size,
                dimension.bandwidth * dimension.links_used,
                dimension.latency,
            )
            for dimension in job.network.dimensions
        ),
        algorithms={kind: tuple(map(_word, job.system.words(kind))) for kind in IMPLEMENTED},
        splits=job.system.splits,
        active_chunks=job.system.active_chunks,
        optimization=job.system.optimization,
        scheduling=job.system.scheduling,
        endpoint_delay=job.system.endpoint_delay,
        local_mem_bandwidth=float(_MEMORY_1),
        queues=job.queues,
    )


def _unsayable(job: TextJob) -> Iterator[str]:
    """What 1.0 has and the language has not."""
    for at, dimension in enumerate(job.network.dimensions):
        if dimension.size < 2:
            yield f"dimension {at} has {dimension.size} NPU: a spec has at least 2"
        if dimension.nic_latency:
            yield f"`nic-latency` {dimension.nic_latency} of dimension {at}: nearest is a latency that has it in it"
        if dimension.router_latency and by_name_1(dimension.block).switched:
            yield f"`router-latency` {dimension.router_latency} of dimension {at}: nearest is half of it in each hop"
        if dimension.memory_scale:
            yield f"`hbm-scale` {dimension.memory_scale} of dimension {at}: a spec prices memory by `hardware.memory`"
    system = job.system
    if system.intra != "FIFO":
        yield f"`intra-dimension-scheduling` {system.intra}: a spec has FIFO"
    if system.inter != "ascending":
        yield f"`inter-dimension-scheduling` {system.inter}: a spec takes dimensions in ascending order"
    if system.shared_bus is not None:
        yield "`model-shared-bus`: a spec has an endpoint delay in its place"


def _text_model(job: TextJob, writer: SpecWriter) -> Iterator[str]:
    """MICRO is one collective; layers with times cannot be told back into a model."""
    first = job.workload.rows[0].weight_gradient
    if job.workload.policy is Policy.MICRO and first.kind is not None and len(job.workload.rows) == 1 and first.bytes:
        yield from writer.model(first.kind, first.bytes, job.passes)
        return
    writer.leave_out(
        "the workload: a spec makes its own from a model and its parallelism; one collective stands for it"
    )
    yield from writer.model()


def _word(word: str) -> str:
    named = by_word_1(word)
    return word if named is None else named.astra_sim_2
