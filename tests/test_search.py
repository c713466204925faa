"""A search finds what an estimate of every point finds, and says what became of the others."""

from __future__ import annotations

import pickle
import random
from itertools import product

import pytest

import astrac
from astrac import cli
from astrac.api.checking import Options
from astrac.api.evaluating import Tasks, bounded, evaluate
from random_specs import random_spec

MACHINE = """
use "std/hardware/a100.astra"
hardware gpu from a100_sxm_80g {{ memory {{ capacity: {capacity} }} }}
topology t {{
  switch inner {{ size: {inner}, bandwidth: {fast} GB/s, latency: 500 ns }}
  ring outer {{ size: {outer}, bandwidth: {slow} GB/s, latency: 2 us }}
}}
model m {{ transformer {{ layers: {layers}, hidden: 512, heads: 8, sequence: 256, vocabulary: 2_048, tied: false }} }}
parallelism {{
  tensor {{ degree: {inner} }}
  data {{ degree: {outer} }}
  pipeline {{ degree: 1 }}
}}
training {{ global_batch: 32, micro_batch: 1, precision: bf16, optimizer: adam }}
sweep {{ training.micro_batch: [1, 2], parallelism.data.shard: [none, optimizer] }}
"""


def machine(seed: int) -> str:
    draw = random.Random(seed)
    return MACHINE.format(
        capacity=draw.choice(("80 GB", "200 MB", "60 MB")),
        inner=draw.choice((2, 4)),
        outer=draw.choice((2, 4)),
        fast=draw.choice((25, 300)),
        slow=draw.choice((3, 25, 100)),
        layers=draw.choice((4, 6, 8)),
    )


def factors(npus):
    """Tensor, data and pipeline degrees, by trying all."""
    divisors = [each for each in range(1, npus + 1) if npus % each == 0]
    return [way for way in product(divisors, repeat=3) if way[0] * way[1] * way[2] == npus]


def exhaustive(text):
    """The rows of all points that are right and fit."""
    npus = astrac.estimate(text, {"training.micro_batch": 1, "parallelism.data.shard": "none"}).npus
    degrees = {f"parallelism.{axis}.degree": at for at, axis in enumerate(("tensor", "data", "pipeline"))}
    ways = factors(npus)
    table = astrac.sweep(text, {tuple(degrees): ways}, jobs=1)
    assert len(table) == 4 * len(ways)
    return len(table), [row for row in table if row.ok]


@pytest.mark.parametrize("seed", range(20))
def test_no_worse_than_an_estimate_of_every_point(seed):
    text = machine(seed)
    considered, rows = exhaustive(text)
    found = astrac.search(text, jobs=1)
    counts = found.counts
    assert counts.considered == considered
    assert counts.considered == counts.estimated + counts.memory + counts.time + sum(dict(counts.refused).values())
    if not rows:
        assert found.best is None
        return
    assert found.best.step_time_ns == min(row.step_time_ns for row in rows)
    front = {
        (row.step_time_ns, row.memory_bytes)
        for row in rows
        if not any(
            (other.step_time_ns, other.memory_bytes) != (row.step_time_ns, row.memory_bytes)
            and other.step_time_ns <= row.step_time_ns
            and other.memory_bytes <= row.memory_bytes
            for other in rows
        )
    }
    assert {(row.step_time_ns, row.memory_bytes) for row in found.front} == front
    quick = astrac.search(text, jobs=1, whole_front=False)
    assert quick.best.step_time_ns == found.best.step_time_ns
    assert quick.counts.estimated <= counts.estimated
    assert quick.front == ()
    least = astrac.search(text, objective="memory", jobs=1, whole_front=False)
    assert least.best.memory_bytes == min(row.memory_bytes for row in rows)


def test_bounds_are_below_what_they_bound():
    """Time; memory is known, and so is what breaks a rule."""
    compared = 0
    for seed in range(30):
        tasks = list(Tasks("r.astra", random_spec(seed).encode(), Options()))
        for task, bound in zip(tasks, bounded(tasks), strict=True):
            row = evaluate(task)
            if row.step_time_ns is not None:
                assert bound.memory == row.memory_bytes
                assert 0 < bound.least <= row.step_time_ns
                compared += 1
    assert compared > 20


def test_what_is_best_on_64_gpus():
    found = astrac.search(
        machine(0).replace("inner { size: 2", "inner { size: 8").replace("inner { size: 4", "inner { size: 8"),
        settings={"topology.outer.size": 8, "training.global_batch": 64},
        where="parallelism.tensor.degree <= 8",
    )
    assert found.best.npus == 64
    assert set(found.settings()) >= {"parallelism.tensor.degree", "training.micro_batch"}
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found).startswith("<Found <Row ")
    with pytest.raises(ValueError, match="no axis `expert`"):
        astrac.search(machine(0), ["expert"])
    with pytest.raises(ValueError, match="no objective"):
        astrac.search(machine(0), objective="cost")


def test_processes_find_the_same(tmp_path):
    text = machine(3)
    alone = astrac.search(text, jobs=1)
    spread = astrac.search(text, jobs=2, results=tmp_path / "rows.sqlite")
    again = astrac.search(text, jobs=1, results=tmp_path / "rows.sqlite")
    assert alone.best == spread.best == again.best
    assert alone.front == spread.front == again.front


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.astra").write_text(machine(0))
    assert cli.main(["search", "m.astra", "--split", "tensor,data", "-j", "1", "--top", "2"]) == 0
    out, err = capsys.readouterr()
    found = astrac.search(machine(0), ["tensor", "data"], jobs=1)
    assert out == found.to_text(top=2)
    assert err == "rows         out/m.sqlite\n"
    best = next(line for line in out.splitlines() if line.startswith("best"))
    assert f"--set 'parallelism.tensor.degree={found.settings()['parallelism.tensor.degree']}'" in best
    assert cli.main(["search", "m.astra", "--set", "hardware.memory.capacity=1 MB", "-j", "1"]) == 1
    out = capsys.readouterr().out
    assert "best         none: no point fits and keeps all rules\n" in out
    assert " estimated + " in out
    assert cli.main(["search", "m.astra", "--split", "expert"]) == 2
    assert capsys.readouterr().err == "astrac search: --split: no axis `expert`: the spec has tensor, data, pipeline\n"
