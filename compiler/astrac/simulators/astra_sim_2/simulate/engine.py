"""A Job, played: by representatives where they know, by every rank where they do not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, Axis, AxisGroup, Box, Collective, Compute, Job, Program, RankClass
from astrac.simulators.astra_sim_2.simulate.aware import CongestedWires
from astrac.simulators.astra_sim_2.simulate.axes import Axes, Unstructured
from astrac.simulators.astra_sim_2.simulate.colours import Ranks
from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR
from astrac.simulators.astra_sim_2.simulate.desk import Script
from astrac.simulators.astra_sim_2.simulate.everyone import Everyone
from astrac.simulators.astra_sim_2.simulate.groups import involved
from astrac.simulators.astra_sim_2.simulate.meetings import Undecided
from astrac.simulators.astra_sim_2.simulate.members import EVENTS_A_MESSAGE, messages
from astrac.simulators.astra_sim_2.simulate.network import Broken, Network, TooMuch
from astrac.simulators.astra_sim_2.simulate.phases import course, startup
from astrac.simulators.astra_sim_2.simulate.representatives import Representatives
from astrac.simulators.results import Failure, Outcome, SimulationResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Kind, ListedGroup, Machine
    from astrac.simulators.astra_sim_2.simulate.costs import Cost

LIMIT = 50_000_000
"""Events that representatives may play."""
EVERYONE_EVENTS = 1_500_000
"""Events, about, that a play of every rank may cost where representatives cannot know."""
SHARING_EVENTS = 200_000
"""The same where ranks queue for a shared memory: their order is then read off, not worked out."""
CONGESTED_EVENTS = 12_000_000
"""The same for the congestion-aware backend, which knows no other way."""


def play(job: Job, *, cost: Cost = SIMULATOR, trace: bool = False) -> SimulationResult:
    """What the simulator does with a Job on the congestion-unaware backend.

    Args:
        job: the machine and what its ranks do.
        cost: what things cost; `costs.UNIT` proves that a schedule ends.
        trace: also tell when each node of each class started and ended.
    """
    try:
        startup(job.machine)
        network = Network(job.machine)
        try:
            played = _represented(job, network, cost)
        except Undecided as undecided:
            settled = _settled(job, network, EVERYONE_EVENTS, trace=trace)
            return settled or _unknown(job, f"not known: {undecided}")
        if cost.exact and (played.unsettled is not None or played.sharing.asked):
            limit = SHARING_EVENTS if played.unsettled is None else EVERYONE_EVENTS
            settled = _settled(job, network, limit, trace=trace)
            if settled is not None:
                return settled
        return SimulationResult(job.axes, played.played(trace=trace), doubt=played.unsettled or played.doubt)
    except TooMuch:
        return _unknown(job, "too many events to play them all: not known")
    except Broken as broken:
        return SimulationResult(job.axes, failure=broken.failure)


def _unknown(job: Job, reason: str) -> SimulationResult:
    return SimulationResult(job.axes, failure=Failure(Outcome.UNKNOWN, reason))


def _represented(job: Job, network: Network, cost: Cost) -> Representatives:
    scripts = [Script(program) for program in job.programs]
    try:
        played = Representatives(job, scripts, network, Axes(job, network), cost, LIMIT)
        played.play()
    except Unstructured:
        played = Representatives(job, scripts, network, Ranks(job, network), cost, LIMIT)
        played.play()
    return played


def _settled(job: Job, network: Network, limit: int, *, trace: bool) -> SimulationResult | None:
    """Every rank is played to settle what representatives cannot know; None when that is too much."""
    if _events(job, network) > limit:
        return None
    every = Everyone(job)
    every.play()
    return SimulationResult(job.axes, every.played(trace=trace), doubt=every.clock.fault)


def _events(job: Job, network: Network) -> int:
    """About how many events a play of every rank has."""
    total = 0
    for ranks in job.classes:
        program = job.programs[ranks.program]
        rank = next(job.ranks(ranks))
        events = len(program.ops) * 2
        sorts = Counter(
            (op.kind, op.bytes, op.group) for op in program.ops if isinstance(op, Collective) and op.kind in IMPLEMENTED
        )
        for (kind, size, group), count in sorts.items():
            listed = () if involved(group) is not None else job.members(group, rank)
            way = course(network, kind, size, involved(group) or (), listed)
            events += count * messages(way) * EVENTS_A_MESSAGE
        total += events * sum(1 for _ in job.ranks(ranks))
    return total


def play_congested(job: Job, *, trace: bool = False) -> SimulationResult:
    """What the simulator does with a Job on the congestion-aware backend: every rank is played, message by message."""
    try:
        startup(job.machine)
        if _events(job, Network(job.machine)) > CONGESTED_EVENTS:
            return _unknown(job, "too many messages to play them all through congested links: not known")
        every = Everyone(job, CongestedWires)
        every.play()
    except Broken as broken:
        return SimulationResult(job.axes, failure=broken.failure)
    return SimulationResult(job.axes, every.played(trace=trace), doubt=every.clock.fault)


BACKENDS: dict[str, Callable[..., SimulationResult]] = {
    "congestion_unaware": play,
    "congestion_aware": play_congested,
}
"""The analytical backends, by the names that the simulator's builds have."""


def collective_time(
    machine: Machine, kind: Kind, size: int, group: AxisGroup | ListedGroup | None = None
) -> SimulationResult:
    """One collective, and nothing else, on a machine.

    Args:
        machine: which.
        kind: of the collective.
        size: `comm_size`.
        group: of ranks, by the axes `dim0`, `dim1`, ...; None = all dimensions. Ranks outside it compute for 1 us.
    """
    axes = []
    stride = 1
    for number, dimension in enumerate(machine.dimensions):
        axes.append(Axis(f"dim{number}", stride, dimension.size))
        stride *= dimension.size
    if group is None:
        group = AxisGroup(tuple(axis.name for axis in axes), (), (True,) * len(axes))
    programs = (Program((Collective(id=0, kind=kind, bytes=size, group=group),)), Program((Compute(id=0, duration=1),)))
    inside = range(stride) if isinstance(group, AxisGroup) else group.members
    everyone = Box((None,) * len(axes))
    if isinstance(group, AxisGroup):
        classes: tuple[RankClass, ...] = (RankClass(0, (everyone,)),)
    else:
        classes = tuple(
            RankClass(
                program,
                tuple(
                    Box(tuple((axis.coordinate(rank),) for axis in axes))
                    for rank in range(stride)
                    if (rank not in inside) == bool(program)
                ),
            )
            for program in range(2)
        )
    return play(Job("collective", machine, tuple(axes), programs, classes))
