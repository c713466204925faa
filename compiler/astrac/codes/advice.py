"""AS8xx."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code, Severity

ROWS: tuple[Code, ...] = (
    Code(
        "AS801",
        "active chunks beat the wire",
        what="`active_chunks` is above 1 on the congestion-unaware network.",
        why="Each running chunk gets the full bandwidth, so a collective can end sooner than its bytes could cross the "
        "wire (measured: 16,110 ns where the wire needs 34,180).",
        bad=spec(system="system { active_chunks: 4 }"),
        good=spec(),
        severity=Severity.WARNING,
    ),
    Code(
        "AS802",
        "fewer active chunks than chunks",
        what="A topology of several dimensions runs fewer chunks at once than a collective has.",
        why="The analytical networks run it; ns-3 can deadlock on it.",
        bad=spec(
            topology="topology pod {\n  ring a { size: 4, bandwidth: 50 GB/s, latency: 500 ns }\n"
            "  ring b { size: 2, bandwidth: 50 GB/s, latency: 500 ns }\n}",
            system="system { active_chunks: 1, chunks: 4 }",
        ),
        good=spec(system="system { chunks: 4 }"),
        severity=Severity.WARNING,
    ),
    Code(
        "AS803",
        "direct where messages share a port",
        what="The `direct` algorithm runs on a ring or a switch.",
        why="It sends to all peers at once, and the congestion-unaware network gives each message the full bandwidth: "
        "results were up to 170 times faster than with congestion.",
        bad=spec(
            topology="topology s { switch s { size: 8, bandwidth: 50 GB/s, latency: 500 ns, algorithm: direct } }"
        ),
        good=spec(),
        severity=Severity.WARNING,
    ),
    Code(
        "AS804",
        "collective that ASTRA-sim charges extra",
        what="A collective is smaller than chunks x NPUs, or no multiple of the number of chunks.",
        why="ASTRA-sim raises a small one to chunks x NPUs bytes, and charges a left-over chunk as a whole one. The "
        "estimate does the same; the real network would not.",
        bad=spec(system="system { chunks: 7 }"),
        good=spec(),
        severity=Severity.WARNING,
    ),
    Code(
        "AS805",
        "memory overflow allowed",
        what="A rank needs more than `hardware.memory.capacity`, and `allow_overflow` is set.",
        why="The result is for a machine that cannot run this.",
        bad=spec(hardware="hardware gpu from a100_sxm_80g { memory { allow_overflow: true, capacity: 1 MB } }"),
        good=spec(),
        severity=Severity.WARNING,
    ),
    Code(
        "AS806",
        "bits where bytes were meant",
        what="A bandwidth in `GB/s` has a value that network cards have in `Gb/s` (100, 200, 400, 800).",
        why="A factor of eight, in silence. Write the unit that the data sheet has: `400 Gb/s` is `50 GB/s`.",
        bad=spec(topology="topology rail { switch nic { size: 8, bandwidth: 400 GB/s, latency: 2 us } }"),
        good=spec(topology="topology rail { switch nic { size: 8, bandwidth: 400 Gb/s, latency: 2 us } }"),
        severity=Severity.WARNING,
    ),
    Code(
        "AS807",
        "several sub-groups on one dimension",
        what="Ranks of a network of one dimension take part in two communicator groups that run the same kind of "
        "collective.",
        why="ASTRA-sim frees memory twice when it ends: the cycles that it prints are right, but the last lines can be "
        "lost and the exit status can be 134. With a dimension for each axis there are no groups: split "
        "`switch s { size: 8 }` into `switch a { size: 4 }` and `switch b { size: 2 }`.",
        bad=spec(parallelism="parallelism {\n  tensor { degree: 2 }\n  data {}\n}"),
        good=spec(
            topology="topology pod {\n  ring a { size: 2, bandwidth: 50 GB/s, latency: 500 ns }\n"
            "  ring b { size: 4, bandwidth: 50 GB/s, latency: 500 ns }\n}",
            parallelism="parallelism {\n  tensor { degree: 2 }\n  data {}\n}",
        ),
        severity=Severity.WARNING,
    ),
    Code(
        "AS808",
        "group flattened to one ring",
        what="The ranks of a collective do not fill whole dimensions, so they are told to ASTRA-sim as a communicator "
        "group.",
        why="ASTRA-sim runs a group as one logical ring with an endpoint delay of 10 ns, whatever the dimensions' "
        "algorithms and `endpoint_delay` say. The estimate does the same.",
        bad=spec(
            topology="topology pod {\n  switch a { size: 4, bandwidth: 50 GB/s, latency: 500 ns }\n"
            "  switch b { size: 2, bandwidth: 50 GB/s, latency: 500 ns }\n}",
            parallelism="parallelism {\n  tensor { degree: 2 }\n  data {}\n}",
        ),
        good=spec(
            topology="topology pod {\n  switch a { size: 4, bandwidth: 50 GB/s, latency: 500 ns }\n"
            "  switch b { size: 2, bandwidth: 50 GB/s, latency: 500 ns }\n}",
            parallelism="parallelism {\n  tensor { degree: 4 }\n  data {}\n}",
        ),
        severity=Severity.WARNING,
    ),
    Code(
        "AS809",
        "no estimate",
        what="Playing this run would cost more than an estimate may: millions of messages through congested links, or "
        "ties that only every rank together could settle.",
        why="The bundle is as good as any; how long it takes is for the simulator to say.",
        bad=spec(
            topology="topology s { switch s { size: 256, bandwidth: 50 GB/s, latency: 500 ns } }",
            model="model m { transformer { layers: 12, hidden: 1024, heads: 8, sequence: 512, vocabulary: 512 } }",
            parallelism="parallelism { data {} }",
            training="training { global_batch: 1024, micro_batch: 1, precision: bf16 }",
            system="system { backend: congestion_aware }",
        ),
        good=spec(system="system { backend: congestion_aware }"),
        severity=Severity.WARNING,
    ),
    Code(
        "AS830",
        "unknown operator",
        what="The model has an operator that neither the compiler's table nor the shape rules count.",
        why="The message says what is left out: its FLOPs, and weights of its own. `--strict` makes it an error.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS831",
        "possible tie",
        what="An embedding table and a nameless matrix are transposes of each other in shape.",
        why="Exporters write the transpose of a tied head as a second tensor. Only you know whether they are one "
        "weight; untied, the parameters and their gradient count twice.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS832",
        "parameters or a fixed table",
        what="A constant of several axes is added to activations: learned positions, or a table that is never trained.",
        why="The graph does not tell. It counts as parameters; `layer` with `freeze: true` changes that.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS833",
        "newer than the installed onnx",
        what="The model uses a version of ONNX's operators that the installed `onnx` package does not know.",
        why="New operators may be unknown, and changed ones may be misread.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS834",
        "weights are not there",
        what="The model keeps its weights in a file beside it, and that file is missing.",
        why="Nothing is lost: weights are never read, all numbers follow from shapes. The model itself cannot run so.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS835",
        "work of unknown extent",
        what="The extent of elementwise work depends on data (the boxes that a detector keeps).",
        why="Its FLOPs and bytes are left out. `--strict` makes it an error.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS836",
        "training graph",
        what="The file holds gradient nodes beside the forward ones.",
        why="They are left out: backward work follows from the forward layers, and would count twice.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS837",
        "model without weights",
        what="No operator of the model has weights or multiplies matrices.",
        why="There is nothing to train and nothing to reduce.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS840",
        "columns that the policy ignores",
        what="The policy never sends the communication of these columns.",
        why="The simulator drops it without a word.",
        bad="# workload.txt\nDATA\n1\na -1 1 ALLREDUCE 4096 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS841",
        "layers or times that the policy ignores",
        what="MICRO uses the weight-gradient collective of the first layer only, DISTRIBUTED_INFERENCE the "
        "forward columns only.",
        why="Everything else has no effect.",
        bad="# workload.txt\n"
        "MICRO\n"
        "2\n"
        "a -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4096 1\n"
        "b -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4096 1\n",
        good="# workload.txt\nMICRO\n1\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4096 1\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS842",
        "left-over chunk",
        what="A collective's bytes are no multiple of `preferred-dataset-splits`.",
        why="What is left over becomes one more chunk at full latency.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS843",
        "key written twice",
        what="A key stands twice; the simulator takes the last value.",
        why="One of them has no effect.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS844",
        "key that nothing reads",
        what="ASTRA-sim 1.0 reads no such key of network.json.",
        why="It has no effect; if it is misspelt, the right one is missing.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS845",
        "text after the end",
        what="There is text after the last layer, or after the JSON value.",
        why="The simulator does not read it.",
        bad="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\nmore\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS846",
        "value that reads as something else",
        what="The simulator accepts the value, but not for what it looks like: `boost-mode: true` is off, `1.0` "
        "is 1, a text is a list of one.",
        why="It works here, and surprises elsewhere.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS847",
        "links rounded down",
        what="A Ring uses an even number of links, FullyConnected a multiple of units - 1; the rest is unused.",
        why="Messages get less bandwidth than all links have.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS848",
        "many layers",
        what="The report of ASTRA-sim 1.0 takes time that grows with the square of the number of layers (200: "
        "over a minute).",
        why="The simulation is over long before its report.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS849",
        "communication over no dimension",
        what="The policy sends these columns over dimensions of which none has two NPUs.",
        why="The simulator drops them: no cost, no error.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS850",
        "size without communication",
        what="A column says NONE and a size, or names a collective of 0 bytes that nothing waits for.",
        why="Nothing is sent.",
        bad="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 4096 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS851",
        "fewer words than dimensions",
        what="An `*-implementation` list that the workload never uses has fewer words than there are dimensions.",
        why="Nothing here; as soon as such a collective is issued, the other dimensions take no part in it.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS852",
        "last bottom layer out of range",
        what="The number after a DLRM policy is the last layer of the bottom network, counted from 0.",
        why="Outside the layers, the embedding's all-to-alls are never sent or never waited for, in silence.",
        bad="# workload.txt\n"
        "HYBRID_DLRM 9\n"
        "2\n"
        "a -1 1 ALLTOALL 4096 1 NONE 0 1 NONE 0 1\n"
        "b -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS860",
        "key that nothing reads",
        what="ASTRA-sim 2.x reads no such key of this file.",
        why="It has no effect; if it is misspelt, the right one is missing or has its default.",
        bad="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
        "links: [ 2 ]\n",
        good="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS861",
        "key that has no effect",
        what="ASTRA-sim accepts the key and never reads it, or reads it only beside another one.",
        why="What it asks for does not happen: 2.x has no boost mode and no scheduling of dimensions.",
        bad='# memory.json\n{ "memory-type": "NO_MEMORY_EXPANSION", "remote-mem-bw": 100 }\n',
        good='# memory.json\n{ "memory-type": "NO_MEMORY_EXPANSION" }\n',
        severity=Severity.WARNING,
    ),
    Code(
        "AS862",
        "reductions are free",
        what="`local-mem-bw` is missing or 0.",
        why="ASTRA-sim prices the reductions of collectives by it: without it they take no time.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS863",
        "a tree for another collective",
        what="`doubleBinaryTree` is listed for a reduce-scatter, an all-gather or an all-to-all.",
        why="It runs an all-reduce in their place, with other times.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS864",
        "members out of order",
        what="The members of a communicator group are not listed in ascending order.",
        why="They form a ring in the order listed: [3, 1, 2, 0] takes longer than [0, 1, 2, 3].",
        bad='# comm_groups.json\n{ "1": [3, 1, 2, 0] }\n',
        good='# comm_groups.json\n{ "1": [0, 1, 2, 3] }\n',
        severity=Severity.WARNING,
    ),
    Code(
        "AS865",
        "involved_dim beside a group",
        what="A collective names a communicator group, and dimensions as well.",
        why="The group decides alone, and pays other links than the dimensions would.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS866",
        "collective that is not simulated",
        what="A BROADCAST, and under `replay-only` every collective, lasts the duration that its node says.",
        why="Without a duration that is 1 ns.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS867",
        "message across several dimensions",
        what="Sender and receiver differ in more than one dimension.",
        why="ASTRA-sim charges the first of them only; the others are free.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS868",
        "traces that nobody runs",
        what="There are more traces than NPUs.",
        why="ASTRA-sim ignores them. Left over from a larger machine, they say that something is out of date.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS869",
        "group that nobody uses",
        what="No trace names the group.",
        why="It does nothing; a name that is wrong in a trace looks like this too.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS870",
        "not everything could be checked",
        what="Part of the files is outside what astrac models, or belongs to no whole bundle; the message says what.",
        why="What was checked is right; the rest nobody has looked at.",
        severity=Severity.NOTE,
    ),
    Code(
        "AS871",
        "message that nobody receives",
        what="A send has no receive.",
        why="ASTRA-sim runs it: the sender pays, and nobody waits. A receive was probably meant.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS872",
        "tag too large",
        what="A tag is 500 000 000 or more.",
        why="ASTRA-sim takes tags modulo 500 000 000, so two different ones can match.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS873",
        "links that ns-3 does not use",
        what="Two links join the same nodes, or hosts have no way to each other but through other hosts.",
        why="Of parallel links one is used. Hosts do not forward: a message without a way never arrives.",
        bad="# topology.txt\n3 1 3\n2\n0 2 100Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n",
        good="# topology.txt\n3 1 2\n2\n0 2 100Gbps 0.0005ms 0\n1 2 200Gbps 0.0005ms 0\n",
        severity=Severity.WARNING,
    ),
    Code(
        "AS874",
        "compute that takes no time",
        what="A compute node says how many operations it has, and no duration, and the roofline is off.",
        why="It lasts 1 ns. `roofline-enabled`, `peak-perf` and `local-mem-bw` make its operations count.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS875",
        "key missing, with a default",
        what="A key that changes times is missing; the message says what ASTRA-sim takes in its place.",
        why="Nothing is wrong with the default, as long as it is what you mean.",
        severity=Severity.NOTE,
    ),
    Code(
        "AS876",
        "left out of the import",
        what="Something of the bundle is not in the spec that was made of it.",
        why="The spec builds the same network, system and memory; the message says what it does not build.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS877",
        "what a group does not hear",
        what="A communicator group that is not the whole machine, and a list of several algorithms or an "
        "`endpoint-delay` other than 10.",
        why="ASTRA-sim runs `ring` in the group unless the list has one word, and takes 10 ns for its endpoints.",
        severity=Severity.WARNING,
    ),
)
