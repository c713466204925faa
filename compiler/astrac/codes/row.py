"""The shape of a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Code:
    """A diagnostic code and its page (`astrac explain CODE`).

    Attributes:
        code: `AS` and three digits; never reused for another meaning.
        title: a few words, lower case.
        what: what is wrong, in a sentence or two.
        why: what would happen otherwise (often what the simulator does with it).
        bad: a spec (or the artifact, named in the first comment line) that triggers it.
        good: the same, repaired.
        severity: one per code.
    """

    code: str
    title: str
    what: str
    why: str
    bad: str = ""
    good: str = ""
    severity: Severity = Severity.ERROR
