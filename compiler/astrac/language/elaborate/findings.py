"""What was found wrong, without what only follows from something else that was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from astrac.diagnostics import MAX_FINDINGS, Diagnosed, Diagnostic, diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("AS201", "AS208", "AS211", "AS219")


class Lost(Exception):  # noqa: N818 - not an error of the program
    """A value depends on another that was reported already; never leaves this pass."""


class Findings:
    """Diagnostics in order of finding.

    Args:
        broken: something did not parse, so a name that is not known is no error.
    """

    def __init__(self, *, broken: bool) -> None:
        self.all: list[Diagnostic] = []
        self._broken = broken

    @property
    def full(self) -> bool:
        """Whether there are so many that nobody will read on."""
        return len(self.all) >= MAX_FINDINGS

    def add(self, finding: Diagnostic) -> None:
        """Takes a finding, unless it is about a name that may be defined in what did not parse."""
        if not (self._broken and finding.code in _NAMES) and not self.full:
            self.all.append(finding)
            if len(self.all) == MAX_FINDINGS:
                span = finding.labels[0].span
                self.all.append(diagnostic("AS108", f"after {MAX_FINDINGS:,} mistakes the rest is not looked at", span))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Takes what is raised inside as a finding; the block ends there."""
        try:
            yield
        except Diagnosed as error:
            self.add(error.diagnostic)
        except Lost:
            pass
