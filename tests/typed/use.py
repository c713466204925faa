"""How somebody else's program uses the Python interface; type checkers run over it, and a test runs it."""

import pickle
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import astrac


def fastest(spec: Path, speeds: Sequence[str], executor: Executor) -> astrac.Row | None:
    table = astrac.sweep(spec, {"rail_speed": speeds}, profile="smoke", executor=executor)
    assert_type(table, astrac.Table)
    assert_type(table.rows, tuple[astrac.Row, ...])
    assert_type(table[0], astrac.Row)
    assert_type(table[:1], astrac.Table)
    return table.best


def main(specs: Path, folder: Path) -> None:
    gpt = specs / "gpt3_1024.astra"
    report = astrac.check(gpt, {"rail_speed": "1 Tbps"}, profile="smoke")
    assert_type(report, astrac.Report)
    assert_type(report.findings, tuple[astrac.Finding, ...])
    assert_type(report.ok, bool)

    spec = astrac.load(gpt).having({"rail_speed": "800 Gbps", "training.micro_batch": 1}, profile="smoke")
    assert_type(spec, astrac.Spec)
    row = astrac.estimate(spec)
    assert_type(row, astrac.Estimation)
    assert_type(row.step_time, float | None)
    assert_type(row.cycles_max, int | None)
    assert_type(row.estimate, astrac.Estimate | None)
    assert_type(row.to_dict(), dict[str, Any])
    assert row.ok

    with ThreadPoolExecutor(2) as threads:
        best = fastest(gpt, ["200 Gbps", "400 Gbps"], threads)
    assert best is not None
    assert best.settings[0].text == "400 Gbps"
    assert pickle.loads(pickle.dumps(best)) == best

    ring = (specs / "resnet50_ring.astra").read_text()
    values = astrac.estimate(ring, {"hardware.efficiency": 0.5, "ring8.nvlink.size": 8, "system.chunks": Fraction(4)})
    assert values.ok, values.findings
    table = astrac.sweep(ring, {("ring8.nvlink.size", "training.global_batch"): [(4, 128), (8, 256)]}, jobs=1)
    assert_type(table.best, astrac.Row | None)
    assert [row["ring8.nvlink.size"] for row in table] == [4, 8]

    found = astrac.search(ring, settings={"training.global_batch": 64}, jobs=1)
    assert_type(found, astrac.Found)
    assert_type(found.best, astrac.Row | None)
    assert_type(found.front, tuple[astrac.Row, ...])
    assert_type(found.counts.refused, tuple[tuple[str, int], ...])
    assert found.counts.considered == 1

    built = astrac.build(ring, folder, targets=["astra-sim-2"])
    assert_type(built.folder, Path | None)
    assert built.folder == folder
