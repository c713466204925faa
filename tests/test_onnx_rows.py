"""Every row of every small file, and what is said about each file, for reading: what a graph becomes."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from astrac.models.onnx import read_model
from astrac.models.onnx.drafts import _per_channel
from astrac.models.onnx.report import _some
from astrac.models.table import ElementBytes, compare, render
from test_onnx_graphs import ADVICE, GRAPHS, REFUSED, VECTOR_FLOPS

DATA = Path(__file__).parent / "onnx"
LAYERS = 120
"""Models of more are left out: their rows repeat."""


def text(title, result):
    """A model as lines: findings, totals, then each row with what it owns, computes, moves, keeps and reads."""
    yield f"== {title}"
    yield from (f"{item.code} {item.message}" for item in result.diagnostics)
    model = result.value
    if model is None:
        return
    yield f"batch {model.batch}, {model.tied_params} tied, {model.digest[7:23]}"
    for layer, cut in zip(model.layers, (*model.cuts, ""), strict=True):
        tensors = (f"{'x'.join(map(str, item.shape))}:{item.elements}:{item.bytes}" for item in layer.owned)
        yield (
            f"{layer.name} {layer.op} {layer.data_type} [{' '.join(tensors)}] state {layer.state_elements} "
            f"shared {layer.shared_with} reads {layer.weight_reads} macs {layer.macs} {list(map(list, layer.matmuls))} "
            f"vector {layer.vector_flops} in {layer.input_elements} out {layer.output_elements} "
            f"kept {layer.kept_elements} from {list(layer.inputs)} cut {cut}"
            f"{' frozen' * (not layer.trainable)}{' first' * (not layer.input_gradient)}{' idle' * (not layer.runs)}"
        )


def of_files(folder, bind=None):
    for path in sorted((DATA / folder).glob("*.onnx")):
        result = read_model("m", path.read_bytes(), batch=2, bind=bind if "gpt2" in path.name else None)
        if result.value is None or len(result.value.layers) <= LAYERS:
            yield from text(path.name, result)


def of_graphs():
    for title, (data, options, _) in GRAPHS.items():
        yield from text(title, read_model("m", data, **options))
    for title, (_, _, data, options) in REFUSED.items():
        yield from text(title, read_model("m", data, **options))
    for title, (data, *_) in VECTOR_FLOPS.items():
        yield from text(title, read_model("m", data, batch=3))
    for title, (_, _, data) in ADVICE.items():
        yield from text(title, read_model("m", data))


def of_tables():
    """What `astrac layers` shows of a model that has a tie, frozen scales, a bias and rows without weights."""
    graph = GRAPHS["tied table"][0]
    tied, scaled = (read_model("m", data, batch=1).value for data in (graph, GRAPHS["spatial BatchNormalization"][0]))
    for model in (tied, scaled):
        for form in ("text", "csv", "json"):
            for options in ({}, {"weights_only": True}, {"all_rows": True, "widths": ElementBytes(2, 4, 3)}):
                yield f"== {form} {options}"
                yield render(model, form, **options)
    yield compare(tied, scaled)
    yield compare(tied, tied)


TEXTS = {
    "tables": of_tables,
    "cases": lambda: of_files("cases"),
    "field": lambda: of_files("field"),
    "graphs": of_graphs,
    "models": lambda: of_files("models", {"seq": 16}),
}


def test_rows(golden):
    golden(DATA / "golden", {f"{name}.txt": "\n".join(lines()) + "\n" for name, lines in TEXTS.items()})


def test_a_message_names_five_and_counts_the_rest():
    assert _some(["a", "b", "c", "d", "e"]) == "a, b, c, d, e"
    assert _some(["a", "b", "c", "d", "e", "f", "g"]) == "a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    "op, shape, result, is_bias",
    [
        ("MatMul", (8,), (2, 4, 8), True),
        ("MatMul", (1, 1, 8), (2, 4, 8), True),  # as exporters write it, for broadcasting
        ("MatMul", (1,), (4, 1), True),
        ("MatMul", (1, 1), (4, 1), True),
        ("MatMul", (4, 8), (2, 4, 8), False),
        ("MatMul", (1,), (4, 8), False),
        ("MatMul", (), (4, 8), False),
        ("MatMul", (None,), (4, 8), False),
        ("Einsum", (1, 4, 8), (2, 4, 8), True),
        ("Einsum", (2, 4, 8), (2, 4, 8), False),
        ("Conv", (8, 1, 1), (2, 8, 5, 5), True),
        ("Conv", (1, 8, 1, 1), (2, 8, 5, 5), True),
        ("Conv", (8,), (2, 8, 5, 5), False),  # would be one number a column
        ("Conv", (8, 5, 5), (2, 8, 5, 5), False),
    ],
)
def test_what_is_a_bias_a_channel(op, shape, result, is_bias):
    maker = SimpleNamespace(site=SimpleNamespace(output=lambda: result), node=SimpleNamespace(op=op))
    assert _per_channel(shape, maker) is is_bias
