"""Damaged models end in an answer or in an error; `bench/bench_onnx.py` tries many more."""

from __future__ import annotations

from astrac.models import table
from astrac.models.onnx import read_model
from onnx_mutations import damaged


def test_damaged_models():
    for data in damaged(seed=20, count=400):
        result = read_model("m", data, batch=1)
        if result.value is None:
            assert [finding.is_error for finding in result.diagnostics].count(True) == 1
            assert "\n" not in result.diagnostics[0].message
        else:
            for form in ("text", "csv", "json"):
                assert table.render(result.value, form, all_rows=True)
