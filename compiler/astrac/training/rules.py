"""Spec -> diagnostics: what each key allows by itself, but not together. One function a rule, run in this order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from astrac.diagnostics import Setting
from astrac.models.shape import contradictions, resolve
from astrac.training.finding import Finding
from astrac.training.strategies.placement import axis_blocks, npus, place
from astrac.training.strategies.precision import without_peak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.source import Span
    from astrac.spec import Spec

    At = Callable[[str], Span]
    """The place of a JSON pointer of the Document: of its value, or of the nearest block around it."""


def rules(spec: Spec, at: At, beside: Iterable[Callable[[Spec, At], Iterable[Finding]]] = ()) -> tuple[Diagnostic, ...]:
    """All findings about a valid, typed Spec. A rule whose ground another one has found missing stays silent.

    Args:
        spec: typed.
        at: the place of a JSON pointer of the Document.
        beside: rules of others, run after these: what simulators make of the spec.
    """
    found = [finding.placed(at) for rule in GROUND for finding in rule(spec)]
    if not any(finding.is_error for finding in found):
        found += [finding.placed(at) for rule in RULES for finding in rule(spec)]
        found += [finding.placed(at) for rule in beside for finding in rule(spec, at)]
    return tuple(found)


def _complete(spec: Spec) -> Iterator[Finding]:
    """One description of a model, and what a training step needs."""
    model = spec.model
    ways = [name for name in ("onnx", "transformer", "collective") if getattr(model, name) is not None]
    if not ways:
        hint = 'write `onnx: "path"`, `transformer { ... }` or `collective { ... }`'
        yield Finding("AS501", "/model", "the model says neither `onnx` nor `transformer` nor `collective`", hint)
    elif len(ways) > 1:
        beside = f"/model/{ways[0]}", f"`{ways[0]}` is here"
        yield Finding("AS502", f"/model/{ways[1]}", f"the model says both `{ways[0]}` and `{ways[1]}`", beside=beside)
    if model.collective is not None:
        return
    for name in ("parallelism", "training"):
        if getattr(spec, name) is None:
            yield Finding("AS503", "", f"a spec needs a `{name}` block", HINTS[name])


HINTS = {
    "parallelism": "for example `parallelism { data {} }`: data parallelism over all NPUs",
    "training": "for example `training { global_batch: 256, precision: bf16 }`",
}


MOST_NPUS = 1 << 20
"""A trace for each of them; ASTRA-sim itself needs 5 GB for 4,096 on one ring."""


def _size(spec: Spec) -> Iterator[Finding]:
    """As many NPUs as files can be written for."""
    total = npus(spec.topology)
    if total > MOST_NPUS:
        sizes = " x ".join(str(dimension.size) for dimension in spec.topology.dimensions)
        yield Finding("AS534", "/topology", f"{sizes} = {total:,} NPUs, more than {MOST_NPUS:,}")


GROUND = (_complete, _size)


def _placement(spec: Spec) -> Iterator[Finding]:
    """Degrees multiply to the NPUs and nest with the dimensions."""
    if spec.parallelism is not None and spec.model.collective is None:
        yield from place(spec).problems


def _batch(spec: Spec) -> Iterator[Finding]:
    """The global batch divides into micro-batches, and they into the pipeline's rounds."""
    placement = place(spec)
    training = spec.training
    if training is None or placement.problems:
        return
    degrees = placement.degrees
    replicas = degrees["data"] * degrees["expert"]
    micro = 1 if training.micro_batch is None else training.micro_batch
    words = [f"{kind} {degrees[kind]}" for kind in ("data", "expert") if degrees[kind] > 1]
    if training.micro_batch is not None or not words:
        words.append(f"micro_batch {micro}")
    if training.global_batch % (replicas * micro):
        message = f"global_batch {training.global_batch} is not a multiple of {' x '.join(words)}"
        message += f" = {replicas * micro}" if len(words) > 1 else ""
        share, rest = divmod(training.global_batch, replicas)
        hint = f"a `micro_batch` of {_divisors(share)} divides the {share} samples of a rank" if not rest else ""
        yield Finding("AS515", "/training/global_batch", message, hint)
        return
    count = training.global_batch // (replicas * (training.micro_batch or training.global_batch // replicas))
    for pointer, axis in axis_blocks(spec):
        if axis.kind == "pipeline" and _is_grouped(axis.schedule) and count % degrees["pipeline"]:
            wanted = f"a multiple of {degrees['pipeline']} micro-batches"
            message = f"`{axis.schedule}` needs {wanted}, this step has {count}"
            yield Finding("AS516", f"{pointer}/schedule", message)


def _divisors(number: int, most: int = 64) -> str:
    """The divisors of a number up to a bound, in words: `1, 2 or 4`."""
    *first, last = (str(divisor) for divisor in range(1, min(number, most) + 1) if number % divisor == 0)
    return f"{', '.join(first)} or {last}" if first else last


def _shares(spec: Spec) -> Iterator[Finding]:
    """What the axes cut must divide evenly."""
    model, placement = spec.model.transformer, place(spec)
    if placement.problems or spec.model.collective is not None:
        return
    degrees = placement.degrees
    if model is None:
        yield from _needs_transformer(spec, degrees)
        return
    wrong = list(contradictions(model))
    for found in wrong:
        yield Finding(found.code, f"/model/transformer/{found.key}", found.message, found.hint)
    shape = resolve(model)
    tensor, context = degrees["tensor"], degrees["context"]
    divided = [
        ("heads", model.heads, tensor, "tensor"),
        ("kv_heads", shape.kv_heads, tensor, "tensor"),
        ("ffn", shape.ffn, tensor, "tensor"),
        ("vocabulary", model.vocabulary, tensor, "tensor"),
        ("sequence", model.sequence, context, "context"),
    ]
    for key, value, degree, axis in divided:
        told = key in {found.key for found in wrong} or (key == "kv_heads" and value == model.heads)
        if value % degree and not told:
            message = f"{key} {value} is not a multiple of the {axis} axis' degree {degree}"
            hint = f"a {axis} degree of {_divisors(value, degree)} divides it"
            padded = (Setting("/model/transformer", f"vocabulary: {-(-value // degree) * degree:_}"),)
            settings = padded if key == "vocabulary" else ()
            yield Finding("AS517", f"/model/transformer/{key}", message, hint, settings=settings)
    yield from _tokens(spec, degrees)
    yield from _experts(spec, degrees)


def _is_grouped(schedule: str) -> bool:
    from astrac.training.strategies.pipeline import SCHEDULES  # noqa: PLC0415 - few specs have the axis

    return SCHEDULES[schedule].grouped


def _splits_heads(method: str) -> bool:
    from astrac.training.strategies.context import METHODS  # noqa: PLC0415 - few specs have the axis

    return METHODS[method].splits_heads


def _tokens(spec: Spec, degrees: dict[str, int]) -> Iterator[Finding]:
    """Sequence parallelism and Ulysses cut what tensor and context axes left."""
    model = spec.model.transformer
    assert model is not None
    for pointer, axis in axis_blocks(spec):
        both = degrees["tensor"] * degrees["context"]
        if axis.kind == "tensor" and axis.sequence_parallel and model.sequence % both:
            message = f"sequence {model.sequence} is not a multiple of tensor x context = {both} ranks that share it"
            yield Finding("AS517", f"{pointer}/sequence_parallel", message)
        if axis.kind == "context" and _splits_heads(axis.method) and degrees["context"] > 1:
            for key in ("heads", "kv_heads"):
                value = getattr(model, key) or model.heads
                if value % both:
                    message = f"`{axis.method}` spreads heads over tensor x context = {both} ranks"
                    yield Finding("AS517", f"{pointer}/method", f"{message}; {key} {value} is no multiple")


def _experts(spec: Spec, degrees: dict[str, int]) -> Iterator[Finding]:
    """Experts spread over the expert axis; with a tensor axis tokens travel cut along the sequence."""
    model = spec.model.transformer
    assert model is not None
    experts = model.experts
    for pointer, axis in axis_blocks(spec):
        if axis.kind == "expert" and degrees["expert"] > 1:
            if experts is None:
                yield Finding("AS518", pointer, "an `expert` axis needs a model with `experts`")
            elif experts.count % degrees["expert"]:
                message = f"{experts.count} experts are not a multiple of the expert axis' degree {degrees['expert']}"
                yield Finding("AS517", "/model/transformer/experts/count", message)
        if axis.kind == "tensor" and experts is not None and experts.hidden and experts.hidden % degrees["tensor"]:
            message = (
                f"experts' hidden {experts.hidden} is not a multiple of the tensor axis' degree {degrees['tensor']}"
            )
            yield Finding("AS517", "/model/transformer/experts/hidden", message)
        if axis.kind == "tensor" and experts is not None and degrees["tensor"] > 1 and not axis.sequence_parallel:
            hint = (
                "write `sequence_parallel: true`: tokens are then cut along the tensor axis when they travel to experts"
            )
            message = "a `tensor` axis over a model with experts needs sequence parallelism"
            yield Finding("AS519", pointer, message, hint)


def _needs_transformer(spec: Spec, degrees: dict[str, int]) -> Iterator[Finding]:
    """Axes that cut tokens or experts need a model that has them."""
    for pointer, axis in axis_blocks(spec):
        if axis.kind in ("context", "expert") and degrees[axis.kind] > 1:
            yield Finding("AS518", pointer, f"a `{axis.kind}` axis needs a `transformer` model")
        if axis.kind == "tensor" and degrees["tensor"] > 1:
            if axis.sequence_parallel:
                yield Finding(
                    "AS518", f"{pointer}/sequence_parallel", "`sequence_parallel` needs a `transformer` model"
                )
            elif not any(layer.shard not in (None, "none") for layer in spec.model.layers or ()):
                hint = 'say which layers it cuts: `layer "pattern" { shard: column }` and `{ shard: row }`'
                yield Finding("AS518", pointer, "a `tensor` axis cuts no layer of an ONNX model by itself", hint)


def _meaningless(spec: Spec) -> Iterator[Finding]:
    """Keys that have nothing to act on."""
    for pointer, axis in axis_blocks(spec):
        if axis.kind == "data" and axis.shard_on is not None and axis.shard == "none":
            hint = "write `shard: parameters` (or `gradients`, `optimizer`) beside it"
            yield Finding("AS528", f"{pointer}/shard_on", "`shard_on` without `shard`", hint)
        if axis.kind == "data" and axis.shard != "none" and spec.model.collective is None:
            degrees = place(spec).degrees
            if degrees["data"] == 1 and degrees["expert"] * degrees["context"] > 1:
                others = " x ".join(f"{kind} {degrees[kind]}" for kind in ("expert", "context") if degrees[kind] > 1)
                message = f"`shard: {axis.shard}` divides nothing: the data axis has degree 1 (beside {others})"
                hint = "with `degree: 2` or more the shards spread over the data axis and those beside it"
                yield Finding("AS890", f"{pointer}/shard", message, hint)
    if spec.model.transformer is not None:
        for index, layer in enumerate(spec.model.layers):
            if layer.shard is not None:
                message = "the layers of a `transformer` know how a tensor axis cuts them"
                yield Finding("AS529", f"/model/layers/{index}/shard", message)


def _whole_numbers(spec: Spec) -> Iterator[Finding]:
    """What the simulator reads as whole nanoseconds, bytes, or bytes per nanosecond."""
    pool, collective = spec.memory_pool, spec.model.collective
    whole = "whole nanoseconds"
    values = [("/system/endpoint_delay", Fraction(spec.system.endpoint_delay), 10**9, whole)]
    if pool is not None:
        values.append(("/memory_pool/latency", pool.latency, 10**9, whole))
        values.append(
            ("/memory_pool/bandwidth", Fraction(pool.bandwidth, 10**9), 1, "whole GB/s (bytes per nanosecond)")
        )
    if collective is not None:
        values.append(("/model/collective/size", collective.size, 1, "whole bytes"))
    for pointer, value, factor, unit in values:
        if Fraction(value * factor).denominator != 1:
            yield Finding("AS524", pointer, f"ASTRA-sim takes {unit} here")


def _pool(spec: Spec) -> Iterator[Finding]:
    """Nodes of a shared memory."""
    pool = spec.memory_pool
    if pool is None:
        return
    total = npus(spec.topology)
    if pool.sharing == "node" and pool.nodes is None:
        yield Finding("AS525", "/memory_pool", "`sharing: node` needs `nodes`")
    elif pool.nodes is not None and pool.sharing != "node":
        yield Finding("AS525", "/memory_pool/nodes", f"`nodes` means nothing with `sharing: {pool.sharing}`")
    elif pool.nodes is not None and total % pool.nodes:
        yield Finding("AS525", "/memory_pool/nodes", f"{total} NPUs do not divide into {pool.nodes} nodes")
    if pool.bandwidth < 10**9:
        yield Finding("AS524", "/memory_pool/bandwidth", "below 1 GB/s ASTRA-sim's remote memory is infinitely fast")


def _stragglers(spec: Spec) -> Iterator[Finding]:
    """AS526 for stragglers that do not exist."""
    slow, total = spec.hardware.slow, npus(spec.topology)
    for index, rank in enumerate(() if slow is None else slow.ranks):
        if rank >= total:
            yield Finding("AS526", f"/hardware/slow/ranks/{index}", f"rank {rank} of {total} NPUs (0 to {total - 1})")


def _schedule(spec: Spec) -> Iterator[Finding]:
    """`chunks` belongs to a schedule that runs groups of micro-batches through several virtual stages."""
    for pointer, axis in axis_blocks(spec):
        if axis.kind == "pipeline" and (axis.chunks > 1) != _is_grouped(axis.schedule):
            key = "chunks" if axis.chunks > 1 else "schedule"
            hint = "write both: `schedule: interleaved, chunks: 2`"
            message = f"`schedule: {axis.schedule}` with chunks {axis.chunks}"
            yield Finding("AS527", f"{pointer}/{key}", message, hint)


def _peak(spec: Spec) -> Iterator[Finding]:
    """The data type that is trained in has a peak."""
    precision = None if spec.training is None else spec.training.precision
    if precision is None:
        if spec.model.transformer is not None and spec.training is not None:
            hint = "for example `precision: bf16`"
            yield Finding("AS505", "/training", "a `transformer` needs `training.precision`", hint)
        return
    found = without_peak(spec.hardware, precision.compute, "/training/precision")
    if found is not None:
        yield replace(found, beside=("/hardware", "the hardware is here"))


RULES = (
    _placement,
    _batch,
    _shares,
    _whole_numbers,
    _pool,
    _stragglers,
    _schedule,
    _meaningless,
    _peak,
)
