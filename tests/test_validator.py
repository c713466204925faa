"""The validation engine finds what jsonschema finds, in its order, for every schema that is shipped."""

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, validators

from astrac.language import schema
from astrac.validator import is_plainly_right, violations
from language import SPEC, documents

SCHEMAS = Path(__file__).parents[1] / "schemas"

ARTIFACTS = {
    "network": [
        {"topology": ["Ring", "Switch"], "npus_count": [4, 2], "bandwidth": [50, 25.5], "latency": [500, 0.0]},
    ],
    "system": [
        {
            "scheduling-policy": "LIFO",
            "collective-optimization": "baseline",
            "preferred-dataset-splits": 4,
            "all-reduce-implementation": ["ring", "direct4"],
            "all-to-all-implementation-custom": ["x"],
            "roofline-enabled": 1,
            "peak-perf": 10,
            "local-mem-bw": 1.5,
        },
        {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, "all-gather-implementation-custom": ["x"]},
    ],
    "memory": [
        {"memory-type": "NO_MEMORY_EXPANSION"},
        {
            "memory-type": "PER_NODE_MEMORY_EXPANSION",
            "remote-mem-latency": 5,
            "remote-mem-bw": 8,
            "num-nodes": 2,
            "num-npus-per-node": 4,
        },
    ],
    "comm_groups": [{"1": [0, 1, 2], "2": [3]}],
    "custom-table": [{"0": "x", "17": "y/z"}],
    "ns3-logical": [{"logical-dims": ["4", "2"]}],
    "astra-sim-1-network": [
        {
            "topology-name": "Hierarchical",
            "dimensions-count": 1,
            "topologies-per-dim": ["Ring"],
            "dimension-type": ["N"],
            "units-count": [4],
            **{key: [2] for key in ("links-count", "link-latency", "link-bandwidth", "nic-latency", "router-latency")},
            **{key: [0.5] for key in ("hbm-latency", "hbm-bandwidth", "hbm-scale")},
        },
    ],
}

WRONG = [None, True, False, -1, 0, 1, 8.0, 0.5, math.inf, 10**12, "", "1", "ring", "Ring", [], [1, 1], {}, {"01": "x"}]


@cache
def reference(exact: bool):
    """jsonschema, for exact numbers or for those of JSON; 8.0 is no integer and infinity no number in the latter."""
    if exact:
        return Draft202012Validator

    def is_integer(_, value):
        return isinstance(value, int) and not isinstance(value, bool)

    def is_number(_, value):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer).redefine("number", is_number)
    return validators.extend(Draft202012Validator, type_checker=checker)


def expected(validator, value):
    """What jsonschema finds, as violations say it."""
    found = []
    for error in validator.iter_errors(value):
        wanted = error.validator_value
        if error.validator == "required":
            wanted = next(name for name in wanted if error.message.startswith(repr(name)))
        found.append((error.validator, tuple(error.absolute_path), error.instance, wanted))
    return found


def told(value, entry):
    return [(found.keyword, found.path, found.value, found.wanted) for found in violations(value, entry)]


def variations(node, wrong):
    """The tree with one value replaced, one key left out, one that is unknown, or a list twice."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield {name: other for name, other in node.items() if name != key}
            yield from ({**node, key: other} for other in variations(value, wrong))
        yield {**node, "unknown": 1}
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from ([*node[:at], other, *node[at + 1 :]] for other in variations(value, wrong))
        yield [*node, *node]
    yield from wrong


@pytest.mark.parametrize("name", ARTIFACTS)
def test_artifacts(name):
    entry = json.loads((SCHEMAS / "artifacts" / f"{name}.schema.json").read_text(encoding="utf-8"))
    validator = reference(exact=False)(entry)
    failing = 0
    for document in ARTIFACTS[name]:
        assert told(document, entry) == []
        for value in variations(document, WRONG):
            assert told(value, entry) == expected(validator, value)
            failing += bool(told(value, entry))
    assert failing > 20


def test_specs():
    (document,) = documents(SPEC)
    entry = schema.spec()
    validator = reference(exact=True)(spelled_out(entry))
    wrong = [None, True, -1, 0, 1, Fraction(1, 2), 10**12, "", "ring", [], {}, {"kind": "x"}]
    assert is_plainly_right(document.tree, entry, entry)
    for value in variations(document.tree, wrong):
        if kinds_are_known(value):
            assert told(value, entry) == expected(validator, value)


def spelled_out(entry):
    """The schema with `x-blocks` as jsonschema understands it: the branch is chosen by `kind`."""
    closed = {}
    for keyword, wanted in entry.items():
        if keyword == "x-blocks":
            closed["items"] = {
                "allOf": [
                    {"if": {"properties": {"kind": {"const": kind}}}, "then": spelled_out(branch)}
                    for kind, branch in wanted.items()
                ]
            }
        elif keyword == "properties":
            closed[keyword] = {name: spelled_out(value) for name, value in wanted.items()}
        elif keyword in ("items", "additionalProperties") and isinstance(wanted, dict):
            closed[keyword] = spelled_out(wanted)
        else:
            closed[keyword] = wanted
    return closed


def kinds_are_known(node):
    """Elaborate never makes a block of a list without a kind that the schema has."""
    if isinstance(node, dict):
        return all(kinds_are_known(value) for value in node.values())
    if isinstance(node, list) and any(isinstance(item, dict) for item in node):
        known = {"switch", "tensor", "data", "layer"}
        return all(isinstance(item, dict) and str(item.get("kind")) in known and kinds_are_known(item) for item in node)
    return True


@pytest.mark.parametrize("path", sorted(SCHEMAS.rglob("*.schema.json")), ids=lambda path: path.name)
def test_the_engine_knows_every_keyword(path):
    entry = json.loads(path.read_text(encoding="utf-8"))
    assert not [found.keyword for row in rows(entry) for found in violations(None, row)]


def rows(entry):
    """Each keyword of a schema alone, of those that say nothing of `null`."""
    for word, wanted in entry.items():
        if word not in {"type", "enum", "const", "$ref", "allOf", "anyOf", "not", "if"}:
            yield {word: wanted}
        if word in {"properties", "$defs", "x-blocks"}:
            for inner in wanted.values():
                yield from rows(inner)
        elif word in {"allOf", "anyOf"}:
            for inner in wanted:
                yield from rows(inner)
        elif word in {"items", "additionalProperties", "propertyNames", "not", "if", "then"} and wanted is not False:
            yield from rows(wanted)


def test_equal_is_what_json_calls_equal():
    unique = {"uniqueItems": True}
    assert not violations([1, True, "1", [1], [2], {}, None], unique)
    assert [found.keyword for found in violations([1, 1.0], unique)] == ["uniqueItems"]
    assert [found.keyword for found in violations([[1], [1]], unique)] == ["uniqueItems"]
    assert [found.keyword for found in violations(True, {"enum": [0, 1]})] == ["enum"]
    assert not violations(1.0, {"const": 1})


@pytest.mark.parametrize("name", ARTIFACTS)
def test_what_is_right_is_told_at_once(name):
    """Without jsonschema, whose import takes longer than all the rest of a check."""
    entry = json.loads((SCHEMAS / "artifacts" / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert all(is_plainly_right(document, entry, entry) for document in ARTIFACTS[name])


def test_what_is_wrong_with_a_key_and_with_a_value():
    entry = {"propertyNames": {"pattern": "^[1-9]"}, "additionalProperties": {"type": "integer"}}
    assert [(found.keyword, found.value, found.of_key) for found in violations({"a": "b", "2": 3}, entry)] == [
        ("pattern", "a", True),
        ("type", "b", False),
    ]
