"""Slips of newcomers: an ordinary spec with one thing changed gets one message, whose help is the line to write."""

import json
from pathlib import Path

import pytest

from astrac.language import schema
from astrac.models import zoo
from language import findings

HERE = Path(__file__).parent / "cases"
BASE = (HERE / "slips.astra").read_text(encoding="utf-8")
ROWS = json.loads((HERE / "slips.json").read_text(encoding="utf-8"))


def told(row):
    """The errors of a spec with the slip: a line each, with their hints and notes."""
    assert BASE.count(row["before"]) == 1, row["before"]
    found = findings(BASE.replace(row["before"], row["after"]), name=str(HERE / "slips.astra"))
    return [
        "; ".join([f"{each.code} {each.message}", *(label.text for label in each.labels[1:]), *each.hints])
        for each in found
        if each.is_error
    ]


def test_the_base_is_right():
    assert findings(BASE) == ()


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_slips(row):
    lines = told(row)
    assert 1 <= len(lines) <= row["most"], lines
    for words in row["wants"]:
        assert any(words in line for line in lines), lines


def test_words_of_other_tools_mean_what_there_is():
    """Every word of the table is none of ours, and what it stands for is a word of that block or key, or help."""
    table = json.loads((Path(__file__).parents[1] / "schemas" / "slips.json").read_text(encoding="utf-8"))
    titles = {entry["title"]: entry for _, entry in schema.walk(schema.spec()) if "title" in entry}
    for where, words in table.items():
        title, _, key = where.partition(".")
        entry = titles[title]
        ours = {*schema.keys(entry), *schema.branches(entry)}
        if key:
            assert key in ours, where
            found = entry["properties"].get(key, {})
            ours = {*found.get("enum", ()), *found.get("x-words", ())}
        for word, meaning in words.items():
            assert word == word.lower().replace("-", "_"), word
            assert word not in ours, (where, word)
            assert meaning in ours or " " in meaning, (where, word, meaning)


@pytest.mark.parametrize(
    "before, after, wanted",
    [
        ("recompute: selective", "recompute: true", "did you mean `full`?"),
        ("recompute: selective", "recompute: off", "did you mean `none`?"),
        ("optimizer: adam", "optimizer: adamw", "did you mean `adam`?"),
        ("data { degree: 4", "dp { degree: 4", "did you mean `data`?"),
        ("sequence: 2048", "seq_len: 2048", "did you mean `sequence`?"),
        ("sequence: 2048", "sequence: 2M", "write `2_000_000`"),
        ("latency: 1 us", "latency: 1 usec", "did you mean `us`?"),
        ("450 GB/s", "450 gbps", "did you mean `Gbps`?"),
        ("450 GB/s", "450", "write it with a unit, such as `GB/s` or `Gbps`"),
        ("size: 4,", "size: 2^2,", "there is no power"),
        ("size: 4,", "size: 4..512,", "`[2, 4, 8]`"),
        ("topology pod {", "topology pod extends base {", "did you mean `from`?"),
        ("global_batch: 64", "global_batch: 1,024", "write `1_024`"),
        ("switch rail", "dragonfly rail", "no dragonfly"),
        ("size: 8,", "size: 8x4x2,", "one number a dimension"),
    ],
)
def test_others_of_the_kind(before, after, wanted):
    (line,) = told({"before": before, "after": after})
    assert wanted in line


def test_the_models_of_the_zoo_are_known_as_slips():
    table = json.loads((Path(__file__).parents[1] / "schemas" / "slips.json").read_text(encoding="utf-8"))
    assert table["Model.onnx"].keys() == table["Spec.model"].keys() == zoo.MODELS.keys()
