"""Rows in a file: by content, written by several processes at once, whole after a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from astrac.api.results import Results, ResultsError
from astrac.api.rows import Finding, Row, Setting

ROOT = Path(__file__).parents[1]


def row(number, **values):
    settings = (Setting("a", f"{number} Gbps", number, "B/s"),)
    findings = (Finding("AS808", "warning", f"€ {number}", "a:1:2", ("do", "this")),)
    return Row(name=f"a={number}", key=f"{number:064x}", settings=settings, findings=findings, **values)


def test_a_row_comes_back_as_it_was(tmp_path):
    first = row(1, fits=True, cycles_max=2**40, step_time_ns=0.1 + 0.2, model_flops=1e30, utilisation=1 / 3)
    second = row(2, status="failed", code="AS540", reason="no", fits=False)
    with Results(tmp_path / "new" / "a.sqlite") as results:
        results.put(first, "a.astra")
        results.put(second, "a.astra")
    with Results(tmp_path / "new" / "a.sqlite") as results:
        assert list(results.rows()) == [first, second]
        assert list(results.rows("b.astra")) == []
        assert (results.get(first.key), results.get("0")) == (first, None)


def test_one_content_may_be_a_row_of_several_points():
    with Results() as results:
        results.put(row(1), "a.astra")
        results.put(row(1), "a.astra")
        results.put(row(1), "b.astra")
        assert len(list(results.rows())) == 2


def test_figures_beyond_64_bits_are_kept_as_doubles():
    with Results() as results:
        results.put(row(1, memory_bytes=2**70), "a")
        assert results.get(row(1).key).memory_bytes == 2**70


@pytest.mark.parametrize("content", [b"some text, longer than a header " * 50, b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="is no table of results"):
        Results(path)
    assert path.read_bytes() == content


def test_another_database_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as other:
        other.execute("CREATE TABLE points (x)")
    other.close()
    with pytest.raises(ResultsError, match="is no table of results"):
        Results(tmp_path / "a.sqlite")


def test_a_file_of_another_version_is_refused(tmp_path):
    Results(tmp_path / "a.sqlite").close()
    with sqlite3.connect(tmp_path / "a.sqlite") as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(ResultsError, match="results of version 7, not 1"):
        Results(tmp_path / "a.sqlite")


@pytest.mark.parametrize("place", ["folder", "folder/file/x.sqlite"])
def test_a_place_that_cannot_be_written_is_told(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(OSError, match=r"."):
        Results(tmp_path / place)


WRITER = """
import sys
from astrac.api.results import Results
from astrac.api.rows import Row
first = int(sys.argv[2])
with Results(sys.argv[1]) as results:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(first, first + 200):
        results.put(Row(name=str(number), key=f"{number:064x}", cycles_max=number), "a")
        print(number, flush=True)
"""


def writer(path, first):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "compiler")},
    )


def test_several_processes_write_one_file(tmp_path):
    path = tmp_path / "a.sqlite"
    writers = [writer(path, 1000 * number) for number in range(3)]
    for each in writers:
        assert each.stdout.readline() == "ready\n"
    for each in writers:
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in writers:
        each.communicate()
        assert each.returncode == 0
    with Results(path) as results:
        found = {each.cycles_max for each in results.rows()}
    assert found == {1000 * number + at for number in range(3) for at in range(200)}


def test_what_was_told_is_there_after_a_kill(tmp_path):
    path = tmp_path / "a.sqlite"
    process = writer(path, 0)
    process.stdout.readline()
    process.stdin.write("go\n")
    process.stdin.flush()
    told = [int(process.stdout.readline()) for _ in range(50)]
    process.send_signal(signal.SIGKILL)
    told += map(int, process.communicate()[0].split())
    with Results(path) as results:
        assert set(told) <= {each.cycles_max for each in results.rows()}
        results.put(row(5000), "a")
