"""Standard streams that take any text: nothing that a terminal would obey, any encoding, closed, or a broken pipe."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
"""What a terminal obeys or nobody sees: controls, marks of direction, halves of characters."""


class Safe:
    """A stream of text that writes what it can, and goes on when nobody reads."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        r"""Writes a text, characters that are obeyed or that the encoding lacks as `\\u001b`."""
        self.as_is(_OBEYED.sub(_number, text))
        return len(text)

    def as_is(self, text: str) -> None:
        """Writes a text that may steer a terminal, since it is of our own making or goes to none."""
        try:
            text.encode(encoding := self.stream.encoding or "utf-8")
        except UnicodeEncodeError:
            text = re.sub(r"[^\0-\x7f]", lambda found: _in(encoding, found), text)
        try:
            self.stream.write(text)
        except BrokenPipeError:
            self._drop()

    def flush(self) -> None:
        """Hands on what is kept."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """Whoever read our output has seen enough (`astrac ... | head`); the exit status is still that of the run."""
        drop(self.stream)


def drop(stream: TextIO) -> None:
    """Sends what comes, and what is still buffered, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def document(text: str) -> None:
    """A text of the user's on the standard output, byte for byte in UTF-8 unless a terminal shows it."""
    stream: Any = sys.stdout
    if stream.isatty() or not isinstance(getattr(stream, "buffer", None), io.BufferedIOBase):
        stream.write(text)
        return
    stream.flush()
    try:
        stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        drop(stream)


def steering(stream: TextIO, text: str) -> None:
    """A text with colours, of which every other part is printable."""
    getattr(stream, "as_is", stream.write)(text)


@contextmanager
def safe() -> Iterator[None]:
    """The standard output and the one for errors are `Safe` inside; one that is closed goes nowhere."""
    before = sys.stdout, sys.stderr
    for number in range(3):  # a closed one would be given to the next file that is opened
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = (cast("TextIO", Safe(_open(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _open(stream: TextIO | None) -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8") if stream is None else stream


def _number(found: re.Match[str]) -> str:
    """The number of a character as JSON writes it."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _in(encoding: str, found: re.Match[str]) -> str:
    try:
        found[0].encode(encoding)
    except UnicodeEncodeError:
        return _number(found)
    return found[0]
