"""Runs of ranks, JSON for people, limits of manifests, places in texts, suggestions: what all else stands on."""

import json

import pytest

from astrac.bundle.artifact import (
    Artifact,
    Bundle,
    entry,
    json_text,
    listed_files,
    paths,
    ranks_of,
    read_manifest,
    runs,
    text_artifact,
)
from astrac.source import Position, Source
from astrac.suggest import LISTED, did_you_mean, listed, mean_or_list, nearest

# -- bundles


@pytest.mark.parametrize(
    "ranks, text",
    [
        ((0,), "0"),
        ((0, 1), "0-1"),
        ((3, 5), "3,5"),
        ((0, 1, 2, 3, 16), "0-3,16"),
        ((1, 3, 4, 6, 7, 8), "1,3-4,6-8"),
    ],
)
def test_runs_and_back(ranks, text):
    assert runs(ranks) == text
    assert tuple(ranks_of(text)) == ranks


def test_no_ranks_have_no_runs():
    assert runs(()) == ""


def test_paths_of_ranks():
    assert list(paths("w/x.{rank}.et", (0, 12))) == ["w/x.0.et", "w/x.12.et"]
    assert list(paths("run.sh", (0, 12))) == ["run.sh"]
    assert list(text_artifact("run.sh", "").paths) == ["run.sh"]


def test_sizes_of_a_bundle():
    texts = text_artifact("a", "µ"), Artifact("b.{rank}", 10, lambda: (b"0123456789",), ranks=(0, 1, 2))
    made = Bundle({}, texts)
    assert (texts[0].size, texts[0].executable, b"".join(texts[0].contents())) == (2, False, "µ".encode())
    assert (made.files, made.bytes) == (1 + 3 + 1, 2 + 10)


def test_lines_of_a_manifest():
    one, many = Artifact("a.{rank}", 5, tuple, ranks=(7,)), Artifact("a.{rank}", 5, tuple, ranks=(0, 1))
    assert entry(one, "f") == {"path": "a.{rank}", "ranks": "7", "size": 5, "sha256": "f"}
    assert entry(many, "f") == {"path": "a.{rank}", "ranks": "0-1", "linked": True, "size": 5, "sha256": "f"}
    assert entry(many, "f", linked=False)["linked"] is False
    assert entry(text_artifact("a", "xy"), "f") == {"path": "a", "size": 2, "sha256": "f"}


def test_json_is_broken_where_it_is_long_and_holds_lists():
    """A line has at most 100 characters, or holds neither lists nor objects within another."""

    def value(width):  # {"a": [["xxx"]]} is 13 characters and the word
        return {"a": [["x" * (width - 13)]]}

    assert len(json.dumps(value(100))) == 100
    assert json_text({"top": value(100)}) == '{\n  "top": ' + json.dumps(value(100)) + "\n}\n"
    broken = '{\n  "top": {\n    "a": [["' + "x" * 88 + '"]]\n  }\n}\n'
    assert json_text({"top": value(101)}) == broken
    assert json_text({"top": ["x" * 200]}) == '{\n  "top": ["' + "x" * 200 + '"]\n}\n'
    assert json_text({"a": 1, "b": "ß"}) == '{\n  "a": 1,\n  "b": "ß"\n}\n'
    assert json_text([]) == "[]\n"


def manifest(folder, **changes):
    line = {"path": "x.{rank}", "ranks": "0-1"}
    (folder / "manifest.json").write_text(json.dumps({"compiler": "astrac 1", "files": [line]} | changes))
    return read_manifest(folder)


def test_which_manifests_are_ours(tmp_path):
    assert manifest(tmp_path) is not None
    assert listed_files(tmp_path) == {"x.0", "x.1"}
    assert manifest(tmp_path, compiler="astracan 1") is None
    assert manifest(tmp_path, files={}) is None
    assert manifest(tmp_path, files=["x"]) is None
    assert manifest(tmp_path, files=[{"path": "x", "ranks": "all"}]) is None
    assert manifest(tmp_path, files=[{"path": "x", "ranks": "0-1,"}]) is None
    assert manifest(tmp_path, files=[{"path": "x", "ranks": "12345678"}]) is None
    assert manifest(tmp_path, files=[{"path": "x", "ranks": "1234567"}]) is not None
    assert manifest(tmp_path, files=[{"path": "x"}]) is not None
    assert listed_files(tmp_path) == {"x"}
    million = [{"path": "x.{rank}", "ranks": f"1-{2**20}"}]
    assert manifest(tmp_path, files=million) is not None
    assert manifest(tmp_path, files=[*million, {"path": "y"}]) is None
    assert manifest(tmp_path, files=[{"path": "x.{rank}", "ranks": "5-3"}]) is not None
    assert listed_files(tmp_path) == set()


def test_what_is_no_file_is_no_manifest(tmp_path):
    assert read_manifest(tmp_path) is None
    (tmp_path / "manifest.json").mkdir()
    assert read_manifest(tmp_path) is None
    (tmp_path / "manifest.json").rmdir()
    manifest(tmp_path)
    (tmp_path / "manifest.json").rename(tmp_path / "real")
    (tmp_path / "manifest.json").symlink_to("real")
    assert read_manifest(tmp_path) is None


# -- places in texts


@pytest.mark.parametrize(
    "offset, position",
    [
        (-1, (1, 1)),
        (0, (1, 1)),
        (1, (1, 2)),
        (2, (1, 3)),
        (3, (2, 1)),
        (5, (3, 1)),
        (7, (4, 1)),
        (8, (4, 2)),
        (99, (4, 2)),
    ],
)
def test_positions(offset, position):
    """Lines end with LF, CR or CRLF."""
    source = Source("f", "ab\nc\rd\ne")
    assert source.position(offset) == Position(*position)


def test_lines_and_spans():
    source = Source("f", "ab\r\nc\rd\ne")
    assert source.line_starts == (0, 4, 6, 8)
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["ab", "c", "d", "e"]
    span = source.span(1, 5)
    assert (span.text, span.first, span.last) == ("b\r\nc", Position(1, 2), Position(2, 2))
    assert span.to(source.span(6, 7)).text == "b\r\nc\rd"
    assert (source.whole().start, source.whole().end, source.whole().text) == (0, 0, "")
    assert Source("binary").line_starts == (0,)
    assert Source("binary").position(5) == Position(1, 1)


# -- suggestions


def test_the_nearest_word():
    assert nearest("bandwith", ["bandwidth", "latency"]) == "bandwidth"
    assert nearest("BAND-WIDTH", ["band_width"]) == "band_width"
    assert nearest("zzz", ["bandwidth"]) is None
    assert nearest("x" * 100, ["x" * 100]) == "x" * 100
    assert nearest("x" * 101, ["x" * 101]) is None
    assert nearest("ab", ["ad", "ac"], at_least=0.5) == "ac"  # equally near: the first sorted
    # 2 x 3 letters in common of 10: just as much as is asked for; and of 11.
    assert nearest("abcxy", ["abcde"]) == "abcde"
    assert nearest("abcxy", ["abcdef"]) is None


def test_hints():
    assert did_you_mean("ringg", ["ring"]) == ("did you mean `ring`?",)
    assert did_you_mean("zzz", ["ring"]) == ()
    assert listed(["b", "a"]) == ("there are `b`, `a`",)
    assert listed([]) == ()
    assert mean_or_list("ringg", ["ring"]) == ("did you mean `ring`?",)
    assert mean_or_list("zzz", ["b", "a", "a"]) == ("there are `a`, `b`",)
    assert mean_or_list("zzz", []) == ()
    words = [f"k{number:02}" for number in range(13)]
    twelve = ", ".join(f"`{word}`" for word in words[:12])
    assert LISTED == 12
    assert mean_or_list("zzz", words[:12]) == (f"there are {twelve}",)
    assert mean_or_list("zzz", words) == (f"there are {twelve} and 1 more",)
