"""What a file is before it is a model: strangers, damage, payloads that are stepped over, the zoo, the tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys

import pytest
from onnx import ModelProto, SparseTensorProto, TensorProto, helper

from astrac.models import table, zoo
from astrac.models.onnx import read_model
from astrac.models.onnx.skim import skim
from astrac.source import Source
from onnx_models import model, node, value, weight

TENSOR = TensorProto(dims=[2], data_type=TensorProto.FLOAT, raw_data=bytes(8)).SerializeToString()
NEGATIVE = model([value("x", 1)], [node("Relu", ["x"], ["y"])], [weight("w", -1)])
MLP = model([value("x", 2, 4)], [node("MatMul", ["x", "w"], ["y"], "fc")], [weight("w", 4, 3)])

STRANGERS = {
    "zip": ("AS602", "a zip archive", b"PK\x03\x04" + bytes(100)),
    "gzip": ("AS602", "a gzip archive", gzip.compress(MLP)),
    "web page": ("AS602", "a web page", b"\n<!DOCTYPE html><html><body>404</body></html>"),
    "JSON": ("AS602", "JSON", b'{"graph": {}}'),
    "text": ("AS602", "a text file", b"ir_version: 8\ngraph { }\n"),
    "pickle": ("AS602", "a Python pickle", b"\x80\x02}q\x00."),
    "empty": ("AS602", "is empty (0 bytes)", b""),
    "one byte short": ("AS603", "at byte 79 of 97", MLP[:-1]),
    "half": ("AS603", "at byte 2 of", MLP[: len(MLP) // 2]),
    "a field of 2^62 bytes": ("AS603", "at byte 2 of", MLP[:2] + b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x3f"),
    "a message that is none": ("AS603", "cannot be decoded", MLP.replace(b"\x0a\x01x", b"\x0f\x01x", 1)),
    "another protobuf": ("AS604", "no graph", TENSOR),
    "no nodes": ("AS604", "not one node", model([value("x", 1)], [])),
    "negative extent": ("AS603", "negative extent -1", NEGATIVE),
}  # fmt: skip


@pytest.mark.parametrize("code, words, data", STRANGERS.values(), ids=STRANGERS)
def test_no_model(code, words, data):
    result = read_model("m", data)
    assert result.value is None
    assert [(finding.code, words in finding.message) for finding in result.diagnostics] == [(code, True)], result


def test_place_of_the_finding():
    span = Source("a.astra", 'model m { onnx: "x.onnx" }').span(16, 24)
    (finding,) = read_model("m", "x.onnx", span=span).diagnostics
    assert (finding.code, finding.labels[0].span.text) == ("AS601", '"x.onnx"')
    assert finding.message == "cannot read the model `x.onnx`: no such file or directory"


def test_folder_is_no_model(tmp_path):
    assert read_model("m", str(tmp_path)).diagnostics[0].code == "AS601"


def test_payloads_are_stepped_over():
    large = TensorProto(name="w", dims=[4, 3000], data_type=TensorProto.FLOAT, raw_data=bytes(48000))
    data = model([value("x", 2, 4)], [node("MatMul", ["x", "w"], ["y"])], [large])
    short = ModelProto.FromString(skim(data)).graph.initializer[0]
    assert (short.name, list(short.dims), short.raw_data) == ("w", [4, 3000], b"")
    assert len(skim(data)) < 200


def test_payloads_in_bodies_of_nodes_are_stepped_over():
    large = TensorProto(dims=[12000], data_type=TensorProto.FLOAT, raw_data=bytes(48000))
    data = model([value("x", 2, 12000)], [node("Constant", [], ["c"], value=large), node("Mul", ["x", "c"], ["y"])])
    assert len(skim(data)) < 200


PAYLOADS = {
    "float_data": [1.0] * 2000, "int32_data": [1] * 5000, "string_data": [b"abcd"] * 5000, "int64_data": [1] * 5000,
    "raw_data": bytes(9000), "double_data": [1.0] * 2000, "uint64_data": [1] * 5000,
}  # fmt: skip


@pytest.mark.parametrize("name", PAYLOADS)
def test_payloads_of_every_kind_are_stepped_over(name):
    # Strings are stored one by one and stay; all other numbers go, wherever a tensor may stand.
    long = TensorProto(name="w", dims=[9], data_type=TensorProto.FLOAT, **{name: PAYLOADS[name]})
    inner = helper.make_graph([node("Constant", [], ["c"], value=long)], "g", [], [value("c", 9)], [long])
    sparse = SparseTensorProto(values=long, indices=long, dims=[9])
    kinds = {"value": long, "values": [long], "body": inner, "bodies": [inner], "sparse": sparse}
    nodes = [node("Any", ["x"], [f"y{kind}"], **{kind: given}) for kind, given in kinds.items()]
    function = helper.make_function("local", "F", ["a"], ["b"], [node("Any", ["a"], ["b"], value=long)], [])
    data = model([value("x", 2)], nodes, [long], functions=[function], sparse_initializer=[sparse])
    found = ModelProto.FromString(skim(data))
    assert (len(skim(data)) < 1500) == (name != "string_data")
    assert [list(item.dims) for item in found.graph.initializer] == [[9]]
    assert [item.attribute[0].name for item in found.graph.node] == list(kinds)
    assert found.graph.node[2].attribute[0].g.initializer[0].name == "w"


def outside(location: str) -> TensorProto:
    """A weight that lies in another file."""
    tensor = weight("w", 4, 3)
    tensor.data_location = TensorProto.EXTERNAL
    for key, words in (("offset", "0"), ("location", location), ("length", "48")):
        tensor.external_data.add(key=key, value=words)
    return tensor


@pytest.mark.parametrize(
    ("location", "told"), [("w.bin", True), ("there.bin", False), ("../w.bin", False), ("/w.bin", False)]
)
def test_weights_beside_the_file(tmp_path, location, told):
    (tmp_path / "there.bin").touch()
    path = tmp_path / "m.onnx"
    path.write_bytes(model([value("x", 2, 4)], [node("MatMul", ["x", "w"], ["y"], "fc")], [outside(location)]))
    result = read_model("m", str(path))
    assert (result.value.params, result.value.macs) == (12, 24)
    message = f"the weights of `{path}` lie in `{location}`, which is not there; only shapes are needed"
    assert [(item.code, item.message) for item in result.diagnostics] == [("AS834", message)] * told


def test_a_version_that_onnx_does_not_know_yet():
    result = read_model(
        "m", model([value("x", 2, 4)], [node("MatMul", ["x", "w"], ["y"])], [weight("w", 4, 3)], opset=999)
    )
    (finding,) = result.diagnostics
    assert (finding.code, "`m` uses opset 999" in finding.message) == ("AS833", True)


@pytest.mark.parametrize(
    ("op", "extent", "fits"), [("Relu", 2**63 - 1, True), ("Twice", 2**62 - 1, True), ("Twice", 2**62, False)]
)
def test_the_largest_tensor(op, extent, fits):
    nodes = [node("Relu", ["x"], ["y"])] if op == "Relu" else [node("Concat", ["x", "x"], ["y"], axis=0)]
    assert (read_model("m", model([value("x", extent)], nodes)).value is not None) == fits


def field(number: int, length: int, body: bytes) -> bytes:
    """A message inside a message, of which `body` may be only the start."""
    out, rest = bytes([number << 3 | 2]), length
    while rest > 0x7F:
        out, rest = out + bytes([rest & 0x7F | 0x80]), rest >> 7
    return out + bytes([rest]) + body


def with_tensor(tensor: bytes, missing: int = 0) -> bytes:
    """`y = x @ w` with `w` as these bytes, to which `missing` ones are to be added at the end."""
    data = model([value("x", 1, 1 << 15)], [node("MatMul", ["x", "w"], ["y"])])
    graph = ModelProto.FromString(data).graph.SerializeToString()
    graph += field(5, len(tensor) + missing, tensor)
    return b"\x08\x08" + field(7, len(graph) + missing, graph)


@pytest.mark.parametrize("one", [b"\x25" + bytes(4), b"\x28\x01"], ids=["float_data", "int32_data"])
def test_numbers_stored_one_by_one(one):
    # Nobody writes them so, the format allows it: the skimmer hands such a file over to protobuf.
    head = TensorProto(name="w", dims=[1 << 15, 4], data_type=TensorProto.FLOAT).SerializeToString()
    found = read_model("m", with_tensor(head + one * (1 << 17)))
    assert found.value.macs == 1 << 17


def test_weights_of_more_than_two_gigabytes_cost_nothing(tmp_path):
    rows, columns = 1 << 15, 20_000
    head = TensorProto(name="w", dims=[rows, columns], data_type=TensorProto.FLOAT).SerializeToString()
    payload = 4 * rows * columns
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.write(with_tensor(head + field(9, payload, b""), payload))
        file.truncate(file.tell() + payload)  # a hole, which takes no room on disk
    found = read_model("m", str(path)).value
    assert (path.stat().st_size > 2 << 30, found.params, found.macs) == (True, rows * columns, rows * columns)


@pytest.mark.parametrize("name", zoo.MODELS)
def test_zoo_needs_neither_onnx_nor_numpy(name):
    code = (
        f"import sys; from astrac.models.onnx import read_model; print(read_model('m', 'zoo:{name}').value.digest);"
        "assert not {'onnx', 'numpy', 'google.protobuf'} & set(sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == read_model("m", f"zoo:{name}").value.digest


def test_zoo_scales_with_the_batch():
    one, eight = (read_model("m", "zoo:vgg16", batch=batch).value for batch in (None, 8))
    assert (one.batch, eight.batch, eight.macs) == (1, 8, 8 * one.macs)
    assert eight.params == one.params
    assert eight.digest == one.digest


def test_unknown_name_lists_the_zoo():
    (finding,) = read_model("m", "zoo:resnet51").diagnostics
    assert finding.code == "AS605"
    assert finding.hints[0] == "did you mean `resnet50`?"
    assert all(f"`zoo:{name}`" in finding.hints[1] for name in zoo.MODELS)


def test_tables_agree():
    found = read_model("vgg16", "zoo:vgg16").value
    rows = list(csv.DictReader(io.StringIO(table.render(found, "csv"))))
    data = json.loads(table.render(found, "json"))
    assert list(rows[0]) == list(table.COLUMNS)
    assert rows == [{column: str(layer[column]) for column in table.COLUMNS} for layer in data["layers"]]
    assert sum(int(row["params"]) for row in rows) == data["totals"]["params"] == 138_357_544
    assert data["totals"]["weight_bytes"] == 4 * 138_357_544
    assert data["totals"]["flops"] == 2 * data["totals"]["macs"]
    assert "parameters   138.4 M (138,357,544)" in table.render(found, "text")


def test_bytes_are_those_of_the_training():
    # x[2, 4] @ w[4, 3] + b[3]: weights and activations in 2 bytes, gradients in 4.
    data = model([value("x", 2, 4)], [node("Gemm", ["x", "w", "b"], ["y"], "fc")], [weight("w", 4, 3), weight("b", 3)])
    found, widths = read_model("m", data).value, table.ElementBytes(2, 4, 2)
    row = json.loads(table.render(found, "json", widths=widths))["layers"][0]
    assert row["bytes_moved"] == {
        "forward": 2 * (8 + 15 + 6), "input_gradient": 0, "weight_gradient": 2 * (8 + 6) + 4 * 15,
    }  # fmt: skip
    assert (row["kept_bytes"], row["weight_bytes"]) == (16, 48)
    plain = json.loads(table.render(found, "json"))["layers"][0]
    assert plain["bytes_moved"]["forward"] == 4 * (8 + 15 + 6)


def test_weights_only_counts_that_tensor_alone():
    found = read_model("vgg16", "zoo:vgg16").value
    data = json.loads(table.render(found, "json", weights_only=True))
    assert data["layers"][0]["params"] == 3 * 64 * 9
    assert data["totals"]["params"] == sum(layer["params"] for layer in data["layers"]) == 138_344_128


def test_all_rows_are_more_rows_and_the_same_sums():
    found = read_model("resnet50", "zoo:resnet50").value
    some, everything = (json.loads(table.render(found, "json", all_rows=flag)) for flag in (False, True))
    assert some["totals"] == everything["totals"]
    assert (len(some["layers"]), len(everything["layers"])) == (107, 175)
    assert {layer["op"] for layer in everything["layers"]} - {layer["op"] for layer in some["layers"]} == {
        "Relu", "MaxPool", "AveragePool", "Sum", "Softmax",
    }  # fmt: skip


def test_compare_shows_what_differs():
    text = table.compare(*(read_model(name, f"zoo:{name}").value for name in ("vgg16", "vgg19")))
    assert [line for line in text.splitlines() if line.startswith(("+", "-"))] == [
        "+ vgg0_conv7_fwd  Conv  256x256x3x3  590,080 parameters  1,849,688,064 MACs",
        "+ vgg0_conv11_fwd  Conv  512x512x3x3  2,359,808 parameters  1,849,688,064 MACs",
        "+ vgg0_conv12_fwd  Conv  512x512x3x3  2,359,808 parameters  462,422,016 MACs",
    ]
