"""The typed spec. Written by `astrac docs` from schemas/; do not edit.

Numbers are exact and in the base unit that stands beside them. None: not given, and without a default in the schema.
A key that is a word of Python ends in `_` here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - `construct` reads the hints
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Dense peak rate of matrix products for each data type (a multiply-accumulate is 2 FLOP).

    A type that the model trains in and that is not listed is an error.

    Attributes:
        fp64: 64-bit floating point. [FLOP/s]
        fp32: 32-bit floating point. [FLOP/s]
        tf32: TensorFloat-32. [FLOP/s]
        fp16: 16-bit floating point. [FLOP/s]
        bf16: bfloat16. [FLOP/s]
        fp8: 8-bit floating point. [FLOP/s]
        int8: 8-bit integer. [FLOP/s]
    """

    fp64: Fraction | None = None
    fp32: Fraction | None = None
    tf32: Fraction | None = None
    fp16: Fraction | None = None
    bf16: Fraction | None = None
    fp8: Fraction | None = None
    int8: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The accelerator's own memory (HBM).

    Attributes:
        capacity: What weights, gradients, optimizer state and activations of a rank must fit into. [B]
        bandwidth: Bytes read and written per second. Prices layers that move more than they compute, and the reductions
            of collectives (`local-mem-bw`). [B/s]
        allow_overflow: A rank that needs more than `capacity` is a warning instead of an error.
    """

    capacity: Fraction
    bandwidth: Fraction
    allow_overflow: bool


@dataclass(frozen=True, kw_only=True)
class Systolic:
    """Prices matrix products as a systolic array does, with SCALE-Sim's compute cycles, instead of by the roofline.

    Attributes:
        rows: Rows of processing elements.
        columns: Columns of processing elements.
        dataflow: Which operand stays in the array.
        clock: Cycles per second. [Hz]
    """

    rows: int
    columns: int
    dataflow: Literal["output_stationary", "weight_stationary", "input_stationary"]
    clock: Fraction


@dataclass(frozen=True, kw_only=True)
class Slow:
    """Stragglers: ranks whose compute takes longer.

    Attributes:
        ranks: Rank numbers.
        factor: How many times as long each of their compute nodes takes.
    """

    ranks: tuple[int, ...]
    factor: Fraction


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One accelerator (an NPU): what it computes and what it remembers.

    Every rank is one of these.

    Attributes:
        name: The block's name.
        peak: Dense peak rate of matrix products for each data type (a multiply-accumulate is 2 FLOP). A type that the
            model trains in and that is not listed is an error.
        memory: The accelerator's own memory (HBM).
        efficiency: Share of the peak that matrix products reach. Scales the peak only, never the memory.
        systolic: Prices matrix products as a systolic array does, with SCALE-Sim's compute cycles, instead of by the
            roofline.
        slow: Stragglers: ranks whose compute takes longer.
    """

    name: str
    peak: Peak
    memory: Memory
    efficiency: Fraction
    systolic: Systolic | None = None
    slow: Slow | None = None


@dataclass(frozen=True, kw_only=True)
class Algorithms:
    """Overrides `algorithm` for single kinds of collectives.

    Attributes:
        all_reduce: Also serves the reduce-scatter and all-gather parts of a multi-dimensional all-reduce.
        all_gather: Of all-gathers.
        reduce_scatter: Of reduce-scatters.
        all_to_all: Of all-to-alls.
    """

    all_reduce: Literal["ring", "direct", "halving_doubling", "double_binary_tree"] | None = None
    all_gather: Literal["ring", "direct", "halving_doubling"] | None = None
    reduce_scatter: Literal["ring", "direct", "halving_doubling"] | None = None
    all_to_all: Literal["ring", "direct"] | None = None


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One dimension of the network.

    In a `ring` each has two neighbours and messages go the shorter way round; in a `switch` every pair is two hops
    apart, when `fully_connected` one hop.

    Attributes:
        kind: The block's kind.
        name: The dimension's name, which axes name with `on`.
        size: NPUs along this dimension (a switch itself is not one). A dimension of 1 is left out of what is written,
            so that a sweep over sizes may begin there.
        bandwidth: What one message gets between neighbours in one direction. [B/s]
        latency: Of one hop. [s]
        algorithm: For the collectives of this dimension; where it cannot do a kind that the program uses, that is an
            error. Default: `system.algorithm`.
        window: How many sends a `direct` algorithm has in flight; default all.
        algorithms: Overrides `algorithm` for single kinds of collectives.
    """

    kind: Literal["ring", "switch", "fully_connected"]
    name: str
    size: int
    bandwidth: Fraction
    latency: Fraction
    algorithm: Literal["ring", "direct", "halving_doubling", "double_binary_tree"] | None = None
    window: int | None = None
    algorithms: Algorithms | None = None


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The network as a product of dimensions, innermost first: rank 0's nearest neighbours lie in the first one.

    The number of NPUs is the product of the sizes.

    Attributes:
        name: The block's name.
        dimensions: Building blocks, innermost first.
    """

    name: str
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, kw_only=True)
class MemoryPool:
    """Disaggregated memory beside the accelerators (ASTRA-sim's remote memory).

    Attributes:
        name: The block's name.
        sharing: Who shares it: each NPU has its own, each node has one (requests of a node queue up), or the whole
            cluster has one (all requests queue up).
        bandwidth: Of one transfer. The simulator reads whole bytes per nanosecond (GB/s). [B/s]
        latency: Of one transfer, in whole nanoseconds. [s]
        capacity: Of one memory: what all that share it may hold together. [B]
        nodes: For `sharing: node`: how many nodes; each has NPUs / nodes neighbouring ranks.
        holds: What lies there instead of in the accelerator's memory; it is loaded before and stored after use.
    """

    name: str
    sharing: Literal["npu", "node", "pool"]
    bandwidth: Fraction
    latency: Fraction
    capacity: Fraction | None = None
    nodes: int | None = None
    holds: tuple[Literal["optimizer_state", "gradients", "parameters"], ...]


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A sparse mixture of experts in place of the feed-forward part.

    Attributes:
        count: Experts of a block.
        active: Experts that see each token.
        hidden: Width of an expert's feed-forward part. Default: the transformer's `ffn`.
        capacity_factor: Slots an expert keeps, over the tokens it would get if all were even. Tokens sent and computed
            scale with it.
        every: Every how many blocks there is a mixture (with 2: in the second, the fourth, ...); the others are dense.
    """

    count: int
    active: int
    hidden: int | None = None
    capacity_factor: Fraction
    every: int


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """A decoder-only (or encoder-only) transformer by its shape: GPT, Llama, Mixtral, BERT.

    Attributes:
        layers: Blocks, each an attention and a feed-forward part.
        hidden: Width of the residual stream.
        heads: Query heads.
        kv_heads: Key and value heads (grouped-query attention).
        head_size: Width of a head. Default: hidden / heads.
        ffn: Width of the feed-forward part. Default: 4 x hidden.
        activation: `swiglu` and `geglu` are gated: three matrices instead of two.
        norm: `layer_norm` has a scale and a bias, `rms_norm` a scale.
        norm_position: `pre`: a norm before each branch and one after the last block. `post`: a norm after each residual
            add and none at the end, as in BERT.
        bias: Linear layers have biases. Default: true with `layer_norm`, false with `rms_norm`.
        dropout: Trains with dropout, whose masks backward needs. Default: true with `layer_norm`, false with
            `rms_norm`.
        positions: Position embeddings; learned ones are a table of `max_positions` x hidden. Default: `learned` with
            `layer_norm`, `rotary` with `rms_norm`.
        max_positions: Rows of a learned position table.
        segments: Rows of a segment (token type) table, as in BERT; its embeddings are then normalised.
        pooler: A dense layer of hidden x hidden over the first token, as in BERT.
        causal: Counts only the lower half of the attention scores, as a kernel that skips the rest does. Off: the full
            matrix, as the published FLOP formulas count.
        sequence: Tokens of a sample.
        vocabulary: Rows of the embedding table.
        tied: The head shares the embedding's weights. Default: true with `layer_norm`, false with `rms_norm`.
        experts: A sparse mixture of experts in place of the feed-forward part.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int | None = None
    ffn: int | None = None
    activation: Literal["gelu", "relu", "swiglu", "geglu"]
    norm: Literal["layer_norm", "rms_norm"]
    norm_position: Literal["pre", "post"]
    bias: bool | None = None
    dropout: bool | None = None
    positions: Literal["learned", "rotary", "none"] | None = None
    max_positions: int
    segments: int
    pooler: bool
    causal: bool
    sequence: int
    vocabulary: int
    tied: bool | None = None
    experts: Experts | None = None


@dataclass(frozen=True, kw_only=True)
class CollectiveBenchmark:
    """The microbenchmark: one collective over all NPUs and nothing else.

    Attributes:
        kind: Which collective.
        size: The buffer of one rank: what it holds before (all-reduce, reduce-scatter, all-to-all) or after
            (all-gather). Whole bytes. [B]
        repeat: How many, one after the other.
    """

    kind: Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
    size: Fraction
    repeat: int


@dataclass(frozen=True, kw_only=True)
class Input:
    """The shape of one graph input.

    Attributes:
        kind: The block's kind.
        name: The input's name in the file.
        shape: Its dimensions; the word `batch` stands for the micro-batch.
    """

    kind: Literal["input"]
    name: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, kw_only=True)
class LayerOverride:
    """What is different for the layers whose names match the pattern (`*` any characters, `?` one).

    Attributes:
        kind: The block's kind.
        name: The pattern; one that matches no layer is an error.
        freeze: `true`: its weights are not trained. `false`: they are, although they look like a constant table.
        shard: How a tensor axis cuts it: its output features, its input features, or not at all.
        stage: The pipeline stage it runs on.
        precision: The data type it computes in.
        recompute: As `training.recompute`, for these layers.
    """

    kind: Literal["layer"]
    name: str
    freeze: bool | None = None
    shard: Literal["column", "row", "none"] | None = None
    stage: int | None = None
    precision: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = None
    recompute: Literal["none", "selective", "full"] | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """What is trained: an ONNX file, a transformer, or a single collective (the microbenchmark).

    Exactly one of `onnx`, `transformer` and `collective`.

    Attributes:
        name: The block's name; names the traces.
        onnx: Path of an ONNX file, relative to the spec, or `zoo:NAME` for a built-in graph (`zoo:resnet50`,
            `zoo:vgg16`, `zoo:vgg19`). Weights are never read.
        transformer: A decoder-only (or encoder-only) transformer by its shape: GPT, Llama, Mixtral, BERT.
        collective: The microbenchmark: one collective over all NPUs and nothing else.
        bind: Values for the symbolic dimensions of an ONNX model, by the name they have in the file.
        inputs: Shapes of graph inputs whose dimensions have no names.
        tie: Pairs of weights that are one tensor although the file holds two.
        layers: Overrides of layers by pattern, in file order; the last match wins.
        times: Path of a CSV file with measured times: columns `layer`, `forward`, `input_gradient`, `weight_gradient`,
            each time column with its unit in the header, as in `forward [us]`.
        times_rest: What happens to layers that `times` does not list.
    """

    name: str | None = None
    onnx: str | None = None
    transformer: Transformer | None = None
    collective: CollectiveBenchmark | None = None
    bind: dict[str, int] | None = None
    inputs: tuple[Input, ...]
    tie: tuple[tuple[str, ...], ...] | None = None
    layers: tuple[LayerOverride, ...]
    times: str | None = None
    times_rest: Literal["error", "estimate"]


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data parallelism: every rank holds the model and its own samples; gradients are reduced over the axis.

    Attributes:
        kind: The block's kind.
        degree: Ranks along this axis. Default for one axis: what the others leave.
        on: Dimensions of the topology that it fills, wholly or in part. Checked against the order of the axes; default:
            the next free ones.
        shard: What is divided among the ranks: nothing (all-reduce), the optimizer state (ZeRO-1), also the gradients
            (ZeRO-2), also the parameters (ZeRO-3, FSDP).
        shard_on: Hybrid sharding: shards lie along these dimensions of the axis only, and are replicated along the
            others.
        buckets: Gradients are reduced in buckets of at least this many bytes, in the order in which backward makes
            them. Default: one collective a layer. [B]
        overlap: Reductions run beside the rest of backward; off: all start when backward has ended.
        prefetch: With `shard: parameters`: how many layers ahead weights are gathered.
    """

    kind: Literal["data"]
    degree: int | None = None
    on: tuple[str, ...] | None = None
    shard: Literal["none", "optimizer", "gradients", "parameters"]
    shard_on: tuple[str, ...] | None = None
    buckets: Fraction | None = None
    overlap: bool
    prefetch: int


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """Tensor parallelism (Megatron): column and row pairs of matrices are cut among the ranks.

    Attributes:
        kind: The block's kind.
        degree: Ranks along this axis. Default for one axis: what the others leave.
        on: Dimensions of the topology that it fills, wholly or in part. Checked against the order of the axes; default:
            the next free ones.
        sequence_parallel: Activations between the pairs are cut along tokens: reduce-scatter and all-gather instead of
            all-reduce.
    """

    kind: Literal["tensor"]
    degree: int | None = None
    on: tuple[str, ...] | None = None
    sequence_parallel: bool


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Pipeline parallelism: the model is cut into stages that pass activations on.

    Attributes:
        kind: The block's kind.
        degree: Ranks along this axis. Default for one axis: what the others leave.
        on: Dimensions of the topology that it fills, wholly or in part. Checked against the order of the axes; default:
            the next free ones.
        schedule: In what order a stage runs the forward and backward passes of its micro-batches.
        chunks: With `schedule: interleaved`: parts of the model that each rank holds.
    """

    kind: Literal["pipeline"]
    degree: int | None = None
    on: tuple[str, ...] | None = None
    schedule: Literal["gpipe", "one_f_one_b", "interleaved"]
    chunks: int


@dataclass(frozen=True, kw_only=True)
class Expert:
    """Expert parallelism: the experts of a block are spread over the ranks, tokens travel by all-to-all.

    Attributes:
        kind: The block's kind.
        degree: Ranks along this axis. Default for one axis: what the others leave.
        on: Dimensions of the topology that it fills, wholly or in part. Checked against the order of the axes; default:
            the next free ones.
    """

    kind: Literal["expert"]
    degree: int | None = None
    on: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """Context parallelism: each rank holds a part of every sequence.

    Attributes:
        kind: The block's kind.
        degree: Ranks along this axis. Default for one axis: what the others leave.
        on: Dimensions of the topology that it fills, wholly or in part. Checked against the order of the axes; default:
            the next free ones.
        method: How attention sees the whole sequence: keys and values gathered, passed round a ring, or heads exchanged
            for tokens by all-to-all.
    """

    kind: Literal["context"]
    degree: int | None = None
    on: tuple[str, ...] | None = None
    method: Literal["all_gather", "ring", "ulysses"]


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """How the ranks share the work: axes, innermost first, whose degrees multiply to the number of NPUs.

    One axis may leave out `degree` and takes the rest.

    Attributes:
        axes: Axes, innermost first; one of a kind.
    """

    axes: tuple[Data | Tensor | Pipeline | Expert | Context, ...]


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Data types.

    A plain word sets `compute`, and the others follow: `precision: bf16`.

    Attributes:
        compute: Of matrix products: picks the peak.
        weights: As stored and gathered. Default: as `compute` (`tf32` is stored as `fp32`).
        gradients: As stored. Default: as `weights`.
        reduce: As reduced between ranks. Default: as `gradients`.
        activations: As kept and sent. Default: as `compute` (`tf32` is stored as `fp32`).
        optimizer: Of the optimizer's state.
        master_weights: The optimizer keeps a copy of the weights in its own type. Default: true where `weights` is
            narrower than `optimizer`, false otherwise.
    """

    compute: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"]
    weights: Literal["fp64", "fp32", "fp16", "bf16", "fp8", "int8"] | None = None
    gradients: Literal["fp64", "fp32", "fp16", "bf16", "fp8"] | None = None
    reduce: Literal["fp64", "fp32", "fp16", "bf16", "fp8"] | None = None
    activations: Literal["fp64", "fp32", "fp16", "bf16", "fp8", "int8"] | None = None
    optimizer: Literal["fp64", "fp32", "fp16", "bf16"]
    master_weights: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training step.

    `global_batch = micro_batch x micro_batches x data x expert`.

    Attributes:
        global_batch: Samples (sequences) of one step over all ranks.
        micro_batch: Samples that a rank runs at once. Default: all of its samples of the step.
        precision: Data types. A plain word sets `compute`, and the others follow: `precision: bf16`.
        optimizer: State a parameter: none, one number, two numbers.
        steps: Steps in the bundle, one after the other.
        recompute: Activations that backward computes again instead of keeping: none, those of attention scores, all but
            the inputs of blocks.
        pass_: `forward`: the forward pass of the batch alone (inference).
    """

    global_batch: int
    micro_batch: int | None = None
    precision: Precision | None = None
    optimizer: Literal["sgd", "momentum", "adam"]
    steps: int
    recompute: Literal["none", "selective", "full"]
    pass_: Literal["training", "forward"]


@dataclass(frozen=True, kw_only=True)
class System:
    """How ASTRA-sim's system layer runs collectives.

    Attributes:
        algorithm: For every dimension that names none. The `one_` words lay one logical ring over all NPUs.
        chunks: Parts that a collective is cut into (`preferred-dataset-splits`).
        active_chunks: Chunks that a dimension runs at once (`active-chunks-per-dimension`). The congestion-unaware
            network gives each the full bandwidth.
        optimization: A multi-dimensional all-reduce: reduce-scatter, all-reduce and all-gather by dimension, or a
            full-size all-reduce in each.
        endpoint_delay: Paid by a collective at its start and for every message received; whole nanoseconds. [s]
        scheduling: Order of waiting collectives. ASTRA-sim 1.0 heeds it, 2.x has never more than one.
        backend: The analytical network that the bundle is meant for; `congestion_aware` takes one dimension.
    """

    algorithm: Literal[
        "ring", "direct", "halving_doubling", "double_binary_tree", "one_ring", "one_direct", "one_halving_doubling"
    ]
    chunks: int
    active_chunks: int
    optimization: Literal["local_bw_aware", "baseline"]
    endpoint_delay: Fraction
    scheduling: Literal["lifo", "fifo"]
    backend: Literal["congestion_unaware", "congestion_aware"]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A whole specification: the one block of each kind that is in force.

    Attributes:
        hardware: One accelerator (an NPU): what it computes and what it remembers. Every rank is one of these.
        topology: The network as a product of dimensions, innermost first: rank 0's nearest neighbours lie in the first
            one. The number of NPUs is the product of the sizes.
        memory_pool: Disaggregated memory beside the accelerators (ASTRA-sim's remote memory).
        model: What is trained: an ONNX file, a transformer, or a single collective (the microbenchmark). Exactly one of
            `onnx`, `transformer` and `collective`.
        parallelism: How the ranks share the work: axes, innermost first, whose degrees multiply to the number of NPUs.
            One axis may leave out `degree` and takes the rest.
        training: The training step. `global_batch = micro_batch x micro_batches x data x expert`.
        system: How ASTRA-sim's system layer runs collectives.
    """

    hardware: Hardware
    topology: Topology
    memory_pool: MemoryPool | None = None
    model: Model
    parallelism: Parallelism | None = None
    training: Training | None = None
    system: System
