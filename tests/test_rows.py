"""One point of a spec as a row: flat, frozen, with a key by content."""

import json
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import jsonschema
import pytest

from astrac.api.checking import Options
from astrac.api.estimating import estimate_spec
from astrac.api.evaluating import Tasks, cut_off, evaluate
from astrac.api.rows import FIGURES, from_dict, to_json

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "schemas" / "artifacts" / "row.schema.json").read_text())
SPEC = """use "std/hardware/h100.astra"
let speed = 100 Gbps
hardware: h100_sxm
topology t { switch s { size: 8, bandwidth: speed, latency: 300 ns } }
model { transformer { layers: 4, hidden: 1024, heads: 8, sequence: 128, vocabulary: 512 } }
parallelism { data {} }
training { global_batch: 64, precision: bf16, optimizer: adam }
"""


def found(text, name="a.astra", *, keyed=False, **options):
    """The tasks of a text."""
    work = Tasks(name, text.encode(), Options(**options), keyed=keyed)
    made = list(work)
    assert not work.found, work.found
    return made


def rows(text, **options):
    return [evaluate(task) for task in found(text, **options)]


def keys(text, **options):
    return [task.key for task in found(text, keyed=True, **options)]


def test_a_row_says_what_the_estimate_says():
    (row,) = rows(SPEC)
    (entry,) = estimate_spec("a.astra", SPEC.encode(), Options())
    values = entry.estimate
    assert (row.ok, row.fits, row.code, row.reason, row.doubt) == (True, True, None, None, None)
    assert (row.cycles_max, row.steps, row.npus) == (values.cycles, 1, 8)
    assert row.step_time == values.cycles / 1e9
    parts = [row.compute_ns, row.exposed_communication_ns, row.memory_ns, row.host_ns, row.bubble_ns]
    assert sum(parts) == row.cycles_max
    assert row.memory_bytes == values.memory.total <= row.capacity_bytes == 80 * 10**9
    assert row.tokens_per_second == 64 * 128 / row.step_time


def test_a_row_is_plain_and_frozen():
    (row,) = rows(SPEC, settings=("speed=200 Gbps", "topology.s.size = 4"))
    jsonschema.validate(row.to_dict(), SCHEMA)
    assert from_dict(json.loads(to_json(row))) == row == pickle.loads(pickle.dumps(row))
    assert set(SCHEMA["properties"]) == set(row.to_dict())
    assert len(pickle.dumps(row)) < 2000
    assert len(repr(row)) < 100
    assert "speed=200 Gbps" in repr(row)
    with pytest.raises(FrozenInstanceError):
        row.status = "failed"


def test_settings_are_there_as_written_and_in_base_units():
    (row,) = rows(SPEC, settings=("speed=200 Gbps", "topology.s.size = 4", "hardware=h100_sxm"))
    assert [tuple(each) for each in row.settings] == [
        ("speed", "200 Gbps", 25 * 10**9, "B/s"),
        ("topology.s.size", "4", 4, ""),
        ("hardware", "h100_sxm", "h100_sxm", ""),
    ]
    assert (row["speed"], row["topology.s.size"], row["npus"]) == (25 * 10**9, 4, 4)
    with pytest.raises(KeyError):
        row["sped"]
    cells = dict(row.cells())
    assert (cells["speed"], cells["speed [B/s]"], cells["topology.s.size"]) == ("200 Gbps", 25 * 10**9, 4)
    assert list(cells)[-len(FIGURES) :] == list(FIGURES)


def test_what_does_not_fit_has_its_figures():
    (row,) = rows(SPEC, settings=("hardware.memory.capacity=10 MB",))
    (whole,) = rows(SPEC)
    assert (row.status, row.code, row.fits) == ("failed", "AS540", False)
    assert "of 10 MB" in row.reason
    assert (row.cycles_max, row.memory_bytes, row.capacity_bytes) == (whole.cycles_max, whole.memory_bytes, 10**7)


def test_what_is_asserted_otherwise_has_its_figures():
    (row,) = rows(SPEC + "assert estimate.step_time < 1 ns\n")
    assert (row.status, row.code, row.fits) == ("failed", "AS590", True)
    assert row.cycles_max == rows(SPEC)[0].cycles_max


def test_what_is_wrong_has_a_code_and_a_reason_and_no_figures():
    (row,) = rows(SPEC, settings=("topology.s.size=0",))
    assert (row.status, row.code, row.reason) == ("failed", "AS410", "`size` must be at least 1")
    assert row.cycles_max is row.step_time is row.fits is None
    assert row.findings[0].severity == "error"
    jsonschema.validate(row.to_dict(), SCHEMA)


def test_what_was_cut_off_is_a_row():
    (task,) = found(SPEC)
    row = cut_off(task, "its process was killed")
    assert (row.status, row.code, row.reason) == ("failed", "AS930", "its process was killed")
    jsonschema.validate(row.to_dict(), SCHEMA)


def test_points_that_where_drops_are_no_tasks():
    sweep = "sweep { speed: [100 Gbps, 200 Gbps, 400 Gbps], where: speed > 100 Gbps }"
    assert [task.name for task in found(SPEC + sweep)] == ["speed=200Gbps", "speed=400Gbps"]


def test_errors_before_there_are_points_are_told_once():
    work = Tasks("a.astra", b"sweep { a: 1 }", Options())
    assert list(work) == []
    assert [each.code for each in work.found] == ["AS216"]


def test_a_task_goes_to_another_process():
    (task,) = found(SPEC, keyed=True)
    assert evaluate(pickle.loads(pickle.dumps(task))) == evaluate(task)


SAME = [
    SPEC.replace("100 Gbps", "12.5 GB/s"),
    SPEC.replace("let speed", "# a comment\n\nlet speed"),
    SPEC.replace("bandwidth: speed", "bandwidth: 100 Gbps"),
    SPEC + "sweep { speed: [100 Gbps] }",
    SPEC.replace("precision: bf16, optimizer: adam", "optimizer: adam, precision: bf16"),
]
OTHER = [
    SPEC.replace("100 Gbps", "101 Gbps"),
    SPEC.replace("size: 8", "size: 4"),
    SPEC + 'assert estimate.step_time < 1 s "fast"\n',
    SPEC.replace("layers: 4", "layers: 5"),
]


@pytest.mark.parametrize("text", SAME)
def test_one_content_one_key(text):
    assert keys(text) == keys(SPEC)


@pytest.mark.parametrize("text", OTHER)
def test_another_content_another_key(text):
    assert keys(text) != keys(SPEC)


def test_an_assertion_with_another_let_is_another_content():
    text = SPEC + "let most = 1 s\nassert estimate.step_time < most\n"
    assert keys(text) != keys(text.replace("1 s", "2 s"))


def test_a_model_file_is_part_of_the_content(tmp_path):
    import onnx

    def write(width):
        nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
        tensors = [onnx.helper.make_tensor_value_info(name, 1, [4, width]) for name in "xy"]
        weight = onnx.helper.make_tensor("w", 1, [width, width], [1.0] * width**2)
        onnx.save(
            onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", *[[each] for each in tensors], [weight])), path
        )

    path = tmp_path / "m.onnx"
    text = SPEC.replace(SPEC.splitlines()[4], f'model {{ onnx: "{path}" }}')
    write(8)
    (first,) = keys(text)
    (row,) = rows(text)
    assert row.ok, row.reason
    write(16)
    assert keys(text) != [first]
    assert rows(text)[0].memory_bytes != row.memory_bytes
    write(8)
    assert keys(text) == [first]
    path.unlink()
    assert keys(text) != [first]
    assert rows(text)[0].code == "AS601"
