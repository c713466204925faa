"""The formatter: a folder of cases, and what must be true of any file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrac.language.format import formatted
from astrac.language.parse import parse
from astrac.resources import root
from language import documents, file
from language_texts import texts

CASES = sorted(Path(__file__).with_name("format").glob("*.astra"))
SPECS = sorted(Path(str(root())).glob("specs/**/*.astra"))
AS_SHIPPED = ("gpt3_1024", "resnet50_ring", "moe_pool")


def formatted_text(text):
    return formatted(file(text))


def meaning(item):
    """An item without its places."""
    if hasattr(item, "_fields"):
        names = [name for name in item._fields if "span" not in name and name not in PLACES]
        return [type(item).__name__, *(meaning(getattr(item, name)) for name in names)]
    return [meaning(part) for part in item] if isinstance(item, tuple) else item


PLACES = ("header", "braces")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case, request):
    text = formatted(parse(case.name, case.read_bytes()).value)
    expected = case.with_suffix(".out")
    if request.config.getoption("--update-golden"):
        expected.write_text(text, encoding="utf-8", newline="\n")
    assert text == expected.read_text(encoding="utf-8")
    assert formatted_text(text) == text


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_shipped_specs_are_formatted(path):
    text = path.read_text(encoding="utf-8")
    assert formatted_text(text) == text


@given(texts())
def test_meaning_and_comments_are_kept_and_twice_is_once(text):
    once = formatted_text(text)
    assert formatted_text(once) == once
    assert meaning(file(once).items) == meaning(file(text).items)
    before, after = ([comment.text.rstrip() for comment in file(each).comments] for each in (text, once))
    assert sorted(after) == sorted(before)
    assert all(not line.endswith((" ", "\t")) for line in once.splitlines())


@pytest.mark.parametrize("name", AS_SHIPPED)
def test_a_formatted_spec_is_the_same_document(name):
    path = next(path for path in SPECS if path.stem == name)
    text = path.read_text(encoding="utf-8")
    rough = text.replace("  ", "\t").replace(": ", ":").replace(", ", " ,")
    assert formatted_text(rough) != rough
    before, after = (documents(each, name=str(path)) for each in (rough, formatted_text(rough)))
    assert [document.tree for document in after] == [document.tree for document in before]


@given(st.text(alphabet='a1 {}[](),\n#"', max_size=40))
def test_any_text_that_parses_can_be_formatted(text):
    result = parse("x", text.encode())
    if result.value is not None and not result.diagnostics:
        once = formatted(result.value)
        assert formatted_text(once) == once


def test_a_comment_straight_behind_a_bracket_is_not_in_it():
    assert formatted_text("a { on: [x, y]# c\n}\n") == "a {\n  on: [x, y]  # c\n}\n"
    assert formatted_text("a { on: [x, y # c\n] }\n") == "a {\n  on: [\n    x, y  # c\n  ]\n}\n"


@pytest.mark.parametrize("letters, flat", [(112, True), (113, False)])
def test_a_line_has_at_most_120_columns(letters, flat):
    """`x: [` and `]` take five columns, and `a, ` takes three."""
    text = formatted_text(f"x: [a, {'b' * letters}]\n")
    assert (text.count("\n") == 1) == flat


def test_what_has_nothing_to_break_at_stays_on_one_line():
    for text in (
        f"x: {' + '.join('1' * 60)}\n",
        f"let {'a' * 130} = 1\n",
        f"kind {'a' * 130} {{}}\n",
        f"x{'x' * 130}: []\n",
    ):
        assert formatted_text(text) == text
    assert formatted_text(f"kind {'a' * 130} {{ b: 1 }}\n") == f"kind {'a' * 130} {{\n  b: 1\n}}\n"
