"""AS9xx: our own mistakes."""

from __future__ import annotations

from astrac.codes.row import Code

ROWS: tuple[Code, ...] = (
    Code(
        "AS900",
        "a schema says something without words",
        what="A block schema uses a keyword for which there is no message yet; the message is the one of jsonschema.",
        why="This is a mistake in astrac. The value is wrong all the same.",
    ),
    Code(
        "AS910",
        "an artifact does not read back",
        what="A file of the bundle, read again, does not say what was to be written.",
        why="This is a mistake in astrac, not in your spec. Nothing was written; please report it with the spec.",
    ),
    Code(
        "AS911",
        "an artifact breaks its schema",
        what="A file of the bundle does not have the form that the simulator accepts.",
        why="This is a mistake in astrac, not in your spec. Nothing was written; please report it with the spec.",
    ),
    Code(
        "AS920",
        "a trace that contradicts itself",
        what="The steps of a rank depend on each other in a circle, on something that is not there, or have one id.",
        why="This is a mistake in astrac, not in your spec. Nothing was written; please report it with the spec.",
    ),
    Code(
        "AS921",
        "a schedule that does not end",
        what="Played as ASTRA-sim would play it, the bundle crashes, hangs or finishes in part only.",
        why="This is a mistake in astrac, not in your spec. Nothing was written; please report it with the spec.",
    ),
)
