"""The command line as a user meets it: exit status, where output goes, what a slip gets."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import astrac
import onnx_models
from astrac import cli
from onnx_models import node, value, weight

ROOT = Path(__file__).parents[1]
RING = ROOT / "specs" / "resnet50_ring.astra"
ESTIMATE = json.loads((ROOT / "schemas/artifacts/estimate.schema.json").read_text())


@pytest.fixture
def run(capsys):
    def call(*arguments):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


def test_nothing_shows_help_and_is_wrong_use(run):
    status, out, _ = run()
    assert status == 2
    assert "check" in out
    assert "estimate" in out


@pytest.mark.parametrize("arguments", [["nonsense"], ["check"], ["check", "missing.astra"], ["explain", "AS1"]])
def test_wrong_use_is_2_and_says_why_on_stderr(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "astrac" in err


def test_a_misspelt_command(run):
    assert run("chek", "x")[2] == "astrac: 'chek' is no command: did you mean `check`?\n"
    assert "there are `build`, `check`" in run("zzz")[2]


def test_public_names():
    assert set(dir(astrac)) == set(astrac.__all__)
    assert all(getattr(astrac, name) for name in astrac.__all__)


def test_version(run):
    assert run("--version")[:2] == (0, "astrac 0.1.0\n")


def test_check_of_a_folder(run):
    status, out, _ = run("check", ROOT / "specs")
    assert status == 0
    # Nothing but the note that an assertion waits for an estimate.
    assert [line for line in out.splitlines() if line.startswith(("error", "warning", "note"))] == [
        "note[AS591]: this assertion needs an estimate, and none is made here"
    ]


SLIPS = [
    ("optimizer: sgd", "optimiser: sgd", "14:48", "unknown key `optimiser`", "did you mean `optimizer`?"),
    ("50 GB/s", "50 gb/s", "7:40", "unknown unit `gb/s`", "did you mean `GB/s` or `Gb/s`?"),
    ("parallelism {", "paralelism {", "12:1", "`paralelism`", "did you mean `parallelism`?"),
    ("std/hardware/a100.astra", "std/hardware/a10.astra", "2:5", "cannot read `std/hardware/a10.astra`", None),
    ("zoo:resnet50", "zoo:resnet5", "10:24", "resnet5", "resnet50`?"),
    ("ring nvlink", "rinq nvlink", "7:3", "`rinq`", "did you mean `ring`?"),
]


@pytest.mark.parametrize(("right", "wrong", "place", "message", "hint"), SLIPS, ids=lambda value: str(value)[:12])
def test_one_slip_one_message(run, tmp_path, right, wrong, place, message, hint):
    spec = tmp_path / "spec.astra"
    spec.write_text(RING.read_text().replace(right, wrong))
    status, _, err = run("build", spec, "-o", tmp_path / "out")
    assert status == 1
    assert err.count("error[") == 1
    assert f"spec.astra:{place}" in err
    assert message in err
    assert hint is None or hint in err
    assert not (tmp_path / "out").exists()


def test_estimate_as_json_follows_its_schema_and_adds_up(run):
    status, out, _ = run("estimate", RING, "--format", "json")
    found = json.loads(out)
    assert status == 0
    jsonschema.validate(found, ESTIMATE)
    for entry in found["classes"]:
        parts = ("compute", "communication", "memory", "host", "bubble")
        assert sum(entry[part] for part in parts) == entry["cycles"]
    assert found["ranks"] == [
        {"first": 0, "last": 7, "cycles": found["cycles_max"], "exposed": found["ranks"][0]["exposed"]}
    ]


def test_halving_the_bandwidth_changes_the_estimate(run):
    slow = run("estimate", RING, "--format", "json", "--set", "ring8.nvlink.bandwidth=1 GB/s")[1]
    assert json.loads(slow)["cycles_max"] > json.loads(run("estimate", RING, "--format", "json")[1])["cycles_max"]


def test_several_specs_give_json_lines(run):
    out = run("estimate", RING, ROOT / "specs" / "allreduce_ring8.astra", "--format", "json")[1]
    assert [json.loads(line)["npus"] for line in out.splitlines()] == [8, 8]


def test_a_sweep_as_csv_has_a_row_a_point(run):
    out = run("estimate", ROOT / "specs" / "sweep_degrees.astra", "--profile", "smoke", "--format", "csv")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len({(row["tensor_degree"], row["pipeline_degree"]) for row in rows}) == len(rows) > 1


def test_the_bundle_read_back_has_the_same_estimate(run, tmp_path):
    assert run("build", RING, "-o", tmp_path / "out")[0] == 0
    spec = json.loads(run("estimate", RING, "--format", "json")[1])
    folder = json.loads(run("estimate", tmp_path / "out", "--format", "json")[1])
    target = tmp_path / "out" / "astra-sim-2"
    options = json.loads(
        run(
            "estimate",
            f"--network-configuration={target}/network.yml",
            "--system-configuration",
            target / "system.json",
            f"--workload-configuration={target}/workload/resnet50",
            f"--remote-memory-configuration={target}/memory.json",
            "--format=json",
        )[1]
    )
    assert spec["ranks"] == folder["ranks"] == options["ranks"]


def test_the_1_0_files_have_an_estimate(run, tmp_path):
    run("build", RING, "-o", tmp_path / "out")
    status, out, _ = run("estimate", tmp_path / "out" / "astra-sim-1", "--format", "json")
    found = json.loads(out)
    assert status == 0
    jsonschema.validate(found, ESTIMATE)
    # Measured on ASTRA-sim 1.0 (07d5d19) with this bundle.
    assert found["cycles_max"] == 11_170_827


def test_layers_of_the_paper(run):
    status, out, _ = run("layers", "zoo:resnet50", "--weights-only", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert list(rows[0]) == ["layer", "op", "weight_shape", "params", "dtype", "weight_bytes", "macs"]
    assert len(rows) == 54
    assert sum(int(row["weight_bytes"]) for row in rows) == 102_011_648
    totals = json.loads(run("layers", "zoo:resnet50", "--format", "json")[1])["totals"]
    assert totals["params"] == 25_557_032


def test_explain(run):
    status, out, _ = run("explain", "as301")
    assert status == 0
    assert out.startswith("AS301: ")
    assert "AS301" in run("explain", "--list")[1]


def test_same_input_same_bytes(tmp_path):
    """From different folders, with different hash seeds, as whole processes."""
    folders = []
    for seed in ("0", "1"):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "spec.astra").write_bytes(RING.read_bytes())
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "compiler")}
        command = [sys.executable, "-m", "astrac", "build", "spec.astra", "-o", "out"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        folders.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert folders[0] == folders[1]


def test_check_imports_nothing_heavy():
    code = "import sys; from astrac.cli import main; main(['check', sys.argv[1]]); print(sorted(sys.modules))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "compiler")}
    command = [sys.executable, "-c", code, str(ROOT / "specs" / "gpt3_1024.astra")]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    for heavy in ("onnx", "jinja2", "numpy", "google.protobuf", "ruamel"):
        assert f"'{heavy}'" not in out


def test_layers_behind_an_unknown_operator_are_question_marks(run, tmp_path):
    nodes = [node("MyOp", ["x"], ["q"], "my", domain="acme"), node("MatMul", ["q", "w"], ["y"], "fc")]
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_models.model([value("x", 2, 4)], nodes, [weight("w", 4, 3)]))
    status, out, error = run("layers", str(path), "--format", "csv")
    assert status == 1
    assert out.splitlines()[1:] == ["my,MyOp,,0,,0,?", "fc,MatMul,4x3,12,float32,48,?"]
    assert "`my` (MyOp)" in error
    assert run("layers", str(path), str(path), "--compare")[:2] == (1, "")
