"""ASTRA-sim's ns-3 backend, which runs traces and system files of 2.x: what the rest of the compiler asks of it."""

# ruff: noqa: PLC0415 - each function imports what it needs

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.diagnostics import Diagnostic
    from astrac.simulators.rows import Edit, FileSet
    from astrac.source import Source


def check_file(kind: str, source: Source, _data: bytes, _backend: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with one text by itself."""
    from astrac.simulators.ns3 import check_whole, read_config, read_logical, read_topology

    if kind == "ns3-logical":
        return read_logical(source).diagnostics
    if kind == "ns3-config":
        return read_config(source).diagnostics
    topology = read_topology(source)
    return (*topology.diagnostics, *check_whole(None, None, topology.value, None))


def check_set(found: FileSet, _backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together."""
    from astrac.simulators.ns3.check import check_bundle

    return check_bundle(found)


def set_apart(files: dict[str, list[Path]]) -> None:
    """Nothing: the traces are those of ASTRA-sim 2.x, which tells workloads from custom collectives."""
    del files


def fix(kind: str, source: Source, _beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """Edits of a logical topology that have one right answer; other texts have none."""
    from astrac.simulators.edits import of_document
    from astrac.simulators.trees import json_tree

    return of_document(source, "ns3-logical", json_tree) if kind == "ns3-logical" else iter(())
