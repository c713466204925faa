"""AS7xx: what a target cannot express or accept."""

from __future__ import annotations

from astrac.codes.row import Code

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
)
