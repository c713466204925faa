"""The rows of collective algorithms against the schemas that list their words, and what they cannot do."""

import json
import re
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest

from astrac.job import IMPLEMENTED, Kind
from astrac.language import schema
from astrac.simulators import check_spec
from astrac.simulators.algorithms import ALGORITHMS, Named, by_word, by_word_1, by_word_2, words_1, words_2
from astrac.simulators.algorithms.ring import RING
from astrac.simulators.algorithms.row import Algorithm, Sizes
from astrac.simulators.astra_sim_1.simulate.phases import ALGORITHMS as DURATIONS_1
from astrac.simulators.astra_sim_2.check.collectives import _inability

SCHEMAS = Path(__file__).parents[1] / "schemas"
LACKS = "lacks {}, which rows of algorithms.ALGORITHMS have"
SURPLUS = "algorithms.ALGORITHMS has no row for {}"


def same(of_schema, of_rows, where):
    assert not of_rows - of_schema, f"{where} {LACKS.format(sorted(of_rows - of_schema))}"
    assert not of_schema - of_rows, f"{SURPLUS.format(sorted(of_schema - of_rows))} of {where}"


def test_words_are_those_of_the_language():
    properties = schema.spec()["properties"]
    words = {words.language for row in ALGORITHMS.values() for words in row.listed_words}
    same(set(properties["system"]["properties"]["algorithm"]["enum"]), words, "schemas/system.schema.json")
    for block in properties["topology"]["properties"]["dimensions"]["x-blocks"].values():
        same(set(block["properties"]["algorithm"]["enum"]), set(ALGORITHMS), "schemas/topology.schema.json, algorithm")
        for key, entry in block["properties"]["algorithms"]["properties"].items():
            runs = {word for word, row in ALGORITHMS.items() if Kind[key.upper()] in row.kinds}
            same(set(entry["enum"]), runs, f"schemas/topology.schema.json, {key}")


def test_names_are_those_of_system_files():
    system = json.loads((SCHEMAS / "artifacts" / "system.schema.json").read_text(encoding="utf-8"))
    pattern = system["$defs"]["algorithms"]["items"]["pattern"]
    where = "schemas/artifacts/system.schema.json"
    same(set(re.findall(r"[A-Za-z]{4,}", pattern)), set(words_2()), where)
    windowed = {name for name in words_2() if re.search(pattern, f"{name}4")}
    same(windowed, {name for name in words_2() if by_word_2(name).row.windowed}, f"windows in {where}")


def test_a_row_is_unique():
    assert len(words_2()) == len(set(words_2())) == sum(len(row.listed_words) for row in ALGORITHMS.values())


def test_every_algorithm_of_1_0_has_a_duration_there():
    known = {word for word, row in ALGORITHMS.items() if row.words.astra_sim_1 is not None}
    same(set(DURATIONS_1), known, "astra_sim_1.simulate.phases.ALGORITHMS")


def test_no_field_of_a_row_may_be_left_out():
    assert all(field.default is MISSING for field in fields(Algorithm))
    with pytest.raises(TypeError, match="staggered"):
        Algorithm(**{name: value for name, value in vars(RING).items() if name != "staggered"})


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=lambda row: row.words.language)
def test_a_row_agrees_with_itself(row):
    assert row.kinds <= set(IMPLEMENTED)
    assert row.instead is None or row.instead in row.kinds, "what it runs instead is not among its kinds"
    assert ALGORITHMS[row.stand_in].kinds == frozenset(IMPLEMENTED), "what stands in does not run everything"
    assert row.whole is None or ALGORITHMS[row.stand_in].whole is not None


WORDS_2 = {
    "direct12": (12, False), "oneDirect3": (3, True), "direct": (None, False), "direct-1": (None, False),
    "direct 5": (5, False), "direct1234567": (12345, False), "direct+7x": (7, False),
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS_2)
def test_windows(word):
    """2.x reads at most five characters after the word as a number; -1 is no window."""
    window, whole = WORDS_2[word]
    assert by_word_2(word) == Named(ALGORITHMS["direct"], whole, window)


@pytest.mark.parametrize("word", ["Ring", "rings", "ring4", "directX", "direct\n4", "halvingDoubling2", "", "one"])
def test_words_that_mean_nothing(word):
    assert by_word_2(word) is None
    assert by_word_1(word) is None


def test_windows_of_1_0():
    assert by_word_1("oneDirect12345").astra_sim_1 == "oneDirect12345"
    assert by_word_1("direct123456") is None
    assert words_1() == (
        "ring", "direct", "directW", "halvingDoubling", "doubleBinaryTree",
        "oneRing", "oneDirect", "oneDirectW", "oneHalvingDoubling",
    )  # fmt: skip


@pytest.mark.parametrize("kind", IMPLEMENTED)
def test_a_ring_stands_for_what_an_algorithm_cannot_do(kind):
    for row in ALGORITHMS.values():
        for words in row.listed_words:
            named = by_word(words.language)
            stands = named.able(kind)
            assert kind in stands.row.kinds
            assert stands.whole == named.whole
            assert (stands == named) == (kind in row.kinds)


INABILITIES = [
    ("halvingDoubling", Kind.ALL_TO_ALL, 8, False, "`halvingDoubling` has no all-to-all"),
    ("oneHalvingDoubling", Kind.ALL_REDUCE, 6, False, "`oneHalvingDoubling` needs a power of two, not 6 NPUs"),
    ("halvingDoubling", Kind.ALL_REDUCE, 8, True, None),
    ("doubleBinaryTree", Kind.ALL_REDUCE, 6, False, "`doubleBinaryTree` needs a power of two, not 6 NPUs"),
    ("doubleBinaryTree", Kind.ALL_REDUCE, 8, True, "`doubleBinaryTree` crashes in a sub-group"),
    ("doubleBinaryTree", Kind.ALL_GATHER, 8, False, None),
    ("ring", Kind.ALL_TO_ALL, 7, True, None),
]


@pytest.mark.parametrize("word, kind, size, in_group, message", INABILITIES)
def test_what_cannot_run(word, kind, size, in_group, message):
    assert _inability(kind, word, size, listed=in_group) == message


def test_a_forgotten_schema_word_is_told(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "other", replace(RING, words=RING.words._replace(language="other"), whole=None))
    with pytest.raises(AssertionError, match=r"lacks \['other'\], which rows of algorithms.ALGORITHMS have"):
        test_words_are_those_of_the_language()


def test_the_plain_algorithm_is_the_one_that_stands_in():
    """`check_spec` looks no row up for it."""
    assert [word for word, row in ALGORITHMS.items() if row.stands_in] == [check_spec.PLAIN]
    assert ALGORITHMS[check_spec.PLAIN].sizes is Sizes.ANY
