"""The words that a schema allows are the rows of a table: who forgets one of them is told which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from astrac.models.model import Role
from astrac.training.compute.systolic import SPATIAL
from astrac.training.strategies.context import METHODS
from astrac.training.strategies.data import SHARDS
from astrac.training.strategies.optimizer import OPTIMIZERS
from astrac.training.strategies.pipeline import SCHEDULES
from astrac.training.strategies.placement import KINDS
from astrac.training.strategies.precision import DATA_TYPES
from astrac.training.strategies.tensor import CUTS

SCHEMAS = Path(__file__).parents[1] / "schemas"

WORDS = {
    "an optimizer": (OPTIMIZERS, "training.schema.json", ("properties", "optimizer", "enum")),
    "a pipeline schedule": (SCHEDULES, "strategies/pipeline.schema.json", ("properties", "schedule", "enum")),
    "a context method": (METHODS, "strategies/context.schema.json", ("properties", "method", "enum")),
    "a sharding": (SHARDS, "strategies/data.schema.json", ("properties", "shard", "enum")),
    "a data type": (DATA_TYPES, "model.schema.json", ("$defs", "layer", "properties", "precision", "enum")),
    "a data type with a peak": (DATA_TYPES, "hardware.schema.json", ("properties", "peak", "properties")),
    "a dataflow": (SPATIAL, "hardware.schema.json", ("properties", "systolic", "properties", "dataflow", "enum")),
}


@pytest.mark.parametrize("rows, file, path", WORDS.values(), ids=WORDS)
def test_a_word_of_the_schema_is_a_row(rows, file, path):
    words = json.loads((SCHEMAS / file).read_text())
    for step in path:
        words = words[step]
    assert not set(words) - set(rows), f"{file} allows words that have no row"
    assert not set(rows) - set(words), f"{file} does not allow what there is a row for"


def test_every_axis_has_a_schema():
    assert {path.name.partition(".")[0] for path in (SCHEMAS / "strategies").iterdir()} == set(KINDS)


def test_every_role_of_a_layer_says_what_the_tensor_axis_cuts():
    assert set(CUTS) == set(Role)
