"""Traces as text, and back."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jobs
from astrac import emit
from astrac.diagnostics import Diagnosed
from astrac.simulators.astra_sim_2.chakra import from_lines, to_lines, to_text

HAND = Path(__file__).parent / "traces" / "hand.hex"


def by_hand():
    return bytes.fromhex(" ".join(line.partition("#")[0] for line in HAND.read_text().splitlines()))


def test_lines_hold_every_field():
    assert [json.loads(line) for line in to_lines(by_hand())] == [
        {"version": "0.0.4"},
        {"name": "a", "type": "COMP_NODE", "attr": {"is_cpu_op": False, "num_ops": 1000, "tensor_size": 300}},
        {
            "id": 1,
            "name": "g",
            "type": "COMM_COLL_NODE",
            "data_deps": [0],
            "attr": {"is_cpu_op": False, "comm_type": 0, "comm_size": 4194304, "involved_dim": [True, False]},
        },
        {
            "id": 2,
            "name": "s",
            "type": "COMM_SEND_NODE",
            "ctrl_deps": [1],
            "attr": {"is_cpu_op": False, "comm_size": 5, "comm_tag": 9, "comm_src": 1, "comm_dst": 3},
        },
        {
            "id": 3,
            "name": "r",
            "type": "COMM_COLL_NODE",
            "data_deps": [2],
            "attr": {
                "is_cpu_op": False,
                "comm_type": 7,
                "comm_size": 8,
                "involved_dim": [True, True],
                "pg_name": "2",
            },
        },
    ]


def test_a_line_a_node_for_people():
    assert list(to_text(by_hand())) == [
        "Chakra 0.0.4",
        "    0 COMP      a is_cpu_op=false num_ops=1000 tensor_size=300",
        "    1 COMM_COLL g data_deps=[0] is_cpu_op=false comm_type=0 comm_size=4194304 involved_dim=[true,false]",
        "    2 COMM_SEND s ctrl_deps=[1] is_cpu_op=false comm_size=5 comm_tag=9 comm_src=1 comm_dst=3",
        '    3 COMM_COLL r data_deps=[2] is_cpu_op=false comm_type=7 comm_size=8 involved_dim=[true,true] pg_name="2"',
    ]


@pytest.mark.parametrize("job", jobs.ALL.values(), ids=jobs.ALL.keys())
def test_lines_give_the_trace_back(job):
    for artifact in emit.emit({"astra-sim-2": job}).value.artifacts:
        if artifact.ranks:
            data = b"".join(artifact.contents())
            assert b"".join(from_lines(to_lines(data))) == data


FORMS = {
    "double_val": 1.5,
    "float_val": -0.25,
    "int32_val": -7,
    "sint64_val": -(2**62),
    "uint64_val": 2**64 - 1,
    "fixed32_val": 3,
    "bytes_val": "AAH/",
    "int64_list": [1, -2],
    "bool_list": [],
    "string_list": ["a", "b"],
    "double_list": ["inf", 2.0],
}


@pytest.mark.parametrize("form, value", FORMS.items(), ids=FORMS.keys())
def test_attributes_of_every_form_come_back(form, value):
    lines = ['{"version": "1"}', json.dumps({"type": "COMP_NODE", "attr": {"a": {form: value}}})]
    data = b"".join(from_lines(lines))
    assert b"".join(from_lines(to_lines(data))) == data
    back = json.loads(list(to_lines(data))[1])["attr"]["a"]
    assert back == ([] if form == "bool_list" else {form: value})


def test_what_a_dict_cannot_hold_comes_back_too():
    lines = [
        '{"version": "1", "attr": {"schema": "x"}}',
        '{"id": 18446744073709551615, "type": 77, "start_time_micros": 4, "inputs": {"values": "[]", "types": "[1]"}}',
        '{"attr": [["a", 1], ["a", {"doc_string": "again", "int64_val": 2}], ["b", {}]]}',
    ]
    data = b"".join(from_lines(lines))
    assert [json.loads(line) for line in to_lines(data)] == [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "3", '{"nodes": 1}', '{"id": -1}', '{"id": "x"}', '{"type": "COMP"}', '{"attr": {"a": 1.5}}',
     '{"attr": {"a": null}}', '{"attr": {"a": {"text": 1}}}', '{"attr": 3}', '{"attr": [[1]]}', '{"inputs": 3}',
     '{"data_deps": [-1]}', '{"data_deps": 3}', '{"attr": {"a": {"bytes_val": "?"}}}', '{"name": "\\ud800"}',
     '{"attr": {"a": 99999999999999999999}}', '{"attr": {"a": {"double_list": ["x"]}}}', '{"name": {}}',
     '{"attr": {"a": {"double_val": {}}}}', '{"inputs": {"attr": {"a": 1}}}', '{"SerializeToString": 3}'],
)  # fmt: skip
def test_a_line_that_is_no_message_is_named(line):
    with pytest.raises(Diagnosed, match="line 3 is no Node"):
        b"".join(from_lines(['{"version": "1"}', "", line or "nothing"]))


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_no_bytes_end_in_an_exception_of_another_kind(data):
    for text in (to_lines(data), to_text(data)):
        with suppress(Diagnosed):
            list(text)
