"""Specs that users had, each with what it must be told; figures in `why` were measured on the simulators."""

import json
import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from astrac.api.checking import Options, check
from astrac.api.compiling import compile_data, examine, write
from astrac.codes import CODES
from astrac.models.transformer import read_transformer
from astrac.training.compute import cost_function
from astrac.training.lower import Brief, lower
from astrac.training.plan import Transfer
from language_spoilt import spoilt
from test_cases_files import looked_for, said

SPECS = Path(__file__).parent / "cases" / "specs"

CASES = {
    # spec: (command, status, what it says, what it does not say)
    "crash_empty_first_stage": ("check", 1, ["error[AS531] .*:8:30: .*stage 1 has the first layer"], []),
    "check_clean_estimate_refuses": ("check", 1, ["error[AS717] .*:5:72"], []),
    "one_ring_groups": (
        "check",
        1,
        ["error[AS543] .*:15:21: .*over all 4 NPUs.*one of 2 .tensor.*`algorithm: ring"],
        ["AS719"],
    ),
    "one_ring_silently_over_all": ("check", 1, ["error[AS543] .*:16:21: .*over all 8 NPUs"], []),
    "one_ring_deadlock": ("estimate", 1, ["AS543"], ["AS92"]),
    "aware_ring_of_two": ("check", 1, ["error[AS544] .*:5:32: .*fully_connected d0"], ["AS92"]),
    "aware_bundle_read_back": ("check", 0, [], ["AS803"]),
    "moe_default": (
        "check",
        0,
        ["warning[AS891] .*:3:14: .*74.91 ms by `ring`, 2.341 ms .*algorithms . all_to_all: direct ., window: 1"],
        [],
    ),
    "ring_all_to_all": ("check", 0, ["warning[AS891] .*:3:14: .*150.2 ms"], []),
    "shard_degree_1": ("check --set d=1", 0, ["warning[AS890] .*:6:62: .*shard: optimizer.*expert 8"], []),
    "memory_in_bits": (
        "check",
        0,
        ["warning[AS892] .*:3:22: .*80 GB", "warning[AS892] .*:3:40: .*16 TB/s", "warning[AS892] .*:5:66: .*300 ms"],
        [],
    ),
    "as806": ("check", 0, [], ["AS806"]),
    "times_missing": ("check", 1, ["error[AS655] .*:9:10: .*nope.csv"], []),
}


@pytest.mark.parametrize("name", CASES)
def test_specs_of_users(name):
    words, expected, wants, bars = CASES[name]
    command, *more = words.split()
    status, text = said(" ".join((command, f"{name}.astra", *more)), SPECS)
    assert status == expected, text
    for pattern in wants:
        assert looked_for(pattern, text), f"{pattern}\n{text}"
    for unwanted in bars:
        assert unwanted not in text


# -- `check` tells whatever `build` would

TEXTS = {
    f"{code}, {kind}": text for code, page in CODES.items() for kind, text in (("bad", page.bad), ("good", page.good))
}
TEXTS = {name: text for name, text in TEXTS.items() if "{" in text and not text.startswith("# ")}
TEXTS |= {f"spoilt {seed}": spoilt(random.Random(seed)) for seed in range(200)}
LONG = {"gpt3_1024", "sweep_degrees", "moe_pool"}
SHIPPED = [path for path in (Path(__file__).parents[1] / "specs").glob("*.astra") if path.stem not in LONG]

OF_THE_ESTIMATE = {"AS590", "AS591", "AS809"}
"""What an estimate is asserted to be, and that there is none: `check` makes none, and says so (AS591)."""


def told(findings):
    """Findings, whichever micro-batch they name."""
    found = [each for each in findings if each.code not in OF_THE_ESTIMATE]
    return {(each.code, re.sub(r"\.m\d+", "", each.message), each.labels) for each in found}


def built(name, data):
    return [finding for result in compile_data(name, data) for finding in result.diagnostics]


def test_check_tells_what_build_would():
    for name, text in TEXTS.items():
        data = text.encode("utf-8", "surrogateescape")
        expected = {each for each in told(built("page.astra", data)) if each[0] != "AS231"}
        assert expected == told(examine("page.astra", data)), name


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_check_tells_what_build_would_of_shipped_specs(path):
    name, data = str(path), path.read_bytes()
    assert told(built(name, data)) == told(examine(name, data))


WAITING = CODES["AS719"].bad


def test_check_tells_what_only_a_simulation_shows():
    assert "AS719" in {each.code for each in examine("page.astra", WAITING.encode())}


PIPELINE = """
use "std/hardware/a100.astra"
hardware: a100_sxm_80g
topology t {{
  ring a {{ size: 2, bandwidth: 50 GB/s, latency: 500 ns }}
  ring b {{ size: 2, bandwidth: 50 GB/s, latency: 500 ns, algorithm: {algorithm} }}
}}
model m {{ transformer {{ layers: 4, hidden: 64, heads: 4, sequence: 32, vocabulary: 512 }} }}
parallelism {{
  pipeline {{ degree: 2, schedule: {schedule}, chunks: {chunks} }}
  data {{ shard: {shard}, buckets: 100 kB }}
}}
training {{ global_batch: 8, micro_batch: 1, precision: bf16, steps: 2 }}
system {{ chunks: {splits} }}
"""


@pytest.mark.parametrize("shard", ["none", "optimizer", "gradients", "parameters"])
@pytest.mark.parametrize(("schedule", "chunks"), [("gpipe", 1), ("one_f_one_b", 1), ("interleaved", 2)])
def test_few_micro_batches_show_what_all_do(shard, schedule, chunks):
    for algorithm, splits in (("ring", 3), ("double_binary_tree", 4), ("halving_doubling", 64)):
        words = {"algorithm": algorithm, "splits": splits, "shard": shard}
        data = PIPELINE.format(schedule=schedule, chunks=chunks, **words).encode()
        assert told(built("p.astra", data)) == told(examine("p.astra", data))


def acts(plan):
    """What there is to see of a plan in brief: each computation, collective and move once, with who does it first."""
    found = {}
    for program in plan.programs:
        for step in program.steps:
            if not isinstance(step.action, Transfer):
                found.setdefault((program.name, step.action), (step.layer, step.phase, step.micro_batch))
    return list(found.items())


UNITS = """
let stages = 1
let shared = false
use "std/hardware/a100.astra"
hardware: a100_sxm_80g
topology t {{ switch a {{ size: 4, bandwidth: 50 GB/s, latency: 500 ns }}
              switch b {{ size: 4, bandwidth: 50 GB/s, latency: 500 ns }} }}
model m {{
  transformer {{ layers: 9, hidden: 64, heads: 4, sequence: 32, vocabulary: 512, tied: shared }}
  layer "block4.*" {{ precision: fp32 }}
  {layer}
}}
parallelism {{
  tensor {{ degree: 4, sequence_parallel: true }}
  {pipeline}
  data {{ {data} }}
}}
training {{ global_batch: 16, micro_batch: 1, precision: bf16, recompute: {recompute} }}
"""
PIPE = "pipeline { degree: 2, schedule: interleaved, chunks: 2 }"


@pytest.mark.parametrize("data", ["", "shard: parameters, prefetch: 2", "shard: optimizer", "buckets: 60 kB"])
@pytest.mark.parametrize("pipeline", ["", PIPE])
@pytest.mark.parametrize("recompute", ["none", "full"])
@pytest.mark.parametrize("layer", ["", 'layer "block[0-3].*" { freeze: true }', 'layer "head" { tie: true }'])
def test_units_like_others_show_nothing_new(data, pipeline, recompute, layer):
    text = UNITS.format(data=data, pipeline=pipeline, recompute=recompute, layer=layer if "tie" not in layer else "")
    settings = ("shared=true",) if "tie" in layer else ()
    (point,) = check("p.astra", text.encode(), Options(settings=settings)).value
    model = read_transformer(point.spec.model.transformer, "m", 1)
    plans = [
        lower(point.spec, model, cost_function(point.spec.hardware), point.document.near, brief=brief).value
        for brief in (Brief.MICRO_BATCHES, Brief.UNITS)
    ]
    assert acts(plans[0]) == acts(plans[1])
    steps = [sum(len(program.steps) for program in plan.programs) for plan in plans]
    assert (steps[1] < steps[0]) == ("buckets" not in data)
    assert [program.memory for program in plans[0].programs] == [program.memory for program in plans[1].programs]


COMPILER = Path(__file__).parents[1] / "compiler"
TEN = "fsdp_16 megatron_64 mixtral_64 moe_pool profiled_times ring_attention straggler sweep_degrees tensor4_data2 "
TEN += "tensor_half_node"


def processor_time(*command):
    """Of a command, in seconds, and what it prints; the least of three, for other work on the machine makes it more."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, capture_output=True, check=True, env={"PYTHONPATH": str(COMPILER)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds), run.stdout


def test_ten_specs_in_the_hook_cost_few_imports_of_onnx():
    """A second and a half where `import onnx` takes a quarter of a second; a ratio, for machines differ."""
    specs = [f"{Path(__file__).parents[1]}/specs/{name}.astra" for name in TEN.split()]
    seconds, printed = processor_time(sys.executable, "-m", "astrac", "check", *specs)
    assert printed == b"10 files: clean\n"
    measure, _ = processor_time(sys.executable, "-c", "import onnx")
    assert seconds < 6 * measure


def test_shallow_says_what_it_did_not_look_at():
    status, text = said("check times_missing.astra --shallow", SPECS)
    assert status == 0
    assert looked_for(r"note\[AS542\] times_missing.astra:7:1: not looked at: `nope.csv`, layers", text)


# -- a bundle says which network it is for


def test_a_bundle_says_its_backend(tmp_path):
    spec = (SPECS / "aware_bundle_read_back.astra").read_bytes()
    (result,) = compile_data("aware.astra", spec)
    write(result.value, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["job"]["backend"] == "congestion_aware"
    status, text = said("estimate out", tmp_path)
    assert (status, "24,080 (1 cycle" in text, "congestion_aware" in text) == (0, True, True)
    status, text = said("estimate out --backend congestion_unaware", tmp_path)
    assert (status, "for `congestion_aware`, not for `congestion_unaware`" in text) == (1, True)


@pytest.mark.parametrize("binary", ["Analytical_Congestion_Unaware", "Analytical_Congestion_Aware", "sim"])
def test_a_bundle_refuses_the_other_network(binary, tmp_path):
    (result,) = compile_data("aware.astra", (SPECS / "aware_bundle_read_back.astra").read_bytes())
    write(result.value, tmp_path / "out")
    simulator = tmp_path / binary
    simulator.write_text("#!/bin/sh\nfor rank in 0 1 2 3; do echo sys[$rank] finished, 24080 cycles; done\n")
    simulator.chmod(0o755)
    script = tmp_path / "out" / "astra-sim-2" / "run.sh"
    environment = os.environ | {"ASTRA_SIM": str(simulator)}
    done = subprocess.run([script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == (2 if "Unaware" in binary else 0)
    assert ("for congestion_aware" in done.stderr) == ("Unaware" in binary)


def test_the_advised_algorithm_gives_what_is_said():
    spec = (SPECS / "moe_default.astra").read_text()
    advised = spec.replace("latency: 300 ns", "latency: 300 ns, algorithms { all_to_all: direct }, window: 1")
    (result,) = compile_data("moe.astra", advised.encode())
    assert result.value.estimate.cycles == 2_341_120
    assert not result.diagnostics
