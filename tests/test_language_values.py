"""Values by the schema: what words mean, what is filled in, and one message for one mistake."""

from copy import deepcopy
from fractions import Fraction

import pytest

from astrac.language import schema
from astrac.language.construct import construct
from astrac.language.document import to_json
from astrac.language.elaborate import elaborate
from astrac.language.parse import parse
from astrac.language.resolve import resolve
from astrac.language.validate import validate
from astrac.validator import violations
from language import SPEC, codes, documents, findings, placed, tree

RING = "topology pod {{\n  ring a {{ size: {size}, bandwidth: {bandwidth}, latency: {latency}{more} }}\n}}\n"


def ring(size="8", bandwidth="50 GB/s", latency="500 ns", more="", before=""):
    return before + RING.format(size=size, bandwidth=bandwidth, latency=latency, more=more)


def test_a_whole_document():
    assert tree(ring(more=", algorithm: direct", before="let n = 2\n")) == {
        "kind": "topology",
        "name": "pod",
        "dimensions": [
            {
                "kind": "ring",
                "name": "a",
                "size": 8,
                "bandwidth": 50_000_000_000,
                "latency": Fraction(1, 2_000_000),
                "algorithm": "direct",
            }
        ],
    }


def test_defaults_are_in_the_document_and_point_at_their_block():
    (document,) = documents(SPEC)
    assert document.tree["system"]["chunks"] == 4
    assert document.tree["system"]["endpoint_delay"] == Fraction(1, 10**8)
    assert document.tree["model"]["transformer"]["kv_heads"] == 8
    assert document.tree["training"]["precision"] == {"compute": "bf16", "optimizer": "fp32"}
    assert document.at("/training/optimizer").text == "training"
    assert document.at("/training/global_batch").text == "64"
    assert document.key("/training/global_batch").text == "global_batch"
    assert document.at("/topology/dimensions/1").text == "switch rail"
    assert document.at("/parallelism/axes/0/on/0").text == "nvlink"
    assert document.at("/training/precision/compute").text == "bf16"
    with pytest.raises(KeyError):
        document.at("/topology/dimensions/2")


def test_the_spec_is_the_document_in_types():
    (document,) = documents(SPEC)
    spec = construct(document)
    assert [(dimension.kind, dimension.name, dimension.size) for dimension in spec.topology.dimensions] == [
        ("switch", "nvlink", 8),
        ("switch", "rail", 4),
    ]
    assert [axis.kind for axis in spec.parallelism.axes] == ["tensor", "data"]
    assert spec.parallelism.axes[1].degree is None
    assert isinstance(spec.hardware.memory.capacity, Fraction)
    assert spec.training.pass_ == "training"
    assert spec.memory_pool is None
    assert spec.model.layers == ()


def test_numbers_in_json_are_exact():
    assert to_json({"a": Fraction(1, 3), "b": Fraction(15, 10**9), "c": 3, "d": [True, "x"], "e": []}) == (
        '{\n  "a": "1/3",\n  "b": 0.000000015,\n  "c": 3,\n  "d": [true, "x"],\n  "e": []\n}'
    )


@pytest.mark.parametrize("size", ["8.0", "4 * 2", "16 / 2", "(8)", "800 / 1e2"])
def test_what_is_whole_is_a_count(size):
    found = tree(ring(size=size))["dimensions"][0]["size"]
    assert (found, type(found)) == (8, int)


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"size": "8.5"}, ("AS406", "8.5")),
        ({"size": "true"}, ("AS404", "true")),
        ({"size": "'8'"}, ("AS101", "'8'")),
        ({"size": '"8"'}, ("AS404", '"8"')),
        ({"size": "[8]"}, ("AS404", "[8]")),
        ({"size": "8 B"}, ("AS307", "8 B")),
        ({"size": "800 %"}, ("AS307", "800 %")),
        ({"size": "0"}, ("AS410", "0")),
        ({"size": "eight"}, ("AS201", "eight")),
        ({"bandwidth": "inf"}, ("AS201", "inf")),
        ({"bandwidth": "nan"}, ("AS201", "nan")),
        ({"bandwidth": "1e400 B/s"}, ("AS306", "1e400 B/s")),
        ({"bandwidth": "50 GB/s / 0"}, ("AS305", "0")),
        ({"bandwidth": "50"}, ("AS302", "50")),
        ({"bandwidth": "50 GB"}, ("AS307", "50 GB")),
        ({"bandwidth": "50 %"}, ("AS302", "50 %")),
        ({"bandwidth": "0 B/s"}, ("AS410", "0 B/s")),
        ({"bandwidth": "-1 GB/s"}, ("AS410", "-1 GB/s")),
        ({"latency": "0"}, ("AS302", "0")),
        ({"latency": "2 s"}, ("AS410", "2 s")),
        ({"more": ", algorithm: Ring"}, ("AS405", "Ring")),
        ({"more": ', algorithm: "ring"'}, ("AS404", '"ring"')),
        ({"more": ", algorithm: 3"}, ("AS404", "3")),
        ({"more": ", algorithm: a.b"}, ("AS218", "a.b")),
        ({"more": ", color: red"}, ("AS401", "color")),
        ({"more": ", a.b: 3"}, ("AS409", "a.b")),
        ({"more": ', "window": 3'}, ("AS401", '"window"')),
        ({"more": ", algorithms: ring"}, ("AS408", "algorithms")),
        ({"more": ", window {}"}, ("AS408", "window")),
        ({"more": ", name: x"}, ("AS401", "name")),
        ({"more": ", kind: ring"}, ("AS401", "kind")),
    ],
)
def test_one_mistake_is_one_message_at_the_value(change, expected):
    assert placed(ring(**change)) == [expected]


def test_a_misspelt_required_key_is_one_mistake():
    assert placed(ring().replace("bandwidth", "bandwith")) == [("AS401", "bandwith")]
    assert placed("hardware g {\n  peek { bf16: 1 FLOPS }\n  memory { capacity: 1 B, bandwidth: 1 B/s }\n}\n") == [
        ("AS402", "peek")
    ]
    assert placed(SPEC.replace("model m", "modle m")) == [("AS402", "modle")]


def test_what_depends_on_a_mistake_is_not_one():
    text = "let a = 5 gb/s\nlet b = a * 2\n" + ring(bandwidth="b / 2")
    assert placed(text) == [("AS301", "gb/s")]
    assert placed("let a = c\nlet b = a\nlet c = b\n" + ring(size="a")) == [("AS217", "a")]
    assert placed('use "nowhere.astra"\nhardware g from h100 {}\n' + ring(size="n")) == [("AS204", '"nowhere.astra"')]
    assert placed('use "nowhere.astra"\nhardware: h100\n' + ring()) == [("AS204", '"nowhere.astra"')]
    assert placed("let n = = 8\n" + ring(size="n")) == [("AS101", "=")]


# -- words


def test_position_decides_what_a_word_means():
    lets = "let ring = 8\nlet way = direct\nlet ways = [nvlink]\n"
    text = SPEC.replace("latency: 300 ns", "latency: 300 ns, algorithm: way").replace("on: [nvlink]", "on: ways")
    (document,) = documents(lets + text)
    assert document.tree["topology"]["dimensions"][0]["algorithm"] == "direct"
    assert documents("let ring = 8\n" + ring(size="ring"))[0].library[0]["dimensions"][0]["size"] == 8


def test_a_let_that_hides_a_word_is_an_error_where_it_is_used():
    assert codes("let ring = 8\n" + ring()) == []
    assert placed("let ring = 8\n" + ring(more=", algorithm: ring")) == [("AS213", "ring")]
    assert placed("let nvlink = 8\n" + SPEC) == [("AS213", "nvlink")]


def test_a_word_for_a_name():
    assert placed(SPEC.replace("on: [nvlink]", "on: [nvlnk]")) == [("AS219", "nvlnk")]
    (error,) = findings(SPEC.replace("on: [nvlink]", "on: [spine]"))
    assert error.hints == ("there are `nvlink`, `rail`",)


def test_words_beside_numbers():
    text = 'model m {{ onnx: "zoo:resnet50", input "x" {{ shape: [{}, 3, 224] }} }}\n'
    assert tree(text.format("batch"))["inputs"][0]["shape"] == ["batch", 3, 224]
    assert tree("let n = 8\n" + text.format("n"))["inputs"][0]["shape"] == [8, 3, 224]
    assert placed(text.format("bacth")) == [("AS405", "bacth")]


def test_keys_of_a_model_may_be_quoted():
    text = 'model m { onnx: "zoo:resnet50", bind { seq: 128, "2*seq": 256, "a/b~c": 3 } }\n'
    (document,) = documents(text)
    assert document.library[0]["bind"] == {"seq": 128, "2*seq": 256, "a/b~c": 3}
    assert document.at("/library/0/bind/a~1b~0c").text == "3"
    assert placed(text.replace("256", "2.5")) == [("AS406", "2.5")]


def test_a_plain_word_for_a_block():
    (plain,), (block,) = documents(SPEC), documents(SPEC.replace("precision: bf16", "precision { compute: bf16 }"))
    assert plain.tree == block.tree
    assert placed(SPEC.replace("precision: bf16", "precision: bf17")) == [("AS405", "bf17")]
    assert codes(SPEC.replace("precision: bf16", "precision: bf16, precision { weights: fp32 }")) == ["AS202"]


# -- the schemas


@pytest.mark.parametrize(
    "value, keyword, limit, broken",
    [
        (3, "exclusiveMaximum", 3, True),
        (2, "exclusiveMaximum", 3, False),
        (3, "maximum", 3, False),
        (4, "maximum", 3, True),
        (Fraction(5, 2), "minimum", 3, True),
        (3, "exclusiveMinimum", 3, True),
        ("fast", "minimum", 3, False),  # one of `x-words`
        ([1, 2], "maxItems", 1, True),
        ([1], "maxItems", 1, False),
        ([], "minItems", 1, True),
        ("", "minLength", 1, True),
        ({}, "minProperties", 1, True),
        ({"a": 1}, "minProperties", 1, False),
        ([1, 2, 1], "uniqueItems", True, True),
        ([1, "1"], "uniqueItems", True, False),
        ({"a": 1}, "required", ["a", "b"], True),
        ({"a": 1}, "additionalProperties", False, True),
        (7, "multipleOf", 3, True),  # a keyword without a message
    ],
)
def test_keywords(value, keyword, limit, broken):
    assert [found.keyword for found in violations(value, {keyword: limit})] == [keyword] * broken


def test_a_keyword_without_a_message_is_our_mistake():
    (document,) = documents(SPEC)
    spec = deepcopy(schema.spec())
    spec["properties"]["training"]["properties"]["steps"]["multipleOf"] = 3
    (found,) = validate(document, spec).diagnostics
    assert (found.code, found.message) == ("AS900", "`training` breaks `multipleOf` of its schema")


def test_schemas_are_draft_2020_12_and_say_what_everything_is():
    from jsonschema import Draft202012Validator

    for _, block in schema.walk(schema.spec()):
        Draft202012Validator.check_schema(_floats(block))
        for name, entry in block.get("properties", {}).items():
            assert entry["description"].endswith("."), name
            assert "default" not in entry or entry["type"] == "object" or not [*violations(entry["default"], entry)], (
                name
            )


def _floats(node):
    if isinstance(node, dict):
        return {key: _floats(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_floats(item) for item in node]
    return float(node) if isinstance(node, Fraction) else node


def test_a_new_key_is_one_entry():
    spec = schema.load("spec.schema.json")
    dimension = spec["properties"]["topology"]["properties"]["dimensions"]["x-blocks"]["ring"]
    dimension["properties"]["length"] = {"type": "number", "x-unit": "s", "default": 3, "description": "How long."}
    variant = resolve(parse("x", ring(more=", lenght: 5 us").encode()).value, None).value[0]
    (error,) = elaborate(variant, spec).diagnostics
    assert error.hints == ("did you mean `length`?",)
    variant = resolve(parse("x", ring().encode()).value, None).value[0]
    assert elaborate(variant, spec).value.library[0]["dimensions"][0]["length"] == 3
