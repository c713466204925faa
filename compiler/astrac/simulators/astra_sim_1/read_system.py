"""system.txt -> TextSystem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Label, Result, diagnostic, has_errors
from astrac.simulators.algorithms import by_word_1, words_1
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import SharedBus, TextSystem
from astrac.simulators.texts import Words
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.texts import Word
    from astrac.source import Source

_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of system.txt, and what its value may be.

    Attributes:
        attribute: of `TextSystem`, "" where the key is a part of one.
        takes: what its value is, for messages.
        value: what a word means, None when it is no value.
        required: the simulator stops, or reads memory that was never set, without it.
        advice: for words that the simulator accepts but that mean something else than they say.
    """

    attribute: str
    takes: str
    value: Callable[[str], Any]
    required: bool = False
    advice: Callable[[str], str | None] = lambda _: None


def _choice(attribute: str, **meanings: str) -> Setting:
    return Setting(attribute, f"one of {', '.join(f'`{word}`' for word in meanings)}", meanings.get)


def _whole(attribute: str, low: int) -> Setting:
    def value(word: str) -> int | None:
        known = word.isascii() and word.isdecimal() and len(word) < 11 and low <= int(word) <= _INT
        return int(word) if known else None

    return Setting(attribute, f"a whole number from {low} on", value)


def _needed(setting: Setting) -> Setting:
    return replace(setting, required=True)


def _number(word: str) -> float | None:
    try:
        found = float(word)
    except ValueError:
        return None
    return found if 0 <= found < _INT else None


def _switch(attribute: str) -> Setting:
    """1 is on and everything else off."""
    return Setting(
        attribute, "0 or 1", lambda word: word == "1", advice=lambda word: None if word in {"0", "1"} else "off"
    )


def _log(word: str) -> str | None:
    if word in {"0", "1"}:
        return None
    return "on" if word.isdecimal() else "off"


def _words(text: str) -> tuple[str, ...] | None:
    words = tuple(text.split("_"))
    found = [by_word_1(word) for word in words]
    return words if all(known is not None and known.window != 0 for known in found) else None


_FORMS = ", ".join(f"`{form}`" for form in words_1())
_IMPLEMENTATION = Setting("", f"words joined by an underscore: {_FORMS}", _words, required=True)

SETTINGS: dict[str, Setting] = {
    "scheduling-policy": _needed(_choice("scheduling", LIFO="LIFO", FIFO="FIFO")),
    **dict.fromkeys(keys.IMPLEMENTATION_KEYS.values(), _IMPLEMENTATION),
    "collective-optimization": _needed(_choice("optimization", localBWAware="localBWAware", baseline="baseline")),
    "preferred-dataset-splits": _needed(_whole("splits", 1)),
    "endpoint-delay": _whole("endpoint_delay", 1),
    "active-chunks-per-dimension": _whole("active_chunks", 1),
    "boost-mode": _switch("boost"),
    "intra-dimension-scheduling": _choice(
        "intra", FIFO="FIFO", RG="RG", SCF="SCF", smallestFirst="SCF", lessRemainingPhaseFirst="lessRemainingPhaseFirst"
    ),
    "inter-dimension-scheduling": _choice(
        "inter",
        ascending="ascending",
        baseline="ascending",
        roundRobin="roundRobin",
        themis="themis",
        offlineGreedy="themis",
        themisFlex="themisFlex",
        offlineGreedyFlex="themisFlex",
    ),
    "model-shared-bus": _switch(""),
    "L": _whole("", 0),
    "o": _whole("", 0),
    "g": _whole("", 0),
    "G": Setting("", "a number from 0 on", _number),
    "local-reduction-delay": _whole("local_reduction_delay", 0),
    "seprate-log": Setting("separate_log", "0 or 1", lambda word: word.isdecimal() and int(word) != 0, advice=_log),
}
"""Keys of system.txt, without their colon, as they are written there."""

BUS_KEYS = ("L", "o", "g", "G")

_WRITTEN = frozenset(f"{key}:" for key in SETTINGS)


def read_system(source: Source) -> Result[TextSystem]:
    """The system, or what is wrong with it: AS730 to AS733, and advice AS843 and AS846."""
    pairs = _Pairs(Words(source))
    if not pairs.words.left:
        return Result(None, (diagnostic("AS731", "the file is empty", source.whole()),))
    findings = [*pairs.read()]
    given = pairs.given
    needed = [key for key, setting in SETTINGS.items() if setting.required]
    if "model-shared-bus" in given and given["model-shared-bus"].text == "1":
        needed += BUS_KEYS
    missing = [key for key in needed if key not in given and key not in pairs.started]
    findings += [diagnostic("AS731", f"the key `{key}:` is missing", source.whole()) for key in missing]
    values = {key: SETTINGS[key].value(word.text) for key, word in given.items()}
    for key, word in given.items():
        findings += _judge(key, word, values[key])
    if has_errors(findings):
        return Result(None, tuple(findings))
    return Result(_system(values, given), tuple(findings))


class _Pairs:
    """Reads keys with their values; one per call of `read_system`.

    Attributes:
        words: of the file.
        given: key -> its value.
        started: keys that stand there, with a value or not.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self.given: dict[str, Word] = {}
        self.started: set[str] = set()

    def read(self) -> Iterator[Diagnostic]:
        """What is wrong with the keys."""
        places: dict[str, Word] = {}
        while (word := self.words.next()) is not None:
            key = word.text.removesuffix(":")
            if word.text not in _WRITTEN:
                yield self._unknown(word)
                self.words.skip_line(word.line, _WRITTEN)
                continue
            self.started.add(key)
            value = self.words.peek()
            if value is None or value.text.endswith(":"):
                yield diagnostic("AS732", f"the value of `{word.text}` is missing", word.span)
                continue
            if key in places:
                note = Label(places[key].span, "first written here")
                yield diagnostic("AS843", f"`{key}:` is written twice, the last counts", word.span, note)
            places[key], self.given[key] = word, value
            self.words.place += 1

    def _unknown(self, word: Word) -> Diagnostic:
        name, _, value = word.text.partition(":")
        if word.text.startswith(("#", "//")):
            hints: tuple[str, ...] = ("system.txt has no comments",)
        elif word.text.startswith(("{", '"')):
            hints = ("this looks like the system.json of ASTRA-sim 2.x; 1.0 reads `key: value` pairs",)
        elif name in SETTINGS:
            self.started.add(name)
            hints = (f"write `{name}: {value or '...'}`, the colon glued to the key and then a blank",)
        else:
            hints = did_you_mean(name, SETTINGS)
        message = f"`{word.text if len(word.text) <= 60 else word.text[:57] + '...'}` is not a key of system.txt"
        return diagnostic("AS730", message, word.span, hints=hints)


def _judge(key: str, word: Word, value: object) -> list[Diagnostic]:
    """What is wrong with a value."""
    setting = SETTINGS[key]
    if value is None:
        choices = setting.takes.split("`")[1::2]
        message = f"`{key}:` takes {setting.takes}"
        return [diagnostic("AS733", message, word.span, hints=did_you_mean(word.text, choices))]
    meaning = setting.advice(word.text)
    return [] if meaning is None else [diagnostic("AS846", f"`{key}: {word.text}` is {meaning}", word.span)]


def _system(values: dict[str, Any], words: dict[str, Word]) -> TextSystem:
    return TextSystem(
        **{SETTINGS[key].attribute: value for key, value in values.items() if SETTINGS[key].attribute},
        algorithms={kind: values[key] for kind, key in keys.IMPLEMENTATION_KEYS.items()},
        shared_bus=SharedBus(*(values[key] for key in BUS_KEYS)) if values.get("model-shared-bus") else None,
        origins={f"/{key}": word.span for key, word in words.items()},
    )
