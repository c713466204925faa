"""Small ONNX models, built on the spot: graphs and shapes, no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import ModelProto, TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Sequence

node = helper.make_node


def weight(name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> TensorProto:
    """A stored tensor without its payload."""
    return TensorProto(name=name, dims=shape, data_type=dtype)


def ints(name: str, *numbers: int, scalar: bool = False) -> TensorProto:
    """A stored shape vector, or one number."""
    return helper.make_tensor(name, TensorProto.INT64, [] if scalar else [len(numbers)], numbers)


def value(name: str, *shape: int | str | None, dtype: int = TensorProto.FLOAT) -> Any:
    """An input or output; None is an extent without a name."""
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    inputs: Sequence[Any],
    nodes: Sequence[Any],
    stored: Sequence[TensorProto] = (),
    output: str = "y",
    *,
    opset: int = 17,
    functions: Sequence[Any] = (),
    **more: Any,
) -> bytes:
    """The bytes of a file; `output` names its results, whose shapes it does not give."""
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in output.split()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=stored, **more)
    made = ModelProto(ir_version=8, graph=graph)
    if opset:
        made.opset_import.append(helper.make_opsetid("", opset))
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    made.functions.extend(functions)
    return made.SerializeToString()
