"""Pages of codes that need a compilation: what is refused is refused for that reason, what is right compiles.

The exact text of each is in `diagnostics/compiled/`.
"""

from pathlib import Path

import pytest

import astrac
from astrac.api.compiling import compile_data
from astrac.codes import CODES
from astrac.render import render

FOLDER = Path(__file__).parent / "diagnostics" / "compiled"
PAGES = {
    code: page
    for code, page in CODES.items()
    if code >= "AS500" and code not in ("AS590", "AS591") and "topology" in page.bad and not page.bad.startswith("# ")
}


def findings(text):
    return [found for result in compile_data("page.astra", text.encode()) for found in result.diagnostics]


@pytest.mark.parametrize("code", PAGES)
def test_page(code):
    bad = findings(PAGES[code].bad)
    assert code in [found.code for found in bad]
    assert {found.code for found in bad if found.is_error} <= {code}
    good = findings(PAGES[code].good)
    assert code not in [found.code for found in good]
    assert [found.message for found in good if found.is_error] == []


@pytest.mark.parametrize("code", PAGES)
def test_rendering(code, request):
    shown = render(findings(PAGES[code].bad))
    expected = FOLDER / f"{code}.txt"
    if request.config.getoption("--update-golden"):
        FOLDER.mkdir(exist_ok=True)
        expected.write_text(shown, encoding="utf-8", newline="\n")
    assert shown == expected.read_text(encoding="utf-8")


def test_no_rendering_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PAGES)


def test_times_that_are_not_there(tmp_path):
    spec = CODES["AS705"].good.replace("model tiny {", 'model tiny { times: "none.csv",')
    (tmp_path / "spec.astra").write_text(spec)
    assert str(astrac.check(tmp_path / "spec.astra")).startswith(
        "error[AS655]: cannot read the times `none.csv`: no such file or directory\n"
    )
