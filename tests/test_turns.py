"""Estimates by turns equal those of the whole plan, node by node simulated: every row, with its findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrac.api import compiling
from astrac.api.checking import Options
from astrac.api.evaluating import Tasks, evaluate
from astrac.simulators.astra_sim_2 import simulator
from astrac.simulators.astra_sim_2.simulate.by_turn import steady
from astrac.simulators.results import Outcome
from random_specs import random_spec

SPECS = Path(__file__).parents[1] / "specs"
LOWERED = compiling._lowered


@pytest.fixture
def refusals(monkeypatch):
    """Why turns did not tell, for each point that they did not tell of."""
    told = []
    simulate = simulator.simulate

    def watched(job, backend):
        result = simulate(job, backend)
        if result.outcome is Outcome.SAMPLED:
            told.append(result.fails)
        return result

    monkeypatch.setattr(simulator, "simulate", watched)
    return told


def rows(name, data, **options):
    return [evaluate(task) for task in Tasks(name, data, Options(**options))]


def assert_equal(monkeypatch, name, data, **options):
    """By turns and step by step; the rows."""
    sampled = rows(name, data, **options)
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "_lowered", lambda *args: LOWERED(*args[:5]))
        assert sampled == rows(name, data, **options)
    return sampled


# What turns do not tell of, by its own reason.
APART = {
    "moe_pool": "ranks that queue for a memory",
    "ring_attention": "ends in one tick, registered in one tick",
    "straggler": "a turn is over before roles have met",
}


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.astra")), ids=lambda path: path.stem)
def test_shipped_specs(monkeypatch, refusals, path):
    profile = "smoke" if b"profile smoke" in path.read_bytes() else None
    assert all(row.cycles_max for row in assert_equal(monkeypatch, str(path), path.read_bytes(), profile=profile))
    assert refusals == ([APART[path.stem]] if path.stem in APART else [])


def test_random_specs(monkeypatch, refusals):
    made = [row for seed in range(40) for row in assert_equal(monkeypatch, "r.astra", random_spec(seed).encode())]
    assert sum(row.cycles_max is not None for row in made) >= 35
    assert len(refusals) <= 3


def test_a_steady_state_is_counted_as_it_is_played(monkeypatch):
    """Of 97 micro-batches a few are played and the rest counted, or all are played: the same, to the nanosecond."""
    counted = []
    extended = steady._extended

    def watched(*args):
        found = extended(*args)
        counted.append(isinstance(found, list))
        return found

    monkeypatch.setattr(steady, "_extended", watched)
    for seed in range(24):
        text = random_spec(seed, micro_batches=97).encode()
        short = rows("r.astra", text)
        with monkeypatch.context() as patch:
            patch.setattr(steady, "DEPTHS", ())
            assert short == rows("r.astra", text)
    assert sum(counted) >= 12


def test_gpt3_costs_the_same_whatever_its_micro_batches():
    """96 and 512 of them: what a play of every step gave, once."""
    path = SPECS / "gpt3_1024.astra"
    for count, cycles in ((96, [10971750655, 10012606541, 9533034484]), (512, [47732034527, 46668200685, 46136283764])):
        made = rows(str(path), path.read_bytes(), settings=(f"training.global_batch={16 * count}",))
        assert [row.cycles_max for row in made] == cycles
