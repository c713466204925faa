"""A sweep on the workers of a Dask scheduler, one of which is killed in the middle: the same table."""

import os
import signal
import sys
import time
import warnings
from pathlib import Path

import pytest

from astrac import cli
from astrac.api import sweeping
from astrac.api.checking import Options
from astrac.api.evaluating import Tasks
from astrac.api.results import Results
from astrac.api.sweeping import dask, sweep

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).parents[1]
SPEC = (ROOT / "specs" / "sweep_degrees.astra").read_bytes()
OPTIONS = Options(profile="smoke", over=("training.global_batch: range(16, 48, 16)",))


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "compiler"), *filter(None, sys.path)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}
        import dask as dask_itself

        with (
            dask_itself.config.set(settings),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as started,
        ):
            yield started


def work():
    return Tasks("specs/a.astra", SPEC, OPTIONS, keyed=True)


def test_a_worker_is_killed_and_no_row_is_lost_or_doubled(cluster, tmp_path):
    here = {each.number: each.row for each in sweep(work(), jobs=1)}
    processes = [worker.process.process.pid for worker in cluster.workers.values()]
    found = []
    begun = time.monotonic()
    with dask(cluster.scheduler_address) as pool, Results(tmp_path / "r") as results:
        for each in sweep(work(), executor=pool, results=results):
            found.append(each)
            if len(found) == 4:
                os.kill(processes[0], signal.SIGKILL)
        kept = list(results.rows())
    assert time.monotonic() - begun < 60
    assert sorted(each.number for each in found) == list(range(18))
    assert {each.number: each.row for each in found} == here
    assert len(kept) == 18
    assert {row.name: row for row in kept} == {row.name: row for row in here.values()}


def test_a_scheduler_that_is_not_there_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sweeping, "ANSWER", 1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.astra").write_bytes(SPEC)
    assert cli.main(["sweep", "a.astra", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.startswith("astrac sweep: cannot use the scheduler tcp://127.0.0.1:9: ")
