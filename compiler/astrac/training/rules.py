"""Spec -> diagnostics: what each key allows by itself, but not together. One function a rule, run in this order."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.models.shape import contradictions, resolve
from astrac.training.strategies.placement import KINDS, npus, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.source import Span
    from astrac.spec import Dimension, Spec

    At = Callable[[str], Span]
    """The place of a JSON pointer of the Document: of its value, or of the nearest block around it."""


def rules(spec: Spec, at: At) -> tuple[Diagnostic, ...]:
    """All findings about a valid, typed Spec. A rule whose ground another one has found missing stays silent."""
    found = [finding for rule in GROUND for finding in rule(spec, at)]
    if not any(finding.is_error for finding in found):
        found += [finding for rule in RULES for finding in rule(spec, at)]
    return tuple(found)


def _complete(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """One description of a model, and what a training step needs."""
    model = spec.model
    ways = [name for name in ("onnx", "transformer", "collective") if getattr(model, name) is not None]
    if not ways:
        hint = 'write `onnx: "path"`, `transformer { ... }` or `collective { ... }`'
        yield diagnostic(
            "AS501", "the model says neither `onnx` nor `transformer` nor `collective`", at("/model"), hints=(hint,)
        )
    elif len(ways) > 1:
        label = Label(at(f"/model/{ways[0]}"), f"`{ways[0]}` is here")
        yield diagnostic("AS502", f"the model says both `{ways[0]}` and `{ways[1]}`", at(f"/model/{ways[1]}"), label)
    if model.collective is not None:
        return
    for name in ("parallelism", "training"):
        if getattr(spec, name) is None:
            yield diagnostic("AS503", f"a spec needs a `{name}` block", at(""), hints=(HINTS[name],))


HINTS = {
    "parallelism": "for example `parallelism { data {} }`: data parallelism over all NPUs",
    "training": "for example `training { global_batch: 256, precision: bf16 }`",
}


MOST_NPUS = 1 << 20
"""A trace for each of them; ASTRA-sim itself needs 5 GB for 4,096 on one ring."""


def _size(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """As many NPUs as files can be written for."""
    total = npus(spec.topology)
    if total > MOST_NPUS:
        sizes = " x ".join(str(dimension.size) for dimension in spec.topology.dimensions)
        yield diagnostic("AS534", f"{sizes} = {total:,} NPUs, more than {MOST_NPUS:,}", at("/topology"))


GROUND = (_complete, _size)


def _placement(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """Degrees multiply to the NPUs and nest with the dimensions."""
    if spec.parallelism is not None and spec.model.collective is None:
        for problem in place(spec).problems:
            yield diagnostic(problem.code, problem.message, at(problem.pointer), hints=problem.hints)


def _batch(spec: Spec, at: At) -> Iterator[Diagnostic]:
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
        yield diagnostic(
            "AS515", message + (f" = {replicas * micro}" if len(words) > 1 else ""), at("/training/global_batch")
        )
        return
    count = training.global_batch // (replicas * (training.micro_batch or training.global_batch // replicas))
    for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        if axis.kind == "pipeline" and axis.schedule == "interleaved" and count % degrees["pipeline"]:
            message = f"`interleaved` needs a multiple of {degrees['pipeline']} micro-batches, this step has {count}"
            yield diagnostic("AS516", message, at(f"/parallelism/axes/{index}/schedule"))


def _shares(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """What the axes cut must divide evenly."""
    model, placement = spec.model.transformer, place(spec)
    if placement.problems or spec.model.collective is not None:
        return
    degrees = placement.degrees
    if model is None:
        yield from _needs_transformer(spec, degrees, at)
        return
    for found in contradictions(model):
        where = at(f"/model/transformer/{found.key}")
        yield diagnostic(found.code, found.message, where, hints=(found.hint,))
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
        if value % degree and not (key == "kv_heads" and value == model.heads):
            message = f"{key} {value} is not a multiple of the {axis} axis' degree {degree}"
            yield diagnostic("AS517", message, at(f"/model/transformer/{key}"))
    yield from _tokens(spec, degrees, at)
    yield from _experts(spec, degrees, at)


def _tokens(spec: Spec, degrees: dict[str, int], at: At) -> Iterator[Diagnostic]:
    """Sequence parallelism and Ulysses cut what tensor and context axes left."""
    model = spec.model.transformer
    assert model is not None
    for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        pointer = f"/parallelism/axes/{index}"
        both = degrees["tensor"] * degrees["context"]
        if axis.kind == "tensor" and axis.sequence_parallel and model.sequence % both:
            message = f"sequence {model.sequence} is not a multiple of tensor x context = {both} ranks that share it"
            yield diagnostic("AS517", message, at(f"{pointer}/sequence_parallel"))
        if axis.kind == "context" and axis.method == "ulysses" and degrees["context"] > 1:
            for key in ("heads", "kv_heads"):
                value = getattr(model, key) or model.heads
                if value % both:
                    message = (
                        f"`ulysses` spreads heads over tensor x context = {both} ranks; {key} {value} is no multiple"
                    )
                    yield diagnostic("AS517", message, at(f"{pointer}/method"))


def _experts(spec: Spec, degrees: dict[str, int], at: At) -> Iterator[Diagnostic]:
    """Experts spread over the expert axis; with a tensor axis tokens travel cut along the sequence."""
    model = spec.model.transformer
    assert model is not None
    experts = model.experts
    axes = () if spec.parallelism is None else spec.parallelism.axes
    for index, axis in enumerate(axes):
        if axis.kind == "expert" and degrees["expert"] > 1:
            if experts is None:
                yield diagnostic(
                    "AS518", "an `expert` axis needs a model with `experts`", at(f"/parallelism/axes/{index}")
                )
            elif experts.count % degrees["expert"]:
                message = f"{experts.count} experts are not a multiple of the expert axis' degree {degrees['expert']}"
                yield diagnostic("AS517", message, at("/model/transformer/experts/count"))
        if axis.kind == "tensor" and experts is not None and experts.hidden and experts.hidden % degrees["tensor"]:
            message = (
                f"experts' hidden {experts.hidden} is not a multiple of the tensor axis' degree {degrees['tensor']}"
            )
            yield diagnostic("AS517", message, at("/model/transformer/experts/hidden"))
        if axis.kind == "tensor" and experts is not None and degrees["tensor"] > 1 and not axis.sequence_parallel:
            hint = (
                "write `sequence_parallel: true`: tokens are then cut along the tensor axis when they travel to experts"
            )
            message = "a `tensor` axis over a model with experts needs sequence parallelism"
            yield diagnostic("AS519", message, at(f"/parallelism/axes/{index}"), hints=(hint,))


def _needs_transformer(spec: Spec, degrees: dict[str, int], at: At) -> Iterator[Diagnostic]:
    """Axes that cut tokens or experts need a model that has them."""
    for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        pointer = f"/parallelism/axes/{index}"
        if axis.kind in ("context", "expert") and degrees[axis.kind] > 1:
            yield diagnostic("AS518", f"a `{axis.kind}` axis needs a `transformer` model", at(pointer))
        if axis.kind == "tensor" and degrees["tensor"] > 1:
            if axis.sequence_parallel:
                yield diagnostic(
                    "AS518", "`sequence_parallel` needs a `transformer` model", at(f"{pointer}/sequence_parallel")
                )
            elif not any(layer.shard not in (None, "none") for layer in spec.model.layers or ()):
                hint = 'say which layers it cuts: `layer "pattern" { shard: column }` and `{ shard: row }`'
                yield diagnostic(
                    "AS518", "a `tensor` axis cuts no layer of an ONNX model by itself", at(pointer), hints=(hint,)
                )


def _meaningless(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """Keys that have nothing to act on."""
    for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        if axis.kind == "data" and axis.shard_on is not None and axis.shard == "none":
            hint = "write `shard: parameters` (or `gradients`, `optimizer`) beside it"
            yield diagnostic(
                "AS528", "`shard_on` without `shard`", at(f"/parallelism/axes/{index}/shard_on"), hints=(hint,)
            )
    if spec.model.transformer is not None:
        for index, layer in enumerate(spec.model.layers):
            if layer.shard is not None:
                message = "the layers of a `transformer` know how a tensor axis cuts them"
                yield diagnostic("AS529", message, at(f"/model/layers/{index}/shard"))


POWERS = ("halving_doubling", "double_binary_tree", "one_halving_doubling")


def _algorithms(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """Algorithms that need a power of two."""
    default = spec.system.algorithm
    for index, dimension in enumerate(spec.topology.dimensions):
        pointer = f"/topology/dimensions/{index}"
        words = {f"{pointer}/algorithm": dimension.algorithm or default}
        if dimension.algorithms is not None:
            for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
                word = getattr(dimension.algorithms, kind)
                if word is not None:
                    words[f"{pointer}/algorithms/{kind}"] = word
        for place_, word in words.items():
            if word in POWERS and dimension.size & (dimension.size - 1):
                where = at(place_ if dimension.algorithm or "algorithms" in place_ else "/system/algorithm")
                label = Label(at(f"{pointer}/size"), f"`{dimension.name}` has {dimension.size} NPUs")
                yield diagnostic("AS521", f"`{word}` needs a power of two NPUs", where, label)
    if default.startswith("one_"):
        for index, dimension in enumerate(spec.topology.dimensions):
            if dimension.algorithm is not None:
                message = f"`{default}` is one ring over all NPUs: a dimension cannot have its own algorithm beside it"
                label = Label(at("/system/algorithm"), "asked for here")
                yield diagnostic("AS522", message, at(f"/topology/dimensions/{index}/algorithm"), label)


def _backend(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """The congestion-aware network takes one dimension."""
    count = len(spec.topology.dimensions)
    if spec.system.backend == "congestion_aware" and count > 1:
        message = f"`congestion_aware` takes one dimension, this spec has {count}"
        yield diagnostic("AS523", message, at("/system/backend"), Label(at("/topology"), "the topology is here"))


def _whole_numbers(spec: Spec, at: At) -> Iterator[Diagnostic]:
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
            yield diagnostic("AS524", f"ASTRA-sim takes {unit} here", at(pointer))


def _pool(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """Nodes of a shared memory."""
    pool = spec.memory_pool
    if pool is None:
        return
    total = npus(spec.topology)
    if pool.sharing == "node" and pool.nodes is None:
        yield diagnostic("AS525", "`sharing: node` needs `nodes`", at("/memory_pool"))
    elif pool.nodes is not None and pool.sharing != "node":
        yield diagnostic("AS525", f"`nodes` means nothing with `sharing: {pool.sharing}`", at("/memory_pool/nodes"))
    elif pool.nodes is not None and total % pool.nodes:
        yield diagnostic("AS525", f"{total} NPUs do not divide into {pool.nodes} nodes", at("/memory_pool/nodes"))
    if pool.bandwidth < 10**9:
        yield diagnostic(
            "AS524", "below 1 GB/s ASTRA-sim's remote memory is infinitely fast", at("/memory_pool/bandwidth")
        )


def _stragglers(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """Ranks that exist."""
    slow, total = spec.hardware.slow, npus(spec.topology)
    for index, rank in enumerate(() if slow is None else slow.ranks):
        if rank >= total:
            yield diagnostic(
                "AS526", f"rank {rank} of {total} NPUs (0 to {total - 1})", at(f"/hardware/slow/ranks/{index}")
            )


def _schedule(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """`chunks` belongs to `interleaved`."""
    for index, axis in enumerate(() if spec.parallelism is None else spec.parallelism.axes):
        if axis.kind == "pipeline" and (axis.chunks > 1) != (axis.schedule == "interleaved"):
            pointer = f"/parallelism/axes/{index}"
            key = "chunks" if axis.chunks > 1 else "schedule"
            hint = "write both: `schedule: interleaved, chunks: 2`"
            message = f"`schedule: {axis.schedule}` with chunks {axis.chunks}"
            yield diagnostic("AS527", message, at(f"{pointer}/{key}"), hints=(hint,))


def _peak(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """The data type that is trained in has a peak."""
    precision = None if spec.training is None else spec.training.precision
    if precision is None:
        if spec.model.transformer is not None and spec.training is not None:
            hint = "for example `precision: bf16`"
            yield diagnostic("AS505", "a `transformer` needs `training.precision`", at("/training"), hints=(hint,))
        return
    peak = spec.hardware.peak
    if getattr(peak, precision.compute) is None:
        known = [word for word in PEAKS if getattr(peak, word) is not None]
        message = f"`{spec.hardware.name}` has no peak for `{precision.compute}`"
        hint = f"it has {', '.join(known)}: add `peak {{ {precision.compute}: ... }}` or train in one of these"
        yield diagnostic(
            "AS506", message, at("/training/precision"), Label(at("/hardware"), "the hardware is here"), hints=(hint,)
        )


PEAKS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")


def _advice(spec: Spec, at: At) -> Iterator[Diagnostic]:
    """What runs, but not as one would think."""
    system, dimensions = spec.system, spec.topology.dimensions
    if system.active_chunks > 1 and system.backend == "congestion_unaware":
        message = f"{system.active_chunks} active chunks each get the full bandwidth: results can beat the wire"
        yield diagnostic("AS801", message, at("/system/active_chunks"))
    written = at("/system/active_chunks") != at("/system")
    if written and len(dimensions) > 1 and system.active_chunks < system.chunks:
        message = f"active_chunks {system.active_chunks} < chunks {system.chunks} can deadlock in ns-3"
        hint = f"there, use {system.chunks}; the analytical networks run either"
        yield diagnostic("AS802", message, at("/system/active_chunks"), hints=(hint,))
    for index, dimension in enumerate(dimensions):
        if (dimension.algorithm or system.algorithm) == "direct" and dimension.kind in ("ring", "switch"):
            message = (
                f"`direct` on a {dimension.kind}: all {dimension.size - 1} messages get the full bandwidth at once"
            )
            key = f"/topology/dimensions/{index}"
            where = at(f"{key}/algorithm") if dimension.algorithm else at(key)
            yield diagnostic("AS803", message, where)
        yield from _bits(dimension, at(f"/topology/dimensions/{index}/bandwidth"))


CARDS = (100, 200, 400, 800)
"""Gb/s that network cards have. A ring of 100 GB/s is a torus' link as well."""


def _bits(dimension: Dimension, span: Span) -> Iterator[Diagnostic]:
    """Bytes where a network card has as many bits."""
    number = Fraction(dimension.bandwidth) / 10**9
    likely = number in CARDS and (number > CARDS[0] or dimension.kind == "switch")
    if likely and re.search(r"\bGB/s", span.source.text[span.start : span.end]):
        message = f"{number} GB/s is {8 * number} Gb/s"
        hint = f"a network card of {number} Gb/s is `{number} Gb/s`, which is {number / 8} GB/s"
        yield diagnostic("AS806", message, span, hints=(hint,))


RULES = (
    _placement,
    _batch,
    _shares,
    _algorithms,
    _backend,
    _whole_numbers,
    _pool,
    _stragglers,
    _schedule,
    _meaningless,
    _peak,
    _advice,
)

__all__ = ["KINDS", "rules"]
