"""A value that a key cannot have fails the point that has it, not the sweep."""

from pathlib import Path

import pytest

from astrac import cli
from astrac.api.checking import Options, check
from astrac.api.compiling import compile_data, examine, once
from astrac.diagnostics import diagnostic
from astrac.source import Source

SPEC = """use "std/hardware/h100.astra"
hardware: h100_sxm
topology t {{ switch s {{ size: 8, bandwidth: 450 GB/s, latency: 300 ns }} }}
model {{ collective {{ kind: all_reduce, size: 1 MB }} }}
{}
"""


def test_what_is_wrong_with_one_point_is_of_that_point():
    points, found = check("a.astra", SPEC.format("sweep { topology.s.size: [0, 4, 8] }").encode(), Options())
    assert found == ()
    assert [[each.code for each in point.diagnostics] for point in points] == [["AS410"], [], []]
    assert [point.spec is None for point in points] == [True, False, False]


def test_what_is_wrong_with_all_is_told_of_none():
    text = SPEC.format("sweep { topology.s.size: [4, 8] }\nsystem { chunks: 0 }")
    points, found = check("a.astra", text.encode(), Options())
    assert points is None
    assert [each.code for each in found] == ["AS410"]


def test_the_others_are_built(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.astra").write_text(SPEC.format("sweep { topology.s.size: [0, 4, 8] }"))
    assert cli.main(["build", "a.astra", "-o", "out"]) == 1
    assert sorted(path.name for path in Path("out").iterdir()) == ["topology.s.size=4", "topology.s.size=8"]
    assert capsys.readouterr().err.count("error[AS410]: `size` must be at least 1\n") == 1
    assert cli.main(["check", "a.astra"]) == 1
    assert cli.main(["estimate", "a.astra"]) == 1


def test_what_several_points_have_in_common_is_told_once():
    text = SPEC.format("sweep { topology.s.size: [0, 4, -1] }")
    found = [each.hints for each in examine("a.astra", text.encode()) if each.message == "`size` must be at least 1"]
    assert found == [(f"at the sweep's point topology.s.size={size}",) for size in (0, -1)]  # two places in the list
    text = SPEC.format("sweep { topology.s.latency: [1 ns, 2 ns, 3 ns] }").replace("450 GB/s", "450 PB/s")
    (found,) = (each for each in examine("a.astra", text.encode()) if "450 PB/s" in each.message)
    assert found.hints[-1] == "at the sweep's point topology.s.latency=1ns and 2 more"


def test_findings_of_several_specs_are_not_mixed():
    place = Source("a", "x").span(0, 1)
    alike = [diagnostic("AS301", "m", place), diagnostic("AS301", "m", place, hints=("a",))]
    assert once([alike[:1], alike[1:], alike[:1]]) == tuple(alike)


ONES = """use "std/hardware/h100.astra"
use "std/model/llama3.astra"
hardware: h100_sxm
let nodes = 1
topology t {{
{}
}}
model llama from llama3_8b {{ transformer {{ layers: 2 }} }}
parallelism {{
  tensor {{ degree: 8, on: [nvlink], sequence_parallel: true }}
  data {{ on: [{}], shard: optimizer }}
}}
training {{ global_batch: 64, micro_batch: 1, precision: bf16 }}
system {{ chunks: 4 }}
"""
WIDE = [
    "  switch nvlink { size: 8, bandwidth: 450 GB/s, latency: 300 ns }",
    "  ring rail { size: 2, bandwidth: 50 GB/s, latency: 1 us, algorithm: direct }",
]
ONE = "  switch more { size: nodes, bandwidth: 90 GB/s, latency: 2 us, algorithm: halving_doubling }"


def built(text):
    (result,) = compile_data("a.astra", text.encode())
    assert result.ok, result.diagnostics
    return {
        each.path: b"".join(each.contents()) for each in result.value.bundle.artifacts if each.path != "manifest.json"
    }


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("names", ["rail, more", "more, rail"])
def test_a_dimension_of_one_is_not_written(at, names):
    lines = [*WIDE[:at], ONE, *WIDE[at:]]
    expected = built(ONES.format("\n".join(WIDE), "rail"))
    assert built(ONES.format("\n".join(lines), names)) == expected


def test_a_sweep_over_sizes_begins_at_one():
    text = ONES.format("\n".join([WIDE[0], ONE]), "more")
    text += "sweep { nodes: [1, 2, 4] }\nassert topology.t.more.size == nodes"
    results = compile_data("a.astra", text.encode())
    assert [result.ok for result in results] == [True] * 3
    assert [result.value.estimate.npus for result in results] == [8, 16, 32]
    assert examine("a.astra", text.encode()) == ()


def test_a_place_in_a_topology_with_a_one_is_the_right_one():
    bad = WIDE[1].replace("size: 2", "size: 6").replace("direct", "halving_doubling")
    text = ONES.format("\n".join([WIDE[0], ONE, bad]), "rail")
    (found,) = (each for each in examine("a.astra", text.encode()) if each.code == "AS521")
    assert found.labels[0].span.first.line == 8
    assert found.labels[1].text == "`rail` has 6 NPUs"


def test_one_npu_is_refused_point_by_point():
    text = SPEC.format("sweep { topology.s.size: [1, 4, 8] }")
    points, found = check("a.astra", text.encode(), Options())
    assert found == ()
    assert [[each.code for each in point.diagnostics] for point in points] == [["AS545"], [], []]
