"""ModelProto -> ModelFile: plain data, so that everything after it knows nothing of protobuf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.models.graph import Attribute, Constant, Dim, Function, Graph, ModelFile, Node, Reference, Signature
from astrac.models.model import stored_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

DTYPES: dict[int, str] = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip
"""TensorProto.DataType, in the words of `model.BITS`."""

_WORDS = {"FLOAT": "float32", "DOUBLE": "float64", **{word.upper(): word for word in DTYPES.values()}}
"""What `Cast` said before opset 6, instead of the number."""

_TYPED_BY_NUMBER = ("to", "dtype", "output_dtype")
_EXTERNAL = 1
_SCOPES = "pkg.torch.onnx.name_scopes"


class Malformed(Exception):  # noqa: N818 - what a file is, not an error of ours
    """A file that protobuf can parse and that is no ONNX model all the same."""


def text(raw: str | bytes) -> str:
    """A name; protobuf hands over bytes where they are not UTF-8."""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "backslashreplace")


def _texts(raw: Iterable[str | bytes]) -> tuple[str, ...]:
    """Names; the usual case, that all are text, costs one pass in C."""
    found = tuple(raw)
    try:
        "".join(found)  # type: ignore[arg-type]
    except TypeError:
        return tuple(map(text, found))
    return found  # type: ignore[return-value]


def decode(model: Any) -> ModelFile:
    """The graph, functions and versions of a parsed ModelProto. Raises `Malformed`."""
    external: dict[str, None] = {}
    functions = {
        (_domain(function.domain), "#".join(filter(None, _texts((function.name, function.overload))))): Function(
            _texts(function.input),
            _texts(function.output),
            tuple(_node(node, external) for node in function.node),
            {text(item.name): _attribute(item, external) for item in function.attribute_proto},
            tuple(map(_signature, function.value_info)),
        )
        for function in model.functions
    }
    graph = _graph(model.graph, external)
    versions = {_domain(item.domain): item.version for item in model.opset_import}
    return ModelFile(graph, functions, versions, tuple(external))


def _domain(raw: str | bytes) -> str:
    found = text(raw)
    return "" if found == "ai.onnx" else found


def _graph(graph: Any, external: dict[str, None]) -> Graph:
    constants = [_constant(tensor, external) for tensor in graph.initializer]
    constants += [_sparse(tensor, external) for tensor in graph.sparse_initializer]
    return Graph(
        tuple(map(_signature, graph.input)),
        tuple(map(_signature, graph.output)),
        tuple(constants),
        tuple(_node(node, external) for node in graph.node),
        tuple(map(_signature, graph.value_info)),
    )


def _node(node: Any, external: dict[str, None]) -> Node:
    attributes = {text(item.name): _attribute(item, external) for item in node.attribute} if node.attribute else {}
    scope = _scope(node.metadata_props) if node.metadata_props else ""
    op, name = _texts((node.op_type, node.name))
    if node.overload:
        op = f"{op}#{text(node.overload)}"
    domain = _domain(node.domain) if node.domain else ""
    return Node(op, _texts(node.input), _texts(node.output), attributes, name, domain, scope)


def _scope(properties: Iterable[Any]) -> str:
    """The innermost module of `['', 'h.1', 'h.1.ln_2', 'layer_norm_3']`: the last but one entry."""
    for item in properties:
        if item.key == _SCOPES:
            parts = [part.strip().strip("'\"") for part in text(item.value).strip("[]").split(",")]
            return parts[-2] if len(parts) > 1 else ""
    return ""


def _attribute(item: Any, external: dict[str, None]) -> Attribute:
    if item.ref_attr_name:
        return Reference(text(item.ref_attr_name))
    found: Attribute = _READERS[item.type if item.type in _READERS else _guess(item)](item, external)
    if item.name in _TYPED_BY_NUMBER:
        return DTYPES.get(found, "") if isinstance(found, int) else _WORDS.get(str(found), "")
    return found


def _guess(item: Any) -> int:
    """The type of an attribute of before IR version 2, which did not say."""
    fields = ("f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs")
    present = {descriptor.name for descriptor, _ in item.ListFields()}
    return next((number for number, name in enumerate(fields, 1) if name in present), 0)


_READERS: dict[int, Any] = {
    0: lambda _item, _external: None,
    1: lambda item, _: item.f,
    2: lambda item, _: item.i,
    3: lambda item, _: text(item.s),
    4: lambda item, external: _constant(item.t, external),
    5: lambda item, external: _graph(item.g, external),
    6: lambda item, _: tuple(item.floats),
    7: lambda item, _: tuple(item.ints),
    8: lambda item, _: _texts(item.strings),
    9: lambda item, external: tuple(_constant(tensor, external) for tensor in item.tensors),
    10: lambda item, external: tuple(_graph(graph, external) for graph in item.graphs),
    11: lambda item, external: _sparse(item.sparse_tensor, external),
}
"""AttributeProto.AttributeType -> its value."""


def _dtype(number: int, name: str) -> str:
    if number not in DTYPES:
        raise Malformed(f"tensor `{name}` has the unknown data type {number}")
    return DTYPES[number]


def _extents(dims: Iterable[int], name: str) -> tuple[int, ...]:
    shape = tuple(dims)
    if shape and min(shape) < 0:
        raise Malformed(f"tensor `{name}` has the negative extent {min(shape)}")
    return shape


def _constant(tensor: Any, external: dict[str, None]) -> Constant:
    name = text(tensor.name)
    absent = tensor.data_location == _EXTERNAL
    if absent:
        external.update((text(item.value), None) for item in tensor.external_data if item.key == "location")
    return Constant(name, _extents(tensor.dims, name), _dtype(tensor.data_type, name), None, None if absent else tensor)


def _sparse(tensor: Any, external: dict[str, None]) -> Constant:
    """Dense extents; stored are the values that are there (their positions are no parameters)."""
    values = _constant(tensor.values, external)
    count = values.shape[0] if values.shape else 0
    stored = stored_bytes(count, values.dtype)
    return Constant(values.name, _extents(tensor.dims, values.name), values.dtype, stored)


def _signature(value: Any) -> Signature:
    """A tensor's type and extents; extents of zero or less mean unknown, as old exporters wrote them."""
    kind = value.type.WhichOneof("value")
    tensor = value.type
    while kind in ("sequence_type", "optional_type"):
        tensor = getattr(tensor, kind).elem_type
        kind = tensor.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return Signature(text(value.name), None, None)
    tensor = getattr(tensor, kind)
    shape = tuple(map(_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
    return Signature(text(value.name), DTYPES.get(tensor.elem_type), shape)


def _dim(dim: Any) -> Dim:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value > 0 else None
    return text(dim.dim_param) or None
