"""How a collective's node names its group, and what that makes of the collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_2.simulate.collectives import schedule_of

if TYPE_CHECKING:
    from astrac.job import Collective, Group, Job
    from astrac.simulators.astra_sim_2.simulate.collectives import CollectiveSchedule
    from astrac.simulators.astra_sim_2.simulate.network import Network


def communicator(job: Job, group: Group, rank: int) -> tuple[int, ...]:
    """A rank's communicator group, in listed order; () for a group that is given by dimensions."""
    return job.members(group, rank) if group.dimensions is None else ()


def schedule_of_node(job: Job, network: Network, op: Collective, rank: int) -> CollectiveSchedule:
    """What a rank's collective is; raises `Broken` when it never completes whatever its members do."""
    return schedule_of(network, op.kind, op.bytes, op.group.dimensions or (), communicator(job, op.group, rank))
