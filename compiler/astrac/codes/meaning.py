"""AS5xx."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code, Severity

_TWO_DIMENSIONS = """topology pod {
  switch nvlink { size: 8, bandwidth: 300 GB/s, latency: 300 ns }
  switch rail { size: 4, bandwidth: 25 GB/s, latency: 1 us }
}"""
_FOUR_BY_SIX = """topology pod {
  switch nvlink { size: 4, bandwidth: 150 GB/s, latency: 300 ns }
  switch rail { size: 6, bandwidth: 25 GB/s, latency: 1 us }
}"""
_TWO_BY_FOUR = """topology pod {
  ring inner { size: 2, bandwidth: 50 GB/s, latency: 500 ns }
  ring outer { size: 4, bandwidth: 50 GB/s, latency: 500 ns }
}"""
_EXPERTS = """model moe {
  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512, experts { count: 8, active: 2 } }
}"""
_POOL = "memory_pool cxl { sharing: %s, bandwidth: %s, latency: %s, holds: [optimizer_state]%s }"

ROWS: tuple[Code, ...] = (
    Code(
        "AS501",
        "model without a description",
        what="The model says neither `onnx` nor `transformer` nor `collective`.",
        why="There is nothing to compile.",
        bad=spec(model="model tiny { times_rest: estimate }"),
        good=spec(),
    ),
    Code(
        "AS502",
        "model described twice",
        what="The model says two of `onnx`, `transformer` and `collective`.",
        why="Only one of them could count.",
        bad=spec(
            model='model tiny { onnx: "zoo:resnet50", transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, '
            "vocabulary: 512 } }"
        ),
        good=spec(),
    ),
    Code(
        "AS503",
        "block of a training step missing",
        what="A spec that trains a model has no `parallelism` or no `training` block.",
        why="How the ranks share the work, and how much there is, has no sensible default.",
        bad=spec(training=""),
        good=spec(),
    ),
    Code(
        "AS505",
        "data type unknown",
        what="The spec does not say `training.precision`, and the model has no single data type of its own.",
        why="Bytes and the peak follow from the data type; a guess would be off by a factor of two or four.",
        bad=spec(training="training { global_batch: 64, micro_batch: 1 }"),
        good=spec(),
    ),
    Code(
        "AS506",
        "no peak for the data type",
        what="Something computes in a data type that `hardware.peak` does not list.",
        why="Its time would be unknown.",
        bad=spec(training="training { global_batch: 64, micro_batch: 1, precision: fp8 }"),
        good=spec(),
    ),
    Code(
        "AS510",
        "degrees do not make the number of NPUs",
        what="The degrees of the axes must multiply to the product of the topology's sizes. One axis may leave out its "
        "degree and takes the rest.",
        why="Ranks would be left over or missing; other generators run all the same, and their totals are wrong.",
        bad=spec(parallelism="parallelism { data { degree: 4 } }"),
        good=spec(),
    ),
    Code(
        "AS511",
        "two axes without a degree",
        what="Only one axis can take what the others leave.",
        why="There would be several ways to share the rest.",
        bad=spec(parallelism="parallelism {\n  tensor {}\n  data {}\n}"),
        good=spec(topology=_TWO_BY_FOUR, parallelism="parallelism {\n  tensor { degree: 2 }\n  data {}\n}"),
    ),
    Code(
        "AS512",
        "axis does not fit the dimensions",
        what="Axes fill the dimensions innermost first. An axis is a part of a dimension, a whole one, or several; "
        "this one ends inside a dimension at a place that does not divide it.",
        why="Its groups would have different shapes and different costs from one rank to the next.",
        bad=spec(topology=_FOUR_BY_SIX, parallelism="parallelism {\n  tensor { degree: 6 }\n  data {}\n}"),
        good=spec(topology=_FOUR_BY_SIX, parallelism="parallelism {\n  tensor { degree: 4 }\n  data {}\n}").replace(
            "global_batch: 64", "global_batch: 60"
        ),
    ),
    Code(
        "AS513",
        "axis lies elsewhere",
        what="`on` names other dimensions than those that the axis fills by its place and its degree.",
        why="`on` says what you expect; the order of the axes says what is so.",
        bad=spec(
            topology=_TWO_DIMENSIONS,
            parallelism="parallelism {\n  tensor { degree: 8, on: [rail] }\n  data { degree: 4 }\n}",
        ),
        good=spec(
            topology=_TWO_DIMENSIONS,
            parallelism="parallelism {\n  tensor { degree: 8, on: [nvlink] }\n  data { degree: 4, on: [rail] }\n}",
        ),
    ),
    Code(
        "AS514",
        "hybrid sharding across the middle",
        what="`shard_on` names dimensions that are neither the first nor the last ones that the data axis fills.",
        why="Shards lie along one end of the axis and are copied along the other.",
        bad=spec(
            topology=_TWO_DIMENSIONS,
            parallelism="parallelism { data { shard: parameters, shard_on: [rail, nvlink] } }",
        ),
        good=spec(
            topology=_TWO_DIMENSIONS, parallelism="parallelism { data { shard: parameters, shard_on: [nvlink] } }"
        ),
    ),
    Code(
        "AS515",
        "batch does not divide",
        what="`global_batch` must be a multiple of micro_batch x data x expert.",
        why="Some ranks would get fewer samples than others.",
        bad=spec(training="training { global_batch: 60, micro_batch: 1, precision: bf16 }"),
        good=spec(),
    ),
    Code(
        "AS516",
        "micro-batches do not fill the interleaved schedule",
        what="`schedule: interleaved` runs micro-batches in groups of as many as there are stages.",
        why="The order of an incomplete group is not defined.",
        bad=spec(
            parallelism="parallelism {\n  pipeline { degree: 2, schedule: interleaved, chunks: 2 }\n  data {}\n}",
            training="training { global_batch: 12, micro_batch: 1, precision: bf16 }",
        ),
        good=spec(
            topology=_TWO_BY_FOUR,
            parallelism="parallelism {\n  pipeline { degree: 2, schedule: interleaved, chunks: 2 }\n  data {}\n}",
            training="training { global_batch: 16, micro_batch: 1, precision: bf16 }",
        ),
    ),
    Code(
        "AS517",
        "share is not whole",
        what="What an axis divides (heads, feed-forward width, vocabulary, sequence, experts) must be a multiple of "
        "its degree.",
        why="Ranks would hold parts of different sizes, which padding would hide.",
        bad=spec(
            model="model tiny { transformer { layers: 4, hidden: 60, heads: 6, sequence: 32, vocabulary: 512 } }",
            parallelism="parallelism { tensor { degree: 8 } }",
        ),
        good=spec(parallelism="parallelism { tensor { degree: 8 } }"),
    ),
    Code(
        "AS518",
        "axis has nothing to divide",
        what="A context, expert or sequence-parallel axis needs a model with tokens or experts; a tensor axis over an "
        "ONNX model needs layers that are marked `shard: column` or `shard: row`.",
        why="The axis would change nothing but the number of ranks.",
        bad=spec(parallelism="parallelism { expert { degree: 8 } }"),
        good=spec(model=_EXPERTS, parallelism="parallelism { expert { degree: 8 } }"),
    ),
    Code(
        "AS519",
        "tensor axis over experts without sequence parallelism",
        what="With experts and a tensor axis, `tensor { sequence_parallel: true }` is needed.",
        why="Tokens travel to experts cut along the tensor axis; without sequence parallelism every rank of the axis "
        "would send the same ones.",
        bad=spec(model=_EXPERTS, parallelism="parallelism {\n  tensor { degree: 2 }\n  data {}\n}"),
        good=spec(
            topology=_TWO_BY_FOUR,
            model=_EXPERTS,
            parallelism="parallelism {\n  tensor { degree: 2, sequence_parallel: true }\n  data {}\n}",
        ),
    ),
    Code(
        "AS521",
        "algorithm needs a power of two",
        what="`halving_doubling` and `double_binary_tree` need a dimension of 2, 4, 8, ... NPUs.",
        why="ASTRA-sim deadlocks with status 0 (halving_doubling) or crashes (double_binary_tree).",
        bad=spec(
            topology="topology six { switch s { size: 6, bandwidth: 50 GB/s, latency: 500 ns, algorithm: "
            "halving_doubling } }",
            parallelism="parallelism { data {} }",
        ).replace("global_batch: 64", "global_batch: 60"),
        good=spec(),
    ),
    Code(
        "AS522",
        "one ring and a dimension's own algorithm",
        what="A `one_...` algorithm lays one ring over all NPUs; a dimension cannot have another one beside it.",
        why="ASTRA-sim ignores whatever stands beside it.",
        bad=spec(
            topology="topology ring8 { ring nvlink { size: 8, bandwidth: 50 GB/s, latency: 500 ns, algorithm: ring } }",
            system="system { algorithm: one_ring }",
        ),
        good=spec(system="system { algorithm: one_ring }"),
    ),
    Code(
        "AS523",
        "congestion-aware network with several dimensions",
        what="ASTRA-sim's congestion-aware analytical network takes one dimension.",
        why="It ends with an error after everything else was read.",
        bad=spec(
            topology=_TWO_DIMENSIONS,
            parallelism="parallelism { data {} }",
            system="system { backend: congestion_aware }",
        ),
        good=spec(system="system { backend: congestion_aware }"),
    ),
    Code(
        "AS524",
        "number that the simulator cannot hold",
        what="ASTRA-sim reads this number as a whole one: nanoseconds, bytes, or bytes per nanosecond.",
        why="It would be cut off without a word: 0.9 ns becomes 0, and 0.5 GB/s becomes infinitely fast.",
        bad=spec(system="system { endpoint_delay: 10.5 ns }"),
        good=spec(system="system { endpoint_delay: 10 ns }"),
    ),
    Code(
        "AS525",
        "nodes of a memory pool",
        what="`sharing: node` needs `nodes`, a divisor of the number of NPUs; other kinds have none.",
        why="ASTRA-sim divides by it: without it, it dies of an arithmetic exception.",
        bad=spec(memory_pool=_POOL % ("node", "64 GB/s", "600 ns", "")),
        good=spec(memory_pool=_POOL % ("node", "64 GB/s", "600 ns", ", nodes: 2")),
    ),
    Code(
        "AS526",
        "rank that does not exist",
        what="`slow.ranks` names a rank beyond the last one; ranks count from 0.",
        why="The straggler would be left out.",
        bad=spec(hardware="hardware gpu from a100_sxm_80g { slow { ranks: [8], factor: 1.5 } }"),
        good=spec(hardware="hardware gpu from a100_sxm_80g { slow { ranks: [7], factor: 1.5 } }"),
    ),
    Code(
        "AS527",
        "chunks and schedule disagree",
        what="`chunks` above 1 belongs to `schedule: interleaved`, which needs it.",
        why="Other schedules run one piece of the model on each rank.",
        bad=spec(parallelism="parallelism {\n  pipeline { degree: 2, chunks: 2 }\n  data {}\n}"),
        good=spec(
            topology=_TWO_BY_FOUR,
            parallelism="parallelism {\n  pipeline { degree: 2, schedule: interleaved, chunks: 2 }\n  data {}\n}",
        ),
    ),
    Code(
        "AS528",
        "hybrid sharding of nothing",
        what="`shard_on` says along which dimensions shards lie, but `shard` divides nothing.",
        why="It would have no effect.",
        bad=spec(topology=_TWO_DIMENSIONS, parallelism="parallelism { data { shard_on: [nvlink] } }"),
        good=spec(
            topology=_TWO_DIMENSIONS, parallelism="parallelism { data { shard: optimizer, shard_on: [nvlink] } }"
        ),
    ),
    Code(
        "AS529",
        "cut of a transformer's layer",
        what="`layer { shard }` marks the layers of an ONNX model that a tensor axis cuts. Those of a `transformer` "
        "know how they are cut.",
        why="A pair of column and row would be torn apart, and its collectives would be wrong.",
        bad=spec(
            model="model tiny {\n  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 }\n"
            '  layer "*.down" { shard: column }\n}',
            parallelism="parallelism { tensor { degree: 8 } }",
        ),
        good=spec(parallelism="parallelism { tensor { degree: 8 } }"),
    ),
    Code(
        "AS530",
        "more stages than the model has pieces",
        what="A pipeline cuts between transformer blocks, or between layers with weights; there are fewer than stages.",
        why="A stage would have nothing to do.",
        bad=spec(parallelism="parallelism { pipeline { degree: 8 } }"),
        good=spec(
            topology=_FOUR_BY_SIX.replace("6", "2"), parallelism="parallelism {\n  pipeline { degree: 4 }\n  data {}\n}"
        ),
    ),
    Code(
        "AS531",
        "stages out of order",
        what="`layer { stage }` must number the stages 0, 1, 2, ... along the model, without a gap.",
        why="A pipeline passes activations from each stage to the next.",
        bad=spec(
            model="model tiny {\n  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 }\n"
            '  layer "block2.*" { stage: 2 }\n}',
            parallelism="parallelism {\n  pipeline { degree: 2 }\n  data {}\n}",
        ),
        good=spec(
            topology=_TWO_BY_FOUR,
            model="model tiny {\n  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 }\n"
            '  layer "block2.*" { stage: 1 }\n}',
            parallelism="parallelism {\n  pipeline { degree: 2 }\n  data {}\n}",
        ),
    ),
    Code(
        "AS532",
        "shared weight cut on one side",
        what="Two layers share a weight, and `layer { shard }` cuts only one of them or both in different ways.",
        why="Their gradients could not be summed.",
    ),
    Code(
        "AS533",
        "run too long to be written down",
        what="Micro-batches, layers and training steps multiply to millions of nodes for each distinct rank.",
        why="The traces would fill memory and disk, and the simulator would not come to their end. Steps repeat each "
        "other: a few of them tell the same.",
        bad=spec(training="training { global_batch: 8_000_000, micro_batch: 1, precision: bf16 }"),
        good=spec(training="training { global_batch: 8_000_000, micro_batch: 500_000, precision: bf16 }").replace(
            "hardware gpu from a100_sxm_80g", "hardware gpu from a100_sxm_80g { memory { capacity: 1 PB } }"
        ),
    ),
    Code(
        "AS534",
        "too many NPUs",
        what="The sizes of the dimensions multiply to more than 1,048,576 NPUs.",
        why="Each has a trace file of its own name, and ASTRA-sim keeps lists of all NPUs for each of them.",
        bad=spec(
            topology=_TWO_BY_FOUR.replace("size: 2", "size: 1024").replace("size: 4", "size: 2048"),
            parallelism="parallelism { data {} }",
        ),
        good=spec(topology=_TWO_BY_FOUR, parallelism="parallelism { data {} }"),
    ),
    Code(
        "AS540",
        "model does not fit into memory",
        what="A rank needs more than `hardware.memory.capacity`. The message names the rank that needs most and its "
        "terms: weights, gradients, optimizer state, activations, buffers.",
        why="The simulator would give a result for a machine that cannot run this. `memory { allow_overflow: true }` "
        "makes it a warning.",
        bad=spec(
            model="model big { transformer { layers: 96, hidden: 12_288, heads: 96, sequence: 2048, vocabulary: 512 } }"
        ),
        good=spec(),
    ),
    Code(
        "AS541",
        "memory pool is too small",
        what="What the ranks keep in the pool together is more than its `capacity`.",
        why="The simulator has no notion of capacity and would run all the same.",
        bad=spec(memory_pool=_POOL % ("pool", "64 GB/s", "600 ns", ", capacity: 1 kB")),
        good=spec(memory_pool=_POOL % ("pool", "64 GB/s", "600 ns", ", capacity: 1 TB")),
    ),
    Code(
        "AS590",
        "assertion does not hold",
        what="An `assert` of the file is false. The notes show the values on both sides.",
        why="It is the file's own condition.",
        bad=spec() + 'assert topology.nvlink.size <= 4 "no more than a node"\n',
        good=spec() + 'assert topology.nvlink.size <= 8 "no more than a node"\n',
    ),
    Code(
        "AS591",
        "assertion not evaluated",
        what="An `assert` uses `estimate.*`, and this command makes no estimate.",
        why="`build` and `estimate` evaluate it.",
        severity=Severity.NOTE,
    ),
)
