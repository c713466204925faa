"""AS6xx."""

from __future__ import annotations

from astrac.codes.row import Code

_HEADER = "# times.csv\nlayer,forward [us],input_gradient [us],weight_gradient [us]\n"
_TIMES = _HEADER + "conv1,120.5,,118\nfc,8,9.25,8\n"

ROWS: tuple[Code, ...] = (
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
