"""Units and exact quantities.

A table of our own: three base dimensions (bytes, seconds, floating-point operations) and exact factors. A unit is one
row of `ROWS`, with the prefixes that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

MAX_MAGNITUDE = Fraction(10) ** 300
"""Beyond it, and below its inverse, a number is refused: it could not be printed for the simulator as a double."""

MAX_BITS = 4096
"""Of numerator and denominator; more comes only from fractions multiplied over and over, and would fill the memory."""


class Dimension(NamedTuple):
    """Exponents of bytes, seconds and floating-point operations."""

    bytes: int = 0
    seconds: int = 0
    operations: int = 0


NONE = Dimension()


class Named(NamedTuple):
    """How messages call a dimension, and the units that its quantities are shown in, ascending."""

    words: str
    shown: tuple[str, ...]


_NAMED: dict[Dimension, Named] = {
    NONE: Named("a plain number", ("",)),
    Dimension(bytes=1): Named("a size (B)", ("B", "kB", "MB", "GB", "TB")),
    Dimension(seconds=1): Named("a time (s)", ("ns", "us", "ms", "s")),
    Dimension(operations=1): Named("an amount of work (FLOP)", ("FLOP", "GFLOP", "TFLOP", "PFLOP")),
    Dimension(bytes=1, seconds=-1): Named("a bandwidth (B/s)", ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")),
    Dimension(operations=1, seconds=-1): Named("a compute rate (FLOP/s)", ("FLOPS", "GFLOPS", "TFLOPS", "PFLOPS")),
    Dimension(seconds=-1): Named("a frequency (Hz)", ("Hz", "kHz", "MHz", "GHz")),
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number in base units, and its dimension."""

    value: Fraction
    dimension: Dimension = NONE

    def __str__(self) -> str:
        """Shows it as in a spec, in the largest unit that leaves at least 1; `~` where the decimals do not end."""
        names = _named(self.dimension).shown
        factors = [UNITS[name].value if name in UNITS else Fraction(1) for name in names]
        at = max(0, sum(abs(self.value) >= factor for factor in factors) - 1)
        return f"{decimal(self.value / factors[at])} {names[at]}".strip()


class Row(NamedTuple):
    """A unit: its name, how much it is, and the prefixes that may stand before it."""

    name: str
    quantity: Quantity
    prefixes: str = ""


_DECIMAL = "k M G T P E"
_BINARY = "Ki Mi Gi Ti Pi Ei"
_SMALL = "m u µ n p"
_FACTORS: dict[str, Fraction] = {
    "": Fraction(1),
    **{prefix: Fraction(1000) ** (power + 1) for power, prefix in enumerate(_DECIMAL.split())},
    **{prefix: Fraction(1024) ** (power + 1) for power, prefix in enumerate(_BINARY.split())},
    "m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "µ": Fraction(1, 10**6), "n": Fraction(1, 10**9),
    "p": Fraction(1, 10**12),
}  # fmt: skip

_BIT = Fraction(1, 8)

ROWS: tuple[Row, ...] = (
    Row("B", Quantity(Fraction(1), Dimension(bytes=1)), f"{_DECIMAL} {_BINARY}"),
    Row("b", Quantity(_BIT, Dimension(bytes=1)), f"{_DECIMAL} {_BINARY}"),
    Row("bit", Quantity(_BIT, Dimension(bytes=1)), f"{_DECIMAL} {_BINARY}"),
    Row("B/s", Quantity(Fraction(1), Dimension(bytes=1, seconds=-1)), f"{_DECIMAL} {_BINARY}"),
    Row("b/s", Quantity(_BIT, Dimension(bytes=1, seconds=-1)), f"{_DECIMAL} {_BINARY}"),
    Row("bit/s", Quantity(_BIT, Dimension(bytes=1, seconds=-1)), f"{_DECIMAL} {_BINARY}"),
    Row("bps", Quantity(_BIT, Dimension(bytes=1, seconds=-1)), _DECIMAL),
    Row("FLOP", Quantity(Fraction(1), Dimension(operations=1)), _DECIMAL),
    Row("FLOPS", Quantity(Fraction(1), Dimension(operations=1, seconds=-1)), _DECIMAL),
    Row("FLOP/s", Quantity(Fraction(1), Dimension(operations=1, seconds=-1)), _DECIMAL),
    Row("Hz", Quantity(Fraction(1), Dimension(seconds=-1)), _DECIMAL),
    Row("s", Quantity(Fraction(1), Dimension(seconds=1)), _SMALL),
    Row("%", Quantity(Fraction(1, 100))),
)


def table(rows: tuple[Row, ...]) -> dict[str, Quantity]:
    """All units by name, prefixes spelled out."""
    return {
        prefix + row.name: Quantity(row.quantity.value * _FACTORS[prefix], row.quantity.dimension)
        for row in rows
        for prefix in ("", *row.prefixes.split())
    }


UNITS: dict[str, Quantity] = table(ROWS)


@cache
def dimension(unit: str) -> Dimension:
    """The dimension that an `x-unit` annotation (`B`, `B/s`, `1`, ...) names."""
    return NONE if unit == "1" else UNITS[unit].dimension


def describe(of: Dimension) -> str:
    """Names a dimension in words, as `a bandwidth (B/s)`."""
    return _named(of).words


def examples(of: Dimension) -> tuple[str, ...]:
    """A unit or two that a user may have meant, for a number without one."""
    names = _named(of).shown
    return ("GB/s", "Gbps") if "GB/s" in names else names[:1] if "ns" in names else names[2:4][-1:]


def _named(of: Dimension) -> Named:
    """A dimension that has no name is spelled, and so is its only unit."""
    return _NAMED.get(of) or Named(f"a quantity in {spelled(of)}", (spelled(of),))


def spelled(of: Dimension) -> str:
    """A dimension in base units: `B/s`, `B·s`, `B/s^2`; `1` for a plain number."""
    powers = tuple(zip(("B", "s", "FLOP"), of, strict=True))
    above = "·".join(name if power == 1 else f"{name}^{power}" for name, power in powers if power > 0) or "1"
    below = "·".join(name if power == -1 else f"{name}^{-power}" for name, power in powers if power < 0)
    return f"{above}/{below}" if below else above


def number(digits: str) -> Fraction | None:
    """The exact value of a number as written (`51_200`, `175e9`); None when it is beyond all bounds."""
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > 400 or len(exponent.lstrip("+-0")) > 3:
        return None
    value = Fraction(f"{mantissa}e{exponent or 0}")
    return value if bounded(value) else None


def bounded(value: Fraction) -> bool:
    """Whether a value is of a size and precision that anything real could have."""
    if value == 0 or (value.denominator == 1 and value.numerator.bit_length() < MAX_BITS // 8):
        return True
    exact = max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS
    return exact and 1 / MAX_MAGNITUDE <= abs(value) <= MAX_MAGNITUDE


def exact_decimal(value: Fraction) -> str | None:
    """The decimal number that equals it, or None when its decimals never end."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def decimal(value: Fraction) -> str:
    """For people: exact when that takes few digits, else six of them after a `~`."""
    exact = exact_decimal(value)
    if exact is not None and len(exact) <= 15:
        return exact
    return f"~{float(value):.6g}"
