"""The table of operators against the names of their inputs, as ONNX and com.microsoft define them; counts by hand."""

# Names fill a line, or two.
# ruff: noqa: E501

from onnx import TensorProto, defs

from astrac.models.onnx.decode import DTYPES
from astrac.models.onnx.operators import OPERATORS, Keep, OpKind

CONTRIB = {
    "FusedConv": "X W B Z",
    "FusedGemm": "A B C",
    "FusedMatMul": "A B",
    "QGemm": "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point",
    "MatMulIntegerToFloat": "A B a_scale b_scale a_zero_point b_zero_point bias",
    "DynamicQuantizeMatMul": "A B b_scale b_zero_point bias",
    "MatMulNBits": "A B scales zero_points g_idx bias",
    "MatMulBnb4": "A B absmax",
    "DynamicQuantizeLSTM": "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point",
    "MoE": "input router_probs fc1_weights fc1_bias fc2_weights fc2_bias fc3_weights fc3_bias",
    "com.microsoft.Attention": "input weights bias mask_index past attention_bias past_sequence_length",
    "QAttention": "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    "MultiHeadAttention": "query key value bias key_padding_mask attention_bias past_key past_value",
    "GroupQueryAttention": "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache",
    "GroupNorm": "X gamma beta",
    "SimplifiedLayerNormalization": "X scale",
    "SkipLayerNormalization": "input skip gamma beta bias",
    "SkipSimplifiedLayerNormalization": "input skip gamma bias",
    "EmbedLayerNormalization": "ids segments word_embedding position_embedding segment_embedding gamma beta mask",
    "BiasGelu": "A B",
    "FastGelu": "X bias",
    "BiasAdd": "X bias skip",
    "BiasSplitGelu": "X bias",
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point"),
    **dict.fromkeys(
        ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool", "QLinearGlobalAveragePool"),
        "X X_scale X_zero_point Y_scale Y_zero_point",
    ),
}
"""Inputs of operators of com.microsoft that hold more than data."""

ROLES = {  # operator: weights (the first that is there is the layer's), biases and other vectors that train, auxiliary
    "Conv FusedConv DeformConv ConvTranspose": ("W", "B", ""),
    "ConvInteger": ("w", "", "x_zero_point w_zero_point"),
    "QLinearConv": ("w", "B", "x_scale x_zero_point w_scale w_zero_point y_scale y_zero_point"),
    "CausalConvWithState": ("weight", "bias", ""),
    "Gemm FusedGemm": ("B A", "C", ""),
    "MatMul FusedMatMul": ("B A", "", ""),
    "QGemm": ("B A", "C", "a_scale a_zero_point b_scale b_zero_point y_scale y_zero_point"),
    "MatMulInteger": ("B A", "", "a_zero_point b_zero_point"),
    "MatMulIntegerToFloat": ("B A", "bias", "a_scale b_scale a_zero_point b_zero_point"),
    "DynamicQuantizeMatMul": ("B A", "bias", "b_scale b_zero_point"),
    "QLinearMatMul": ("b a", "", "a_scale a_zero_point b_scale b_zero_point y_scale y_zero_point"),
    "MatMulNBits": ("B", "bias", "scales zero_points g_idx"),
    "MatMulBnb4": ("B", "", "absmax"),
    "MoE": ("fc1_weights fc2_weights fc3_weights", "fc1_bias fc2_bias fc3_bias", ""),
    "RNN GRU": ("W R", "B", "sequence_lens initial_h"),
    "LSTM": ("W R", "B P", "sequence_lens initial_h initial_c"),
    "DynamicQuantizeLSTM": (
        "W R", "B P", "sequence_lens initial_h initial_c W_scale W_zero_point R_scale R_zero_point",
    ),
    "com.microsoft.Attention": ("weights", "bias", "mask_index attention_bias past_sequence_length"),
    "QAttention": (
        "weight", "bias", "input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    ),
    "MultiHeadAttention": ("", "bias", "key_padding_mask attention_bias"),
    "GroupQueryAttention": ("", "", "seqlens_k total_sequence_length cos_cache sin_cache"),
    "BatchNormalization": ("scale", "B", "input_mean input_var"),
    "InstanceNormalization": ("scale", "B", ""),
    "LayerNormalization": ("Scale", "B", ""),
    "GroupNormalization": ("scale", "bias", ""),
    "GroupNorm": ("gamma", "beta", ""),
    "RMSNormalization SimplifiedLayerNormalization": ("scale", "", ""),
    "SkipLayerNormalization": ("gamma", "beta bias", ""),
    "SkipSimplifiedLayerNormalization": ("gamma", "bias", ""),
    "EmbedLayerNormalization": ("word_embedding position_embedding segment_embedding", "gamma beta", "mask"),
    "BiasGelu": ("B", "", ""),
    "FastGelu BiasAdd BiasSplitGelu": ("bias", "", ""),
    "PRelu": ("slope", "", ""),
    "Clip": ("", "", "min max"),
    "CastLike": ("", "", "target_type"),
    "QuantizeLinear": ("", "", "y_scale y_zero_point"),
    "DequantizeLinear": ("", "", "x_scale x_zero_point"),
    "QLinearAdd QLinearMul": ("", "", "A_scale A_zero_point B_scale B_zero_point C_scale C_zero_point"),
    "QLinearSigmoid QLinearLeakyRelu QLinearSoftmax QLinearAveragePool QLinearGlobalAveragePool": (
        "", "", "X_scale X_zero_point Y_scale Y_zero_point",
    ),
    "Gather GatherElements GatherND": ("data", "", ""),
    "Pad": ("", "", "constant_value"),
    "OneHot": ("", "", "values"),
    "Resize": ("", "", "roi scales sizes"),
    "Upsample": ("", "", "scales"),
    "STFT": ("", "", "frame_step window frame_length"),
}  # fmt: skip
ROLES = {name: roles for names, roles in ROLES.items() for name in names.split()}


def inputs(name):
    return CONTRIB[name].split() if name in CONTRIB else [each.name for each in defs.get_schema(name).inputs]


def named(row, names):
    """The inputs of a row by name; the table has places for some that an operator of its kind lacks."""
    alone = [place for place in row.biases if place not in row.auxiliary]
    return tuple(
        " ".join(names[place] for place in places if place < len(names))
        for places in (row.weights, alone, row.auxiliary)
    )


def test_roles_of_inputs():
    rows = {name: row for name, row in OPERATORS.items() if name != "Einsum"}
    found = {
        name: named(row, inputs(name) if row.weights or row.biases or row.auxiliary else [])
        for name, row in rows.items()
    }
    assert found == {name: ROLES.get(name, ("", "", "")) for name in rows}


def test_every_role_is_of_an_operator():
    assert set(ROLES) <= set(OPERATORS)


# What one element takes beside multiply-accumulates: for an elementwise function the operations of its formula with
# exp, log and erf as one each; for a norm mean, difference, square, variance, quotient, scale and shift.
FLOPS = {
    1: "Add Sub Sum Mul Div Max Min Mean Pow Mod Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not Where Relu "
    "Sqrt Exp Tanh Reciprocal Neg Sign Ceil Floor Round Abs Log Sin Cos Tan Sinh Cosh Asin Acos Atan Erf IsInf IsNaN "
    "ThresholdedRelu CumSum ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ArgMax ArgMin MaxPool "
    "AveragePool GlobalAveragePool GlobalMaxPool GlobalLpPool Dropout TopK",
    2: "BiasAdd PRelu Clip LeakyRelu Shrink ReduceL2 ReduceLogSum ReduceSumSquare LpPool QuantizeLinear DequantizeLinear",
    3: "LpNormalization HardSigmoid Softplus Softsign Elu ReduceLogSumExp QLinearAdd QLinearMul",
    4: "RMSNormalization SimplifiedLayerNormalization Sigmoid Selu HardSwish DynamicQuantizeLinear",
    5: "MoE SkipSimplifiedLayerNormalization MeanVarianceNormalization SwiGLU Softmax LogSoftmax Celu Gelu Swish QuickGelu",
    6: "RNN BiasSoftmax BiasSplitGelu Mish RotaryEmbedding",
    7: "BatchNormalization InstanceNormalization LayerNormalization GroupNormalization GroupNorm LRN Resize",
    8: "SkipLayerNormalization BiasGelu FastGelu",
    9: "EmbedLayerNormalization",
    11: "GridSample RoiAlign MaxRoiPool MaxUnpool Col2Im AffineGrid CenterCropPad",
    18: "GRU",
    24: "LSTM",
    0: "Conv ConvTranspose Gemm MatMul Einsum Cast Reshape Flatten Squeeze Transpose Concat Split Slice Gather Expand Tile "
    "Pad DepthToSpace SpaceToDepth OneHot ScatterND Shape Size Range ConstantOfShape",
}


def test_flops_of_an_element():
    expected = {name: flops for flops, names in FLOPS.items() for name in names.split()}
    assert {name: OPERATORS[name].flops for name in expected} == expected


def test_what_moves_only_and_what_is_a_view():
    kinds = {
        OpKind.VIEW: "Reshape Flatten Squeeze Unsqueeze Identity Optional OptionalGetElement SequenceAt SequenceConstruct "
        "SequenceErase SequenceInsert",
        OpKind.SHAPE: "Shape Size SequenceEmpty SequenceLength Range ConstantOfShape EyeLike",
        OpKind.MOVE: "Cast CastLike QuantizeLinear DequantizeLinear QLinearConcat Transpose Concat ConcatFromSequence Split SplitToSequence Slice "
        "Gather GatherElements GatherND Expand Tile Pad DepthToSpace SpaceToDepth OneHot ReverseSequence Scatter "
        "ScatterElements ScatterND TensorScatter",
    }
    assert {kind: {name for name, row in OPERATORS.items() if row.kind is kind} for kind in kinds} == {
        kind: set(names.split()) for kind, names in kinds.items()
    }


def test_what_backward_keeps():
    """A derivative by the input needs the input, one by the result the result, a product both operands."""
    kept = {
        Keep.OUTPUT: "BiasSoftmax BiasDropout Dropout Relu Sqrt Exp Tanh Reciprocal Trilu Sigmoid Softmax LogSoftmax",
        Keep.OPERANDS: "Conv FusedConv DeformConv ConvInteger QLinearConv CausalConvWithState ConvTranspose Gemm FusedGemm "
        "QGemm MatMul FusedMatMul MatMulInteger MatMulIntegerToFloat DynamicQuantizeMatMul QLinearMatMul MatMulNBits "
        "MatMulBnb4 Einsum Mul Div",
    }
    assert {keep: {name for name, row in OPERATORS.items() if row.keep is keep} for keep in kept} == {
        keep: set(names.split()) for keep, names in kept.items()
    }
    nothing = (
        "Add Sub Sum Equal Not Where Neg Sign ReduceSum ReduceMean AveragePool GlobalAveragePool Cast Reshape Concat"
    )
    assert {OPERATORS[name].keep for name in nothing.split()} == {Keep.NOTHING}
    inputs_too = (
        "LayerNormalization BatchNormalization RMSNormalization Pow Max Log Sin Erf Gelu MaxPool LSTM Attention LRN"
    )
    assert {OPERATORS[name].keep for name in inputs_too.split()} == {Keep.INPUTS}


def test_flags():
    flags = {
        "merges": "QLinearConcat SequenceConstruct SequenceInsert Concat Scatter ScatterElements ScatterND TensorScatter",
        "any_constant": "Add Sub Sum Mul Div Concat",
        "table": "EmbedLayerNormalization Gather GatherElements GatherND",
        "packed": "MatMulNBits MatMulBnb4",
    }
    assert {flag: {name for name, row in OPERATORS.items() if getattr(row, flag)} for flag in flags} == {
        flag: set(names.split()) for flag, names in flags.items()
    }


def test_types_are_those_of_onnx():
    ours = {"FLOAT": "float32", "DOUBLE": "float64"}
    onnx = {number: ours.get(name, name.lower()) for name, number in TensorProto.DataType.items()}
    assert {number: onnx[number] for number in DTYPES} == DTYPES
    assert set(range(1, 27)) <= set(DTYPES)
