"""The formats of diagnostics."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from astrac.diagnostics import Diagnostic, Label, diagnostic
from astrac.render import FORMATS, render
from astrac.source import Source
from language import findings

TEXT = "topology pod {\n  ring größe日本 { size: 8, bandwidth: 50 gb/s, latency: 1 us, size: 9 }\n}\n"


@pytest.fixture
def found():
    return findings(TEXT, name="my specs/größe,1.astra")


def mark(text, start, end, name="x.astra", note=""):
    return render([Diagnostic("AS301", "message", (Label(Source(name, text).span(start, end), note),))])


def test_json(found):
    assert json.loads(render(found, "json"))[1] == {
        "file": "my specs/größe,1.astra",
        "line": 2,
        "column": 62,
        "end_line": 2,
        "end_column": 66,
        "severity": "error",
        "code": "AS202",
        "message": "key `size` is given twice",
        "hints": [],
        "notes": [
            {
                "file": "my specs/größe,1.astra",
                "line": 2,
                "column": 18,
                "end_line": 2,
                "end_column": 22,
                "message": "first given here",
            }
        ],
    }
    assert json.loads(render([diagnostic("AS900", "no place")], "json"))[0]["file"] is None
    assert json.loads(render([], "json")) == []


def test_sarif(found):
    schema = json.loads(Path(__file__).with_name("sarif.schema.json").read_text())
    log = json.loads(render((*found, diagnostic("AS591", "a note")), "sarif"))
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["AS202", "AS301", "AS591"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    error = run["results"][2]
    assert (error["ruleId"], error["level"], len(error["relatedLocations"])) == ("AS202", "error", 1)
    assert error["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20specs/gr%C3%B6%C3%9Fe%2C1.astra"},
        "region": {"startLine": 2, "startColumn": 62, "endLine": 2, "endColumn": 66},
    }


def test_github(found):
    place = "file=my specs/größe%2C1.astra,line=2,col={},endColumn={},endLine=2"
    assert render(found, "github").splitlines() == [
        f"::error title=astrac AS301,{place.format(41, 45)}::unknown unit `gb/s`%0Adid you mean `GB/s` or `Gb/s`?",
        f"::error title=astrac AS202,{place.format(62, 66)}::key `size` is given twice",
    ]
    lines = Source("x", "a\nb")
    assert render([diagnostic("AS591", "m", lines.span(0, 3))], "github").startswith(
        "::notice title=astrac AS591,file=x,line=1,endLine=2::"
    )


def test_gitlab(found):
    issues = json.loads(render((*found, diagnostic("AS900", "no place")), "gitlab"))
    assert [(issue["check_name"], issue["severity"], issue["location"]["lines"]) for issue in issues] == [
        ("AS301", "major", {"begin": 2, "end": 2}),
        ("AS202", "major", {"begin": 2, "end": 2}),
    ]
    moved = findings("\n\n" + TEXT, name="my specs/größe,1.astra")
    prints = [[issue["fingerprint"] for issue in json.loads(render(each, "gitlab"))] for each in (found, moved)]
    assert prints[0] == prints[1]
    assert len({*prints[0]}) == 2


@pytest.mark.parametrize("form", FORMATS)
def test_every_finding_once_and_in_the_order_of_the_file(form, found):
    assert render(tuple(reversed(found)) * 2, form) == render(found, form)


def test_colour_is_asked_for(found):
    assert "\x1b[" not in render(found)
    coloured = render(found, colour=True)
    assert "\x1b[1;31merror[AS301]" in coloured
    plain = coloured
    for code in ("1;31", "1;34", "1;36", "1", "0"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == render(found)


def test_marks_stand_below_what_they_mark():
    text = render([error for error in findings(TEXT) if error.code == "AS301"])
    line, marks = text.splitlines()[3:5]
    # 日 and 本 take two columns each on a terminal.
    assert marks.index("^") == line.index("gb/s") + 2
    assert mark("\tab\tcd\n", 4, 6).splitlines()[3:5] == ["1 |     ab    cd", "  |           ^^"]


def test_a_span_over_several_lines_is_marked_on_the_first():
    assert mark("ab cd\nef", 3, 8).splitlines()[3:5] == ["1 | ab cd", "  |    ^^"]


def test_a_long_line_is_cut_around_the_mark():
    lines = mark("x" * 5000 + "here" + "y" * 5000, 5000, 5004).splitlines()
    assert lines[3].startswith("1 | ...xxx")
    assert lines[3].endswith("yyy...")
    assert len(lines[3]) < 180
    assert lines[4].index("^") == lines[3].index("here")
    assert lines[4].count("^") == 4


@pytest.mark.parametrize(
    "before, after, shown",
    [
        (0, 156, "HERE" + "y" * 156),  # 160 characters are shown whole
        (156, 0, "x" * 156 + "HERE"),
        (0, 157, "HERE" + "y" * 156 + "..."),
        (41, 116, "..." + "x" * 40 + "HERE" + "y" * 116),
        (41, 117, "..." + "x" * 40 + "HERE" + "y" * 116 + "..."),
        (40, 117, "x" * 40 + "HERE" + "y" * 116 + "..."),
    ],
)
def test_of_a_long_line_160_characters_are_shown_from_40_before_the_mark(before, after, shown):
    line, marks = mark("x" * before + "HERE" + "y" * after, before, before + 4).splitlines()[3:5]
    assert line == f"1 | {shown}"
    assert marks == "  | " + " " * shown.index("HERE") + "^^^^"


def test_accents_on_their_own_take_no_column():
    assert mark("e\u0301ab", 2, 3).splitlines()[4] == "  |  ^"
    assert mark("abc", 1, 1).splitlines()[4] == "  |  ^"  # nothing is marked with one sign
    assert mark("abc", 99, 120).splitlines()[4] == "  |    ^"


def test_lines_between_are_left_out():
    source = Source("f", "".join(f"line {number}\n" for number in range(1, 13)))

    def spans(*numbers):
        return [
            Label(source.span(source.line_starts[number - 1], source.line_starts[number - 1] + 4)) for number in numbers
        ]

    text = render([Diagnostic("AS301", "message", tuple(spans(9, 10, 12)))])
    assert text.splitlines()[1:] == [
        "  --> f:9:1",
        "   |",
        " 9 | line 9",
        "   | ^^^^",
        "10 | line 10",
        "   | ----",
        "...",
        "12 | line 12",
        "   | ----",
    ]


def test_colours_of_severities():
    told = [
        Diagnostic(code, "m", (Label(Source("f", "word").span(0, 4)),), hints=("h",)) for code in ("AS301", "AS860")
    ]
    error, warning = render(told, colour=True).split("\n\n")
    for text, kind, code in ((error, "error[AS301]", "1;31"), (warning, "warning[AS860]", "1;33")):
        first, *_, marks, hint = text.rstrip("\n").splitlines()
        assert first == f"\x1b[{code}m{kind}\x1b[0m\x1b[1m: m\x1b[0m"
        assert marks == f" \x1b[1;34m |\x1b[0m \x1b[{code}m^^^^\x1b[0m"
        assert hint == " \x1b[1;34m = \x1b[0m\x1b[1;36mhelp\x1b[0m: h"


def test_nothing_reaches_a_terminal_that_it_would_obey():
    for text in (mark("a\x1b[31mb\x07", 0, 1), mark("a", 0, 1, name="\x1b]0;title\x07")):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "\x1b" not in render(findings('assert 1 > 2 "\x1b[31m"\ntraining {}\n'))
    assert "\x1b" not in render(findings('use "\x1b[31m"\nuse "a' + "b" * 500 + '"\n'))


def test_a_file_without_text_has_no_excerpt():
    assert render(findings(b"\xff\xfea\0")) == (
        "error[AS102]: the file is UTF-16 or binary, not UTF-8\n --> spec.astra:1:1\n  = help: save it as UTF-8\n"
    )


def test_notes_in_other_files_have_their_own_excerpt():
    first, second = Source("a", "one\n"), Source("b", "two\n")
    finding = diagnostic("AS203", "twice", first.span(0, 3), Label(second.span(0, 3), "and here"))
    assert render([finding]) == (
        "error[AS203]: twice\n --> a:1:1\n  |\n1 | one\n  | ^^^\n ::: b:1:1\n  |\n1 | two\n  | --- and here\n"
    )
