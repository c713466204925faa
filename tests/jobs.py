"""Hand-made Jobs of several shapes, for the tests of what writes and reads them."""

from __future__ import annotations

from astrac.job import (
    IMPLEMENTED,
    Axis,
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
    Program,
    RankClass,
    Receive,
    RemoteMemory,
    Send,
    Store,
)


def machine(*dimensions, **rest):
    """A roofline machine; a dimension is (block, size)."""
    return Machine(
        dimensions=tuple(Dimension(block, size, 372.5290298461914, 936.25) for block, size in dimensions),
        algorithms={kind: ("ring",) * len(dimensions) for kind in IMPLEMENTED},
        splits=4,
        local_mem_bandwidth=1555.0,
        peak_performance=140.4,
        roofline=True,
        **rest,
    )


EVERYWHERE = Box((None,))


def data_parallel(ranks):
    """One axis over one dimension: all ranks run one Program, without a hole."""
    group = AxisGroup(("data",), dimensions=(True,))
    ops = (
        Compute(id=0, name="conv forward", num_ops=10**9, tensor_size=10**6, flops=10**9, bytes=10**6),
        Compute(id=1, name="conv backward", data=(0,), num_ops=2 * 10**9, tensor_size=1, flops=3 * 10**9, bytes=10**6),
        Collective(id=2, name="conv gradient", data=(1,), kind=Kind.ALL_REDUCE, bytes=4 << 20, group=group),
        Compute(id=3, name="conv update", data=(2,), control=(1,), num_ops=7, tensor_size=5, flops=7, bytes=5),
    )
    return Job(
        "dp", machine(("Ring", ranks)), (Axis("data", 1, ranks),), (Program(ops),), (RankClass(0, (EVERYWHERE,)),)
    )


def pipeline_of_tensors():
    """Tensor 4 x data 2 (parts of the first dimension) x pipeline 4, with a group of the first and the last stage."""
    axes = (Axis("tensor", 1, 4), Axis("data", 4, 2), Axis("pipeline", 8, 4))
    tensor, data, tied = AxisGroup(("tensor",)), AxisGroup(("data",)), AxisGroup(("pipeline",), only=(0, 3))

    def stage(number):
        ops = []

        def add(op, **fields):
            after = (len(ops) - 1,) if ops and op is not Receive else ()
            ops.append(op(id=len(ops), name=f"{op.__name__} {number}", data=after, **fields))

        if number > 0:
            add(Receive, axis="pipeline", offset=-1, bytes=1 << 20, tag=number)
        add(Compute, num_ops=10**9, tensor_size=10**6, flops=10**9, bytes=10**6)
        add(Collective, kind=Kind.ALL_REDUCE, bytes=1 << 20, group=tensor)
        if number < 3:
            add(Send, axis="pipeline", offset=1, bytes=1 << 20, tag=number + 1)
        add(Collective, kind=Kind.REDUCE_SCATTER, bytes=1 << 22, group=data)
        add(Collective, kind=Kind.ALL_GATHER, bytes=1 << 21, group=data)
        if number in {0, 3}:
            add(Collective, kind=Kind.ALL_REDUCE, bytes=1 << 21, group=tied)
        add(Collective, kind=Kind.ALL_REDUCE, bytes=1 << 20, group=AxisGroup(("tensor", "data", "pipeline")))
        return Program(tuple(ops))

    return Job(
        "tp_dp_pp",
        machine(("Switch", 8), ("FullyConnected", 4)),
        axes,
        tuple(stage(number) for number in range(4)),
        tuple(RankClass(number, (Box((None, None, (number,))),)) for number in range(4)),
    )


def offload():
    """Memory nodes on a pool; a straggler has a Program of its own."""
    group = AxisGroup(("data",), dimensions=(True,))

    def program(work):
        return Program(
            (
                Load(id=0, name="optimizer in", bytes=1 << 20),
                Compute(id=4, name="step", data=(0,), num_ops=work, tensor_size=1, flops=10**9, bytes=10**6),
                Store(id=5, name="optimizer out", data=(4,), bytes=1 << 20),
                Collective(id=6, data=(4,), control=(5,), kind=Kind.ALL_REDUCE, bytes=1 << 20, group=group),
                Compute(id=9, name="end", data=(6,), num_ops=1000, tensor_size=1000, flops=1000, bytes=1000),
            )
        )

    memory = RemoteMemory(MemoryType.PER_NODE, latency=600, bandwidth=128, nodes=2, npus_per_node=4)
    return Job(
        "offload",
        machine(("Switch", 8), memory=memory, queues=2),
        (Axis("data", 1, 8),),
        (program(10**9), program(15 * 10**8)),
        (RankClass(0, (Box(((0, 1, 2, 4, 5, 6, 7),)),)), RankClass(1, (Box(((3,),)),))),
    )


ALL = {"data parallel": data_parallel(8), "tensors in a pipeline": pipeline_of_tensors(), "offload": offload()}
