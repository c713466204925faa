"""Networks that no product of building blocks can say: the nearest form that exists, and what it loses."""

from __future__ import annotations

import re

from astrac.simulators.blocks import names_2
from astrac.suggest import did_you_mean

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile("torus"), "a torus is a `Ring` a dimension, `topology: [ Ring, Ring ]`: nothing is lost"),
    (
        re.compile("cube|dgx|hybrid"),
        "one block a dimension: `[ FullyConnected, Ring ]` is nearest, and loses links that run across dimensions",
    ),
    (
        re.compile("mesh|grid|line|chain"),
        "a `Ring` a dimension is nearest: it has the link that closes each line, which a mesh has not",
    ),
    (
        re.compile("tree|clos|leaf|spine|dragonfly|bus|crossbar|star"),
        "a `Switch` a level is nearest: it has no oversubscription and no contention unless its bandwidth is lowered",
    ),
)
"""What a word for a network asks for, and the hint."""


def hints(word: str) -> tuple[str, ...]:
    """What to write in place of a word that is no building block."""
    plain = re.sub(r"[^a-z]", "", word.lower())
    meant = next((block for block in names_2() if block.lower() == plain), None)
    if meant is not None:
        return (f"did you mean `{meant}`?",)
    form = next((hint for pattern, hint in _FORMS if pattern.search(plain)), None)
    if form is not None:
        return (form, "the ns-3 backend takes any links")
    return did_you_mean(word, names_2())
