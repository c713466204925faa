"""Models as exporters write them, with the parameters and multiply-accumulates that the module has."""

from pathlib import Path

import pytest
from onnx import TensorProto

import onnx_models
from astrac.api.compiling import plan_data
from astrac.api.modelling import layers_of_spec
from astrac.models import table
from astrac.models.onnx import read_model
from onnx_models import ints, node, value, weight

HERE = Path(__file__).parent / "cases" / "onnx"


def read(name, **options):
    return read_model("m", HERE / f"{name}.onnx", **options)


RIGHT = {
    "mask_b2_anon": (128, 8192),  # a causal mask, folded for a batch of two
    "where_scalar_mask": (64, 6144),  # Where(constant, 0, -1e9): the two numbers fill a mask
    "groupnorm_ts": (80, 6144),  # conv 16 x 3, scale 16, shift 16; ones and zeros of the instance norm are not trained
    "a_log": (768, 6144),  # Mamba: -exp(A_log), 32 x 8, scales activations
    "while_counter": (96, 3840),  # 20 iterations of 2 x (4 x 8 + 8 x 8), ended by `i + 1 < 20`
    "split_seq_uneven": (192, 6144),  # a weight of 24 rows, 8 and 16 of them taken out of a sequence
    "seq_loop_concat": (80, 320),  # rows put into a sequence one by one, joined again
    "const_conv_pos": (78, 7680),  # 1,536 of them over a fixed grid of 256 numbers
    "embedding_bags": (3473, 2048),  # two nn.EmbeddingBag by the dynamo exporter, 3,473 parameters in torch
}
"""Parameters and MACs."""


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_trained(name):
    result = read_model(name, HERE / f"{name}.onnx")
    assert result.value is not None, [found.message for found in result.diagnostics]
    layers = result.value.layers
    assert (sum(layer.params for layer in layers), sum(layer.macs for layer in layers)) == RIGHT[name]
    assert all(layer.trainable for layer in layers if layer.params)


def test_a_node_without_the_inputs_that_it_needs():
    (found,) = read_model("m", HERE / "crash_index_error.onnx").diagnostics
    assert found.code == "AS611"
    assert "`relu_y` (Gather)" in found.message or "(Gather)" in found.message
    assert "1 input and needs 2" in found.message


def scores(mask, *between, heads=True, stored=()):
    """Products of two activations, [2, 4, 16, 16] or [2, 16, 16], with a constant added before the softmax."""
    shape = (2, 4, 16, 8) if heads else (2, 16, 8)
    turned = [0, 1, 3, 2] if heads else [0, 2, 1]
    nodes = [
        node("MatMul", ["x", "w"], ["q"]),
        node("Transpose", ["x"], ["k"], perm=turned),
        node("MatMul", ["q", "k"], ["s0"]),
        *between,
        node("Add", [f"s{len(between)}", "m"], ["masked"]),
        node("Softmax", ["masked"], ["y"]),
    ]
    tensors = [weight("w", 8, 8), weight("m", *mask), *stored]
    return read_model("m", onnx_models.model([value("x", *shape)], nodes, tensors)).value.params - 64


@pytest.mark.parametrize(
    "mask", [(16, 16), (1, 1, 16, 16), (2, 1, 16, 16), (2, 1, 1, 16), (2, 4, 16, 16), (16,), (1, 1, 1, 16)]
)
def test_what_hides_keys_does_not_train(mask):
    assert scores(mask) == 0


def test_a_bias_of_each_head_trains():
    assert scores((1, 4, 16, 16)) == 4 * 16 * 16
    assert scores((4, 16, 16)) == 4 * 16 * 16


def test_masks_are_found_behind_a_cap_and_a_scale():
    cap = [
        node("Div", ["s0", "c"], ["s1"]),
        node("Tanh", ["s1"], ["s2"]),
        node("Mul", ["s2", "c"], ["s3"]),
    ]
    assert scores((2, 1, 16, 16), *cap, stored=[weight("c")]) == 0


def test_masks_after_a_bias_of_relative_positions():
    bias = [node("Add", ["s0", "b"], ["s1"])]
    assert scores((2, 1, 16, 16), *bias, stored=[weight("b", 1, 4, 16, 16)]) == 4 * 16 * 16


def test_positions_train_after_a_layer():
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "p"], ["y"])]
    made = onnx_models.model([value("x", 2, 16, 8)], nodes, [weight("w", 8, 8), weight("p", 1, 16, 8)])
    assert read_model("m", made).value.params == 64 + 128


@pytest.mark.parametrize("used", ["Add", "Mul"])
def test_one_number_that_fills_a_tensor_does_not_train(used):
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("Where", ["c", "zero", "low"], ["fill"]),
        node(used, ["r", "fill"], ["y"]),
    ]
    tensors = [weight("w", 8, 8), weight("c", 8, dtype=TensorProto.BOOL), weight("zero"), weight("low", 1)]
    assert read_model("m", onnx_models.model([value("x", 2, 16, 8)], nodes, tensors)).value.params == 64


def test_tables_of_a_rotation_do_not_train_and_decays_do():
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("Mul", ["r", "t"], ["y"]),
    ]
    tensors = [weight("w", 8, 8), weight("t", 16, 8)]
    assert read_model("m", onnx_models.model([value("x", 2, 16, 8)], nodes, tensors)).value.params == 64
    nodes = [node("Exp", ["t"], ["e"]), node("Neg", ["e"], ["n"]), *nodes[:2], node("Mul", ["r", "n"], ["y"])]
    assert read_model("m", onnx_models.model([value("x", 2, 16, 8)], nodes, tensors)).value.params == 64 + 128


def test_group_norm_over_one_dimension_without_another_shift():
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("Reshape", ["c", "groups"], ["g"]),
        node("InstanceNormalization", ["g", "ones", "zeros"], ["n"]),
        node("Reshape", ["n", "back"], ["b"]),
        node("Mul", ["b", "gamma"], ["y"]),
    ]
    tensors = [weight("w", 16, 3, 1), ints("groups", 0, 4, -1), ints("back", 2, 16, 8)]
    tensors += [weight("ones", 4), weight("zeros", 4), weight("gamma", 16, 1)]
    assert read_model("m", onnx_models.model([value("x", 2, 3, 8)], nodes, tensors)).value.params == 48 + 16


def flops(model):
    """Forward and backward, as PyTorch's counter has them."""
    return 2 * sum(row.macs + row.input_gradient_macs + row.weight_gradient_macs for row in model.layers)


def test_gradients_go_through_time_where_the_input_is_data():
    # 2 x 10 steps x 4 samples: gates 96 x (24 + 32), head 5 x 32; nine steps hand a gradient of 96 x 32 on
    forward, head, through = 2 * 40 * (96 * 56 + 5 * 32), 2 * 40 * 5 * 32, 2 * 9 * 4 * 96 * 32
    assert flops(read("gru_first").value) == forward + forward + head + through == 1_119_744


def test_gradients_of_a_second_recurrent_layer():
    tensors = [weight("w1", 1, 128, 24), weight("w2", 1, 128, 32), weight("r1", 1, 128, 32), weight("r2", 1, 128, 32)]
    nodes = [
        node("LSTM", ["x", "w1", "r1"], ["a"], hidden_size=32),
        node("Squeeze", ["a", "one"], ["b"]),
        node("LSTM", ["b", "w2", "r2"], ["y"], hidden_size=32),
    ]
    made = onnx_models.model([value("x", 10, 4, 24)], nodes, [*tensors, ints("one", 1)])
    first, second = read_model("m", made).value.layers
    assert first.weight_gradient_macs == 40 * 128 * 56 + 36 * 128 * 32
    assert second.weight_gradient_macs == 40 * 128 * 64
    assert second.input_gradient_macs == 40 * 128 * 32 + 36 * 128 * 32


@pytest.mark.parametrize("op, gates, inside", [("LSTM", 4, 6), ("GRU", 3, 5), ("RNN", 1, 1)])
@pytest.mark.parametrize("outputs", [["y"], ["", "y"]])
def test_recurrent_nets_keep_their_insides(op, gates, inside, outputs):
    tensors = [weight("w", 1, gates * 32, 24), weight("r", 1, gates * 32, 32)]
    made = onnx_models.model([value("x", 10, 4, 24)], [node(op, ["x", "w", "r"], outputs, hidden_size=32)], tensors)
    (row,) = read_model("m", made).value.layers
    assert row.kept_elements == 40 * (24 + inside * 32)


def test_what_an_lstm_of_a_file_keeps():
    assert sum(4 * row.kept_elements for row in read("lstm").value.layers) >= 34_560


def test_of_two_activations_only_what_learns_gets_a_gradient():
    assert flops(read("one_sided_product").value) == 6144


def test_a_quantised_recurrent_net_is_counted():
    model = read("dynamic_quantize_lstm").value
    assert (model.params, model.macs) == (48_836, 1_812_480)


def test_samples_of_a_recurrent_net_lie_behind_its_steps():
    model = read("lstm", batch=8).value
    assert (read("lstm").value.batch, model.batch, model.macs) == (4, 8, 10 * 8 * 128 * 56)


def test_an_input_that_is_turned_first_begins_with_its_samples():
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("LSTM", ["t", "w", "r"], ["y"], hidden_size=32)]
    made = onnx_models.model([value("x", 4, 10, 24)], nodes, [weight("w", 1, 128, 24), weight("r", 1, 128, 32)])
    assert read_model("m", made, batch=8).value.macs == 10 * 8 * 128 * 56


def test_a_shape_against_a_fixed_one_is_an_error_with_both():
    nodes, tensors = [node("Conv", ["x", "w"], ["y"])], [weight("w", 4, 3, 1, 1)]
    made = onnx_models.model([value("x", 1, 3, 224, 224)], nodes, tensors)
    (found,) = read_model("m", made, inputs={"x": ("batch", 3, 160, 160)}, batch=2).diagnostics
    assert found.code == "AS670"
    assert "axis 2 is 224 in the model, 160 here" in found.message
    assert read_model("m", made, inputs={"x": ("batch", 3, 224, 224)}, batch=2).value.batch == 2


def test_a_batch_inside_the_graph_is_named():
    shapes = {"in0": ("batch", 13), "in1": (3, "batch", 4)}
    (found,) = read("dlrm_batch_baked", inputs=shapes, batch=16).diagnostics
    assert found.code == "AS610"
    assert "a fixed batch of 8" in found.message


def test_tensors_that_no_node_reads_are_told():
    nodes, tensors = [node("MatMul", ["x", "w"], ["y"])], [weight("w", 8, 8), weight("old", 20, 20)]
    result = read_model("m", onnx_models.model([value("x", 2, 8)], nodes, tensors))
    assert [(found.code, found.is_error) for found in result.diagnostics] == [("AS838", False)]
    assert "`old` (400 values)" in result.diagnostics[0].message
    assert result.value.params == 64


@pytest.mark.parametrize(
    "name, hint",
    [
        ("resnet50", 'did you mean `"zoo:resnet50"`?'),
        ("resnet50.onnx", 'did you mean `"zoo:resnet50"`?'),
        ("modle.onnx", "did you mean `model.onnx`?"),
        ("nosuch.onnx", None),
    ],
)
def test_a_model_that_is_not_there(tmp_path, name, hint):
    (tmp_path / "model.onnx").write_bytes(b"")
    (found,) = read_model("m", tmp_path / name).diagnostics
    assert (found.code, found.hints) == ("AS601", () if hint is None else (hint,))


FROZEN = """use "std/hardware/a100.astra"
topology t {{ ring r {{ size: 2, bandwidth: 50 GB/s, latency: 500 ns }} }}
hardware gpu from a100_sxm_80g {{ efficiency: 45 % }}
model m {{
  onnx: "{path}"
{layers}
}}
parallelism {{ data {{ degree: 2 }} }}
training {{ global_batch: 6, micro_batch: 3, precision: fp32, optimizer: sgd }}
"""


@pytest.mark.parametrize(
    "frozen, kept, trained",
    [
        # two hidden layers of 16 behind 8 inputs, 4 results, three samples: a layer keeps its input for its own
        # weights, a ReLU its result where a gradient goes through it
        ((), 8 + 16 + 16, 144 + 272 + 68),
        (("0", "2"), 16, 68),
        (("0",), 16 + 16, 272 + 68),
        (("2",), 8 + 16 + 16, 144 + 68),
        (("4",), 8 + 16 + 16, 144 + 272),
        (("2", "4"), 8 + 16 + 16, 144),
        (("0", "2", "4"), 0, 0),
    ],
)
def test_what_is_kept_under_frozen_layers(tmp_path, frozen, kept, trained):
    (tmp_path / "frozen.onnx").write_bytes((HERE / "frozen.onnx").read_bytes())
    layers = "\n".join(f'layer "{name}" {{ freeze: true }}' for name in frozen)
    text = FROZEN.format(path="frozen.onnx", layers=layers).encode()
    layered = layers_of_spec(str(tmp_path / "a.astra"), text).value
    totals = table.totals(layered.model, table.rows(layered.model), layered.widths)
    assert (totals["kept_bytes"], totals["trainable_params"]) == (3 * kept * 4, trained)
    (found,) = plan_data(str(tmp_path / "a.astra"), text)
    assert {program.memory.activations for program in found.value.plan.programs} == {3 * kept * 4}


def test_of_two_activations_each_is_kept_for_the_other():
    # fc keeps z, 2 x 8 x 8, for its weight; of x @ fc(z) only fc(z) learns, whose gradient needs x, 2 x 16 x 8
    rows = {row.name: row.kept_elements for row in read("one_sided_product").value.layers}
    assert rows == {"fc": 128, "mix": 256}
    model = onnx_models.model(
        [value("x", 2, 8), value("z", 2, 8)],
        [node("MatMul", ["z", "w"], ["a"]), node("Mul", ["a", "a"], ["b"], "square"), node("Relu", ["x"], ["y"], "r")],
        [weight("w", 8, 8)],
        "b y",
    )
    rows = {row.name: row.kept_elements for row in read_model("m", model).value.layers}
    assert (rows["square"], rows["r"]) == (16, 0)  # a square keeps what it squares, what nothing trains before nothing


def layer_of(data, weight_name, bias, result, scope=""):
    """A product with a bias, as the dynamo exporter writes nn.Linear."""
    made = [node("MatMul", [data, weight_name], [f"{result}.m"]), node("Add", [f"{result}.m", bias], [result])]
    if scope:
        made[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value=f"['', '{scope}', 'linear']")
    return made


def blocks(biases, count=3):
    """A block of two layers and a ReLU, `count` times, each use with transposed weights of its own."""
    nodes, data = [], "x"
    for use in range(count):
        first, second = (bias.format(use) for bias in biases)
        nodes += layer_of(data, f"val_{use}0", first, f"a{use}")
        nodes.append(node("Relu", [f"a{use}"], [f"r{use}"]))
        nodes += layer_of(f"r{use}", f"val_{use}1", second, f"b{use}")
        data = f"b{use}"
    stored = [weight(f"val_{use}{half}", 8, 8) for use in range(count) for half in (0, 1)]
    names = dict.fromkeys(bias.format(use) for use in range(count) for bias in biases)
    stored += [weight(name, 8) for name in names]
    result = read_model("m", onnx_models.model([value("x", 2, 8)], nodes, stored, data)).value
    return result.params, result.params + result.tied_params


def test_folded_copies_of_a_block_that_runs_several_times_are_one():
    assert blocks(("query.bias", "key.bias")) == (2 * (64 + 8), 6 * 64 + 2 * 8)


def test_biases_that_an_exporter_merges_make_no_tie():
    assert blocks(("zero.bias", "zero.bias")) == (6 * 64 + 8,) * 2
    assert blocks(("{}.a.bias", "zero.bias")) == (6 * 64 + 4 * 8,) * 2
    assert blocks(("{}.a.bias", "{}.b.bias")) == (6 * 64 + 6 * 8,) * 2


def test_a_bias_comes_again_with_its_weight():
    # nn.ModuleList([block] * 2), whose two biases of equal numbers the exporter merges, in other modules by their names
    nodes = [
        *layer_of("x", "w", "zero.bias", "a", "l.0.a"),
        *layer_of("a", "v", "zero.bias", "b", "l.0.b"),
        *layer_of("b", "w", "zero.bias", "c", "l.1.a"),
        *layer_of("c", "v", "zero.bias", "y", "l.1.b"),
    ]
    stored = [weight("w", 8, 8), weight("v", 8, 8), weight("zero.bias", 8)]
    assert read_model("m", onnx_models.model([value("x", 2, 8)], nodes, stored)).value.params == 2 * (64 + 8)


def test_positions_made_by_layers_over_a_fixed_table():
    # continuous position bias: 9 coordinates through two layers, added to activations
    nodes = [
        *layer_of("coords", "w1", "b1", "h"),
        node("Relu", ["h"], ["r"]),
        node("MatMul", ["r", "w2"], ["p"], "second"),
        *layer_of("x", "w0", "b0", "a"),
        node("Add", ["a", "p"], ["y"]),
    ]
    stored = [weight("coords", 9, 2), weight("w1", 2, 16), weight("b1", 16), weight("w2", 16, 4)]
    made = onnx_models.model([value("x", 5, 9, 3)], nodes, [*stored, weight("w0", 3, 4), weight("b0", 4)])
    result = read_model("m", made).value
    assert (result.params, result.macs) == (32 + 16 + 64 + 12 + 4, 9 * 32 + 9 * 64 + 45 * 12)


def test_an_adapter_is_no_layer_over_a_fixed_table():
    nodes = [
        node("MatMul", ["b", "a"], ["ba"]),
        node("Add", ["w", "ba"], ["merged"]),
        node("MatMul", ["x", "merged"], ["y"]),
    ]
    made = onnx_models.model([value("x", 2, 8)], nodes, [weight("b", 8, 2), weight("a", 2, 8), weight("w", 8, 8)])
    result = read_model("m", made).value
    assert (result.params, result.macs) == (64 + 32, 128)
