"""What an estimate costs, and how it grows: `PYTHONPATH=compiler python tests/bench/bench_player.py`.

Median of five, from a Job in memory. Beside each stands a naive replay of every rank, message by message
(`player.everyone`), where that ends within a minute, and what the real simulator took
(docs/simulators/astra-sim-2.md, section 5.1).
"""

from __future__ import annotations

from statistics import median
from time import perf_counter

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
    Machine,
    Program,
    RankClass,
    Receive,
    Send,
)
from astrac.simulators.astra_sim_2.simulate import simulate
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation

MIB = 1 << 20


def machine(*sizes, block="Ring"):
    return Machine(
        dimensions=tuple(Dimension(block, size, 50.0, 500.0) for size in sizes),
        algorithms={kind: ("ring",) * len(sizes) for kind in IMPLEMENTED},
        splits=4,
        local_mem_bandwidth=1600.0,
    )


def data_parallel(*sizes, layers=50):
    """Forward, then backward with an all-reduce of each layer's gradient that overlaps it, then the update."""
    everyone = AxisGroup(("data",), (), (True,) * len(sizes))
    ops = [Compute(id=layer, data=(layer - 1,) if layer else (), duration=40) for layer in range(layers)]
    for layer in range(layers):
        backward = len(ops)
        ops.append(Compute(id=backward, data=(backward - 2 if layer else backward - 1,), duration=80))
        size = 4 * MIB + layer * 65536
        ops.append(Collective(id=backward + 1, data=(backward,), kind=Kind.ALL_REDUCE, bytes=size, group=everyone))
    ops.append(Compute(id=len(ops), data=tuple(range(layers, len(ops))), duration=20))
    box = machine(*sizes)
    return Job("dp", box, (Axis("data", 1, box.npus),), (Program(tuple(ops)),), (RankClass(0, (Box((None,)),)),))


def one_all_reduce(*sizes):
    """100 MiB among all ranks."""
    everyone = AxisGroup(("data",), (), (True,) * len(sizes))
    box = machine(*sizes)
    program = Program((Collective(id=0, kind=Kind.ALL_REDUCE, bytes=100 * MIB, group=everyone),))
    return Job("ar", box, (Axis("data", 1, box.npus),), (program,), (RankClass(0, (Box((None,)),)),))


def pipeline(data=16, micro_batches=8, blocks=12, stages=8):
    """GPT-3's shape: tensor 8 x data x pipeline 8, 1F1B; ten products and four collectives a block each way."""
    axes = (Axis("tensor", 1, 8), Axis("data", 8, data), Axis("pipeline", 8 * data, stages))
    tensor = AxisGroup(("tensor",), (), (True, False, False))
    replicas = AxisGroup(("data",), (), (False, True, False))
    grid = AxisGroup(("tensor", "pipeline"))  # by name: its members differ in the collectives that came before
    tied = AxisGroup(("pipeline",), (0, stages - 1))

    def stage(number):
        ops = []
        last = {"id": None, "collective": None}

        def add(node, follows=(), **fields):
            follows = tuple(sorted({at for at in follows if at is not None}))
            ops.append(node(id=len(ops), data=follows, **fields))
            return len(ops) - 1

        def work(tag, forward):
            before, after = (number - 1, number + 1) if forward else (number + 1, number - 1)
            at = last["id"]
            if 0 <= before < stages:
                got = add(Receive, (), axis="pipeline", offset=before - number, bytes=6 * MIB, tag=2 * tag + forward)
                at = add(Compute, (at, got), duration=1)
            for _ in range(blocks):
                for step in range(10):
                    at = add(Compute, (at,), duration=50 + step if forward else 100 + step)
                    if step % 3 == 0:
                        kind = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER)[step % 2]
                        at = add(Collective, (at, last["collective"]), kind=kind, bytes=6 * MIB, group=tensor)
                        last["collective"] = at
            last["id"] = at
            if 0 <= after < stages:
                add(Send, (at,), axis="pipeline", offset=after - number, bytes=6 * MIB, tag=2 * tag + forward)

        warm = min(stages - number - 1, micro_batches)
        for tag in range(warm):
            work(tag, True)
        for tag in range(micro_batches - warm):
            work(warm + tag, True)
            work(tag, False)
        for tag in range(micro_batches - warm, micro_batches):
            work(tag, False)
        for kind, group, size in (
            (Kind.REDUCE_SCATTER, replicas, 450 * MIB),
            (Kind.ALL_REDUCE, tied if number in {0, stages - 1} else None, 300 * MIB),
            (Kind.ALL_REDUCE, grid, 4),
            (Kind.ALL_GATHER, replicas, 14 * MIB),
        ):
            if group is not None:
                at = add(Collective, (last["id"], last["collective"]), kind=kind, bytes=size, group=group)
                last["collective"] = last["id"] = at
        return Program(tuple(ops))

    classes = tuple(RankClass(number, (Box((None, None, (number,))),)) for number in range(stages))
    box = machine(8, data, stages, block="Switch")
    return Job("gpt", box, axes, tuple(stage(number) for number in range(stages)), classes)


CASES = (
    # name, job, goal in ms, the simulator's seconds
    ("all-reduce 100 MiB, 4096", lambda: one_all_reduce(4096), 1, "97"),
    ("all-reduce 100 MiB, 64x64", lambda: one_all_reduce(64, 64), 1, "16"),
    ("data parallel 50 layers, 8x8", lambda: data_parallel(8, 8), None, "0.7"),
    ("data parallel 50 layers, 16x16", lambda: data_parallel(16, 16), None, "8.7"),
    ("data parallel 50 layers, 32x32", lambda: data_parallel(32, 32), 20, "96"),
    ("data parallel 50 layers, 128x128", lambda: data_parallel(128, 128), None, ""),
    ("GPT-3 shape, 8 ranks x pipeline 8", lambda: pipeline(data=1 + 1), None, ""),
    ("GPT-3 shape, 1024", pipeline, 1000, ""),
    ("GPT-3 shape, 16384", lambda: pipeline(data=256), None, ""),
)


def main():
    print(
        f"{'case':36} {'nodes':>6} {'ranks':>6} {'classes':>7} {'cycles':>13} "
        f"{'ms':>9} {'goal':>5} {'naive s':>8} simulator s"
    )
    for name, make, goal, simulator in CASES:
        job = make()
        times = []
        for _ in range(5):
            start = perf_counter()
            found = simulate(job)
            times.append(1000 * (perf_counter() - start))
        nodes = max(len(program.ops) for program in job.programs)
        ranks = job.machine.npus
        print(
            f"{name:36} {nodes:6} {ranks:6} {len(found.classes):7} {found.cycles:13,} "
            f"{median(times):9.2f} {goal or '':>5} {naive(job, found.cycles):>8} {simulator:>9} "
            f"{found.fails or ''} {found.doubt or ''}"
        )
    print("\ngrowth of data parallel on one ring, 8 to 16,384 ranks, ms:")
    for ranks in (8, 64, 512, 4096, 16384):
        job = data_parallel(ranks)
        times = []
        for _ in range(5):
            start = perf_counter()
            simulate(job)
            times.append(1000 * (perf_counter() - start))
        print(f"{ranks:6} {median(times):8.2f}")


def naive(job, cycles):
    """Seconds that every rank, message by message, takes; `-` when it is too much to wait for."""
    if job.machine.npus > 64 or len(job.programs) > 1:
        return "-"
    every = RankSimulation(job, limit=10**9)
    start = perf_counter()
    every.run()
    assert max(rank.finish for rank in every.ranks) == cycles
    return f"{perf_counter() - start:.2f}"


if __name__ == "__main__":
    main()
