"""Every receive has a send, and every message a way to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.diagnostics import diagnostic
from astrac.job import Receive, Send
from astrac.simulators.astra_sim_2.check.evidence import node, programs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.check.evidence import Evidence

TAGS = 500_000_000
"""Tags count modulo this (docs/simulators/astra-sim-2.md, section 6.1, T15d)."""

MAX_WORK = 3_000_000
"""Messages that are counted; beyond, a play alone tells."""

MAX_FINDINGS = 10


class _Message(NamedTuple):
    source: int
    destination: int
    tag: int
    bytes: int


class _Ends(NamedTuple):
    """The nodes that send and receive each message."""

    sent: dict[_Message, list[Send]]
    received: dict[_Message, list[Receive]]

    def unsent(self, message: _Message) -> int:
        """How many more of a message are received than sent."""
        return len(self.received.get(message, ())) - len(self.sent.get(message, ()))


def messages(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS774 for messages that abort the simulator or that a rank waits for in vain; AS867, AS871, AS872 are advice."""
    talk = _talk(evidence)
    if not any(talk.values()):
        return
    refused = list(_aborting(evidence, talk))
    yield from refused
    if refused or sum(len(talk[number]) for number in evidence.job.program_of) > MAX_WORK:
        return
    yield from _aliases(evidence, talk)
    ends = _ends(evidence.job, talk)
    yield from _in_vain(evidence, ends)
    yield from _advice(evidence, ends)


def aborting(evidence: Evidence) -> Iterator[Diagnostic]:
    """AS774 for what can be told of each message by itself."""
    return _aborting(evidence, _talk(evidence))


def _talk(evidence: Evidence) -> dict[int, list[Send | Receive]]:
    """The messages of each program."""
    return {
        number: [op for op in program.ops if isinstance(op, Send | Receive)]
        for number, program in programs_of(evidence.job)
    }


def _aborting(evidence: Evidence, talk: dict[int, list[Send | Receive]]) -> Iterator[Diagnostic]:
    for number, ops in talk.items():
        for op in ops:
            what = None
            if op.bytes == 0:
                what = "moves 0 bytes"
            elif op.offset % evidence.job.axis(op.axis).size == 0:
                what = "goes to the rank that it comes from"
            if what is not None:
                yield diagnostic("AS774", f"the message of {node(op)} {what}", evidence.of(number))
                break


def _ends(job: Job, talk: dict[int, list[Send | Receive]]) -> _Ends:
    sent: dict[_Message, list[Send]] = {}
    received: dict[_Message, list[Receive]] = {}
    axes = {axis.name: axis for axis in (*job.axes, job.axis("rank"))}
    alike = {number: _alike(ops) for number, ops in talk.items()}
    for rank, number in enumerate(job.program_of):
        for (kind, axis, offset, tag, size), ops in alike[number].items():
            peer = axes[axis].peer(rank, offset)
            if kind is Send:
                sent.setdefault(_Message(rank, peer, tag, size), []).extend(ops)
            else:
                received.setdefault(_Message(peer, rank, tag, size), []).extend(ops)
    return _Ends(sent, received)


def _alike(ops: list[Send | Receive]) -> dict[tuple[type, str, int, int, int], list[Any]]:
    """The messages of a program that match each other."""
    found: dict[tuple[type, str, int, int, int], list[Any]] = {}
    for op in ops:
        found.setdefault((type(op), op.axis, op.offset, op.tag % TAGS, op.bytes), []).append(op)
    return found


def _in_vain(evidence: Evidence, ends: _Ends) -> Iterator[Diagnostic]:
    """Receives that no send matches, with the send that was probably meant."""
    missing = [message for message in ends.received if ends.unsent(message) > 0]
    spare: dict[tuple[int, int], list[_Message]] = {}
    for message in ends.sent if missing else ():
        if ends.unsent(message) < 0:
            spare.setdefault((message.source, message.destination), []).append(message)
    for message in sorted(missing)[:MAX_FINDINGS]:
        op = ends.received[message][0]
        hints = [_meant(message, other) for other in spare.get((message.source, message.destination), ())[:1]]
        wanted = f"{message.bytes:,} B with tag {op.tag} from rank {message.source}"
        text = f"rank {message.destination} waits for {wanted} ({node(op)}), which nobody sends"
        yield diagnostic("AS774", text, evidence.of_rank(message.destination), hints=hints)


def _meant(wanted: _Message, sent: _Message) -> str:
    if wanted.tag == sent.tag:
        return f"rank {sent.source} sends {sent.bytes:,} B with this tag: both ends name the same bytes"
    return f"rank {sent.source} sends {sent.bytes:,} B with tag {sent.tag}: both ends name the same tag"


def _advice(evidence: Evidence, ends: _Ends) -> Iterator[Diagnostic]:
    unread = [message for message in ends.sent if ends.unsent(message) < 0]
    if unread and not any(ends.unsent(message) > 0 for message in ends.received):
        first = min(unread)
        more = f", and so {len(unread) - 1} others" if len(unread) > 1 else ""
        sent = f"what rank {first.source} sends in {node(ends.sent[first][0])}"
        text = f"rank {first.destination} does not receive {sent}{more}"
        yield diagnostic("AS871", text, evidence.of_rank(first.source))
    yield from _corners(evidence, ends)


def _aliases(evidence: Evidence, talk: dict[int, list[Send | Receive]]) -> Iterator[Diagnostic]:
    for number, ops in talk.items():
        for op in ops:
            if op.tag >= TAGS:
                text = f"tag {op.tag} of {node(op)} counts as {op.tag % TAGS}: tags are taken modulo {TAGS:,}"
                yield diagnostic("AS872", text, evidence.of(number))
                return


def _corners(evidence: Evidence, ends: _Ends) -> Iterator[Diagnostic]:
    """Messages between ranks that differ in several dimensions."""
    sizes = [dimension.size for dimension in evidence.job.machine.dimensions]
    if len(sizes) < 2:
        return
    crossing = 0
    first = None
    for message in ends.sent:
        stride, differing = 1, 0
        for size in sizes:
            differing += message.source // stride % size != message.destination // stride % size
            stride *= size
        if differing > 1:
            crossing += 1
            first = first or message
    if first is not None:
        more = f", and so {crossing - 1} others" if crossing > 1 else ""
        text = (
            f"{node(ends.sent[first][0])} sends from rank {first.source} to rank {first.destination}, across "
            f"several dimensions, and pays for the first only{more}"
        )
        yield diagnostic("AS867", text, evidence.of_rank(first.source))
