"""Exact renderings: one file a mistake, named by the code it is about; and the pages of the codes."""

import re
from pathlib import Path

import pytest

from astrac.codes import CODES
from astrac.render import render
from language import findings

FOLDER = Path(__file__).with_name("diagnostics")
CASES = sorted(FOLDER.glob("*.astra"))
OURS = {code: page for code, page in CODES.items() if code < "AS500" or code in ("AS590", "AS591")}
WITHOUT_A_SPEC = {"AS102", "AS108", "AS109", "AS205", "AS210", "AS230", "AS231", "AS232", "AS591"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_rendering(case, request):
    text = render(findings(case.read_bytes(), name=case.name))
    expected = case.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        expected.write_text(text, encoding="utf-8", newline="\n")
    assert text == expected.read_text(encoding="utf-8")
    assert f"[{case.name[:5]}]" in text


def test_every_code_that_a_spec_can_get_has_a_rendering():
    assert {code for code, page in OURS.items() if page.bad} == {case.name[:5] for case in CASES} & OURS.keys()


@pytest.mark.parametrize("code", OURS)
def test_page(code):
    page = CODES[code]
    assert bool(page.bad) == bool(page.good) == (code not in WITHOUT_A_SPEC)
    if page.bad:
        assert [found.code for found in findings(page.bad)] == [code]
        assert [found.code for found in findings(page.good) if found.is_error] == []


@pytest.mark.parametrize("code", CODES)
def test_page_is_written_in_sentences(code):
    page = CODES[code]
    assert re.fullmatch(r"AS[1-9]\d\d", code)
    assert page.what.endswith((".", "?"))
    assert page.why.endswith(".")


def test_messages_never_show_the_name_of_a_terminal():
    names = re.compile(r"\b(LBRACE|RBRACE|NEWLINE|NUMBER|NAME|STRING|UNEXPECTED|COMMA|\$END|BROKEN|LSQB)\b")
    assert not any(names.search(case.with_suffix(".txt").read_text(encoding="utf-8")) for case in CASES)
