"""Large ONNX files for the bench, made on the spot: weights inside as a hole, weights absent, very many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, TensorProto, helper

from astrac.models import zoo

if TYPE_CHECKING:
    from pathlib import Path


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def with_weights_inside(name: str, path: Path) -> None:
    """A zoo model whose weights lie in the file as raw data: zeros, which the file system need not store."""
    graph = zoo.graph(name).graph
    nodes = GraphProto(name=name)
    nodes.node.extend(
        helper.make_node(node.op, node.inputs, node.outputs, node.name, **node.attributes) for node in graph.nodes
    )
    for proto, signatures in ((nodes.input, graph.inputs), (nodes.output, graph.outputs)):
        proto.extend(helper.make_tensor_value_info(item.name, TensorProto.FLOAT, item.shape) for item in signatures)
    pieces: list[tuple[bytes, int]] = [(nodes.SerializeToString(), 0)]
    for constant in graph.constants:
        head = TensorProto(name=constant.name, data_type=TensorProto.FLOAT, dims=constant.shape).SerializeToString()
        payload = 4
        for extent in constant.shape:
            payload *= extent
        head += b"\x4a" + _varint(payload)  # field 9, raw_data
        pieces.append((b"\x2a" + _varint(len(head) + payload) + head, payload))  # field 5, initializer
    model = ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 9)]).SerializeToString()
    total = sum(len(head) + payload for head, payload in pieces)
    with path.open("wb") as file:
        file.write(model + b"\x3a" + _varint(total))  # field 7, graph
        for head, payload in pieces:
            file.write(head)
            file.seek(payload, 1)
        file.truncate(file.tell())


def transformer(path: Path, layers: int, hidden: int, heads: int, inner: int, vocabulary: int) -> None:
    """A decoder as exporters write it out, 36 nodes a layer, fp16 weights in a file that is not there."""
    graph = GraphProto(name="decoder")
    graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "seq"]))
    graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT16, ["batch", "seq", vocabulary]))

    def weight(name: str, *shape: int) -> str:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT16, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        graph.initializer.append(tensor)
        return name

    def node(op: str, *inputs: str, **attributes: object) -> str:
        made = graph.node.add(op_type=op, name=f"{op}_{len(graph.node)}", input=inputs, output=[f"v{len(graph.node)}"])
        made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        return made.output[0]

    for name, numbers in (("split", [0, 0, heads, hidden // heads]), ("merge", [0, 0, hidden])):
        graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers))
    for name in ("two", "eps", "scale"):
        graph.initializer.append(helper.make_tensor(name, TensorProto.FLOAT16, [], [1.0]))

    def norm(data: str, name: str) -> str:
        mean = node("ReduceMean", node("Pow", data, "two"), axes=[-1], keepdims=1)
        return node("Mul", node("Div", data, node("Sqrt", node("Add", mean, "eps"))), weight(name, hidden))

    def projected(data: str, name: str, perm: list[int]) -> str:
        return node(
            "Transpose", node("Reshape", node("MatMul", data, weight(name, hidden, hidden)), "split"), perm=perm
        )

    data = node("Gather", weight("embed", vocabulary, hidden), "ids")
    for layer in range(layers):
        inner_data = norm(data, f"l{layer}.norm1")
        query, value = (projected(inner_data, f"l{layer}.{part}", [0, 2, 1, 3]) for part in "qv")
        scores = node("Mul", node("MatMul", query, projected(inner_data, f"l{layer}.k", [0, 2, 3, 1])), "scale")
        context = node("Transpose", node("MatMul", node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        data = node(
            "Add", data, node("MatMul", node("Reshape", context, "merge"), weight(f"l{layer}.o", hidden, hidden))
        )
        inner_data = norm(data, f"l{layer}.norm2")
        gate, up = (node("MatMul", inner_data, weight(f"l{layer}.{part}", hidden, inner)) for part in ("gate", "up"))
        gated = node("Mul", node("Mul", gate, node("Sigmoid", gate)), up)
        data = node("Add", data, node("MatMul", gated, weight(f"l{layer}.down", inner, hidden)))
    final = node("MatMul", norm(data, "norm"), weight("head", hidden, vocabulary))
    graph.node.add(op_type="Identity", name="out", input=[final], output=["logits"])
    model = ModelProto(ir_version=8, graph=graph, opset_import=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
