"""The parts of the engine of ASTRA-sim 1.0, one by one, against the formulas of docs/simulators/astra-sim-1.md."""

from dataclasses import replace

import pytest

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.algorithms import by_word_1
from astrac.simulators.astra_sim_1.job import (
    Extras,
    LayerRow,
    Policy,
    Stage,
    TextDimension,
    TextJob,
    TextNetwork,
    TextSystem,
    TextWorkload,
    Work,
)
from astrac.simulators.astra_sim_1.simulate import Fault, SimulationError, loops, simulate
from astrac.simulators.astra_sim_1.simulate.chunks import Phase, chunk_sizes, planner
from astrac.simulators.astra_sim_1.simulate.logical import boundary, logical_dimensions
from astrac.simulators.astra_sim_1.simulate.loops import Act, Levels, Priority
from astrac.simulators.astra_sim_1.simulate.phases import Duration, Endpoint, Phases, size_after, smallest_message
from astrac.simulators.astra_sim_1.simulate.queues import Chunk, Queue, ending_first

pytestmark = pytest.mark.quick

FORWARD, INPUT, WEIGHT = Stage
AR, AG, RS, A2A = Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL


def dimension(size, block="Switch", latency=100.0, **more):
    """One byte a ns for a message, whatever the block; a hop of 100 ns, so 200 ns through a switch."""
    links = {"Ring": 2, "Switch": 1, "FullyConnected": size - 1}[block]
    bandwidth = 10**9 / 2**30 / (2 if block == "Ring" else 1)
    return TextDimension(block, size, links, bandwidth, latency, **more)


def system(words=("ring",), **more):
    settings = {"scheduling": "LIFO", "optimization": "localBWAware", "splits": 1, **more}
    return TextSystem(algorithms=dict.fromkeys(IMPLEMENTED, tuple(words)), **settings)


def job(dimensions, words=None, workload=None, **more):
    words = ("ring",) * len(dimensions) if words is None else words
    rows = TextWorkload(Policy.DATA, (LayerRow("a"), LayerRow("b")))
    return TextJob(TextNetwork(tuple(dimensions)), system(words, **more), workload or rows)


def logical(size, word, block="Switch", kind=AR):
    return logical_dimensions(job([dimension(size, block)], (word,)))[kind][0]


# -- network


@pytest.mark.parametrize(
    ("block", "size", "ends", "hops"),
    [("Ring", 8, (0, 3), 3), ("Ring", 8, (0, 5), 3), ("Ring", 8, (2, 6), 4), ("Switch", 8, (0, 5), 2),
     ("FullyConnected", 8, (0, 5), 1)],
)  # fmt: skip
def test_a_message_takes_hops_bytes_twice_the_nic_and_once_the_router(block, size, ends, hops):
    row = dimension(size, block, latency=10.5, nic_latency=3.25, router_latency=7.5)
    expected = int(hops * 10.5)
    expected = int(expected + 1000)
    expected = int(expected + 2 * 3.25)
    if block == "Switch":
        expected = int(expected + 7.5)
    word = logical_dimensions(job([row], ("ring",)))[AR][0]
    assert word.time(*ends, 1000) == expected


def test_memory_counts_where_it_is_slower():
    row = dimension(4, memory_latency=5, memory_bandwidth=2, memory_scale=4)
    assert logical_dimensions(job([row]))[AR][0].time(0, 1, 1000) == (5 + 500) * 4
    assert logical_dimensions(job([replace(row, memory_scale=1)]))[AR][0].time(0, 1, 1000) == 1200
    half = logical_dimensions(job([replace(row, memory_scale=3, memory_latency=0.5)]))[AR][0].time(0, 1, 1000)
    assert half == 1501.5
    whole = logical_dimensions(job([replace(row, memory_scale=3)]))[AR][0].time(0, 1, 1000)
    assert (whole, type(whole)) == (1515, int)


@pytest.mark.parametrize("more", [{"latency": 2.0**31}, {"memory_scale": 1, "memory_latency": 2.0**31}])
def test_a_message_that_takes_too_long_is_refused(more):
    with pytest.raises(SimulationError) as caught:
        logical_dimensions(job([dimension(4, **more)]))[AR][0].time(0, 1, 1)
    assert caught.value.fault is Fault.TOO_SLOW
    below = {key: value if key == "memory_scale" else value / 4 for key, value in more.items()}
    assert logical_dimensions(job([dimension(4, **below)]))[AR][0].time(0, 1, 1) < 2**31


# -- logical dimensions


@pytest.mark.parametrize(
    ("word", "name", "flat", "window"),
    [("ring", "ring", False, None), ("oneRing", "ring", True, None), ("direct", "direct", False, None),
     ("direct12", "direct", False, 12), ("oneDirect3", "direct", True, 3),
     ("halvingDoubling", "halvingDoubling", False, None), ("oneHalvingDoubling", "halvingDoubling", True, None),
     ("doubleBinaryTree", "doubleBinaryTree", False, None)],
)  # fmt: skip
def test_words_of_algorithms(word, name, flat, window):
    found = by_word_1(word)
    assert (found.row.words.astra_sim_1, found.whole, found.window) == (name, flat, window)


@pytest.mark.parametrize("word", ["ring1", "Ring", "direct123456", "oneDoubleBinaryTree", "", "directX"])
def test_words_that_are_none(word):
    assert by_word_1(word) is None


@pytest.mark.parametrize(
    ("sizes", "group", "level", "split"),
    [((4, 4), 1, -1, None), ((4, 4), 4, 0, None), ((4, 4), 16, 1, None), ((4, 4), 2, 0, (0, 2, 2)),
     ((4, 6), 12, 1, (1, 3, 2)), ((1, 4), 2, 1, (1, 2, 2)), ((8, 2), 4, 0, (0, 4, 2))],
)  # fmt: skip
def test_where_a_group_of_transformers_ends(sizes, group, level, split):
    found = boundary(TextNetwork(tuple(map(dimension, sizes))), group)
    assert found[0] == level
    assert (None if found[1] is None else (found[1].level, found[1].inner, found[1].outer)) == split


@pytest.mark.parametrize(
    ("sizes", "group", "reason"),
    [((4, 4), 0, "a group of 0 NPUs"), ((4, 4), -4, "a group of -4 NPUs"),
     ((4,), 3, "a group of 3 NPUs is not 1 x a divisor of the 4 of dimension 0"),
     ((4, 4), 6, "a group of 6 NPUs is not 4 x a divisor of the 4 of dimension 1"),
     ((4, 4), 32, "a group of 32 NPUs is larger than the 16 NPUs")],
)  # fmt: skip
def test_groups_that_do_not_tile(sizes, group, reason):
    with pytest.raises(SimulationError) as caught:
        boundary(TextNetwork(tuple(map(dimension, sizes))), group)
    assert (caught.value.fault, caught.value.reason) == (Fault.GROUP, reason)


def transformer(group):
    return TextWorkload(Policy.HYBRID_TRANSFORMER, (LayerRow("a"),), Extras(group))


def test_a_split_dimension_is_two_with_the_same_word():
    made = logical_dimensions(job([dimension(8, "Ring"), dimension(4)], ("ring", "direct2"), transformer(4)))[AR]
    assert [(each.level, each.size, each.stride, each.algorithm.row.words.astra_sim_1) for each in made] == [
        (0, 4, 1, "ring"), (1, 2, 4, "ring"), (2, 4, 1, "direct"),
    ]  # fmt: skip
    assert [each.symmetric for each in made] == [False, True, True]


def test_the_last_of_a_part_of_a_ring_is_far_from_its_first():
    """A row of 4 in a ring of 8 closes over 3 hops; one of 2, or the outer part of the split, has equal ways."""
    for group, times in ((4, [(1300, 1100, 1100, 1100), (1400,)]), (2, [(1100,), (1200,)])):
        made = logical_dimensions(job([dimension(8, "Ring")], ("ring",), transformer(group)))[AR]
        assert [each.neighbour_times(1000) for each in made] == times


def test_a_flat_dimension_is_all_npus_in_a_row():
    (flat,) = logical_dimensions(job([dimension(2), dimension(1), dimension(4, "Ring")], ("oneRing",)))[AR]
    assert (flat.level, flat.size, len(flat.dimensions), flat.symmetric) == (0, 8, 2, False)
    # 3 -> 4 are in different places of both dimensions: the higher one counts, of which it is the next.
    assert flat.time(3, 4, 1000) == 1100
    assert flat.time(2, 3, 1000) == 1200
    assert flat.time(1, 7, 1000) == 1100
    assert flat.neighbour_times(1000) == (1100, 1200) * 4


def test_a_flat_dimension_of_equal_hops_has_one_time():
    (flat,) = logical_dimensions(job([dimension(2, "Ring"), dimension(4, "Ring")], ("oneRing",)))[AR]
    assert flat.neighbour_times(1000) == (1100,)


@pytest.mark.parametrize(
    ("words", "group", "reason"),
    [(("ring",) * 3, 1, "3 words for 2 dimensions (ALL_REDUCE)"),
     (("ring", "oneRing"), 1, "a `one*` word must be the only one (ALL_REDUCE)"),
     (("doubleBinaryTree",), 1, "the last word is a tree, for which all dimensions need one (ALL_REDUCE)"),
     (("ring",), 8, "the group splits dimension 1, for which ALL_REDUCE has no word of its own")],
)  # fmt: skip
def test_words_that_do_not_fit_the_dimensions(words, group, reason):
    workload = transformer(group) if group > 1 else None
    with pytest.raises(SimulationError) as caught:
        logical_dimensions(job([dimension(4), dimension(4)], words, workload))
    assert (caught.value.fault, caught.value.reason) == (Fault.WORDS, reason)


@pytest.mark.parametrize(("word", "fault"), [("direct0", Fault.SETTING), ("tree", Fault.WORDS)])
def test_words_that_run_nothing(word, fault):
    with pytest.raises(SimulationError) as caught:
        logical_dimensions(job([dimension(4)], (word,)))
    assert caught.value.fault is fault


# -- phases: E = 10, t(m) = 200 + m through a switch, M(m) = 3 int(m / 500,000)

S = 4_000_004
N = 4
Q = S // N
E = 10


def t(size):
    return 200 + size


def m(size):
    return 3 * (size // 500_000)


@pytest.mark.parametrize(
    ("word", "kind", "ns"),
    [
        ("ring", AR, (2 * N - 1) * E + 2 * (N - 1) * t(Q) + (N - 1) * m(Q)),
        ("ring", RS, N * E + (N - 1) * (t(Q) + m(Q))),
        ("ring", AG, N * E + (N - 1) * t(S)),
        ("ring", A2A, (6 + 1) * E + 6 * t(Q)),
        ("direct", AR, 3 * E + 2 * t(Q) + m(Q)),
        ("direct", RS, 2 * E + t(Q) + m(Q)),
        ("direct", AG, 2 * E + t(S)),
        ("direct", A2A, 2 * E + t(Q)),
        ("halvingDoubling", AR, 5 * E + 2 * t(S // 2) + 2 * t(S // 4) - (t(S // 2) - t(S // 8 * 4))
         - (t(S // 4) - t(S // 8 * 2)) + m(S // 4)),
        ("halvingDoubling", RS, 3 * E + t(S // 2) + t(S // 4) + m(S // 4)),
        ("halvingDoubling", AG, 3 * E + t(S) + t(2 * S)),
    ],
)  # fmt: skip
def test_how_long_a_phase_takes(word, kind, ns):
    for walk in (False, True):
        found = Phases(Endpoint(E, walk)).duration(kind, logical(N, word), S)
        assert found.ns == ns
        assert sum(term.ns for term in found.terms) == (ns if walk else 0)


@pytest.mark.parametrize("kind", [AR, RS, AG, A2A])
def test_direct_with_a_window_of_one_is_a_ring_on_equal_links(kind):
    """Section 5; a ring's all-to-all passes each message on, which `direct` does not."""
    one = Phases(Endpoint(E)).duration(kind, logical(N, "direct1"), 4096)
    ring = Phases(Endpoint(E)).duration(kind, logical(N, "ring"), 4096)
    assert one.ns == (ring.ns if kind is not A2A else N * E + (N - 1) * t(1024))


def test_direct_waits_for_the_farthest():
    # On a ring of 8 the farthest is 4 hops away: 400 ns and the bytes.
    found = Phases(Endpoint(E)).duration(A2A, logical(8, "direct", "Ring"), 8000)
    assert found.ns == 2 * E + 400 + 1000


@pytest.mark.parametrize(
    ("word", "kind", "tail"),
    [
        # The last event of a reduce-scatter is a reduction, after the endpoint's delay, after a message.
        ("ring", RS, (m(Q), m(Q) + E, m(Q) + E + t(Q))),
        ("direct", RS, (m(Q), m(Q) + E, m(Q) + E + t(Q))),
        ("ring", AR, (E, E + t(Q))),
        ("ring", AG, (E, E + t(S))),
        ("ring", A2A, (E, E + t(Q))),
        ("direct", AG, (E, E + t(S))),
        ("halvingDoubling", AG, (E, E + t(2 * S))),
        ("halvingDoubling", RS, (E, E + t(S // 4))),
        ("doubleBinaryTree", AR, (E, E + t(S))),
    ],
)  # fmt: skip
def test_when_the_last_events_of_a_phase_were_scheduled(word, kind, tail):
    assert Phases(Endpoint(E)).duration(kind, logical(N, word), S).tail == tail


def test_the_trees_of_four():
    """Up: a leaf's delay, two hops to the root with a delay and a reduction each; down the same, and a leaf's delay.

    The first tree has leaves 0 and 2 below 1, which is below 3; all of a switch are 200 ns apart.
    """
    found = Phases(Endpoint(E)).duration(AR, logical(4, "doubleBinaryTree"), 1_000_000)
    hop = t(1_000_000) + E + m(1_000_000)
    assert found.ns == E + hop + hop + hop + t(1_000_000) + E
    # On a ring 1 and 3 are two hops apart.
    ring = Phases(Endpoint(E)).duration(AR, logical(4, "doubleBinaryTree", "Ring"), 1000)
    assert ring.ns == E + 1100 + E + 1200 + E + 1200 + E + 1100 + E


@pytest.mark.parametrize(
    ("word", "size", "kind", "fault"),
    [("halvingDoubling", 6, AR, Fault.POWER_OF_TWO), ("halvingDoubling", 4, A2A, Fault.KIND),
     ("doubleBinaryTree", 6, AR, Fault.POWER_OF_TWO)],
)  # fmt: skip
def test_phases_that_cannot_be(word, size, kind, fault):
    with pytest.raises(SimulationError) as caught:
        Phases(Endpoint(E)).duration(kind, logical(size, word), 4096)
    assert caught.value.fault is fault


def test_a_chunk_of_2_to_the_31_is_too_large():
    phases = Phases(Endpoint(E))
    assert phases.duration(RS, logical(4, "ring"), 2**31 - 1).ns > 0
    with pytest.raises(SimulationError) as caught:
        phases.duration(RS, logical(4, "ring"), 2**31)
    assert caught.value.fault is Fault.TOO_LARGE


@pytest.mark.parametrize(("kind", "after"), [(AR, 103), (A2A, 103), (RS, 25), (AG, 412)])
def test_bytes_after_a_phase(kind, after):
    assert size_after(kind, logical(4, "ring"), 103) == after


@pytest.mark.parametrize(
    ("word", "kind", "size"),
    [("ring", AR, 25), ("ring", AG, 103), ("doubleBinaryTree", AR, 103), ("halvingDoubling", AR, 24),
     ("halvingDoubling", RS, 25), ("direct", A2A, 25)],
)  # fmt: skip
def test_the_smallest_message_of_a_phase(word, kind, size):
    assert smallest_message(kind, logical(4, word), 103) == size


# -- chunks


@pytest.mark.parametrize(
    ("size", "splits", "chunks"), [(16, 4, [4, 4, 4, 4]), (17, 4, [4, 4, 4, 4, 1]), (7, 1, [7]), (4, 4, [1] * 4)]
)
def test_chunks_and_one_for_what_is_left(size, splits, chunks):
    assert list(chunk_sizes(size, splits)) == chunks


@pytest.mark.parametrize(
    ("size", "splits", "fault"), [(3, 4, Fault.BELOW_SPLITS), (2_000_001, 2_000_001, Fault.UNKNOWN)]
)
def test_chunks_that_never_end(size, splits, fault):
    with pytest.raises(SimulationError) as caught:
        list(chunk_sizes(size, splits))
    assert caught.value.fault is fault
    assert len(list(chunk_sizes(2_000_000, 2_000_000))) == 2_000_000


CUBE = [dimension(2), dimension(1), dimension(4), dimension(8)]


def levels(kind, involved=(True,) * 5, **more):
    return [(task, each.level) for task, each in planner(job(CUBE, **more)).tasks(kind, involved)]


def test_the_dimensions_that_a_collective_walks():
    """Section 2: local bandwidth first, and back; baseline all-reduces in each; all-gathers go from last to first."""
    assert levels(AR) == [(RS, 0), (RS, 2), (AR, 3), (AG, 2), (AG, 0)]
    assert levels(AR, optimization="baseline") == [(AR, 0), (AR, 2), (AR, 3)]
    assert levels(AG) == [(AG, 3), (AG, 2), (AG, 0)]
    assert levels(RS) == [(RS, 0), (RS, 2), (RS, 3)]
    assert levels(A2A, (False, True, True, False, True)) == [(A2A, 2)]
    assert levels(AR, (True, False, False, False, False)) == [(AR, 0)]
    assert levels(AR, (False,) * 5) == []


def test_round_robin_starts_each_chunk_one_dimension_later():
    turns = planner(job([dimension(2), dimension(4)], inter="roundRobin"))
    starts = [[each.level for _, each in turns.tasks(RS, (True, True, True))] for _ in range(3)]
    assert starts == [[0, 1], [1, 0], [0, 1]]


def test_queues_of_a_dimension_take_turns():
    made = planner(replace(job([dimension(4), dimension(4)]), queues=3))
    found = [[phase.queue for phase in made.plan(RS, (True, True, True), 1600)] for _ in range(4)]
    assert found == [[0, 3], [1, 4], [2, 5], [0, 3]]


def test_a_phase_keeps_its_largest_size():
    made = planner(job([dimension(2), dimension(4)]))
    assert [(phase.kind, phase.largest) for phase in made.plan(AR, (True, True, True), 1600)] == [
        (RS, 1600), (AR, 800), (AG, 1600),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("dimensions", "words", "fails"),
    [
        ([dimension(4)], ("ring",), False),
        ([dimension(4), dimension(4)], ("ring", "ring"), False),
        ([dimension(4), dimension(4)], ("oneRing",), True),
        ([dimension(4), dimension(1)], ("oneRing",), False),
        ([dimension(4)], ("doubleBinaryTree",), False),
        ([dimension(4), dimension(4)], ("ring", "doubleBinaryTree"), True),
        ([dimension(1), dimension(4)], ("ring", "doubleBinaryTree"), False),
    ],
)
def test_boost_mode_leaves_out_npus_that_some_collectives_need(dimensions, words, fails):
    made = planner(job(dimensions, words, boost=True))
    if not fails:
        assert made.tasks(AR, (True,) * 3)
        return
    with pytest.raises(SimulationError) as caught:
        made.tasks(AR, (True,) * 3)
    assert caught.value.fault is Fault.BOOST


# -- queues


def chunk(priority=0, kind=RS, largest=100, left=0, collective=0):
    phases = (Phase(0, kind, Duration(10.0, (1.0,)), largest),) * (left + 1)
    return Chunk(collective, priority, phases)


def order(rule, *chunks, running=()):
    queue = Queue(rule, list(running))
    for entry in chunks:
        queue.insert(entry)
    return [chunks.index(entry) for entry in queue.waiting]


def test_fifo_goes_by_priority_then_by_turn():
    assert order("FIFO", chunk(0), chunk(1), chunk(0), chunk(2), chunk(1)) == [3, 1, 4, 0, 2]


def test_all_reduces_go_by_priority_under_every_rule():
    for rule in ("SCF", "lessRemainingPhaseFirst", "RG"):
        found = order(rule, chunk(0, AR, 300), chunk(1, AR, 200), chunk(0, A2A, 100), chunk(1, AR, 50))
        assert found == [1, 3, 0, 2]


def test_smallest_chunk_first():
    assert order("SCF", chunk(largest=300), chunk(largest=100), chunk(largest=200)) == [1, 2, 0]
    # Of equal ones the later comes first; one with one more phase to go waits at the end.
    assert order("SCF", chunk(largest=100), chunk(largest=100)) == [1, 0]
    assert order("SCF", chunk(largest=300), chunk(largest=100, left=1), chunk(largest=200, left=2)) == [2, 0, 1]


def test_fewest_phases_first():
    assert order("lessRemainingPhaseFirst", chunk(left=2), chunk(left=0), chunk(left=1), chunk(left=1)) == [1, 3, 2, 0]


def test_rg_goes_behind_a_scatter_beside_a_gather():
    rs, ag = chunk(kind=RS), chunk(kind=AG)
    assert order("RG", chunk(1), chunk(0), chunk(1)) == [2, 0, 1]
    assert order("RG", chunk(kind=RS), chunk(kind=AG)) == [1, 0]
    # Behind what runs it skips one, and then goes on as long as neighbours are a scatter and a gather.
    assert order("RG", chunk(kind=AG), chunk(kind=RS), running=[rs]) == [0, 1]
    assert order("RG", chunk(5), chunk(0), chunk(0), running=[ag]) == [0, 2, 1]
    assert order("RG", chunk(0, AG), chunk(0, RS), chunk(0, RS), running=[rs]) == [0, 1, 2]


def test_a_queue_runs_as_many_as_it_has_slots():
    queue = Queue("FIFO")
    first, second = chunk(0), chunk(1)
    assert queue.take(1) is None
    queue.insert(first)
    queue.insert(second)
    assert queue.take(1) is second
    assert queue.take(1) is None
    assert queue.take(2) is first
    assert queue.running == [second, first]


# -- loops

NAMES = {FORWARD: "f", INPUT: "i", WEIGHT: "w"}
MARKS = {Priority.SYSTEM: "", Priority.LIFO: "L", Priority.FIFO: "F", Priority.HIGHEST: "H"}


def told(workload, passes=1):
    """Steps as words: what, row, column and priority; `+` is a tick, `.` the end of a pass."""
    letters = {Act.WAIT: "W", Act.COMPUTE: "C", Act.ISSUE: "I"}
    return " ".join(
        {Act.TICK: "+", Act.PASS_END: "."}.get(step.act)
        or f"{letters[step.act]}{step.row}{NAMES[step.stage]}{MARKS[step.priority]}"
        for step in loops.steps(workload, passes)
    )


def rows(count, **more):
    return tuple(LayerRow(str(at), **more) for at in range(count))


DATA_LOOP = "W0w C0f + W1w C1f + C1w I1w + C1i + C0w I0w . +"
MODEL_LOOP = "W0w C0f I0f W0f + W1w C1f I1f W1f + C1i I1iL + C1w I1wF W1i + C0i + C0w I0wF W0i . +"
RECOMPUTING_LOOP = (
    "W0w C0f I0f W0f + W1w C1f I1f W1f + W2w C2f I2f W2f + "
    "+ W0w C0f I0f W0f + W1w C1f I1f W1f + C2i I2iL + C2w I2wF W2i + "
    "C1i I1iL + C1w I1wF W1i + C0i I0iL + C0w I0wF W0i . +"
)


@pytest.mark.parametrize(
    ("policy", "extras", "count", "steps"),
    [
        (Policy.DATA, Extras(), 2, DATA_LOOP),
        (Policy.HYBRID_DATA_MODEL, Extras(), 2, MODEL_LOOP),
        (Policy.HYBRID_MODEL_DATA, Extras(), 2, MODEL_LOOP),
        (Policy.HYBRID_CUSTOMIZED, Extras(), 2, MODEL_LOOP),
        (Policy.MODEL, Extras(), 2, MODEL_LOOP.replace(" I1wF", "").replace(" I0wF", "")),
        (Policy.HYBRID_TRANSFORMER, Extras(4), 2, MODEL_LOOP.replace("C0i +", "C0i I0iL +")),
        (
            Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD,
            Extras(4, (0,), (2,)),
            3,
            RECOMPUTING_LOOP,
        ),
        (Policy.MICRO, Extras(), 2, "I0w"),
        (Policy.DISTRIBUTED_INFERENCE, Extras(), 2, "W0w C0f I0f W0f + W1w C1f I1f W1f +"),
    ],
)
def test_what_a_policy_does_in_a_pass(policy, extras, count, steps):
    workload = TextWorkload(policy, rows(count), extras)
    assert told(workload) == steps
    assert told(workload, 2) == f"{steps} {steps}"
    assert told(workload, 0) == ""


def test_what_a_dlrm_does_in_a_pass():
    """The all-to-all of layer 0 is awaited after the compute of the last bottom layer, that of its gradient starts
    before it; the plain one waits for it, the enhanced one does not."""
    layers = (LayerRow("e", forward=Work(1, A2A, 8)), *rows(3)[1:])
    enhanced = "W0w C0f I0fH + W1w C1f W0f + W2w C2f + C2w I2w + C2i I0iH + C1w I1w + C1i + C0w I0w . +"
    assert told(TextWorkload(Policy.HYBRID_DLRM_ENHANCED, layers, Extras(last_bottom=1))) == enhanced
    plain = enhanced.replace("I2w", "I2w W2i").replace("I1w", "I1w W1i").replace("I0w", "I0w W0i")
    assert told(TextWorkload(Policy.HYBRID_DLRM, layers, Extras(last_bottom=1))) == plain


@pytest.mark.parametrize(
    ("checkpoints", "initiates", "row", "start"),
    [((0,), (2,), 2, 0), ((0, 1), (3,), 3, 1), ((1,), (1,), 1, None), ((), (2,), 2, None), ((0,), (1, 3), 3, None),
     ((0, 2), (1, 3), 3, 2), ((3,), (2,), 2, None)],
)  # fmt: skip
def test_recomputation_starts_at_the_nearest_checkpoint(checkpoints, initiates, row, start):
    workload = TextWorkload(
        Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD, rows(4), Extras(checkpoints=checkpoints, initiates=initiates)
    )
    if start is not None:
        assert loops.nearest_checkpoint(workload, row) == start
        return
    with pytest.raises(SimulationError) as caught:
        loops.nearest_checkpoint(workload, row)
    assert caught.value.fault is Fault.CHECKPOINT


def test_sets_of_dimensions():
    found = loops.involved_levels(job(CUBE[:1] + CUBE[2:], workload=transformer(8)))
    yes, no = True, False
    assert found == {
        Levels.NONE: (no, no, no, no),
        Levels.ALL: (yes, yes, yes, yes),
        Levels.FIRST: (yes, no, no, no),
        Levels.REST: (no, yes, yes, yes),
        Levels.MODEL: (yes, yes, no, no),
        Levels.DATA: (no, no, yes, yes),
    }


@pytest.mark.parametrize(
    ("policy", "words"),
    [(Policy.DATA, "none none all"), (Policy.MODEL, "all all none"), (Policy.MICRO, "none none all"),
     (Policy.HYBRID_DATA_MODEL, "first first rest"), (Policy.HYBRID_MODEL_DATA, "rest rest first"),
     (Policy.HYBRID_TRANSFORMER, "model model data"), (Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD, "model model data"),
     (Policy.HYBRID_DLRM, "none none all"), (Policy.HYBRID_DLRM_ENHANCED, "none none all"),
     (Policy.DISTRIBUTED_INFERENCE, "all all none")],
)  # fmt: skip
def test_the_dimensions_of_a_column(policy, words):
    workload = TextWorkload(policy, rows(2))
    assert " ".join(loops.levels(workload, 1, stage).value for stage in Stage) == words
    dlrm = policy in (Policy.HYBRID_DLRM, Policy.HYBRID_DLRM_ENHANCED)
    first = " ".join(loops.levels(workload, 0, stage).value for stage in Stage)
    assert first == ("all all all" if dlrm else words)


def test_layers_of_customized_choose_their_dimensions():
    layers = (LayerRow("a", policy=Policy.DATA), LayerRow("b", policy=Policy.HYBRID_MODEL_DATA), LayerRow("c"))
    workload = TextWorkload(Policy.HYBRID_CUSTOMIZED, layers)
    assert loops.levels(workload, 0, WEIGHT) is Levels.ALL
    assert loops.levels(workload, 1, WEIGHT) is Levels.FIRST
    with pytest.raises(SimulationError):
        loops.levels(workload, 2, WEIGHT)


# -- the whole


def data(*layers, **more):
    dimensions = [dimension(4, "Ring")]
    return job(dimensions, workload=TextWorkload(Policy.DATA, layers), **more)


def test_a_pass_of_data_parallelism():
    """Section 5: C = sum(FWD_T + 1) + sum(WG_T + 1) + sum over i > 0 of (IG_T + 1); the last collective ends it."""
    layers = (
        LayerRow("a", Work(100), Work(5000), Work(300, AR, 4000), update=7),
        LayerRow("b", Work(20), Work(40), Work(60)),
    )
    ran = simulate(data(*layers))
    compute = 100 + 20 + 300 + 40 + 60
    enters = (100 + 1) + (20 + 1) + (60 + 1) + (40 + 1) + 300
    reduced = 7 * 10 + 6 * (100 + 1000)
    assert ran.compute == compute
    assert ran.cycles == enters + reduced + 7
    assert ran.exposed == ran.cycles - compute
    assert ran.passes == (enters,)
    assert [(each.row, each.stage, each.issued, each.finished) for each in ran.collectives] == [
        (0, WEIGHT, enters, enters + reduced + 7)
    ]


def test_scales_are_float32_and_truncate():
    """30 x 0.7 is 20 (section 1); updates are not scaled, the endpoint's delay is."""
    layer = LayerRow("a", Work(30), Work(0), Work(30, AR, 4000), update=7)
    base = data(layer)
    ran = simulate(replace(base, compute_scale=0.7, comm_scale=0.5, injection_scale=2.0))
    assert ran.compute == 40
    assert ran.cycles == 20 + 1 + 20 + 7 * 20 + 6 * (100 + 500) + 7


def test_a_collective_without_a_dimension_uses_up_a_priority_and_nothing_else():
    one = data(LayerRow("a", Work(10), Work(10), Work(10, AR, 4000)))
    lone = replace(one, network=TextNetwork((dimension(1),)))
    assert simulate(lone).cycles == 10 + 1 + 10 + 1
    assert simulate(lone).collectives == ()


@pytest.mark.parametrize(("scheduling", "first"), [("LIFO", 0), ("FIFO", 1)])
def test_lifo_puts_the_later_collective_first(scheduling, first):
    """Layer 1 enters first; of the chunks that wait, layer 0's go first under LIFO."""
    layers = tuple(LayerRow(name, Work(1), Work(1), Work(1, AR, 4000)) for name in "ab")
    ran = simulate(data(*layers, scheduling=scheduling, splits=4))
    finished = {each.row: each.finished for each in ran.collectives}
    assert min(finished, key=finished.get) == first


def test_chunks_share_the_slots_of_a_dimension():
    layer = LayerRow("a", Work(0), Work(0), Work(0, AR, 4000))
    phase = 7 * 10 + 6 * (100 + 250)
    times = [simulate(data(layer, splits=4, active_chunks=slots)).cycles for slots in (1, 2, 3, 4)]
    assert times == [1 + 1 + count * phase - 0 for count in (4, 2, 2, 1)]


@pytest.mark.parametrize(
    "change",
    [{"passes": -1}, {"queues": 0}, {"compute_scale": -1.0}, {"comm_scale": 1e39}, {"injection_scale": -0.5}],
)
def test_settings_under_which_nothing_runs(change):
    ran = simulate(replace(data(LayerRow("a")), **change))
    assert (ran.cycles, ran.unknown) == (None, None)
    assert ran.fails


def test_a_computation_of_2_to_the_53_is_too_long():
    assert simulate(data(LayerRow("a", Work(2**53 - 2**10)))).cycles is not None
    assert "computes for" in simulate(data(LayerRow("a", Work(2**53)))).fails


# -- ties


def running(queue, end, scheduled, left=0, step_to=0):
    """A chunk that leaves a queue at a cycle, by an event that was scheduled at another."""
    phase = Phase(0, RS, Duration(10.0, (end - scheduled,)), 100)
    entry = Chunk(0, 0, (phase, replace(phase, queue=step_to))[: left + 1])
    entry.end = end
    queue.running.append(entry)
    return entry


def test_chunks_that_end_before_or_with_an_event():
    queue = Queue("FIFO")
    before, same = running(queue, 50, 20), running(queue, 50, 30)
    later, other = running(queue, 50, 31), running(queue, 51, 20)
    assert ending_first([queue], 50, 30) == [before, same]
    assert later not in ending_first([queue], 50, 30)
    assert other not in ending_first([queue], 50, 30)


def test_a_free_slot_may_go_to_another_chunk():
    queue = Queue("FIFO")
    leaving = running(queue, 50, 20)
    old, new = chunk(0), chunk(1)
    queue.insert(old)
    queue.note(new, [leaving], 50, 30)
    queue.insert(new)
    # The slot that falls free would go to the old chunk, had it been free before the new one of higher priority came.
    assert queue.leaving_matters(50)
    assert not queue.leaving_matters(51)
    assert queue.tie.certain
    assert queue.tie.entered == [new]


def test_a_free_slot_goes_to_the_same_chunk():
    queue = Queue("FIFO")
    leaving = running(queue, 50, 20)
    old, new = chunk(1), chunk(0)
    queue.insert(old)
    queue.note(new, [leaving], 50, 30)
    queue.insert(new)
    assert not queue.leaving_matters(50)


def test_a_tie_of_events_of_one_age_is_not_certain():
    queue = Queue("FIFO")
    leaving = running(queue, 50, 30)
    queue.note(chunk(1), [leaving], 50, 30)
    assert not queue.tie.certain


def test_chunks_of_other_queues_make_no_tie():
    queue, other = Queue("FIFO"), Queue("FIFO")
    leaving = running(other, 50, 20)
    leaving.phases = (replace(leaving.phase, queue=7),)
    queue.note(chunk(1), [leaving], 50, 30)
    assert queue.tie.cycle != 50


@pytest.mark.parametrize(
    ("new", "rule", "matters", "certain"),
    [(0, "FIFO", True, False), (1, "FIFO", False, False), (1, "SCF", True, False)],
)
def test_a_chunk_that_arrives_later_may_wait_longer(new, rule, matters, certain):
    """Where both wait, it matters if their order depends on who came first: equal priorities under FIFO."""
    source, queue = Queue(rule), Queue(rule)
    arriving = running(source, 50, 20, left=1, step_to=0)
    arriving.phases = (replace(arriving.phases[0], queue=9), arriving.phases[1])
    entered = chunk(new)
    queue.note(entered, [arriving], 50, 30)
    assert queue.tie.arriving
    assert not queue.tie.leaving
    queue.insert(entered)
    arriving.step = 1
    queue.insert(arriving)
    assert queue.arriving_matters(arriving, 50) is matters
    assert queue.tie.certain is certain
    assert not queue.arriving_matters(arriving, 51)


def test_a_new_chunk_that_runs_has_taken_the_place():
    source, queue = Queue("FIFO"), Queue("FIFO")
    arriving = running(source, 50, 20, left=1)
    arriving.phases = (replace(arriving.phases[0], queue=9), arriving.phases[1])
    entered = chunk(1)
    queue.note(entered, [arriving], 50, 30)
    queue.insert(entered)
    queue.take(1)
    arriving.step = 1
    queue.insert(arriving)
    assert queue.arriving_matters(arriving, 50)
    assert queue.tie.certain
    queue.running.append(arriving)
    assert not queue.arriving_matters(arriving, 50)


# -- members that do not run in step


def test_a_fast_message_overtakes_and_is_lost():
    """Section 3, row 32: a ring of G in a ring of n hangs iff t(h hops) > 2 t(1 hop) + E, h = min(G - 1, n - G + 1)."""
    for latency in (20, 60, 200, 500):
        for delay in (5, 50, 400):
            dimensions = [replace(dimension(8, "Ring", latency), bandwidth=10**9 / 2**30 / 2)]
            split = logical_dimensions(job(dimensions, ("ring",), transformer(4)))[AR][0]
            size = 400
            far, near = 3 * latency + size // 4, latency + size // 4
            hangs = far > 2 * near + delay
            phases = Phases(Endpoint(delay))
            if not hangs:
                assert phases.duration(AR, split, size).ns > 7 * delay + 6 * near
                continue
            with pytest.raises(SimulationError) as caught:
                phases.duration(AR, split, size)
            assert caught.value.fault is Fault.LOST_MESSAGE


def test_a_row_of_too_many_that_are_not_alike_is_refused():
    budget = Endpoint(E).budget
    budget.look_at(1_000_000)
    with pytest.raises(SimulationError) as caught:
        budget.look_at(1_000_001)
    assert caught.value.fault is Fault.UNKNOWN
