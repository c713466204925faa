"""`zoo:NAME`: the published convolutional networks as graphs of our own, without weights, with a symbolic batch.

Node and weight names follow the ONNX zoo: `resnet50` is its caffe2 export (stride 2 in the 3x3 convolutions, as in
torchvision's "v1.5"), `vgg16` and `vgg19` its MXNet exports. Nothing is fetched and nothing comes from the onnx wheel,
so the same name gives the same bytes everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.graph import Constant, Graph, ModelFile, Node, Signature

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = "batch"
"""The name of the symbolic leading axis of every zoo model."""


class _Builder:
    """Nodes and constants in the order in which they are added; every method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: list[Constant] = []

    def weight(self, name: str, *shape: int) -> str:
        self.constants.append(Constant(name, shape, "float32"))
        return name

    def node(self, op: str, name: str, *inputs: str, **attributes: int | tuple[int, ...]) -> str:
        self.nodes.append(Node(op, inputs, (name,), attributes, name))
        return name

    def window(self, op: str, name: str, *inputs: str, kernel: int, stride: int = 1, pad: int = 0) -> str:
        """Adds a square convolution or pooling with ONNX's attributes."""
        return self.node(op, name, *inputs, kernel_shape=(kernel,) * 2, strides=(stride,) * 2, pads=(pad,) * 4)

    def file(self, data: str, result: str, classes: int = 1000) -> ModelFile:
        inputs = (Signature(data, "float32", (BATCH, 3, 224, 224)),)
        outputs = (Signature(result, "float32", (BATCH, classes)),)
        return ModelFile(Graph(inputs, outputs, tuple(self.constants), tuple(self.nodes)), versions={"": 9})


def _resnet50() -> ModelFile:
    """He et al., "Deep Residual Learning for Image Recognition", table 1; 25,557,032 parameters, 4,089,184,256 MACs."""
    build = _Builder()

    def normalise(data: str, name: str, channels: int) -> str:
        parts = [build.weight(f"gpu_0/{name}_{part}_0", channels) for part in ("s", "b", "rm", "riv")]
        return build.node("BatchNormalization", name, data, *parts)

    def convolve(data: str, name: str, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> str:
        weight = build.weight(f"gpu_0/{name}_w_0", outputs, inputs, kernel, kernel)
        return build.window("Conv", name, data, weight, kernel=kernel, stride=stride, pad=kernel // 2)

    def bottleneck(data: str, name: str, inputs: int, width: int, stride: int) -> str:
        main = data
        steps = (("2a", inputs, width, 1, 1), ("2b", width, width, 3, stride), ("2c", width, 4 * width, 1, 1))
        for branch, *extents in steps:
            label = f"{name}_branch{branch}"
            main = normalise(convolve(main, label, *extents), f"{label}_bn", extents[1])
            if branch != "2c":
                main = build.node("Relu", f"{label}_relu", main)
        if inputs != 4 * width:
            label = f"{name}_branch1"
            data = normalise(convolve(data, label, inputs, 4 * width, 1, stride), f"{label}_bn", 4 * width)
        return build.node("Relu", f"{name}_relu", build.node("Sum", f"{name}_sum", main, data))

    data = convolve("gpu_0/data_0", "conv1", 3, 64, kernel=7, stride=2)
    data = build.node("Relu", "conv1_relu", normalise(data, "res_conv1_bn", 64))
    data = build.window("MaxPool", "pool1", data, kernel=3, stride=2, pad=1)
    inputs = 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=2):
        for block in range(blocks):
            data = bottleneck(data, f"res{stage}_{block}", inputs, width, 2 if stage > 2 and block == 0 else 1)
            inputs = 4 * width
    data = build.window("AveragePool", "pool5", data, kernel=7)
    data = build.node("Flatten", "pool5_flat", data)
    matrix, bias = build.weight("gpu_0/pred_w_0", 1000, 2048), build.weight("gpu_0/pred_b_0", 1000)
    data = build.node("Gemm", "pred", data, matrix, bias, transB=1)
    return build.file("gpu_0/data_0", build.node("Softmax", "softmax", data, axis=1))


def _vgg(*convolutions: int) -> Callable[[], ModelFile]:
    """Simonyan and Zisserman, "Very Deep Convolutional Networks", table 1 (D and E): convolutions a stage."""

    def make() -> ModelFile:
        build = _Builder()

        def weights(name: str, *shape: int) -> tuple[str, str]:
            return build.weight(f"{name}_weight", *shape), build.weight(f"{name}_bias", shape[0])

        data, inputs, index = "data", 3, 0
        for stage, (count, width) in enumerate(zip(convolutions, (64, 128, 256, 512, 512), strict=True)):
            for _ in range(count):
                operands = weights(f"vgg0_conv{index}", width, inputs, 3, 3)
                data = build.window("Conv", f"vgg0_conv{index}_fwd", data, *operands, kernel=3, pad=1)
                data = build.node("Relu", f"vgg0_relu{index}_fwd", data)
                inputs, index = width, index + 1
            data = build.window("MaxPool", f"vgg0_pool{stage}_fwd", data, kernel=2, stride=2)
        data, inputs = build.node("Flatten", "flatten", data), 512 * 7 * 7
        for layer, width in enumerate((4096, 4096, 1000)):
            data = build.node(
                "Gemm", f"vgg0_dense{layer}_fwd", data, *weights(f"vgg0_dense{layer}", width, inputs), transB=1
            )
            if layer < 2:
                data = build.node("Relu", f"vgg0_dense{layer}_relu_fwd", data)
                data = build.node("Dropout", f"vgg0_dropout{layer}_fwd", data)
            inputs = width
        return build.file("data", data)

    return make


MODELS: dict[str, Callable[[], ModelFile]] = {
    "resnet50": _resnet50,
    "vgg16": _vgg(2, 2, 3, 3, 3),
    "vgg19": _vgg(2, 2, 4, 4, 4),
}
"""The known names; a function each, so that none is built before it is asked for."""


def graph(name: str) -> ModelFile:
    """The model of that name; a KeyError for any other, since the caller knows the place to blame."""
    return MODELS[name]()
