"""AS6xx."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code

_HEADER = "# times.csv\nlayer,forward [us],input_gradient [us],weight_gradient [us]\n"
_TIMES = _HEADER + "conv1,120.5,,118\nfc,8,9.25,8\n"

ROWS: tuple[Code, ...] = (
    Code(
        "AS601",
        "unreadable model",
        what="The model's file does not exist, is a folder, or may not be read.",
        why="Without the graph there are no layers. A relative path counts from the folder of the spec.",
        bad=spec(model='model m { onnx: "no_such_file.onnx" }'),
        good=spec(),
    ),
    Code(
        "AS602",
        "not an ONNX file",
        what="The file has the place of a model and is another: a Git LFS pointer, an archive, a web page, text.",
        why="A pointer is what a checkout without Git LFS leaves behind, a web page is a failed download; an empty "
        "file would even be a valid, empty model.",
    ),
    Code(
        "AS603",
        "damaged ONNX file",
        what="The bytes break off, or break protobuf's format, at the offset that the message names.",
        why="What follows the damage would be missing from the table without a word.",
    ),
    Code(
        "AS604",
        "no model in the file",
        what="The file can be parsed and holds no graph, or a graph without nodes: another kind of protobuf file.",
        why="A model without layers gives a workload without work.",
    ),
    Code(
        "AS605",
        "unknown zoo model",
        what="`zoo:NAME` names a model that the compiler cannot generate.",
        why="The zoo's models are built in and never fetched; any other model is read from its file.",
        bad=spec(model='model m { onnx: "zoo:resnet51" }'),
        good=spec(model='model m { onnx: "zoo:resnet50" }'),
    ),
    Code(
        "AS606",
        "unbound extent",
        what="A layer's work depends on an extent of an input that is symbolic or unknown, and nobody gave it.",
        why="Taken for 0 or 1 in silence, the work would be wrong by that factor.",
    ),
    Code(
        "AS607",
        "unknown shape",
        what="All inputs have shapes, and a layer's work is unknown all the same: an operator before it is unknown, or "
        "its result depends on numbers that the file does not hold.",
        why="The work behind it would count as none.",
    ),
    Code(
        "AS608",
        "extent bound wrongly",
        what="`bind` or the batch names an extent that the model does not have, or gives it no possible or two values.",
        why="A misspelt name would leave the real one unbound.",
        bad=spec(model='model m {\n  onnx: "zoo:resnet50"\n  bind { sequence: 128 }\n}'),
        good=spec(model='model m { onnx: "zoo:resnet50" }'),
    ),
    Code(
        "AS609",
        "input given wrongly",
        what="`input` names an input that the model does not have, or gives it another number of axes.",
        why="A misspelt name would leave the real one as it is.",
        bad=spec(model='model m {\n  onnx: "zoo:resnet50"\n  input "x" { shape: [batch, 3, 224, 224] }\n}'),
        good=spec(model='model m {\n  onnx: "zoo:resnet50"\n  input "gpu_0/data_0" { shape: [batch, 3, 224, 224] }\n}'),
    ),
    Code(
        "AS610",
        "fixed batch",
        what="The file was exported with a fixed batch, another one is asked for, and a node (a Reshape with a fixed "
        "target, as a rule) holds on to the old one; or the inputs do not agree on which axis the batch is.",
        why="The samples would end up in another axis, and attention would run across them.",
    ),
    Code(
        "AS611",
        "model that cannot run",
        what="The operands of a node do not fit each other, a value is read that nothing makes or made twice, nodes "
        "depend on each other in a circle, or functions call themselves.",
        why="No runtime would run it, and no count of its work would mean anything.",
    ),
    Code(
        "AS613",
        "impossible tie",
        what="`tie` names a weight that the model does not have, or two of different size.",
        why="Tied weights count once; what is tied must be one tensor.",
        bad=spec(model='model m {\n  onnx: "zoo:vgg16"\n  tie: [["vgg0_conv0_weight", "vgg0_conv1_weight"]]\n}'),
        good=spec(model='model m {\n  onnx: "zoo:vgg16"\n  tie: [["vgg0_conv8_weight", "vgg0_conv9_weight"]]\n}'),
    ),
    Code(
        "AS614",
        "unknown operator (strict)",
        what="With `--strict`, an operator that the compiler does not know is an error; see AS830.",
        why="Its work and its weights are not counted.",
    ),
    Code(
        "AS615",
        "unknown number of iterations",
        what="A loop holds matrix products, and how often it runs is decided at run time.",
        why="The work of one iteration is not the work of the loop.",
    ),
    Code(
        "AS616",
        "unknown extents (strict)",
        what="With `--strict`, elementwise work of unknown extent is an error; see AS835.",
        why="It is not counted.",
    ),
    Code(
        "AS620",
        "pattern without a layer",
        what='The pattern of a `layer "..."` block matches no layer of the model; `astrac layers` lists their names.',
        why="The override would have no effect.",
        bad=spec(
            model="model tiny {\n  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 }\n"
            '  layer "blok0.*" { freeze: true }\n}'
        ),
        good=spec(
            model="model tiny {\n  transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 }\n"
            '  layer "block0.*" { freeze: true }\n}'
        ),
    ),
    Code(
        "AS650",
        "missing measured time",
        what="The model says `times`, and the table has no row, or an empty cell, for a layer and phase that the step "
        "runs. The message names the first of them.",
        why="A layer without a time would take none; the estimate and the traces would look faster than the machine. "
        "`times_rest: estimate` prices the missing ones by the hardware's peak instead.",
        bad=_HEADER + "conv1,120.5,,118\n",
        good=_TIMES,
    ),
    Code(
        "AS651",
        "malformed table of times",
        what="The first line of a table of times does not name the columns `layer`, `forward`, `input_gradient` and "
        "`weight_gradient`, each time with its unit, or a row does not have as many fields.",
        why="Microseconds read as nanoseconds give a step that is a thousand times too short.",
        bad="# times.csv\nlayer,forward,input_gradient [us],weight_gradient [us]\nconv1,120.5,,118\nfc,8,9.25,8\n",
        good=_TIMES,
    ),
    Code(
        "AS652",
        "not a time",
        what="A cell of a table of times is no number, is below 0, or is beyond a million seconds.",
        why="Times become whole nanoseconds of the simulator's clock, at least 1 each.",
        bad=_HEADER + "conv1,120.5,,nan\nfc,8,9.25,8\n",
        good=_TIMES,
    ),
    Code(
        "AS653",
        "times of an unknown layer",
        what="A row of a table of times names a layer that the model does not have.",
        why="The layer that was meant would go without; `astrac layers` lists the names.",
        bad=_HEADER + "conv2,120.5,,118\nfc,8,9.25,8\n",
        good=_TIMES,
    ),
    Code(
        "AS654",
        "two rows for one layer",
        what="A table of times names a layer twice.",
        why="One of the times would be dropped without a word.",
        bad=_HEADER + "conv1,120.5,,118\nconv1,1,,1\nfc,8,9,8\n",
        good=_TIMES,
    ),
    Code(
        "AS660",
        "heads do not divide the hidden size",
        what="A transformer's `hidden` is no multiple of its `heads`, and it does not say `head_size`.",
        why="The width of a head would be a fraction.",
        bad="model m {\n  transformer { layers: 2, hidden: 100, heads: 8, sequence: 64, vocabulary: 1000 }\n}\n",
        good="model m {\n  transformer { layers: 2, hidden: 128, heads: 8, sequence: 64, vocabulary: 1000 }\n}\n",
    ),
    Code(
        "AS661",
        "uneven key and value heads",
        what="A transformer's `heads` is no multiple of its `kv_heads`.",
        why="In grouped-query attention each key and value head serves the same number of query heads.",
        bad="model m {\n  transformer {\n    layers: 2, hidden: 96, heads: 8, kv_heads: 3\n"
        "    sequence: 64, vocabulary: 99\n  }\n}\n",
        good="model m {\n  transformer {\n    layers: 2, hidden: 96, heads: 8, kv_heads: 2\n"
        "    sequence: 64, vocabulary: 99\n  }\n}\n",
    ),
    Code(
        "AS662",
        "too few positions",
        what="A transformer's table of learned positions has fewer rows than the sequence has tokens.",
        why="The last tokens would have no position.",
        bad="model m {\n  transformer {\n    layers: 2, hidden: 128, heads: 8, sequence: 1024, vocabulary: 1000\n"
        "    max_positions: 512\n  }\n}\n",
        good="model m {\n  transformer {\n    layers: 2, hidden: 128, heads: 8, sequence: 512, vocabulary: 1000\n"
        "    max_positions: 512\n  }\n}\n",
    ),
    Code(
        "AS663",
        "more active experts than there are",
        what="Each token is to see more experts than a block has.",
        why="A token goes to different experts, at most to each of them once.",
        bad="model m {\n  transformer {\n    layers: 2, hidden: 128, heads: 8, sequence: 64, vocabulary: 1000\n"
        "    experts { count: 4, active: 8 }\n  }\n}\n",
        good="model m {\n  transformer {\n    layers: 2, hidden: 128, heads: 8, sequence: 64, vocabulary: 1000\n"
        "    experts { count: 8, active: 4 }\n  }\n}\n",
    ),
)
