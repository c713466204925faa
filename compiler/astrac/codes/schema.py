"""AS4xx: what the schemas say of keys, blocks and values."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code

_RING = "topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns%s }\n}\n"
_GOOD = _RING % ""
_SLOW = "hardware gpu from a100_sxm_80g {\n  slow { ranks: [%s], factor: 2 }\n}"

ROWS: tuple[Code, ...] = (
    Code(
        "AS401",
        "unknown key",
        what="The block does not have such a key. schemas/README.md lists all keys of all blocks.",
        why="A misspelt key that is passed over leaves the default in force, and nobody notices.",
        bad=_GOOD.replace("latency", "latncy"),
        good=_GOOD,
    ),
    Code(
        "AS402",
        "unknown block",
        what="A block of that kind does not stand here.",
        why="A misspelt block that is passed over changes the machine, and nobody notices.",
        bad=_GOOD.replace("ring", "rign"),
        good=_GOOD,
    ),
    Code(
        "AS403",
        "something is missing",
        what="A block lacks a key or a block that has no default.",
        why="What has no sensible default must be said.",
        bad=_GOOD.replace(", latency: 500 ns", ""),
        good=_GOOD,
    ),
    Code(
        "AS404",
        "value of another kind",
        what="The value is a text, a number, a list or a word where the key takes something else.",
        why="Nothing is converted silently.",
        bad=_GOOD.replace("8", '"8"'),
        good=_GOOD,
    ),
    Code(
        "AS405",
        "unknown word",
        what="The key takes one of a few words, and this is none of them.",
        why="Words of the language are in lower case and whole: `halving_doubling`, not ASTRA-sim's `halvingDoubling`.",
        bad=_RING % ", algorithm: rign",
        good=_RING % ", algorithm: ring",
    ),
    Code(
        "AS406",
        "not a whole number",
        what="The key counts something, and the value is no whole number. `8.0` is one.",
        why="ASTRA-sim reads 2.5 as a number of chunks without a word, and ends with `bad conversion` on 8.0 NPUs.",
        bad=_GOOD.replace("8", "17 / 2"),
        good=_GOOD.replace("8", "16 / 2"),
    ),
    Code(
        "AS407",
        "name of a block",
        what="A block lacks the name that its kind takes, or has one where its kind takes none.",
        why="Named blocks can be picked and copied; `parallelism`, `training` and `system` are there once.",
        bad=_GOOD.replace(" pod", ""),
        good=_GOOD,
    ),
    Code(
        "AS408",
        "block or key",
        what="A block is written as a key, or a key as a block.",
        why="`key: value` holds one value, `kind { ... }` holds keys.",
        bad=_GOOD.replace("size: 8", "size { ranks: 8 }"),
        good=_GOOD,
    ),
    Code(
        "AS409",
        "dotted key out of place",
        what="A key with dots stands in a block.",
        why="In `profile` and `sweep` a path says where a value goes; in a block the braces do.",
        bad="hardware gpu {\n  peak { bf16: 312 TFLOPS }\n  memory.capacity: 80 GB\n"
        "  memory { bandwidth: 2039 GB/s, capacity: 80 GB }\n}\n",
        good="hardware gpu {\n  peak { bf16: 312 TFLOPS }\n  memory { bandwidth: 2039 GB/s, capacity: 80 GB }\n}\n",
    ),
    Code(
        "AS410",
        "number out of bounds",
        what="The number is smaller or larger than the key allows.",
        why="The simulator would crash, hang, or compute nonsense.",
        bad=_GOOD.replace("size: 8", "size: 1"),
        good=_GOOD,
    ),
    Code(
        "AS411",
        "too few or too many",
        what="A list, text or block holds fewer or more than the key allows.",
        why="An empty topology has no ranks.",
        bad="topology pod {\n}\n",
        good=_GOOD,
    ),
    Code(
        "AS412",
        "the same twice in a list",
        what="A value stands twice in a list that is a set.",
        why="The second changes nothing; it was meant to be another.",
        bad=spec(hardware=_SLOW % "3, 3"),
        good=spec(hardware=_SLOW % "3, 4"),
    ),
)
