"""A Job as a whole: what ends badly, or runs as something else.

Of a Job of our own a failure is our bug (AS92x): what a user can get wrong was reported before, with a position. Of one
that was read from somebody's files every finding tells which file to mend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic, has_errors
from astrac.job import Compute, ListedGroup, Receive, Send
from astrac.simulators.astra_sim_2.check.collectives import charged, collectives, sequences, unfit, unused_groups
from astrac.simulators.astra_sim_2.check.evidence import node
from astrac.simulators.astra_sim_2.check.nodes import (
    aborting,
    broken,
    instant,
    messages,
    nodes,
    reach,
    structure,
    unordered,
)
from astrac.simulators.astra_sim_2.simulate import SIMULATOR, UNIT, simulate
from astrac.simulators.results import Cause, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job, Program
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.simulators.results import Failure
    from astrac.source import Span

EXACT = 60_000
"""Nodes that are played with the simulator's own times; of more, only the order of things is played."""

ORDER = 20_000_000
"""Nodes that are played at all."""


def backend(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS780 for a backend that cannot take the network, AS802 for one that can deadlock."""
    machine = evidence.job.machine
    if evidence.backend == "congestion_aware" and len(machine.dimensions) > 1:
        message = f"the congestion-aware backend takes one dimension, and the network has {len(machine.dimensions)}"
        yield diagnostic("AS780", message, evidence.at("network", "/topology"))
    if evidence.backend == "ns3" and len(machine.dimensions) > 1 and machine.active_chunks < machine.splits:
        message = (
            f"{machine.active_chunks} active chunks of {machine.splits} can deadlock in ns-3: use {machine.splits}"
        )
        yield diagnostic("AS802", message, evidence.at("system", "/active-chunks-per-dimension"))


_OF_MACHINE = (backend, reach, unfit)
_BEFORE_PLAY = (backend, reach, unused_groups, structure, nodes, instant, collectives, messages, sequences)
_SILENT_IN_REPLAY = (collectives, messages, sequences)


def check_own(job: Job, place: Span) -> tuple[Diagnostic, ...]:
    """Findings about a Job that `lower` made: AS804; what deadlocks is found when it is simulated.

    Args:
        job: with everything that the simulator will see.
        place: of what decides how many bytes a chunk has.
    """
    return tuple(charged(job, lambda: place))


def check_programs(programs: Iterable[Program]) -> tuple[Diagnostic, ...]:
    """AS920 for programs that `lower` made and whose nodes wait for what never comes."""
    return tuple(
        diagnostic("AS920", f"a trace of ours is broken: {message}")
        for program in {id(program.ops): program for program in programs}.values()
        for _, message in broken(program)
    )


def check_job(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """Errors and advice about a Job and its files; a play to the end shows what nothing else has found."""
    found: list[Diagnostic] = []
    for check in _BEFORE_PLAY:
        if not (evidence.job.machine.replay_only and check in _SILENT_IN_REPLAY):
            found += check(evidence)
    if not has_errors(found):
        found += _played(evidence)
        if evidence.exact:
            found += charged(evidence.job, lambda: evidence.at("system", "/preferred-dataset-splits"))
    return tuple(found)


def check_machine(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """What network, system and memory say of each other, where there are no traces."""
    return tuple(found for check in _OF_MACHINE for found in check(evidence))


def check_trace(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """What can be told of the trace of one rank, without the machine and without the other ranks."""
    return (*structure(evidence), *collectives(evidence), *aborting(evidence))


def check_algorithm(evidence: Evidence, place: Span) -> tuple[Diagnostic, ...]:
    """The traces of a custom collective: sends, receives and reductions that come to an end.

    Args:
        evidence: its members as the ranks of a machine of their own.
        place: where the algorithm is named.
    """
    for number, program in evidence.programs.items():
        for op in program.ops:
            if not isinstance(op, Send | Receive | Compute):
                message = f"{node(op)} of a custom collective is no send, receive or compute: it never ends"
                return (diagnostic("AS785", message, evidence.of(number), Label(place, "named here")),)
    found = [*structure(evidence), *messages(evidence)]
    if not has_errors(found):
        result = simulate(evidence.job, cost=UNIT)
        if result.fails is not None and result.outcome is not Outcome.UNKNOWN:
            found.append(diagnostic("AS785", f"the custom collective does not end: {result.fails}", place))
    return tuple(found)


# -- a play to the end: what no look at single nodes shows


def _played(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS776 when the simulator would not come to an end; AS870 for what nobody could tell at a sane cost."""
    count = _count(evidence.job)
    machine = evidence.job.machine
    if evidence.backend == "ns3" and machine.npus > 1 and any(dimension.size == 1 for dimension in machine.dimensions):
        message = "whether the run ends was not played: only ns-3 takes a dimension of one NPU"
        yield diagnostic("AS870", message, evidence.at("system"))
        return
    if count > ORDER:
        message = f"{count:,} nodes are too many to play: whether the run ends is not known"
        yield diagnostic("AS870", message, evidence.at("system"))
        return
    timed = evidence.exact and evidence.backend != "ns3"
    exact = timed and count <= EXACT
    result = simulate(evidence.job, cost=SIMULATOR if exact else UNIT)
    if exact and result.outcome is Outcome.UNKNOWN:
        exact, result = False, simulate(evidence.job, cost=UNIT)
    failure = result.failure
    if failure is not None and failure.outcome is Outcome.UNKNOWN:
        message = f"whether the run ends could not be found out: {failure.reason}"
        yield diagnostic("AS870", message, evidence.at("system"))
    elif failure is not None:
        place = evidence.at("system") if failure.rank is None else evidence.of_rank(failure.rank)
        hints = [*_hints(evidence, failure)]
        yield diagnostic("AS776", f"the run does not end well: {failure.reason}", place, hints=hints)
    elif timed and not exact:
        message = f"{count:,} nodes: their order was played to its end, without the simulator's times"
        yield diagnostic("AS870", message, evidence.at("system"))


def _hints(evidence: Evidence, failure: Failure) -> Iterator[str]:
    """What cures it, as far as the failure and the traces tell."""
    if failure.cause is Cause.STREAMS:
        yield "a world collective that names a group of all NPUs has numbers of its own"
    elif failure.outcome in {Outcome.HANG, Outcome.HALF_FINISHED} and failure.cause is not Cause.GROUPS:
        pair = next(filter(None, map(unordered, evidence.programs.values())), None)
        if pair is not None:
            names = " and ".join(map(node, pair))
            yield f"{names} are not ordered by dependencies: a control dependency gives all ranks one order"


def _count(job: Job) -> int:
    """How many nodes a play goes through: ranks that act alike are one, unless their messages or groups are listed."""
    total = 0
    for members in job.classes:
        ops = job.programs[members.program].ops
        apart = any(
            op.axis == "rank" if isinstance(op, Send | Receive) else isinstance(getattr(op, "group", None), ListedGroup)
            for op in ops
        )
        total += len(ops) * (sum(1 for _ in job.ranks(members)) if apart else len(members.boxes))
    return total
