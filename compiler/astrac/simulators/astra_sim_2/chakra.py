"""Ops <-> the messages of a Chakra trace.

A trace is a GlobalMetadata message and then a Node message for each op, every message led by its length as a varint.
Fields and numbers are those of Chakra's public et_def.proto.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from astrac import varint
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.job import Collective, Compute, Load, Receive, Send, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from astrac.job import Op

VERSION = "0.0.4"
"""Of Chakra's schema, as GlobalMetadata carries it."""

MAX_MESSAGE = 16 << 20
"""Bytes."""

MAX_MESSAGES = 1 << 21
"""Of one trace."""

_Field = descriptor_pb2.FieldDescriptorProto


class _Shape(NamedTuple):
    """A field of a message: number, type (a message where it has a name), whether it repeats, or is a `value`."""

    number: int
    type: int
    repeated: bool = False
    alternative: bool = False
    message: str = ""


_SCALARS = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
)  # fmt: skip
"""An attribute's value is one of these or a list of one: `double_val` 3, `double_list` 4, `float_val` 5, ..."""


def _scalar(name: str) -> int:
    return int(getattr(_Field, f"TYPE_{name.upper()}"))


def _message(number: int, name: str, *, repeated: bool = False, alternative: bool = False) -> _Shape:
    return _Shape(number, _Field.TYPE_MESSAGE, repeated, alternative, name)


_MESSAGES: dict[str, dict[str, _Shape]] = {
    **{f"{name.title()}List": {"values": _Shape(1, _scalar(name), repeated=True)} for name in _SCALARS},
    "AttributeProto": {
        "name": _Shape(1, _Field.TYPE_STRING),
        "doc_string": _Shape(2, _Field.TYPE_STRING),
        **{f"{name}_val": _Shape(3 + 2 * at, _scalar(name), alternative=True) for at, name in enumerate(_SCALARS)},
        **{
            f"{name}_list": _message(4 + 2 * at, f"{name.title()}List", alternative=True)
            for at, name in enumerate(_SCALARS)
        },
    },
    "GlobalMetadata": {
        "version": _Shape(1, _Field.TYPE_STRING),
        "attr": _message(2, "AttributeProto", repeated=True),
    },
    "IOInfo": {name: _Shape(at, _Field.TYPE_STRING) for at, name in enumerate(("values", "shapes", "types"), 1)},
    "Node": {
        "id": _Shape(1, _Field.TYPE_UINT64),
        "name": _Shape(2, _Field.TYPE_STRING),
        "type": _Shape(3, _Field.TYPE_INT32),
        "ctrl_deps": _Shape(4, _Field.TYPE_UINT64, repeated=True),
        "data_deps": _Shape(5, _Field.TYPE_UINT64, repeated=True),
        "start_time_micros": _Shape(6, _Field.TYPE_UINT64),
        "duration_micros": _Shape(7, _Field.TYPE_UINT64),
        "inputs": _message(8, "IOInfo"),
        "outputs": _message(9, "IOInfo"),
        "attr": _message(10, "AttributeProto", repeated=True),
    },
}

NODE_TYPES: dict[type[Op], int] = {Load: 2, Store: 3, Compute: 4, Send: 5, Receive: 6, Collective: 7}
"""`NodeType`; an enum is an int32 on the wire."""

SEND = NODE_TYPES[Send]


@cache
def _messages() -> dict[str, Any]:
    """The classes of `_MESSAGES`, made from descriptors: no generated code, no protoc."""
    package = "astrac.chakra"
    file = descriptor_pb2.FileDescriptorProto(name="chakra.proto", package=package, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if any(shape.alternative for shape in fields.values()):
            message.oneof_decl.add(name="value")
        for field_name, shape in fields.items():
            field = message.field.add(name=field_name, number=shape.number, type=shape.type)
            field.label = _Field.LABEL_REPEATED if shape.repeated else _Field.LABEL_OPTIONAL
            if shape.alternative:
                field.oneof_index = 0
            if shape.message:
                field.type_name = f".{package}.{shape.message}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in _MESSAGES
    }


def framed(message: bytes) -> bytes:
    """A message led by its length."""
    return varint.encode(len(message)) + message


def messages(data: bytes) -> list[bytes]:
    """The messages of a trace, GlobalMetadata first; AS706 (without a place) where the framing breaks."""
    found: list[bytes] = []
    at, end = 0, len(data)
    while at < end:
        try:
            size, at = (data[at], at + 1) if data[at] < 128 else varint.decode(data, at, end)
        except ValueError:
            size = MAX_MESSAGE + 1
        if size > MAX_MESSAGE or at + size > end:
            raise Diagnosed(diagnostic("AS706", f"message {len(found)} is cut off, or not a message"))
        found.append(data[at : at + size])
        at += size
        if len(found) > MAX_MESSAGES:
            raise Diagnosed(diagnostic("AS700", f"the trace has more than {MAX_MESSAGES} messages"))
    return found


def message(name: str) -> Any:
    """An empty message of a kind."""
    return _messages()[name]()


def parse(name: str, data: bytes) -> Any | None:
    """A message of a kind, or None when the bytes are none; fields that it does not have are skipped, as elsewhere."""
    try:
        return _messages()[name].FromString(data)
    except DecodeError:
        return None


def metadata() -> bytes:
    """The message that must lead a trace, without its length."""
    return bytes(_messages()["GlobalMetadata"](version=VERSION).SerializeToString())


def attributes(values: Mapping[str, int | str]) -> bytes:
    """Attributes alone: appended to a Node's bytes they become its last attributes."""
    node = _messages()["Node"]()
    _add(node, values.items())
    return bytes(node.SerializeToString())


def node(op: Op) -> bytes:
    """The Node of an op, but for what depends on the rank: peers of sends and receives, ids of groups."""
    message = _messages()["Node"](
        id=op.id, name=op.name, type=NODE_TYPES[type(op)], ctrl_deps=op.control, data_deps=op.data
    )
    if isinstance(op, Compute | Collective):
        message.duration_micros = op.duration
    # ASTRA-sim has a default, older trace feeders and other readers do not: every node says it.
    is_cpu_op = message.attr.add()
    is_cpu_op.name = "is_cpu_op"
    is_cpu_op.bool_val = op.host
    _add(message, _numbers(op))
    return bytes(message.SerializeToString())


def involved(dimensions: Iterable[bool]) -> bytes:
    """The attribute `involved_dim`, to be appended to a Node's bytes."""
    message = _messages()["Node"]()
    attribute = message.attr.add()
    attribute.name = "involved_dim"
    attribute.bool_list.values.extend(dimensions)
    return bytes(message.SerializeToString())


def _numbers(op: Op) -> Iterable[tuple[str, int]]:
    """Integer attributes. Attributes that ASTRA-sim does not know (`flops`, `bytes`) are looked for by no one there."""
    match op:
        case Compute():
            yield "num_ops", op.num_ops
            yield "tensor_size", op.tensor_size
            if op.flops != op.num_ops:
                yield "flops", op.flops
            if op.bytes != op.tensor_size:
                yield "bytes", op.bytes
        case Collective():
            yield "comm_type", int(op.kind)
            yield "comm_size", op.bytes
        case Send() | Receive():
            yield "comm_size", op.bytes
            yield "comm_tag", op.tag
        case Load() | Store():
            yield "tensor_size", op.bytes


def _add(message: Any, values: Iterable[tuple[str, int | str]]) -> None:
    for name, value in values:
        attribute = message.attr.add()
        attribute.name = name
        if isinstance(value, str):
            attribute.string_val = value
        elif 0 <= value < 1 << 63:
            attribute.int64_val = value
        else:
            raise Diagnosed(diagnostic("AS703", f"`{name}` is {value}, which does not fit in a trace"))
