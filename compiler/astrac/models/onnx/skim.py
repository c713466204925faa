"""Bytes of an ONNX file -> bytes of the same model without its weights.

A walk along the wire format: every field is a tag (number and wire type) and a value. Payloads of tensors are stepped
over, so that a file of any size costs what its nodes cost; everything else is copied as it is. Field numbers are those
of onnx.proto.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac import varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.varint import Buffer

LONG = 4096
"""Bytes from which a message is looked into, and a payload is dropped; shape vectors are far shorter."""

_DROP, _VARINT, _FIXED64, _BYTES, _FIXED32 = "", 0, 1, 2, 5

_CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: _DROP, 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": dict.fromkeys((4, 5, 6, 7, 9, 10, 11), _DROP),
}
"""What a long field of a message is: a message to look into, or nothing (dropped). Others are copied."""

_DEEPEST = 60
_MANY = 100_000
"""Fields of one tensor: numbers that are stored one by one, which nobody does, take long to step over."""


class Corrupt(Exception):  # noqa: N818 - what a file is, not an error of ours
    """The bytes break the wire format at `offset`."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(what)
        self.offset = offset


class Unusual(Exception):  # noqa: N818 - a way to say "load it the plain way"
    """Allowed by the wire format and never written by anybody."""


def _varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """A number and where it ends; raises `Corrupt` at its start."""
    try:
        return varint.decode(data, at, end)
    except ValueError as error:
        raise Corrupt(at, str(error)) from None


def skim(data: Buffer) -> bytes:
    """The model without payloads. Raises `Corrupt`, or `Unusual` where only a plain load will do."""
    out: list[bytes] = []
    _copy(data, 0, len(data), "model", out, 0)
    return b"".join(out)


def fields(data: Buffer, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields between two offsets: number, wire type, offset of the tag, of the value, of its end."""
    while at < end:
        tag, start = at, at
        if (key := data[at]) < 0x80:
            at += 1
        else:
            key, at = _varint(data, at, end)
        wire = key & 7
        if key < 8:
            raise Corrupt(tag, "a field with the number 0")
        if wire == _BYTES:
            length, start = _varint(data, at, end)
            at = start + length
        elif wire == _VARINT:
            start = at
            _, at = _varint(data, at, end)
        elif wire in (_FIXED64, _FIXED32):
            start, at = at, at + (8 if wire == _FIXED64 else 4)
        elif wire in (3, 4):
            raise Unusual
        else:
            raise Corrupt(tag, f"a field of the unknown wire type {wire}")
        if at > end:
            raise Corrupt(tag, f"a field of {at - start:,} bytes of which only {end - start:,} are there")
        yield key >> 3, wire, tag, start, at


def _copy(data: Buffer, at: int, end: int, kind: str, out: list[bytes], depth: int) -> None:
    """Append the fields of one message; neighbours that are copied whole go as one piece."""
    if depth > _DEEPEST:
        raise Unusual
    children = _CHILDREN.get(kind, {})
    copied = at
    for count, (number, wire, tag, start, stop) in enumerate(fields(data, at, end)):
        if kind == "tensor" and count > _MANY:
            raise Unusual
        if wire != _BYTES or stop - start < LONG or number not in children:
            continue
        out.append(bytes(data[copied:tag]))
        copied = stop
        child = children[number]
        if child != _DROP:
            body: list[bytes] = []
            _copy(data, start, stop, child, body, depth + 1)
            length = sum(map(len, body))
            out += (varint.encode(number << 3 | _BYTES), varint.encode(length), *body)
    out.append(bytes(data[copied:end]))
