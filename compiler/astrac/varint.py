"""Numbers of protobuf's wire format: seven bits a byte, the lowest first; the high bit says that more follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import mmap

    Buffer: TypeAlias = bytes | mmap.mmap | memoryview


def encode(value: int) -> bytes:
    """The bytes of a number that is not negative."""
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def decode(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """The number that starts at an offset, and where it ends.

    Raises:
        ValueError: the number has more than ten bytes, or goes on at `end`.
    """
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
    raise ValueError("the file ends inside a number")
