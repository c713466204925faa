"""What is wrong with a whole job: the files against each other, and the collectives that they make."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.job import IMPLEMENTED
from astrac.simulators.algorithms import by_word_1
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.check_files import COLUMNS, check_network, check_workload, finding, issued_columns
from astrac.simulators.astra_sim_1.job import FLOAT32_LIMIT, TRANSFORMERS, Stage, TextJob
from astrac.simulators.astra_sim_1.read import READERS, read_parts
from astrac.simulators.astra_sim_1.simulate import Fault, SimulationError, Surveyed, loops, survey
from astrac.simulators.astra_sim_1.simulate.engine import COMPUTE_LIMIT
from astrac.simulators.astra_sim_1.simulate.logical import boundary, logical_dimensions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from astrac.job import Kind
    from astrac.simulators.astra_sim_1.job import TextNetwork, TextSystem
    from astrac.simulators.rows import FileSet
    from astrac.source import Span

CODES: dict[Fault, str] = {
    Fault.WORDS: "AS734",
    Fault.GROUP: "AS750",
    Fault.KIND: "AS735",
    Fault.INSTEAD: "AS863",
    Fault.POWER_OF_TWO: "AS735",
    Fault.ZERO_SIZE: "AS748",
    Fault.BELOW_SPLITS: "AS753",
    Fault.TOO_LARGE: "AS754",
    Fault.TOO_SLOW: "AS755",
    Fault.TOO_FAST: "AS755",
    Fault.TOO_LONG: "AS756",
    Fault.LOST_MESSAGE: "AS736",
    Fault.BOOST: "AS737",
}
"""Codes of the faults that a survey finds."""

OF_ALGORITHMS = (Fault.KIND, Fault.INSTEAD, Fault.POWER_OF_TWO, Fault.LOST_MESSAGE)
"""Faults that lie in the words of the system file; the others lie in the size of the column."""


def check_set(found: FileSet, _backend: str | None) -> Iterator[Diagnostic]:
    """All that is wrong with files that run together."""
    parts, diagnostics = read_parts(found.files, found.inside)
    yield from diagnostics
    if len(parts) == len(READERS):
        yield from judge(TextJob(*parts.values()))
    elif "workload-1" not in found.files and len(parts) == len(found.files) > 1:
        yield from _check_words(parts["network-1"], parts["system-1"], IMPLEMENTED)


def judge(job: TextJob) -> tuple[Diagnostic, ...]:
    """What the readers cannot see in one file: options, words against dimensions, groups, every collective."""
    issued = {job.workload.rows[row].work(stage).kind for row, stage in issued_columns(job.workload)}
    findings = [*_check_options(job), *_check_words(job.network, job.system, issued), *_check_group(job)]
    if any(found.is_error for found in findings):
        return tuple(findings)
    return (*findings, *_check_times(job), *_check_collectives(job))


def check_derived(job: TextJob) -> tuple[Diagnostic, ...]:
    """Everything about a job that was not read from files: each file by itself, then `judge`."""
    alone = (*check_network(job.network), *check_workload(job.workload))
    return alone if any(found.is_error for found in alone) else (*alone, *judge(job))


def _check_options(job: TextJob) -> Iterable[Diagnostic]:
    """Numbers of the command line are in their ranges."""
    ranges: tuple[tuple[str, float, int, str], ...] = (
        ("--num-passes", job.passes, 0, "endless"),
        ("--num-queues-per-dim", job.queues, 1, "exit 1"),
        ("--compute-scale", job.compute_scale, 0, "no result"),
        ("--comm-scale", job.comm_scale, 0, "no result"),
        ("--injection-scale", job.injection_scale, 0, "no result"),
    )
    for option, value, least, effect in ranges:
        if not least <= value <= FLOAT32_LIMIT:
            yield diagnostic("AS757", f"`{option} {value}` is not a number from {least} on ({effect})")


def _check_words(network: TextNetwork, system: TextSystem, issued: Collection[Kind | None]) -> Iterable[Diagnostic]:
    """One word a dimension, or a single `one*` word; too few words for a kind that is never issued do no harm."""
    count = len(network.dimensions)
    wrong: dict[tuple[str, str], list[str]] = defaultdict(list)
    for kind in IMPLEMENTED:
        words = system.words(kind)
        flat = any(found is not None and found.whole for found in map(by_word_1, words))
        if flat and len(words) > 1:
            problem = ("AS734", "a `one*` word stands alone for all dimensions")
        elif flat or len(words) == count:
            continue
        else:
            harmless = len(words) < count and kind not in issued
            code = "AS851" if harmless else "AS734"
            problem = (code, f"{_plural(len(words), 'word')} for {_plural(count, 'dimension')}")
        wrong[problem].append(f"/{keys.IMPLEMENTATION_KEYS[kind]}")
    for (code, message), (first, *others) in wrong.items():
        notes = [note for pointer in others for note in _notes(system.origins.get(pointer), "here too")]
        notes += _notes(network.origins.get("/units-count"), "the dimensions")
        yield finding(code, message, system.origins, first, *notes)


def _check_group(job: TextJob) -> Iterable[Diagnostic]:
    if job.workload.policy not in TRANSFORMERS:
        return
    try:
        boundary(job.network, job.workload.extras.group)
        logical_dimensions(job)
    except SimulationError as error:
        notes = _notes(job.network.origins.get("/units-count"), "the dimensions")
        yield finding(CODES[error.fault], error.reason, job.workload.origins, "/extras/group", *notes)


def _check_times(job: TextJob) -> Iterable[Diagnostic]:
    for index in range(len(job.workload.rows)):
        for stage in Stage:
            if job.cycles(index, stage) >= COMPUTE_LIMIT:
                pointer = f"/rows/{index}/{COLUMNS[stage]}/time"
                yield finding("AS756", "2^53 cycles or more", job.workload.origins, pointer)


def _check_collectives(job: TextJob) -> list[Diagnostic]:
    """Every collective that the policy issues: faults once a sort, advice once a job."""
    surveyed = list(survey(job, issued_columns(job.workload)))
    findings = _check_faults(job, surveyed)
    for stage in Stage:
        dropped = [found for found in surveyed if found.stage is stage and not found.dimensions]
        if dropped:
            message = (
                f"the {COLUMNS[stage].replace('_', ' ')} communication of {_plural(len(dropped), 'layer')} "
                "has no dimension of two NPUs to go over"
            )
            findings.append(finding("AS849", message, job.workload.origins, _pointer(dropped[0], "kind")))
    uneven = [
        found for found in surveyed if found.dimensions and found.fault is None and found.bytes % job.system.splits
    ]
    if uneven:
        message = (
            f"{uneven[0].bytes} bytes are no multiple of {job.system.splits} chunks "
            f"({_plural(len(uneven), 'such collective')}): one chunk more"
        )
        findings.append(finding("AS842", message, job.workload.origins, _pointer(uneven[0], "bytes")))
    return findings


def _check_faults(job: TextJob, surveyed: list[Surveyed]) -> list[Diagnostic]:
    awaited = _awaited(job) if any(found.fault is Fault.ZERO_SIZE for found in surveyed) else frozenset()
    sorts: dict[tuple[Fault, object], list[Surveyed]] = defaultdict(list)
    empty = []
    for found in surveyed:
        if found.fault is Fault.ZERO_SIZE and (found.row, found.stage) not in awaited:
            empty.append(found)
        elif found.fault is not None:
            sorts[found.fault, found.kind if found.fault in OF_ALGORITHMS else found.reason].append(found)
    findings = [_fault(job, found) for found in sorts.values()]
    if empty:
        message = f"{_plural(len(empty), 'collective')} of 0 bytes: nothing is sent, write `NONE 0`"
        findings.append(finding("AS850", message, job.workload.origins, _pointer(empty[0], "bytes")))
    return findings


def _fault(job: TextJob, found: list[Surveyed]) -> Diagnostic:
    """One fault, at its first column."""
    first = found[0]
    assert first.fault is not None
    others = f" ({_plural(len(found), 'such collective')})" if len(found) > 1 else ""
    column = job.workload.origins.get(_pointer(first, "bytes"))
    if first.fault in OF_ALGORITHMS:
        pointer = f"/{keys.IMPLEMENTATION_KEYS[first.kind]}"
        notes = _notes(column, "this collective")
        return finding(CODES[first.fault], first.reason + others, job.system.origins, pointer, *notes)
    if first.fault is Fault.BOOST:
        notes = _notes(column, "this collective")
        return finding(CODES[first.fault], first.reason + others, job.system.origins, "/boost-mode", *notes)
    pointer = _pointer(first, "bytes")
    return finding(CODES[first.fault], first.reason + others, job.workload.origins, pointer)


def _awaited(job: TextJob) -> frozenset[tuple[int, Stage]]:
    """Columns whose collectives something waits for; two passes show it."""
    issued: set[tuple[int, Stage]] = set()
    awaited: set[tuple[int, Stage]] = set()
    for step in loops.steps(job.workload, min(job.passes, 2)):
        column = (step.row, step.stage)
        if step.act is loops.Act.ISSUE:
            issued.add(column)
        elif step.act is loops.Act.WAIT and column in issued:
            awaited.add(column)
    return frozenset(awaited)


def _pointer(found: Surveyed, part: str) -> str:
    return f"/rows/{found.row}/{COLUMNS[found.stage]}/{part}"


def _notes(span: Span | None, text: str) -> tuple[Label, ...]:
    return () if span is None else (Label(span, text),)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
