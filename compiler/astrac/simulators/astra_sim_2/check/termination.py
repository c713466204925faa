"""A Job, played to its end: what no look at single nodes shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of
from astrac.simulators.astra_sim_2.check.structure import unordered
from astrac.simulators.astra_sim_2.simulate import SIMULATOR, UNIT, simulate
from astrac.simulators.results import Cause, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.simulators.results import Failure

EXACT = 60_000
"""Nodes that are played with the simulator's own times; of more, only the order of things is played."""

ORDER = 20_000_000
"""Nodes that are played at all."""


def played(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS776 when the simulator would not come to an end; AS870 for what nobody could tell at a sane cost."""
    job = evidence.job
    nodes = _nodes(job)
    if nodes > ORDER:
        message = f"{nodes:,} nodes are too many to play: whether the run ends is not known"
        yield diagnostic("AS870", message, evidence.at("system"))
        return
    exact = evidence.exact and evidence.backend != "ns3" and nodes <= EXACT
    result = simulate(job, cost=SIMULATOR if exact else UNIT)
    if exact and result.outcome is Outcome.UNKNOWN:
        exact, result = False, simulate(job, cost=UNIT)
    failure = result.failure
    if failure is not None and failure.outcome is Outcome.UNKNOWN:
        message = f"whether the run ends could not be found out: {failure.reason}"
        yield diagnostic("AS870", message, evidence.at("system"))
    elif failure is not None:
        place = evidence.at("system") if failure.rank is None else evidence.of_rank(failure.rank)
        hints = [*_hints(evidence, failure)]
        yield diagnostic("AS776", f"the run does not end well: {failure.reason}", place, hints=hints)
    elif not exact and evidence.exact and evidence.backend != "ns3":
        message = f"{nodes:,} nodes: their order was played to its end, without the simulator's times"
        yield diagnostic("AS870", message, evidence.at("system"))


def _hints(evidence: Evidence, failure: Failure) -> Iterator[str]:
    """What cures it, as far as the failure and the traces tell."""
    if failure.cause is Cause.STREAMS:
        yield "a world collective that names a group of all NPUs has numbers of its own"
    elif failure.outcome in {Outcome.HANG, Outcome.HALF_FINISHED} and failure.cause is not Cause.GROUPS:
        for _, program in programs_of(evidence.job):
            pair = unordered(program)
            if pair is not None:
                names = " and ".join(node(op) for op in pair)
                yield f"{names} are not ordered by dependencies: a control dependency gives all ranks one order"
                return


def ends(job: Job) -> str | None:
    """Why a Job does not come to its end, whatever things cost; None when it does, or when nobody knows."""
    result = simulate(job, cost=UNIT)
    return None if result.outcome is Outcome.UNKNOWN else result.fails


def _nodes(job: Job) -> int:
    """How many nodes a play goes through: ranks that act alike are one, unless their messages or groups are listed."""
    total = 0
    for members in job.classes:
        ops = job.programs[members.program].ops
        apart = any(
            op.axis == "rank" if isinstance(op, Send | Receive) else isinstance(getattr(op, "group", None), ListedGroup)
            for op in ops
        )
        count = sum(1 for _ in job.ranks(members)) if apart else len(members.boxes)
        total += count * len(ops)
    return total
