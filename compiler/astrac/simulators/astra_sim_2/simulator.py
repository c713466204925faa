"""ASTRA-sim 2.x, its analytical backends: what the rest of the compiler asks of it.

Each function imports what it needs: a check of one text shall not pay for protobuf, nor a check of traces for jinja2.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, has_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.bundle import Artifact
    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.read.files import Files
    from astrac.simulators.edits import Edit
    from astrac.source import Source, Span
    from astrac.training.plan import Plan


# -- checks


def check_file(kind: str, source: Source, backend: str) -> tuple[Diagnostic, ...]:
    """What is wrong with one text by itself."""
    from astrac.simulators.astra_sim_2.check.files import check_file as check

    return check(source, kind, backend)


def check_trace(data: bytes, rank: int | None, source: Source) -> tuple[Diagnostic, ...]:
    """What is wrong with one trace by itself; its name tells the `rank`, None when it does not."""
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.simulators.astra_sim_2.check.job import check_trace as check
    from astrac.simulators.astra_sim_2.read.single_trace import read_single

    job, found = read_single(data, rank, source)
    return found if job is None else (*found, *check(Evidence(job, {}, lambda _: source.name)))


def check_set(
    files: Mapping[str, Path], folder: Path, ranks: Sequence[int], backend: str | None, *, ours: bool = False
) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together, on a backend or on the first.

    Args:
        files: by kind; of the traces the prefix.
        folder: that holds them.
        ranks: that there are traces of.
        backend: of `check.evidence.BACKENDS`.
        ours: whether a manifest of ours names them.
    """
    from astrac.simulators.astra_sim_2.check.bundle import check_bundle

    return check_bundle(files, folder, ranks, backend, ours=ours)


def set_apart(files: dict[str, list[Path]]) -> None:
    """Takes the traces of custom collectives, which are no workload, out of what a survey found; in place."""
    from astrac.simulators.astra_sim_2.read.files import set_apart as take_out

    take_out(files)


def fix(kind: str, source: Source, beside: Mapping[str, Sequence[Path]]) -> Iterator[Edit]:
    """Edits of a text that have one right answer; `beside` has the files of the same folder, by kind."""
    from astrac.simulators.astra_sim_2.fix import fix as edits

    return edits(kind, source, beside)


# -- a plan becomes files


def can_say(plan: Plan, near: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
    """Nothing: whatever a plan has, a trace says; what does not run is told by `lower`."""
    del plan, near
    return ()


def lower(plan: Plan, near: Callable[[str], Span]) -> Result[Job]:
    """The Job of a plan, checked; without it AS705, AS717, AS718, AS920."""
    from astrac.simulators.astra_sim_2.check.job import check_own
    from astrac.simulators.astra_sim_2.lower import lower as make

    made = make(plan, near)
    if made.value is None or has_errors(made.diagnostics):
        return made
    return Result(made.value, (*made.diagnostics, *check_own(made.value, near)))


def write(job: Job, cycles: int | None) -> tuple[Artifact, ...]:
    """The files of a bundle, read back and compared; `cycles` is what `run.sh` expects.

    Raises:
        Diagnosed: AS703, AS910, AS911.
    """
    from astrac.simulators.astra_sim_2.write import artifacts

    return artifacts(job, cycles)


def command(job: Job) -> tuple[str, ...]:
    """The simulator's arguments, relative to the folder of its files."""
    from astrac.simulators.astra_sim_2.write import command as arguments

    return arguments(job)


def describe(job: Job) -> dict[str, Any]:
    """What the manifest keeps of a Job that its files cannot say: axes, groups and classes by name."""
    from astrac.simulators.astra_sim_2.names import describe as names

    return names(job)


# -- files become a Job


def read(files: Mapping[str, Path], folder: Path, *, ours: bool = False) -> Result[Job]:
    """The Job of files that belong together.

    Args:
        files: by kind; of the traces the prefix.
        folder: out of which no file may lead.
        ours: whether a manifest of ours names them.

    Returns:
        The Job, with errors where the simulator runs something else than the files say; without it AS700 to AS709,
        AS714, AS715, AS720.
    """
    from astrac.simulators.astra_sim_2.read.files import of_kinds, of_manifest

    return _examined(lambda: (of_manifest(folder) if ours else None) or of_kinds(files, folder))


def of_arguments(arguments: Iterable[str], folder: Path) -> Result[Job]:
    """The Job of the files that ASTRA-sim's own options name, relative to a folder."""
    from astrac.simulators.astra_sim_2.read.files import of_arguments as named

    return _examined(lambda: named(arguments, folder))


def _examined(locate: Callable[[], Files]) -> Result[Job]:
    from astrac.simulators.astra_sim_2.read.reading import examine

    try:
        reading = examine(locate())
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    return Result(None if reading.unmodelled else reading.job, (*reading.diagnostics, *reading.unmodelled.values()))


# -- Jobs compared, and made specs


def differences(one: Job, other: Job) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    from astrac.simulators.astra_sim_2.differences import differences as found

    return found(one, other)


def to_spec(job: Job, origin: str) -> Result[str]:
    """A spec that builds the same network, system and memory; AS876 for what it leaves out, AS788 without it."""
    from astrac.simulators.astra_sim_2.to_spec import to_spec as spec

    return spec(job.machine, job, origin)


def machine_to_spec(files: Mapping[str, Path], folder: Path, origin: str) -> Result[str]:
    """The same of files without traces: the machine alone."""
    from astrac.simulators.astra_sim_2.read.files import of_kinds
    from astrac.simulators.astra_sim_2.read.reading import examine
    from astrac.simulators.astra_sim_2.to_spec import to_spec as spec

    reading = examine(of_kinds({**files, "trace": folder / "trace"}, folder))
    found = tuple(finding for finding in reading.diagnostics if finding.code != "AS709")
    if reading.machine is None or has_errors(found) or reading.unmodelled:
        return Result(None, found or tuple(reading.unmodelled.values()))
    return spec(reading.machine, None, origin)
