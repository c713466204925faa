"""What is written about the language is true: the README's examples, the generated pages, the editor's grammar."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from astrac import resources
from astrac.codes import CODES
from astrac.diagnostics import diagnostic
from astrac.language.parse.lalr import scan
from astrac.reference import generated
from astrac.render import render
from astrac.source import Source
from language import SPEC, findings

README = resources.text("grammar", "README.md")
EXAMPLES = re.findall(r"^```astra ?(.*?)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("expected, text", EXAMPLES)
def test_the_examples_of_the_readme(expected, text):
    codes = [found.code for found in findings(text) if found.is_error]
    assert codes == ([expected.removeprefix("error ")] if expected else [])


def test_the_readme_names_every_reserved_word():
    from astrac.language.parse.lalr import tables

    assert all(f"`{word}`" in README for word in tables().keywords)


@pytest.mark.parametrize("path", ["grammar/astra.tables.json", "compiler/astrac/spec.py", "schemas/README.md"])
def test_generated_files_are_up_to_date(path):
    assert generated()[path] == resources.resource(*path.split("/")).read_text(encoding="utf-8")


def test_a_new_code_is_one_page(monkeypatch):
    page = CODES["AS301"]
    monkeypatch.setitem(CODES._read, "AS999", replace(page, code="AS999", title="new"))
    monkeypatch.setattr(type(CODES), "__iter__", lambda _: iter(["AS301", "AS999"]))
    assert render([diagnostic("AS999", "a message")]) == "error[AS999]: a message\n"
    assert '"id": "AS999"' in render([diagnostic("AS999", "a message")], "sarif")
    assert "### AS999: new" in generated()["grammar/DIAGNOSTICS.md"]


# -- the editor's grammar


def _editor():
    return json.loads(resources.text("grammar", "astra.tmLanguage.json"))


def test_the_editor_knows_the_words_of_the_grammar():
    from astrac.language.parse.lalr import tables

    repository = _editor()["repository"]
    words = {word for entry in repository.values() for word in re.findall(r"\\b\(([a-z|]+)\)", entry.get("match", ""))}
    assert {word for group in words for word in group.split("|")} == set(tables().keywords)
    assert {include["include"][1:] for include in _editor()["patterns"]} == set(repository)


@pytest.mark.parametrize("text", [SPEC, *(text for _, text in EXAMPLES)])
def test_the_editor_sees_the_numbers_and_comments_of_the_parser(text):
    repository = _editor()["repository"]
    numbers = {(token.span.start, token.span.end) for token in scan(Source("x", text)) if token.type == "NUMBER"}
    masked = re.sub(r'"(?:[^"\\]|\\.)*"|#.*', lambda match: " " * len(match[0]), text)
    assert {match.span() for match in re.finditer(repository["number"]["match"], masked)} == numbers


# -- speed


def test_a_check_imports_nothing_heavy():
    command = (
        "import sys\nfrom astrac.cli import main\nsys.argv = ['astrac', 'check', sys.argv[1]]\n"
        "try:\n    main()\nexcept SystemExit as exit:\n    assert not exit.code\n"
        "print(*sorted({'onnx', 'numpy', 'jinja2', 'jsonschema', 'lark', 'ruamel', 'google'} & set(sys.modules)))\n"
    )
    path = str(resources.resource("specs", "megatron_64.astra"))
    environment = {"PYTHONPATH": str(resources.resource("compiler"))}
    done = subprocess.run(
        [sys.executable, "-c", command, path], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == ""
