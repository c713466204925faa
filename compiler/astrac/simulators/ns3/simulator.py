"""ASTRA-sim's ns-3 backend, which runs traces and system files of 2.x: what the rest of the compiler asks of it."""

# ruff: noqa: PLC0415 - each function imports what it needs

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.simulators.rows import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.simulators.rows import Edit
    from astrac.source import Source


__getattr__ = elsewhere(__package__, {"check_file": "check", "check_set": "check"})
"""Functions of the protocol, and the modules of this package that have them, by the same names."""


def set_apart(files: dict[str, list[Path]]) -> None:
    """Nothing: the traces are those of ASTRA-sim 2.x, which tells workloads from custom collectives."""
    del files


def fix(kind: str, source: Source, _beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """Edits of a logical topology that have one right answer; other texts have none."""
    from astrac.simulators.edits import of_document
    from astrac.simulators.texts import json_tree

    return of_document(source, "ns3-logical", json_tree) if kind == "ns3-logical" else iter(())
