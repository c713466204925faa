"""Shapes of operators over space: convolutions, pooling, resizing."""

from __future__ import annotations

from operator import floordiv, mul
from typing import TYPE_CHECKING, NamedTuple

from astrac.models.onnx.facts import Inconsistent, Shape, Site, Value
from astrac.models.onnx.layout import Extents, Values, agreed, axis_of, like, shaped, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.models.onnx.facts import Rule


class Window(NamedTuple):
    """What convolutions and pooling share, an entry an axis of space; padding has the begins, then the ends."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    same: bool

    @classmethod
    def of(cls, site: Site, rank: int) -> Window:
        """The attributes of a node over a space of so many axes, with ONNX's defaults."""
        auto = site.text("auto_pad", "NOTSET")
        pads = site.numbers("pads") if auto in ("NOTSET", "") else None
        strides, dilations = site.numbers("strides"), site.numbers("dilations")
        ones = (1,) * rank
        return cls(strides or ones, dilations or ones, pads or (0,) * (2 * rank), auto.startswith("SAME"))


def windows(site: Site, space: Extents, kernel: Extents) -> Extents:
    """Positions of a sliding window along each axis: the formulas of `Conv` and `MaxPool` (opset 22)."""
    rank = len(space)
    window = Window.of(site, rank)
    result: list[int | None] = []
    for index, (extent, width) in enumerate(zip(space, kernel, strict=True)):
        stride = window.strides[index]
        if extent is None or width is None or stride < 1:
            result.append(None)
        elif window.same:
            result.append(-(-extent // stride))
        else:
            begin, end = window.pads[index], window.pads[rank + index]
            room = extent + begin + end - (window.dilations[index] * (width - 1) + 1)
            if room < 0:
                raise Inconsistent(f"a window of {width} does not fit into {extent}")
            count = room // stride + 1
            if site.number("ceil_mode"):
                count = -(-room // stride) + 1
                count -= (count - 1) * stride >= extent + begin
            result.append(count)
    return tuple(result)


def _same_rank(shape: Extents, kernel: Extents) -> None:
    if len(shape) != len(kernel) or len(shape) < 2:
        raise Inconsistent(f"a kernel of {text(kernel)} over {text(shape)}")


def conv_at(data: int, weight: int, dtype: str | None = None) -> Rule:
    """A rule for a convolution whose operands are these inputs."""

    def rule(site: Site) -> Values:
        shape, kernel = site.shape(data), site.shape(weight)
        if shape is None or kernel is None:
            return (Value(None, dtype or site.dtype(data)),)
        _same_rank(shape, kernel)
        inner = None if kernel[1] is None else kernel[1] * site.number("group", 1)
        agreed((shape[1], inner), (shape, kernel))
        return (Value((shape[0], kernel[0], *windows(site, shape[2:], kernel[2:])), dtype or site.dtype(data)),)

    return rule


@shaped(0, 1)
def conv_transpose(site: Site, shape: Extents, kernel: Extents) -> Shape:
    """Stride x (extent - 1) + output padding + dilated kernel - pads; channels = kernel's second extent x group."""
    _same_rank(shape, kernel)
    agreed((shape[1], kernel[0]), (shape, kernel))
    channels = None if kernel[1] is None else kernel[1] * site.number("group", 1)
    rank = len(shape) - 2
    sizes: Sequence[int | None] | None = site.numbers("output_shape")
    if sizes is None:
        window, extra = Window.of(site, rank), site.numbers("output_padding") or (0,) * rank
        sizes = [
            None if extent is None or width is None
            else extent * stride if window.same
            else stride * (extent - 1) + more + dilation * (width - 1) + 1 - begin - end
            for extent, width, stride, dilation, begin, end, more in zip(
                shape[2:], kernel[2:], window.strides, window.dilations,
                window.pads, window.pads[rank:], extra, strict=False,
            )
        ]  # fmt: skip
    return (shape[0], channels, *sizes[-rank:])


def pool(site: Site) -> Values:
    """The windows of `kernel_shape`; positions beside the values where asked for."""
    shape, kernel = site.shape(), site.numbers("kernel_shape")
    if shape is None or kernel is None:
        return like(site, None)
    result = (*shape[:2], *windows(site, shape[2:], kernel))
    return (Value(result, site.dtype()), Value(result, "int64"))


@shaped(0)
def global_pool(_site: Site, shape: Extents) -> Shape:
    """One position is left along each axis of space."""
    return (*shape[:2], *(1,) * (len(shape) - 2))


@shaped(0)
def resize(site: Site, shape: Extents) -> Shape:
    """Sizes where given, else floor(extent x scale); `Upsample` has scales as input 1 or an attribute."""
    upsample = site.node.op == "Upsample" or len(site.node.inputs) == 2
    sizes = None if upsample else site.data(3)
    axes = site.numbers("axes") or tuple(range(len(shape)))
    result: list[int | None] = list(shape)
    if sizes is not None:
        if site.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            return tuple(None if index in axes else extent for index, extent in enumerate(shape))
        for axis, size in zip(axes, sizes, strict=True):
            result[axis_of(axis, len(shape))] = size
        return tuple(result)
    scales = _scales(site, 1 if upsample else 2)
    for index, axis in enumerate(axes):
        extent = result[axis]
        result[axis] = None if scales is None or extent is None else int(extent * scales[index])
    return tuple(result)


def _scales(site: Site, index: int) -> Sequence[float] | None:
    attribute = site.attribute("scales")
    if isinstance(attribute, tuple):
        return attribute  # type: ignore[return-value]
    found = site.array(index)
    return None if found is None or not found.size else [float(number) for number in found.ravel().tolist()]


def blocks(channels_per_block: Callable[[int, int], int], space: Callable[[int, int], int]) -> Rule:
    """A rule that moves blocks between channels (by `blocksize` squared) and space (by `blocksize`)."""

    def rule(site: Site, shape: Extents) -> Shape:
        size = site.number("blocksize", 1)
        batch, channels, *sides = shape
        moved = [None if side is None else space(side, size) for side in sides]
        return (batch, None if channels is None else channels_per_block(channels, size**2), *moved)

    return shaped(0)(rule)


depth_to_space = blocks(floordiv, mul)
"""Channels / block^2, space x block."""

space_to_depth = blocks(mul, floordiv)
"""Channels x block^2, space / block."""


def stft(site: Site) -> Values:
    """Frames of the signal, then frequencies (half of them and one by default), then real and imaginary part."""
    signal, window, step, length = site.shape(), site.shape(2), site.data(1), site.data(3)
    frame = length[0] if length else window[0] if window else None
    frames = None
    if signal and signal[1] is not None and frame is not None and step and step[0] > 0:
        frames = (signal[1] - frame) // step[0] + 1
    bins = None if frame is None else frame // 2 + 1 if site.number("onesided", 1) else frame
    return like(site, (signal[0] if signal else None, frames, bins, 2))


def stft_flops(site: Site) -> int | None:
    """A fast Fourier transform of N points takes 5 N log2 N operations, as all benchmarks count them."""
    shape = site.output()
    if shape is None or None in shape:
        return None
    batch, frames, bins, _ = shape
    points = 2 * (bins - 1) if site.number("onesided", 1) else bins  # type: ignore[operator]
    return batch * frames * 5 * points * max(points.bit_length() - 1, 1)  # type: ignore[operator, union-attr]
