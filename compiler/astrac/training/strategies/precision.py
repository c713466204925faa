"""Data types of a run: the words of a spec, or those of the model's file, as bytes per element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.training.strategies.part import Widths

if TYPE_CHECKING:
    from astrac.models.model import Model
    from astrac.spec import Precision

BYTES: dict[str, int] = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}

WORDS: dict[str, str] = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8": "fp8", "int8": "int8",
}  # fmt: skip
"""Types of a file that a spec has a word for."""


def own_type(model: Model) -> str | None:
    """The word for the type that all matrices of a model are stored in, or None when there is no single one."""
    found = {layer.weight.dtype for layer in model.layers if layer.weight is not None and layer.macs}
    return WORDS.get(found.pop()) if len(found) == 1 else None


def widths(precision: Precision | None, own: str) -> Widths:
    """Bytes per element of everything that is stored or sent.

    What a spec leaves out follows from what it says, as `schemas/training.schema.json` describes it.

    Args:
        precision: the spec's block.
        own: the word that holds without one.
    """
    if precision is None:
        width = BYTES[own]
        return Widths(own, width, width, width, width, BYTES["fp32"], master=width < BYTES["fp32"])
    weights = BYTES[precision.weights or precision.compute]
    gradients = BYTES[precision.gradients] if precision.gradients else weights
    optimizer = BYTES[precision.optimizer]
    return Widths(
        compute=precision.compute,
        weights=weights,
        gradients=gradients,
        reduce=BYTES[precision.reduce] if precision.reduce else gradients,
        activations=BYTES[precision.activations or precision.compute],
        optimizer=optimizer,
        master=weights < optimizer if precision.master_weights is None else precision.master_weights,
    )
