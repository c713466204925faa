"""Numbers of small tensors: shape vectors, axes, scales of a resize. Weights are never read."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from astrac.models.graph import Constant

LIMIT, FLOAT_LIMIT = 4096, 16
"""Elements that shape arithmetic follows at most; of floating-point numbers only what may be the scales of a resize."""

_READABLE = {
    **dict.fromkeys(("int64", "int32", "bool"), LIMIT),
    **dict.fromkeys(("float32", "float64"), FLOAT_LIMIT),
}


def array(constant: Constant) -> np.ndarray | None:
    """The numbers of a constant, None when the file does not hold them or they are more than shapes ever need."""
    payload = constant.payload
    if payload is None or prod(constant.shape) > _READABLE.get(constant.dtype, -1):
        return None
    import numpy as np  # noqa: PLC0415 - onnx brings it; the zoo's models need neither

    if isinstance(payload, (tuple, int, float)):
        found = np.asarray(payload, constant.dtype)
    else:
        from onnx import numpy_helper  # noqa: PLC0415

        try:
            found = numpy_helper.to_array(payload)
        except (ValueError, TypeError):
            return None
    return found if found.shape == constant.shape else None
