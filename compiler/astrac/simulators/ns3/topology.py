"""The physical topology: a text of counts, switches and links, read as one stream of words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic, quoted
from astrac.simulators.words import Words

if TYPE_CHECKING:
    from astrac.simulators.words import Word
    from astrac.source import Source, Span

_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kKMG]?i?)(bps|b/s|Bps|B/s)", re.ASCII)
_DELAY = re.compile(r"\d+(?:\.\d+)?(?:fs|ps|ns|us|ms|s|min|h)", re.ASCII)
_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

MAX_LINKS = 4_000_000
MAX_FINDINGS = 10


class Link(NamedTuple):
    """A line of the file: its ends, bits a second, and where it stands."""

    ends: tuple[int, int]
    rate: float
    span: Span


@dataclass(frozen=True)
class Topology:
    """What the file says.

    Attributes:
        nodes: how many, hosts and switches together.
        switches: their numbers.
        links: in file order.
        source: the text.
    """

    nodes: int
    switches: frozenset[int]
    links: tuple[Link, ...]
    source: Source


def read_topology(source: Source) -> Result[Topology]:
    """The topology; AS783 for what ns-3 would misread, AS873 for links that it does not use."""
    reader = _Reader(source)
    try:
        topology = reader.read()
    except Diagnosed as stop:
        return Result(None, (*reader.found, stop.diagnostic))
    if reader.found:
        return Result(None, tuple(reader.found[:MAX_FINDINGS]))
    return Result(topology, tuple(_parallel(topology)))


class _Reader:
    """Takes the words one after the other; one per call of `read_topology`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words = Words(source, _WORD)
        self.found: list[Diagnostic] = []

    def read(self) -> Topology:
        """Takes counts, switches and links; raises Diagnosed (AS783) where nothing after it can be read."""
        nodes, switches, links = (self._count(what) for what in ("nodes", "switches", "links"))
        if switches > nodes:
            self._wrong(f"{switches} switches of {nodes} nodes", self._last)
        numbers = [self._node(nodes, "a switch") for _ in range(min(switches, nodes))]
        if len(set(numbers)) < len(numbers):
            self._wrong("a switch is listed twice", self._last)
        if links > MAX_LINKS:
            raise self._stop(f"more than {MAX_LINKS} links", self._last)
        lines = [self._link(nodes, number, links) for number in range(links)]
        following = self.words.peek()
        if following is not None:
            self._wrong("the file says how many links it has, and goes on after them", following.span)
        return Topology(nodes, frozenset(numbers), tuple(lines), self.source)

    @property
    def _last(self) -> Span:
        return self.words.at(self.words.place - 1).span

    @property
    def _end(self) -> Span:
        return self.source.span(len(self.source.text), len(self.source.text))

    def _next(self, what: str) -> Word:
        word = self.words.next()
        if word is None:
            raise self._stop(f"the file ends where {what} should stand", self._end)
        return word

    def _count(self, what: str) -> int:
        word = self._next(f"the number of {what}")
        if _NUMBER.fullmatch(word.text) is None:
            raise self._stop(f"{quoted(word.text)} is no number of {what}", word.span)
        return int(word.text)

    def _node(self, nodes: int, what: str) -> int:
        word = self._next(what)
        if _NUMBER.fullmatch(word.text) is None:
            raise self._stop(f"{quoted(word.text)} is no number of {what}", word.span)
        if int(word.text) >= nodes:
            self._wrong(f"there is no node {word.text}: nodes go from 0 to {nodes - 1}", word.span)
        return int(word.text)

    def _link(self, nodes: int, number: int, links: int) -> Link:
        first = self.words.peek()
        if first is None:
            raise self._stop(f"the file says {links} links and has {number}", self._end, self.words.at(2).span)
        ends = self._node(nodes, "an end of a link"), self._node(nodes, "an end of a link")
        if ends[0] == ends[1]:
            self._wrong("a link from a node to itself", self._last)
        rate = self._quantity("a rate", _RATE, "as `100Gbps`")
        self._quantity("a delay", _DELAY, "as `0.005ms`: ns-3 takes a number without a unit for seconds")
        word = self._next("an error rate")
        error = _fraction(word.text)
        if error is None or not 0 <= error <= 1:
            self._wrong(f"{quoted(word.text)} is no error rate: a number from 0 to 1", word.span)
        bits = 0.0
        if rate is not None:
            bits = float(rate[1]) * _FACTORS[rate[2]] * (8 if rate[3].startswith("B") else 1)
            if bits == 0:
                self._wrong("a link of no rate", first.span)
        return Link((min(ends), max(ends)), bits, first.span.to(word.span))

    def _quantity(self, what: str, form: re.Pattern[str], how: str) -> re.Match[str] | None:
        word = self._next(what)
        match = form.fullmatch(word.text)
        if match is None:
            self._wrong(f"{quoted(word.text)} is not {what}: write it {how}", word.span)
        return match

    def _wrong(self, message: str, span: Span) -> None:
        self.found.append(diagnostic("AS783", message, span))
        if len(self.found) >= MAX_FINDINGS:
            raise Diagnosed(self.found.pop())

    def _stop(self, message: str, span: Span, count: Span | None = None) -> Diagnosed:
        notes = () if count is None else (Label(count, "the number of links"),)
        return Diagnosed(diagnostic("AS783", message, span, *notes))


def _fraction(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _parallel(topology: Topology) -> list[Diagnostic]:
    """The first links between nodes that have one already: ns-3 remembers the last."""
    first: dict[tuple[int, int], Link] = {}
    found = []
    for link in topology.links:
        other = first.setdefault(link.ends, link)
        if other is not link:
            message = f"nodes {link.ends[0]} and {link.ends[1]} have two links: ns-3 uses one of them"
            found.append(diagnostic("AS873", message, link.span, Label(other.span, "the other")))
    return found[:MAX_FINDINGS]
