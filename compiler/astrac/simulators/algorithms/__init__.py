"""The collective algorithms: one row of ALGORITHMS each, and all that anybody may know about them.

A new algorithm is a row here, which is a file beside this one, and its word in `schemas/topology.schema.json` and
`schemas/system.schema.json` (with the simulators' word in `schemas/artifacts/system.schema.json`). What ASTRA-sim 1.0
takes for an algorithm that it knows stands in `astra_sim_1.simulate.phases`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from astrac.simulators.algorithms.direct import DIRECT
from astrac.simulators.algorithms.double_binary_tree import DOUBLE_BINARY_TREE
from astrac.simulators.algorithms.halving_doubling import HALVING_DOUBLING
from astrac.simulators.algorithms.ring import RING

if TYPE_CHECKING:
    from astrac.job import Kind
    from astrac.simulators.algorithms.row import Algorithm, Words

ALGORITHMS: dict[str, Algorithm] = {
    row.words.language: row for row in (RING, DIRECT, HALVING_DOUBLING, DOUBLE_BINARY_TREE)
}
"""By the language's word, in the order in which messages list them."""

IN_GROUPS = RING
"""What ASTRA-sim 2.x runs in a communicator group wherever a list has more than one entry (section 3.5)."""


class Named(NamedTuple):
    """What a word of an `*-implementation` list, or of the language, means.

    Attributes:
        row: the algorithm.
        whole: one ring over all NPUs.
        window: sends in flight of a windowed algorithm; None = as many as there are peers.
    """

    row: Algorithm
    whole: bool = False
    window: int | None = None

    @property
    def words(self) -> Words:
        """The algorithm's words for such a ring."""
        found = self.row.whole if self.whole else self.row.words
        assert found is not None
        return found

    @property
    def astra_sim_2(self) -> str:
        """The word for ASTRA-sim 2.x with its window; assumes that it has one."""
        return f"{self.words.astra_sim_2}{'' if self.window is None else self.window}"

    @property
    def astra_sim_1(self) -> str:
        """The same for ASTRA-sim 1.0."""
        return f"{self.words.astra_sim_1}{'' if self.window is None else self.window}"

    def able(self, kind: Kind) -> Named:
        """What a spec gets for a kind of collective: itself, or what stands in for it."""
        return self if kind in self.row.kinds else Named(ALGORITHMS[self.row.stand_in], self.whole)


def _by(language: int) -> dict[str, Named]:
    """All words in one of the columns of `Words`."""
    return {
        word: Named(row, words is row.whole)
        for row in ALGORITHMS.values()
        for words in row.listed_words
        if (word := words[language]) is not None
    }


def by_word(word: str) -> Named:
    """What a word of the language means; KeyError for one that is none."""
    return _by(0)[word]


def words_2() -> tuple[str, ...]:
    """The words of ASTRA-sim 2.x, without windows."""
    return tuple(_by(1))


def words_1() -> tuple[str, ...]:
    """The words of ASTRA-sim 1.0, those of one dimension before those of all; `W` stands for the number of a window."""
    return tuple(
        form
        for whole in (False, True)
        for word, named in _by(2).items()
        if named.whole is whole
        for form in ((word, f"{word}W") if named.row.windowed else (word,))
    )


def by_word_2(word: str) -> Named | None:
    """What a word means to ASTRA-sim 2.x; None when it does not know it.

    After a windowed word it reads at most five characters as a number, whatever follows; -1 is no window.
    """
    known = _by(1)
    if word in known:
        return known[word]
    for name, named in known.items():
        number = re.match(r"(?=.)\s*([+-]?\d+)", word[len(name) :][:5]) if word.startswith(name) else None
        if named.row.windowed and number is not None:
            window = int(number[1])
            return named._replace(window=None if window == -1 else window)
    return None


def whole_2(word: str) -> bool:
    """Whether a word of ASTRA-sim 2.x lays one ring over all NPUs."""
    named = by_word_2(word)
    return named is not None and named.whole


def by_word_1(word: str) -> Named | None:
    """What a word means to ASTRA-sim 1.0, with a window of up to five digits; None when it does not know it."""
    number = re.search(r"\d{0,5}$", word, re.ASCII)
    assert number is not None
    named = _by(2).get(word[: number.start()])
    if named is None or (number[0] and not named.row.windowed):
        return None
    return named._replace(window=int(number[0])) if number[0] else named
