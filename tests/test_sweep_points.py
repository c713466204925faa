"""A value that a key cannot have fails the point that has it, not the sweep."""

from pathlib import Path

from astrac import cli
from astrac.api.checking import Options, check
from astrac.api.compiling import examine, once
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
    assert capsys.readouterr().err.count("error[AS410]: `size` must be at least 2\n") == 1
    assert cli.main(["check", "a.astra"]) == 1
    assert cli.main(["estimate", "a.astra"]) == 1


def test_what_several_points_have_in_common_is_told_once():
    text = SPEC.format("sweep { topology.s.size: [0, 4, 1] }")
    found = [each.hints for each in examine("a.astra", text.encode()) if each.message == "`size` must be at least 2"]
    assert found == [(f"at the sweep's point topology.s.size={size}",) for size in (0, 1)]  # two places in the list
    text = SPEC.format("sweep { topology.s.latency: [1 ns, 2 ns, 3 ns] }").replace("450 GB/s", "450 PB/s")
    (found,) = (each for each in examine("a.astra", text.encode()) if "450 PB/s" in each.message)
    assert found.hints[-1] == "at the sweep's point topology.s.latency=1ns and 2 more"


def test_findings_of_several_specs_are_not_mixed():
    place = Source("a", "x").span(0, 1)
    alike = [diagnostic("AS301", "m", place), diagnostic("AS301", "m", place, hints=("a",))]
    assert once([alike[:1], alike[1:], alike[:1]]) == tuple(alike)
