"""Our shape rules against onnx's own operator tests: `PYTHONPATH=compiler python tests/bench/check_onnx_shapes.py`.

onnx ships some 1,900 tests of single operators with numbers in and out. Every result whose shape we infer must have
that shape and type; results that only a run could tell may stay unknown. Exits with 1 when one differs.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from astrac.models.graph import Constant
from astrac.models.onnx.decode import decode
from astrac.models.onnx.facts import Value
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import infer

if TYPE_CHECKING:
    from typing import Any

    from astrac.models.onnx.flatten import Flat

SMALL = 16
"""Elements up to which an input is given as a constant: it may be a shape, axes or scales."""

NUMPY_HAS_NONE = ("float8", "float4", "bfloat16", "int4", "uint4", "int2", "uint2", "string")


def constants(flat: Flat, arrays: list[Any]) -> dict[str, Constant]:
    """Small inputs as constants."""
    found = dict(flat.constants)
    for item, array in zip(flat.inputs, arrays, strict=False):
        if (
            isinstance(array, np.ndarray)
            and item.dtype in ("int64", "int32", "float32", "bool")
            and array.size <= SMALL
        ):
            payload = array.item() if array.ndim == 0 else tuple(array.ravel().tolist()) if array.ndim == 1 else None
            found[item.name] = Constant(item.name, array.shape, item.dtype, payload=payload)
    return found


def verdicts(case: Any) -> list[str]:
    """One word a result."""
    flat = flatten(case.name, decode(case.model), None)
    arrays, results = case.data_sets[0]
    inputs = {item.name: Value(None, item.dtype) for item in flat.inputs}
    for item, array in zip(flat.inputs, arrays, strict=False):
        if isinstance(array, np.ndarray):
            inputs[item.name] = Value(array.shape, item.dtype or "float32")
    facts = infer(replace(flat, constants=constants(flat, arrays)), inputs, {}, {})
    found = []
    for name, result in zip(flat.outputs, results, strict=False):
        value = facts.values.get(name)
        if value is None or not isinstance(result, np.ndarray):
            continue
        exact = value.dtype is not None and not value.dtype.startswith(NUMPY_HAS_NONE)
        if value.shape is None or None in value.shape:
            found.append("unknown")
        elif value.shape != result.shape or (exact and value.dtype != str(result.dtype)):
            found.append("wrong")
            print(f"{case.name}: {value.dtype} {value.shape}, should be {result.dtype} {result.shape}")
        else:
            found.append("right")
    return found


def main() -> int:
    """Counts of all verdicts."""
    warnings.simplefilter("ignore")  # onnx computes its expected numbers when its tests are collected
    from onnx.backend.test.case.node import collect_testcases

    counts = Counter(verdict for case in collect_testcases(None) if case.model for verdict in verdicts(case))
    print(", ".join(f"{count:,} {verdict}" for verdict, count in sorted(counts.items())))
    return bool(counts["wrong"])


if __name__ == "__main__":
    sys.exit(main())
