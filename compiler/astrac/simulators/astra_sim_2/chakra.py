"""Ops <-> the messages of a Chakra trace.

A trace is a GlobalMetadata message and then a Node message for each op, every message led by its length as a varint.
Fields and numbers are those of Chakra's public et_def.proto.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from astrac import varint
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.job import Collective, Compute, Load, Receive, Send, Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.job import Op

Value: TypeAlias = "bool | int | str | tuple[bool, ...]"
"""Of an attribute."""

VERSION = "0.0.4"
"""Of Chakra's schema, as GlobalMetadata carries it."""

MAX_MESSAGE = 16 << 20
"""Bytes."""

MAX_MESSAGES = 1 << 21
"""Of one trace."""

_Field = descriptor_pb2.FieldDescriptorProto

SCALARS = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
)  # fmt: skip
"""An attribute's value is one of these or a list of one: `double_val` 3, `double_list` 4, `float_val` 5, ..."""

_MESSAGES: dict[str, str] = {
    **{f"{name.title()}List": f"repeated {name} values = 1" for name in SCALARS},
    "AttributeProto": "; ".join(
        [
            "string name = 1; string doc_string = 2",
            *(f"oneof {name} {name}_val = {3 + 2 * at}" for at, name in enumerate(SCALARS)),
            *(f"oneof {name.title()}List {name}_list = {4 + 2 * at}" for at, name in enumerate(SCALARS)),
        ]
    ),
    "GlobalMetadata": "string version = 1; repeated AttributeProto attr = 2",
    "IOInfo": "string values = 1; string shapes = 2; string types = 3",
    "Node": (
        "uint64 id = 1; string name = 2; int32 type = 3; repeated uint64 ctrl_deps = 4; repeated uint64 data_deps = 5; "
        "uint64 start_time_micros = 6; uint64 duration_micros = 7; IOInfo inputs = 8; IOInfo outputs = 9; "
        "repeated AttributeProto attr = 10"
    ),
}
"""The fields of each message as a `.proto` file has them; of those with `oneof` before them a message has one."""

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
        if "oneof" in fields:
            message.oneof_decl.add(name="value")
        for text in fields.split("; "):
            *label, kind, field_name, _, number = text.split()
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if label == ["repeated"] else _Field.LABEL_OPTIONAL
            if label == ["oneof"]:
                field.oneof_index = 0
            if kind in SCALARS:
                field.type = getattr(_Field, f"TYPE_{kind.upper()}")
            else:
                field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package}.{kind}"
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


def parse(name: str, data: bytes) -> Any:
    """A message of a kind, or None when the bytes are none; fields that it does not have are skipped, as elsewhere."""
    try:
        return _messages()[name].FromString(data)
    except DecodeError:
        return None


def metadata() -> bytes:
    """The message that must lead a trace, without its length."""
    return bytes(_messages()["GlobalMetadata"](version=VERSION).SerializeToString())


def attributes(values: Mapping[str, Value]) -> bytes:
    """Attributes alone: appended to a Node's bytes they become its last attributes."""
    return _with_attributes(_messages()["Node"](), values)


def node(op: Op, involved: tuple[bool, ...] | None) -> bytes:
    """The Node of an op, but for what depends on the rank: peers of sends and receives, ids of groups.

    Args:
        op: the op.
        involved: the attribute `involved_dim` of a collective.
    """
    message = _messages()["Node"](
        id=op.id, name=op.name, type=NODE_TYPES[type(op)], ctrl_deps=op.control, data_deps=op.data
    )
    # ASTRA-sim has a default, older trace feeders and other readers do not: every node says it.
    values: dict[str, Value] = {"is_cpu_op": op.host}
    match op:
        case Compute():
            values |= {"num_ops": op.num_ops, "tensor_size": op.tensor_size}
            # Attributes that ASTRA-sim does not know are looked for by no one there.
            values |= {"flops": op.flops} if op.flops != op.num_ops else {}
            values |= {"bytes": op.bytes} if op.bytes != op.tensor_size else {}
            message.duration_micros = op.duration
        case Collective():
            values |= {"comm_type": int(op.kind), "comm_size": op.bytes}
            message.duration_micros = op.duration
        case Send() | Receive():
            values |= {"comm_size": op.bytes, "comm_tag": op.tag}
        case Load() | Store():
            values["tensor_size"] = op.bytes
    if involved is not None:
        values["involved_dim"] = involved
    return _with_attributes(message, values)


def _with_attributes(message: Any, values: Mapping[str, Value]) -> bytes:
    for name, value in values.items():
        attribute = message.attr.add(name=name)
        if isinstance(value, bool):
            attribute.bool_val = value
        elif isinstance(value, str):
            attribute.string_val = value
        elif isinstance(value, tuple):
            attribute.bool_list.values.extend(value)
        elif 0 <= value < 1 << 63:
            attribute.int64_val = value
        else:
            raise Diagnosed(diagnostic("AS703", f"`{name}` is {value}, which does not fit in a trace"))
    return bytes(message.SerializeToString())
