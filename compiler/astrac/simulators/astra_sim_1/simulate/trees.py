"""The two trees of `doubleBinaryTree` (docs/simulators/astra-sim-1.md, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.simulate.logical import LogicalDimension


def tree_time(logical: LogicalDimension, size: int, delay: int, reduction: int) -> tuple[float, float]:
    """Ns until the last leaf of the tree has the result, and ns of the message that it waited for.

    The members in order are an in-order walk of a full binary tree below a root with one child: the root is the last
    member. (Chunks take turns with the mirrored tree, whose distances are the same.) Whole chunks go up, reduced at
    every inner node when both children have arrived, and down again; an arrival takes the endpoint delay, and a
    reduction at an inner node.
    """
    root = logical.size - 1
    hop = delay + reduction

    def up(low: int, high: int) -> float:
        """When the top of the subtree of members low .. high - 1 sends to its parent."""
        if high - low == 1:
            return delay
        middle = (low + high) // 2
        tops = (((low, middle), (low + middle) // 2), ((middle + 1, high), (middle + 1 + high) // 2))
        return max(up(*part) + logical.time(top, middle, size) for part, top in tops) + hop

    def down(low: int, high: int, start: float, message: float) -> tuple[float, float]:
        """When the last leaf of the subtree is through, if its top has got the message at `start`, and its message."""
        if high - low == 1:
            return start + delay, message
        middle = (low + high) // 2
        tops = (((low, middle), (low + middle) // 2), ((middle + 1, high), (middle + 1 + high) // 2))
        messages = [logical.time(middle, top, size) for _, top in tops]
        return max(down(*part, start + hop + time, time) for (part, _), time in zip(tops, messages, strict=True))

    low, high, top = 0, root, root // 2
    reached = up(low, high) + logical.time(top, root, size) + hop
    message = logical.time(root, top, size)
    return down(low, high, reached + message, message)
