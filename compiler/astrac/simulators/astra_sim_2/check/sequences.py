"""All members of a group issue the same collectives."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic
from astrac.job import Collective, Kind, ListedGroup
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Group, Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence

MAX_WORK = 2_000_000
"""Ranks times groups that are looked at; beyond, a play alone tells."""

MAX_FINDINGS = 10


def sequences(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS773 where a rank has other collectives, or more of one, than another rank of its group.

    The order is not looked at: ids do not always say it, and a play does.
    """
    job = evidence.job
    issued = {number: _by_group(program.ops) for number, program in programs_of(job)}
    if job.machine.npus * max(map(len, issued.values()), default=0) > MAX_WORK:
        return
    told: set[tuple[Group, int, int]] = set()
    first: dict[tuple[Group, int], tuple[int, int]] = {}
    members: Counter[tuple[Group, int]] = Counter()
    for rank, program in enumerate(job.program_of):
        for group, mine in issued[program].items():
            instance = group, job.leader(group, rank)
            members[instance] += 1
            leader, other = first.setdefault(instance, (rank, program))
            theirs = issued[other].get(group, [])
            if other == program or (group, other, program) in told:
                continue
            told.add((group, other, program))
            if len(told) > MAX_FINDINGS:
                return
            message = _difference(leader, theirs, rank, mine)
            if message is not None:
                yield diagnostic("AS773", message, evidence.of_rank(rank), Label(evidence.of_rank(leader), "the other"))
    yield from _absent(evidence, issued, first, members)


def _by_group(ops: tuple[object, ...]) -> dict[Group, list[Collective]]:
    found: dict[Group, list[Collective]] = {}
    for op in ops:
        if isinstance(op, Collective) and op.kind is not Kind.BROADCAST:
            found.setdefault(op.group, []).append(op)
    return found


def _difference(rank: int, theirs: list[Collective], other: int, mine: list[Collective]) -> str | None:
    """What one rank issues and another does not."""
    counts = [Counter((op.kind, op.bytes) for op in ops) for ops in (theirs, mine)]
    if counts[0] == counts[1]:
        return None
    for one, two in zip(theirs, mine, strict=False):
        if (one.kind, one.bytes) != (two.kind, two.bytes):
            return (
                f"rank {other} issues {_shown(two)} where rank {rank} of its group issues {_shown(one)}: "
                "the two wait for each other for ever"
            )
    longer, at = (theirs, rank) if len(theirs) > len(mine) else (mine, other)
    shorter = other if at == rank else rank
    op = longer[min(len(theirs), len(mine))]
    return f"rank {at} issues {_shown(op)}, and rank {shorter} of its group issues one collective fewer"


def _shown(op: Collective) -> str:
    return f"{op.kind.name} of {op.bytes:,} B ({node(op)})"


def _absent(
    evidence: Evidence,
    issued: dict[int, dict[Group, list[Collective]]],
    first: dict[tuple[Group, int], tuple[int, int]],
    members: Counter[tuple[Group, int]],
) -> Iterator[Diagnostic]:
    """Members of a group that issue nothing in it; told once."""
    job = evidence.job
    for (group, lowest), (leader, program) in first.items():
        if members[group, lowest] == job.size(group) or _said_otherwise(job, group, issued):
            continue
        rank = next(
            other
            for other, another in enumerate(job.program_of)
            if group not in issued[another] and job.leader(group, other) == lowest
        )
        waits = f"rank {leader} waits in {node(issued[program][group][0])}"
        name = f"group {group.id}" if isinstance(group, ListedGroup) else "the group"
        message = f"rank {rank} issues no collective in {name} that it is in, and {waits}"
        yield diagnostic("AS773", message, evidence.of_rank(rank), Label(evidence.of_rank(leader), "this one waits"))
        return


def _said_otherwise(job: Job, group: Group, issued: dict[int, dict[Group, list[Collective]]]) -> bool:
    """Whether others speak of the same ranks in another way: a play tells whether they meet."""
    return job.size(group) == job.machine.npus and any(
        other != group and job.size(other) == job.machine.npus for groups in issued.values() for other in groups
    )
