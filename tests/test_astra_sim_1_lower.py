"""What ASTRA-sim 1.0 can say of a plan, and what it is told."""

from dataclasses import fields, is_dataclass, replace

import pytest

from astrac import spec as blocks
from astrac.api.compiling import compile_data
from astrac.job import Dimension, Kind, Machine
from astrac.simulators.algorithms import ALGORITHMS
from astrac.simulators.astra_sim_1 import can_say as sayable
from astrac.simulators.astra_sim_1.can_say import SAYABLE, STEPS, Sayable, can_say
from astrac.simulators.astra_sim_1.lower import derive_network, derive_system, lower
from astrac.training.plan import Communicate, Computation, Phase, Remote, Transfer
from lowered import compiled, files, parallelism, planned, spec, topology

MODEL = "model m { transformer { layers: 2, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }"
BLOCKS = [block for block in vars(blocks).values() if is_dataclass(block)]

WORDS = {words.language for row in ALGORITHMS.values() for words in row.listed_words}


def plan_of(batch=8, **axes):
    training = f"training {{ global_batch: {batch}, precision: bf16 }}"
    text = spec(topology=topology(8, kind="ring"), model=MODEL, parallelism=parallelism(**axes), training=training)
    return planned(text).plan


def unsaid(plan):
    """What is told, and the pointer it is told at."""
    pointers = []
    found = can_say(plan, pointers.append)
    return [(finding.message, pointer) for finding, pointer in zip(found, pointers, strict=True)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_field_of_a_spec_is_stated_or_refused(block):
    assert block in SAYABLE, (
        f"can_say.SAYABLE has no row for `{block.__name__}`: state what ASTRA-sim 1.0 can say of it, or None if nothing"
    )
    row = SAYABLE[block]
    if row is None:
        return
    names = {field.name for field in fields(block)}
    stated = row.anything | set(row.values)
    assert not names - stated, (
        f"the row of `{block.__name__}` in can_say.SAYABLE does not say what 1.0 can say of {sorted(names - stated)}"
    )
    assert not stated - names, f"`{block.__name__}` has no fields {sorted(stated - names)}"
    assert not row.anything & set(row.values)


def test_values_that_are_stated_are_values_of_the_schema():
    """Of words that the language has: a misspelt one would refuse what can be said."""
    for block, row in SAYABLE.items():
        for name, values in ({} if row is None else row.values).items():
            hint = block.__annotations__[name].replace('"', "'")
            words = [value for value in values if value not in WORDS]
            assert all(value is None or isinstance(value, bool) or f"'{value}'" in hint for value in words), name


def test_a_key_that_is_not_stated_is_refused_at_its_place(monkeypatch):
    row = SAYABLE[blocks.Data]
    monkeypatch.setitem(SAYABLE, blocks.Data, Sayable(row.anything - {"prefetch"}, row.values))
    assert unsaid(plan_of(data="")) == [
        ("ASTRA-sim 1.0 has no policy for `prefetch: 1`", "/parallelism/axes/0/prefetch")
    ]


def test_a_value_that_is_not_stated_is_refused_at_its_place(monkeypatch):
    row = SAYABLE[blocks.Dimension]
    monkeypatch.setitem(SAYABLE, blocks.Dimension, Sayable(row.anything, {"kind": ("switch",)}))
    assert unsaid(plan_of(data="")) == [("ASTRA-sim 1.0 has no policy for `kind: ring`", "/topology/dimensions/0/kind")]


@pytest.mark.parametrize(
    ("change", "message", "place"),
    [
        ({"algorithm": "biring"}, "`algorithm: biring`", "/topology/dimensions/0/algorithm"),
        ({"algorithms": blocks.Algorithms(all_gather="biring")}, "`all_gather: biring`",
         "/topology/dimensions/0/algorithms/all_gather"),
    ],
)  # fmt: skip
def test_an_algorithm_that_1_has_no_word_for_is_refused(change, message, place):
    plan = plan_of(data="")
    (dimension,) = plan.spec.topology.dimensions
    topology = replace(plan.spec.topology, dimensions=(replace(dimension, **change),))
    changed = replace(plan, spec=replace(plan.spec, topology=topology))
    assert unsaid(changed) == [(f"ASTRA-sim 1.0 has no policy for {message}", place)]


def test_an_algorithm_of_the_system_that_1_has_no_word_for_is_refused():
    plan = plan_of(data="")
    changed = replace(plan, spec=replace(plan.spec, system=replace(plan.spec.system, algorithm="one_biring")))
    assert unsaid(changed) == [("ASTRA-sim 1.0 has no policy for `algorithm: one_biring`", "/system/algorithm")]


def test_a_block_that_is_not_stated_is_refused(monkeypatch):
    monkeypatch.setitem(SAYABLE, blocks.Tensor, None)
    assert unsaid(plan_of(1, tensor="degree: 8")) == [
        ("ASTRA-sim 1.0 has no policy for a `tensor` axis: it needs traces", "/parallelism/axes/0")
    ]


def test_reductions_that_wait_for_the_end_of_backward_have_no_policy():
    assert unsaid(plan_of(data="overlap: false")) == [
        ("ASTRA-sim 1.0 has no policy for `overlap: false`", "/parallelism/axes/0/overlap")
    ]
    assert unsaid(plan_of(data="overlap: true")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": Remote(8, store=True)}, "a `remote` step in the {phase} of `{layer}`"),
        ({"action": Transfer("data", 1, 8, 1, send=True)}, "a `transfer` step in the {phase} of `{layer}`"),
        ({"phase": Phase.RECOMPUTE}, "recomputed layers"),
    ],
)
@pytest.mark.parametrize("phase", [phase for phase, action in STEPS if action is Computation])
def test_a_step_that_no_row_has_is_refused(phase, change, message):
    plan = plan_of(data="")
    program = plan.programs[0]
    at = next(at for at, step in enumerate(program.steps) if step.phase is phase)
    step = program.steps[at]
    steps = (*program.steps[:at], replace(step, **change), *program.steps[at + 1 :])
    told = message.format(phase=phase.value.replace("_", " "), layer=step.layer)
    ((found, _),) = unsaid(replace(plan, programs=(replace(program, steps=steps),)))
    assert found == f"ASTRA-sim 1.0 has no policy for {told}"


@pytest.mark.parametrize("change", [{"axes": ("tensor",)}, {"axes": ("data", "context")}, {"only": (0,)}])
def test_a_collective_over_other_ranks_is_refused(change):
    plan = plan_of(data="")
    program = plan.programs[0]
    steps = tuple(
        replace(step, action=replace(step.action, **change)) if isinstance(step.action, Communicate) else step
        for step in program.steps
    )
    ((found, pointer),) = unsaid(replace(plan, programs=(replace(program, steps=steps),)))
    assert found.startswith("ASTRA-sim 1.0 has no policy for a collective over `")
    assert pointer == "/parallelism"


def test_ranks_of_two_kinds_are_refused():
    plan = plan_of(data="")
    assert unsaid(replace(plan, programs=plan.programs * 2)) == [
        ("ASTRA-sim 1.0 has no policy for ranks that run different steps", "/parallelism")
    ]


def test_every_word_is_of_a_field_that_can_be_refused():
    for block, name in sayable.WORDS:
        assert name in SAYABLE[block].values


def workload_of(sizes, batch=8, **axes):
    """The words of workload.txt, line by line; None where ASTRA-sim 1.0 cannot say the spec."""
    training = f"training {{ global_batch: {batch}, precision: bf16 }}"
    text = spec(topology=topology(*sizes), model=MODEL, parallelism=parallelism(**axes), training=training)
    found = files(compiled(text)).get("astra-sim-1/workload.txt")
    return None if found is None else [line.split() for line in found.decode().splitlines()]


@pytest.mark.parametrize(
    ("sizes", "axes", "policy"),
    [
        ((8,), {"data": ""}, "DATA"),
        ((4, 2), {"data": ""}, "DATA"),
        ((8,), {"tensor": ""}, "MODEL"),
        ((4, 2), {"tensor": "degree: 4", "data": ""}, "HYBRID_DATA_MODEL"),
        ((4, 2, 2), {"tensor": "degree: 4", "data": ""}, "HYBRID_DATA_MODEL"),
        ((4, 2), {"data": "degree: 4", "tensor": "degree: 2"}, "HYBRID_MODEL_DATA"),
        ((8,), {"tensor": "degree: 4", "data": ""}, None),
        ((2, 2, 2), {"tensor": "degree: 4", "data": ""}, None),
        ((2, 4), {"data": "degree: 4", "tensor": "degree: 2"}, None),
    ],
)
def test_the_policy_is_the_one_whose_dimensions_the_axes_fill(sizes, axes, policy):
    """Hybrid policies give one axis the first dimension and the other all the rest (section 1)."""
    lines = workload_of(sizes, **axes)
    assert (None if lines is None else lines[0]) == (None if policy is None else [policy])


def test_times_and_bytes_of_a_plan_are_those_of_the_text():
    """Nothing is lost on the way: the sum of each column is that of the plan's steps; updates stand in their column."""
    for sizes, axes in (((8,), {"data": ""}), ((4, 2), {"tensor": "degree: 4", "data": ""})):
        training = "training { global_batch: 8, precision: bf16 }"
        text = spec(topology=topology(*sizes), model=MODEL, parallelism=parallelism(**axes), training=training)
        plan = planned(text).plan
        rows = [line for line in workload_of(sizes, **axes) if len(line) == 12]
        columns = {Phase.FORWARD: 2, Phase.INPUT_GRADIENT: 5, Phase.WEIGHT_GRADIENT: 8, Phase.REDUCTION: 8}
        times, sent, updates = {2: 0, 5: 0, 8: 0}, {2: 0, 5: 0, 8: 0}, 0
        for step in plan.programs[0].steps:
            if step.phase is Phase.OPTIMIZER:
                updates += step.action.time
            elif isinstance(step.action, Communicate):
                sent[columns[step.phase]] += step.action.bytes
            else:
                times[columns[step.phase]] += step.action.time
        if "tensor" in axes:
            assert rows[0][0] == "optimizer"
            times[8] += updates
        else:
            # DATA never runs the first row's input gradient: its time goes to the weight gradient.
            assert rows[0][5] == "0"
            assert sum(int(row[11]) for row in rows) == updates
        assert sum(times.values()) == sum(int(row[column]) for row in rows for column in times)
        assert {column: sum(int(row[column + 2]) for row in rows) for column in sent} == sent


def test_a_step_of_no_layer_is_refused():
    plan = plan_of(data="")
    program = plan.programs[0]
    steps = (replace(program.steps[0], layer="a..b"), *program.steps[1:])
    result = lower(replace(plan, programs=(replace(program, steps=steps),)), lambda _: None)
    assert [found.message for found in result.diagnostics] == ["ASTRA-sim 1.0 has no layer for `a..b`"]


def test_a_machine_becomes_a_system():
    machine = Machine(
        (Dimension("Ring", 8, 50.0, 500.0), Dimension("FullyConnected", 1, 50.0, 500.0)),
        {Kind.ALL_REDUCE: ("direct", "ring"), Kind.ALL_TO_ALL: ("direct", "direct")},
        splits=3,
        active_chunks=2,
        optimization="baseline",
        scheduling="FIFO",
        endpoint_delay=7,
    )
    system = derive_system(machine)
    assert (system.splits, system.active_chunks, system.optimization) == (3, 2, "baseline")
    assert (system.scheduling, system.endpoint_delay) == ("FIFO", 7)
    # A kind that 2.x has no words for takes those of the all-reduce: 1.0 wants all four.
    assert system.words(Kind.ALL_GATHER) == system.words(Kind.REDUCE_SCATTER) == ("direct", "ring")
    assert system.words(Kind.ALL_TO_ALL) == ("direct", "direct")
    assert derive_system(replace(machine, endpoint_delay=None)).endpoint_delay == 10
    assert derive_system(replace(machine, algorithms={})).words(Kind.ALL_REDUCE) == ("ring", "ring")
    # A lone NPU has no neighbours: it stands at a switch.
    ring, lone = derive_network(machine).dimensions
    assert (ring.block, ring.links, ring.bandwidth, ring.latency) == ("Ring", 2, 25.0, 500.0)
    assert (lone.block, lone.size, lone.links) == ("Switch", 1, 1)


def test_a_benchmark_is_micro_with_a_pass_each():
    model = "model bench { collective { kind: all_gather, size: 1 MiB, repeat: 3 } }"
    (result,) = compile_data("test.astra", spec(topology=topology(8), model=model).encode())
    made = files(result.value)
    lines = made["astra-sim-1/workload.txt"].decode().split("\n")
    assert lines[:2] == ["MICRO", "1"]
    assert lines[2].split()[1:] == [
        "-1",
        *["0", "NONE", "0", "0", "NONE", "0", "0", "ALLGATHER"],
        str((1 << 20) // 8),
        "1",
    ]
    assert "--num-passes=3" in made["astra-sim-1/run.sh"].decode()


def test_steps_are_passes():
    text = spec(
        topology=topology(8), model=MODEL, parallelism=parallelism(data=""),
        training="training { global_batch: 8, precision: bf16, steps: 4 }",
    )  # fmt: skip
    one = workload_of((8,), data="")
    made = files(compiled(text))
    assert [line.split() for line in made["astra-sim-1/workload.txt"].decode().splitlines()] == one
    assert "--num-passes=4" in made["astra-sim-1/run.sh"].decode()


def test_rows_are_units_where_only_gradients_meet_and_matrices_where_layers_communicate():
    units = [line[0] for line in workload_of((8,), data="")[2:]]
    assert len(units) == len(set(units)) == 4  # embedding, two blocks, head
    matrices = [line[0] for line in workload_of((8,), tensor="")[2:]]
    assert matrices[0] == "optimizer"
    assert len(matrices) > 2 * 4
