"""The collectives of a Job: against the machine, beside those of the other members, and what they are charged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Label, diagnostic
from astrac.job import IMPLEMENTED, AxisGroup, Collective, Kind, ListedGroup
from astrac.simulators.algorithms import IN_GROUPS, by_word_2, whole_2
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.check.evidence import node
from astrac.simulators.astra_sim_2.groups import used
from astrac.simulators.astra_sim_2.simulate.network import GROUP_ENDPOINT_DELAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from astrac.diagnostics import Diagnostic
    from astrac.job import Group, Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.source import Span

MAX_WORK = 2_000_000
"""Ranks times groups that are looked at; beyond, a play alone tells."""

MAX_FINDINGS = 10


class Use(NamedTuple):
    """Collectives that are alike.

    Attributes:
        op: the first of them.
        program: of it.
        words: the first of them by its id and name, and how many others there are in all programs.
        listed: how many NPUs a communicator group has that does not name all of them, else None.
    """

    op: Collective
    program: int
    words: str
    listed: int | None


def collectives(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS772 for algorithms that cannot do them, AS775 for those that never complete; AS877 is advice."""
    job = evidence.job
    alike: dict[tuple[Kind, int, Group], list[tuple[Collective, int]]] = {}
    for number, program in evidence.programs.items():
        for op in program.ops:
            if isinstance(op, Collective):
                alike.setdefault((op.kind, op.bytes, op.group), []).append((op, number))
    told: dict[tuple[str, Span | None], Diagnostic] = {}
    for (_, _, group), found in alike.items():
        op, number = found[0]
        more = f" and {len(found) - 1} others like it" if len(found) > 1 else ""
        size = None if group.dimensions is not None else job.size(group)
        use = Use(op, number, f"{node(op)}{more}", None if size == job.machine.npus else size)
        for finding in (*_unable(evidence, use), *_endless(evidence, use), *_unheard(evidence, use)):
            told.setdefault((finding.code, finding.labels[0].span if finding.labels else None), finding)
    yield from told.values()


def _unable(evidence: Evidence, use: Use) -> Iterator[Diagnostic]:
    """Words of the system file that cannot do what the traces ask for."""
    kind, machine = use.op.kind, evidence.job.machine
    key = keys.IMPLEMENTATION_KEYS.get(kind)
    if key is None:
        return
    words = machine.algorithms.get(kind)
    if not words:
        message = f"`{key}` is missing, and the traces have {kind.name}: {use.words}"
        label = evidence.label("system", f"/{key}", "the algorithms")
        yield diagnostic("AS772", message, evidence.at("system"), *label)
        return
    for index, word in _at_work(use, words):
        size = use.listed or (machine.npus if whole_2(word) else machine.dimensions[index].size)
        listed = use.listed is not None
        what = _inability(kind, word, size, listed=listed)
        if what is not None:
            named = by_word_2(word)
            crashes = listed and named is not None and named.row.dimensions_only
            sizes = () if crashes else evidence.label("network", f"/npus_count/{index}", "the NPUs")
            yield diagnostic("AS772", f"{what}: {use.words}", evidence.at("system", f"/{key}/{index}"), *sizes)


def unfit(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS880 for words that cannot do the collectives of their list in this network, whoever would issue them."""
    machine = evidence.job.machine
    for kind, words in machine.algorithms.items():
        for index, (word, dimension) in enumerate(zip(words, machine.dimensions, strict=False)):
            what = _inability(kind, word, machine.npus if whole_2(word) else dimension.size, listed=False)
            if what is not None:
                key = keys.IMPLEMENTATION_KEYS[kind]
                sizes = evidence.label("network", f"/npus_count/{index}", "the NPUs")
                yield diagnostic("AS880", what, evidence.at("system", f"/{key}/{index}"), *sizes)
                break


def _unheard(evidence: Evidence, use: Use) -> Iterator[Diagnostic]:
    """A proper group runs a ring where the list has several words, whatever they are, and pays a delay of its own."""
    words, delay = evidence.job.machine.algorithms.get(use.op.kind, ()), evidence.job.machine.endpoint_delay
    if use.listed is None:
        return
    if delay not in {None, GROUP_ENDPOINT_DELAY}:
        message = f"a communicator group pays {GROUP_ENDPOINT_DELAY} ns, not `endpoint-delay` {delay}: {use.words}"
        yield diagnostic("AS877", message, evidence.at("system", "/endpoint-delay"))
    runs = IN_GROUPS.words.astra_sim_2
    if len(words) > 1 and set(words) != {runs}:
        ignored = f"whatever these {len(words)} words say: {use.words}"
        message = f"a communicator group of {use.listed} NPUs runs `{runs}`, {ignored}"
        yield diagnostic("AS877", message, evidence.at("system", f"/{keys.IMPLEMENTATION_KEYS[use.op.kind]}"))


def _at_work(use: Use, words: tuple[str, ...]) -> list[tuple[int, str]]:
    """The words that a collective runs, with their index in the list."""
    if use.listed is not None:
        # A proper group is one ring: the only word of a list of one, else `ring`.
        return [(0, words[0])] if len(words) == 1 else []
    involved = use.op.group.dimensions
    return [(at, word) for at, word in enumerate(words) if whole_2(word) or involved is None or involved[at]]


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
    notes: tuple[Label, ...] = ()
    if op.kind not in (*IMPLEMENTED, Kind.BROADCAST):
        message = f"ASTRA-sim 2.x has no {op.kind.name}, and aborts at it"
    elif op.group.dimensions is not None and not any(op.group.dimensions):
        message = "a collective over no dimension never completes"
    elif op.kind is Kind.ALL_GATHER and op.bytes == 0:
        message = "an all-gather of 0 bytes never completes"
    elif op.kind is Kind.ALL_GATHER and op.bytes < splits:
        message = f"an all-gather of {op.bytes} B in {splits} chunks never ends: a chunk would have 0 bytes"
        notes = evidence.label("system", "/preferred-dataset-splits", "the chunks")
    else:
        return
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


# -- all members of a group issue the same collectives


def sequences(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS773 where a rank has other collectives, or more of one, than another rank of its group.

    The order is not looked at: ids do not always say it, and a play does.
    """
    job = evidence.job
    issued: dict[int, dict[Group, list[Collective]]] = {}
    for number, program in evidence.programs.items():
        by_group = issued[number] = {}
        for op in program.ops:
            if isinstance(op, Collective) and op.kind is not Kind.BROADCAST:
                by_group.setdefault(op.group, []).append(op)
    if job.machine.npus * max(map(len, issued.values()), default=0) > MAX_WORK:
        return
    told: set[tuple[Group, int, int]] = set()
    first: dict[tuple[Group, int], tuple[int, int]] = {}
    members: Counter[tuple[Group, int]] = Counter()
    for rank, number in enumerate(job.program_of):
        for group, mine in issued[number].items():
            instance = group, job.leader(group, rank)
            members[instance] += 1
            leader, other = first.setdefault(instance, (rank, number))
            if other == number or (group, other, number) in told:
                continue
            told.add((group, other, number))
            if len(told) > MAX_FINDINGS:
                return
            message = _difference(leader, issued[other].get(group, []), rank, mine)
            if message is not None:
                yield diagnostic("AS773", message, evidence.of_rank(rank), Label(evidence.of_rank(leader), "the other"))
    yield from _absent(evidence, issued, first, members)


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
    longer, at, shorter = (theirs, rank, other) if len(theirs) > len(mine) else (mine, other, rank)
    op = longer[min(len(theirs), len(mine))]
    return f"rank {at} issues {_shown(op)}, and rank {shorter} of its group issues one collective fewer"


def _shown(op: Collective) -> str:
    return f"{op.kind.name} of {op.bytes:,} B ({node(op)})"


def _absent(
    evidence: Evidence,
    issued: dict[int, dict[Group, list[Collective]]],
    first: dict[tuple[Group, int], tuple[int, int]],
    members: Mapping[tuple[Group, int], int],
) -> Iterator[Diagnostic]:
    """Members of a group that issue nothing in it; told once."""
    job = evidence.job
    everyone = {group for groups in issued.values() for group in groups if job.size(group) == job.machine.npus}
    for (group, lowest), (leader, program) in first.items():
        # Where others speak of all ranks in another way, a play tells whether they meet.
        if members[group, lowest] == job.size(group) or (group in everyone and len(everyone) > 1):
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


# -- what the simulator charges beyond the bytes that a trace names


def charged(job: Job, place: Callable[[], Span | None]) -> Iterator[Diagnostic]:
    """Collectives that ASTRA-sim raises to chunks x NPUs, or whose left-over chunk it charges whole.

    See docs/simulators/astra-sim-2.md, section 3.1.
    """
    splits, npus = job.machine.splits, job.machine.npus
    small: dict[int, str] = {}
    odd: dict[int, str] = {}
    for program in () if job.machine.replay_only else job.programs:
        for op in program.ops:
            if isinstance(op, Collective) and op.kind in IMPLEMENTED:
                if op.kind is not Kind.ALL_GATHER and op.bytes < splits * npus:
                    small.setdefault(op.bytes, op.name)
                elif op.bytes % splits:
                    odd.setdefault(op.bytes, op.name)
    for sizes in filter(None, (small, odd)):
        size, name = min(sizes.items())
        chunk = size // splits
        if sizes is small:
            charge = f"fewer than chunks x NPUs = {splits} x {npus}: ASTRA-sim charges {splits * npus:,} B"
        else:
            count = -(-size // chunk) if chunk else 0
            charge = f"no multiple of {splits} chunks: ASTRA-sim runs {count} chunks of {chunk:,} B"
        more = len(sizes) - 1
        others = f"; so it does with {more} other size{'s' if more > 1 else ''}" if more else ""
        yield diagnostic("AS804", f"`{name}` moves {size:,} B, {charge}{others}", place())
