"""Every collective of a Job against the machine: words, sizes, who takes part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.diagnostics import diagnostic
from astrac.job import IMPLEMENTED, AxisGroup, Collective, Kind, ListedGroup
from astrac.simulators.algorithms import IN_GROUPS, by_word_2, whole_2
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of
from astrac.simulators.astra_sim_2.groups import used
from astrac.simulators.astra_sim_2.simulate.network import GROUP_ENDPOINT_DELAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Group, Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.source import Span


@dataclass(frozen=True)
class Use:
    """Collectives that are alike.

    Attributes:
        op: the first of them.
        program: of it.
        count: how many there are in all programs.
    """

    op: Collective
    program: int
    count: int

    @property
    def words(self) -> str:
        """The first of them by its id and name, and how many others there are."""
        more = f" and {self.count - 1} others like it" if self.count > 1 else ""
        return f"{node(self.op)}{more}"


def uses(job: Job) -> list[Use]:
    """The distinct collectives, in order of appearance."""
    first: dict[tuple[Kind, int, Group], tuple[Collective, int]] = {}
    count: dict[tuple[Kind, int, Group], int] = {}
    for number, program in programs_of(job):
        for op in program.ops:
            if isinstance(op, Collective):
                key = (op.kind, op.bytes, op.group)
                first.setdefault(key, (op, number))
                count[key] = count.get(key, 0) + 1
    return [Use(op, number, count[key]) for key, (op, number) in first.items()]


def collectives(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS772 for algorithms that cannot do them, AS775 for those that never complete; AS877 is advice."""
    told: set[tuple[str, Span | None]] = set()
    for use in uses(evidence.job):
        for finding in (*_unable(evidence, use), *_endless(evidence, use), *_unheard(evidence, use)):
            key = (finding.code, finding.labels[0].span if finding.labels else None)
            if key not in told:
                told.add(key)
                yield finding


def _unable(evidence: Evidence, use: Use) -> Iterator[Diagnostic]:
    """Words of the system file that cannot do what the traces ask for."""
    kind, machine = use.op.kind, evidence.job.machine
    key = keys.IMPLEMENTATION_KEYS.get(kind)
    if key is None:
        return
    words = machine.algorithms.get(kind)
    trace = evidence.label("system", f"/{key}", "the algorithms")
    if not words:
        message = f"`{key}` is missing, and the traces have {kind.name}: {use.words}"
        yield diagnostic("AS772", message, evidence.at("system"), *trace)
        return
    for index, word in _at_work(evidence, use, words):
        size = _members(evidence, use, index, word)
        listed = _listed(evidence, use) is not None
        what = _inability(kind, word, size, listed=listed)
        if what is not None:
            place = evidence.at("system", f"/{key}/{index}")
            named = by_word_2(word)
            crashes = listed and named is not None and named.row.dimensions_only
            sizes = () if crashes else evidence.label("network", f"/npus_count/{index}", "the NPUs")
            yield diagnostic("AS772", f"{what}: {use.words}", place, *sizes)


def _unheard(evidence: Evidence, use: Use) -> Iterator[Diagnostic]:
    """A proper group runs a ring where the list has several words, whatever they are, and pays a delay of its own."""
    words = evidence.job.machine.algorithms.get(use.op.kind, ())
    listed, delay = _listed(evidence, use), evidence.job.machine.endpoint_delay
    if listed is not None and delay not in {None, GROUP_ENDPOINT_DELAY}:
        message = f"a communicator group pays {GROUP_ENDPOINT_DELAY} ns, not `endpoint-delay` {delay}: {use.words}"
        yield diagnostic("AS877", message, evidence.at("system", "/endpoint-delay"))
    runs = IN_GROUPS.words.astra_sim_2
    if listed is not None and len(words) > 1 and set(words) != {runs}:
        ignored = f"whatever these {len(words)} words say: {use.words}"
        message = f"a communicator group of {listed} NPUs runs `{runs}`, {ignored}"
        yield diagnostic("AS877", message, evidence.at("system", f"/{keys.IMPLEMENTATION_KEYS[use.op.kind]}"))


def _at_work(evidence: Evidence, use: Use, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The words that a collective runs, with their index in the list."""
    listed = _listed(evidence, use)
    if listed is not None:
        # A proper group is one ring: the only word of a list of one, else `ring`.
        if len(words) == 1:
            yield 0, words[0]
        return
    involved = use.op.group.dimensions if isinstance(use.op.group, AxisGroup) else None
    for index, word in enumerate(words):
        if whole_2(word) or involved is None or involved[index]:
            yield index, word


def _listed(evidence: Evidence, use: Use) -> int | None:
    """How many NPUs a communicator group has that does not name all of them."""
    if isinstance(use.op.group, AxisGroup) and use.op.group.dimensions is not None:
        return None
    count = evidence.job.size(use.op.group)
    return None if count == evidence.job.machine.npus else count


def _members(evidence: Evidence, use: Use, index: int, word: str) -> int:
    machine = evidence.job.machine
    listed = _listed(evidence, use)
    if listed is not None:
        return listed
    return machine.npus if whole_2(word) else machine.dimensions[index].size


def _inability(kind: Kind, word: str, size: int, *, listed: bool) -> str | None:
    """What an algorithm cannot do, in words."""
    named = by_word_2(word)
    row = None if named is None else named.row
    if row is None:
        return None
    if row.runs(kind) not in row.kinds:
        return f"`{word}` has no {kind.name.lower().replace('_', '-')}"
    if row.dimensions_only and listed:
        return f"`{word}` crashes in a sub-group"
    if not row.sizes.admit(size):
        return f"`{word}` needs a power of two, not {size} NPUs"
    return None


def _endless(evidence: Evidence, use: Use) -> Iterator[Diagnostic]:
    """Collectives that never complete whatever the algorithm, or that the simulator does not have."""
    op, splits = use.op, evidence.job.machine.splits
    message = None
    notes = evidence.label("system", "/preferred-dataset-splits", "the chunks")
    if op.kind not in (*IMPLEMENTED, Kind.BROADCAST):
        message, notes = f"ASTRA-sim 2.x has no {op.kind.name}, and aborts at it", ()
    elif isinstance(op.group, AxisGroup) and op.group.dimensions is not None and not any(op.group.dimensions):
        message, notes = "a collective over no dimension never completes", ()
    elif op.kind is Kind.ALL_GATHER and op.bytes == 0:
        message, notes = "an all-gather of 0 bytes never completes", ()
    elif op.kind is Kind.ALL_GATHER and op.bytes < splits:
        message = f"an all-gather of {op.bytes} B in {splits} chunks never ends: a chunk would have 0 bytes"
    if message is not None:
        yield diagnostic("AS775", f"{message}: {use.words}", evidence.of(use.program), *notes)


def unused_groups(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS869 for groups of the group file that no collective names."""
    tree = evidence.trees.get("groups")
    if tree is None:
        return
    named = used(evidence.job)
    if any(isinstance(group, AxisGroup) and group.dimensions is None for group in named):
        return  # a bundle of ours names its groups by axes
    known = {group.id for group in named if isinstance(group, ListedGroup)}
    unused = [key for key in tree.value if int(key) not in known]
    if unused:
        more = f", and so {len(unused) - 1} others" if len(unused) > 1 else ""
        yield diagnostic("AS869", f"no trace uses group {unused[0]}{more}", tree.key(f"/{unused[0]}"))
