"""Data types: a row each, and the words of a spec, or those of a model's file, as bytes per element."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from astrac.training.finding import Finding

if TYPE_CHECKING:
    from astrac.models.model import Model
    from astrac.spec import Hardware, Precision


class DataType(NamedTuple):
    """`bytes` per element, and the name of the type in a model's file, None where no file has it."""

    bytes: int
    stored: str | None


DATA_TYPES: dict[str, DataType] = {
    "fp64": DataType(8, "float64"),
    "fp32": DataType(4, "float32"),
    "tf32": DataType(4, None),  # 19 bits that are stored in 32
    "fp16": DataType(2, "float16"),
    "bf16": DataType(2, "bfloat16"),
    "fp8": DataType(1, "float8"),
    "int8": DataType(1, "int8"),
}
"""By the word of a spec, which is also the attribute of `Peak`."""


def own_type(model: Model) -> str | None:
    """The word for the type that all matrices of a model are stored in, or None when there is no single one."""
    found = {layer.weight.dtype for layer in model.layers if layer.weight is not None and layer.macs}
    words = {row.stored: word for word, row in DATA_TYPES.items()}
    return words.get(found.pop()) if len(found) == 1 else None


def without_peak(hardware: Hardware, word: str, pointer: str) -> Finding | None:
    """AS506 for a data type that the hardware has no peak for; None when it has one."""
    if getattr(hardware.peak, word) is not None:
        return None
    known = [name for name in DATA_TYPES if getattr(hardware.peak, name)]
    hint = f"it has {', '.join(known)}: add `peak {{ {word}: ... }}` or train in one of these"
    return Finding("AS506", pointer, f"`{hardware.name}` has no peak for `{word}`", hint)


class Widths(NamedTuple):
    """The data types of a run, as words and bytes per element.

    Attributes:
        compute: word that picks the peak.
        weights, gradients, reduce, activations, optimizer: bytes per element.
        master: the optimizer keeps its own copy of the weights.
    """

    compute: str
    weights: int
    gradients: int
    reduce: int
    activations: int
    optimizer: int
    master: bool


def widths(precision: Precision | None, own: str) -> Widths:
    """Bytes per element of everything that is stored or sent.

    What a spec leaves out follows from what it says, as `schemas/training.schema.json` describes it.

    Args:
        precision: the spec's block.
        own: the word that holds without one.
    """
    size = {word: row.bytes for word, row in DATA_TYPES.items()}
    if precision is None:
        width = size[own]
        return Widths(own, width, width, width, width, size["fp32"], master=width < size["fp32"])
    weights = size[precision.weights or precision.compute]
    gradients = size[precision.gradients] if precision.gradients else weights
    optimizer = size[precision.optimizer]
    return Widths(
        compute=precision.compute,
        weights=weights,
        gradients=gradients,
        reduce=size[precision.reduce] if precision.reduce else gradients,
        activations=size[precision.activations or precision.compute],
        optimizer=optimizer,
        master=weights < optimizer if precision.master_weights is None else precision.master_weights,
    )
