"""A path or bytes -> ModelFile, or one diagnostic that says what the file really is."""

from __future__ import annotations

import mmap
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.models.onnx.decode import Malformed, decode
from astrac.models.onnx.skim import Corrupt, Unusual, fields, skim
from astrac.models.zoo import MODELS
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from astrac.diagnostics import Diagnostic
    from astrac.models.graph import ModelFile
    from astrac.source import Span
    from astrac.varint import Buffer

_HEAD = 512

_KINDS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer", "run `git lfs pull` to fetch the model itself"),
    (re.compile(rb"PK\x03\x04"), "a zip archive", "unpack it; a PyTorch checkpoint needs `torch.onnx.export`"),
    (re.compile(rb"\x1f\x8b"), "a gzip archive", "unpack it with `gunzip`"),
    (re.compile(rb"\s*<(?i:!doctype|html|\?xml|head|body)"), "a web page", "the download failed; fetch the file again"),
    (re.compile(rb"\s*[{\[][\t\n\r\x20-\x7e\x80-\xff]*\Z"), "JSON", "save the model in ONNX's binary format"),
    (re.compile(rb"\x80[\x02-\x05]"), "a Python pickle", "export the model with `torch.onnx.export`"),
    (re.compile(rb"\x89HDF"), "an HDF5 file", "convert the model with tf2onnx or keras2onnx"),
    (re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]*\Z"), "a text file", "save the model in ONNX's binary format"),
)  # fmt: skip
"""What files with the name of a model turn out to be: how they begin, what that is, what to do."""


def load(name: str, source: Path | bytes, span: Span | None) -> ModelFile:
    """The graph of a file. Raises `Diagnosed`; external data is never opened."""
    if isinstance(source, bytes):
        return _load(name, source, span)
    try:
        if not source.is_file() and source.exists():
            raise Diagnosed(diagnostic("AS601", f"cannot read the model `{name}`: it is no regular file", span))
        with source.open("rb") as handle:
            if source.stat().st_size == 0:
                return _load(name, b"", span)
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _load(name, data, span)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"cannot read the model `{name}`: {reason[:1].lower()}{reason[1:]}"
        hints = _meant(source) if isinstance(error, FileNotFoundError) else ()
        raise Diagnosed(diagnostic("AS601", message, span, hints=hints)) from None


def _meant(path: Path) -> tuple[str, ...]:
    """The hint that names what is like a file that is not there: a model of the zoo, or another one beside it."""
    if path.stem in MODELS:
        return (f'did you mean `"zoo:{path.stem}"`?',)
    beside = islice(path.parent.glob("*.onnx"), MAX_BESIDE) if path.parent.is_dir() else ()
    return did_you_mean(path.name, (file.name for file in beside))


MAX_BESIDE = 1000
"""Files of a folder that a hint chooses from."""


def _load(name: str, data: Buffer, span: Span | None) -> ModelFile:
    stranger = _sniff(name, data, span)
    if stranger is not None:
        raise Diagnosed(stranger)
    model = _parse(name, data, span)
    if not model.HasField("graph"):
        raise Diagnosed(
            diagnostic("AS604", f"`{name}` holds no graph: it is no ONNX model, or another kind of protobuf file", span)
        )
    try:
        file = decode(model)
    except Malformed as error:
        raise Diagnosed(diagnostic("AS603", f"`{name}` is damaged: {error}", span)) from None
    if not file.graph.nodes:
        raise Diagnosed(diagnostic("AS604", f"the graph of `{name}` is empty: there is not one node in it", span))
    return file


def _sniff(name: str, data: Buffer, span: Span | None) -> Diagnostic | None:
    if not len(data):
        hint = "the download or the export was interrupted; fetch or export it again"
        return diagnostic("AS602", f"`{name}` is empty (0 bytes)", span, hints=(hint,))
    head = bytes(data[:_HEAD])
    for pattern, what, hint in _KINDS:
        if pattern.match(head):
            return diagnostic("AS602", f"`{name}` is not an ONNX model but {what}", span, hints=(hint,))
    return None


def _parse(name: str, data: Buffer, span: Span | None) -> Any:
    import onnx  # noqa: PLC0415 - a cold path: half a second that only ONNX files may cost
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        try:
            return onnx.ModelProto.FromString(skim(data))
        except Unusual:
            return onnx.ModelProto.FromString(bytes(data[:]))
    except Corrupt as error:
        offset, what = error.offset, str(error)
    except DecodeError:
        offset, what = _culprit(data, onnx.ModelProto, 0, len(data)), "a message that cannot be decoded"
    message = f"`{name}` is truncated or damaged: at byte {offset:,} of {len(data):,} stands {what}"
    raise Diagnosed(diagnostic("AS603", message, span, hints=("fetch or export the model again",)))


def _culprit(data: Buffer, message: Any, start: int, end: int) -> int:
    """The offset of the innermost field that protobuf refuses."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        for number, wire, tag, at, stop in fields(data, start, end):
            descriptor = message.DESCRIPTOR.fields_by_number.get(number)
            if wire != 2 or descriptor is None or descriptor.message_type is None:
                continue
            child = descriptor.message_type._concrete_class  # noqa: SLF001 - protobuf's documented way to the class
            try:
                child.FromString(bytes(data[at:stop]))
            except DecodeError:
                return max(tag, _culprit(data, child, at, stop))
    except (Corrupt, Unusual) as error:
        return getattr(error, "offset", start)
    return start
