"""The messages of a Chakra trace <-> ops, and <-> text.

A trace is a GlobalMetadata message and then a Node message for each op, every message led by its length as a varint.
Fields and numbers are those of Chakra's public et_def.proto.

As text a trace is a JSON object a line that gives the trace back, or a line a node for people. A line of JSON holds a
message's fields by their names. Attributes stand under `attr` by name: whole numbers, truth values, texts and lists of
truth values are `int64_val`, `bool_val`, `string_val` and `bool_list`, which is what ASTRA-sim's traces hold; a value
of any other form says its form: `{"double_val": 1.5}`.
"""

from __future__ import annotations

import base64
import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from astrac import varint
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.job import Collective, Compute, Load, Receive, Send, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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

_INTEGERS: dict[type[Op], dict[str, str]] = {
    Load: {"tensor_size": "bytes"},
    Store: {"tensor_size": "bytes"},
    Compute: {"num_ops": "num_ops", "tensor_size": "tensor_size"},
    Send: {"comm_size": "bytes", "comm_tag": "tag"},
    Receive: {"comm_size": "bytes", "comm_tag": "tag"},
    Collective: {"comm_type": "kind", "comm_size": "bytes"},
}
"""Attributes of a Node, and the field of the op that each says."""

_TYPES = (
    "INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE",
)  # fmt: skip

_NATURAL: dict[type, str] = {bool: "bool_val", int: "int64_val", str: "string_val", list: "bool_list"}
"""Forms of attributes whose value alone says the form."""


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
    values |= {name: int(getattr(op, field)) for name, field in _INTEGERS[type(op)].items()}
    if isinstance(op, Compute):
        # Attributes that ASTRA-sim does not know are looked for by no one there.
        values |= {"flops": op.flops} if op.flops != op.num_ops else {}
        values |= {"bytes": op.bytes} if op.bytes != op.tensor_size else {}
    if isinstance(op, Compute | Collective):
        message.duration_micros = op.duration
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


# -- text


def decode(data: bytes, form: str) -> Iterator[str]:
    """The lines of a trace: `text` for people, `jsonl` to be encoded again; raises Diagnosed, AS706."""
    return to_text(data) if form == "text" else to_lines(data)


def encode(lines: Iterator[str]) -> bytes:
    """The trace that lines of JSON describe; raises Diagnosed, AS716."""
    return b"".join(from_lines(lines))


def to_objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The messages of a trace, GlobalMetadata first.

    Raises:
        Diagnosed: AS706 where it is none.
    """
    kind = "GlobalMetadata"
    for at, content in enumerate(messages(data)):
        message = parse(kind, content)
        if message is None:
            raise Diagnosed(diagnostic("AS706", f"message {at} is no {kind}"))
        yield _object(message)
        kind = "Node"


def to_lines(data: bytes) -> Iterator[str]:
    """The same as JSON, a line each; `from_lines` is the inverse."""
    return (json.dumps(item, ensure_ascii=False, allow_nan=False) for item in to_objects(data))


def to_text(data: bytes) -> Iterator[str]:
    """A line a node for people: id, type, name, what it waits for, attributes."""
    for at, item in enumerate(to_objects(data)):
        if at == 0:
            yield f"Chakra {item.get('version', '')}".rstrip()
            continue
        kind = str(item.get("type", 0)).removesuffix("_NODE")
        words = [f"{item.get('id', 0):>5}", f"{kind:<9}", item.get("name", "")]
        words += [f"{key}={_short(item[key])}" for key in ("data_deps", "ctrl_deps", "duration_micros") if key in item]
        attributes = item.get("attr", {})
        pairs = attributes.items() if isinstance(attributes, dict) else attributes
        words += [f"{name}={_short(value)}" for name, value in pairs]
        yield " ".join(word for word in words if word)


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def from_lines(lines: Iterable[str]) -> Iterator[bytes]:
    """The bytes of a trace, message by message, from lines of JSON; empty lines are skipped.

    Raises:
        Diagnosed: AS716 with the number of a line that is no message.
    """
    kind = "GlobalMetadata"
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            message = _message(kind, json.loads(line))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            # protobuf and json say what they do not take with exceptions of these types
            words = str(error).partition("\n")[0][:120]
            raise Diagnosed(diagnostic("AS716", f"line {number} is no {kind}: {words}")) from None
        yield framed(message.SerializeToString())
        kind = "Node"


def _object(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.name == "attr":
            pairs = [(attribute.name, _value(attribute)) for attribute in value]
            values = dict(pairs)
            found["attr"] = values if len(values) == len(pairs) else pairs
        elif field.name == "type":
            found["type"] = _TYPES[value] if 0 <= value < len(_TYPES) else value
        elif field.message_type is not None:
            found[field.name] = _object(value)
        else:
            found[field.name] = _plain(value)
    return found


def _value(attribute: Any) -> Any:
    form = attribute.WhichOneof("value")
    said = {"doc_string": attribute.doc_string} if attribute.doc_string else {}
    if form is None:
        return said
    value = getattr(attribute, form)
    plain = _plain(value.values if form.endswith("_list") else value)
    return plain if not said and _NATURAL.get(type(plain)) == form else {**said, form: plain}


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return [_plain(item) for item in value]


def _message(kind: str, item: dict[str, Any]) -> Any:
    message = _messages()[kind]()
    for name, value in item.items():
        if name == "attr":
            pairs = value.items() if isinstance(value, dict) else value
            for attribute_name, content in pairs:
                _fill(message.attr.add(), attribute_name, content)
        elif name == "type":
            message.type = _TYPES.index(value) if isinstance(value, str) else value
        elif isinstance(value, dict):
            getattr(message, name).MergeFrom(_message("IOInfo", value))
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)
    return message


def _fill(attribute: Any, name: str, content: Any) -> None:
    attribute.name = name
    forms = content if isinstance(content, dict) else {_NATURAL[type(content)]: content}
    for form, value in forms.items():
        kind = form.removesuffix("_list").removesuffix("_val")
        if form.endswith("_list"):
            values = getattr(attribute, form)
            values.SetInParent()
            values.values.extend(_typed(item, kind) for item in value)
        else:
            setattr(attribute, form, _typed(value, kind))


def _typed(value: Any, kind: str) -> Any:
    if kind == "bytes":
        return base64.b64decode(value, validate=True)
    return float(value) if kind in ("double", "float") else value
