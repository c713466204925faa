"""The real simulators, where `$ASTRA_SIM` (2.x) or `$ASTRA_SIM_1` (1.0) names one: equal on every rank, to the ns.

ASTRA_SIM=path/to/AstraSim_Analytical_Congestion_Unaware ASTRA_SIM_1=path/to/AnalyticalAstra1 pytest tests/sim
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from astrac.api.checking import Options
from astrac.api.compiling import compile_data, write
from test_strategies import CASES, source

SPECS = Path(__file__).parents[2] / "specs"
LARGEST = 64
"""Ranks; the simulator's cost grows with their square."""

FINISHED = re.compile(r"sys\[(\d+)\] finished, (\d+) cycles, exposed communication (\d+) cycles")
PASSED = re.compile(r"all passes finished at time: (\d+)")

needs_2 = pytest.mark.skipif("ASTRA_SIM" not in os.environ, reason="$ASTRA_SIM names no ASTRA-sim 2.x")
needs_1 = pytest.mark.skipif("ASTRA_SIM_1" not in os.environ, reason="$ASTRA_SIM_1 names no ASTRA-sim 1.0")


def points():
    """The shipped specs, in their smoke profile where they have one."""
    for path in sorted(SPECS.glob("*.astra")):
        data = path.read_bytes()
        profile = "smoke" if b"profile smoke" in data else None
        for result in compile_data(str(path), data, Options(profile=profile)):
            assert result.value is not None, result.diagnostics
            if result.value.job.machine.npus <= LARGEST:
                yield pytest.param(result.value, id=f"{path.stem}-{result.value.name}".rstrip("-"))


def cases():
    """One step of every strategy, alone and with others."""
    for name, case in CASES.items():
        (result,) = compile_data(f"{name}.astra", source(case).encode())
        assert result.value is not None, result.diagnostics
        yield pytest.param(result.value, id=name)


def pytest_generate_tests(metafunc):
    """Compiles nothing where there is no simulator to compare with."""
    if "compiled" in metafunc.fixturenames:
        wanted = "ASTRA_SIM" in os.environ or "ASTRA_SIM_1" in os.environ
        metafunc.parametrize("compiled", [*points(), *cases()] if wanted else [pytest.param(None, id="none")])


def output_of(compiled, target, folder):
    """What the simulator prints; run.sh says whether it came to its end."""
    written = write(compiled, folder)
    assert written.value is not None, written.diagnostics
    script = folder / target / "run.sh"
    done = subprocess.run(["sh", script], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@needs_2
def test_cycles_of_every_rank(compiled, tmp_path):
    printed = FINISHED.findall(output_of(compiled, "astra-sim-2", tmp_path / "bundle"))
    simulated = {int(rank): (int(cycles), int(exposed)) for rank, cycles, exposed in printed}
    runs = compiled.estimate.runs
    assert simulated == {rank: (run.cycles, run.exposed) for run in runs for rank in range(run.first, run.last + 1)}


@needs_1
def test_cycles_of_the_text(compiled, tmp_path):
    if "astra-sim-1" not in compiled.jobs:
        pytest.skip("no policy of ASTRA-sim 1.0 says this spec")
    printed = output_of(compiled, "astra-sim-1", tmp_path / "bundle")
    estimate = re.search(r"simulator (\d+) cycles, estimate (\d+) cycles", printed)
    assert PASSED.search(printed)[1] == estimate[1] == estimate[2]
