"""Figures for people: amounts in units that read well, shares, and aligned columns of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def amount(value: float, unit: str, *, digits: int = 4, zeros: bool = True) -> str:
    """A decimal multiple of a unit, such as `25.56 MB`; whole below 1,000.

    Args:
        value: in the unit, not negative.
        unit: such as `B` or `FLOP`; "" for a plain count.
        digits: significant ones that are shown from 1,000 on.
        zeros: whether all of them are, `8.000 GB` rather than `8 GB`.
    """
    return _stepped(value, [prefix + unit for prefix in _PREFIXES], digits, zeros=zeros)


def size(count: int) -> str:
    """Bytes in decimal multiples: `1.250 GB`."""
    return amount(count, "B")


def duration(nanoseconds: float) -> str:
    """A time in the largest unit, up to seconds, that leaves a digit before the point: `1.250 ms`."""
    return _stepped(nanoseconds, ("ns", "us", "ms", "s"), 4, zeros=True)


def _stepped(value: float, units: Sequence[str], digits: int, *, zeros: bool) -> str:
    """Shows a value in the first of units, each 1,000 of the one before, that leaves less than 1,000 as shown."""
    text = ""
    for power, unit in enumerate(units):
        scaled = max(value / 1000**power, 1) if power else value  # 999.9 ns, shown as 1000, is 1.000 us
        text = f"{scaled:{'#' if zeros else ''}.{digits}g}".rstrip(".") if power and scaled < 1000 else f"{scaled:.0f}"
        if float(text) < 1000:
            return f"{text} {unit}".rstrip()
    return f"{text} {units[-1]}"


def rate(value: float) -> str:
    """A number of things a second: whole from 100 on, three digits below."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent, 0 of nothing."""
    return f"{100 * part / whole if whole else 0:.0f}%"


def columns(rows: Sequence[Sequence[str]], left: Container[int]) -> list[str]:
    """Lines of a table: the cells of a column equally wide, aligned to the left in the columns `left`, else right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
