"""Shapes of operators over space: convolutions, pooling, resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.onnx.facts import Inconsistent, Rule, Site, Value
from astrac.models.onnx.layout import Values, agreed, axis_of, like, text

if TYPE_CHECKING:
    from collections.abc import Sequence


def windows(site: Site, space: Sequence[int | None], kernel: Sequence[int | None]) -> tuple[int | None, ...]:
    """Positions of a sliding window along each axis: ONNX's formulas for `Conv` and pooling."""
    rank = len(space)
    strides, dilations = site.numbers("strides") or (1,) * rank, site.numbers("dilations") or (1,) * rank
    pads, auto = site.numbers("pads") or (0,) * (2 * rank), site.text("auto_pad", "NOTSET")
    result: list[int | None] = []
    for index, (extent, width) in enumerate(zip(space, kernel, strict=True)):
        stride = strides[index]
        if extent is None or width is None or stride < 1:
            result.append(None)
        elif auto.startswith("SAME"):
            result.append(-(-extent // stride))
        else:
            begin, end = (pads[index], pads[rank + index]) if auto in ("NOTSET", "") else (0, 0)
            room = extent + begin + end - (dilations[index] * (width - 1) + 1)
            if room < 0:
                raise Inconsistent(f"a window of {width} does not fit into {extent}")
            count = room // stride + 1
            if site.number("ceil_mode"):
                count = -(-room // stride) + 1
                count -= (count - 1) * stride >= extent + begin
            result.append(count)
    return tuple(result)


def conv_at(data: int, weight: int, dtype: str | None = None) -> Rule:
    """A rule for a convolution whose operands are these inputs."""

    def rule(site: Site) -> Values:
        shape, kernel = site.shape(data), site.shape(weight)
        if shape is None or kernel is None:
            return (Value(None, dtype or site.dtype(data)),)
        if len(shape) != len(kernel) or len(shape) < 2:
            raise Inconsistent(f"a kernel of {text(kernel)} over {text(shape)}")
        inner = None if kernel[1] is None else kernel[1] * site.number("group", 1)
        agreed((shape[1], inner), (shape, kernel))
        return (Value((shape[0], kernel[0], *windows(site, shape[2:], kernel[2:])), dtype or site.dtype(data)),)

    return rule


def conv_transpose(site: Site) -> Values:
    """Stride x (extent - 1) + output padding + dilated kernel - pads; channels = kernel's second extent x group."""
    shape, kernel = site.shape(), site.shape(1)
    if shape is None or kernel is None:
        return like(site, None)
    if len(shape) != len(kernel) or len(shape) < 2:
        raise Inconsistent(f"a kernel of {text(kernel)} over {text(shape)}")
    agreed((shape[1], kernel[0]), (shape, kernel))
    channels = None if kernel[1] is None else kernel[1] * site.number("group", 1)
    rank = len(shape) - 2
    sizes = site.numbers("output_shape")
    if sizes is not None:
        return like(site, (shape[0], channels, *sizes[-rank:]))
    strides, dilations = site.numbers("strides") or (1,) * rank, site.numbers("dilations") or (1,) * rank
    extra, pads = site.numbers("output_padding") or (0,) * rank, site.numbers("pads") or (0,) * (2 * rank)
    auto = site.text("auto_pad", "NOTSET")
    result: list[int | None] = []
    for index, (extent, width) in enumerate(zip(shape[2:], kernel[2:], strict=True)):
        if extent is None or width is None:
            result.append(None)
        elif auto.startswith("SAME"):
            result.append(extent * strides[index])
        else:
            cut = pads[index] + pads[rank + index] if auto in ("NOTSET", "") else 0
            result.append(strides[index] * (extent - 1) + extra[index] + dilations[index] * (width - 1) + 1 - cut)
    return like(site, (shape[0], channels, *result))


def pool(site: Site) -> Values:
    """The windows of `kernel_shape`; positions beside the values where asked for."""
    shape, kernel = site.shape(), site.numbers("kernel_shape")
    if shape is None or kernel is None:
        return like(site, None)
    result = (*shape[:2], *windows(site, shape[2:], kernel))
    return (Value(result, site.dtype()), Value(result, "int64"))


def global_pool(site: Site) -> Values:
    """One position."""
    shape = site.shape()
    return like(site, None if shape is None else (*shape[:2], *(1,) * (len(shape) - 2)))


def resize(site: Site) -> Values:
    """Sizes where given, else floor(extent x scale); `Upsample` has scales as input 1 or an attribute."""
    shape = site.shape()
    if shape is None:
        return like(site, None)
    upsample = site.node.op == "Upsample" or len(site.node.inputs) == 2
    sizes = None if upsample else site.data(3)
    axes = site.numbers("axes") or tuple(range(len(shape)))
    result: list[int | None] = list(shape)
    if sizes is not None:
        if site.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            return like(site, tuple(None if index in axes else extent for index, extent in enumerate(shape)))
        for axis, size in zip(axes, sizes, strict=True):
            result[axis_of(axis, len(shape))] = size
        return like(site, tuple(result))
    scales = _scales(site, 1 if upsample else 2)
    for index, axis in enumerate(axes):
        extent = result[axis]
        result[axis] = None if scales is None or extent is None else int(extent * scales[index])
    return like(site, tuple(result))


def _scales(site: Site, index: int) -> Sequence[float] | None:
    attribute = site.attribute("scales")
    if isinstance(attribute, tuple):
        return attribute  # type: ignore[return-value]
    found = site.array(index)
    return None if found is None or not found.size else [float(number) for number in found.ravel().tolist()]


def depth_to_space(site: Site) -> Values:
    """Channels / block^2, space x block."""
    return _blocks(site, grow=True)


def space_to_depth(site: Site) -> Values:
    """Channels x block^2, space / block."""
    return _blocks(site, grow=False)


def _blocks(site: Site, *, grow: bool) -> Values:
    shape, block = site.shape(), site.number("blocksize", 1)
    if shape is None:
        return like(site, None)
    batch, channels, *space = shape
    if grow:
        spread = [None if extent is None else extent * block for extent in space]
        return like(site, (batch, None if channels is None else channels // block**2, *spread))
    spread = [None if extent is None else extent // block for extent in space]
    return like(site, (batch, None if channels is None else channels * block**2, *spread))


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
