"""How the collectives of a plan are told to ASTRA-sim, which of them it cannot run, and what it makes of groups."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnostic, Setting, diagnostic
from astrac.figures import duration
from astrac.job import AxisGroup, Collective, Kind, ListedGroup
from astrac.simulators.algorithms import IN_GROUPS, Named, by_word, by_word_2
from astrac.simulators.algorithms.direct import DIRECT
from astrac.simulators.algorithms.ring import RING
from astrac.simulators.astra_sim_2.groups import by_dimensions
from astrac.simulators.astra_sim_2.lower.machine import wanted
from astrac.simulators.astra_sim_2.simulate import collective_time
from astrac.simulators.blocks import BLOCKS
from astrac.training.finding import written
from astrac.training.plan import Communicate
from astrac.training.strategies.placement import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Axis, Job
    from astrac.source import Span
    from astrac.spec import Spec
    from astrac.training.plan import Plan

    At = Callable[[str], Span]


def groups_of(plan: Plan) -> dict[tuple[tuple[str, ...], tuple[int, ...]], AxisGroup]:
    """How the ranks of a collective are told to the simulator, by its `axes` and `only`.

    `involved_dim` keeps algorithms and endpoint delay of each dimension; it needs whole dimensions, and members that
    have issued equally many collectives before, which ranks of one pipeline stage have. Anything else is a communicator
    group; once there is one, so is the group of all ranks. See docs/simulators/astra-sim-2.md, sections 3.5 and 6.1
    (number 5).
    """
    axes = {axis.name: axis for axis in plan.axes}
    order = list(axes)
    steps = {id(program.steps): program.steps for program in plan.programs}
    actions = (step.action for each in steps.values() for step in each)
    told = {(action.axes, action.only) for action in actions if isinstance(action, Communicate)}
    edges = bounds(plan.spec.topology)
    whole = {key: _whole_dimensions([axes[name] for name in key[0]], key[1], edges) for key in told}
    listed = None in whole.values()
    return {
        (names, only): AxisGroup(
            tuple(sorted(names, key=order.index)), only, None if listed and involved and all(involved) else involved
        )
        for (names, only), involved in whole.items()
    }


def _whole_dimensions(axes: list[Axis], only: tuple[int, ...], edges: list[int]) -> tuple[bool, ...] | None:
    """Which dimensions the axes fill wholly, or None when they do not fill whole ones."""
    if only or any(axis.name == "pipeline" for axis in axes):
        return None
    involved = []
    for low, high in pairwise(edges):
        covered = prod(max(1, min(high, axis.stride * axis.size) // max(low, axis.stride)) for axis in axes)
        if covered not in (1, high // low):
            return None
        involved.append(covered == high // low)
    return tuple(involved)


class _Case(NamedTuple):
    """What is distinct about a collective, and whether this is a communicator group."""

    kind: Kind
    bytes: int
    group: AxisGroup


def limits(spec: Spec, job: Job, at: At) -> Iterator[Diagnostic]:
    """AS717 and AS718 for collectives that ASTRA-sim cannot run, or runs as others; AS807 and AS808 about groups."""
    cases: dict[_Case, tuple[str, int]] = {}  # the distinct collectives: the name of one, and a rank that takes part
    seen: set[int] = set()
    for ranks in job.classes:
        ops = job.programs[ranks.program].ops
        rank = next(job.ranks(ranks))
        for op in () if id(ops) in seen else ops:
            if isinstance(op, Collective) and isinstance(op.group, AxisGroup):
                cases.setdefault(_Case(op.kind, op.bytes, op.group), (op.name, rank))
        seen.add(id(ops))
    unable = (*_partial(spec, job, cases, at), *_unable(spec, cases, at))
    yield from unable or _broken(spec, job, cases, at)
    yield from _crowded(job, at)
    yield from _flattened(spec, job, cases, at)
    if not unable:
        yield from _slow(spec, job, cases, at)


def _partial(spec: Spec, job: Job, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS543 for a collective of some of the NPUs where a `one_` algorithm makes it one of all."""
    word = spec.system.algorithm
    part = next((case for case in cases if job.size(case.group) != job.machine.npus), None)
    if part is not None and by_word(word).whole:
        axes = " x ".join(part.group.axes)
        message = (
            f"`{word}` runs every collective over all {job.machine.npus} NPUs, and `{cases[part][0]}` is one of "
            f"{job.size(part.group)} ({axes})"
        )
        hints = (f"`algorithm: {by_word(word).row.words.language}` keeps to the dimensions of a collective",)
        yield diagnostic("AS543", message, at("/system/algorithm"), hints=hints)


def _unable(spec: Spec, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS718 where `ring` had to stand for an algorithm, or a tree runs an all-reduce in place of something else."""
    told: set[tuple[int, Kind]] = set()
    for case, (name, _) in cases.items():
        for index, kind in _asked(case, spec):
            block = spec.topology.dimensions[index]
            word = wanted(block, case.kind, spec.system.algorithm)
            row = by_word(word).row
            if kind in row.kinds or (index, case.kind) in told:
                continue
            told.add((index, case.kind))
            pointer = f"/topology/dimensions/{index}/algorithm" if block.algorithm else "/system/algorithm"
            key, what = case.kind.name.lower(), kind.name.lower().replace("_", "-")
            hint = f"say `algorithms {{ {key}: {row.stand_in} }}` in `{block.name}`, or another word that can do it"
            part = "" if kind is case.kind else " part of"
            message = f"`{word}` cannot do the {what}{part} `{name}`"
            yield diagnostic("AS718", message, at(pointer), hints=(hint,))


def _asked(case: _Case, spec: Spec) -> Iterator[tuple[int, Kind]]:
    """What each dimension does of a collective: of an all-reduce over several the last one alone an all-reduce."""
    # A communicator group keeps the algorithm of a lone dimension.
    alone = (True,) if len(spec.topology.dimensions) == 1 else ()
    indices = [index for index, involved in enumerate(case.group.dimensions or alone) if involved]
    halves = case.kind is Kind.ALL_REDUCE and spec.system.optimization == "local_bw_aware"
    for index in indices:
        yield index, Kind.REDUCE_SCATTER if halves and index != indices[-1] else case.kind


def _broken(spec: Spec, job: Job, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS717 for collectives that break by themselves; one for each kind, about the smallest.

    Rings only break on all-gathers of fewer bytes than chunks, so nothing else is played.
    """
    machine = job.machine
    told: set[Kind] = set()
    for (kind, size, group), (name, rank) in sorted(cases.items(), key=lambda entry: entry[0].bytes):
        rows = (by_word_2(word) for word in machine.algorithms[kind])
        odd = any(named is None or not named.row.stands_in for named in rows)
        short = kind is Kind.ALL_GATHER and size < machine.splits
        if kind in told or not (odd or short):
            continue
        # The group as a machine without named axes knows it.
        involved = group.dimensions
        unnamed = ListedGroup(1, job.members(group, rank)) if involved is None else by_dimensions(involved)
        fails = collective_time(machine, kind, size, unnamed).fails
        if fails is None:
            continue
        told.add(kind)
        message = f"`{name}` ({size:,} B, chunks {machine.splits}): {fails}"
        hint = f"at most {size} `chunks`" if short else f"`{RING.words.language}` can run it"
        place = sized(at) if short else at(_odd_algorithm(spec))
        yield diagnostic("AS717", message, place, hints=(hint,))


def sized(at: At) -> Span:
    """What in a spec decides how many bytes a chunk has."""
    return written(at, "/model/collective/size", "/system/chunks", "/model")


def _odd_algorithm(spec: Spec) -> str:
    """Where the spec asks for the last algorithm that is no ring."""
    for index, block in reversed(list(enumerate(spec.topology.dimensions))):
        for key in ("algorithm", "algorithms"):
            if getattr(block, key) not in (None, RING.words.language):
                return f"/topology/dimensions/{index}/{key}"
    return "/system/algorithm"


SLOW_NS = 100_000
"""A collective that takes less is not worth a word."""

PLAYED = 4096
"""Members of a dimension that are played to compare algorithms."""


def _slow(spec: Spec, job: Job, cases: dict[_Case, tuple[str, int]], at: At) -> Iterator[Diagnostic]:
    """AS891 for an algorithm that another one beats by half its time and more, about the largest collective of a kind.

    Tried are `direct` where each peer has a link of its own, and one message at a time for an all-to-all elsewhere.
    """
    machine, told = job.machine, set[Kind]()
    for (kind, size, group), (name, _) in sorted(cases.items(), key=lambda entry: -entry[0].bytes):
        blocks, words = spec.topology.dimensions, machine.algorithms[kind]
        alone = (True,) if len(blocks) == 1 and job.size(group) == machine.npus else ()
        involved = group.dimensions or alone
        if kind in told or not involved or len(words) < len(blocks) or max(block.size for block in blocks) > PLAYED:
            continue
        told.add(kind)
        better, texts, changed = list(words), list[Setting](), list[int]()
        for index in (index for index, here in enumerate(involved) if here):
            own = BLOCKS[blocks[index].kind].port_per_peer
            named = by_word_2(words[index])
            if (own or kind is Kind.ALL_TO_ALL) and named is not None and not named.whole and named.row is not DIRECT:
                better[index] = Named(DIRECT, window=None if own else 1).astra_sim_2
                key = f"algorithms {{ {kind.name.lower()}: direct }}"
                texts.append(Setting(f"/topology/dimensions/{index}", f"{key}{'' if own else ', window: 1'}"))
                changed.append(index)
        if not changed:
            continue
        other = replace(machine, algorithms=machine.algorithms | {kind: tuple(better)})
        now, then = (collective_time(each, kind, size, by_dimensions(involved)) for each in (machine, other))
        if then.fails is None and now.cycles > max(SLOW_NS, 1.5 * then.cycles):
            slow = " and ".join(
                dict.fromkeys(f"`{wanted(blocks[at_], kind, spec.system.algorithm)}`" for at_ in changed)
            )
            message = (
                f"`{name}` ({size:,} B) takes {duration(now.cycles)} by {slow}, {duration(then.cycles)} by `direct`"
            )
            pointer = f"/topology/dimensions/{changed[0]}"
            places = f"{pointer}/algorithms/{kind.name.lower()}", f"{pointer}/algorithm", "/system/algorithm", pointer
            yield diagnostic("AS891", message, written(at, *places), settings=texts)


def _crowded(job: Job, at: At) -> Iterator[Diagnostic]:
    """AS807 for two sub-groups of one kind on one dimension (docs/simulators/astra-sim-2.md, section 6.3, M2)."""
    for program in job.programs if len(job.machine.dimensions) == 1 else ():
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
    blocks = list(zip(spec.topology.dimensions, pairwise(bounds(spec.topology)), strict=True))
    delayed = job.machine.endpoint_delay != 10
    for kind, _, group in cases:
        if group.dimensions is not None or group in told or job.size(group) == job.machine.npus:
            continue
        axes = [job.axis(name) for name in group.axes]
        touched = [  # dimensions along which the members differ
            block
            for block, (low, high) in blocks
            if any(low < axis.stride * axis.size and high > axis.stride for axis in axes)
        ]
        words = {wanted(block, kind, spec.system.algorithm) for block in touched}
        # Two run a ring of two by any word.
        forced = len(blocks) > 1 and job.size(group) > 2 and (len(touched) > 1 or words != {IN_GROUPS.words.language})
        if delayed or forced:
            told.add(group)
            names = " x ".join(f"`{block.name}`" for block in touched)
            message = f"the {' x '.join(group.axes)} ranks fill {names} in part: ASTRA-sim runs them as one ring"
            # Where the spec speaks of the first axis of the group.
            kinds = [] if spec.parallelism is None else [axis.kind for axis in spec.parallelism.axes]
            kind_of_axis = group.axes[0].partition(".")[0]
            pointer = f"/parallelism/axes/{kinds.index(kind_of_axis)}" if kind_of_axis in kinds else "/parallelism"
            yield diagnostic("AS808", message + ", with an endpoint delay of 10 ns", at(pointer))
