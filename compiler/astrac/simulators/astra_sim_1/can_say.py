"""What ASTRA-sim 1.0 can say of a plan, stated field by field: whatever is not stated here is refused.

1.0 is told layers with times and sizes, and a policy that fixes over which dimensions each column of them communicates
(docs/simulators/astra-sim-1.md, section 1). A field of the spec can be said when all that it does to the training step
ends up in those times, sizes and dimensions, or in a key of system.txt or network.json.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from astrac import spec as blocks
from astrac.diagnostics import Diagnostic, diagnostic
from astrac.job import IMPLEMENTED
from astrac.simulators.algorithms import ALGORITHMS
from astrac.simulators.blocks import BLOCKS
from astrac.training.plan import Communicate, Computation, Phase
from astrac.training.strategies.data import KIND as DATA
from astrac.training.strategies.tensor import KIND as TENSOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from astrac.source import Span
    from astrac.training.plan import Plan, Step

    Near = Callable[[str], Span]
    """The place of a JSON pointer of the spec's document: of its value, or of the nearest block around it."""

    Unsaid = tuple[str, str]
    """What 1.0 has no words for, and the JSON pointer of what asks for it."""

HINT = "the traces of `--target astra-sim-2` say it"


@dataclass(frozen=True, slots=True)
class Sayable:
    """What a block of the spec may contain; a field that is in neither table is refused as soon as it is given.

    Attributes:
        anything: fields that may have any value; a block inside has a row of its own.
        values: field -> the values that it may have.
    """

    anything: frozenset[str]
    values: Mapping[str, tuple[object, ...]]


def _sayable(anything: str, **values: tuple[object, ...]) -> Sayable:
    return Sayable(frozenset(anything.split()), values)


_KNOWN = [row for row in ALGORITHMS.values() if row.words.astra_sim_1 is not None]
_WHOLE = [row.whole.language for row in _KNOWN if row.whole is not None and row.whole.astra_sim_1 is not None]
_WORDS = [row.words.language for row in _KNOWN]

SAYABLE: dict[type, Sayable | None] = {
    blocks.Spec: _sayable("hardware topology model parallelism training system", memory_pool=(None,)),
    blocks.Parallelism: _sayable("axes"),
    blocks.Data: _sayable("kind degree on shard_on buckets prefetch", shard=("none",), overlap=(True,)),
    blocks.Tensor: _sayable("kind degree on", sequence_parallel=(False,)),
    blocks.Pipeline: None,
    blocks.Expert: None,
    blocks.Context: None,
    # How long a step computes, and how many bytes it sends, is told in numbers.
    blocks.Training: _sayable(
        "global_batch micro_batch precision optimizer steps", pass_=("training",), recompute=("none",)
    ),
    blocks.Precision: _sayable("compute weights gradients reduce activations optimizer master_weights"),
    blocks.MemoryPool: None,
    blocks.Hardware: _sayable("name peak memory efficiency systolic", slow=(None,)),
    blocks.Peak: _sayable("fp64 fp32 tf32 fp16 bf16 fp8 int8"),
    blocks.Memory: _sayable("capacity bandwidth allow_overflow"),
    blocks.Systolic: _sayable("rows columns dataflow clock"),
    blocks.Slow: None,
    # The model becomes rows; what an override of a layer does to them is seen in the steps (`STEPS`).
    blocks.Model: _sayable("name onnx transformer collective bind inputs tie layers times times_rest"),
    blocks.Transformer: _sayable(
        "layers hidden heads kv_heads head_size ffn activation norm norm_position bias dropout positions max_positions "
        "segments pooler causal sequence vocabulary tied experts"
    ),
    blocks.Experts: _sayable("count active hidden capacity_factor every"),
    blocks.CollectiveBenchmark: _sayable("kind size repeat"),
    blocks.Input: _sayable("kind name shape"),
    blocks.LayerOverride: _sayable("kind name freeze shard stage precision recompute"),
    # Keys of network.json and of system.txt. The backend is a choice between networks of 2.x.
    blocks.Topology: _sayable("name dimensions"),
    blocks.Dimension: _sayable(
        "name size bandwidth latency window algorithms",
        algorithm=(None, *_WORDS),
        kind=tuple(row.word for row in BLOCKS.values() if row.astra_sim_1 is not None),
    ),
    blocks.Algorithms: _sayable(
        "",
        **{
            kind.name.lower(): (None, *(row.words.language for row in _KNOWN if kind in row.kinds))
            for kind in IMPLEMENTED
        },
    ),
    blocks.System: _sayable(
        "chunks active_chunks endpoint_delay backend",
        algorithm=(*_WORDS, *_WHOLE),
        optimization=("local_bw_aware", "baseline"),
        scheduling=("lifo", "fifo"),
    ),
}
"""By the class of a block of the spec; None: the block cannot be said at all."""

WORDS: dict[tuple[type, str], str] = {
    (blocks.Spec, "memory_pool"): "a memory pool",
    (blocks.Tensor, "sequence_parallel"): "sequence parallelism",
    (blocks.Hardware, "slow"): "stragglers",
}
"""What a field means that cannot be said, where `key: value` does not tell it."""

STEPS: dict[tuple[Phase, type], tuple[str, ...]] = {
    (Phase.FORWARD, Computation): (),
    (Phase.FORWARD, Communicate): (TENSOR,),
    (Phase.INPUT_GRADIENT, Computation): (),
    (Phase.INPUT_GRADIENT, Communicate): (TENSOR,),
    (Phase.WEIGHT_GRADIENT, Computation): (),
    (Phase.REDUCTION, Communicate): (DATA,),
    (Phase.OPTIMIZER, Computation): (),
}
"""Steps that are a part of a row, and the axes over which those that communicate do so: the policies choose among no
others."""


def can_say(plan: Plan, near: Near) -> tuple[Diagnostic, ...]:
    """AS710 for the first thing in a plan that no policy of 1.0 has words for, at what asks for it."""
    return tuple(
        diagnostic("AS710", f"ASTRA-sim 1.0 has no policy for {what}", near(pointer), hints=(HINT,))
        for what, pointer in islice(_unsaid(plan), 1)
    )


def _unsaid(plan: Plan) -> Iterator[Unsaid]:
    spec = plan.spec
    if spec.model.collective is None:
        assert spec.training is not None
        for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
            # The degree of a data axis with hybrid sharding is that of its halves.
            if axis.kind == DATA or plan.degree(axis.kind) > 1:
                yield from _in_block(axis, f"/parallelism/axes/{index}")
        if plan.micro_batches > 1:
            yield f"{plan.micro_batches} micro-batches", "/training"
        yield from _in_block(spec.training, "/training")
        for step in plan.programs[0].steps:
            yield from _in_step(step)
        if len(plan.programs) > 1:
            yield "ranks that run different steps", "/parallelism"
        yield from _in_field(blocks.Spec, "memory_pool", spec.memory_pool, "/memory_pool")
        yield from _in_block(spec.hardware, "/hardware")
    for name in ("model", "topology", "system"):
        yield from _in_field(blocks.Spec, name, getattr(spec, name), f"/{name}")


def _in_block(block: Any, where: str) -> Iterator[Unsaid]:
    """What cannot be said in a block of the spec that stands at `where`."""
    row = SAYABLE.get(type(block))
    if row is None:
        yield f"a `{getattr(block, 'kind', where.rpartition('/')[2])}` axis: it needs traces", where
        return
    # Fields with few values are told first, in the order of the row.
    for name in dict.fromkeys((*row.values, *(field.name for field in fields(block)))):
        yield from _in_field(type(block), name, getattr(block, name), f"{where}/{name.rstrip('_')}")


def _in_field(block: type, name: str, value: Any, where: str) -> Iterator[Unsaid]:
    """The same of a field of a block; blocks inside are looked into."""
    row = SAYABLE[block]
    assert row is not None
    if name not in row.anything and value not in row.values.get(name, (None,)):
        shown = str(value).lower() if isinstance(value, bool) else value
        yield WORDS.get((block, name), f"`{name.rstrip('_')}: {shown}`"), where
    elif is_dataclass(value):
        yield from _in_block(value, where)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            if is_dataclass(item):
                yield from _in_block(item, f"{where}/{index}")


def _in_step(step: Step) -> Iterator[Unsaid]:
    """The same of a step of the plan, whatever strategy has made it."""
    if step.phase is Phase.RECOMPUTE:
        yield "recomputed layers", "/model/layers"
        return
    action = step.action
    axes = STEPS.get((step.phase, type(action)))
    phase = step.phase.value.replace("_", " ")
    if axes is None:
        yield f"a `{type(action).__name__.lower()}` step in the {phase} of `{step.layer}`", "/parallelism"
    elif isinstance(action, Communicate) and (action.only or not set(action.axes) <= set(axes)):
        names = " and ".join(f"`{axis}`" for axis in action.axes)
        yield f"a collective over {names} in the {phase} of `{step.layer}`", "/parallelism"
