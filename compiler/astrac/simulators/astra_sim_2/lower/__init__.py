"""Plan -> Job: the machine in the simulator's own numbers, and steps as nodes of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.job import (
    IMPLEMENTED,
    Collective,
    Compute,
    Job,
    Load,
    Machine,
    Op,
    Program,
    RankClass,
    Receive,
    Send,
    Store,
)
from astrac.simulators.algorithms import by_word
from astrac.simulators.astra_sim_2.check.job import check_own
from astrac.simulators.astra_sim_2.lower.groups import Groups, boxes
from astrac.simulators.astra_sim_2.lower.limits import limits
from astrac.simulators.astra_sim_2.lower.machine import machine_of
from astrac.simulators.astra_sim_2.lower.steer import steer
from astrac.simulators.blocks import BLOCKS
from astrac.training.plan import Communicate, Computation, Plan, Remote, Step, Transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Span
    from astrac.spec import Spec
    from astrac.training.plan import StageProgram


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
    groups = Groups(plan, machine)
    try:
        programs = tuple(Program(_ops(program, plan, machine, groups, near)) for program in plan.programs)
    except Diagnosed as stop:
        return Result(None, (stop.diagnostic,))
    classes = tuple(RankClass(index, boxes(program, plan)) for index, program in enumerate(plan.programs))
    job = Job(plan.spec.model.name or "model", machine, plan.axes, programs, classes)
    found = tuple(limits(plan.spec, job, near))
    return Result(job, found if has_errors(found) else (*found, *check_own(job, near)))


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


def _ops(
    program: StageProgram, plan: Plan, machine: Machine, groups: Groups, at: Callable[[str], Span]
) -> tuple[Op, ...]:
    """The nodes of a program, in ascending order of their ids; raises Diagnosed (AS705)."""
    steps = program.in_order_of_nodes()
    number = {step.id: index for index, step in enumerate(steps)}
    computed: dict[Computation, tuple[int, int]] = {}
    for step in steps:
        if isinstance(step.action, Computation) and step.action not in computed:
            computed[step.action] = _steered(step.action, step, machine, at)
    return tuple(_op(step, number, plan, groups, computed) for step in steps)


class _Common(TypedDict):
    """The fields that every node of a trace has."""

    id: int
    name: str
    data: tuple[int, ...]
    control: tuple[int, ...]


def _op(
    step: Step,
    number: dict[int, int],
    plan: Plan,
    groups: Groups,
    computed: dict[Computation, tuple[int, int]],
) -> Op:
    common: _Common = {
        "id": number[step.id],
        "name": _name(step, plan),
        "data": tuple(sorted(number[need] for need in step.needs)),
        "control": tuple(sorted(number[need] for need in step.after)),
    }
    action = step.action
    match action:
        case Computation():
            ops, size = computed[action]
            return Compute(num_ops=ops, tensor_size=size, flops=action.flops, bytes=action.bytes, **common)
        case Communicate():
            return Collective(kind=action.kind, bytes=action.bytes, group=groups.of(action), **common)
        case Transfer(axis, offset, size, tag, send):
            return (Send if send else Receive)(axis=axis, offset=offset, bytes=size, tag=tag, **common)
        case Remote(size, store):
            return (Store if store else Load)(bytes=size, **common)


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
