"""The pages of the codes are whole, every code that is raised has one, and every page is about something raised."""

import ast
import re
from pathlib import Path

import pytest

from astrac import resources
from astrac.codes import CODES, Codes, Severity, parse_page

COMPILER = Path(str(resources.package()))
TESTS, OWN = Path(__file__).parent, Path(__file__).name
PAGES = sorted(path.stem for path in (COMPILER / "pages").glob("AS*"))


def words(tree):
    """The texts of a module, without docstrings and comments; those made of parts (f-strings) are marked."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "{}".join(str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def raised():
    """Every text of the compiler that is a code, and where it stands: a finding has no other way to get one."""
    found = {}
    for path in sorted(COMPILER.rglob("*.py")):
        for word in words(ast.parse(path.read_text(encoding="utf-8"))):
            if re.fullmatch(r"AS\d{3}", word):
                found.setdefault(word, str(path.relative_to(COMPILER)))
    return found


RAISED = raised()


@pytest.mark.parametrize("code", sorted(RAISED))
def test_a_code_that_is_raised_has_a_page(code):
    assert code in CODES, f"{RAISED[code]} raises {code}: pages/{code}.md is missing"


@pytest.mark.parametrize("code", PAGES)
def test_a_page_is_whole(code):
    page = CODES[code]  # a part that is missing is named by what this raises
    assert page.code == code
    assert code in RAISED, f"nothing raises {code}: remove pages/{code}.md"
    assert page.what.endswith((".", "?"))
    assert page.why.endswith(".")
    assert bool(page.bad) == bool(page.good) != bool(page.without)
    said = "refused" if page.severity is Severity.ERROR else "reported"
    assert not page.bad or f"\nThis is {said}:\n" in (COMPILER / "pages" / f"{code}.md").read_text()


def test_the_codes_of_a_hundred_share_their_area():
    areas = {(code[:3], page.area) for code, page in CODES.items()}
    assert len(areas) == len({hundred for hundred, _ in areas}) == len({area for _, area in areas}) == 9


WHOLE = (COMPILER / "pages" / "AS301.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "part, missing",
    [
        ("# AS301: unknown unit\n\n", "its head"),
        ("Severity: error. Area: units.\n\n", "Severity"),
        (CODES["AS301"].what + "\n\n", "why it matters"),
        (WHOLE[WHOLE.index("This is refused") : WHOLE.index("This is right")], "an example after"),
        (WHOLE[WHOLE.index("This is right") :], "the example repaired"),
    ],
)
def test_a_part_that_is_missing_is_named(part, missing):
    assert part in WHOLE
    with pytest.raises(ValueError, match=f"lacks .*{missing}"):
        parse_page(WHOLE.replace(part, ""))


def test_nothing_follows_the_last_part():
    with pytest.raises(ValueError, match=r"AS301\.md does not end"):
        parse_page(WHOLE + "\nMore.\n")
    with pytest.raises(ValueError, match=r"AS301\.md does not end"):
        parse_page(WHOLE[: WHOLE.index("This is refused")] + "No example: none.\n\nThis is right:\n")


def test_a_table_reads_a_page_when_it_is_asked_for(tmp_path):
    (tmp_path / "README.md").write_text("How a page is written.")
    (tmp_path / "AS998.md").write_text("# AS998 has no title")
    (tmp_path / "AS999.md").write_text(WHOLE.replace("AS301", "AS999"))
    codes = Codes(tmp_path)
    assert list(codes) == ["AS998", "AS999"]
    assert len(codes) == 2
    assert codes["AS999"].title == "unknown unit"
    assert codes["AS999"].what.startswith("The word after a number is no unit. Case matters:")
    for name in ("AS997", "README", "as999", "../AS999", "AS999.md", "x" * 1000, "\0"):
        assert name not in codes
    with pytest.raises(ValueError, match=r"AS998\.md lacks its head"):
        codes["AS998"]


# -- pages without examples


def named_in_tests():
    """Codes that some test expects, in its own text or in its data."""
    texts = (path for path in TESTS.rglob("*") if path.suffix in {".py", ".json", ".txt"} and path.name != OWN)
    return {code for path in texts for code in re.findall(r"\bAS\d{3}\b", path.read_text(encoding="utf-8"))}


UNTESTED = {"AS910", "AS921"}
"""Mistakes of ours: no input leads to them, and a test would have to break the compiler first."""


def test_a_code_without_example_is_raised_by_a_test():
    assert {code for code, page in CODES.items() if page.without} - named_in_tests() == UNTESTED
