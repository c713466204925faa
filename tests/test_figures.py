"""Amounts, times and shares as people read them, and the columns of tables."""

import pytest

from astrac.figures import amount, columns, duration, rate, share, size


@pytest.mark.parametrize(
    "value, padded, short",
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (1000, "1.000 kB", "1 kB"),
        (1250, "1.250 kB", "1.25 kB"),
        (12_345, "12.35 kB", "12.35 kB"),
        (123_456, "123.5 kB", "123.5 kB"),
        (999_949, "999.9 kB", "999.9 kB"),
        (999_960, "1.000 MB", "1 MB"),
        (999_951, "1.000 MB", "1 MB"),  # never 1000.0 kB
        (25_557_032, "25.56 MB", "25.56 MB"),
        (8 * 10**9, "8.000 GB", "8 GB"),
        (3 * 10**12, "3.000 TB", "3 TB"),
        (5 * 10**15, "5.000 PB", "5 PB"),
        (7 * 10**18, "7.000 EB", "7 EB"),
        (989e12, "989.0 TB", "989 TB"),
        (1234 * 10**18, "1234 EB", "1234 EB"),  # there is no larger prefix here
    ],
)
def test_amounts(value, padded, short):
    assert size(value) == amount(value, "B") == padded
    assert amount(value, "B", zeros=False) == short


def test_amounts_of_other_units_and_digits():
    assert amount(175_000_000_000, "", zeros=False) == "175 G"
    assert [amount(count, "") for count in (0, 12, 999)] == ["0", "12", "999"]
    assert amount(2.5e15, "FLOP") == "2.500 PFLOP"
    assert amount(1_234_567, "B", digits=3, zeros=False) == "1.23 MB"
    assert amount(1_234_567, "B", digits=2) == "1.2 MB"
    assert amount(999_500, "B", digits=3) == "1.00 MB"


@pytest.mark.parametrize(
    "nanoseconds, shown",
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (12.6, "13 ns"),
        (999.9, "1.000 us"),
        (1000, "1.000 us"),
        (12_345, "12.35 us"),
        (2_345_678, "2.346 ms"),
        (987_654_321, "987.7 ms"),
        (61_000_000_000, "61.00 s"),
        (86_400 * 10**9, "86400 s"),
    ],
)
def test_durations(nanoseconds, shown):
    assert duration(nanoseconds) == shown


def test_rates_and_shares():
    assert [rate(value) for value in (0.12345, 9.876, 99.5, 99.96, 100.4, 12_345.6)] == [
        "0.123",
        "9.88",
        "99.5",
        "100",
        "100",
        "12,346",
    ]
    assert [share(part, 8) for part in (0, 1, 2, 3, 8)] == ["0%", "12%", "25%", "38%", "100%"]
    assert share(3, 0) == "0%"


def test_columns():
    rows = [["layer", "n", "type"], ["conv", "1,000", "fp32"], ["a", "2", ""]]
    assert columns(rows, left=(0, 2)) == ["layer      n  type", "conv   1,000  fp32", "a          2"]
    assert columns(rows, left=()) == ["layer      n  type", " conv  1,000  fp32", "    a      2"]
