"""Names of layers: what people call them, clean, unique, the same on every run.

A layer is called by its node where that name says something (TorchScript's `/h.0/c_attn/MatMul` is `h.0.c_attn`),
else by the weight or bias that it alone reads, else by the module that the exporter noted, else by the node's generated
name or its result.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.models.graph import Node

LONGEST = 120
"""Characters of a name."""

CALL = "\x1f"
"""Stands between the name of a function's call and the name of a node inside it."""

_ANONYMOUS = re.compile(r"(?:onnx::\w+|val_\d+|\d+|const(?:ant)?_?\d*)(?:~\d+)?")
"""Weights that exporters name themselves."""

_SUFFIXES = re.compile(r"(?:[._](?:weight|bias|kernel|w|b|gamma|beta|scale|s)(?:_0)?|/(?:MatMul/)?ReadVariableOp)$")
_CAFFE2 = re.compile(r"^gpu_\d+/")
_PLAIN = re.compile(r"[A-Za-z0-9](?:[\w./:#-]{0,100}[A-Za-z0-9])?", re.ASCII)
_UNSAFE = re.compile(r"[^\w./:#-]+")


def shown(node: Node) -> str:
    """A node as people find it in a viewer: its name, or its result where it has none."""
    name = node.name or next((output for output in node.outputs if output), node.op)
    return name.replace(CALL, "/")


def clean(name: str) -> str:
    """Letters, digits and `_./:#-` of any script; anything else becomes `_`; bounded, never empty, no leading dash."""
    if _PLAIN.fullmatch(name):
        return name
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    found = _UNSAFE.sub("_", name).strip("_-./:#") or "layer"
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


@cache
def _generated(op: str) -> re.Pattern[str]:
    """`n12`, `Conv_754`, `MatMul`, `node_linear_3`: names that exporters count."""
    return re.compile(rf"n?\d+|node(?:_.*)?|{re.escape(op)}(?:_+\d+)?")


def layer_name(node: str, op: str, scope: str, tensors: Sequence[str], output: str) -> str:
    """The best of what is known, not yet unique.

    Args:
        node: the node's name, with the path of functions that it was inlined from.
        op: the operator.
        scope: the module, where the exporter noted it.
        tensors: its weight and bias; an empty name for one that other layers read too, which then names none of them.
        output: the result's name.
    """
    *calls, own = node.split(CALL)
    *path, last = own.strip("/").split("/")
    generated = not last or _generated(op).fullmatch(last) is not None
    if path and own.startswith("/"):
        own = ".".join(path if generated and tensors else [*path, last])
        return clean("/".join([*calls, own]))
    if not generated:
        return clean("/".join([*calls, own]))
    named = next((name for name in tensors if name and not is_anonymous(name)), None)
    if named is not None:
        return clean(_SUFFIXES.sub("", _CAFFE2.sub("", named)))
    if scope:
        return clean(scope if tensors else f"{scope}.{op}")
    return clean("/".join(filter(None, [*calls, own])) or output or op)
