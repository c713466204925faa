"""What a Job was read from: where findings about it are shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from astrac.diagnostics import Label
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from astrac.job import Job, Op, Program
    from astrac.positioned import Tree
    from astrac.source import Span

BACKENDS = ("congestion_unaware", "congestion_aware", "ns3")


@dataclass(frozen=True)
class Evidence:
    """The files behind a Job.

    Attributes:
        job: what they say.
        trees: role (`network`, `system`, `memory`, `groups`) -> the document, where it is one.
        trace: the path of a rank's trace.
        backend: of BACKENDS.
        exact: whether the Job says all that the simulator will do; if not, a play shows only whether it ends.
    """

    job: Job
    trees: Mapping[str, Tree]
    trace: Callable[[int], object]
    backend: str = BACKENDS[0]
    exact: bool = True

    def at(self, role: str, pointer: str = "") -> Span | None:
        """Where a value stands, the start of its file when it is not there; None without the file."""
        tree = self.trees.get(role)
        if tree is None:
            return None
        found = tree.values.get(pointer)
        return found if found is not None and pointer else next(iter(tree.values.values())).source.whole()

    def label(self, role: str, pointer: str, text: str) -> tuple[Label, ...]:
        """A further place of a finding, none when the value is not there."""
        tree = self.trees.get(role)
        return (Label(tree.values[pointer], text),) if tree is not None and pointer in tree.values else ()

    @cached_property
    def lowest(self) -> dict[int, int]:
        """The lowest rank that runs each program, by the program's index."""
        found: dict[int, int] = {}
        for members in self.job.classes:
            rank = min(self.job.ranks(members))
            found[members.program] = min(rank, found.get(members.program, rank))
        return found

    @cached_property
    def programs(self) -> dict[int, Program]:
        """Those that some rank runs, by their index."""
        numbers = sorted({members.program for members in self.job.classes})
        return {number: self.job.programs[number] for number in numbers}

    def of(self, program: int) -> Span:
        """The trace of the lowest rank that runs a program: traces are binary, so the place is the file."""
        return self.of_rank(self.lowest[program])

    def of_rank(self, rank: int) -> Span:
        """The trace of a rank."""
        return Source(str(self.trace(rank))).whole()


def node(op: Op) -> str:
    """A node for messages: its id, and its name where it has one."""
    name = "".join(letter if letter.isprintable() else " " for letter in op.name[:60])
    return f"node {op.id}" + (f" `{name}`" if name else "")
