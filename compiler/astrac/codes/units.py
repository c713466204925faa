"""AS3xx: units and arithmetic."""

from __future__ import annotations

from astrac.codes.row import Code

_RING = "topology pod {\n  ring a { size: 8, bandwidth: %s, latency: %s }\n}\n"
_GOOD = _RING % ("50 GB/s", "500 ns")

ROWS: tuple[Code, ...] = (
    Code(
        "AS301",
        "unknown unit",
        what="The word after a number is no unit. Case matters: `b` is a bit, `B` a byte; `M` is mega, `m` is milli.",
        why="A guess between bits and bytes would be off by a factor of eight.",
        bad=_RING % ("50 gb/s", "500 ns"),
        good=_GOOD,
    ),
    Code(
        "AS302",
        "unit missing",
        what="The key takes a quantity, and the number has no unit. Zero needs one too.",
        why="ASTRA-sim's own files have no units: its network GB/s are 2^30 bytes per second, its memory GB/s 10^9.",
        bad=_RING % ("50", "500 ns"),
        good=_GOOD,
    ),
    Code(
        "AS303",
        "units do not match",
        what="Quantities of different kinds are added or compared.",
        why="A bandwidth plus a time is not anything.",
        bad=_RING % ("50 GB/s + 1 us", "500 ns"),
        good=_RING % ("50 GB/s + 1 MB/s", "500 ns"),
    ),
    Code(
        "AS304",
        "operator needs something else",
        what="An operator stands between values that it cannot work on, such as a text and a number.",
        why="`+ - * / < <= > >=` work on numbers, `and or not` on `true` and `false`, `== !=` on two of a kind.",
        bad=_RING % ("50 GB/s", '500 ns * "2"'),
        good=_RING % ("50 GB/s", "500 ns * 2"),
    ),
    Code(
        "AS305",
        "division by zero",
        what="The divisor is zero.",
        why="There is no such number.",
        bad=_RING % ("50 GB/s / 0", "500 ns"),
        good=_RING % ("50 GB/s / 2", "500 ns"),
    ),
    Code(
        "AS306",
        "number beyond all bounds",
        what="A number, or the result of an operation, is beyond 1e300, below 1e-300, or has more than 1,200 digits.",
        why="The simulator computes in doubles and would read infinity or zero.",
        bad=_RING % ("1e400 GB/s", "500 ns"),
        good=_GOOD,
    ),
    Code(
        "AS307",
        "quantity of another kind",
        what="The value has a unit, but not one that the key takes.",
        why="A time where a bandwidth is due is a slip.",
        bad=_RING % ("50 GB", "500 ns"),
        good=_GOOD,
    ),
)
