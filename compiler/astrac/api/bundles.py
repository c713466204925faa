"""Checks of files that run together: everything that no file shows by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.simulators.astra_sim_2 import simulator as simulator_2
from astrac.simulators.astra_sim_2.read import load
from astrac.simulators.ns3 import simulator as ns3
from astrac.simulators.recognise import KINDS
from astrac.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.survey import Bundle


def check_bundle(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], backend: str | None) -> tuple[Diagnostic, ...]:
    """All that is wrong with a bundle.

    Args:
        bundle: found by a survey.
        ranks: prefix of traces -> the ranks that there are.
        backend: that it is meant for, None for the one that its files are for.
    """
    return tuple(_FAMILIES[bundle.family](bundle, ranks, backend))


def _of_2(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], backend: str | None) -> Iterator[Diagnostic]:
    present = ranks.get(bundle.files["trace"], ())
    return simulator_2.check_set(bundle.files, bundle.folder, present, backend, ours=bundle.ours)


# -- ASTRA-sim 1.0


def _of_1(bundle: Bundle, _ranks: Mapping[Path, Sequence[int]], _backend: str | None) -> Iterator[Diagnostic]:
    from astrac.simulators.astra_sim_1 import check  # noqa: PLC0415 - needs the player of 1.0

    result = text_job(bundle)
    yield from result.diagnostics
    if result.value is not None:
        yield from check(result.value)


def text_job(bundle: Bundle) -> Result[TextJob]:
    """The three files of a 1.0 bundle, each read as far as it goes."""
    from astrac.simulators.astra_sim_1 import read_network, read_system, read_workload  # noqa: PLC0415
    from astrac.simulators.astra_sim_1.job import TextJob  # noqa: PLC0415

    found: list[Diagnostic] = []
    readers: dict[str, Callable[[Source], Result[Any]]] = {
        "network-1": read_network,
        "system-1": read_system,
        "workload-1": read_workload,
    }
    parts: dict[str, Any] = {}
    for kind, read in readers.items():
        try:
            data, _ = load.content(bundle.files[kind], bundle.folder, KINDS[kind].limit)
            result = read(Source(str(bundle.files[kind]), data.decode("utf-8")))
        except Diagnosed as stop:
            found.append(stop.diagnostic)
            continue
        except UnicodeDecodeError as error:
            place = Source(str(bundle.files[kind])).whole()
            found.append(diagnostic("AS700", f"not UTF-8: byte {error.start}", place))
            continue
        found += result.diagnostics
        if not has_errors(result.diagnostics):
            parts[kind] = result.value
    network, system, workload = (parts.get(kind) for kind in readers)
    if network is None or system is None or workload is None:
        return Result(None, tuple(found))
    return Result(TextJob(network, system, workload), tuple(found))


# -- ns-3


def _of_ns3(bundle: Bundle, ranks: Mapping[Path, Sequence[int]], _backend: str | None) -> Iterator[Diagnostic]:
    return ns3.check_set(bundle.files, bundle.folder, ranks.get(bundle.files["trace"], ()))


_FAMILIES: dict[str, Callable[[Bundle, Mapping[Path, Sequence[int]], str | None], Iterator[Diagnostic]]] = {
    "astra-sim-2": _of_2,
    "astra-sim-1": _of_1,
    "ns3": _of_ns3,
}
"""By family of `read.survey`."""
