"""Units and exact arithmetic."""

import sys
from dataclasses import is_dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrac import units
from astrac.diagnostics import Diagnosed
from astrac.language.expression import Scope, Word, evaluate
from astrac.units import Dimension, Quantity
from language import file, findings, placed, tree

SCOPE = Scope(lambda path: Word(path.text, path.span))


def value(text):
    (item,) = file(f"x: {text}").items
    return evaluate(item.value, SCOPE)


def code(text):
    with pytest.raises(Diagnosed) as error:
        value(text)
    return error.value.diagnostic.code


@pytest.mark.parametrize(
    "text, base, dimension",
    [
        ("400 GB/s", 400 * 10**9, "B/s"),
        ("400 Gbps", 50 * 10**9, "B/s"),
        ("400 Gb/s", 50 * 10**9, "B/s"),
        ("400 Gbit/s", 50 * 10**9, "B/s"),
        ("936.25 ns", Fraction(93625, 10**11), "s"),
        ("1 us", Fraction(1, 10**6), "s"),
        ("1 µs", Fraction(1, 10**6), "s"),
        ("3 ps", Fraction(3, 10**12), "s"),
        ("2 ms", Fraction(1, 500), "s"),
        ("80 GiB", 80 * 2**30, "B"),
        ("16 TiB", 16 * 2**40, "B"),
        ("1 kB", 1000, "B"),
        ("1 KiB", 1024, "B"),
        ("8 Mib", 2**20, "B"),
        ("312 TFLOPS", 312 * 10**12, "FLOP/s"),
        ("1.5 PFLOP/s", 15 * 10**14, "FLOP/s"),
        ("2 GFLOP", 2 * 10**9, "FLOP"),
        ("1.41 GHz", 1410 * 10**6, "Hz"),
        ("45 %", Fraction(9, 20), "1"),
    ],
)
def test_units(text, base, dimension):
    assert value(text) == Quantity(Fraction(base), units.dimension(dimension))


@pytest.mark.parametrize("name", ["KB", "GBps", "MS", "Flops", "kelvin", "ks", "KiFLOP", "m", "k", "Bps"])
def test_what_is_no_unit(name):
    assert code(f"1 {name}") == "AS301"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0.1 + 0.2", Fraction(3, 10)),
        ("1/3 + 1/3 + 1/3", 1),
        ("2 * 64 - 3 * (4 - 2) / 2", 125),
        ("-3 - -2", -1),
        ("10 - 2 - 3", 5),
        ("100 / 10 / 2", 5),
        ("15e-9 * 1e9", 15),
        ("80 GB / (2 TB/s) / 1 ms", 40),
        ("3 us * 2 GHz", 6000),
        ("312 TFLOPS / 1 Hz / 1 TFLOP", 312),
    ],
)
def test_arithmetic_is_exact(text, expected):
    assert value(text) == Quantity(Fraction(expected))


@pytest.mark.parametrize(
    "text, dimension",
    [
        ("80 GB / (2 TB/s)", Dimension(seconds=1)),
        ("1 FLOP / 1 B", Dimension(bytes=-1, operations=1)),
        ("1 B * 1 B / 1 s / 1 s", Dimension(bytes=2, seconds=-2)),
    ],
)
def test_dimensions(text, dimension):
    assert value(text).dimension == dimension


@pytest.mark.parametrize(
    "text, expected",
    [
        ("400 Gbps == 50 GB/s", True),
        ("1 KiB > 1 kB", True),
        ("not 1 < 2 or 3 <= 3 and 2 != 2", False),
        ("false and 1 / 0 > 1", False),
        ("true or 1 / 0 > 1", True),
        ('ring == ring and "a" != "b"', True),
    ],
)
def test_conditions(text, expected):
    assert value(text) is expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1 GB/s + 1 us", "AS303"),
        ("1 B < 1 s", "AS303"),
        ("1 + 1 B", "AS303"),
        ("1 / 0", "AS305"),
        ("1 / (1 GB - 1000 MB)", "AS305"),
        ("1e400", "AS306"),
        ("1e-400", "AS306"),
        ("1e300 * 1e300", "AS306"),
        ("1e999999999999", "AS306"),
        ("1" * 5000, "AS306"),
        ("1 + true", "AS304"),
        ('1 + "1"', "AS304"),
        ("not 1", "AS304"),
        ("1 and true", "AS304"),
        ("[1] + [2]", "AS304"),
        ('1 < "2"', "AS304"),
        ("nan + 1", "AS201"),
        ("-inf", "AS201"),
    ],
)
def test_what_has_no_value(text, expected):
    assert code(text) == expected


def test_squaring_a_fraction_over_and_over_ends_at_a_limit():
    lets = "let a0 = 1 / 3 + 1\n" + "".join(f"let a{n + 1} = a{n} * a{n}\n" for n in range(60))
    assert placed(lets) == [("AS306", "a10 * a10")]


def test_both_sides_of_a_mismatch_are_labelled():
    (error,) = findings("let speed = 400 Gbps\nlet x = 1 GB/s + speed + 1 us\n")
    assert [(label.span.text, label.text) for label in error.labels] == [
        ("+", ""),
        ("1 GB/s + speed", "a bandwidth (B/s)"),
        ("1 us", "a time (s)"),
    ]


@given(st.fractions(min_value=-(10**9), max_value=10**9), st.sampled_from(sorted(units.UNITS)))
def test_a_quantity_survives_being_written_in_any_unit(number, name):
    unit = units.UNITS[name]
    written = units.exact_decimal(number)
    if written is not None:
        assert value(f"({written} {name})") == Quantity(number * unit.value, unit.dimension)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("50 GB/s", "50 GB/s"),
        ("0.5 us", "500 ns"),
        ("312 TFLOPS", "312 TFLOPS"),
        ("1500 B", "1.5 kB"),
        ("0 s", "0 ns"),
        ("1 s / 3", "~333.333 ms"),
        ("1 B * 1 B", "1 B^2"),
        ("45 %", "0.45"),
        ("-2 GB", "-2 GB"),
    ],
)
def test_quantities_as_people_write_them(text, shown):
    assert str(value(text)) == shown


def test_a_new_unit_is_one_row(monkeypatch):
    row = units.Row("word", Quantity(Fraction(4), Dimension(bytes=1)), "k M")
    monkeypatch.setattr(units, "UNITS", units.table((*units.ROWS, row)))
    assert (
        tree("hardware g { peak { bf16: 1 FLOPS }, memory { capacity: 2 Mword, bandwidth: 1 B/s } }")["memory"][
            "capacity"
        ]
        == 8_000_000
    )


@pytest.mark.parametrize(
    "dimension, words, examples",
    [
        (Dimension(), "a plain number", ()),
        (Dimension(bytes=1), "a size (B)", ("GB",)),
        (Dimension(seconds=1), "a time (s)", ("ns",)),
        (Dimension(operations=1), "an amount of work (FLOP)", ("PFLOP",)),
        (Dimension(bytes=1, seconds=-1), "a bandwidth (B/s)", ("GB/s", "Gbps")),
        (Dimension(operations=1, seconds=-1), "a compute rate (FLOP/s)", ("PFLOPS",)),
        (Dimension(seconds=-1), "a frequency (Hz)", ("GHz",)),
        (Dimension(bytes=2, seconds=1), "a quantity in B^2·s", ()),
        (Dimension(bytes=-1, operations=1), "a quantity in FLOP/B", ()),
        (Dimension(bytes=-1, seconds=-2), "a quantity in 1/B·s^2", ()),
    ],
)
def test_dimensions_in_words_and_the_units_that_may_have_been_meant(dimension, words, examples):
    assert units.describe(dimension) == words
    assert units.examples(dimension) == examples


@pytest.mark.parametrize(
    "digits, fits",
    [
        ("1e300", True),
        ("1.0000001e300", False),
        ("1e-300", True),
        ("9e-301", False),
        ("0", True),
        ("1e0999", False),
        ("1e1000", False),
        ("0." + "0" * 297 + "1", True),
        ("0" * 399 + "1", True),
        ("0" * 400 + "1", False),  # a number of more than 400 letters
        ("1e+0000000001", True),  # zeros before an exponent say nothing
    ],
)
def test_bounds_of_numbers(digits, fits):
    assert (units.number(digits) is not None) == fits


def test_bounds_of_precision():
    assert units.bounded(Fraction(2**4095 + 1, 2**4095))
    assert not units.bounded(Fraction(2**4096 + 1, 2**4096))
    assert units.bounded(-(Fraction(10) ** 300))
    assert not units.bounded(-(Fraction(10) ** 300) - 1)


@pytest.mark.parametrize(
    "number, shown",
    [
        (Fraction(123_456_789_012_345), "123456789012345"),
        (Fraction(1_234_567_890_123_456), "~1.23457e+15"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 500), "0.002"),
        (Fraction(7, 25), "0.28"),
        (Fraction(1, 3), "~0.333333"),
        (Fraction(40), "40"),
    ],
)
def test_decimals_for_people(number, shown):
    assert units.decimal(number) == shown


def test_what_passes_share_cannot_be_changed():
    """Every dataclass of the language and of what lies below it is frozen, but for what a pass builds up for itself."""
    own = {"Token", "_Row", "_Body"}
    modules = [name for name in sys.modules if name.startswith(("astrac.language", "astrac.units", "astrac.source"))]
    modules += ["astrac.diagnostics", "astrac.codes", "astrac.spec"]
    classes = {
        kind
        for name in modules
        for kind in vars(sys.modules[name]).values()
        if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == name
    }
    assert {"Quantity", "Span", "Source", "Document", "Diagnostic", "Draft", "Spec"} <= {it.__name__ for it in classes}
    assert {it.__name__ for it in classes if not it.__dataclass_params__.frozen} <= own
