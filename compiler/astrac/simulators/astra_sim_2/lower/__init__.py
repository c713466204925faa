"""Plan -> Job: the machine in the simulator's own numbers, and steps as nodes of a trace."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.job import IMPLEMENTED, Box, Collective, Compute, Job, Load, Op, Program, RankClass, Receive, Send, Store
from astrac.simulators.algorithms import by_word
from astrac.simulators.astra_sim_2.check.job import check_own, check_programs
from astrac.simulators.astra_sim_2.lower.collectives import groups_of, limits, sized
from astrac.simulators.astra_sim_2.lower.machine import machine_of, steer
from astrac.simulators.blocks import BLOCKS
from astrac.training.plan import Communicate, Computation, Plan, Remote, Step, Transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from astrac.job import AxisGroup, Machine
    from astrac.source import Span
    from astrac.spec import Spec
    from astrac.training.plan import StageProgram

    Groups = dict[tuple[tuple[str, ...], tuple[int, ...]], AxisGroup]


def lower(plan: Plan, near: Callable[[str], Span]) -> Result[Job]:
    """The Job of a plan, checked.

    Args:
        plan: what the ranks do, step by step.
        near: the place of a JSON pointer of the spec's document.

    Returns:
        AS702 for a building block or an algorithm that ASTRA-sim does not have, AS705 when a node's time is out of its
        reach, AS717 and AS718 for a collective that it cannot run, AS920 for a mistake of ours; advice on what it makes
        of groups, and what it charges extra.
    """
    unknown = tuple(_unknown_words(plan.spec, near))
    if unknown:
        return Result(None, unknown)
    machine = machine_of(plan.spec)
    groups = groups_of(plan)
    try:
        programs, flaws = _programs(plan, machine, groups, near)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    classes = tuple(RankClass(index, _boxes(program, plan)) for index, program in enumerate(plan.programs))
    job = Job(plan.spec.model.name or "model", machine, plan.axes, programs, classes, plan.spec.system.backend)
    found = tuple(limits(plan.spec, job, near))
    return Result(job, found if has_errors(found) else (*found, *(flaws or check_own(job, sized(near)))))


def _unknown_words(spec: Spec, at: Callable[[str], Span]) -> Iterator[Diagnostic]:
    """AS702 for building blocks and algorithms that ASTRA-sim 2.x does not have."""
    asked: dict[str, str | None] = {"/system/algorithm": spec.system.algorithm}
    for index, dimension in enumerate(spec.topology.dimensions):
        pointer = f"/topology/dimensions/{index}"
        if BLOCKS[dimension.kind].astra_sim_2 is None:
            hint = "it has " + ", ".join(f"`{row.word}`" for row in BLOCKS.values() if row.astra_sim_2)
            message = f"ASTRA-sim 2.x has no `{dimension.kind}`"
            yield diagnostic("AS702", message, at(pointer), hints=(hint,))
        asked[f"{pointer}/algorithm"] = dimension.algorithm
        for kind in () if dimension.algorithms is None else IMPLEMENTED:
            asked[f"{pointer}/algorithms/{kind.name.lower()}"] = getattr(dimension.algorithms, kind.name.lower())
    for pointer, word in asked.items():
        if word and by_word(word).words.astra_sim_2 is None:
            yield diagnostic("AS702", f"ASTRA-sim 2.x has no `{word}`", at(pointer))


Made = tuple[tuple[Program, ...], tuple[Diagnostic, ...]]
"""The programs of a plan, and what is wrong with them."""
_KEPT = 8
_MADE: OrderedDict[int, tuple[tuple[StageProgram, ...], Hashable, Made]] = OrderedDict()


def _programs(plan: Plan, machine: Machine, groups: Groups, at: Callable[[str], Span]) -> Made:
    """All programs; plans that share theirs, as those do that differ in the network alone, share the nodes."""
    key = (machine.peak_performance, machine.local_mem_bandwidth, frozenset(groups.items()))
    of, known, made = _MADE.get(id(plan.programs), ((), None, ((), ())))
    if of is not plan.programs or known != key:
        programs = tuple(_each_program(plan, machine, groups, at))
        made = programs, check_programs(programs)
        _MADE[id(plan.programs)] = plan.programs, key, made
        while len(_MADE) > _KEPT:
            _MADE.popitem(last=False)
    return made


def _each_program(plan: Plan, machine: Machine, groups: Groups, at: Callable[[str], Span]) -> Iterator[Program]:
    """All programs; those that share their steps share their nodes."""
    made: dict[int, Program] = {}
    for program in plan.programs:
        first = made.get(id(program.steps))
        if first is None:
            made[id(program.steps)] = first = _program(program, plan, machine, groups, at)
        shift = 0 if program.twin is None else 2 * program.twin.shift
        yield replace(first, score=program.score, shift=shift)


def _program(program: StageProgram, plan: Plan, machine: Machine, groups: Groups, at: Callable[[str], Span]) -> Program:
    """A program as nodes, in ascending order of their ids; raises Diagnosed (AS705)."""
    steps = program.in_order_of_nodes()
    number = {step.id: index for index, step in enumerate(steps)}
    computed: dict[Computation, tuple[int, int]] = {}
    ops: list[Op] = []
    for step in steps:
        action = step.action
        common: dict[str, Any] = {
            "id": number[step.id],
            "name": _name(step, plan),
            "data": tuple(sorted(number[need] for need in step.needs)),
            "control": tuple(sorted(number[need] for need in step.after)),
        }
        match action:
            case Computation(flops, size):
                if action not in computed:
                    computed[action] = _steered(action, step, machine, at)
                num_ops, tensor_size = computed[action]
                ops.append(Compute(num_ops=num_ops, tensor_size=tensor_size, flops=flops, bytes=size, **common))
            case Communicate(kind, size, axes, only):
                ops.append(Collective(kind=kind, bytes=size, group=groups[axes, only], **common))
            case Transfer(axis, offset, size, tag, send):
                message = Send if send else Receive
                ops.append(message(axis=axis, offset=offset, bytes=size, tag=tag, **common))
            case Remote(size, store):
                ops.append((Store if store else Load)(bytes=size, **common))
    nodes = () if program.score is None else tuple(number[step.id] for step in program.steps)
    return Program(tuple(ops), program.score, nodes)


def _steered(action: Computation, step: Step, machine: Machine, at: Callable[[str], Span]) -> tuple[int, int]:
    """`num_ops` and `tensor_size` with which the simulator takes the time."""
    assert machine.peak_performance is not None
    assert machine.local_mem_bandwidth is not None
    found = steer(action.time, action.flops, action.bytes, machine.peak_performance, machine.local_mem_bandwidth)
    if found is None:
        message = f"`{step.layer}` takes {action.time} ns, which ASTRA-sim's roofline cannot say for this hardware"
        hint = (
            "it needs a peak of at least 1 GFLOPS or a memory bandwidth of at least 1 GB/s, and nodes below 2^63 FLOP"
        )
        raise Diagnosed(diagnostic("AS705", message, at("/hardware/peak"), hints=(hint,)))
    return found


def _name(step: Step, plan: Plan) -> str:
    """`layer.phase`, with the micro-batch and iteration where there are several, and what a communication is for."""
    words = [step.layer, step.phase.value]
    if isinstance(step.action, Communicate):
        words.append(f"{step.axis}_{step.action.kind.name.lower()}" if step.axis else step.action.kind.name.lower())
    elif isinstance(step.action, Transfer):
        words.append("send" if step.action.send else "receive")
    elif isinstance(step.action, Remote):
        words.append("store" if step.action.store else "load")
    if step.micro_batch is not None and plan.micro_batches > 1:
        words.append(f"m{step.micro_batch}")
    if step.iteration:
        words.append(f"i{step.iteration}")
    return ".".join(words)


def _boxes(program: StageProgram, plan: Plan) -> tuple[Box, ...]:
    """The ranks of a program: its stage, without the stragglers that have a program of their own."""
    stage = next((index for index, axis in enumerate(plan.axes) if axis.name == "pipeline"), None)
    if program.slow:
        return tuple(Box.of(plan.axes, rank) for rank in program.slow)
    slow = [rank for other in plan.programs if other.stage == program.stage for rank in other.slow]
    boxes = [Box(tuple((program.stage,) if index == stage else None for index in range(len(plan.axes))))]
    for rank in slow:
        point = tuple(axis.coordinate(rank) for axis in plan.axes)
        boxes = [piece for box in boxes for piece in _without(box, point, plan)]
    return tuple(boxes)


def _without(box: Box, point: tuple[int, ...], plan: Plan) -> list[Box]:
    """A box without one of its points, as disjoint boxes; the box itself when the point lies outside."""
    if not box.holds(point):
        return [box]
    pieces = []
    fixed: list[tuple[int, ...] | None] = list(box.coordinates)
    for index, (axis, here) in enumerate(zip(plan.axes, point, strict=True)):
        allowed = fixed[index] if fixed[index] is not None else tuple(range(axis.size))
        rest = tuple(coordinate for coordinate in allowed or () if coordinate != here)
        if rest:
            pieces.append(Box((*fixed[:index], rest, *fixed[index + 1 :])))
        fixed[index] = (here,)
    return pieces
