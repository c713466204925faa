"""Traces as text: a JSON object a line that gives the trace back, or a line a node for people.

A line of JSON holds a message's fields by their names. Attributes stand under `attr` by name: whole numbers, truth
values, texts and lists of truth values are `int64_val`, `bool_val`, `string_val` and `bool_list`, which is what
ASTRA-sim's traces hold; a value of any other form says its form: `{"double_val": 1.5}`.
"""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.simulators.astra_sim_2 import chakra

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TYPES = (
    "INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE",
)  # fmt: skip

_NATURAL: dict[type, str] = {bool: "bool_val", int: "int64_val", str: "string_val", list: "bool_list"}
"""Forms of attributes whose value alone says the form."""


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
    for at, content in enumerate(chakra.messages(data)):
        message = chakra.parse(kind, content)
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
        yield chakra.framed(message.SerializeToString())
        kind = "Node"


# -- messages to objects


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


# -- objects to messages


def _message(kind: str, item: dict[str, Any]) -> Any:
    message = chakra.message(kind)
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
