"""What an estimate says: against the simulator's measured figures, by hand, and against itself read back.

Cycles were measured on ASTRA-sim 518bd51.
"""

import json
import math
from pathlib import Path

import jsonschema
import pytest

from astrac.api.checking import Options
from astrac.api.compiling import compile_data, plan_data, write
from astrac.api.estimating import as_json, estimate_folder, estimate_spec
from astrac.estimates.model import text

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").glob("*.astra"))
SCHEMA = json.loads((ROOT / "schemas/artifacts/estimate.schema.json").read_text())

BENCHMARK = """
hardware gpu {{ peak {{ fp32: 100 TFLOPS }}, memory {{ capacity: 80 GB, bandwidth: {memory} }} }}
topology t {{ {block} nvlink {{ size: 8, bandwidth: {bandwidth}, latency: 500 ns }} }}
model {{ collective {{ kind: {kind}, size: 1 MiB }} }}
system {{ {system} }}
"""


def cycles(**given):
    """Of one collective of 1 MiB on eight NPUs."""
    texts = {
        "memory": "1600 GB/s",
        "block": "ring",
        "bandwidth": "50 GiB/s",
        "kind": "all_reduce",
        "system": "",
    } | given
    (result,) = plan_data("x", BENCHMARK.format(**texts).encode())
    assert result.value is not None, result.diagnostics
    return result.value.estimate


def variants(path, made=plan_data):
    profile = "smoke" if b"\nprofile smoke" in path.read_bytes() else None
    return [result.value for result in made(str(path), path.read_bytes(), Options(profile=profile))]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_example(path, tmp_path):
    """Read back it has the same figures; parts add up; JSON keeps its schema; the wire bound holds or is told."""
    compiled = variants(path, compile_data)[0]
    found = compiled.estimate
    jsonschema.validate(found.as_json(), SCHEMA)
    assert found.fails is None
    assert [run.first for run in found.runs] == [0, *(run.last + 1 for run in found.runs[:-1])]
    assert found.runs[-1].last == found.npus - 1
    for entry in found.classes:
        assert entry.compute + entry.communication + entry.memory + entry.host + entry.bubble == entry.cycles
        assert min(entry.compute, entry.communication, entry.memory, entry.host, entry.bubble) >= 0
    assert sum(segment.time for segment in found.path) == found.cycles
    beaten = [entry for entry in found.traffic if entry.wire > entry.time]
    assert len([line for line in found.advice if "beats the wire" in line]) == len(beaten)
    assert write(compiled, tmp_path / "bundle").value is not None
    back = estimate_folder(str(tmp_path / "bundle"), None)
    assert back.diagnostics == ()
    assert back.estimate.runs == found.runs


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_estimate_is_certain(path):
    """No shipped spec, and no point of its sweep, is one whose figures may differ from the simulator's."""
    for planned in variants(path):
        assert (planned.name, planned.estimate.failure, planned.estimate.doubt) == (planned.name, None, None)


def test_gigabytes_of_the_network_are_binary():
    """14 steps x (500 + 131072 / 53.687) = 41179.69, each cut off to whole ns, plus 15 endpoint delays of 10 ns."""
    one = cycles(system="chunks: 1", memory="1000000 GB/s").cycles
    assert one == 14 * int(500 + 131072 / (50 * 2**30 / 1e9)) + 15 * 10
    assert cycles(bandwidth="400 Gb/s").cycles == cycles(bandwidth="50 GB/s").cycles


@pytest.mark.parametrize(("chunks", "active", "expected"), [(1, 1, 43025), (4, 1, 64440), (4, 4, 16110)])
def test_chunks_change_the_time_and_the_wire_stands_beside(chunks, active, expected):
    found = cycles(system=f"chunks: {chunks}, active_chunks: {active}")
    assert found.cycles == expected
    assert found.traffic[0].wire == int(14 / 8 * 2**20 / (50 * 2**30 / 1e9)) == 34179
    assert any("beats the wire" in line for line in found.advice) == (expected < 34179)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("ring", 92440), ("halving_doubling", 59168), ("double_binary_tree", 133552), ("direct", 13240)],
)
def test_algorithms_on_a_switch(word, expected):
    found = cycles(block="switch", system=f"algorithm: {word}")
    assert found.cycles == expected
    assert found.traffic[0].algorithms
    assert bool(found.advice) == (word == "direct")


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_bandwidth_matters(kind):
    assert cycles(kind=kind, bandwidth="25 GiB/s").cycles > cycles(kind=kind).cycles


DENSE = """
hardware gpu {{ peak {{ fp32: 1 TFLOPS }}, memory {{ capacity: 8 GB, bandwidth: 100 TB/s }} }}
topology t {{ ring r {{ size: {ranks}, bandwidth: 100 GB/s, latency: 500 ns }} }}
model m {{ transformer {{ layers: 2, hidden: 64, heads: 4, sequence: 64, vocabulary: 256 }} }}
parallelism {{ data {{}} }}
training {{ global_batch: 256, precision: fp32 }}
"""


def test_a_fixed_global_batch_on_a_quarter_of_the_ranks_computes_four_times_as_long():
    forward = {}
    for ranks in (16, 64):
        (result,) = plan_data("x", DENSE.format(ranks=ranks).encode())
        steps = result.value.plan.programs[0].steps
        forward[ranks] = sum(step.action.flops for step in steps if step.phase.value == "forward")
    assert forward[16] == 4 * forward[64]


NORMS = """
use "std/hardware/h100.astra"
hardware: h100_sxm
topology t {{ switch s {{ size: {t}, bandwidth: 450 GB/s, latency: 300 ns }} }}
model m {{ transformer {{ layers: 1, hidden: 4096, heads: 32, sequence: 128, vocabulary: 1024 }} }}
parallelism {{ tensor {{}} }}
training {{ global_batch: 1, precision: bf16 }}
"""


def test_norms_are_whole_on_every_tensor_rank():
    """Two norms with scale and bias: 16,384 parameters on each rank, and matrices halved."""
    weights = {}
    for t in (2, 4):
        (result,) = plan_data("x", NORMS.format(t=t).encode())
        weights[t] = result.value.plan.programs[0].memory.weights // 2
    matrices = 12 * 4096**2 + (3 + 4) * 4096 + 1024 * 4096  # qkv, projection, up, down; their column biases; embedding
    rest = 2 * 2 * 4096 + 2 * 4096 + 2 * 4096 + 128 * 4096  # two norms, two row biases, the last norm, positions
    assert weights == {t: matrices // t + rest for t in (2, 4)}


SEVEN = """
hardware gpu {{ peak {{ bf16: 989 TFLOPS }}, memory {{ capacity: 80 GB, bandwidth: 3 TB/s }} }}
topology t {{ switch s {{ size: {ranks}, bandwidth: 450 GB/s, latency: 300 ns }} }}
use "std/model/llama2.astra"
model: llama2_7b
parallelism {{ {axes} }}
training {{ global_batch: {batch}, micro_batch: 1, precision: bf16, optimizer: adam, recompute: full }}
"""


def test_what_cannot_fit_is_an_error_with_its_terms():
    (alone,) = plan_data("x", SEVEN.format(ranks=2, axes="data {}", batch=2).encode())
    assert alone.value.estimate.memory.total > alone.value.spec.hardware.memory.capacity  # there is an estimate
    (finding,) = [finding for finding in alone.diagnostics if finding.is_error]
    assert finding.code == "AS540"
    told = " ".join([finding.message, *finding.hints, *(label.text for label in finding.labels)])
    for term in ("weights", "gradients", "optimizer", "activations"):
        assert term in told
    (cut,) = plan_data("x", SEVEN.format(ranks=2, axes="tensor {}", batch=1).encode())
    assert cut.value is not None
    need = cut.value.estimate.memory
    params = 6_738_415_616
    assert math.isclose(need.weights, 2 * params / 2, rel_tol=1e-3)
    assert math.isclose(need.optimizer, 12 * params / 2, rel_tol=1e-3)


def test_shares_of_nothing_are_zero():
    """No collective, no compute: no NaN, no infinity, no division by zero."""
    found = cycles()
    assert "nan" not in text(found, "x").lower()
    values = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert values["classes"][0]["compute"] == 0


def test_json_of_one_and_of_several():
    entries = estimate_spec(
        "x",
        BENCHMARK.format(memory="1600 GB/s", block="ring", bandwidth="50 GB/s", kind="all_reduce", system="").encode(),
        Options(),
    )
    assert json.loads(as_json(entries))["npus"] == 8
    assert len(as_json((*entries, *entries)).splitlines()) == 2
