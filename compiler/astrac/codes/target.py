"""AS7xx: what a target cannot express or accept."""

from __future__ import annotations

from astrac.codes.row import Code

ROWS: tuple[Code, ...] = (
    Code(
        "AS703",
        "number too large for a trace",
        what="A count of operations or bytes is negative or does not fit in 63 bits.",
        why="Chakra's attributes are 64-bit integers; the simulator would read another number.",
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
)
