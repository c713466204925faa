"""Folders of files that users had, each with what it must be told; figures in `why` were measured on the simulators.

A pattern of `wants` is looked for in the diagnostics, one to a line with their hints, and in what the command prints;
`[` of a severity is plain.
"""

import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from astrac import cli

HERE = Path(__file__).parent / "cases"
ROWS = json.loads((HERE / "files.json").read_text(encoding="utf-8"))


def run(words, folder):
    """Status and text of a command, one line a diagnostic and its hints."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = cli.main(words.split())
    return status, out.getvalue()


def lines(text):
    """The diagnostics of `--format json`, one to a line: severity, code, place, message, notes and hints."""
    for found in json.loads(text):
        notes = "".join(f"; {note['file']}:{note['line']}: {note['message']}" for note in found["notes"])
        hints = "".join(f"; {hint}" for hint in found["hints"])
        place = f"{found['file']}:{found['line']}:{found['column']}"
        yield f"{found['severity']}[{found['code']}] {place}: {found['message']}{notes}{hints}"


def said(words, folder):
    status, text = run(f"{words} --format json" if words.startswith("check") else words, folder)
    return status, "\n".join(lines(text)) if words.startswith("check") else text


def looked_for(pattern, text):
    return re.search(re.sub(r"^(error|warning)\[(?!AS\\d)", r"\1\\[", pattern).replace("AS\\d+]", "AS\\d+\\]"), text)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['case']}:{row['run'].split()[0]}" for row in ROWS])
def test_files_of_users(row, tmp_path):
    folder = tmp_path / "files"
    shutil.copytree(HERE / "files" / row["case"], folder)
    status, text = said(row["run"], folder)
    assert status == row.get("status", status), text
    for pattern in row.get("wants", ()):
        assert looked_for(pattern, text), f"{pattern}\n{text}"
    for words in row.get("bars", ()):
        assert words not in text
    assert len(text) <= row.get("longest", 10**6)
    if "once" in row:
        assert text.count(row["once"]) == 1, text
    if "makes" in row:
        assert (folder / row["makes"]).read_text(encoding="utf-8")
