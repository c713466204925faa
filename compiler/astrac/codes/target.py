"""AS7xx: what a target cannot express or accept."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code

_TORUS = """topology torus {
  ring x { size: 2, bandwidth: 75 GB/s, latency: 25 ns }
  ring y { size: 2, bandwidth: 25 GB/s, latency: 300 ns }
  ring z { size: 2, bandwidth: 112 GB/s, latency: 100 ns }
}"""
_POOL = "memory_pool cxl { sharing: pool, bandwidth: 10 GB/s, latency: 600 ns, holds: [parameters] }"

ROWS: tuple[Code, ...] = (
    Code(
        "AS700",
        "cannot read a file",
        what="A file of a bundle is not there, is no regular file, is larger than such a file can be, is not UTF-8, or "
        "is a link that leads out of its folder.",
        why="What cannot be read cannot be checked.",
    ),
    Code(
        "AS701",
        "not YAML, or said twice",
        what="A configuration file breaks the rules of YAML, says one key twice, goes on after its value, or uses what "
        "readers disagree about: anchors, tags, several documents.",
        why="ASTRA-sim ends with the name of an exception, or takes one of the two values without a word.",
        bad="# network.yml\ntopology: [ Ring\nnpus_count: [ 8 ]\n",
        good="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
    ),
    Code(
        "AS702",
        "a value that the simulator does not take",
        what="A value of a configuration file has the wrong type, is no word of ASTRA-sim's, is out of bounds, or "
        "a list does not have an entry for each dimension.",
        why="Depending on the key ASTRA-sim stops, hangs, or runs as something else: `false` switches a feature on, "
        "4.7 chunks are 4, dimensions without an algorithm take no part.",
        bad="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8.0 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
        good="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
    ),
    Code(
        "AS703",
        "number too large for a trace",
        what="A count of operations or bytes is negative or does not fit in 63 bits.",
        why="Chakra's attributes are 64-bit integers; the simulator would read another number.",
    ),
    Code(
        "AS704",
        "a key is missing",
        what="A configuration file lacks a key without which ASTRA-sim stops or does what nobody can know.",
        why="Missing chunks are a division by zero; a missing scheduling policy is whatever the memory held.",
        bad="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\n",
        good="# network.yml\ntopology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
    ),
    Code(
        "AS705",
        "time that the roofline cannot say",
        what="ASTRA-sim prices compute by operations, bytes, a peak and a memory bandwidth; no whole numbers of "
        "operations and bytes give this time.",
        why="The trace would say another time than the estimate. It takes a peak below 1 GFLOPS with a bandwidth below "
        "1 GB/s, or a node of 292 years.",
        bad=spec(
            hardware="hardware gpu from a100_sxm_80g {\n  peak { bf16: 0.3 GFLOPS }\n  memory { bandwidth: 0.3 GB/s }\n"
            "  slow { ranks: [7], factor: 1.25 }\n}"
        ),
        good=spec(),
    ),
    Code(
        "AS706",
        "not a trace",
        what="A trace is cut off, holds something else than messages of Chakra, does not begin with GlobalMetadata, or "
        "has no node.",
        why="ASTRA-sim runs what it could read of a trace that was cut off, and ends well; an empty one crashes it.",
    ),
    Code(
        "AS707",
        "a node that the simulator cannot run",
        what="A node of a trace has a type that ASTRA-sim does not run, lacks an attribute, has a wrong one, or "
        "names a rank that is not there; or two nodes have one id.",
        why="ASTRA-sim aborts when the node's turn comes. Of two nodes with one id it forgets the first.",
    ),
    Code(
        "AS708",
        "which files?",
        what="A folder does not hold exactly one network, one system and one set of traces, or an option is not one of "
        "ASTRA-sim's.",
        why="A guess would check, or price, another bundle than the one that runs. ASTRA-sim ignores unknown options.",
    ),
    Code(
        "AS709",
        "traces are missing",
        what="The machine has more ranks than there are traces.",
        why="ASTRA-sim stops at the first rank without a trace.",
    ),
    Code(
        "AS710",
        "no policy of ASTRA-sim 1.0 says this",
        what="`--target astra-sim-1` was asked for. Its text workloads know data parallelism, tensor parallelism "
        "without sequence parallelism, and both where one of them fills the first dimension and the other the rest; "
        "one micro-batch, no recomputation, no memory pool, no stragglers, no inference.",
        why="The text would describe another training step. The traces of `--target astra-sim-2` say all of it.",
    ),
    Code(
        "AS711",
        "cannot write",
        what="The system refused to write the bundle: no space, no permission, a file where a folder must be.",
        why="Nothing has changed: the folder holds what it held before.",
    ),
    Code(
        "AS712",
        "a file is in the way",
        what="The folder holds a file or folder that is not of its bundle, and the new bundle has one by its name.",
        why="Files that the manifest does not list are the user's, and are kept.",
    ),
    Code(
        "AS713",
        "not a folder of ours",
        what="The output folder is not empty and has no manifest that an earlier build wrote.",
        why="A build replaces the bundle in its folder, and must not replace what it did not make.",
    ),
    Code(
        "AS714",
        "a wrong communicator group",
        what="A trace names a group that the group file does not define, a rank takes part in a group that it is not "
        "in, or a group has a member that the machine does not have.",
        why="ASTRA-sim stops or aborts.",
    ),
    Code(
        "AS715",
        "not modelled",
        what="A file or an option asks for a part of ASTRA-sim that astrac does not know: a shared bus, tracking of "
        "local memory, custom collectives, the rendezvous protocol.",
        why="The estimate and the checks would be those of another run.",
    ),
    Code(
        "AS716",
        "not a line of a trace",
        what="A line that is to be encoded is not JSON, or no message of Chakra; `astrac decode` shows how they look.",
        why="There is nothing that it could mean in a trace.",
    ),
    Code(
        "AS717",
        "collective that ASTRA-sim cannot run",
        what="A collective is so small that its chunks, or the messages that they are cut into, have no bytes.",
        why="An all-gather of fewer bytes than chunks is cut into chunks of 0 bytes for ever; halving_doubling aborts "
        "when a message has none.",
        bad=spec(
            topology="topology s { switch s { size: 8, bandwidth: 50 GB/s, latency: 500 ns } }",
            parallelism="parallelism { data { shard: parameters } }",
            system="system { chunks: 64 }",
        ),
        good=spec(
            topology="topology s { switch s { size: 8, bandwidth: 50 GB/s, latency: 500 ns } }",
            parallelism="parallelism { data { shard: parameters } }",
            system="system { chunks: 4 }",
        ),
    ),
    Code(
        "AS718",
        "algorithm that cannot do a collective",
        what="The step issues a kind of collective that the algorithm of a dimension does not have: `halving_doubling` "
        "has no all-to-all, `double_binary_tree` always runs an all-reduce.",
        why="ASTRA-sim stops, or runs an all-reduce in its place, without a word.",
        bad=spec(
            topology="topology s { switch s { size: 8, bandwidth: 50 GB/s, latency: 500 ns, "
            "algorithm: double_binary_tree } }",
            parallelism="parallelism { data { shard: optimizer } }",
        ),
        good=spec(
            topology="topology s {\n  switch s {\n    size: 8, bandwidth: 50 GB/s, latency: 500 ns, "
            "algorithm: double_binary_tree\n    algorithms { all_gather: ring, reduce_scatter: ring }\n  }\n}",
            parallelism="parallelism { data { shard: optimizer } }",
        ),
    ),
    Code(
        "AS719",
        "all-reduce whose chunks wait for each other",
        what="In a network of several dimensions the chunks of a `local_bw_aware` all-reduce go up and down in the "
        "same queues, each of which serves `active_chunks` at once. Where ranks start apart (a shared memory, "
        "stragglers), or with `halving_doubling` and trees, two ranks can serve different chunks for ever.",
        why="ASTRA-sim ends with status 0 and no result; ns-3 does not end. As many active chunks as chunks, one "
        "chunk, or `optimization: baseline` do not have this.",
        bad=spec(topology=_TORUS, memory_pool=_POOL, parallelism="parallelism { data {} }"),
        good=spec(
            topology=_TORUS,
            memory_pool=_POOL,
            parallelism="parallelism { data {} }",
            system="system { optimization: baseline }",
        ),
    ),
    Code(
        "AS720",
        "not JSON",
        what="The text is not JSON: the message says what is wrong at the place.",
        why="ASTRA-sim's JSON reader aborts (SIGABRT). Comments, trailing commas, single quotes and YAML are not JSON.",
        bad='# network.json\n{"topology-name": "Hierarchical",}\n',
    ),
    Code(
        "AS721",
        "key missing",
        what="A key of network.json is missing. ASTRA-sim 1.0 needs all of them, the `hbm-*` ones too.",
        why="The simulator aborts (SIGABRT), or exits with 255.",
    ),
    Code(
        "AS722",
        "wrong type",
        what="A value of network.json has another type than the simulator reads: a text for a number, a number "
        "for a list, a fraction for a count.",
        why="A wrong type aborts; a fraction is truncated in silence.",
    ),
    Code(
        "AS723",
        "value that ASTRA-sim 1.0 cannot use",
        what="A number of network.json is out of range, or a word is not one of the simulator's.",
        why="Sizes below 1 crash or hang, a bandwidth of 0 gives a plausible wrong total, an unknown word exits "
        "with 255.",
    ),
    Code(
        "AS724",
        "lists of different length",
        what="`dimensions-count` and the lists of network.json disagree.",
        why="A list that is too short is read past its end; one that is too long makes NPUs that never finish.",
    ),
    Code(
        "AS725",
        "no link is left",
        what="`links-count` leaves a message without a link: a Ring uses an even number, FullyConnected a "
        "multiple of units - 1.",
        why="The simulator exits with 255: `Bandwidth scalar of dimension 0 is 0`.",
    ),
    Code(
        "AS726",
        "too many dimensions",
        what="ASTRA-sim 1.0 takes at most 7 dimensions.",
        why="With 8 its report writes past a table and the run exits with 1; with 11 it loses communication.",
    ),
    Code(
        "AS730",
        "not a key of system.txt",
        what="system.txt is pairs of `key: value`, the colon glued to the key and then a blank; this is not one "
        "of its keys.",
        why="The simulator exits with 1: `... is an unknown variable`. Comments, `key : value`, `key:value` and "
        "JSON are read as keys too.",
        bad="# system.txt\nscheduling-policy: LIFO\nlocal-mem-bw: 100\n",
    ),
    Code(
        "AS731",
        "key missing in system.txt",
        what="A key that the simulator needs is missing.",
        why="It exits with 1, or uses memory that was never set (`preferred-dataset-splits`: a division by 0 "
        "was seen).",
    ),
    Code(
        "AS732",
        "value missing in system.txt",
        what="A key is followed by another key.",
        why="The simulator takes the next key as its value, and every pair after it is shifted by one.",
    ),
    Code(
        "AS733",
        "value that system.txt cannot have",
        what="A value is not what its key takes: a word of a short list, or a whole number from 1 on.",
        why="An unknown word exits with 1; a number out of range hangs, crashes, or ends without a result.",
    ),
    Code(
        "AS734",
        "words and dimensions do not match",
        what="An `*-implementation` list has one word a dimension; a `one*` word stands alone for all of them.",
        why="More words crash; with fewer, the other dimensions take no part, in silence.",
    ),
    Code(
        "AS735",
        "algorithm cannot do this",
        what="halvingDoubling cannot do an all-to-all and needs a power of two; doubleBinaryTree needs one too, "
        "and always does an all-reduce.",
        why="The run crashes, never ends, or - the tree - does another collective and ends with a wrong total.",
    ),
    Code(
        "AS736",
        "messages overtake each other",
        what="A ring of unequal links: a fast NPU's message overtakes the one before it.",
        why="The network remembers one message per chunk, sender, receiver and size: the other is lost and the "
        "run never ends.",
    ),
    Code(
        "AS737",
        "boost mode with rows that it breaks",
        what="`boost-mode: 1` simulates only one row of each dimension, and a tree or a `one*` row needs the "
        "NPUs that it leaves out.",
        why="The run crashes, hangs, or ends with another total.",
    ),
    Code(
        "AS740",
        "unknown policy",
        what="The first word of a text workload is one of 11 policies, in capitals.",
        why="The simulator exits with 1: `unable to decode the workload parallelization strategy`. A byte-order "
        "mark or a comment before the word does the same.",
        bad="# workload.txt\ndata\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS741",
        "count of layers is wrong",
        what="The number before the layers is not how many there are.",
        why="Too large repeats the last layer, too small drops layers, no number crashes.",
        bad="# workload.txt\nDATA\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS742",
        "columns of a layer are wrong",
        what="A layer has 12 columns (13 under HYBRID_CUSTOMIZED), separated by blanks; names have none, and "
        "there are no comments.",
        why="The file is one stream of words: from here on every value is read from the wrong place, without an error.",
        bad="# workload.txt\nDATA\n1\na 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS743",
        "words after the policy are wrong",
        what="Some policies need words between their name and the count of layers: `model_parallel_NPU_group: "
        "G`, checkpoints, the last bottom layer. The others take none.",
        why="The simulator reads the count of layers, or a layer, in their place: it crashes or runs something else.",
        bad="# workload.txt\nDATA x\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS744",
        "unknown word for communication",
        what="A column's word is none of NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL.",
        why="The simulator takes an unknown word for NONE, in silence: the communication is gone.",
        bad="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 allreduce 4096 1\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n",
    ),
    Code(
        "AS745",
        "not a layer's policy",
        what="Under HYBRID_CUSTOMIZED each layer ends with DATA, MODEL, HYBRID_DATA_MODEL or HYBRID_MODEL_DATA.",
        why="Another word crashes or ends without a result.",
        bad="# workload.txt\nHYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 MICRO\n",
        good="# workload.txt\nHYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 DATA\n",
    ),
    Code(
        "AS746",
        "number that a layer cannot have",
        what="Times are whole cycles from 0, sizes whole bytes from 0 below 2^64, the column after the name a "
        "32-bit integer; plain decimal digits only.",
        why="A fraction, an exponent or hexadecimal shifts all later columns; a negative size hangs, a negative "
        "time counts as 0.",
        bad="# workload.txt\nDATA\n1\na -1 1.5 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nDATA\n1\na -1 2 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS747",
        "update time of 0",
        what="The last column of a layer that communicates is at least 1 cycle.",
        why="The default build of the simulator aborts (EventQueue.cc:20).",
        bad="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 0\n",
        good="# workload.txt\nDATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n",
    ),
    Code(
        "AS748",
        "collective of 0 bytes",
        what="A collective without bytes never finishes, and the layer waits for it.",
        why="The run ends without a result, with exit status 0. Write `NONE 0`.",
    ),
    Code(
        "AS750",
        "group does not tile the dimensions",
        what="The model-parallel group is a product of the first dimensions, or that times a divisor of the next "
        "one, and not larger than the machine.",
        why="The simulator uses another group in silence, ends without a result, or drops the communication.",
    ),
    Code(
        "AS751",
        "recomputation without a checkpoint",
        what="A layer of `checkpoint_initiates` needs a checkpoint at an earlier layer, with no other such layer "
        "between, and all numbers are layers of the file.",
        why="The simulator searches below layer 0 and crashes.",
        bad="# workload.txt\nHYBRID_TRANSFORMER_FWD_IN_BCKWD g: 1 c: 0 i: 1 0\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
        good="# workload.txt\nHYBRID_TRANSFORMER_FWD_IN_BCKWD g: 1 c: 0 i: 0\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
    ),
    Code(
        "AS753",
        "fewer bytes than chunks",
        what="A collective has fewer bytes than `preferred-dataset-splits`.",
        why="The simulator cuts it into chunks of 0 bytes for ever, and memory grows.",
    ),
    Code(
        "AS754",
        "chunk too large",
        what="The bytes that enter a phase of a collective reach 2^31.",
        why="They are kept in 32-bit integers: the run hangs or ends with a wrong total. More `preferred- "
        "dataset-splits` help.",
    ),
    Code(
        "AS755",
        "message too slow or too fast",
        what="A message takes 2^31 ns or more, or less than 1 ns.",
        why="A slow one overflows and gives a plausible wrong total; one of 0 ns aborts the default build.",
    ),
    Code(
        "AS756",
        "computation too long",
        what="A column's cycles, scaled, reach 2^53.",
        why="They pass through a double and an overflow: the run ends without a result.",
    ),
    Code(
        "AS757",
        "option that the simulator cannot use",
        what="An option of ASTRA-sim 1.0's command line is unknown, or its value is out of range.",
        why="Negative passes never end, a negative scale ends without a result, an unknown option exits with 255.",
    ),
    Code(
        "AS770",
        "a node waits for one that is not there",
        what="A node of a trace depends on an id that the trace does not have.",
        why="ASTRA-sim aborts: the trace might be corrupted.",
        bad='# trace.0.et\n{"version": "0.0.4"}\n'
        '{"id": 1, "name": "a", "type": "COMP_NODE", "duration_micros": 5, "data_deps": [77]}\n',
        good='# trace.0.et\n{"version": "0.0.4"}\n{"id": 1, "name": "a", "type": "COMP_NODE", "duration_micros": 5}\n',
    ),
    Code(
        "AS771",
        "nodes wait for each other",
        what="The dependencies of a trace form a cycle.",
        why="The nodes never run. Beside any other node every rank still reports that it has finished.",
        bad='# trace.0.et\n{"version": "0.0.4"}\n'
        '{"id": 0, "name": "a", "type": "COMP_NODE", "duration_micros": 5}\n'
        '{"id": 1, "name": "b", "type": "COMP_NODE", "duration_micros": 5, "data_deps": [1]}\n',
        good='# trace.0.et\n{"version": "0.0.4"}\n'
        '{"id": 0, "name": "a", "type": "COMP_NODE", "duration_micros": 5}\n'
        '{"id": 1, "name": "b", "type": "COMP_NODE", "duration_micros": 5, "data_deps": [0]}\n',
    ),
    Code(
        "AS772",
        "an algorithm cannot do this collective",
        what="halvingDoubling and doubleBinaryTree need a power of two, halvingDoubling has no all-to-all, a tree "
        "crashes in a sub-group; or the list for a kind that the traces use is missing.",
        why="ASTRA-sim crashes, never ends, or ends with cycles that mean nothing.",
    ),
    Code(
        "AS773",
        "members of a group issue different collectives",
        what="A rank has another collective than the others of its group, other bytes, or one fewer.",
        why="The members wait for each other for ever; ASTRA-sim ends with status 0 and some ranks unfinished.",
    ),
    Code(
        "AS774",
        "a message that never arrives",
        what="A receive waits for bytes or a tag that no rank sends, a message has 0 bytes, or goes to its own sender.",
        why="The receiver never finishes, with status 0; a message of 0 bytes or to oneself aborts.",
    ),
    Code(
        "AS775",
        "a collective that never completes",
        what="A collective has no bytes, fewer than chunks, no member, or is of a kind that ASTRA-sim does not have.",
        why="The run ends with status 0 and unfinished ranks, never ends, or aborts.",
    ),
    Code(
        "AS776",
        "the run does not end well",
        what="Played as ASTRA-sim would, the traces do not come to their end; the message says which rank waits for "
        "what.",
        why="ASTRA-sim would crash, hang, or end with status 0 and unfinished ranks.",
    ),
    Code(
        "AS777",
        "compute that the roofline cannot price",
        what="With `roofline-enabled`, a compute node has no operations or no bytes.",
        why="0 operations last 2^63 cycles; a node of 0 bytes is skipped and wakes nobody who waits for it.",
    ),
    Code(
        "AS778",
        "memory nodes without a memory",
        what="A trace loads or stores and the memory file has no expansion, or its nodes do not reach all NPUs.",
        why="ASTRA-sim stops, divides by zero, or reads past its memory.",
    ),
    Code(
        "AS779",
        "the group file will be ignored",
        what="The path of the group file has `empty` in it.",
        why="ASTRA-sim takes such a path for no file, and then does not find the groups that the traces name.",
    ),
    Code(
        "AS780",
        "the backend cannot take this network",
        what="The congestion-aware analytical backend takes networks of one dimension only.",
        why="It stops with status 255.",
    ),
    Code(
        "AS781",
        "not a file that astrac knows",
        what="What is in the file is none of ASTRA-sim's inputs, as far as one can see.",
        why="Nothing was checked. `--kind` says what it is meant to be.",
    ),
    Code(
        "AS782",
        "wrong logical topology of ns-3",
        what="`logical-dims` is a list of texts, each a whole number from 1 on, whose product is the number of NPUs.",
        why="Numbers in place of texts abort; a missing list is one NPU; ns-3 does not look at the traces.",
        bad='# logical.json\n{ "logical-dims": [8] }\n',
        good='# logical.json\n{ "logical-dims": ["8"] }\n',
    ),
    Code(
        "AS783",
        "wrong physical topology of ns-3",
        what="The file is counts of nodes, switches and links, then the switches, then a line a link: both ends, rate, "
        "delay, error rate.",
        why="It is read as one stream of words without a check: from the first mistake on ns-3 reads something else.",
        bad="# topology.txt\n3 1 2\n2\n0 2 100Gbps 0.0005ms 0\n1 3 100Gbps 0.0005ms 0\n",
        good="# topology.txt\n3 1 2\n2\n0 2 100Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n",
    ),
    Code(
        "AS784",
        "wrong configuration of ns-3",
        what="A key of the configuration has a value that ns-3 cannot read, or one that it needs is missing.",
        why="The value keeps its default, every word after it is taken for another key, or ns-3 aborts.",
        bad="# config.txt\nTOPOLOGY_FILE t.txt\nFLOW_FILE f.txt\nTRACE_FILE tr.txt\nTRACE_OUTPUT_FILE o.tr\n"
        "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nCC_MODE x\nPACKET_PAYLOAD_SIZE 1000\n",
        good="# config.txt\nTOPOLOGY_FILE t.txt\nFLOW_FILE f.txt\nTRACE_FILE tr.txt\nTRACE_OUTPUT_FILE o.tr\n"
        "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nCC_MODE 12\nPACKET_PAYLOAD_SIZE 1000\n",
    ),
    Code(
        "AS785",
        "wrong custom collective",
        what="A trace of a custom collective is missing or broken, holds other nodes than sends, receives and compute, "
        "or the table that names them by node is no table.",
        why="ASTRA-sim stops when the first such collective is issued, or never completes it.",
        bad="# custom.yml\n-3: ring/allreduce\n",
        good="# custom.yml\n3: ring/allreduce\n",
    ),
    Code(
        "AS786",
        "a custom collective never completes",
        what="A custom collective runs as one chunk, and `preferred-dataset-splits` cuts it into several.",
        why="ASTRA-sim waits for chunks that it never starts: it ends with status 0 and no rank has finished.",
    ),
    Code(
        "AS787",
        "the bundle is not what its spec gives",
        what="A committed bundle differs from what its spec builds now.",
        why="Whoever runs it simulates something else than the spec says. Build it again.",
    ),
    Code(
        "AS788",
        "cannot be imported",
        what="The bundle holds something that the language cannot say.",
        why="A spec would build another network, system or memory. The message names what, and the nearest form.",
    ),
)
