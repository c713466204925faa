"""A Job, played to its end: what no look at single nodes shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2.simulate import SIMULATOR, UNIT, play
from astrac.simulators.astra_sim_2.verify.evidence import node, programs_of
from astrac.simulators.astra_sim_2.verify.structure import unordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.simulate import Cost
    from astrac.simulators.astra_sim_2.verify.evidence import Evidence

EXACT = 60_000
"""Nodes that are played with the simulator's own times; of more, only the order of things is played."""

ORDER = 20_000_000
"""Nodes that are played at all."""

_UNKNOWN = "not known"
"""What a play says that was given up."""


def played(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS776 when the simulator would not come to an end; AS870 for what nobody could tell at a sane cost."""
    job = evidence.job
    nodes = _nodes(job)
    if nodes > ORDER:
        message = f"{nodes:,} nodes are too many to play: whether the run ends is not known"
        yield diagnostic("AS870", message, evidence.at("system"))
        return
    exact = evidence.exact and evidence.backend != "ns3" and nodes <= EXACT
    reason = _fails(job, SIMULATOR if exact else UNIT)
    if exact and reason is not None and _UNKNOWN in reason:
        exact, reason = False, _fails(job, UNIT)
    if reason is not None and _UNKNOWN in reason:
        yield diagnostic("AS870", f"whether the run ends could not be found out: {reason}", evidence.at("system"))
    elif reason is not None:
        rank = re.search(r"\branks? (\d+)", reason)
        place = evidence.at("system") if rank is None else evidence.of_rank(int(rank[1]))
        hints = [*_hints(evidence, reason)]
        yield diagnostic("AS776", f"the run does not end well: {reason}", place, hints=hints)
    elif not exact and evidence.exact and evidence.backend != "ns3":
        message = f"{nodes:,} nodes: their order was played to its end, without the simulator's times"
        yield diagnostic("AS870", message, evidence.at("system"))


def _hints(evidence: Evidence, reason: str) -> Iterator[str]:
    """What cures it, as far as the reason and the traces tell."""
    if "name the group" in reason:
        yield "a world collective that names a group of all NPUs has numbers of its own"
    elif "never" in reason:
        for _, program in programs_of(evidence.job):
            pair = unordered(program)
            if pair is not None:
                names = " and ".join(node(op) for op in pair)
                yield f"{names} are not ordered by dependencies: a control dependency gives all ranks one order"
                return


def ends(job: Job) -> str | None:
    """Why a Job does not come to its end, whatever things cost; None when it does, or when nobody knows."""
    reason = _fails(job, UNIT)
    return None if reason is None or _UNKNOWN in reason else reason


def _fails(job: Job, cost: Cost) -> str | None:
    return play(job, cost=cost).fails


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
