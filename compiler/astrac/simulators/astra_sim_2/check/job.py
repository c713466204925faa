"""A Job as a whole: what ends badly, or runs as something else.

Of a Job of our own a failure is our bug (AS92x): what a user can get wrong was reported before, with a position. Of one
that was read from somebody's files every finding tells which file to mend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic, has_errors
from astrac.job import Compute, Receive, Send
from astrac.simulators.astra_sim_2.check.charges import charged
from astrac.simulators.astra_sim_2.check.collectives import collectives, unused_groups
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of
from astrac.simulators.astra_sim_2.check.messages import aborting, messages
from astrac.simulators.astra_sim_2.check.nodes import nodes
from astrac.simulators.astra_sim_2.check.sequences import sequences
from astrac.simulators.astra_sim_2.check.structure import broken, structure
from astrac.simulators.astra_sim_2.check.termination import ends, played

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.source import Span


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


_BEFORE_PLAY = (backend, unused_groups, structure, nodes, collectives, messages, sequences)
_SILENT_IN_REPLAY = (collectives, messages, sequences)


def check_own(job: Job, at: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
    """Findings about a Job that `lower` made: AS920, AS804; what deadlocks is found when it is simulated.

    Args:
        job: with everything that the simulator will see.
        at: the place of a JSON pointer of the Document.
    """
    bugs = tuple(
        diagnostic("AS920", f"a trace of ours is broken: {message}")
        for program in job.programs
        for _, message in broken(program)
    )
    return bugs or tuple(charged(job, lambda: at("/system/chunks")))


def check_job(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """Errors and advice about a Job and its files; a play to the end shows what nothing else has found."""
    found: list[Diagnostic] = []
    replay = evidence.job.machine.replay_only
    for check in _BEFORE_PLAY:
        if not (replay and check in _SILENT_IN_REPLAY):
            found += check(evidence)
    if not has_errors(found):
        found += played(evidence)
        if evidence.exact:
            found += charged(evidence.job, lambda: evidence.at("system", "/preferred-dataset-splits"))
    return tuple(found)


def check_trace(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """What can be told of the trace of one rank, without the machine and without the other ranks."""
    return (*structure(evidence), *collectives(evidence), *aborting(evidence))


def check_algorithm(evidence: Evidence, place: Span) -> tuple[Diagnostic, ...]:
    """The traces of a custom collective: sends, receives and reductions that come to an end.

    Args:
        evidence: its members as the ranks of a machine of their own.
        place: where the algorithm is named.
    """
    for number, program in programs_of(evidence.job):
        for op in program.ops:
            if not isinstance(op, Send | Receive | Compute):
                message = f"{node(op)} of a custom collective is no send, receive or compute: it never ends"
                return (diagnostic("AS785", message, evidence.of(number), Label(place, "named here")),)
    found = [*structure(evidence), *messages(evidence)]
    if not has_errors(found):
        reason = ends(evidence.job)
        if reason is not None:
            found.append(diagnostic("AS785", f"the custom collective does not end: {reason}", place))
    return tuple(found)
