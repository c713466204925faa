"""A Job, simulated: by representatives where they know, by every rank where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, AxisGroup, Box, Collective, Compute, Job, Program, RankClass
from astrac.simulators.astra_sim_2.groups import by_dimensions
from astrac.simulators.astra_sim_2.simulate.aware import CongestedNetwork
from astrac.simulators.astra_sim_2.simulate.axis_classes import AxisClasses, Unstructured
from astrac.simulators.astra_sim_2.simulate.by_class import ClassSimulation
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from astrac.simulators.astra_sim_2.simulate.by_turn import simulate_turns
from astrac.simulators.astra_sim_2.simulate.by_turn.body import Refused
from astrac.simulators.astra_sim_2.simulate.collectives import schedule_of_node, startup
from astrac.simulators.astra_sim_2.simulate.costs import SIMULATOR
from astrac.simulators.astra_sim_2.simulate.matcher import CollectiveMatcher, Undecided
from astrac.simulators.astra_sim_2.simulate.members import EVENTS_A_MESSAGE, messages
from astrac.simulators.astra_sim_2.simulate.network import Broken, Network, TooMuch
from astrac.simulators.astra_sim_2.simulate.refined_classes import RefinedClasses
from astrac.simulators.astra_sim_2.simulate.remote_memory import ClassMemory
from astrac.simulators.results import Failure, Outcome, SimulationResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.job import Group, Kind, ListedGroup, Machine
    from astrac.simulators.astra_sim_2.simulate.costs import Cost
    from astrac.simulators.astra_sim_2.simulate.rank_classes import RankClasses
    from astrac.simulators.results import RankResult

LIMIT = 50_000_000
"""Events that representatives may cost."""
PER_RANK_EVENTS = 1_500_000
"""Events, about, that a simulation of every rank may cost where representatives cannot know."""
QUEUED_EVENTS = 200_000
"""The same where ranks queue for a shared memory: their order is then read off, not worked out."""
CLOCK = 1 << 53
"""Ticks that a double counts: the simulator's sums of times go through one."""
LATE = "beyond 2^53 ns, which is 104 days, the simulator's clock loses nanoseconds: it may end elsewhere, or never"
CONGESTED_EVENTS = 12_000_000
"""The same for the congestion-aware backend, which knows no other way."""


def simulate(job: Job, *, cost: Cost = SIMULATOR, trace: bool = False) -> SimulationResult:
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
            found, queued = _by_class(job, network, cost)
        except Undecided as undecided:
            try:
                every = _by_rank(job, network, PER_RANK_EVENTS, trace=trace)
            except Broken as broken:
                hangs = broken.failure.outcome is Outcome.HANG
                return SimulationResult(job.axes, failure=(hangs and undecided.failure) or broken.failure)
            return every or _unknown(job, f"not known: {undecided}")
        if cost.exact and (found.unsettled is not None or queued):
            every = _by_rank(job, network, QUEUED_EVENTS if found.unsettled is None else PER_RANK_EVENTS, trace=trace)
            if every is not None:
                return every
        return _finished(job, found.results(trace=trace), found.unsettled or found.clock.fault)
    except TooMuch:
        return _unknown(job, "too many events to play them all: not known")
    except Broken as broken:
        return SimulationResult(job.axes, failure=broken.failure)


def _finished(job: Job, classes: tuple[RankResult, ...], doubt: str | None) -> SimulationResult:
    late = max((ranks.cycles for ranks in classes), default=0) > CLOCK
    return SimulationResult(job.axes, classes, doubt=doubt or (LATE if late else None))


def _unknown(job: Job, reason: str) -> SimulationResult:
    return SimulationResult(job.axes, failure=Failure(Outcome.UNKNOWN, reason))


def simulate_sample(job: Job, backend: str) -> SimulationResult:
    """The same for a Job whose programs are samples; `Outcome.SAMPLED`, with the reason, where these do not tell."""
    reason = "links that messages share"
    try:
        if backend == "congestion_unaware":
            return _finished(job, *simulate_turns(job))
    except Refused as refused:
        reason = str(refused)
    return SimulationResult(job.axes, failure=Failure(Outcome.SAMPLED, reason))


def _by_class(job: Job, network: Network, cost: Cost) -> tuple[ClassSimulation, bool]:
    """The simulation of one representative of each class, and whether they have queued for a memory."""

    def run(classes: RankClasses) -> tuple[ClassSimulation, bool]:
        simulation = ClassSimulation(job, network, classes, cost, LIMIT)
        CollectiveMatcher(simulation)
        memory = ClassMemory(simulation)
        simulation.run()
        return simulation, memory.asked

    try:
        return run(AxisClasses(job, network))
    except Unstructured:
        return run(RefinedClasses(job, network))


def _by_rank(job: Job, network: Network, limit: int, *, trace: bool) -> SimulationResult | None:
    """The simulation of every rank; None when that is too much."""
    if _events(job, network) > limit:
        return None
    every = RankSimulation(job)
    every.run()
    return _finished(job, every.results(trace=trace), every.clock.fault)


def _events(job: Job, network: Network) -> int:
    """About how many events a simulation of every rank has."""
    total = 0
    for ranks in job.classes:
        program = job.programs[ranks.program]
        rank = next(job.ranks(ranks))
        events = len(program.ops) * 2
        costs: dict[tuple[Kind, int, Group], int] = {}
        for op in program.ops:
            if isinstance(op, Collective) and op.kind in IMPLEMENTED:
                key = (op.kind, op.bytes, op.group)
                if key not in costs:
                    costs[key] = messages(schedule_of_node(job, network, op, rank)) * EVENTS_A_MESSAGE
                events += costs[key]
        total += events * sum(1 for _ in job.ranks(ranks))
    return total


def simulate_congested(job: Job, *, trace: bool = False) -> SimulationResult:
    """What the simulator does with a Job on the congestion-aware backend: every rank is simulated, by messages."""
    try:
        startup(job.machine)
        if _events(job, Network(job.machine)) > CONGESTED_EVENTS:
            return _unknown(job, "too many messages to play them all through congested links: not known")
        every = RankSimulation(job, CongestedNetwork)
        every.run()
    except Broken as broken:
        return SimulationResult(job.axes, failure=broken.failure)
    return _finished(job, every.results(trace=trace), every.clock.fault)


BACKENDS: dict[str, Callable[..., SimulationResult]] = {
    "congestion_unaware": simulate,
    "congestion_aware": simulate_congested,
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
    axes = machine.axes
    if group is None:
        group = by_dimensions((True,) * len(axes))
    programs = (Program((Collective(id=0, kind=kind, bytes=size, group=group),)), Program((Compute(id=0, duration=1),)))
    boxes = [[Box((None,) * len(axes))], []]
    if not isinstance(group, AxisGroup):
        sides = [(rank not in group.members, Box.of(axes, rank)) for rank in range(machine.npus)]
        boxes = [[box for outside, box in sides if outside == side] for side in (False, True)]
    classes = tuple(RankClass(number, tuple(found)) for number, found in enumerate(boxes) if found)
    return simulate(Job("collective", machine, axes, programs, classes))
