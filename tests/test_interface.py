"""The Python interface, as somebody else's program uses it."""

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import jsonschema
import pytest

import astrac
from astrac.api.interface import written

ROOT = Path(__file__).parents[1]
RING = ROOT / "specs" / "resnet50_ring.astra"
DEGREES = ROOT / "specs" / "sweep_degrees.astra"
USE = ROOT / "tests" / "typed" / "use.py"
SCHEMA = json.loads((ROOT / "schemas" / "artifacts" / "row.schema.json").read_text())
SPEC = """use "std/hardware/h100.astra"
let speed = 100 Gbps
hardware: h100_sxm
topology t { switch s { size: 8, bandwidth: speed, latency: 300 ns } }
model { collective { kind: all_reduce, size: 64 MB } }
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "compiler"), "MYPYPATH": str(ROOT / "compiler")}


def test_the_example_of_the_tests_runs(tmp_path):
    found = importlib.util.spec_from_file_location("use", USE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.main(ROOT / "specs", tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").exists()


def test_mypy_takes_it_from_outside():
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(USE), "--cache-dir=/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd="/", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_sees_a_slip(tmp_path):
    (tmp_path / "slip.py").write_text(
        'import astrac\nastrac.chek("a")\nastrac.estimate("a").step_tim\nastrac.sweep(1)\n'
    )
    command = [sys.executable, "-m", "mypy", "--config-file=", "slip.py", "--cache-dir=/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path, check=False)
    assert [line.rpartition("[")[2] for line in done.stdout.splitlines()[:3]] == [
        "attr-defined]",
        "attr-defined]",
        "arg-type]",
    ]


def test_pyright_takes_it_from_outside(tmp_path):
    if shutil.which("basedpyright", path=Path(sys.executable).parent) is None:
        pytest.skip("basedpyright is not there")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "compiler")], "include": ["use.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "use.py").write_text(USE.read_text())
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_it_imports_nothing():
    code = "import sys; import astrac; print(sorted(name for name in sys.modules if 'astrac' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == "['astrac', 'astrac.version']\n"


def test_public_names_stay_functions_whatever_is_imported():
    import astrac.api.estimating
    import astrac.api.sweeping

    for name in ("build", "check", "estimate", "load", "loads", "results", "sweep"):
        assert type(getattr(astrac, name)).__name__ == "function"


def test_bare_rows_need_no_extra():
    code = (
        "import sys, astrac; t = astrac.sweep(sys.argv[1], profile='smoke', jobs=1); t.to_csv(); str(t); t.to_jsonl();"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    command = [sys.executable, "-c", code, str(ROOT / "specs" / "gpt3_1024.astra")]
    out = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout
    for heavy in ("onnx", "numpy", "pandas", "pyarrow", "distributed", "dask"):
        assert f"'{heavy}'" not in out


@pytest.mark.parametrize(
    "given", [RING, str(RING), RING.read_text(), astrac.load(RING), astrac.loads(RING.read_text())]
)
def test_a_spec_is_a_path_a_text_or_loaded(given):
    assert astrac.estimate(given).cycles_max == 11_291_779


def test_a_file_that_is_not_there_is_wrong_use():
    for function in (astrac.check, astrac.estimate, astrac.sweep, astrac.load):
        with pytest.raises(FileNotFoundError):
            function("nowhere.astra")


def test_results_are_frozen_plain_and_small():
    row = astrac.estimate(RING, {"training.global_batch": 64})
    report = astrac.check(RING)
    table = astrac.sweep(SPEC, {"speed": ["1 Gbps", "2 Gbps"]})
    for value in (row, report, table, astrac.load(RING), *table):
        assert pickle.loads(pickle.dumps(value)) == value
        assert len(repr(value)) < 200
        name = "status" if isinstance(value, astrac.Row) else "findings"
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(value, name, ())
    jsonschema.validate(row.to_dict(), SCHEMA)
    json.dumps(report.to_dict())
    assert "critical path" in str(row)
    assert len(pickle.dumps(row)) < 60_000


def test_what_is_wrong_is_a_finding():
    report = astrac.check(RING, {"ring8.nvlink.bandwidth": "50 gb/s"})
    assert not report.ok
    assert [(found.code, found.severity) for found in report.errors] == [("AS301", "error")]
    assert "did you mean `GB/s` or `Gb/s`?" in str(report)
    row = astrac.estimate(RING, {"ring8.nvlink.bandwidth": "50 gb/s"})
    assert (row.ok, row.code, row.estimate, row.step_time) == (False, "AS301", None, None)
    assert "AS301" in str(row)
    table = astrac.sweep(SPEC, {"sped": [1, 2]})
    assert (len(table), table.ok, table.best) == (0, False, None)
    assert [found.code for found in table.findings] == ["AS211"]
    assert astrac.check(RING, {"nonsense": 1}).errors[0].code == "AS211"
    assert astrac.check(RING, {"a\nb": 1}).errors[0].code == "AS232"
    assert astrac.check("a: {").errors


def test_what_does_not_fit_is_flagged_and_has_figures(tmp_path):
    row = astrac.estimate(RING, {"hardware.memory.capacity": "1 GB"})
    assert (row.ok, row.fits, row.code) == (False, False, "AS540")
    assert row.estimate.memory.total == row.memory_bytes > row.capacity_bytes == 10**9
    assert row.cycles_max == 11_291_779
    built = astrac.build(RING, tmp_path / "out", {"hardware.memory.capacity": "1 GB"})
    assert (built.ok, built.code, built.folder, built.cycles_max) == (False, "AS540", None, 11_291_779)
    assert not (tmp_path / "out").exists()


def test_one_of_several_points_must_be_chosen():
    row = astrac.estimate(DEGREES, profile="smoke")
    assert (row.code, row.reason) == ("AS230", "the spec sweeps 6 points")
    point = "tensor_degree=8,pipeline_degree=1"
    chosen = astrac.estimate(DEGREES, profile="smoke", point=point)
    fixed = astrac.estimate(DEGREES, {"tensor_degree": 8, "pipeline_degree": 1}, profile="smoke")
    assert chosen.ok
    assert chosen.cycles_max == fixed.cycles_max
    assert [tuple(each)[:3] for each in fixed.settings] == [("tensor_degree", "8", 8), ("pipeline_degree", "1", 1)]
    assert astrac.estimate(DEGREES, profile="smoke", point="x").code == "AS230"


def test_a_build_has_its_row_and_is_the_commands(tmp_path):
    built = astrac.build(RING, tmp_path / "out", {"training.global_batch": 64}, copy=True)
    assert built.ok
    assert built.folder == tmp_path / "out"
    assert built.cycles_max == astrac.estimate(RING, {"training.global_batch": 64}).cycles_max
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["spec"]["settings"] == ["training.global_batch=64"]
    assert manifest["spec"]["name"] == "resnet50_ring.astra"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    refused = astrac.build(RING, tmp_path / "full")
    assert (refused.ok, refused.folder, refused.code) == (False, None, "AS713")


VALUES = [
    (8, "8"),
    (-3, "-3"),
    (True, "true"),
    (0.5, "0.5"),
    (1e-9, "1e-09"),
    (Fraction(1, 3), "1 / 3"),
    (Decimal("2.50"), "2.50"),
    (Decimal("1E+3"), "1000"),
    ("400 Gbps", "400 Gbps"),
    (Path("a b/m.onnx"), '"a b/m.onnx"'),
    (["nvlink", "rail"], "[nvlink, rail]"),
    ((1, [2, 3]), "[1, [2, 3]]"),
    (range(2, 6, 2), "[2, 4]"),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=str)
def test_values_of_python_are_written_as_in_a_spec(value, text):
    assert written(value) == text


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert (written(numpy.int64(8)), written(numpy.float64(0.5)), written(numpy.arange(3))) == ("8", "0.5", "[0, 1, 2]")
    assert written(numpy.bool_(True)) == "true"


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), {"size": 8}, 1j], ids=str)
def test_other_values_are_wrong_use(value):
    with pytest.raises((TypeError, ValueError), match="value"):
        astrac.estimate(RING, {"training.global_batch": value})


def test_keys_change_together():
    table = astrac.sweep(SPEC, {("t.s.size", "speed"): [(4, "1 Gbps"), (8, "2 Gbps")]})
    assert [(row["t.s.size"], row["speed"]) for row in table] == [(4, 125 * 10**6), (8, 250 * 10**6)]
    with pytest.raises(ValueError, match="give 2 values each time"):
        astrac.sweep(SPEC, {("t.s.size", "speed"): [(4,)]})
    with pytest.raises(TypeError, match="change together"):
        astrac.sweep(SPEC, {("t.s.size", "speed"): "range(1, 2)"})


def test_conditions_and_ranges():
    table = astrac.sweep(SPEC, {"speed": "range(100 Gbps, 800 Gbps, 2x)"}, where="speed > 100 Gbps")
    assert [row.settings[0].text for row in table] == ["200 Gbps", "400 Gbps", "800 Gbps"]
    assert (
        len(astrac.sweep(SPEC, {"speed": "range(1 Gbps, 4 Gbps, 2x)"}, where=["speed > 1 Gbps", "speed < 4 Gbps"])) == 1
    )
    assert table.best is table[2]
    assert next(iter(table.sorted(reverse=True))).name == "speed=200Gbps"


def test_rows_are_told_as_they_come_and_kept(tmp_path):
    told = []
    path = tmp_path / "r.sqlite"
    table = astrac.sweep(SPEC, {"speed": ["1 Gbps", "2 Gbps"]}, results=path, told=told.append)
    assert told == list(table)
    assert astrac.results(path).rows == table.rows
    with pytest.raises(FileNotFoundError):
        astrac.results(tmp_path / "none")
    (tmp_path / "other").write_text("text " * 99)
    with pytest.raises(astrac.ResultsError):
        astrac.sweep(SPEC, results=tmp_path / "other")


def test_frames():
    pandas = pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    table = astrac.sweep(SPEC, {"speed": ["1 Gbps", "2 Gbps"], "t.s.size": [0, 8]})
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["t.s.size"]) == [0, 8, 0, 8]
    assert frame.set_index("name").loc["speed=2Gbps,t.s.size=8", "cycles_max"] == table[3].cycles_max
    arrow = table.to_arrow()
    assert arrow.column("speed [B/s]").to_pylist() == [125 * 10**6] * 2 + [250 * 10**6] * 2
    assert arrow.column("cycles_max").to_pylist() == [row.cycles_max for row in table]
    best = duckdb.sql("SELECT name FROM arrow WHERE status = 'ok' ORDER BY step_time_ns LIMIT 1").fetchall()
    assert best == [(table.best.name,)]


# -- threads and processes


def _cycles(size):
    return astrac.estimate(RING, {"ring8.nvlink.size": size, "training.global_batch": 32 * size}).cycles_max


def test_threads_and_processes_agree():
    sizes = [2, 4, 8, 16] * 3
    alone = [_cycles(size) for size in sizes]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(_cycles, sizes)) == alone
        tables = list(threads.map(lambda _: astrac.sweep(SPEC, {"speed": "range(1 Gbps, 9 Gbps, 1 Gbps)"}), range(6)))
    assert all(table == tables[0] for table in tables)
    assert len(tables[0]) == 9
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        found = processes.submit(astrac.estimate, str(RING), {"training.global_batch": 64}).result()
    assert found == astrac.estimate(RING, {"training.global_batch": 64})


def test_a_script_without_a_guard_uses_processes(tmp_path):
    script = f"import astrac\nprint(len(astrac.sweep({str(DEGREES)!r}, profile='smoke', jobs=2)))\n"
    (tmp_path / "s.py").write_text(script)
    command = [sys.executable, "s.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == "6\n"
