"""Our shape rules against onnx's own operator tests: some 1,900 graphs of one operator, with numbers in and out.

Every result whose shape we infer must have that shape and type; only results that a run alone can tell stay unknown.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from astrac.models.graph import Constant
from astrac.models.onnx.decode import decode
from astrac.models.onnx.facts import Value
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import infer

SMALL = 16
"""Elements up to which an input is given as a constant: it may be a shape, axes or scales."""

NUMPY_HAS_NONE = ("float8", "float4", "bfloat16", "int4", "uint4", "int2", "uint2", "string")

UNTOLD = {
    "affine", "attention", "bernoulli", "bitcast", "blackmanwindow", "causal", "clip", "compress", "dequantizelinear",
    "eyelike", "hammingwindow", "hannwindow", "image", "loop11", "maxunpool", "melweightmatrix", "nonmaxsuppression",
    "nonzero", "onehot", "range", "regex", "resize", "scan", "scan9", "string", "strnormalizer", "unique",
}  # fmt: skip
"""First words of tests with a result that is not told: data decides, or a row or a type that numpy has not."""


def constants(flat, arrays):
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


def verdicts(case):
    """A word a result, with what was found and what is right where it is wrong."""
    flat = flatten(case.name, decode(case.model), None)
    arrays, results = case.data_sets[0]
    inputs = {item.name: Value(None, item.dtype) for item in flat.inputs}
    for item, array in zip(flat.inputs, arrays, strict=False):
        if isinstance(array, np.ndarray):
            inputs[item.name] = Value(array.shape, item.dtype or "float32")
    facts = infer(replace(flat, constants=constants(flat, arrays)), inputs, {}, {})
    for name, result in zip(flat.outputs, results, strict=False):
        value = facts.values.get(name)
        if value is None or not isinstance(result, np.ndarray):
            continue
        exact = value.dtype is not None and not value.dtype.startswith(NUMPY_HAS_NONE)
        if value.shape is None or None in value.shape:
            yield "unknown"
        elif value.shape != result.shape or (exact and value.dtype != str(result.dtype)):
            yield f"{case.name}: {value.dtype} {value.shape}, should be {result.dtype} {result.shape}"
        else:
            yield "right"


def test_shapes_of_onnxs_own_operator_tests():
    warnings.simplefilter("ignore")  # onnx computes its expected numbers when its tests are collected
    from onnx.backend.test.case.node import collect_testcases

    found = {case.name: list(verdicts(case)) for case in collect_testcases(None) if case.model}
    assert [word for words in found.values() for word in words if word not in ("right", "unknown")] == []
    assert {name.split("_")[1] for name, words in found.items() if "unknown" in words} <= UNTOLD
    words = [word for words in found.values() for word in words]
    assert words.count("right") > 0.85 * len(words)  # onnx 1.23: 1,801 of 2,017
