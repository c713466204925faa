"""What a `sweep` can say: lists, ranges, keys that change together, several conditions; and what may stand in it."""

import pytest

from astrac.api.checking import Options, check
from astrac.language.format import formatted
from language import file, findings

SPEC = """use "std/hardware/h100.astra"
let a = 8
let speed = 100 Gbps
hardware: h100_sxm
topology t {{ switch s {{ size: a, bandwidth: speed, latency: 300 ns }} }}
model {{ collective {{ kind: all_reduce, size: 1 MB }} }}
sweep {{ {} }}
"""


def points(sweep, **options):
    """What each point of a sweep chose, as written."""
    found = check("a.astra", SPEC.format(sweep).encode(), Options(**options))
    assert found.ok, [each.message for each in found.diagnostics]
    return [tuple(text for _, text in point.document.point) for point in found.value if not point.document.excluded]


def alone(sweep):
    """The values of the only key."""
    return [text for (text,) in points(sweep)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a: range(2, 5)", ["2", "3", "4", "5"]),
        ("a: range(8, 32, 8)", ["8", "16", "24", "32"]),
        ("a: range(8, 30, 8)", ["8", "16", "24"]),
        ("a: range(8, 4096, 2x)", [str(2**power) for power in range(3, 13)]),
        ("a: range(32, 8, -8)", ["32", "24", "16", "8"]),
        ("a: range(64, 8, 0.5x)", ["64", "32", "16", "8"]),
        ("a: range(8, 8)", ["8"]),
        ("a: range(a, 4 * a, 2x)", ["8", "16", "32"]),
        ("a: [2, range(8, 32, 2x), 100]", ["2", "8", "16", "32", "100"]),
        ("speed: range(100 Gbps, 800 Gbps, 2x)", ["100 Gbps", "200 Gbps", "400 Gbps", "800 Gbps"]),
        ("speed: range(100 Gbps, 0.2 Tbps, 50 Gbps)", ["100 Gbps", "150 Gbps", "200 Gbps"]),
        ("speed: range(100 Gbps, 50 GB/s, 2x)", ["100 Gbps", "200 Gbps", "400 Gbps"]),
        ("speed: range(speed, 2 * speed, 50 Gbps)", ["100 Gbps", "150 Gbps", "200 Gbps"]),
        ("speed: range(90 Gbps, 130 Gbps, 1.2x)", ["90 Gbps", "108 Gbps", "129.6 Gbps"]),
        ("speed: range(1 Gbps, 2 Gbps, 1/3 * 1 Gbps)", ["1 Gbps", "4 Gbps / 3", "5 Gbps / 3", "2 Gbps"]),
    ],
)
def test_ranges_include_both_ends_and_keep_the_unit(written, expected):
    assert alone(written) == expected


def test_values_of_ranges_are_exact():
    found = check("a.astra", SPEC.format("speed: range(1 Gbps, 2 Gbps, 1/3 * 1 Gbps)").encode(), Options())
    assert [point.spec.topology.dimensions[0].bandwidth * 3 for point in found.value] == [375e6, 500e6, 625e6, 750e6]


def test_points_of_ranges_have_names_like_those_of_lists():
    ranged, listed = (
        check("a.astra", SPEC.format(f"speed: {values}").encode(), Options()).value
        for values in ("range(100 Gbps, 200 Gbps, 2x)", "[100 Gbps, 200 Gbps]")
    )
    assert [each.document.name for each in ranged] == [each.document.name for each in listed]
    assert [each.document.name for each in ranged] == ["speed=100Gbps", "speed=200Gbps"]


def test_keys_that_change_together():
    assert points("together { a: [2, 4, 8], speed: range(100 Gbps, 400 Gbps, 2x) }") == [
        ("2", "100 Gbps"),
        ("4", "200 Gbps"),
        ("8", "400 Gbps"),
    ]


def test_together_and_alone_is_the_product():
    found = points("together { a: [2, 4], speed: [1 Gbps, 2 Gbps] }, topology.s.latency: [1 ns, 2 ns]")
    assert found == [("2", "1 Gbps", "1 ns"), ("2", "1 Gbps", "2 ns"), ("4", "2 Gbps", "1 ns"), ("4", "2 Gbps", "2 ns")]


def test_what_is_set_is_not_swept_and_leaves_the_others_of_its_block():
    sweep = "together { a: [2, 4], speed: [1 Gbps, 2 Gbps] }"
    assert points(sweep, settings=("a=16",)) == [("1 Gbps",), ("2 Gbps",)]
    assert points(sweep, settings=("a=16", "speed=1 Gbps")) == [()]


def test_what_is_swept_besides_stands_in_place_of_the_files():
    sweep = "a: [2, 4], speed: [1 Gbps, 2 Gbps], where: a > 2"
    assert points(sweep, over=("a: [8, 16]",)) == [
        ("8", "1 Gbps"),
        ("8", "2 Gbps"),
        ("16", "1 Gbps"),
        ("16", "2 Gbps"),
    ]
    assert points(sweep, over=("topology.s.latency: [1 ns]", "where: speed > 1 Gbps")) == [("4", "2 Gbps", "1 ns")]
    together = "together { a: [2, 4], speed: [1 Gbps, 2 Gbps] }"
    assert points(together, over=("a: [8, 16]",)) == [("8",), ("16",)]
    assert points(sweep, over=("together { a: [8, 16], speed: [3 Gbps, 4 Gbps] }",)) == [
        ("8", "3 Gbps"),
        ("16", "4 Gbps"),
    ]


REFUSED = [
    ("a: range(8, 4)", "`range(8, 4)` never gets to its end"),
    ("a: range(4, 8, -1)", "never gets to its end"),
    ("a: range(4, 8, 0)", "never gets to its end"),
    ("a: range(4, 8, 1x)", "never gets to its end"),
    ("a: range(0, 8, 2x)", "never gets to its end"),
    ("a: range(4, 8, 0.5x)", "never gets to its end"),
    ("a: range(8)", "`range(8)` is no range"),
    ("a: range(1, 2, 3, 4)", "is no range"),
    ("a: span(1, 2)", "`span(1, 2)` is no range"),
    ("a: range(ring, 8)", "`ring` is no `let` with a value"),
    ("a: range(true, 8)", "`true` is no number"),
    ("speed: range(1 Gbps, 8)", "begins with a bandwidth (B/s) and goes on with a plain number"),
    ("speed: range(1 Gbps, 8 Gbps)", "begins with a bandwidth (B/s) and goes on with a plain number"),
    ("speed: range(1 Gbps, 8 Gbps, 1 us)", "goes on with a time (s)"),
    ("together { a: [1, 2], speed: [1 Gbps] }", "`speed` has 1 values, `a` 2"),
    ("together { }", "`together` holds `let_or_path: [values]` and nothing else"),
    ("together { a: [1], where: a > 1 }", "`together` holds"),
    ("together { together { a: [1] } }", "`together` holds"),
    ("together x { a: [1, 2] }", "a sweep holds"),
    ("a: 8", "`a` is swept over a list of values"),
    ("a: []", "`a` is swept over no values"),
]


@pytest.mark.parametrize(("sweep", "message"), REFUSED)
def test_what_a_sweep_cannot_say_is_told(sweep, message):
    found = findings(SPEC.format(sweep))
    assert [each.code for each in found] == ["AS216"]
    assert message in found[0].message
    assert found[0].labels[0].span.text in SPEC.format(sweep)


@pytest.mark.parametrize(
    "sweep",
    [
        "a: range(1, 1000000000)",
        "a: range(1, 1e200, 1.01x)",
        "a: range(1, 200), speed: range(1 Gbps, 200 Gbps, 1 Gbps)",
    ],
)
def test_too_many_points_are_refused_at_once(sweep):
    assert [each.code for each in findings(SPEC.format(sweep))] == ["AS215"]


def test_a_mistake_inside_a_range_is_told_where_it_is():
    (found,) = findings(SPEC.format("speed: range(1 Gbps, 8 Gbbs, 2x)"))
    assert (found.code, found.labels[0].span.text) == ("AS301", "Gbbs")


def test_a_circle_of_lets_in_a_range_ends():
    text = SPEC.format("a: range(x, 8)").replace("let a = 8", "let a = 8\nlet x = y\nlet y = x")
    assert "AS216" in [each.code for each in findings(text)]


@pytest.mark.parametrize("place", ["let b = range(1, 2)", "let b = min(1, 2)", "assert range(1, 2) == 1"])
def test_elsewhere_a_call_is_no_value(place):
    assert [each.code for each in findings(SPEC.format("a: [2]") + place)] == ["AS220"]


def test_style_keeps_the_factor_at_its_number():
    text = "sweep { a: [range(1,8 , 2 x), 4  Gbps], together { b: range(1,2) } }\n"
    assert formatted(file(text)) == "sweep { a: [range(1, 8, 2x), 4 Gbps], together { b: range(1, 2) } }\n"
