"""AS2xx: names, and where they lead."""

from __future__ import annotations

from astrac.codes.example import spec
from astrac.codes.row import Code

_RING = "topology pod {\n  ring a { size: 8, bandwidth: %s, latency: 500 ns }\n}\n"
_TWO = """topology one { ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns } }
topology two { ring a { size: 8, bandwidth: 25 GB/s, latency: 500 ns } }
"""
_RINGS = """topology pod {
  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }
  ring b { size: 2, bandwidth: 25 GB/s, latency: 1 us }
}"""

ROWS: tuple[Code, ...] = (
    Code(
        "AS201",
        "unknown name",
        what="A word stands where a value is due, and no `let` of that name is visible.",
        why="Words have values only by `let`, in this file or in one that it uses.",
        bad="let rail_speed = 50 GB/s\n" + _RING % "rail_sped",
        good="let rail_speed = 50 GB/s\n" + _RING % "rail_speed",
    ),
    Code(
        "AS202",
        "given twice",
        what="A key, a block or a name stands twice in one block or file. The note points at the first.",
        why="Only one of them could count, and which one is easily mistaken.",
        bad="topology pod {\n  ring a { size: 8, size: 16, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
        good="topology pod {\n  ring a { size: 16, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS203",
        "defined in two files",
        what="A `let` or a named block is defined in this file and in one that it uses, or in two that it uses.",
        why="Names of all files are visible together; one would hide the other.",
        bad='use "std/hardware/h100.astra"\nhardware h100_sxm {\n  peak { bf16: 1 PFLOPS }\n'
        "  memory { capacity: 80 GB, bandwidth: 3 TB/s }\n}\n",
        good='use "std/hardware/h100.astra"\nhardware mine from h100_sxm {\n  peak { bf16: 1 PFLOPS }\n}\n',
    ),
    Code(
        "AS204",
        "file cannot be read",
        what="A `use` names a file that is not there or cannot be read.",
        why="Paths are relative to the file that they stand in; `std/...` is the library that comes with astrac.",
        bad='use "std/hardware/h1000.astra"\nhardware gpu from h100_sxm\n',
        good='use "std/hardware/h100.astra"\nhardware gpu from h100_sxm\n',
    ),
    Code(
        "AS205",
        "files use each other in a circle",
        what="A file uses itself, directly or through others; or more than a hundred use each other in a row.",
        why="There is no file to begin with.",
    ),
    Code(
        "AS206",
        "file used twice",
        what="One file stands in two `use` of the same file.",
        why="The second changes nothing; it is a slip or was meant to be another file.",
        bad='use "std/hardware/h100.astra"\nuse "std/hardware/h100.astra"\nhardware gpu from h100_sxm\n',
        good='use "std/hardware/h100.astra"\nhardware gpu from h100_sxm\n',
    ),
    Code(
        "AS207",
        "item out of place",
        what="`use`, `let`, `assert`, `profile` or `sweep` stands inside a block.",
        why="They speak of the whole file. In a `profile` there may be `let` and `assert` too.",
        bad="topology pod {\n  let speed = 50 GB/s\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
        good="let speed = 50 GB/s\n" + _RING % "speed",
    ),
    Code(
        "AS208",
        "no such block",
        what="`from`, or a pick such as `hardware: h100_sxm`, names a block that is not visible.",
        why="Blocks of this file, and of those that it uses, can be copied and picked by their names.",
        bad='use "std/hardware/h100.astra"\nhardware gpu from h100\n',
        good='use "std/hardware/h100.astra"\nhardware gpu from h100_sxm\n',
    ),
    Code(
        "AS209",
        "blocks are copied in a circle",
        what="A block is `from` itself, directly or through others; or more than 64 are copied in a row.",
        why="There is no block to begin with.",
        bad="topology a from b\ntopology b from a\n",
        good="topology a from b\n" + _RING.replace("pod", "b") % "50 GB/s",
    ),
    Code(
        "AS210",
        "unknown profile",
        what="`--profile` names a profile that the file does not have.",
        why="Profiles are the file's own; those of files that it uses are not visible.",
    ),
    Code(
        "AS211",
        "path leads nowhere",
        what="A path of `--set`, `profile`, `sweep`, `assert` or `where` names something that is not there.",
        why="Each step of a path is the name or the kind of a block, the last one a key; a `let` is named alone.",
        bad=spec() + "assert topology.ring.sizes == 8\n",
        good=spec() + "assert topology.ring.size == 8\n",
    ),
    Code(
        "AS212",
        "path is ambiguous",
        what="A step of a path, or a block of an overlay, could mean several blocks.",
        why="Steps are names or kinds; where several blocks are of a kind, only the name tells them apart.",
        bad=spec(topology=_RINGS, parallelism="parallelism { data {} }") + "assert topology.ring.size == 8\n",
        good=spec(topology=_RINGS, parallelism="parallelism { data {} }") + "assert topology.a.size == 8\n",
    ),
    Code(
        "AS213",
        "name hides a word",
        what="A word stands where it has a meaning of its own, and a `let` has the same name.",
        why="Either could be meant. A `let` of that name is right as long as it is not used in such a place.",
        bad="let ring = 8\ntopology pod {\n"
        "  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns, algorithm: ring }\n}\n",
        good="let ranks = 8\ntopology pod {\n"
        "  ring a { size: ranks, bandwidth: 50 GB/s, latency: 500 ns, algorithm: ring }\n}\n",
    ),
    Code(
        "AS214",
        "two blocks and no pick",
        what="The file has two blocks of one kind and does not say which is in force.",
        why="A spec has one machine, one model, one of everything: `topology: one` picks by name.",
        bad=spec(topology=_TWO),
        good=spec(topology=_TWO + "topology: one\n"),
    ),
    Code(
        "AS215",
        "too many points",
        what="The product of the lists of a `sweep` has more than 10,000 points.",
        why="Each point is compiled; that many were hardly meant. `where` only drops points afterwards.",
        bad="let a = 1\nlet b = 1\n" + _RING % "50 GB/s" + f"sweep {{\n  a: [{', '.join(map(str, range(101)))}]\n"
        f"  b: [{', '.join(map(str, range(101)))}]\n}}\n",
        good="let a = 1\nlet b = 1\n" + _RING % "50 GB/s" + "sweep { a: [1, 2], b: [1, 2] }\n",
    ),
    Code(
        "AS216",
        "nothing to sweep over",
        what="A `sweep` holds something other than `let_or_path: [values]` and `where: condition`.",
        why="Each key of a sweep takes the values of a list in turn.",
        bad="let speed = 50 GB/s\n" + _RING % "speed" + "sweep { speed: 25 GB/s }\n",
        good="let speed = 50 GB/s\n" + _RING % "speed" + "sweep { speed: [25 GB/s, 50 GB/s] }\n",
    ),
    Code(
        "AS217",
        "lets need each other in a circle",
        what="The value of a `let` depends on itself.",
        why="There is no value to begin with.",
        bad="let a = b + 1\nlet b = a - 1\n" + _RING % "50 GB/s",
        good="let a = b + 1\nlet b = 1\n" + _RING % "50 GB/s",
    ),
    Code(
        "AS218",
        "path out of place",
        what="A dotted path stands in a value.",
        why="Values are made from `let` alone, so that no order of evaluation has to be thought of; what is used twice "
        "gets a name with `let`. Paths serve `assert` and `where`.",
        bad="topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n"
        "  ring b { size: pod.a.size, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
        good="let ranks = 8\ntopology pod {\n  ring a { size: ranks, bandwidth: 50 GB/s, latency: 500 ns }\n"
        "  ring b { size: ranks, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS219",
        "no dimension of that name",
        what="`on` or `shard_on` names a dimension that the topology does not have.",
        why="Axes lie on dimensions of the topology in force, by name.",
        bad=spec(parallelism="parallelism { data { degree: 8, on: [rail] } }"),
        good=spec(parallelism="parallelism { data { degree: 8, on: [nvlink] } }"),
    ),
    Code(
        "AS230",
        "point of a sweep",
        what="`--point` names no point of the spec's sweep, or a spec that sweeps is compiled without choosing one "
        "where only one can be taken.",
        why="Each point is a variant with its own bundle.",
    ),
    Code(
        "AS231",
        "library instead of a spec",
        what="The file holds named blocks for others to use, but no `parallelism`, `training` or `system` block and no "
        "model with a `collective`: `check` validates it, there is nothing to build.",
        why="Which hardware and topology are meant is for a spec to say.",
    ),
    Code(
        "AS232",
        "malformed setting",
        what="`--set` takes `path=value`, the value as in a spec: `--set training.micro_batch=2`, "
        "`--set rail_speed='400 Gb/s'`.",
        why="A setting that is not understood would change nothing.",
    ),
)
