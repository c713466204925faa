"""ASTRA-sim 2.x, its analytical backends: what the rest of the compiler asks of it.

Each function imports what it needs: a check of one text shall not pay for protobuf, nor a check of traces for jinja2.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, has_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from astrac.bundle import Artifact
    from astrac.diagnostics import Diagnostic
    from astrac.job import Job
    from astrac.simulators.astra_sim_2.read.files import Files
    from astrac.simulators.results import SimulationResult
    from astrac.simulators.rows import Edit, FileSet
    from astrac.source import Source, Span
    from astrac.training.plan import Plan


# -- checks


def check_file(kind: str, source: Source, data: bytes, backend: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with one file by itself; the name of a trace tells its rank."""
    if kind == "trace":
        return _check_trace(source, data)
    from astrac.simulators.astra_sim_2.check.evidence import BACKENDS
    from astrac.simulators.astra_sim_2.check.files import check_file as check

    return check(source, kind, backend or BACKENDS[0])


def _check_trace(source: Source, data: bytes) -> tuple[Diagnostic, ...]:
    from astrac.simulators.astra_sim_2.check.evidence import Evidence
    from astrac.simulators.astra_sim_2.check.job import check_trace
    from astrac.simulators.astra_sim_2.read.single_trace import read_single

    match = re.fullmatch(r"(?s:.+)\.(0|[1-9]\d*)\.et", source.name, re.ASCII)
    job, found = read_single(data, int(match[1]) if match else None, source)
    return found if job is None else (*found, *check_trace(Evidence(job, {}, lambda _: source.name)))


def check_set(found: FileSet, backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together, on a backend or on the first."""
    from astrac.simulators.astra_sim_2.check.bundle import check_bundle

    return check_bundle(found, backend)


def set_apart(files: dict[str, list[Path]]) -> None:
    """Takes the traces of custom collectives, which are no workload, out of what a survey found; in place."""
    from astrac.simulators.astra_sim_2.read.files import set_apart as take_out

    take_out(files)


def fix(kind: str, source: Source, beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """Edits of a text that have one right answer; `beside` looks for files of the same folder, by kind."""
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


# -- files become a Job, whose time is known


def read(found: FileSet) -> Result[Job]:
    """The Job of files that run together.

    Returns:
        The Job, with errors where the simulator runs something else than the files say. Axes and groups have our names
        where a manifest of ours says them and the files agree; otherwise axes are `dim0`, `dim1`, ..., groups are the
        group file's, and messages go along `rank`. Without a Job: AS700 to AS709, AS714, AS715, AS720.
    """
    from astrac.simulators.astra_sim_2.read.files import of_set

    return _examined(lambda: of_set(found))


def of_arguments(arguments: Sequence[str]) -> Result[Job]:
    """The Job of the files that ASTRA-sim's own options name."""
    from astrac.simulators.astra_sim_2.read.files import of_arguments as files_of

    return _examined(lambda: files_of(arguments, Path()))


def _examined(locate: Callable[[], Files]) -> Result[Job]:
    from astrac.simulators.astra_sim_2.read.reading import examine

    try:
        reading = examine(locate())
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    return Result(None if reading.unmodelled else reading.job, (*reading.diagnostics, *reading.unmodelled.values()))


def judge(job: Job) -> tuple[Diagnostic, ...]:
    """Nothing: what a Job does wrong shows when it is simulated."""
    del job
    return ()


def simulate(job: Job, backend: str | None) -> SimulationResult:
    """What a run reports, with the times of every node of a rank of each class."""
    from astrac.simulators.astra_sim_2.simulate import BACKENDS

    return BACKENDS[backend or next(iter(BACKENDS))](job, trace=True)


# -- traces as text


def decode(data: bytes, form: str) -> Iterator[str]:
    """The lines of a trace: `text` for people, `jsonl` to be encoded again; raises Diagnosed."""
    from astrac.simulators.astra_sim_2 import transcript

    return transcript.to_text(data) if form == "text" else transcript.to_lines(data)


def encode(lines: Iterator[str]) -> bytes:
    """The trace that lines of JSON describe; raises Diagnosed."""
    from astrac.simulators.astra_sim_2 import transcript

    return b"".join(transcript.from_lines(lines))


# -- Jobs compared, and made specs


def differences(one: Job, other: Job) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    from astrac.simulators.astra_sim_2.differences import differences as found

    return found(one, other)


def to_spec(found: FileSet, origin: str) -> Result[str]:
    """A spec that builds the same network, system and memory; AS876 for what it leaves out, AS788 without it.

    Without traces the machine alone is imported.
    """
    from astrac.simulators.astra_sim_2.read.files import of_set
    from astrac.simulators.astra_sim_2.read.reading import examine
    from astrac.simulators.astra_sim_2.to_spec import to_spec as spec

    traces = "trace" in found.files
    try:
        files = found if traces else found._replace(files={**found.files, "trace": found.folder / "trace"})
        reading = examine(of_set(files))
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    wrong = tuple(finding for finding in reading.diagnostics if traces or finding.code != "AS709")
    missing = reading.machine is None or (traces and reading.job is None)
    if missing or has_errors(wrong) or reading.unmodelled:
        return Result(None, wrong or tuple(reading.unmodelled.values()))
    assert reading.machine is not None
    made = spec(reading.machine, reading.job if traces else None, origin)
    return Result(made.value, (*wrong, *made.diagnostics))
