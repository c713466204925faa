"""The three texts of the ns-3 backend: the logical topology, the physical one, and the configuration that names it.

What is read is what ASTRA-sim's public frontend and the `common.h` of its ns-3 read; the three must agree, and nobody
there looks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac import conform, resources
from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic, has_errors, quoted
from astrac.simulators.ns3.kinds import OLD_KEY
from astrac.simulators.texts import Words, json_tree
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.positioned import Tree
    from astrac.simulators.texts import Word
    from astrac.source import Source, Span

MAX_NPUS = 1 << 31


def read_logical(source: Source) -> Result[tuple[int, ...]]:
    """The sizes, innermost first; AS782 for what the frontend cannot read, AS860 for keys that it does not.

    It is JSON with the sizes of the dimensions as texts.
    """
    try:
        tree = json_tree(source)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    found = []
    if isinstance(tree.value, dict) and OLD_KEY in tree.value and "logical-dims" not in tree.value:
        message = f"`{OLD_KEY}` is of an old branch: ASTRA-sim reads `logical-dims`"
        found.append(diagnostic("AS782", message, tree.key(f"/{OLD_KEY}"), hints=("did you mean `logical-dims`?",)))
        return Result(None, tuple(found))
    value, odd = _sizes(tree)
    found += odd
    for mistake in conform.violations(value, "ns3-logical"):
        place, message = tree.at(mistake.pointer), mistake.message.removesuffix(" against pattern")
        written = tree.values[mistake.pointer].text
        hints = (f'write `"{written}"`, a text',) if re.fullmatch(r"[1-9]\d*", written) else ()
        found.append(diagnostic("AS782", message, place, hints=hints))
    if isinstance(tree.value, dict):
        found += conform.unread(tree, "ns3-logical")
    sizes = () if has_errors(found) else tuple(map(int, value["logical-dims"]))
    if prod(sizes) >= MAX_NPUS:
        found.append(diagnostic("AS782", f"{prod(sizes)} NPUs are too many", tree.at("/logical-dims")))
    return Result(None if has_errors(found) else sizes, tuple(found))


def _sizes(tree: Tree) -> tuple[Any, list[Diagnostic]]:
    """The document with the sizes as the frontend takes them: what follows a number is passed over."""
    entries = tree.value.get("logical-dims") if isinstance(tree.value, dict) else None
    if not isinstance(entries, list):
        return tree.value, []
    taken = [re.match(r"[1-9]\d{0,9}(?=\D)", entry) if isinstance(entry, str) else None for entry in entries]
    found = [
        diagnostic("AS884", f"ns-3 reads {quoted(match.string)} as {match[0]}", tree.at(f"/logical-dims/{at}"))
        for at, match in enumerate(taken)
        if match is not None
    ]
    sizes = [entry if match is None else match[0] for entry, match in zip(entries, taken, strict=True)]
    return tree.value | {"logical-dims": sizes}, found


# -- the physical topology: counts, switches and links, one stream of words

_TOPOLOGY_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_LINK_RATE = re.compile(r"(\d+(?:\.\d+)?)([kKMG]?i?)(bps|b/s|Bps|B/s)", re.ASCII)
_DELAY = re.compile(r"\d+(?:\.\d+)?(?:fs|ps|ns|us|ms|s|min|h)", re.ASCII)
_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

MAX_LINKS = 4_000_000
MAX_TOPOLOGY_FINDINGS = 10


class Link(NamedTuple):
    """A line of the file: its ends, bits a second, and where it stands."""

    ends: tuple[int, int]
    rate: float
    span: Span


@dataclass(frozen=True)
class Topology:
    """What the file of the physical topology says.

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
    reader = _TopologyReader(source)
    try:
        topology = reader.read()
    except Diagnosed as stop:
        return Result(None, (*reader.found, stop.diagnostic))
    if reader.found:
        return Result(None, tuple(reader.found[:MAX_TOPOLOGY_FINDINGS]))
    return Result(topology, (*reader.odd[:MAX_TOPOLOGY_FINDINGS], *_parallel(topology), *_uneven(topology)))


def _uneven(topology: Topology) -> Iterator[Diagnostic]:
    """Hosts whose links have other rates than those of the first: the windows of all are sized by one of them."""
    hosts = [link for link in topology.links if len(topology.switches.intersection(link.ends)) == 1]
    other = next((link for link in hosts if link.rate != hosts[0].rate), None)
    if other is not None:
        message = "links of hosts have different rates: every host waits for the slowest"
        yield diagnostic("AS884", message, other.span, Label(hosts[0].span, "another rate"))


class _TopologyReader:
    """Takes the words one after the other; one per call of `read_topology`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words = Words(source, _TOPOLOGY_WORD)
        self.found: list[Diagnostic] = []
        self.odd: list[Diagnostic] = []

    def read(self) -> Topology:
        """Takes counts, switches and links; raises Diagnosed (AS783) where nothing after it can be read."""
        nodes, switches, links = (self._number(of, f"the number of {of}") for of in ("nodes", "switches", "links"))
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

    def _number(self, of: str, what: str) -> int:
        word = self._next(what)
        if _NUMBER.fullmatch(word.text) is None:
            raise self._stop(f"{quoted(word.text)} is no number of {of}", word.span)
        return int(word.text)

    def _node(self, nodes: int, what: str) -> int:
        node = self._number(what, what)
        if node >= nodes:
            self._wrong(f"there is no node {self._last.text}: nodes go from 0 to {nodes - 1}", self._last)
        return node

    def _link(self, nodes: int, number: int, links: int) -> Link:
        first = self.words.peek()
        if first is None:
            note = Label(self.words.at(2).span, "the number of links")
            raise self._stop(f"the file says {links} links and has {number}", self._end, note)
        ends = self._node(nodes, "an end of a link"), self._node(nodes, "an end of a link")
        if ends[0] == ends[1]:
            self._wrong("a link from a node to itself", self._last)
        rate = self._quantity("a rate", _LINK_RATE, "as `100Gbps`")
        delay = self._quantity("a delay", _DELAY, "as `0.005ms`: ns-3 takes a number without a unit for seconds")
        word = self._next("an error rate")
        error = _fraction(word.text)
        if error is None or not 0 <= error <= 1:
            self._wrong(f"{quoted(word.text)} is no error rate: a number from 0 to 1", word.span)
        elif error > 0:
            self.odd.append(diagnostic("AS884", SLOW, word.span))
        if delay is not None and not re.search("[1-9]", delay[0]):
            self.odd.append(diagnostic("AS884", "a link without a delay: other times than with the least", first.span))
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
        if len(self.found) >= MAX_TOPOLOGY_FINDINGS:
            raise Diagnosed(self.found.pop())

    def _stop(self, message: str, span: Span, *notes: Label) -> Diagnosed:
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
    return found[:MAX_TOPOLOGY_FINDINGS]


# -- the configuration: keys and values, one stream of words; unknown words are passed over

_CONFIG_WORD = re.compile(r"\{[^}\n]*\}|\S+")

_FORMS: dict[str, tuple[re.Pattern[str], str]] = {
    "whole": (re.compile(r"\d{1,19}", re.ASCII), "a whole number"),
    "real": (re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?|\.\d+", re.ASCII), "a number"),
    "rate": (re.compile(r"\d+(\.\d+)?[kKMG]?i?(bps|b/s|Bps|B/s)", re.ASCII), "a rate, as `100Mb/s`"),
    "path": (re.compile(r"\S+"), "a path"),
}

_DATA = resources.package().joinpath("simulators", "ns3", "keys.json")

KEYS: dict[str, tuple[str, ...]] = {
    key: tuple(forms.split()) for forms, keys in json.loads(_DATA.read_bytes()).items() for key in keys
}
"""Keys and the forms of their values, of `keys.json`; `*_MAP` keys have a count and so many pairs."""

MAPS: dict[str, str] = {"KMAX_MAP": "whole", "KMIN_MAP": "whole", "PMAX_MAP": "real"}
"""Thresholds by link rate, and the form of a threshold."""

FILES = ("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE")
"""Keys that name files to be read."""

NEEDED = (*FILES, "TRACE_OUTPUT_FILE", "L2_ACK_INTERVAL")
"""Keys whose default is empty, or 0 where that never ends: ns-3 aborts, or reads a file without a name."""

MAX_CONFIG_FINDINGS = 50


@dataclass(frozen=True)
class Config:
    """What the configuration says.

    Attributes:
        words: key -> its first value.
        places: key -> where it stands.
        values: key -> where its first value stands.
        rates: bits a second that a `*_MAP` key has a threshold for.
        source: the text.
    """

    words: Mapping[str, str]
    places: Mapping[str, Span]
    values: Mapping[str, Span]
    rates: Mapping[str, frozenset[int]]
    source: Source


def read_config(source: Source) -> Result[Config]:
    """The configuration; AS784 for what ns-3 would misread, AS860 for words that it passes over."""
    reader = _ConfigReader(source)
    found = [*islice(reader.read(), MAX_CONFIG_FINDINGS)]
    missing = (key for key in NEEDED if key not in reader.places)
    found += (diagnostic("AS784", f"`{key}` is missing", source.whole()) for key in missing)
    found += _odd_settings(reader)
    config = Config(reader.words, reader.places, reader.values, reader.rates, source)
    return Result(None if has_errors(found) else config, tuple(found))


def _odd_settings(reader: _ConfigReader) -> Iterator[Diagnostic]:
    """Values that ns-3 never comes to an end with, or that slow it down."""
    if float(reader.words.get("PACKET_PAYLOAD_SIZE", 1)) == 0:
        yield diagnostic("AS784", "packets of 0 bytes never carry a message", reader.values["PACKET_PAYLOAD_SIZE"])
    rate = float(reader.words.get("ERROR_RATE_PER_LINK", 0))
    if rate > 0:
        code, message = ("AS784", LOST) if rate >= 1 else ("AS884", SLOW)
        yield diagnostic(code, message, reader.values["ERROR_RATE_PER_LINK"])


LOST = "an error rate of 1 loses every packet"
SLOW = "with an error rate above 0 packets are sent again: it takes longer, and may never end"


class _ConfigReader:
    """Takes words one after the other; one per call of `read_config`."""

    def __init__(self, source: Source) -> None:
        self.stream = Words(source, _CONFIG_WORD)
        self.words: dict[str, str] = {}
        self.places: dict[str, Span] = {}
        self.values: dict[str, Span] = {}
        self.rates: dict[str, frozenset[int]] = {}

    def read(self) -> Iterator[Diagnostic]:
        """Takes key after key with its values; what is wrong with each."""
        while (word := self.stream.next()) is not None:
            key, span = word.text, word.span
            if key not in KEYS and key not in MAPS:
                if not key.startswith("{"):
                    hints = did_you_mean(key, (*KEYS, *MAPS))
                    yield diagnostic("AS860", f"ns-3 passes over {quoted(key)}", span, hints=hints)
                    self._pass_over(word.line)
                continue
            if key in self.places:
                note = Label(self.places[key], "first written here")
                yield diagnostic("AS843", f"`{key}` is written twice, the last counts", span, note)
            self.places[key] = span
            yield from self._map(key) if key in MAPS else self._values(key)

    def _pass_over(self, line: int) -> None:
        """Its value, or more prose: up to a word that is a key, which ns-3 reads as one wherever it stands."""
        while (word := self.stream.peek()) is not None and word.line == line:
            if word.text in KEYS or word.text in MAPS:
                return
            self.stream.place += 1

    def _take(self, key: str, form: str) -> str | Diagnostic:
        """The next word, or what is wrong with it."""
        pattern, what = _FORMS[form]
        word = self.stream.peek()
        if word is None:
            return diagnostic("AS884", f"`{key}` ends the file without a value: it has no effect", self.places[key])
        if word.text in KEYS or word.text in MAPS:
            return diagnostic("AS784", f"the value of `{key}` is missing", self.places[key])
        self.stream.place += 1
        if form == "rate" and _FORMS["real"][0].fullmatch(word.text):
            message = f"`{key}` {word.text} has no unit: ns-3 takes it for bits a second"
            return diagnostic("AS884", message, word.span)
        if form == "whole" and key in MAPS and re.fullmatch(r"\d+\.\d+", word.text):
            following = self.stream.peek()
            if following is None or following.text in KEYS or following.text in MAPS:
                return word.text.partition(".")[0]
        if pattern.fullmatch(word.text) is None:
            return diagnostic("AS784", f"`{key}` takes {what}, not {quoted(word.text)}", word.span)
        return word.text

    def _values(self, key: str) -> Iterator[Diagnostic]:
        for at, form in enumerate(KEYS[key]):
            taken = self._take(key, form)
            if not isinstance(taken, str):
                yield taken
                return
            if at == 0:
                self.words[key] = taken
                self.values[key] = self.stream.at(self.stream.place - 1).span

    def _map(self, key: str) -> Iterator[Diagnostic]:
        count = self._take(key, "whole")
        if not isinstance(count, str):
            yield count
            return
        rates = set()
        for _ in range(min(int(count), self.stream.left)):
            pair = self._take(key, "whole"), self._take(key, MAPS[key])
            broken = next((part for part in pair if not isinstance(part, str)), None)
            if broken is not None:
                yield broken
                return
            rates.add(int(str(pair[0])))
        self.words[key] = count
        self.rates[key] = frozenset(rates)
