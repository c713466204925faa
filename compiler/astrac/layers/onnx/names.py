"""Names of layers: what people call them, clean, unique, the same on every run.

A layer is called by its node where that name says something, else by the weight that it alone reads, else by the module
that the exporter noted, else by the node's generated name or its result.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 120
"""Characters of a name."""

_GENERATED = re.compile(r"(?:node_)?[A-Za-z]*_?\d+|node_\w+|node")
"""`n12`, `Conv_754`, `node_linear_3`: names that exporters count."""

_ANONYMOUS = re.compile(r"(?:onnx::\w+|val_\d+|[a-z]?\d+|const(?:ant)?_?\d*)(?:~\d+)?")
"""Weights that exporters made themselves."""

_SUFFIXES = re.compile(r"(?:[._](?:weight|kernel|w|gamma|scale|s)(?:_0)?|/(?:MatMul/)?ReadVariableOp)$")
_CAFFE2 = re.compile(r"^gpu_\d+/")
_UNSAFE = re.compile(r"[^\w./:#-]+")


def clean(name: str) -> str:
    """Letters, digits and `_./:#-` of any script; anything else becomes `_`; bounded, never empty, no leading dash."""
    found = _UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip("_-./:#") or "layer"
    if len(found) <= LONGEST:
        return found
    half = LONGEST // 2 - 1
    return f"{found[:half]}..{found[-half:]}"


def unique(names: Iterable[str]) -> list[str]:
    """The names with `_2`, `_3` behind those that came before."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found = []
    for name in names:
        candidate = name
        while candidate in taken:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}_{counts[name]}"
        taken.add(candidate)
        found.append(candidate)
    return found


def is_anonymous(weight: str) -> bool:
    """Whether the exporter made the name (`onnx::MatMul_285`, `val_8`)."""
    return _ANONYMOUS.fullmatch(weight) is not None


def layer_name(node: str, op: str, scope: str, weight: str, output: str, *, shared: bool) -> str:
    """The best of what is known, not yet unique.

    Args:
        node: the node's name, with the path of functions that it was inlined from.
        op: the operator.
        scope: the module, where the exporter noted it.
        weight: the weight's name, empty for a layer without one.
        output: the result's name.
        shared: other layers read the same weight, which then names none of them.
    """
    if node and not _GENERATED.fullmatch(node):
        return clean(_path(node, op, owns=bool(weight)))
    if weight and not shared and not is_anonymous(weight):
        return clean(_SUFFIXES.sub("", _CAFFE2.sub("", weight)))
    if scope:
        return clean(scope if weight else f"{scope}.{op}")
    return clean(node or output or op)


def _path(node: str, op: str, *, owns: bool) -> str:
    """TorchScript's `/h.0/c_attn/MatMul` is `h.0.c_attn`; a layer without weight keeps its operator to tell it apart."""
    if not node.startswith("/"):
        return node
    parts = node.strip("/").split("/")
    if owns and len(parts) > 1 and re.fullmatch(rf"{re.escape(op)}(?:_\d+)?", parts[-1]):
        parts.pop()
    return ".".join(parts)
