"""From bytes to items: the grammar, files as they come, and errors that do not hide each other."""

import pytest
from lark import Token

from astrac.language import syntax
from astrac.language.parse import parse
from astrac.language.parse.build import Builder
from astrac.language.parse.generate import grammar
from astrac.language.parse.lalr import scan
from astrac.source import Source
from language import SPEC, codes, file, findings, placed, tree

TEXTS = (
    SPEC,
    "let a = 400 GB/s\nlet b = 400 GB / n\nlet c = 400 GB/n, let d = -3 * (2 + 1) / 5 % - x\n",
    'assert a.b <= 3 and not c or d == "x" "message"\nuse "std/a.astra"\n',
    "profile p { a.b: 1\n\n  k n from o { x: [1, 2\n3] } }\nsweep { a: [1, 2], where: a < 2 }\nk\n# end",
    'layer "conv*" { "2*seq": 256, x: [[a, b], [c]], y: true, z: false }, k from o',
    "a: [\n]\nb {}\n\n\nc: ((1))",
)


def test_the_grammar_has_no_conflict_and_no_colliding_terminals():
    grammar(strict=True)


@pytest.mark.parametrize("text", TEXTS)
def test_the_machine_does_what_larks_own_parser_does(text):
    source = Source("x", text)
    tokens = [(token.type, token.start_pos, token.end_pos) for token in grammar().lex(text)]
    assert tokens == [(token.type, token.span.start, token.span.end) for token in scan(source)[:-1]]
    lark = grammar(transformer=Builder()).parse_interactive()
    for token in scan(source)[:-1]:
        lark.feed_token(token)
    assert repr(parse("x", text.encode()).value.items) == repr(lark.feed_eof(Token("$END", "")))


def value(text):
    (item,) = file(f"x: {text}").items
    return item.value


@pytest.mark.parametrize(
    "text, digits, unit",
    [
        ("8", "8", None),
        ("51_200", "51_200", None),
        ("1.5us", "1.5", "us"),
        ("175e9", "175e9", None),
        ("1E-3 s", "1E-3", "s"),
        ("45 %", "45", "%"),
        ("45%", "45", "%"),
        ("400 GB/s", "400", "GB/s"),
        ("400\tGbps", "400", "Gbps"),
        ("3 oranges", "3", "oranges"),
    ],
)
def test_a_number_takes_its_unit(text, digits, unit):
    number = value(text)
    assert (number.text, number.unit and number.unit.text) == (digits, unit)
    assert number.span.text == text


@pytest.mark.parametrize("text", ["400 GB/n", "400 GB / n", "400 GB/seconds", "400 GB /s"])
def test_a_slash_that_is_not_the_units_divides(text):
    chain = value(text)
    assert isinstance(chain, syntax.Chain)
    assert chain.operands[0].unit.text == "GB"


def test_the_unit_of_a_comparison_is_no_keyword():
    chain = value("3 and 4 or 5")
    assert [operator.text for operator in chain.operators] == ["or"]


def test_a_unit_per_second_ends_where_a_word_goes_on():
    assert value("400 GB/s / 2").operands[0].unit.text == "GB/s"
    assert value("400 GB/s2").operands[1].text == "s2"


def test_names_may_begin_with_reserved_words_and_be_units():
    names = [
        "letter",
        "fromage",
        "trueish",
        "android",
        "oreo",
        "notes",
        "sweeping",
        "used",
        "asserted",
        "profiled",
        "us",
        "GB",
        "e5",
        "dp_group",
        "größe",
    ]
    (block,) = file("k { " + ", ".join(f"{name}: 1" for name in names) + " }").items
    assert [item.key_text for item in block.items] == names


@pytest.mark.parametrize(
    "word", ["use", "let", "from", "assert", "profile", "sweep", "true", "false", "and", "or", "not"]
)
def test_a_reserved_word_is_no_name(word):
    (error,) = findings(f"topology {word} {{ }}\n")[:1]
    assert error.code == "AS101"
    assert word in error.message or word in error.labels[0].span.source.text


def test_line_breaks_do_not_count_in_round_brackets_only():
    assert value("(1 +\n  2\n)").span.text == "(1 +\n  2\n)"
    assert [item.text for item in value("[1\n2, 3\n]").values] == ["1", "2", "3"]
    assert [item.text for item in value("([1\n2])").inner.values] == ["1", "2"]
    assert codes("x: 1 +\n2\n")[:1] == ["AS101"]


def test_spans_cover_the_value_and_no_comment_behind_it():
    text = "topology pod {\n  ring a {\n    size: 0  # none\n    # two\n    bandwidth: 5 GB/s, latency: 5 ns\n  }\n}\n"
    (error,) = findings(text)
    span = error.labels[0].span
    assert (span.text, tuple(span.first), tuple(span.last)) == ("0", (3, 11), (3, 12))


def test_all_errors_of_a_file_and_no_more():
    text = """topology pod {
  ring a { size = 8, bandwidth: 50 gb/s, latency: 500 ns }
  ring b { size: , bandwidth: 50 GB/s, latency: 500 }
}
let x 5
hardware gpu {
  peak { bf16: 312 TFLOPS },
  memory { capacity: 80 GB, bandwidth: 2 TB/s } efficiency: 50 %
  efficiency: x
}
"""
    assert placed(text) == [
        ("AS101", "="),
        ("AS101", ","),
        ("AS101", "5"),
        ("AS101", "efficiency"),
        ("AS301", "gb/s"),
        ("AS302", "500"),
    ]


def test_an_error_inside_a_block_loses_only_its_item():
    result = parse("x", b"a { b: 1, c = 2, d { e: : 3, f: 4 }, g: 5 }\nh: 6\n")
    assert len(result.diagnostics) == 2
    block, last = result.value.items
    assert [type(item).__name__ for item in block.items] == ["Attribute", "Broken", "Block", "Attribute"]
    assert [type(item).__name__ for item in block.items[2].items] == ["Broken", "Attribute"]
    assert last.key_text == "h"


def test_a_text_that_swallows_brackets_is_the_only_error():
    assert placed('model m { onnx: "a }\n') == [("AS107", '"a }')]


# -- files as they come


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_other_systems(end):
    assert tree(SPEC.replace("\n", end)) == tree(SPEC)
    (error,) = findings(SPEC.replace("300 ns", "300 nss").replace("\n", end))
    assert tuple(error.labels[0].span.first) == (4, 62)


def test_a_byte_order_mark_is_passed_over():
    assert tree(b"\xef\xbb\xbf" + SPEC.encode()) == tree(SPEC)
    (error,) = findings(b"\xef\xbb\xbflet a = 5 gb/s\n")[:1]
    assert tuple(error.labels[0].span.first) == (1, 11)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_refused_by_name(encoding):
    (error,) = findings(SPEC.encode(encoding))
    assert error.code == "AS102"
    assert error.labels[0].span.source.name == "spec.astra"


def test_latin_1_names_the_byte_and_the_line():
    (error,) = findings("# a\n# größe\n".encode("latin-1"))
    assert error.code == "AS102"
    assert "0xf6 on line 2" in error.message
    (error,) = findings(b"\n\xe9\n")
    assert "0xe9 on line 2" in error.message


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments", "\ufeff", " \t\n,"])
def test_nothing_in_the_file(text):
    assert codes(text)[:1] == (["AS101"] if "," in text else ["AS103"])


def test_the_end_of_the_file_is_just_past_the_last_token():
    (error,) = findings("hardware gpu {\n  efficiency: 5 %  # comment\n\n")
    assert (error.code, error.message) == ("AS104", "the file ends inside block `hardware gpu`")
    assert [tuple(label.span.first) for label in error.labels] == [(2, 18), (1, 14)]


@pytest.mark.parametrize("opening", "([{")
def test_ten_thousand_deep(opening):
    assert codes(f"x: {opening * 10_000}") == ["AS106"]
    assert codes("a {" * 10_000) == ["AS106"]


@pytest.mark.parametrize(
    "text", ["let x = 1" + " + 1" * 50_000, "let x = -" + "-" * 50_000 + "1", "x: " + "not " * 50_000]
)
def test_long_expressions_do_not_recurse(text):
    assert set(codes(text)) <= {"AS101"}


def test_long_chains_of_lets_do_not_recurse():
    lets = "".join(f"let a{number} = a{number + 1} + 1\n" for number in range(5_000))
    ring = "topology pod {\n  ring a { size: a0, bandwidth: 5 GB/s, latency: 5 ns }\n}\n"
    assert tree(lets + "let a5000 = 3\n" + ring)["dimensions"][0]["size"] == 5_003


def test_a_megabyte():
    layers = "".join(f'  layer "block{number}.*" {{ freeze: true, stage: {number % 8} }}\n' for number in range(20_000))
    text = f'model m {{\n  onnx: "zoo:resnet50"\n{layers}}}\n'
    assert len(text) > 800_000
    assert len(tree(text)["layers"]) == 20_000


def test_a_file_that_is_too_long_is_not_read():
    """300,000 words and signs; of `let a = 1+1+...` each number and each sign is one."""
    assert codes("let a = " + "1+" * 149_900 + "1\n") == []
    assert codes("let a = " + "1+" * 150_000 + "1\n") == ["AS109"]


def test_nobody_reads_more_than_a_thousand_findings():
    found = codes("hardware a {}\n" * 3_000)
    assert len(found) <= 1_001 + 1
    assert found[-1] == "AS108"
