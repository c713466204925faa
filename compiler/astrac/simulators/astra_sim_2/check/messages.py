"""Every receive has a send, and every message a way to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac.diagnostics import diagnostic
from astrac.job import Receive, Send
from astrac.simulators.astra_sim_2.check.evidence import node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Axis, Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence

TAGS = 500_000_000
"""Tags count modulo this (docs/simulators/astra-sim-2.md, section 6.1, T15d)."""

MAX_WORK = 3_000_000
"""Messages that are counted; beyond, a play alone tells."""

MAX_FINDINGS = 10


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
        self.missing = [message for message in self.received if self._unsent(message) > 0]
        self.spare = [message for message in self.sent if self._unsent(message) < 0]

    def _unsent(self, message: _Message) -> int:
        """How many more of a message are received than sent."""
        return len(self.received.get(message, ())) - len(self.sent.get(message, ()))


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
            if op.bytes == 0 or circles:
                what = "moves 0 bytes" if op.bytes == 0 else "goes to the rank that it comes from"
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
    sizes = [dimension.size for dimension in evidence.job.machine.dimensions]
    crossing = []
    for message in ends.sent if len(sizes) > 1 else ():
        stride, differing = 1, 0
        for size in sizes:
            differing += message.source // stride % size != message.destination // stride % size
            stride *= size
        if differing > 1:
            crossing.append(message)
    if crossing:
        first = crossing[0]
        text = (
            f"{node(ends.sent[first][0])} sends from rank {first.source} to rank {first.destination}, across "
            f"several dimensions, and pays for the first only{_others(len(crossing))}"
        )
        yield diagnostic("AS867", text, evidence.of_rank(first.source))


def _others(count: int) -> str:
    return f", and so {count - 1} others" if count > 1 else ""
