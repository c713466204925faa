"""A Job that was read from somebody's files: what ends badly, or runs as something else, and which file says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Label, diagnostic, has_errors
from astrac.job import Compute, Receive, Send
from astrac.simulators.astra_sim_2.verify.collectives import collectives
from astrac.simulators.astra_sim_2.verify.evidence import node, programs_of
from astrac.simulators.astra_sim_2.verify.machines import machines
from astrac.simulators.astra_sim_2.verify.messages import aborting, messages
from astrac.simulators.astra_sim_2.verify.nodes import nodes
from astrac.simulators.astra_sim_2.verify.ours import charged
from astrac.simulators.astra_sim_2.verify.playing import ends, played
from astrac.simulators.astra_sim_2.verify.sequences import sequences
from astrac.simulators.astra_sim_2.verify.structure import structure

if TYPE_CHECKING:
    from astrac.diagnostics import Diagnostic
    from astrac.simulators.astra_sim_2.verify.evidence import Evidence
    from astrac.source import Span

_BEFORE_PLAY = (machines, structure, nodes, collectives, messages, sequences)
_SILENT_IN_REPLAY = (collectives, messages, sequences)


def verify_read(evidence: Evidence) -> tuple[Diagnostic, ...]:
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


def verify_alone(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """What can be told of the trace of one rank, without the machine and without the other ranks."""
    return (*structure(evidence), *collectives(evidence), *aborting(evidence))


def verify_algorithm(evidence: Evidence, place: Span) -> tuple[Diagnostic, ...]:
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
