"""A sample of turns makes the whole run, step by step; and buckets end with the pass that fills them."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrac.api.checking import Inputs, Options
from astrac.api.compiling import points
from astrac.api.modelling import model_of, spec_of
from astrac.training.compute import cost_function
from astrac.training.lower import Brief, lower
from astrac.training.lower.stage import StageBuilder
from astrac.training.lower.unroll import whole
from astrac.training.plan import Communicate
from random_specs import random_spec

SPECS = Path(__file__).parents[1] / "specs"


def plans(name: str, data: bytes, brief=None, **options):
    """The plan of each point; None for one that is refused."""

    def make(checked, options, inputs: Inputs, chain):
        spec = spec_of(checked, chain)
        model = model_of(spec, checked.document, options, inputs, chain)
        return lower(spec, model, cost_function(spec.hardware), checked.document.near, brief=brief).value

    return [result.value for _, result in points(name, data, Options(**options), make)]


def written_out(self, iterations):
    """Every step by itself, as the builder writes them: what a sample is compared with."""
    return self.steps(self.pipe.micro_batches, iterations), None


def assert_equal(monkeypatch, name, data, **options):
    made = plans(name, data, **options)
    with monkeypatch.context() as patch:
        patch.setattr(StageBuilder, "sampled", written_out)
        meant = plans(name, data, **options)
    assert made == meant
    return [plan for plan in made if plan is not None]


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.astra")), ids=lambda path: path.stem)
def test_turns_make_the_steps_of_shipped_specs(monkeypatch, path):
    profile = "smoke" if b"profile smoke" in path.read_bytes() else None
    assert assert_equal(monkeypatch, str(path), path.read_bytes(), profile=profile)


def test_turns_make_the_steps_of_random_specs(monkeypatch):
    made = [assert_equal(monkeypatch, "r.astra", random_spec(seed).encode()) for seed in range(1000, 1040)]
    assert sum(map(bool, made)) > 20


BUCKETS = """
use "std/hardware/a100.astra"
hardware: a100_sxm_80g
topology t { ring a { size: 2, bandwidth: 50 GB/s, latency: 500 ns }
             ring b { size: 2, bandwidth: 50 GB/s, latency: 500 ns } }
model m { transformer { layers: 4, hidden: 64, heads: 4, sequence: 32, vocabulary: 512, tied: false } }
parallelism { pipeline { degree: 2, schedule: interleaved, chunks: 2 }
              data { shard: SHARD, buckets: 1 GB, overlap: false } }
training { global_batch: 8, micro_batch: 1, precision: bf16 }
"""


@pytest.mark.parametrize(("shard", "each_stage"), [("none", [2, 2]), ("gradients", [8, 8])])
def test_a_bucket_ends_with_the_pass_of_its_virtual_stage(shard, each_stage):
    """One bucket for each of two virtual stages, of all micro-batches or, where gradients are divided, of each of four.

    With `overlap: false` those of the last micro-batch come after all of backward.
    """
    (plan,) = plans("b.astra", BUCKETS.replace("SHARD", shard).encode())
    for program, count in zip(plan.programs, each_stage, strict=True):
        reductions = [
            step for step in program.steps if isinstance(step.action, Communicate) and step.phase.value == "reduction"
        ]
        assert len(reductions) == count
        backward = max(step.id for step in program.steps if step.phase.value.endswith("_gradient"))
        last = [step for step in reductions if step.micro_batch is None]
        assert len(last) == 2
        assert all(step.id > backward for step in last)
        assert {step.micro_batch for step in reductions if step not in last} == (
            {0, 1, 2} if shard == "gradients" else set()
        )


def test_stages_that_do_alike_share_their_steps_and_keep_their_names():
    shared = 0
    for path in (SPECS / "megatron_64.astra", *range(1000, 1030)):
        name, data = (
            (str(path), path.read_bytes()) if isinstance(path, Path) else ("r.astra", random_spec(path).encode())
        )
        for sampled, meant in zip(plans(name, data, brief=Brief.SAMPLED), plans(name, data), strict=True):
            if sampled is not None:
                assert whole(sampled, None).value == meant
                shared += sum(program.twin is not None for program in sampled.programs)
    assert shared > 20
