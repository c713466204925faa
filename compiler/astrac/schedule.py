"""Plan -> Job: the machine in the simulator's own numbers, and steps as nodes of a trace.

The only place where exact numbers become doubles, and where a unit of the language becomes a unit of the simulator.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from astrac.compute import steer
from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.job import (
    AxisGroup,
    Box,
    Collective,
    Compute,
    Dimension,
    Job,
    Kind,
    Load,
    Machine,
    MemoryType,
    Op,
    Program,
    RankClass,
    Receive,
    RemoteMemory,
    Send,
    Store,
)
from astrac.plan import Communicate, Computation, Plan, Remote, Step, Transfer
from astrac.strategies.placement import bounds, npus
from astrac.topology import BY_WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.plan import Duty
    from astrac.spec import Dimension as DimensionBlock
    from astrac.spec import Spec

ALGORITHMS: dict[str, str] = {
    "ring": "ring",
    "direct": "direct",
    "halving_doubling": "halvingDoubling",
    "double_binary_tree": "doubleBinaryTree",
    "one_ring": "oneRing",
    "one_direct": "oneDirect",
    "one_halving_doubling": "oneHalvingDoubling",
}
"""Words of the language and of system.json."""

UNABLE: dict[str, tuple[Kind, ...]] = {
    "halving_doubling": (Kind.ALL_TO_ALL,),
    "one_halving_doubling": (Kind.ALL_TO_ALL,),
    "double_binary_tree": (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL),
}
"""Kinds that an algorithm does not run, or runs as something else; `ring` stands for them."""

SHARING = {"npu": MemoryType.PER_NPU, "node": MemoryType.PER_NODE, "pool": MemoryType.POOL}
OPTIMIZATIONS = {"local_bw_aware": "localBWAware", "baseline": "baseline"}


def schedule(plan: Plan) -> Result[Job]:
    """The Job of a plan.

    Args:
        plan: lowered.

    Returns:
        AS705 when a node's time is out of the simulator's reach.
    """
    machine = _machine(plan.spec)
    try:
        programs, classes = _programs(plan, machine)
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))
    return Result(Job(plan.spec.model.name or "model", machine, plan.axes, programs, classes))


def _machine(spec: Spec) -> Machine:
    system, hardware, total = spec.system, spec.hardware, npus(spec.topology)
    word = "fp32" if spec.training is None else _compute_word(spec)
    peak = Fraction(getattr(hardware.peak, word) or 0) * hardware.efficiency
    return Machine(
        dimensions=tuple(_dimension(block) for block in spec.topology.dimensions),
        algorithms=_algorithms(spec),
        splits=system.chunks,
        active_chunks=system.active_chunks,
        optimization=OPTIMIZATIONS[system.optimization],
        scheduling=system.scheduling.upper(),
        endpoint_delay=int(system.endpoint_delay * 10**9),
        local_mem_bandwidth=float(Fraction(hardware.memory.bandwidth) / 10**9),
        peak_performance=float(peak / 10**12) if peak else None,
        roofline=bool(peak),
        memory=_remote(spec, total),
    )


def _dimension(block: DimensionBlock) -> Dimension:
    """Bandwidth in ASTRA-sim's network "GB", which are 2^30 bytes; latency in ns."""
    bandwidth = float(Fraction(block.bandwidth) / 2**30)
    return Dimension(BY_WORD[block.kind].name, block.size, bandwidth, float(Fraction(block.latency) * 10**9))


def _algorithms(spec: Spec) -> dict[Kind, tuple[str, ...]]:
    """Every list in full; a `one_` ring stands alone, since ASTRA-sim ignores what follows it."""
    default = spec.system.algorithm
    found: dict[Kind, tuple[str, ...]] = {}
    for kind in (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL):
        if default.startswith("one_"):
            found[kind] = (ALGORITHMS["one_ring" if kind in UNABLE.get(default, ()) else default],)
        else:
            found[kind] = tuple(_algorithm(block, kind, default) for block in spec.topology.dimensions)
    return found


def _algorithm(block: DimensionBlock, kind: Kind, default: str) -> str:
    own = None if block.algorithms is None else getattr(block.algorithms, kind.name.lower())
    word = own or block.algorithm or default
    if kind in UNABLE.get(word, ()):
        word = "ring"
    window = "" if word != "direct" or block.window is None else str(block.window)
    return ALGORITHMS[word] + window


def _remote(spec: Spec, total: int) -> RemoteMemory:
    """Bandwidth in whole bytes per ns and latency in whole ns, as `rules` made sure."""
    pool = spec.memory_pool
    if pool is None:
        return RemoteMemory()
    nodes = pool.nodes or 0
    return RemoteMemory(
        SHARING[pool.sharing],
        latency=int(pool.latency * 10**9),
        bandwidth=int(Fraction(pool.bandwidth) / 10**9),
        nodes=nodes if pool.sharing == "node" else 0,
        npus_per_node=total // nodes if pool.sharing == "node" and nodes else 0,
    )


# -- programs


def _programs(plan: Plan, machine: Machine) -> tuple[tuple[Program, ...], tuple[RankClass, ...]]:
    groups = _Groups(plan, machine)
    programs = tuple(Program(_ops(duty.steps, plan, machine, groups)) for duty in plan.duties)
    classes = tuple(RankClass(index, _boxes(duty, plan)) for index, duty in enumerate(plan.duties))
    return programs, classes


class _Groups:
    """How the ranks of a collective are told to the simulator.

    `involved_dim` keeps algorithms and endpoint delay of each dimension; it needs whole dimensions, and members that
    have issued equally many collectives before, which ranks of one pipeline stage have. Anything else is a communicator
    group; once there is one, so is the group of all ranks (ASTRA-SIM-2, sections 3.5 and 6.1, number 5).
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self.edges = bounds(plan.spec.topology)
        self.axes = {axis.name: axis for axis in plan.axes}
        self.order = [axis.name for axis in plan.axes]
        self.total = machine.npus
        actions = {step.action for duty in plan.duties for step in duty.steps if isinstance(step.action, Communicate)}
        self.listed = any(self._dimensions(action) is None for action in actions)
        self.known: dict[tuple[tuple[str, ...], tuple[int, ...]], AxisGroup] = {}

    def of(self, action: Communicate) -> AxisGroup:
        """The group of a collective."""
        key = (action.axes, action.only)
        if key not in self.known:
            dimensions = self._dimensions(action)
            if dimensions is not None and all(dimensions) and self.listed:
                dimensions = None
            axes = tuple(sorted(action.axes, key=self.order.index))
            self.known[key] = AxisGroup(axes, action.only, dimensions)
        return self.known[key]

    def _dimensions(self, action: Communicate) -> tuple[bool, ...] | None:
        """Which dimensions the axes fill wholly, or None when they do not fill whole ones."""
        if action.only or "pipeline" in action.axes:
            return None
        involved = []
        for low, high in pairwise(self.edges):
            covered = 1
            for name in action.axes:
                axis = self.axes[name]
                end = axis.stride * axis.size
                covered *= max(1, min(high, end) // max(low, axis.stride)) if low < end and high > axis.stride else 1
            if covered not in (1, high // low):
                return None
            involved.append(covered == high // low)
        return tuple(involved)


def _ops(steps: Sequence[Step], plan: Plan, machine: Machine, groups: _Groups) -> tuple[Op, ...]:
    """Nodes in ascending id.

    Sends come first: one that is ready then takes the slot before a collective that may have to wait.
    """
    sends = [step for step in steps if isinstance(step.action, Transfer) and step.action.send]
    others = [step for step in steps if not (isinstance(step.action, Transfer) and step.action.send)]
    number = {step.id: index for index, step in enumerate([*sends, *others])}
    computed: dict[Computation, tuple[int, int]] = {}
    return tuple(_op(step, number, plan, machine, groups, computed) for step in (*sends, *others))


def _op(
    step: Step,
    number: dict[int, int],
    plan: Plan,
    machine: Machine,
    groups: _Groups,
    computed: dict[Computation, tuple[int, int]],
) -> Op:
    common = {
        "id": number[step.id],
        "name": _name(step, plan),
        "data": tuple(sorted(number[need] for need in step.needs)),
        "control": tuple(sorted(number[need] for need in step.after)),
    }
    action = step.action
    match action:
        case Computation():
            if action not in computed:
                computed[action] = _steered(action, step, machine)
            ops, size = computed[action]
            return Compute(num_ops=ops, tensor_size=size, flops=action.flops, bytes=action.bytes, **common)
        case Communicate():
            return Collective(kind=action.kind, bytes=action.bytes, group=groups.of(action), **common)
        case Transfer(axis, offset, size, tag, send):
            return (Send if send else Receive)(axis=axis, offset=offset, bytes=size, tag=tag, **common)
        case Remote(size, store):
            return (Store if store else Load)(bytes=size, **common)


def _steered(action: Computation, step: Step, machine: Machine) -> tuple[int, int]:
    assert machine.peak_performance is not None
    assert machine.local_mem_bandwidth is not None
    found = steer(action.time, action.flops, action.bytes, machine.peak_performance, machine.local_mem_bandwidth)
    if found is None:
        message = f"`{step.layer}` takes {action.time} ns, which ASTRA-sim's roofline cannot say for this hardware"
        hint = (
            "it needs a peak of at least 1 GFLOPS or a memory bandwidth of at least 1 GB/s, and nodes below 2^63 FLOP"
        )
        raise Diagnosed(diagnostic("AS705", message, hints=(hint,)))
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


def _boxes(duty: Duty, plan: Plan) -> tuple[Box, ...]:
    """The ranks of a duty: its stage, without the stragglers that have a duty of their own."""
    stage = next((index for index, axis in enumerate(plan.axes) if axis.name == "pipeline"), None)
    if duty.slow:
        return tuple(Box(tuple((axis.coordinate(rank),) for axis in plan.axes)) for rank in duty.slow)
    slow = [rank for other in plan.duties if other.stage == duty.stage for rank in other.slow]
    boxes = [Box(tuple((duty.stage,) if index == stage else None for index in range(len(plan.axes))))]
    for rank in slow:
        point = tuple(axis.coordinate(rank) for axis in plan.axes)
        boxes = [piece for box in boxes for piece in _without(box, point, plan)]
    return tuple(boxes)


def _without(box: Box, point: tuple[int, ...], plan: Plan) -> list[Box]:
    """A box without one of its points, as disjoint boxes; the box itself when the point lies outside."""
    inside = all(allowed is None or here in allowed for allowed, here in zip(box.coordinates, point, strict=True))
    if not inside:
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


def _compute_word(spec: Spec) -> str:
    """The data type whose peak the system file carries; other types are steered."""
    assert spec.training is not None
    if spec.training.precision is not None:
        return spec.training.precision.compute
    return next(
        name for name in ("fp32", "tf32", "bf16", "fp16", "fp64", "fp8", "int8") if getattr(spec.hardware.peak, name)
    )
