"""Job -> bundle: the numbers in the files, the schemas, and what `run.sh` calls success."""

import hashlib
import json
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

import jobs
from astrac import bundle, emit
from astrac.job import Kind
from astrac.resources import resource
from astrac.simulators.astra_sim_2 import write

SCHEMAS = {
    "network.yml": "network",
    "system.json": "system",
    "memory.json": "memory",
    "comm_groups.json": "comm_groups",
    "manifest.json": "manifest",
}


def written(job, folder, **rest):
    result = emit.emit({"astra-sim-2": job}, **rest)
    assert not result.diagnostics
    assert bundle.write(result.value, folder).ok
    return folder


def load(path):
    return YAML(typ="safe").load(path.read_text()) if path.suffix == ".yml" else json.loads(path.read_text())


@pytest.mark.parametrize("job", jobs.ALL.values(), ids=jobs.ALL.keys())
def test_every_artifact_is_valid_by_its_schema(tmp_path, job):
    out = written(job, tmp_path / "out", inputs=[("b.onnx", "sha256:00"), ("a.astra", "sha256:11")])
    files = [path for path in out.rglob("*") if path.name in SCHEMAS]
    assert len(files) >= 4
    for path in files:
        schema = json.loads(resource("schemas", "artifacts", f"{SCHEMAS[path.name]}.schema.json").read_text())
        Draft202012Validator(schema).validate(load(path))


def test_the_machine_is_written_in_the_simulators_own_numbers(tmp_path):
    out = written(jobs.offload(), tmp_path / "out") / "astra-sim-2"
    # 400e9 / 2^30 = 372.529..., 936.25 ns: shortest decimals that read back as the same doubles.
    assert load(out / "network.yml") == {
        "topology": ["Switch"],
        "npus_count": [8],
        "bandwidth": [400e9 / 2**30],
        "latency": [936.25],
    }
    assert load(out / "system.json") == {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 4,
        "all-reduce-implementation": ["ring"],
        "all-gather-implementation": ["ring"],
        "reduce-scatter-implementation": ["ring"],
        "all-to-all-implementation": ["ring"],
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1555,
        "peak-perf": 140.4,
        "roofline-enabled": 1,
        "replay-only": 0,
    }
    text = (out / "system.json").read_text()
    assert '"roofline-enabled": 1,' in text
    assert "true" not in text
    assert load(out / "memory.json") == {
        "memory-type": "PER_NODE_MEMORY_EXPANSION",
        "remote-mem-latency": 600,
        "remote-mem-bw": 128,
        "num-nodes": 2,
        "num-npus-per-node": 4,
    }
    assert "--num-queues-per-dim=2" in (out / "run.sh").read_text()
    assert not (out / "comm_groups.json").exists()


def test_doubles_are_written_without_an_exponent():
    machine = jobs.machine(("Ring", 2))
    dimension = replace(machine.dimensions[0], bandwidth=1e-7, latency=1e22)
    text = write.render_network(replace(machine, dimensions=(dimension,)))
    assert "bandwidth: [ 0.0000001 ]" in text
    assert "latency: [ 10000000000000000000000 ]" in text


def test_groups_are_numbered_from_1_with_ascending_members(tmp_path):
    groups = load(written(jobs.pipeline_of_tensors(), tmp_path / "out") / "astra-sim-2/comm_groups.json")
    assert list(groups) == [str(number) for number in range(1, 34)]
    assert groups["1"] == [0, 1, 2, 3]
    assert groups["9"] == [0, 4]
    assert groups["14"] == [9, 13]
    assert groups["28"] == [3, 27]
    assert groups["33"] == list(range(32))


def test_the_manifest_says_what_it_was_made_from_and_every_file(tmp_path):
    out = written(
        jobs.data_parallel(8), tmp_path / "out", estimate={"cycles_max": 7}, inputs=[("a.astra", "sha256:0123")]
    )
    manifest = load(out / "manifest.json")
    assert manifest["inputs"] == [{"name": "a.astra", "digest": "sha256:0123"}]
    assert manifest["commands"] == {
        "astra-sim-2": [
            "--workload-configuration=workload/dp",
            "--system-configuration=system.json",
            "--remote-memory-configuration=memory.json",
            "--network-configuration=network.yml",
        ]
    }
    assert manifest["job"]["axes"] == [{"name": "data", "stride": 1, "size": 8}]
    assert load(out / "estimate.json") == {"cycles_max": 7}
    listed = {line["path"]: line for line in manifest["files"]}
    traces = listed["astra-sim-2/workload/dp.{rank}.et"]
    assert (traces["ranks"], traces["linked"]) == ("0-7", True)
    for path, line in listed.items():
        content = (out / path.replace("{rank}", "5")).read_bytes()
        assert (line["size"], line["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert str(tmp_path) not in (out / "manifest.json").read_text()


def test_bytes_do_not_depend_on_where_or_when(tmp_path):
    first = written(jobs.pipeline_of_tensors(), tmp_path / "a")
    second = written(jobs.pipeline_of_tensors(), tmp_path / "b" / "c")
    assert {path.relative_to(first): path.read_bytes() for path in first.rglob("*") if path.is_file()} == {
        path.relative_to(second): path.read_bytes() for path in second.rglob("*") if path.is_file()
    }


def test_a_count_beyond_63_bits_is_refused():
    job = jobs.data_parallel(2)
    ops = job.programs[0].ops
    broken = replace(job, programs=(replace(job.programs[0], ops=(replace(ops[0], flops=2**63), *ops[1:])),))
    assert [finding.code for finding in emit.emit({"astra-sim-2": broken}).diagnostics] == ["AS703"]


def test_a_machine_that_the_simulator_would_misread_is_our_mistake():
    job = jobs.pipeline_of_tensors()
    short = replace(job, machine=replace(job.machine, algorithms=job.machine.algorithms | {Kind.ALL_REDUCE: ("ring",)}))
    result = emit.emit({"astra-sim-2": short})
    assert [finding.code for finding in result.diagnostics] == ["AS911"]
    assert "`all-reduce-implementation` has 1 entry for 2 dimensions" in result.diagnostics[0].message


def test_names_that_no_shell_and_no_path_can_hold_are_cleaned(tmp_path):
    out = written(replace(jobs.data_parallel(2), name="../a b;$(c)\n"), tmp_path / "out")
    assert sorted(path.name for path in (out / "astra-sim-2/workload").iterdir()) == ["_a_b_c_.0.et", "_a_b_c_.1.et"]


# -- run.sh


def run(script, variable, lines, status=0, before="", **environment):
    """The script with a simulator that does something, prints lines and ends with a status or by a signal."""
    simulator = script.parent.parent / "simulator"
    end = f"kill -{-status} $$" if status < 0 else f"exit {status}"
    simulator.write_text("#!/bin/sh\nprintf '%s\\n' \"$PWD $*\"\n" + f"{before}\ncat <<'END'\n{lines}\nEND\n{end}\n")
    simulator.chmod(stat.S_IRWXU)
    environment |= {variable: str(simulator)}
    return subprocess.run(
        [str(script)], env=os.environ | environment, capture_output=True, text=True, cwd="/", check=False
    )


FINISHED = "[2026] [I] <workload>: sys[{}] finished, {} cycles, exposed communication 5 cycles."


def script_of(tmp_path, **rest):
    return written(jobs.data_parallel(12), tmp_path / "out", **rest) / "astra-sim-2/run.sh"


def test_run_succeeds_when_all_ranks_finish_whatever_the_status(tmp_path):
    script = script_of(tmp_path, cycles={"astra-sim-2": 84440})
    done = run(script, "ASTRA_SIM", "\n".join(FINISHED.format(rank, 84429 + rank) for rank in range(12)), status=134)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == (
        f"{script.parent} --workload-configuration=workload/dp --system-configuration=system.json "
        "--remote-memory-configuration=memory.json --network-configuration=network.yml"
    )
    assert done.stdout.splitlines()[-1] == (
        "run.sh: all 12 ranks finished; simulator 84440 cycles, estimate 84440 cycles"
    )


@pytest.mark.parametrize(
    "ranks",
    [range(11), [*range(11), 3], [], range(13)],
    ids=["one missing", "one twice", "none", "one too many"],
)
def test_run_fails_when_not_all_ranks_finish_whatever_the_status(tmp_path, ranks):
    done = run(script_of(tmp_path), "ASTRA_SIM", "\n".join(FINISHED.format(rank, 7) for rank in ranks))
    assert done.returncode == 1
    assert f"{len(set(ranks))} of 12 ranks finished" in done.stderr


ALL_TWELVE = "\n".join(FINISHED.format(rank, 7) for rank in range(12))


@pytest.mark.parametrize("status", [134, 139, -6, -11])
def test_run_tries_again_when_the_simulator_loses_its_last_lines(tmp_path, status):
    script = script_of(tmp_path)
    counted = 'echo x >>"$PWD/log/runs"; [ "$(wc -l <"$PWD/log/runs")" -lt 4 ] || set -- whole'
    whole = f"if [ \"$1\" = whole ]; then cat <<'END'\n{ALL_TWELVE}\nEND\nexit 134; fi"
    done = run(script, "ASTRA_SIM", FINISHED.format(0, 7), status, before=f"{counted}\n{whole}")
    assert done.returncode == 0
    assert (script.parent / "log/runs").read_text().count("x") == 4
    assert done.stderr.count("1 of 12 ranks finished; ASTRA-sim crashed on its own memory") == 3
    assert "AS807" in done.stderr
    assert "run.sh: again, attempt 4 of 10" in done.stderr


def test_run_gives_up_after_ten_attempts(tmp_path):
    script = script_of(tmp_path)
    done = run(script, "ASTRA_SIM", "", 134, before="echo x >>log/runs")
    assert done.returncode == 3
    assert (script.parent / "log/runs").read_text().count("x") == 10


@pytest.mark.parametrize(
    ("lines", "status", "expected", "told"),
    [
        ("", 0, 1, "ended by itself (status 0)"),
        ("terminate called after throwing an instance of", 134, 1, "ended by itself (status 134)"),
        ("main.cc:7: Assertion `a' failed.", -6, 1, "ended by itself (status 134)"),
        ("", 255, 1, "ended by itself (status 255)"),
        ("", -9, 137, "was ended by signal 9"),
        ("", 127, 2, ""),
    ],
)
def test_run_says_how_the_simulator_ended_and_tries_once(tmp_path, lines, status, expected, told):
    script = script_of(tmp_path)
    done = run(script, "ASTRA_SIM", lines, status, before="echo x >>log/runs")
    assert done.returncode == expected
    assert told in done.stderr
    assert (script.parent / "log/runs").read_text().count("x") == 1


def test_run_counts_a_line_that_the_end_cut_off(tmp_path):
    script = script_of(tmp_path)
    done = run(script, "ASTRA_SIM", "", 0, before=f"printf '%s' '{ALL_TWELVE}'; exit 0")
    assert done.returncode == 0


def test_run_shows_progress(tmp_path):
    done = run(script_of(tmp_path), "ASTRA_SIM", ALL_TWELVE, before="sleep 1.5", PROGRESS="1")
    assert done.returncode == 0
    assert done.stderr == "run.sh: 1 s, ASTRA-sim is running\n"


def test_run_writes_elsewhere_when_the_bundle_is_read_only(tmp_path):
    script = script_of(tmp_path)
    (script.parent / "log").write_text("")  # root may write anywhere, but not below a file
    before = sorted(path.name for path in script.parent.iterdir())
    writes = "cat network.yml >/dev/null && : >>workload/dp.11.et && echo x >log/x"
    done = run(script, "ASTRA_SIM", ALL_TWELVE, before=writes, TMPDIR=str(tmp_path))
    assert done.returncode == 0
    assert f"{script.parent} is read-only; this runs in a copy, and log/ is in {tmp_path}/astra-sim." in done.stderr
    assert sorted(path.name for path in script.parent.iterdir()) == before
    (place,) = tmp_path.glob("astra-sim.*")
    assert (place / "log/x").read_text() == "x\n"


def test_run_names_a_simulator_that_is_not_there(tmp_path):
    done = subprocess.run(
        [str(script_of(tmp_path))],
        env=os.environ | {"ASTRA_SIM": "/nowhere/sim"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "run.sh: ASTRA_SIM names no program: /nowhere/sim\n"


def test_run_takes_a_relative_simulator_and_wants_one(tmp_path):
    script = script_of(tmp_path)
    lines = "\n".join(FINISHED.format(rank, 7) for rank in range(12))
    assert run(script, "ASTRA_SIM", lines).returncode == 0
    environment = {"PATH": os.environ["PATH"]}
    relative = environment | {"ASTRA_SIM": "./simulator"}
    done = subprocess.run(
        ["sh", "astra-sim-2/run.sh"],
        env=relative,
        cwd=script.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "run.sh: all 12 ranks finished; simulator 7 cycles"
    unset = subprocess.run([str(script)], env=environment, capture_output=True, text=True, check=False)
    assert unset.returncode != 0
    assert "name the ASTRA-sim 2.x binary" in unset.stderr


def test_the_script_for_1_0_looks_for_its_last_line(tmp_path):
    from astrac.job import Kind
    from astrac.simulators.astra_sim_1.job import LayerRow, Policy, TextJob, TextWorkload, Work
    from astrac.simulators.astra_sim_1.lower import derive_network, derive_system

    machine = jobs.machine(("Ring", 4))
    row = LayerRow("a", Work(100), Work(100), Work(100, Kind.ALL_REDUCE, 4096))
    workload = TextWorkload(Policy.DATA, (row,))
    text_job = TextJob(derive_network(machine), derive_system(machine), workload, passes=2)
    result = emit.emit({"astra-sim-1": text_job}, cycles={"astra-sim-1": 6184})
    assert bundle.write(result.value, tmp_path / "out").ok
    script = tmp_path / "out" / "astra-sim-1" / "run.sh"
    assert sorted(path.name for path in script.parent.iterdir()) == [
        "network.json", "run.sh", "system.txt", "workload.txt",
    ]  # fmt: skip
    done = run(script, "ASTRA_SIM_1", "all passes finished at time: 6184, id of first layer: a", status=1)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == (
        f"{script.parent} --network-configuration=network.json --system-configuration=system.txt "
        "--workload-configuration=workload.txt --path=results/ --run-name=astrac --num-passes=2 --total-stat-rows=1 "
        "--stat-row=0"
    )
    assert done.stdout.splitlines()[-1] == ("run.sh: all passes finished; simulator 6184 cycles, estimate 6184 cycles")
    assert Path(script.parent / "results").is_dir()
    assert run(script, "ASTRA_SIM_1", "pass: 1 finished").returncode == 1
