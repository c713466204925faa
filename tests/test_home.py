"""What is wrong with a value of the shipped library is told at the user's own line, with the line that overrides it."""

import re
from pathlib import Path

import pytest

from astrac.api.checking import shallow
from astrac.api.compiling import examine

STD = Path(__file__).parents[1] / "specs" / "std"

SPEC = """use "std/hardware/h100.astra"
use "std/model/{file}.astra"
use "std/topology/hgx_h100.astra"
hardware: h100_sxm
{topology}
{model}
parallelism {{ {axes} }}
training {{ global_batch: 16, micro_batch: 1, precision: bf16 }}
"""
PICK = "topology: hgx_h100"
TWO = "topology two from hgx_h100_rails { switch rail { size: 2 } }"
TENSOR = "tensor { degree: 4 }, data {}"
EXPERT = "expert { degree: 8 }, data {}"

CASES = [
    # file, topology, model, axes; code, the place, what to write, and there
    (
        ("gpt2", PICK, "model: gpt2", TENSOR),
        ("AS517", "6:8", "model my_model from gpt2 { transformer { vocabulary: 50_260 } }", "model: gpt2"),
    ),
    (
        ("gpt2", PICK, "model m from gpt2", TENSOR),
        ("AS517", "6:1", "transformer { vocabulary: 50_260 }", "model m from gpt2"),
    ),
    (
        ("gpt2", PICK, "model m from gpt2 { transformer { layers: 2 } }", TENSOR),
        ("AS517", "6:1", "vocabulary: 50_260", "layers: 2"),
    ),
    (
        ("mixtral", PICK, "model: mixtral_8x7b", EXPERT),
        (
            "AS891",
            "5:11",
            "topology my_topology from hgx_h100 { switch nvlink { algorithms { all_to_all: direct }, window: 1 } }",
            PICK,
        ),
    ),
    (
        ("mixtral", TWO, "model: mixtral_8x7b", EXPERT),
        ("AS891", "5:1", "switch nvlink { algorithms { all_to_all: direct }, window: 1 }", "switch rail"),
    ),
    (
        ("mixtral", TWO.replace(" }", " }, switch nvlink { latency: 200 ns }", 1), "model: mixtral_8x7b", EXPERT),
        ("AS891", "5:1", "algorithms { all_to_all: direct }, window: 1", "latency: 200 ns"),
    ),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_the_line_to_paste_mends(given, expected):
    text = SPEC.format(file=given[0], topology=given[1], model=given[2], axes=given[3])
    code, place, line, there = expected
    (found,) = (each for each in examine("s.astra", text.encode()) if each.code == code)
    span = found.labels[0].span
    assert (span.source.name, "{}:{}".format(*span.first)) == ("s.astra", place)
    assert found.labels[1].span.source.name.startswith("std/")
    assert any(f"`{line}`" in hint for hint in found.hints)
    if there == given[1] or there == given[2]:
        new = line if ":" in there.split()[0] else f"{there} {{ {line} }}"
    else:
        new = f"{line}, {there}"
    assert text.count(there) == 1
    assert code not in {each.code for each in examine("s.astra", text.replace(there, new).encode())}


def test_a_value_without_a_cure_of_its_own_is_overridden_too():
    text = SPEC.format(file="mixtral", topology=PICK, model="model: mixtral_8x7b", axes=EXPERT)
    (found,) = (each for each in examine("s.astra", text.encode()) if each.code == "AS540")
    assert found.labels[0].span.text == "h100_sxm"
    line = "hardware my_hardware from h100_sxm { memory { capacity: 80 GB } }"
    assert found.hints[-1] == f"write `{line}` in place of `hardware: h100_sxm`, with a value of your own"


def test_nothing_points_into_the_library():
    """Whatever its code: each shipped model, cut as few of them can be."""
    codes = set()
    for path in sorted((STD / "model").glob("*.astra")):
        for model in re.findall(r"^model (\w+)", path.read_text(), re.MULTILINE):
            text = (
                f'use "std/hardware/v100.astra"\nuse "std/model/{path.name}"\nhardware: v100_sxm_16g\nmodel: {model}\n'
            )
            text += "topology t { switch a { size: 7, bandwidth: 50 GB/s, latency: 500 ns } }\n"
            text += (
                "parallelism { tensor { sequence_parallel: true } }\ntraining { global_batch: 7, precision: bf16 }\n"
            )
            for found in shallow("s.astra", text.encode()):
                codes.add(found.code)
                assert found.labels[0].span.source.name == "s.astra", found
    assert codes >= {"AS517", "AS506"}
