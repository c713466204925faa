"""What each strategy sends and computes, alone and with others, against closed forms: in the plan and in the traces."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

import closed_forms
from astrac.job import Collective, Compute, Load, Store
from astrac.training.plan import Communicate, Transfer
from closed_forms import Case
from lowered import (
    columns,
    compiled,
    files,
    first_rank,
    flops,
    members,
    parallelism,
    plan_totals,
    spec,
    topology,
    trace_totals,
    traffic,
)

PRECISIONS = {
    (2, 2): "precision: bf16",
    (2, 4): "precision { compute: bf16, gradients: fp32 }",
    (4, 4): "precision: fp32",
}

CASES = {
    # one strategy alone
    "data": Case(d=8),
    "data-fp32-gradients": Case(d=8, gamma=4, m=3),
    "zero1": Case(d=8, shard="optimizer", m=2),
    "zero2": Case(d=8, shard="gradients", m=2),
    "zero3": Case(d=8, shard="parameters", m=2, gamma=4),
    "tensor": Case(t=4, m=2),
    "tensor-once": Case(t=4),
    "tensor-sequence": Case(t=4, sp=True, m=2),
    "tensor-full": Case(t=4, recompute="full"),
    "tensor-sequence-full": Case(t=4, sp=True, recompute="full"),
    "tensor-selective": Case(t=4, recompute="selective"),
    "pipeline": Case(p=4, m=4),
    "pipeline-gpipe": Case(p=4, m=3, schedule="gpipe"),
    "pipeline-interleaved": Case(p=2, v=2, m=4, schedule="interleaved"),
    "pipeline-tied": Case(p=4, m=2, tied=True, gamma=4),
    "expert": Case(e=4, E=8, m=2),
    "context-gather": Case(c=4, g=4),
    "context-ring": Case(c=4, g=4, method="ring", m=2),
    "context-ulysses": Case(c=4, g=4, method="ulysses"),
    "context-gather-full": Case(c=2, recompute="full"),
    "context-ring-selective": Case(c=4, method="ring", recompute="selective"),
    "context-ulysses-full": Case(c=2, g=4, method="ulysses", recompute="full"),
    # combinations
    "tensor-data": Case(t=4, d=2, m=2),
    "tensor-data-once": Case(t=2, d=4, gamma=4),
    "tensor-sequence-zero1": Case(t=4, sp=True, d=4, shard="optimizer", gamma=4),
    "tensor-zero3": Case(t=2, d=4, shard="parameters", m=2),
    "tensor-pipeline": Case(t=2, p=4, m=4),
    "tensor-sequence-pipeline-interleaved": Case(t=2, sp=True, p=2, v=2, m=4, schedule="interleaved"),
    "pipeline-data-tied": Case(p=2, d=4, m=2, tied=True),
    "pipeline-zero2-tied": Case(p=2, d=4, m=2, tied=True, shard="gradients"),
    "tensor-pipeline-data": Case(t=4, p=2, d=4, m=4, sp=True, recompute="selective"),
    "tensor-pipeline-data-full": Case(t=2, p=2, d=2, m=2, recompute="full", shard="optimizer"),
    "expert-data": Case(e=4, E=8, d=2, m=2),
    "expert-zero2": Case(e=2, E=4, d=4, m=2, shard="gradients"),
    "expert-tensor": Case(e=2, E=4, t=2, sp=True),
    "expert-tensor-pipeline": Case(e=2, E=8, t=2, sp=True, p=2, m=2),
    "expert-zero3": Case(e=4, E=4, d=2, shard="parameters"),
    "context-data": Case(c=2, d=4, method="ring"),
    "context-tensor": Case(c=2, t=2, g=4, method="ulysses"),
    "context-tensor-sequence-data": Case(c=2, t=2, sp=True, d=2, shard="optimizer"),
    "context-pipeline": Case(c=2, p=2, m=2, method="ring"),
    "context-expert-data": Case(c=2, e=2, E=4, d=2),
    "hybrid": Case(d=8, inner=4, shard="parameters", m=2),
    "hybrid-zero1": Case(d=8, inner=2, shard="optimizer"),
    "hybrid-tensor": Case(t=2, d=8, inner=4, shard="gradients", m=2),
    "all-axes": Case(t=2, c=2, e=2, E=4, d=2, p=2, sp=True, m=2, method="ulysses"),
}


def source(case):
    """The spec of a case: an axis a dimension, innermost tensor, context, expert, data, pipeline."""
    experts = f", experts {{ count: {case.E}, active: {case.k}, capacity_factor: {float(case.cf)} }}" if case.E else ""
    axes, sizes = {}, []
    words = {
        "tensor": f"sequence_parallel: {str(case.sp).lower()}",
        "context": f"method: {case.method}",
        "expert": "",
        "data": f"shard: {case.shard}" + (", shard_on: [d{inner}]" if case.inner else ""),
        "pipeline": f"schedule: {case.schedule}" + (f", chunks: {case.v}" if case.v > 1 else ""),
    }
    degrees = {"tensor": case.t, "context": case.c, "expert": case.e, "data": case.d, "pipeline": case.p}
    for kind, degree in degrees.items():
        if degree == 1:
            continue
        text = words[kind].replace("{inner}", str(len(sizes)))
        axes[kind] = f"degree: {degree}" + (f", {text}" if text else "")
        sizes += [case.inner, degree // case.inner] if kind == "data" and case.inner else [degree]
    batch = case.b * case.m * case.d * case.e
    return spec(
        topology=topology(*sizes),
        model=f"model m {{ transformer {{ layers: {case.L}, hidden: {case.h}, heads: {case.a}, kv_heads: {case.g}, "
        f"sequence: {case.s}, vocabulary: {case.V}, max_positions: {case.S}, "
        f"tied: {str(case.tied).lower()}{experts} }} }}",
        parallelism=parallelism(**axes),
        training=f"training {{ global_batch: {batch}, micro_batch: {case.b}, optimizer: adam, "
        f"recompute: {case.recompute}, {PRECISIONS[case.beta, case.gamma]} }}",
    )


@pytest.fixture(scope="module", params=CASES)
def both(request):
    case = CASES[request.param]
    return case, compiled(source(case))


def test_bytes_by_axis_and_phase(both):
    case, result = both
    assert +columns(result.plan, traffic) == closed_forms.traffic(case)


def test_flops_by_phase(both):
    case, result = both
    assert columns(result.plan, flops) == closed_forms.flops(case)


def test_traces_add_up_to_the_plan(both):
    _, result = both
    for program in result.plan.programs:
        assert trace_totals(result, first_rank(result.plan, program)) == plan_totals(result.plan, program)


def test_every_rank_ends(both):
    _, result = both
    assert result.estimate.fails is None
    assert sum(run.last - run.first + 1 for run in result.estimate.runs) == result.job.machine.npus


def test_the_text_says_the_same_bytes(both):
    """Of ASTRA-sim 1.0, where one of its policies can say the plan: forward, input gradient, weight gradient."""
    case, result = both
    if result.jobs.get("astra-sim-1") is None:
        assert case.p * case.c * case.e * case.m > 1 or case.sp or case.shard != "none" or case.recompute != "none"
        return
    sent = closed_forms.traffic(case)
    (text,) = (content.decode() for path, content in files(result).items() if path.endswith("workload.txt"))
    policy, count, *words = text.split()
    rows = [words[at : at + 12] for at in range(0, len(words), 12)]
    assert len(rows) == int(count)
    assert policy == ("DATA" if case.t == 1 else "MODEL" if case.d == 1 else "HYBRID_DATA_MODEL")
    for column, key in ((4, ("tensor", "forward")), (7, ("tensor", "input_gradient")), (10, ("data", "reduction"))):
        assert sum(int(row[column]) for row in rows) == sent[*key, "all_reduce"]
        assert {row[column - 1] for row in rows if int(row[column])} <= {"ALLREDUCE"}


def test_collectives_are_totally_ordered(both):
    """Each waits for the one before it, whatever their groups: two ranks that differ would wait for ever."""
    _, result = both
    for program in result.job.programs:
        before = None
        for op in program.ops:
            if isinstance(op, Collective | Load | Store):
                assert before is None or before in (*op.data, *op.control)
                before = op.id


def test_members_issue_the_same_sequence(both):
    """Of kinds and sizes, in every group, on every rank."""
    _, result = both
    sequences = {}
    for program in result.plan.programs:
        for rank in result.job.ranks(result.job.classes[result.plan.programs.index(program)]):
            mine = {}
            for step in program.steps:
                if isinstance(step.action, Communicate):
                    action = step.action
                    group = members(result.plan, action.axes, rank, action.only)
                    assert len(group) > 1
                    assert rank in group
                    mine.setdefault(group, []).append((action.kind, action.bytes))
            for group, sequence in mine.items():
                assert sequences.setdefault(group, sequence) == sequence


def test_messages_have_two_ends(both):
    """Equal tags and sizes on both sides, each once."""
    _, result = both
    ends = Counter()
    for program, ranks in zip(result.plan.programs, result.job.classes, strict=True):
        for rank in result.job.ranks(ranks):
            for action in (step.action for step in program.steps if isinstance(step.action, Transfer)):
                peer = result.plan.axis(action.axis).peer(rank, action.offset)
                route = (rank, peer) if action.send else (peer, rank)
                ends[route, action.tag, action.bytes] += 1 if action.send else -1
                assert action.tag < 500_000_000
    assert not +ends
    assert not -ends


def test_no_node_is_empty(both):
    _, result = both
    for program in result.job.programs:
        assert program.ops
        for op in program.ops:
            assert op.num_ops > 0 < op.tensor_size if isinstance(op, Compute) else op.bytes > 0


def test_experts_of_one_rank():
    """The slots of a mixture are computed once: the work of its experts does not depend on the axis."""

    def products(case):
        plan = compiled(source(case)).plan
        steps = [step for step in plan.programs[0].steps if "expert_up" in step.layer and step.phase.value == "forward"]
        return sum(step.action.flops for step in steps if step.axis == "")

    tokens, h, f = 2 * 32, 64, 256
    expected = 4 * int(tokens * 2 * Fraction(5, 4)) * (2 * h * f + 8 * f)
    assert products(Case(E=8, d=4)) == products(Case(E=8, e=4)) == expected
    assert products(Case(E=8, e=2, t=2, sp=True)) == expected // 2


def test_cases_are_many():
    """Each strategy alone and at least twelve combinations."""
    axes = [sum(degree > 1 for degree in (case.t, case.c, case.e, case.d, case.p)) for case in CASES.values()]
    assert Counter(count > 1 for count in axes)[True] >= 12
