"""Shapes of rare operators by onnx's own inference, one node at a time."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from astrac.models.onnx.decode import DTYPES
from astrac.models.onnx.facts import Site, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERS = {word: number for number, word in DTYPES.items()}


@cache
def _schema(domain: str, op: str) -> Any:
    """The newest schema of an operator, None where onnx has none or is not there."""
    import onnx.defs  # noqa: PLC0415 - a cold path

    try:
        return onnx.defs.get_schema(op, domain=domain)
    except onnx.defs.SchemaError:
        return None


def known(domain: str, op: str) -> bool:
    """Whether onnx has a schema of that name."""
    return _schema(domain, op) is not None


def least_inputs(domain: str, op: str) -> int:
    """How many inputs an operator has at least, by onnx's schema; 0 where there is none."""
    schema = _schema(domain, op)
    return 0 if schema is None else int(schema.min_input)


def infer(site: Site) -> Sequence[Value]:
    """What onnx makes of the node; nothing where it has no schema or cannot tell."""
    schema = _schema("" if site.node.domain == "com.microsoft" else site.node.domain, site.node.op)
    if schema is None or not site.node.inputs:
        return ()
    import onnx  # noqa: PLC0415
    from onnx import helper, numpy_helper  # noqa: PLC0415

    node = site.node
    names = [f"i{index}" if name else "" for index, name in enumerate(node.inputs)]
    plain: dict[str, Any] = {key: value for key, value in node.attributes.items() if _plain(value)}
    types, data = {}, {}
    for index, name in enumerate(names):
        value = site.value(index)
        if not name or value.dtype not in _NUMBERS or value.runs is not None:
            continue
        types[name] = helper.make_tensor_type_proto(_NUMBERS[value.dtype], value.shape)
        numbers = site.array(index)
        if numbers is not None:
            data[name] = numpy_helper.from_array(numbers)
    try:
        proto = helper.make_node(
            node.op, names, [f"o{index}" for index in range(len(node.outputs))], domain=node.domain, **plain
        )
        found = onnx.shape_inference.infer_node_outputs(schema, proto, types, data)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, TypeError, RuntimeError):
        return ()
    return [_value(found.get(f"o{index}")) for index in range(len(node.outputs))]


def _plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_plain(item) for item in value)
    return isinstance(value, (int, float, str))


def _value(proto: Any) -> Value:
    if proto is None or not proto.HasField("tensor_type"):
        return Value(None, None)
    tensor = proto.tensor_type
    shape = (
        tuple(dim.dim_value if dim.dim_value > 0 else None for dim in tensor.shape.dim)
        if tensor.HasField("shape")
        else None
    )
    return Value(shape, DTYPES.get(tensor.elem_type))
