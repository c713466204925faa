"""What ASTRA-sim makes of the collectives of a Job: those that it cannot run, and what it makes of groups."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnostic, diagnostic
from astrac.job import AxisGroup, Collective, Job, Kind, ListedGroup
from astrac.simulators.algorithms import IN_GROUPS, by_word, by_word_2
from astrac.simulators.algorithms.ring import RING
from astrac.simulators.astra_sim_2.lower.machine import wanted
from astrac.simulators.astra_sim_2.simulate import collective_time
from astrac.training.strategies.placement import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Span
    from astrac.spec import Spec

    At = Callable[[str], Span]


class _Case(NamedTuple):
    """What is distinct about a collective, and whether this is a communicator group."""

    kind: Kind
    bytes: int
    group: AxisGroup


def limits(spec: Spec, job: Job, at: At) -> Iterator[Diagnostic]:
    """AS717 and AS718 for collectives that ASTRA-sim cannot run, or runs as others; AS807 and AS808 about groups."""
    cases = _cases(job)
    unable = tuple(_unable(spec, cases, at))
    yield from unable
    if not unable:
        yield from _broken(spec, job, cases, at)
    yield from _crowded(job, at)
    yield from _flattened(spec, job, cases, at)


def _cases(job: Job) -> dict[_Case, tuple[str, int]]:
    """The distinct collectives, with the name of one and a rank that takes part."""
    found: dict[_Case, tuple[str, int]] = {}
    for ranks in job.classes:
        rank = next(job.ranks(ranks))
        for op in job.programs[ranks.program].ops:
            if isinstance(op, Collective) and isinstance(op.group, AxisGroup):
                found.setdefault(_Case(op.kind, op.bytes, op.group), (op.name, rank))
    return found


def _touched(group: AxisGroup, spec: Spec, job: Job) -> list[int]:
    """The dimensions along which the members of a group differ."""
    found = []
    for index, (low, high) in enumerate(pairwise(bounds(spec.topology))):
        axes = [job.axis(name) for name in group.axes]
        if any(low < axis.stride * axis.size and high > axis.stride for axis in axes):
            found.append(index)
    return found


def _unable(spec: Spec, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS718 where `ring` had to stand for an algorithm, or a tree runs an all-reduce in place of something else."""
    told: set[tuple[int, Kind]] = set()
    for case, (name, _) in cases.items():
        for index, kind in _asked(case, spec):
            block = spec.topology.dimensions[index]
            word = wanted(block, case.kind, spec.system.algorithm)
            if kind in by_word(word).row.kinds or (index, case.kind) in told:
                continue
            told.add((index, case.kind))
            pointer = f"/topology/dimensions/{index}/algorithm" if block.algorithm else "/system/algorithm"
            key, what = case.kind.name.lower(), kind.name.lower().replace("_", "-")
            other = by_word(word).row.stand_in
            hint = f"say `algorithms {{ {key}: {other} }}` in `{block.name}`, or another word that can do it"
            part = "" if kind is case.kind else " part of"
            message = f"`{word}` cannot do the {what}{part} `{name}`"
            yield diagnostic("AS718", message, at(pointer), hints=(hint,))


def _asked(case: _Case, spec: Spec) -> Iterator[tuple[int, Kind]]:
    """What each dimension does of a collective: of an all-reduce over several the last one alone an all-reduce."""
    # A communicator group keeps the algorithm of a lone dimension.
    alone = (True,) if len(spec.topology.dimensions) == 1 else ()
    indices = [index for index, involved in enumerate(case.group.dimensions or alone) if involved]
    for index in indices:
        halves = case.kind is Kind.ALL_REDUCE and spec.system.optimization == "local_bw_aware"
        yield index, Kind.REDUCE_SCATTER if halves and index != indices[-1] else case.kind


def _broken(spec: Spec, job: Job, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS717 for collectives that break by themselves; one for each kind, about the smallest.

    Rings only break on all-gathers of fewer bytes than chunks, so nothing else is played.
    """
    machine = job.machine
    told: set[Kind] = set()
    for case, (name, rank) in sorted(cases.items(), key=lambda entry: entry[0].bytes):
        odd = any(not _stands_in(word) for word in machine.algorithms[case.kind])
        short = case.kind is Kind.ALL_GATHER and case.bytes < machine.splits
        if case.kind in told or not (odd or short):
            continue
        fails = collective_time(machine, case.kind, case.bytes, _group(job, case.group, rank)).fails
        if fails is None:
            continue
        told.add(case.kind)
        message = f"`{name}` ({case.bytes:,} B, chunks {machine.splits}): {fails}"
        if short:
            hint = f"at most {case.bytes} `chunks`"
            yield diagnostic("AS717", message, at("/system/chunks"), hints=(hint,))
        else:
            yield diagnostic(
                "AS717", message, at(_algorithm_pointer(spec)), hints=(f"`{RING.words.language}` can run it",)
            )


def _stands_in(word: str) -> bool:
    named = by_word_2(word)
    return named is not None and named.row.stands_in


def _algorithm_pointer(spec: Spec) -> str:
    """Where the spec asks for the last algorithm that is no ring."""
    for index, block in reversed(list(enumerate(spec.topology.dimensions))):
        for key in ("algorithm", "algorithms"):
            if getattr(block, key) not in (None, RING.words.language):
                return f"/topology/dimensions/{index}/{key}"
    return "/system/algorithm"


def _group(job: Job, group: AxisGroup, rank: int) -> AxisGroup | ListedGroup:
    """A group as a machine without named axes knows it."""
    if group.dimensions is None:
        return ListedGroup(1, job.members(group, rank))
    names = tuple(f"dim{index}" for index, involved in enumerate(group.dimensions) if involved)
    return AxisGroup(names, (), group.dimensions)


def _crowded(job: Job, at: At) -> Iterator[Diagnostic]:
    """AS807 for two sub-groups of one kind on one dimension (docs/simulators/astra-sim-2.md, section 6.3, M2)."""
    if len(job.machine.dimensions) > 1:
        return
    for program in job.programs:
        groups: dict[Kind, set[AxisGroup]] = {}
        for op in program.ops:
            if isinstance(op, Collective) and isinstance(op.group, AxisGroup) and op.group.dimensions is None:
                groups.setdefault(op.kind, set()).add(op.group)
        for kind, found in groups.items():
            if len(found) > 1:
                names = " and ".join(sorted("`" + " x ".join(group.axes) + "`" for group in found))
                message = f"{names} both run {kind.name.lower().replace('_', '-')}s in groups on one dimension"
                hint = "give each axis a dimension of its own: two `switch` or `ring` blocks whose sizes multiply"
                yield diagnostic("AS807", message, at("/parallelism"), hints=(hint,))
                return


def _flattened(spec: Spec, job: Job, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS808 for groups that ASTRA-sim runs otherwise than their dimensions say."""
    told: set[AxisGroup] = set()
    for case in cases:
        group = case.group
        size = job.size(group)
        if group.dimensions is not None or group in told or size == job.machine.npus:
            continue
        dimensions = [spec.topology.dimensions[index] for index in _touched(group, spec, job)]
        words = {wanted(block, case.kind, spec.system.algorithm) for block in dimensions}
        delayed = job.machine.endpoint_delay != 10
        forced = len(job.machine.dimensions) > 1 and (len(dimensions) > 1 or words != {IN_GROUPS.words.language})
        if not (delayed or forced):
            continue
        told.add(group)
        names = " x ".join(f"`{block.name}`" for block in dimensions)
        message = f"the {' x '.join(group.axes)} ranks fill {names} in part: ASTRA-sim runs them as one ring"
        yield diagnostic("AS808", message + ", with an endpoint delay of 10 ns", at(_axis_pointer(spec, group)))


def _axis_pointer(spec: Spec, group: AxisGroup) -> str:
    """Where the spec speaks of the first axis of a group."""
    axes = () if spec.parallelism is None else spec.parallelism.axes
    kind = group.axes[0].partition(".")[0]
    index = next((index for index, axis in enumerate(axes) if axis.kind == kind), None)
    return "/parallelism" if index is None else f"/parallelism/axes/{index}"
