"""The straight list of nodes that everything after `flatten` works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.models.graph import Constant, Node, Signature

ENDIF = "If:end"
LOOP, ENDLOOP, SCAN, ENDSCAN = "Loop:begin", "Loop:end", "Scan:begin", "Scan:end"
"""Operators of the marker nodes, which stand where a body begins and where control ends."""

MARKERS = frozenset({ENDIF, LOOP, ENDLOOP, SCAN, ENDSCAN})


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of nodes that runs another number of times than once.

    Attributes:
        parent: index of the region around it; the first is the whole graph and its own parent.
        node: name of the control node, for messages.
        kind: `branch`, `loop` or `scan`.
        group: for branches, the number of the If; branches of one If exclude each other.
        count: the value that says how often: Loop's trip count, Scan's first scanned input, the condition of an If.
        axis: of Scan's first scanned input; for branches what the condition must be, 0 or 1.
    """

    parent: int
    node: str
    kind: str
    group: int = 0
    count: str = ""
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Flat:
    """The straight list with what it reads.

    Attributes:
        inputs: of the graph, without those that are constants.
        constants: by name, those of bodies and of Constant nodes too.
        gradients: how many nodes of a training graph's backward part were left out.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Constant]
    hints: Mapping[str, Signature]
    regions: tuple[Region, ...]
    gradients: int = 0
