"""The configuration of ns-3: keys and values as one stream of words; unknown words are passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from astrac.diagnostics import Label, Result, diagnostic, quoted
from astrac.simulators.words import Words
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.diagnostics import Diagnostic
    from astrac.source import Source, Span

_WORD = re.compile(r"\{[^}\n]*\}|\S+")
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
_REAL = re.compile(r"\d+(\.\d*)?([eE][-+]?\d+)?|\.\d+", re.ASCII)
_RATE = re.compile(r"\d+(\.\d+)?[kKMG]?i?(bps|b/s|Bps|B/s)", re.ASCII)
_ANY = re.compile(r"\S+")

_FORMS: dict[str, tuple[re.Pattern[str], str]] = {
    "whole": (_WHOLE, "a whole number"),
    "real": (_REAL, "a number"),
    "rate": (_RATE, "a rate, as `100Mb/s`"),
    "path": (_ANY, "a path"),
}

KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "ENABLE_QCN", "USE_DYNAMIC_PFC_THRESHOLD", "CLAMP_TARGET_RATE", "PACKET_PAYLOAD_SIZE", "L2_CHUNK_SIZE",
            "L2_ACK_INTERVAL", "L2_BACK_TO_ZERO", "FAST_RECOVERY_TIMES", "CC_MODE", "HAS_WIN", "GLOBAL_T", "MI_THRESH",
            "VAR_WIN", "FAST_REACT", "INT_MULTI", "RATE_BOUND", "ACK_HIGH_PRIO", "NIC_TOTAL_PAUSE_TIME",
            "ENABLE_TRACE", "BUFFER_SIZE", "QLEN_MON_START", "QLEN_MON_END", "MULTI_RATE", "SAMPLE_FEEDBACK",
        ),
        ("whole",),
    ),
    **dict.fromkeys(
        (
            "PAUSE_TIME", "SIMULATOR_STOP_TIME", "ALPHA_RESUME_INTERVAL", "RP_TIMER", "EWMA_GAIN",
            "ERROR_RATE_PER_LINK", "RATE_DECREASE_INTERVAL", "U_TARGET", "PINT_LOG_BASE", "PINT_PROB",
        ),
        ("real",),
    ),
    **dict.fromkeys(("RATE_AI", "RATE_HAI", "MIN_RATE", "DCTCP_RATE_AI"), ("rate",)),
    **dict.fromkeys(
        (
            "DATA_RATE", "LINK_DELAY", "TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE",
            "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE", "QLEN_MON_FILE",
        ),
        ("path",),
    ),
    "LINK_DOWN": ("whole", "whole", "whole"),
}  # fmt: skip
"""Keys and the forms of their values; `*_MAP` keys have a count and so many pairs."""

MAPS: dict[str, str] = {"KMAX_MAP": "whole", "KMIN_MAP": "whole", "PMAX_MAP": "real"}
"""Thresholds by link rate, and the form of a threshold."""

NEEDED = ("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE", "RATE_AI", "RATE_HAI")
"""Keys whose default is empty: ns-3 aborts, or reads a file without a name."""


MAX_FINDINGS = 50


@dataclass(frozen=True)
class Config:
    """What the file says.

    Attributes:
        words: key -> its first value.
        places: key -> where it stands.
        rates: bits a second that a `*_MAP` key has a threshold for.
        source: the text.
    """

    words: Mapping[str, str]
    places: Mapping[str, Span]
    rates: Mapping[str, frozenset[int]]
    source: Source


def read_config(source: Source) -> Result[Config]:
    """The configuration; AS784 for what ns-3 would misread, AS860 for words that it passes over."""
    reader = _Reader(source)
    found = [*islice(reader.read(), MAX_FINDINGS), *reader.missing()]
    config = Config(reader.words, reader.places, reader.rates, source)
    return Result(None if any(finding.is_error for finding in found) else config, tuple(found))


class _Reader:
    """Takes words one after the other; one per call of `read_config`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stream = Words(source, _WORD)
        self.words: dict[str, str] = {}
        self.places: dict[str, Span] = {}
        self.rates: dict[str, frozenset[int]] = {}

    def read(self) -> Iterator[Diagnostic]:
        """Takes key after key with its values; what is wrong with each."""
        while (word := self.stream.next()) is not None:
            key, span = word.text, word.span
            if key not in KEYS and key not in MAPS:
                if not key.startswith("{"):
                    hints = did_you_mean(key, (*KEYS, *MAPS))
                    yield diagnostic("AS860", f"ns-3 passes over {quoted(key)}", span, hints=hints)
                    self.stream.skip_line(word.line)  # its value, or more prose
                continue
            if key in self.places:
                note = Label(self.places[key], "first written here")
                yield diagnostic("AS843", f"`{key}` is written twice, the last counts", span, note)
            self.places[key] = span
            yield from self._map(key) if key in MAPS else self._values(key)

    def _take(self, key: str, form: str) -> str | Diagnostic:
        """The next word, or what is wrong with it."""
        pattern, what = _FORMS[form]
        word = self.stream.peek()
        if word is None or word.text in KEYS or word.text in MAPS:
            return diagnostic("AS784", f"the value of `{key}` is missing", self.places[key])
        self.stream.place += 1
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

    def missing(self) -> Iterator[Diagnostic]:
        """Keys without which ns-3 cannot run."""
        for key in NEEDED:
            if key not in self.places:
                yield diagnostic("AS784", f"`{key}` is missing", self.source.whole())
