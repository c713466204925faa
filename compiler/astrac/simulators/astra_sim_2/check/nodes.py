"""The nodes of a Job: what the machine makes of each, how those of a trace wait for each other, who gets messages."""

from __future__ import annotations

from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac.diagnostics import diagnostic
from astrac.job import Collective, Compute, Kind, Load, MemoryType, Receive, Send, Store
from astrac.simulators.astra_sim_2.check.evidence import node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Axis, Job, Machine, Op, Program
    from astrac.simulators.astra_sim_2.check.evidence import Evidence

TAGS = 500_000_000
"""Tags count modulo this (docs/simulators/astra-sim-2.md, section 6.1, T15d)."""

MAX_TAG = 1 << 31
"""The simulator's tags have a sign, and an assertion holds that they are not below 0."""

MAX_WORK = 3_000_000
"""Messages that are counted; beyond, a play alone tells."""

MAX_FINDINGS = 10


def nodes(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS777 for compute, AS778 for memory that the simulator cannot price; AS866, AS874 are advice. Once a sort."""
    machine = evidence.job.machine
    found: dict[tuple[str, str], tuple[Op, int]] = {}
    for number, program in evidence.programs.items():
        for op in program.ops:
            wrong = _unpriced(machine, op)
            if wrong is not None:
                found.setdefault(wrong, (op, number))
    for (code, message), (op, number) in found.items():
        notes = evidence.label("memory", "/memory-type", "the memory") if code == "AS778" else ()
        yield diagnostic(code, f"{node(op)} {message}", evidence.of(number), *notes)


def instant(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS882 for compute nodes whose whole microseconds are 0, of the program that has most of them."""
    machine = evidence.job.machine
    counts = {
        number: sum(isinstance(op, Compute) and not op.duration and op.num_ops < 2 for op in program.ops)
        for number, program in evidence.programs.items()
        if not machine.roofline and not machine.replay_only
    }
    number = max(counts, key=counts.__getitem__, default=None)
    if number is not None and counts[number]:
        count = counts[number]
        nodes, each = ("compute nodes say", "each") if count > 1 else ("compute node says", "it")
        message = f"{count} {nodes} 0 us: the simulator runs {each} as 1 ns"
        yield diagnostic("AS882", message, evidence.of(number), hints=("durations are whole microseconds",))


def reach(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS778 for a memory whose nodes hold fewer NPUs than there are."""
    machine, memory = evidence.job.machine, evidence.job.machine.memory
    reached = memory.nodes * memory.npus_per_node
    if memory.type is MemoryType.PER_NODE and reached < machine.npus:
        sizes = f"{memory.nodes} nodes of {memory.npus_per_node} NPUs are {reached} NPUs"
        message = f"{sizes}, and there are {machine.npus}"
        yield diagnostic("AS778", message, evidence.at("memory", "/num-nodes"))


def _unpriced(machine: Machine, op: Op) -> tuple[str, str] | None:
    """Code and message of a node that the simulator prices otherwise than it says, or not at all."""
    match op:
        case Collective() if machine.replay_only:
            return "AS866", f"lasts its duration, {op.duration or '0.001'} us: `replay-only` simulates no collective"
        case Collective(kind=Kind.BROADCAST):
            lasts = f"lasts its duration, {op.duration or '0.001'} us"
            return "AS866", f"is a BROADCAST, which {lasts}, and is not simulated"
        case _ if machine.replay_only:
            return None
        case Compute(host=False, tensor_size=0) if machine.roofline:
            return "AS777", "has `tensor_size` 0: the roofline skips it, and what waits for it never runs"
        case Compute(host=False, num_ops=0) if machine.roofline:
            return "AS777", "has `num_ops` 0: its roofline time is 2^63 cycles"
        case Compute(host=False, duration=0) if not machine.roofline and op.num_ops > 1:
            return "AS874", "says `num_ops` and no duration: without `roofline-enabled` it lasts 1 ns"
        case Load() | Store() if machine.memory.type is MemoryType.NONE:
            return "AS778", "needs a remote memory, and the memory file has none"
    return None


# -- dependencies


def structure(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS770 for a node that waits for one that is not there, AS771 for nodes that wait for each other."""
    for number, program in evidence.programs.items():
        for code, message in broken(program):
            yield diagnostic(code, message, evidence.of(number))


def broken(program: Program) -> Iterator[tuple[str, str]]:
    """Code and message of what is wrong with the dependencies of a program, at most one of each."""
    needs = {op.id: (*op.data, *op.control) for op in program.ops}
    missing = [op for op in program.ops if not needs.keys() >= {*needs[op.id]}]
    if missing:
        need = next(need for need in needs[missing[0].id] if need not in needs)
        others = f", and {len(missing) - 1} other nodes wait like this" if len(missing) > 1 else ""
        yield "AS770", f"{node(missing[0])} waits for node {need}, which the trace does not have{others}"
    order = {program.ops[at].id: step for step, at in enumerate(program.nodes)} or {need: need for need in needs}
    if any(order[need] >= order[identity] for identity, waits in needs.items() for need in waits if need in order):
        stuck = cycle(program.ops)
        if stuck:
            names = ", ".join(map(node, stuck[:4])) + (", ..." if len(stuck) > 4 else "")
            wait = "waits for itself" if len(stuck) == 1 else "wait for each other"
            yield "AS771", f"{names} {wait}"


def unordered(program: Program) -> tuple[Collective, Collective] | None:
    """Two collectives of a program of which neither waits for the other, None when all are in one order."""
    last: dict[int, Collective] = {}  # of the collectives that a node waits for, the one with most before it
    place: dict[int, int] = {}
    chain: list[Collective] = []
    for op in sorted(program.ops, key=lambda op: op.id):
        before = [last[need] for need in (*op.data, *op.control) if need in last]
        latest = max(before, key=lambda other: place[other.id], default=None)
        if isinstance(op, Collective):
            if chain and latest is not chain[-1]:
                return chain[-1], op
            place[op.id] = len(chain)
            chain.append(op)
            latest = op
        if latest is not None:
            last[op.id] = latest
    return None


def cycle(ops: tuple[Op, ...]) -> list[Op]:
    """The nodes of one cycle, in its order; none when there is none. Nodes that are missing are no obstacle."""
    known = {op.id: op for op in ops}
    waiting = {op.id: {need for need in (*op.data, *op.control) if need in known} for op in ops}
    sorter = TopologicalSorter(waiting)
    with suppress(CycleError):
        sorter.prepare()
    stuck = set(waiting)
    while ready := sorter.get_ready():
        stuck.difference_update(ready)
        sorter.done(*ready)
    if not stuck:
        return []
    # Every node that is left waits for one that is left: going there from anywhere ends in a cycle.
    way: dict[int, int] = {}
    at = min(stuck)
    while at not in way:
        way[at] = len(way)
        at = min(waiting[at] & stuck)
    return [known[identity] for identity, number in way.items() if number >= way[at]]


# -- messages

_Messages: TypeAlias = "dict[int, list[Send | Receive]]"
"""Of each program, by its index."""


class _Message(NamedTuple):
    source: int
    destination: int
    tag: int
    bytes: int


class _Ends:
    """The nodes that send and receive each message."""

    def __init__(self, job: Job, talk: _Messages) -> None:
        self.sent: dict[_Message, list[Send | Receive]] = {}
        self.received: dict[_Message, list[Send | Receive]] = {}
        alike: dict[int, dict[tuple[bool, Axis, int, int, int], list[Send | Receive]]] = {}
        for number, ops in talk.items():
            found = alike[number] = {}
            for op in ops:
                key = (isinstance(op, Send), job.axis(op.axis), op.offset, op.tag % TAGS, op.bytes)
                found.setdefault(key, []).append(op)
        for rank, number in enumerate(job.program_of):
            for (send, axis, offset, tag, size), ops in alike[number].items():
                peer = axis.peer(rank, offset)
                if send:
                    self.sent.setdefault(_Message(rank, peer, tag, size), []).extend(ops)
                else:
                    self.received.setdefault(_Message(peer, rank, tag, size), []).extend(ops)
        sent, received = ({message: len(ops) for message, ops in ends.items()} for ends in (self.sent, self.received))
        self.missing = [message for message, count in received.items() if count > sent.get(message, 0)]
        self.spare = [message for message, count in sent.items() if count > received.get(message, 0)]


def messages(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS774 for messages that abort the simulator or that a rank waits for in vain; AS867, AS871, AS872 are advice."""
    talk = _talk(evidence)
    if not any(talk.values()):
        return
    refused = list(aborting(evidence))
    yield from refused
    if refused or sum(len(talk[number]) for number in evidence.job.program_of) > MAX_WORK:
        return
    for number, ops in talk.items():
        op = next((op for op in ops if op.tag >= TAGS), None)
        if op is not None:
            text = f"tag {op.tag} of {node(op)} counts as {op.tag % TAGS}: tags are taken modulo {TAGS:,}"
            yield diagnostic("AS872", text, evidence.of(number))
            break
    ends = _Ends(evidence.job, talk)
    yield from _in_vain(evidence, ends)
    if ends.spare and not ends.missing:
        first = min(ends.spare)
        sent = f"what rank {first.source} sends in {node(ends.sent[first][0])}"
        text = f"rank {first.destination} does not receive {sent}{_others(len(ends.spare))}"
        yield diagnostic("AS871", text, evidence.of_rank(first.source))
    yield from _corners(evidence, ends)


def aborting(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS774 for what can be told of each message by itself."""
    for number, ops in _talk(evidence).items():
        for op in ops:
            circles = op.offset % evidence.job.axis(op.axis).size == 0
            large = evidence.backend == "ns3" and op.bytes >= MAX_TAG
            if op.bytes == 0 or circles or large or op.tag >= MAX_TAG:
                what = "moves 0 bytes" if op.bytes == 0 else "goes to the rank that it comes from"
                if large:
                    what = f"has {op.bytes:,} B, and never ends in ns-3 from {MAX_TAG:,} B on"
                if op.tag >= MAX_TAG:
                    what = f"has tag {op.tag}, and the last that the simulator can count to is {MAX_TAG - 1}"
                yield diagnostic("AS774", f"the message of {node(op)} {what}", evidence.of(number))
                break


def _talk(evidence: Evidence) -> _Messages:
    return {
        number: [op for op in program.ops if isinstance(op, Send | Receive)]
        for number, program in evidence.programs.items()
    }


def _in_vain(evidence: Evidence, ends: _Ends) -> Iterator[Diagnostic]:
    """Receives that no send matches, with the send that was probably meant."""
    spare: dict[tuple[int, int], _Message] = {}
    for message in ends.spare:
        spare.setdefault((message.source, message.destination), message)
    for message in sorted(ends.missing)[:MAX_FINDINGS]:
        op, hints = ends.received[message][0], []
        meant = spare.get((message.source, message.destination))
        if meant is not None:
            tag, both = ("this tag", "bytes") if meant.tag == message.tag else (f"tag {meant.tag}", "tag")
            hints.append(f"rank {meant.source} sends {meant.bytes:,} B with {tag}: both ends name the same {both}")
        wanted = f"{message.bytes:,} B with tag {op.tag} from rank {message.source}"
        text = f"rank {message.destination} waits for {wanted} ({node(op)}), which nobody sends"
        yield diagnostic("AS774", text, evidence.of_rank(message.destination), hints=hints)


def _corners(evidence: Evidence, ends: _Ends) -> Iterator[Diagnostic]:
    """Messages between ranks that differ in several dimensions."""
    axes = [(axis.stride, axis.size) for axis in evidence.job.machine.axes]
    crossing = [
        message
        for message in (ends.sent if len(axes) > 1 else ())
        if sum(message.source // stride % size != message.destination // stride % size for stride, size in axes) > 1
    ]
    if crossing:
        first = crossing[0]
        text = (
            f"{node(ends.sent[first][0])} sends from rank {first.source} to rank {first.destination}, across "
            f"several dimensions, and pays for the first only{_others(len(crossing))}"
        )
        yield diagnostic("AS867", text, evidence.of_rank(first.source))


def _others(count: int) -> str:
    return f", and so {count - 1} others" if count > 1 else ""
