"""system.txt -> TextSystem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnostic, Label, Result, diagnostic, has_errors
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import SharedBus, TextSystem
from astrac.simulators.astra_sim_1.simulate.lanes import WORD_FORMS, algorithm
from astrac.simulators.astra_sim_1.tokens import Token, tokens
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.source import Source

_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of system.txt.

    Attributes:
        takes: what its value is, for messages.
        value: what a word means, None when it is no value.
        advice: for words that the simulator accepts but that mean something else than they say.
        required: the simulator stops, or reads memory that was never set, without it.
    """

    takes: str
    value: Callable[[str], Any]
    required: bool = False
    advice: Callable[[str], str | None] = lambda _: None


def _choice(**meanings: str) -> Setting:
    listed = ", ".join(f"`{word}`" for word in meanings)
    return Setting(f"one of {listed}", meanings.get)


def _needed(setting: Setting) -> Setting:
    return Setting(setting.takes, setting.value, required=True)


def _whole(low: int) -> Setting:
    def value(word: str) -> int | None:
        return (
            int(word) if word.isascii() and word.isdecimal() and len(word) < 11 and low <= int(word) <= _INT else None
        )

    return Setting(f"a whole number from {low} on", value)


def _number(word: str) -> float | None:
    try:
        found = float(word)
    except ValueError:
        return None
    return found if 0 <= found < _INT else None


def _switch() -> Setting:
    """1 is on and everything else off."""
    return Setting("0 or 1", lambda word: word == "1", advice=lambda word: None if word in {"0", "1"} else "off")


def _log(word: str) -> str | None:
    if word in {"0", "1"}:
        return None
    return "on" if word.isdecimal() else "off"


def _words(text: str) -> tuple[str, ...] | None:
    words = tuple(text.split("_"))
    found = [algorithm(word) for word in words]
    return words if all(known is not None and known.window != 0 for known in found) else None


_IMPLEMENTATION = Setting(
    f"words joined by an underscore: {', '.join(f'`{form}`' for form in WORD_FORMS)}", _words, required=True
)

SETTINGS: dict[str, Setting] = {
    "scheduling-policy": _needed(_choice(LIFO="LIFO", FIFO="FIFO")),
    **dict.fromkeys(keys.IMPLEMENTATION_KEYS.values(), _IMPLEMENTATION),
    "collective-optimization": _needed(_choice(localBWAware="localBWAware", baseline="baseline")),
    "preferred-dataset-splits": _needed(_whole(1)),
    "endpoint-delay": _whole(1),
    "active-chunks-per-dimension": _whole(1),
    "boost-mode": _switch(),
    "intra-dimension-scheduling": _choice(
        FIFO="FIFO", RG="RG", SCF="SCF", smallestFirst="SCF", lessRemainingPhaseFirst="lessRemainingPhaseFirst"
    ),
    "inter-dimension-scheduling": _choice(
        ascending="ascending",
        baseline="ascending",
        roundRobin="roundRobin",
        themis="themis",
        offlineGreedy="themis",
        themisFlex="themisFlex",
        offlineGreedyFlex="themisFlex",
    ),
    "model-shared-bus": _switch(),
    "L": _whole(0),
    "o": _whole(0),
    "g": _whole(0),
    "G": Setting("a number from 0 on", _number),
    "local-reduction-delay": _whole(0),
    "seprate-log": Setting("0 or 1", lambda word: word.isdecimal() and int(word) != 0, advice=_log),
}
"""Keys of system.txt, without their colon, as they are written there."""

BUS_KEYS = ("L", "o", "g", "G")


def read_system(source: Source) -> Result[TextSystem]:
    """The system, or what is wrong with it."""
    pairs = _Pairs(tokens(source))
    if not pairs.rest:
        return Result(None, (diagnostic("AS731", "the file is empty", source.whole()),))
    pairs.read()
    words, findings = pairs.words, pairs.findings
    needed = [key for key, setting in SETTINGS.items() if setting.required]
    if "model-shared-bus" in words and words["model-shared-bus"].text == "1":
        needed += BUS_KEYS
    missing = [key for key in needed if key not in words and key not in pairs.started]
    findings += [diagnostic("AS731", f"the key `{key}:` is missing", source.whole()) for key in missing]
    values: dict[str, Any] = {}
    for key, word in words.items():
        values[key] = SETTINGS[key].value(word.text)
        findings += _judge(key, word, values[key])
    if has_errors(findings):
        return Result(None, tuple(findings))
    return Result(_system(values, words), tuple(findings))


class _Pairs:
    """Reads keys with their values."""

    def __init__(self, words: list[Token]) -> None:
        self.rest = words[::-1]
        self.words: dict[str, Token] = {}
        self.started: set[str] = set()
        self.findings: list[Diagnostic] = []

    def read(self) -> None:
        """All of them."""
        places: dict[str, Token] = {}
        while self.rest:
            word = self.rest.pop()
            key = word.text.removesuffix(":")
            if key not in SETTINGS or word.text == key:
                self._unknown(word)
                continue
            self.started.add(key)
            if not self.rest or self.rest[-1].text.endswith(":"):
                self.findings.append(diagnostic("AS732", f"the value of `{word.text}` is missing", word.span))
                continue
            if key in places:
                note = Label(places[key].span, "first written here")
                self.findings.append(
                    diagnostic("AS843", f"`{key}:` is written twice, the last counts", word.span, note)
                )
            places[key] = word
            self.words[key] = self.rest.pop()

    def _unknown(self, word: Token) -> None:
        """Tell, and go on at the next line, or at the next key of this one."""
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
        self.findings.append(diagnostic("AS730", message, word.span, hints=hints))
        while self.rest and self.rest[-1].line == word.line and not self._at_key:
            self.rest.pop()

    @property
    def _at_key(self) -> bool:
        """Whether a key follows."""
        return self.rest[-1].text.removesuffix(":") in SETTINGS and self.rest[-1].text.endswith(":")


def _judge(key: str, word: Token, value: object) -> list[Diagnostic]:
    """What is wrong with a value."""
    setting = SETTINGS[key]
    if value is None:
        message = f"`{key}:` takes {setting.takes}"
        return [diagnostic("AS733", message, word.span, hints=did_you_mean(word.text, _choices(setting)))]
    meaning = setting.advice(word.text)
    if meaning is not None:
        return [diagnostic("AS846", f"`{key}: {word.text}` is {meaning}", word.span)]
    return []


def _choices(setting: Setting) -> list[str]:
    """The words that `takes` lists."""
    return setting.takes.split("`")[1::2]


def _system(values: dict[str, Any], words: dict[str, Token]) -> TextSystem:
    bus = SharedBus(*(values[key] for key in BUS_KEYS)) if values.get("model-shared-bus") else None
    return TextSystem(
        scheduling=values["scheduling-policy"],
        algorithms={kind: values[key] for kind, key in keys.IMPLEMENTATION_KEYS.items()},
        optimization=values["collective-optimization"],
        splits=values["preferred-dataset-splits"],
        endpoint_delay=values.get("endpoint-delay", 10),
        active_chunks=values.get("active-chunks-per-dimension", 1),
        boost=values.get("boost-mode", False),
        intra=values.get("intra-dimension-scheduling", "FIFO"),
        inter=values.get("inter-dimension-scheduling", "ascending"),
        shared_bus=bus,
        local_reduction_delay=values.get("local-reduction-delay", 1),
        separate_log=values.get("seprate-log", True),
        origins={f"/{key}": word.span for key, word in words.items()},
    )
