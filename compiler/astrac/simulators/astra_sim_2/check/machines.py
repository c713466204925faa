"""The machine by itself: backend, algorithms that stand where they do something else, free reductions, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import Collective, ListedGroup
from astrac.simulators.astra_sim_2.check.evidence import programs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.astra_sim_2.check.evidence import Evidence


def machines(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS780 for a backend that cannot take the network, AS802 for one that can deadlock; AS869 for unused groups."""
    machine = evidence.job.machine
    if evidence.backend == "congestion_aware" and len(machine.dimensions) > 1:
        message = f"the congestion-aware backend takes one dimension, and the network has {len(machine.dimensions)}"
        yield diagnostic("AS780", message, evidence.at("network", "/topology"))
    if evidence.backend == "ns3" and len(machine.dimensions) > 1 and machine.active_chunks < machine.splits:
        message = (
            f"{machine.active_chunks} active chunks of {machine.splits} can deadlock in ns-3: use {machine.splits}"
        )
        yield diagnostic("AS802", message, evidence.at("system", "/active-chunks-per-dimension"))
    yield from _unused_groups(evidence)


def _unused_groups(evidence: Evidence) -> Iterator[Diagnostic]:
    tree = evidence.trees.get("groups")
    if tree is None:
        return
    used = {
        op.group.id
        for _, program in programs_of(evidence.job)
        for op in program.ops
        if isinstance(op, Collective) and isinstance(op.group, ListedGroup)
    }
    named = any(
        isinstance(op, Collective) and not isinstance(op.group, ListedGroup) and op.group.dimensions is None
        for _, program in programs_of(evidence.job)
        for op in program.ops
    )
    unused = [key for key in tree.value if int(key) not in used]
    if unused and not named:  # a bundle of ours names its groups by axes
        more = f", and so {len(unused) - 1} others" if len(unused) > 1 else ""
        yield diagnostic("AS869", f"no trace uses group {unused[0]}{more}", tree.key(f"/{unused[0]}"))
