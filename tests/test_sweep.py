"""Sweeps: one content once, in this process or in others, killed and gone on with; and the command's output."""

import csv
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from astrac import cli
from astrac.api import sweeping
from astrac.api.checking import Options
from astrac.api.evaluating import Tasks
from astrac.api.results import Results
from astrac.api.sweeping import in_order, sweep
from astrac.api.workers import Killed, Processes

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "schemas" / "artifacts" / "row.schema.json").read_text())
SPEC = """use "std/hardware/h100.astra"
let speed = 100 Gbps
let unused = 1
hardware: h100_sxm
topology t { switch s { size: 8, bandwidth: speed, latency: 300 ns } }
model { collective { kind: all_reduce, size: 64 MB } }
"""
TWENTY = SPEC + "sweep { speed: range(100 Gbps, 2000 Gbps, 100 Gbps) }\n"


def work(text, **options):
    return Tasks("a.astra", text.encode(), Options(**options), keyed=True)


def rows(text, **where):
    return [each.row for each in in_order(sweep(work(text), **where))]


def test_rows_come_in_the_order_of_the_sweep_wherever_they_are_made():
    here = rows(TWENTY, jobs=1)
    assert [row.settings[0].text for row in here] == [f"{100 * number} Gbps" for number in range(1, 21)]
    assert all(row.ok for row in here)
    assert sorted(here, key=lambda row: row.cycles_max) == here[::-1]
    assert rows(TWENTY, jobs=2) == here
    with ThreadPoolExecutor(4) as threads:
        assert rows(TWENTY, executor=threads) == here


def test_a_sweep_that_takes_long_goes_on_in_several_processes(monkeypatch):
    made = []

    class Counted(Processes):
        def submit(self, *arguments, **named):
            made.append(arguments)
            return super().submit(*arguments, **named)

    monkeypatch.setattr(sweeping, "PATIENCE", 0)
    monkeypatch.setattr(sweeping, "Processes", Counted)
    assert rows(TWENTY) == rows(TWENTY, jobs=1)
    assert len(made) > 10


def test_one_content_is_computed_once(monkeypatch):
    asked = []
    real = sweeping.evaluate
    monkeypatch.setattr(sweeping, "evaluate", lambda task: asked.append(task.name) or real(task))
    text = SPEC + "sweep { unused: [1, 2, 3], speed: [100 Gbps, 12.5 GB/s, 200 Gbps] }\n"
    found = rows(text, jobs=1)
    assert len(found) == 9
    assert len({row.name for row in found}) == 9
    assert asked == ["unused=1,speed=100Gbps", "unused=1,speed=200Gbps"]
    with ThreadPoolExecutor(2) as threads:
        assert rows(text, executor=threads) == found


def test_what_is_kept_is_not_computed_again(tmp_path):
    with Results(tmp_path / "r") as results:
        first = list(sweep(work(TWENTY), jobs=1, results=results))
    with Results(tmp_path / "r") as results:
        again = list(sweep(work(TWENTY), jobs=1, results=results))
        longer = TWENTY.replace("2000", "2200")
        more = list(sweep(work(longer), jobs=1, results=results))
        anew = list(sweep(work(TWENTY), jobs=1, results=results, fresh=True))
        assert len(list(results.rows())) == 22
    assert [each.known for each in first] == [False] * 20
    assert [each.known for each in again] == [True] * 20
    assert [each.known for each in more] == [True] * 20 + [False] * 2
    assert [each.known for each in anew] == [False] * 20
    assert [each.row for each in again] == [each.row for each in first] == [each.row for each in anew]


def test_no_more_points_are_drawn_than_keep_the_processes_busy():
    tasks = work(TWENTY)
    drawn = []

    class Counted(Tasks):
        def __iter__(self):
            for task in super().__iter__():
                drawn.append(task)
                yield task

    tasks.__class__ = Counted
    with Processes(2) as pool:
        running = sweep(tasks, executor=pool)
        next(running)
        assert len(drawn) <= pool.window + 1
        running.close()


def test_a_failing_point_is_a_row_and_no_end():
    text = SPEC + "sweep { topology.t.s.size: [0, 4, 8] }\n"
    assert [(row.status, row.code) for row in rows(text, jobs=1)] == [("failed", "AS410"), ("ok", None), ("ok", None)]


def test_a_fault_of_ours_is_a_row_that_is_not_kept(monkeypatch):
    def broken(_):
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(sweeping, "evaluate", broken)
    with Results() as results:
        found = [each.row for each in sweep(work(TWENTY), jobs=1, results=results)]
        assert {(row.code, row.reason) for row in found} == {("AS930", "ZeroDivisionError: oh")}
        assert list(results.rows()) == []
    with ThreadPoolExecutor(2) as threads:
        assert {row.code for row in rows(TWENTY, executor=threads)} == {"AS930"}


# -- processes


def test_processes_give_values_and_errors():
    with Processes(2) as pool:
        assert list(pool.map(pow, [2, 3], [3, 2])) == [8, 9]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
        assert pool.submit(print, "to nobody").result() is None
        assert pool.submit(os.getpid).result() != os.getpid()


def test_a_call_that_kills_its_process_fails_and_no_other_does():
    with Processes(2) as pool:
        bad = pool.submit(_die)
        good = [pool.submit(pow, 2, number) for number in range(20)]
        assert [each.result() for each in good] == [2**number for number in range(20)]
        with pytest.raises(Killed, match=r"died .SIGABRT"):
            bad.result()


def test_a_process_that_is_killed_once_is_another_ones_turn():
    with Processes(1) as pool:
        first = pool.submit(os.getpid).result()
        os.kill(first, signal.SIGKILL)
        assert pool.submit(os.getpid).result() not in (first, os.getpid())


def test_an_interrupt_ends_what_runs():
    begun = time.monotonic()

    def interrupted():
        with Processes(2) as pool:
            pool.submit(time.sleep, 600)
            pool.submit(os.getpid).result()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begun < 60


_die = pickle.loads(b"cos\nabort\n.")
"""`os.abort`, by its name, since a worker does not have this module."""


MANY = ["--profile", "smoke", "--over", "training.global_batch=range(16, 64, 16)", "--jobs", "2", "--format", "csv"]


def test_a_killed_sweep_goes_on_where_it_was(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "compiler")}
    command = [sys.executable, "-m", "astrac", "sweep", str(ROOT / "specs" / "sweep_degrees.astra"), *MANY]

    def whole(*more):
        done = subprocess.run([*command, *more], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.decode(), done.stderr.decode()

    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    told = [process.stdout.readline() for _ in range(5)]
    process.kill()
    process.communicate()
    out, err = whole()
    assert out.splitlines(keepends=True)[:5] == told
    known = int(re.search(r"(\d+) known before", err)[1])
    assert 4 <= known < 24
    assert out == whole("--fresh", "--results", "other.sqlite")[0]
    assert len(out.splitlines()) == 1 + 24


# -- the command


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("a.astra").write_text(SPEC + "sweep { speed: [100 Gbps, 400 Gbps, 200 Gbps] }\n")

    def call(*arguments):
        try:
            status = cli.main(["sweep", "a.astra", *arguments])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


def test_the_table_has_the_best_first_and_marked(run):
    status, out, err = run()
    lines = out.splitlines()
    assert status == 0
    assert lines[0].split() == ["speed", "step", "time", "compute", "exposed", "bubble", "memory"]
    assert [line.replace("*", "").split()[0] for line in lines[1:]] == ["400", "200", "100"]
    assert [line.startswith("*") for line in lines[1:]] == [True, False, False]
    assert err.startswith("results     out/a.sqlite: 3 points computed in ")
    assert "0 points computed" in run()[2]


def test_failed_points_have_code_and_reason_and_a_status(run):
    status, out, _ = run("--over", "topology.t.s.size=[0, 4, 8]", "--set", "speed=100 Gbps")
    assert status == 1
    lines = out.splitlines()
    assert lines[3].split() == ["0", "AS410"]
    assert lines[-1] == "error[AS410] at topology.t.s.size=0: `size` must be at least 1"


def test_top_columns_sort(run):
    lines = run("--top", "1", "--columns", "speed,npus,step_time", "--sort", "step_time", "--reverse")[1].splitlines()
    assert lines[0].split() == ["speed", "npus", "step", "time"]
    assert lines[1].split()[:3] == ["100", "Gbps", "8"]
    assert lines[2] == "... and 2 more"
    assert len(lines) == 3


def test_lines_of_json_follow_their_schema(run):
    out = run("--format", "jsonl")[1]
    found = [json.loads(line) for line in out.splitlines()]
    for each in found:
        jsonschema.validate(each, SCHEMA)
    assert [each["settings"][0]["text"] for each in found] == ["100 Gbps", "400 Gbps", "200 Gbps"]


def test_csv_has_the_value_as_written_and_as_a_number(run):
    found = list(csv.DictReader(io.StringIO(run("--format", "csv", "--where", "speed > 100 Gbps")[1])))
    assert [(each["speed"], float(each["speed [B/s]"])) for each in found] == [("400 Gbps", 5e10), ("200 Gbps", 2.5e10)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "table"])
def test_a_file_besides_the_table(run, ending):
    status, out, _ = run("-o", f"x.{ending}")
    assert status == 0
    assert out.split()[0] == "speed"
    text = Path(f"x.{ending}").read_text()
    assert text.count("\n") == {"csv": 4, "jsonl": 3, "table": 4}[ending]


def test_a_parquet_file(run):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("-o", "x.parquet")[0] == 0
    assert parquet.read_table("x.parquet").column("speed").to_pylist() == ["100 Gbps", "400 Gbps", "200 Gbps"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sort", "step_tim"], "no column `step_tim`: did you mean `step_time`?"),
        (["--columns", "speed,foo"], "no column `foo`: there are"),
        (["--results", "a.astra"], "cannot use a.astra: a.astra is no table of results"),
        (["--format", "parquet"], "--format parquet needs -o FILE"),
        (["--top", "0"], "is no whole number from 1"),
        (["--jobs", "x"], "is no whole number from 1"),
    ],
)
def test_wrong_use(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert not Path("out/a.sqlite").exists()


def test_a_mistake_in_the_spec_is_told_with_its_place(run):
    status, out, err = run("--over", "sped=[1]")
    assert (status, out) == (1, "")
    assert "error[AS211]: `sped` leads nowhere" in err
    status, out, err = run("--set", "model.collective.kind=none")
    assert (status, out) == (1, "")
    assert err.count("error[") == 1


def test_no_point_is_wanted(run):
    status, out, err = run("--where", "speed > 1 Tbps")
    assert (status, out) == (1, "")
    assert "no point of the sweep is wanted" in err or "no point is wanted" in err


def test_a_spec_without_a_sweep_is_one_row(run):
    Path("a.astra").write_text(SPEC)
    assert len(run()[1].splitlines()) == 2


def test_an_estimate_of_a_sweep_is_the_table_and_keeps_nothing(run, capsys):
    table = run()[1]
    assert cli.main(["estimate", "a.astra"]) == 0
    assert capsys.readouterr() == (table, "")
    Path("out/a.sqlite").unlink()
    assert cli.main(["estimate", "a.astra", "--point", "speed=100Gbps"]) == 0
    assert "cycles" in capsys.readouterr().out
    assert not Path("out/a.sqlite").exists()
    Path("b.astra").write_text(SPEC + "sweep { topology.t.s.size: [0, 8] }\n")
    assert cli.main(["estimate", "a.astra", "b.astra"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("a.astra\n" + table)
    assert "b.astra\n" in out
    assert out.endswith("error[AS410] at topology.t.s.size=0: `size` must be at least 1\n")
