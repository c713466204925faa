"""Damaged models: bytes flipped, cut and spliced, and graphs that stay readable and make no sense."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto

from astrac.models.onnx.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx import GraphProto

_NUMBERS = (0, -1, 1, 2, 3, 7, 100, 2**31, 2**62, -(2**63))
_TEXTS = (b"", b"SAME_UPPER", b"\xff\xfe", b"ij,jk->ik", b"...a,a->...")
_OPERATORS = [*sorted(name for name in OPERATORS if "." not in name), "If", "Loop", "Scan", "Constant", "Nonsense"]
_ATTRIBUTES = [
    "axis",
    "axes",
    "perm",
    "group",
    "pads",
    "strides",
    "kernel_shape",
    "num_heads",
    "equation",
    "split",
    "shape",
    "N",
    "K",
    "body",
    "scales",
    "to",
]


def models() -> list[bytes]:
    """Real models of less than 40 kB."""
    folder = Path(__file__).parent / "onnx"
    found = [path.read_bytes() for path in sorted(folder.glob("*/*.onnx"))]
    return [data for data in found if 0 < len(data) < 40_000]


def damaged(seed: int, count: int) -> Iterator[bytes]:
    """So many damaged models, the same for the same seed."""
    chance, sources = random.Random(seed), models()
    for index in range(count):
        data = chance.choice(sources)
        yield _senseless(chance, data) if index % 2 else _broken(chance, data, sources)


def _broken(chance: random.Random, source: bytes, sources: list[bytes]) -> bytes:
    data = bytearray(source)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        if not data:
            break
        at, other = chance.randrange(len(data)), chance.choice(sources)
        start, length = chance.randrange(len(other)), chance.choice((1, 3, 20, 200))
        change = chance.randrange(5)
        if change == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif change == 1:
            data[at] = chance.randrange(256)
        elif change == 2:
            del data[at : at + chance.choice((1, 5, 50, len(data)))]
        elif change == 3:
            data[at:at] = other[start : start + length]
        else:  # as many bytes as before, so that the lengths around them still hold
            piece = other[start : start + length][: len(data) - at]
            data[at : at + len(piece)] = piece
    return bytes(data)


def _senseless(chance: random.Random, source: bytes) -> bytes:
    try:
        model = ModelProto.FromString(source)
    except DecodeError:
        return source
    graphs = [model.graph, *(item.g for node in model.graph.node for item in node.attribute if item.type == 5)]
    graphs = [graph for graph in graphs if graph.node]
    for _ in range(chance.choice((1, 1, 2, 3, 5)) if graphs else 0):
        chance.choice(_CHANGES)(chance, chance.choice(graphs))
        if chance.random() < 0.05:
            node = chance.choice(model.graph.node)
            function = model.functions.add(name=node.op_type, domain=node.domain, input=node.input, output=node.output)
            function.node.add().CopyFrom(node)
    return model.SerializeToString()


def _names(graph: GraphProto) -> list[str]:
    return [
        "",
        *(name for node in graph.node for name in (*node.input, *node.output)),
        *(item.name for item in graph.initializer),
    ]


def _operator(chance: random.Random, graph: GraphProto) -> None:
    chance.choice(graph.node).op_type = chance.choice(_OPERATORS)


def _wire(chance: random.Random, graph: GraphProto) -> None:
    node = chance.choice(graph.node)
    if node.input and chance.random() < 0.6:
        node.input[chance.randrange(len(node.input))] = chance.choice(_names(graph))
    else:
        node.input.append(chance.choice(_names(graph)))


def _cut(chance: random.Random, graph: GraphProto) -> None:
    node = chance.choice(graph.node)
    if node.input:
        del node.input[chance.randrange(len(node.input))]


def _result(chance: random.Random, graph: GraphProto) -> None:
    node = chance.choice(graph.node)
    if node.output and chance.random() < 0.5:
        node.output[chance.randrange(len(node.output))] = chance.choice([*_names(graph), "other"])
    else:
        node.output.append(f"more{chance.randrange(9999)}")


def _attribute(chance: random.Random, graph: GraphProto) -> None:
    node = chance.choice(graph.node)
    if not node.attribute:
        item = node.attribute.add(name=chance.choice(_ATTRIBUTES), type=chance.choice((2, 3, 7)))
        item.ints.extend(chance.choices(_NUMBERS, k=chance.randrange(5)) if item.type == AttributeProto.INTS else ())
        return
    item = chance.choice(node.attribute)
    if item.ints:
        item.ints[chance.randrange(len(item.ints))] = chance.choice(_NUMBERS)
    elif item.type == AttributeProto.INT:
        item.i = chance.choice(_NUMBERS)
    elif item.s:
        item.s = chance.choice(_TEXTS)
    else:
        item.type = chance.randrange(15)


def _tensor(chance: random.Random, graph: GraphProto) -> None:
    if not graph.initializer:
        return
    tensor = chance.choice(graph.initializer)
    if chance.random() < 0.3:
        tensor.data_type = chance.randrange(28)
    elif tensor.dims:
        tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(_NUMBERS)
    else:
        tensor.dims.append(chance.choice(_NUMBERS))


def _input(chance: random.Random, graph: GraphProto) -> None:
    dims = chance.choice(graph.input).type.tensor_type.shape.dim if graph.input else ()
    if dims:
        dims[chance.randrange(len(dims))].dim_value = chance.choice(_NUMBERS)


_CHANGES: tuple[Callable[[random.Random, GraphProto], None], ...] = (
    _operator, _wire, _cut, _result, _attribute, _attribute, _tensor, _input,
)  # fmt: skip
