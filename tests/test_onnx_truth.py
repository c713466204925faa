"""Real exports, the zoo and files with one trap each: every row against an answer that was derived without astrac."""

from __future__ import annotations

import csv
import json
from itertools import groupby
from pathlib import Path

import onnx
import pytest

from astrac.models import table
from astrac.models.onnx import read_model

DATA = Path(__file__).parent / "onnx"
WHEEL = Path(onnx.__file__).parent / "backend/test/data/light"


def lines(*names):
    return DATA.joinpath(*names).read_text(encoding="utf-8").splitlines()


TRUTH = {
    name: [{column: row[column] for column in row if column != "model"} for row in rows]
    for name, rows in groupby(csv.DictReader(lines("truth.csv")), key=lambda row: row["model"])
}

ALSO = {
    "light_resnet50": ["zoo:resnet50"],
    "vgg16_mxnet": ["zoo:vgg16", "vgg16_mxnet_cos", "vgg16_mxnet_external"],
    "vgg19_mxnet": ["zoo:vgg19", "vgg19_mxnet_cos", "vgg19_mxnet_external"],
    "resnet50_mxnet": ["resnet50_mxnet_external"],
}
"""Further sources with the same rows; a plain name is a file of `models/`."""

SOURCES = [(name, source) for name in TRUTH for source in [*([] if "mxnet" in name else [name]), *ALSO.get(name, [])]]


def path(source):
    folder = WHEEL if source.startswith("light_") else DATA / "models"
    return source if source.startswith("zoo:") else str(folder / f"{source}.onnx")


@pytest.mark.parametrize("name, source", SOURCES, ids=[source for _, source in SOURCES])
def test_rows(name, source):
    if source.startswith("light_") and not Path(path(source)).exists():
        pytest.skip("this onnx ships no light models")
    bind = {"seq": 16} if "gpt2" in name and "functions" not in name else {}
    model = read_model("m", path(source), batch=1, bind=bind).value
    rows = [table.record(layer, [other.name for other in model.layers]) for layer in table.rows(model)]
    assert [{column: str(row[column]) for column in TRUTH[name][0]} for row in rows] == TRUTH[name]


TOTALS = {
    # name: parameters in the file, parameters that train, MACs
    "light_densenet121": (8_062_504, 7_978_856, 2_834_161_664),
    "light_inception_v2": (11_214_888, 11_194_984, 2_018_851_840),
    "zoo:resnet50": (25_557_032, 25_557_032, 4_089_184_256),
    "zoo:vgg16": (138_357_544, 138_357_544, 15_470_264_320),
    "zoo:vgg19": (143_667_240, 143_667_240, 19_632_062_464),
    "resnet50_dynamo": (25_530_472, 25_530_472, 4_089_184_256),
    "fresh_resnet50_dynamo": (25_503_912, 25_503_912, 4_089_184_256),
    "fresh_resnet50_ts_nofold": (25_557_032, 25_557_032, 4_089_184_256),
}


@pytest.mark.parametrize("source, expected", TOTALS.items(), ids=TOTALS)
def test_totals(source, expected):
    if source.startswith("light_") and not Path(path(source)).exists():
        pytest.skip("this onnx ships no light models")
    model = read_model("m", path(source), batch=1).value
    assert (model.params, model.trainable_params, model.macs) == expected


def test_folded_tie_is_noted_and_can_be_tied():
    source, bind = path("gpt2tiny_ts"), {"seq": 16}
    untied = read_model("m", source, batch=1, bind=bind)
    assert [finding.code for finding in untied.diagnostics] == ["AS831"]
    tied = read_model("m", source, batch=1, bind=bind, ties=[("wte.weight", "onnx::MatMul_299")])
    assert (untied.value.params, tied.value.params, tied.diagnostics) == (232_192, 168_192, ())
    assert table.totals(tied.value, ())["file_params"] == 232_192


def test_llama_7b():
    # 32 x (4 x 4096^2 + 3 x 4096 x 11008 + 2 x 4096) + 2 x 32000 x 4096 + 4096; MACs at 2,048 tokens in closed form.
    model = read_model("m", path("llama7b_external"), batch=1, bind={"seq": 2048}).value
    per_layer = 2048 * (4 * 4096**2 + 3 * 4096 * 11008) + 2 * 2048**2 * 4096
    assert (model.params, model.macs) == (6_738_415_616, 32 * per_layer + 2048 * 4096 * 32000)


def test_resnet50_is_the_simulators_own_table():
    rows, model = list(csv.DictReader(lines("astra_sim_resnet50.csv"))), read_model("m", "zoo:resnet50").value
    ours = list(csv.DictReader(table.render(model, "csv", weights_only=True).splitlines()))
    weights = {layer.weight.name: layer.name for layer in model.layers if layer.weight}
    found = {row["layer"]: row["weight_bytes"] for row in ours}
    assert len(ours) == len(rows) == 54
    assert [found[weights[row["onnx_weight"]]] for row in rows] == [row["weight_gradient_bytes"] for row in rows]
    assert sum(int(row["weight_bytes"]) for row in ours) == 102_011_648


def cases(folder):
    return [pytest.param(case, id=case["file"]) for case in map(json.loads, lines(folder, "expected.jsonl"))]


def read_case(folder, case):
    bind = dict(case["bind"])
    batch = bind.pop("batch", None)
    return read_model("m", str(DATA / folder / case["file"]), batch=batch, bind=bind)


@pytest.mark.parametrize("case", cases("cases"))
def test_case(case):
    result = read_case("cases", case)
    if case.get("refused"):
        assert result.value is None
        assert [finding.is_error for finding in result.diagnostics] == [True]
        return
    rows = [list(table.cells(layer)[1:]) for layer in table.rows(result.value)]
    assert (rows, result.value.params, result.value.macs) == (case["layers"], case["params"], case["macs"])


@pytest.mark.parametrize("case", cases("field"))
def test_field_case(case):
    model = read_case("field", case).value
    sums, expected = table.totals(model, ()), case["totals"]
    found = {key: sums[key] for key in ("params", "weight_bytes", "macs", "flops")}
    assert {"dp_grad_elems": model.trainable_params, **found} == expected
    assert sums["state_elements"] == case["state"]
    rows = {layer.name: layer for layer in table.rows(model)}
    names = {layer.name.removesuffix("/mm") for layer in rows.values()}
    assert len(names) == len(rows)
    for name, op, _, macs, weight_gradient, input_gradient in case["layers"]:
        layer = rows.get(name) or rows.get(f"{name}/mm")
        if layer is not None:  # a bias is part of its product here; names of nameless nodes are free
            assert (layer.op, layer.macs, layer.weight_gradient_macs) == (op, macs, weight_gradient)
            assert layer.input_gradient_macs == input_gradient


STRANGERS = {
    "16a_lfs_pointer": ("AS602", "a Git LFS pointer"),
    "16b_empty": ("AS602", "empty (0 bytes)"),
    "16c_truncated": ("AS603", "at byte 14 of 1,498"),
    "16d_text": ("AS602", "a text file"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_no_model(name):
    result = read_model("m", str(DATA / "field" / f"{name}.onnx"))
    code, words = STRANGERS[name]
    assert result.value is None
    assert [(finding.code, words in finding.message) for finding in result.diagnostics] == [(code, True)]
