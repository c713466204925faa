"""Representatives against every rank: the same figures, from as many classes as there are ranks that really differ."""

import pytest

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
    ListedGroup,
    Load,
    Machine,
    MemoryType,
    Program,
    RankClass,
    Receive,
    RemoteMemory,
    Send,
)
from astrac.simulators.astra_sim_2.simulate import simulate
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from astrac.simulators.results import Run
from jobs import ALL
from measured import by_rank

ALIGNED = (Axis("tensor", 1, 4), Axis("data", 4, 2), Axis("pipeline", 8, 2))


def machine(*dimensions, words=("ring", "ring", "ring"), **rest):
    return Machine(
        dimensions=tuple(Dimension(block, size, 50.0, 500.0) for block, size in dimensions),
        algorithms={kind: words[: len(dimensions)] for kind in IMPLEMENTED},
        splits=4,
        local_mem_bandwidth=1600.0,
        **rest,
    )


def alike(axes, ops, box, extra=None):
    """All ranks run one Program; with `extra` = (box, ops) some run another."""
    boxes = tuple(None for _ in axes)
    if extra is None:
        return Job("alike", box, axes, (Program(ops),), (RankClass(0, (Box(boxes),)),))
    where, others = extra
    rest = []
    for number, coordinates in enumerate(where):
        if coordinates is not None:
            outside = tuple(at for at in range(axes[number].size) if at not in coordinates)
            rest.append(Box((*where[:number], outside, *boxes[number + 1 :])))
    classes = (RankClass(0, tuple(rest)), RankClass(1, (Box(where),)))
    return Job("alike", box, axes, (Program(ops), Program(others)), classes)


def reduce(number, group, *deps, size=1 << 20, kind=Kind.ALL_REDUCE):
    return Collective(id=number, data=deps, kind=kind, bytes=size, group=group)


WORLD = AxisGroup(("tensor", "data", "pipeline"), (), (True, True, True))
TENSOR = AxisGroup(("tensor",), (), (True, False, False))
STEPS = (Compute(id=0, duration=5), reduce(1, TENSOR, 0), Compute(id=2, data=(1,), duration=3), reduce(3, WORLD, 2))
SLOW = (Compute(id=0, duration=9), *STEPS[1:])
CUBE = machine(("Switch", 4), ("FullyConnected", 2), ("Ring", 2))
TREES = machine(("Switch", 4), ("Switch", 2), ("Switch", 2), words=("doubleBinaryTree", "ring", "ring"))
RING = machine(("Ring", 8), ("Switch", 2))
HALVES = (Axis("tensor", 1, 4), Axis("data", 4, 4))
POOL = RemoteMemory(MemoryType.POOL, 700, 30)
OFFLOAD = (
    *STEPS,
    Load(id=4, data=(3,), bytes=1 << 20),
    Compute(id=5, data=(4,), duration=1),
    reduce(6, WORLD, 5, kind=Kind.ALL_GATHER),
)
NEIGHBOURS = (
    Send(id=0, axis="data", offset=1, bytes=1 << 20, tag=1),
    Receive(id=1, axis="data", offset=-1, bytes=1 << 20, tag=1),
    Compute(id=2, data=(0, 1), duration=1),
)


TALK = (
    Compute(id=0, duration=1),
    Send(id=1, data=(0,), axis="data", offset=1, bytes=1 << 20, tag=1),
    Receive(id=2, axis="data", offset=-1, bytes=1 << 20, tag=1),
    Compute(id=3, data=(1, 2), duration=1),
)
FIRST = AxisGroup(("tensor", "data"), (), (True,))
ALSO = reduce(1, AxisGroup(("tensor", "data"), (), (True, False)), 0)


def crossed(slow):
    """Pairs (0, 3) and (1, 2), then (0, 1) and (2, 3): representatives sit in different groups. Some ranks are slow."""
    first = {0: (1, (0, 3)), 3: (1, (0, 3)), 1: (2, (1, 2)), 2: (2, (1, 2))}
    second = {0: (3, (0, 1)), 1: (3, (0, 1)), 2: (4, (2, 3)), 3: (4, (2, 3))}
    programs = tuple(
        Program(
            (
                Compute(id=0, duration=9 if rank in slow else 1),
                reduce(1, ListedGroup(*first[rank]), 0),
                reduce(2, ListedGroup(*second[rank]), 1),
            )
        )
        for rank in range(4)
    )
    classes = tuple(RankClass(rank, (Box(((rank,),)),)) for rank in range(4))
    return Job("crossed", machine(("Ring", 4)), (Axis("data", 1, 4),), programs, classes)


CASES = {
    **{name: (job, None) for name, job in ALL.items()},
    "alike": (alike(ALIGNED, STEPS, CUBE), 1),
    "a slow rank tells its group apart, then all": (alike(ALIGNED, STEPS, CUBE, (((1,), (0,), (1,)), SLOW)), 16),
    "a slow half is two classes until they meet": (
        alike(ALIGNED, STEPS[:3], CUBE, ((None, None, (1,)), SLOW[:3])),
        2,
    ),
    "trees tell places apart, not their copies": (alike(ALIGNED, STEPS, TREES), 4),
    "half a ring: its ends are further apart": (
        alike(HALVES, (reduce(0, AxisGroup(("tensor",))),), RING),
        1,
    ),
    "every other of a ring and beyond": (alike(HALVES, (reduce(0, AxisGroup(("data",))),), RING), None),
    "neighbours along an axis that wraps": (alike(HALVES, NEIGHBOURS, RING), None),
    "neighbours of one slow rank": (alike(HALVES, TALK, RING, ((None, (0,)), (SLOW[0], *TALK[1:]))), None),
    "neighbours beyond the end of a dimension": (alike(HALVES, TALK, machine(("Ring", 4), ("Switch", 4))), 1),
    "two ways to say one dimension": (
        alike(HALVES, (Compute(id=0, duration=1), reduce(1, FIRST, 0)), RING, ((None, (0,)), (SLOW[0], ALSO))),
        None,
    ),
    "pairs that cross": (crossed({0, 2}), None),
    "pairs that cross, one slow": (crossed({1}), None),
    "pairs that cross, all alike": (crossed({}), 1),
    "a pool of memory": (alike(ALIGNED, OFFLOAD, machine(("Switch", 4), ("Switch", 2), ("Ring", 2), memory=POOL)), 16),
}


@pytest.mark.parametrize("job, classes", CASES.values(), ids=CASES)
def test_representatives_equal_every_rank(job, classes):
    every = RankSimulation(job)
    every.run()
    found = simulate(job, trace=True)
    assert (found.fails, found.doubt) == (None, None)
    assert by_rank(found, "cycles") == [rank.finish for rank in every.ranks]
    assert by_rank(found, "exposed") == [rank.finish - rank.device for rank in every.ranks]
    for played in found.classes:
        assert played.spans == every.ranks[played.rank].spans
    assert classes in {None, len(found.classes)}
    assert sum(played.ranks for played in found.classes) == job.machine.npus


def test_sixteen_thousand_ranks_are_one_class():
    group = AxisGroup(("data",), (), (True, True))
    ops = tuple(reduce(number, group, *range(number)) for number in range(50))
    found = simulate(alike((Axis("data", 1, 1 << 14),), ops, machine(("Ring", 128), ("Ring", 128))))
    assert [(played.ranks, played.boxes) for played in found.classes] == [(1 << 14, (Box((None,)),))]
    assert found.runs() == (Run(0, (1 << 14) - 1, found.cycles, found.cycles),)


def test_runs_are_as_long_as_can_be():
    found = simulate(alike(ALIGNED, STEPS[:1], CUBE, ((None, (1,), None), SLOW[:1])))
    assert found.runs() == (Run(0, 3, 5000, 0), Run(4, 7, 9000, 0), Run(8, 11, 5000, 0), Run(12, 15, 9000, 0))


MIB = 1 << 20
HOP = 20031
"""ns of a message of 1 MiB over one hop of a ring: floor(500 + 2^20 / 53.687)."""


def ring(ranks, words=("ring",), block="Ring", memory=None):
    return Machine(
        dimensions=(Dimension(block, ranks, 50.0, 500.0),),
        algorithms=dict.fromkeys(IMPLEMENTED, words),
        splits=1,
        memory=memory or RemoteMemory(),
    )


def test_a_straggler_among_1024_ranks():
    """By hand: rank 0 comes last by far and finds all messages of the others, so its n steps take an endpoint each.

    What it sends goes round: rank i waits for i hops more. Played message by message it would be too much.
    """
    ranks, late, endpoint = 1024, 30_000_000, 10
    gather = reduce(1, AxisGroup(("data",), (), (True,)), 0, size=MIB, kind=Kind.ALL_GATHER)
    axes = (Axis("data", 1, ranks),)
    slow = (Compute(id=0, duration=late // 1000), gather)
    found = simulate(alike(axes, (Compute(id=0, duration=1), gather), ring(ranks), (((0,),), slow)))
    assert (found.failure, found.doubt) == (None, None)
    assert by_rank(found, "cycles") == [late + rank * HOP + ranks * endpoint for rank in range(ranks)]


SERVED = {
    # word: the place of rank r among n that end an all-gather together and then ask a pool of memory
    "ring": lambda rank, ranks: (rank + 1) % ranks,  # the last message comes from the rank before
    "direct": lambda rank, ranks: (rank - 1) % ranks,  # rank 0 sends first, to its nearest neighbour first
    "halvingDoubling": lambda rank, ranks: ranks - 1 - rank,  # partners change places at each bit
}


@pytest.mark.parametrize("ranks", [8, 1024])
@pytest.mark.parametrize("word", SERVED)
def test_the_order_at_a_pool_of_memory(word, ranks):
    """Ranks that end a collective in one tick are served in the order of their last messages, one after the other."""
    gather = reduce(0, AxisGroup(("data",), (), (True,)), size=4096, kind=Kind.ALL_GATHER)
    load = Load(id=1, data=(0,), bytes=3000)
    axes = (Axis("data", 1, ranks),)
    box = ring(ranks, (word,), "Switch", RemoteMemory(MemoryType.POOL, 700, 30))
    job = alike(axes, (gather, load), box)
    alone = simulate(alike(axes, (gather,), box)).cycles
    found = simulate(job)
    assert (found.failure, found.doubt) == (None, None)
    assert by_rank(found, "cycles") == [alone + (SERVED[word](rank, ranks) + 1) * 800 for rank in range(ranks)]
    if ranks == 8:
        every = RankSimulation(job)
        every.run()
        assert [state.finish for state in every.ranks] == by_rank(found, "cycles")
