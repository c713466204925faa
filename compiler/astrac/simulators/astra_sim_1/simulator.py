"""ASTRA-sim 1.0: what the rest of the compiler asks of it.

Each function imports what it needs: a check of one text shall not pay for the engine.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, diagnostic, has_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from astrac.bundle import Artifact
    from astrac.diagnostics import Diagnostic
    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.results import SimulationResult
    from astrac.simulators.rows import Edit, FileSet
    from astrac.source import Source, Span
    from astrac.training.plan import Plan


# -- checks


def _readers() -> dict[str, Callable[[Source], Result[Any]]]:
    from astrac.simulators.astra_sim_1.read_network import read_network
    from astrac.simulators.astra_sim_1.read_system import read_system
    from astrac.simulators.astra_sim_1.read_workload import read_workload

    return {"network-1": read_network, "system-1": read_system, "workload-1": read_workload}


def check_file(kind: str, source: Source, _data: bytes, _backend: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with one text by itself."""
    return _readers()[kind](source).diagnostics


def check_set(found: FileSet, _backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together."""
    result = read(found)
    yield from result.diagnostics
    if result.value is not None:
        yield from judge(result.value)


def set_apart(files: dict[str, list[Path]]) -> None:
    """Nothing: every text is read by itself."""
    del files


def fix(kind: str, source: Source, _beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """Edits of a text that have one right answer."""
    from astrac.simulators.astra_sim_1.fix import fix as edits

    return edits(kind, source)


# -- a plan becomes files


def can_say(plan: Plan, near: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
    """AS710 for everything in a plan that 1.0 has no words for."""
    from astrac.simulators.astra_sim_1.can_say import can_say as unsaid

    return unsaid(plan, near)


def lower(plan: Plan, near: Callable[[str], Span]) -> Result[TextJob]:
    """The text job of a plan, checked; AS710 where 1.0 cannot say it."""
    from astrac.simulators.astra_sim_1.check import check_derived
    from astrac.simulators.astra_sim_1.lower import lower as make

    made = make(plan, near)
    return made if made.value is None else Result(made.value, (*made.diagnostics, *check_derived(made.value)))


def write(job: TextJob, cycles: int | None) -> tuple[Artifact, ...]:
    """network.json, system.txt, workload.txt, run.sh; `cycles` is what the script expects."""
    from astrac.simulators.astra_sim_1.write import artifacts

    return artifacts(job, cycles)


def command(job: TextJob) -> tuple[str, ...]:
    """The simulator's arguments, relative to the folder of its files."""
    from astrac.simulators.astra_sim_1.write import command as arguments

    return arguments(job)


def describe(job: TextJob) -> None:
    """Nothing: the files hold all of a text job."""
    del job


# -- files become a text job, whose time is known


def read(found: FileSet) -> Result[TextJob]:
    """The job of the three texts, each read as far as it goes."""
    return _read(found.files, found.folder)


def _read(paths: Mapping[str, Path], folder: Path | None) -> Result[TextJob]:
    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.astra_sim_1.kinds import KINDS

    diagnostics: list[Diagnostic] = []
    parts: dict[str, Any] = {}
    for kind, reader in _readers().items():
        try:
            result = reader(KINDS[kind].text(paths[kind], folder))
        except Diagnosed as stop:
            diagnostics.append(stop.diagnostic)
            continue
        diagnostics += result.diagnostics
        if not has_errors(result.diagnostics):
            parts[kind] = result.value
    job = TextJob(*(parts[kind] for kind in KINDS)) if len(parts) == len(KINDS) else None
    return Result(job, tuple(diagnostics))


def of_arguments(arguments: Sequence[str]) -> Result[TextJob]:
    """The job of the files that 1.0's own options name, with what its other options say."""
    from astrac.simulators.astra_sim_1.kinds import KINDS
    from astrac.simulators.astra_sim_1.options import apply_options

    given = dict(argument.partition("=")[::2] for argument in arguments)
    roles = {kind: f"--{row.role}-configuration" for kind, row in KINDS.items()}
    for option in sorted(roles.values(), reverse=True):
        if option not in given:
            return Result(None, (diagnostic("AS708", f"`{option}` is missing"),))
    read_ = _read({kind: Path(given[option]) for kind, option in roles.items()}, None)
    if read_.value is None:
        return read_
    rest = [argument for argument in arguments if argument.partition("=")[0] not in roles.values()]
    made = apply_options(read_.value, rest)
    return Result(None if has_errors(made.diagnostics) else made.value, (*read_.diagnostics, *made.diagnostics))


def judge(job: TextJob) -> tuple[Diagnostic, ...]:
    """What only the files together show."""
    from astrac.simulators.astra_sim_1.check import check

    return check(job)


def simulate(job: TextJob, _backend: str | None) -> SimulationResult:
    """What 1.0 will report; all of its ranks run alike. Exposed is its own: total less compute."""
    from astrac.job import Axis, Box
    from astrac.simulators.astra_sim_1.simulate import simulate as run
    from astrac.simulators.results import Failure, Outcome, RankResult, SimulationResult

    ran, npus = run(job), job.network.npus
    axes = (Axis("rank", 1, npus),)
    if ran.cycles is None:
        outcome = Outcome.UNKNOWN if ran.fails is None else Outcome.ABORT
        failure = Failure(outcome, ran.fails or ran.unknown or "no result")
        return SimulationResult(axes, failure=failure, steps=job.passes)
    ranks = RankResult(0, (Box((None,)),), npus, 0, ran.cycles, ran.compute)
    return SimulationResult(axes, (ranks,), steps=job.passes)


# -- jobs compared, and made specs


def differences(one: TextJob, other: TextJob) -> tuple[str, ...]:
    """A line a difference, in the words of the files; none when both are the same to the simulator."""
    from astrac.simulators.astra_sim_1.differences import differences as found

    return found(one, other)


def to_spec(found: FileSet, origin: str) -> Result[str]:
    """A spec that builds the same network and system; AS876 for what it leaves out, AS788 without it."""
    from astrac.simulators.astra_sim_1.to_spec import to_spec as spec

    job = read(found)
    if job.value is None:
        return Result(None, job.diagnostics)
    made = spec(job.value, origin)
    return Result(made.value, (*job.diagnostics, *made.diagnostics))
