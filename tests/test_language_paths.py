"""Paths of settings, sweeps and assertions: a step is the name of a block, its kind, or its kind and then its name."""

import pytest

from language import SPEC, findings, tree


@pytest.mark.parametrize(
    "path", ["topology.rail.size", "pod.rail.size", "topology.pod.rail.size", "topology.pod.switch.rail.size"]
)
def test_a_setting_finds_its_block(path):
    text = SPEC.replace("switch nvlink", "ring nvlink")  # so that `switch` is one block
    dimensions = tree(text, settings=(f"{path}=8",))["topology"]["dimensions"]
    assert [dimension["size"] for dimension in dimensions] == [8, 8]


@pytest.mark.parametrize("path", ["model.transformer.layers", "model.m.transformer.layers", "m.transformer.layers"])
def test_an_assertion_and_a_sweep_find_their_block(path):
    assert findings(f"{SPEC}assert {path} == 4\n") == ()
    assert [found.code for found in findings(f"{SPEC}assert {path} == 5\n")] == ["AS590"]
    swept = f"{SPEC}sweep {{ {path}: [4, 8], where: {path} > 4 }}\n"
    assert tree(swept)["model"]["transformer"]["layers"] == 8


def test_a_name_of_another_block_leads_nowhere():
    assert [found.code for found in findings(f"{SPEC}assert topology.m.rail.size == 4\n")] == ["AS211"]
