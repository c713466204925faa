"""JSON with positions."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrac.positioned import MAX_DEPTH, load_json
from astrac.source import Source

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100)
@given(VALUES, st.sampled_from([None, 1]))
def test_it_reads_what_json_reads_and_each_place_holds_its_value(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    tree = load_json(Source("x", text)).value
    assert tree.value == value
    for pointer, span in tree.values.items():
        found = tree.value
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        assert json.loads(span.text) == found


def test_keys_repeated_keys_and_the_rest():
    tree = load_json(Source("x", '{"a": 1, "b/c": [2], "a": 3} more')).value
    assert tree.value == {"a": 3, "b/c": [2]}
    assert tree.key("/b~1c").text == '"b/c"'
    assert tree.at("/b~1c/0").text == "2"
    assert [(again.pointer, again.first.start, again.last.start) for again in tree.repeated] == [("/a", 1, 21)]
    assert tree.rest.text == "more"


@pytest.mark.parametrize(
    "text,place,message",
    [
        ("", 0, "the text ends where a value should stand"),
        ('{"a": ', 6, "the text ends where a value should stand"),
        ('{"a" 1}', 5, "not JSON: `:` after the key should stand here"),
        ('{"a": 1,}', 7, "not JSON: a comma before the closing bracket"),
        ("[1 2]", 3, "not JSON: `,` or `]` should stand here"),
        ("{a: 1}", 1, "not JSON: a key in double quotes should stand here"),
        ("[NaN]", 1, "not JSON: a value should stand here"),
        ("[01]", 1, "not JSON: not a number of JSON"),
        ("[1e999]", 1, "not JSON: a number too large for a double"),
        ('["a\n"]', 3, "not JSON: invalid control character"),
        ('["\\ud800"]', 1, "not JSON: half of a surrogate pair"),
        ("// no\n{}", 0, "not JSON: a value should stand here"),
        ("9" * 500, 0, "not JSON: a number of more than 400 characters"),
        ("[" * 5000, MAX_DEPTH, f"not JSON: more than {MAX_DEPTH} lists and objects inside each other"),
    ],
)
def test_what_is_not_json(text, place, message):
    (found,) = load_json(Source("x", text)).diagnostics
    assert (found.code, found.message, found.labels[0].span.start) == ("AS720", message, place)


@pytest.mark.parametrize("text, opened", [("[1, {", 4), ("[1, [2", 4), ("[[1], ", 0), ('{"a": [', 6)])
def test_where_what_never_ends_was_opened(text, opened):
    (found,) = load_json(Source("x", text)).diagnostics
    end, note = found.labels
    assert (end.span.start, end.span.end) == (len(text), len(text))
    assert (note.span.start, note.span.end, note.text) == (opened, opened + 1, "opened here")


@pytest.mark.parametrize(
    "text, end",
    [
        ("[" * 101, 101),
        ("[nul]", 4),
        ("[?]", 2),
        ('{"a" 1}', 6),
        ("[1 two]", 6),
        ('["a\n"]', 4),
        ("[1,]", 3),
        ("{1: 2}", 2),
    ],
)
def test_all_of_what_stands_wrong_is_marked(text, end):
    (found,) = load_json(Source("x", text)).diagnostics
    assert found.labels[0].span.end == end


def test_sixteen_million_characters_and_no_more():
    blanks = " " * (2**24 - 2)
    assert load_json(Source("x", blanks + "[]")).ok
    (found,) = load_json(Source("x", blanks + "[] ")).diagnostics
    assert found.message == "the text has more than 16777216 characters"


@settings(max_examples=100)
@given(st.text(alphabet='{}[],:"\\ntrue0-.e ', max_size=60))
def test_it_agrees_with_json_on_what_is_json(text):
    """But for what follows the value."""
    result = load_json(Source("x", text))
    try:
        expected = json.JSONDecoder().raw_decode(text.lstrip(" "))[0]
    except json.JSONDecodeError:
        assert not result.ok
        return
    if result.ok:
        assert result.value.value == expected
    else:
        # Python's reader takes `1` of `1.`, `01` and `1e`; a strict one does not.
        assert "number" in result.diagnostics[0].message or "value" in result.diagnostics[0].message
