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
        why="Exporters write the transpose of a tied head as a second tensor. Only you know whether they are one weight; "
        "untied, the parameters and their gradient count twice.",
        severity=Severity.WARNING,
    ),
    Code(
        "AS832",
        "parameters or a fixed table",
        what="A constant of several axes is added to activations: learned positions, or a table that is never trained.",
        why="The graph does not tell. It counts as parameters, with gradients; `layer` with `freeze: true` changes that.",
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
)
