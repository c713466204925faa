"""Names of several files and several blocks: use, from, profile, --set, sweep, paths, what is in force."""

import pytest

from astrac.language.assess import assess
from astrac.render import render
from astrac.units import Quantity, dimension
from language import SPEC, codes, documents, findings, placed, tree

POD = """topology pod {
  switch nvlink { size: 8, bandwidth: 450 GB/s, latency: 300 ns }
  switch rail { size: 4, bandwidth: 50 GB/s, latency: 1 us }
}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files into a folder of their own, which is then the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace("__", "/") + ".astra")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def dimensions(text, **options):
    found = tree(text, **options)
    return [(block["name"], block["size"]) for block in found.get("topology", found)["dimensions"]]


# -- use


def test_named_blocks_and_lets_of_another_file_are_visible(files):
    files(lib__pods=POD.replace("size: 4", "size: rails") + "let rails = 16\n")
    spine = "ring spine { size: rails / 2, bandwidth: 1 GB/s, latency: 0 s }"
    text = f'use "lib/pods.astra"\ntopology mine from pod {{ {spine} }}\n'
    assert dimensions(text) == [("nvlink", 8), ("rail", 16), ("spine", 8)]


def test_paths_are_relative_to_the_file_they_stand_in(files):
    files(a__b__one='use "../two.astra"\n' + POD, a__two='use "../three.astra"\n', three="let n = 2\n")
    assert codes('use "a/b/one.astra"\ntopology mine from pod { switch rail { size: n } }\n') == []
    assert codes('use "a/./b/../b/one.astra"\ntopology mine from pod\n') == []


def test_one_file_over_two_ways_is_one_file(files):
    files(base="let n = 2\n", left='use "base.astra"\nlet l = n\n', right='use "base.astra"\nlet r = n\n')
    assert codes('use "left.astra"\nuse "right.astra"\n' + POD.replace("8,", "l + r + n,")) == []


def test_circles_show_both_places(files):
    files(a='use "b.astra"\nlet a = 1\n', b='use "a.astra"\nlet b = 1\n')
    (error,) = findings('use "a.astra"\n' + POD)
    assert (error.code, error.labels[0].span.source.name) == ("AS205", "b.astra")
    assert (error.labels[1].span.source.name, error.labels[1].span.text) == ("a.astra", '"b.astra"')
    files(own='use "own.astra"\n' + POD)
    assert codes('use "own.astra"\n' + POD.replace("pod", "p")) == ["AS205"]


def test_names_of_two_files_show_both_places(files):
    files(a="let n = 1\n" + POD, b="let n = 2\n")
    found = findings('use "a.astra"\nuse "b.astra"\n' + POD)
    assert [(error.code, *(label.span.source.name for label in error.labels)) for error in found] == [
        ("AS203", "a.astra", "b.astra"),
        ("AS203", "spec.astra", "a.astra"),
    ]


def test_a_file_that_cannot_be_read_is_one_error(files):
    files(folder__x="")
    for path in ("none.astra", "folder", "folder/x.txt", "/etc/passwd", "std/none.astra", "a\\\\0b", "../" * 50 + "x"):
        assert codes(f'use "{path}"\nhardware g from nowhere {{ efficiency: n }}\n') == ["AS204"], path
    (error,) = findings('use "std/hardware/h101.astra"\nhardware g from h100_sxm\n')
    assert error.hints == ("did you mean `std/hardware/h100.astra`?",)
    assert codes('use "spec.astra"\n' + POD) == ["AS205"]


def test_errors_of_a_used_file_are_shown_there(files):
    files(lib="let n = 5 gb/s\nlet m = = 3\n")
    found = findings('use "lib.astra"\n' + POD)
    assert [(error.code, error.labels[0].span.source.name) for error in found] == [
        ("AS101", "lib.astra"),
        ("AS301", "lib.astra"),
    ]


def test_the_users_own_std_folder_is_not_the_library(files):
    files(std__mine='use "other.astra"\n' + POD, std__other="let n = 1\n")
    assert codes((b'use "other.astra"\n' + POD.encode()), name="std/spec.astra") == []
    files(two="let n = 8\n")
    assert (
        codes('use "std/../two.astra"\n' + POD.replace("8,", "n,")) == []
    )  # a way round is a way in the user's folders


def test_files_that_use_each_other_in_a_long_row(files):
    files(**{f"f{n}": f'use "f{n + 1}.astra"\n' for n in range(150)}, f150=POD)
    assert codes('use "f0.astra"\n' + POD.replace("pod", "mine")) == ["AS205"]


# -- from and the overlay rule


def test_scalars_replace_blocks_merge_new_blocks_are_outermost():
    text = (
        POD + "topology more from pod {\n"
        "  ring spine { size: 2, bandwidth: 1 GB/s, latency: 1 us }, switch rail { size: 16 }\n}\n"
    )
    (document,) = documents(text)
    more = document.library[1]["dimensions"]
    assert [(block["name"], block["size"], block["bandwidth"]) for block in more] == [
        ("nvlink", 8, 450 * 10**9),
        ("rail", 16, 50 * 10**9),
        ("spine", 2, 10**9),
    ]


def test_a_copy_of_a_copy_and_neighbours_in_a_block():
    text = (
        POD.replace("switch rail {", "switch rail from nvlink {")
        + "topology b from pod\ntopology c from b { switch nvlink { size: 2 } }\n"
    )
    (document,) = documents(text)
    assert [block["size"] for block in document.library[2]["dimensions"]] == [2, 4]
    assert [block["name"] for block in document.library] == ["pod", "b", "c"]


def test_what_cannot_be_copied():
    assert placed("hardware g from h100_sxm\n") == [("AS208", "h100_sxm")]
    assert placed(POD + "topology x from pd\n") == [("AS208", "pd")]
    assert codes("topology a from b\ntopology b from c\ntopology c from a\n") == ["AS209"]
    chain = "".join(f"topology t{n} from t{n + 1}\n" for n in range(70)) + POD.replace("pod", "t70")
    assert set(codes(chain)) == {"AS209"}


def test_a_plain_word_and_a_block_lie_over_each_other():
    precision = "profile p {{ training {{ {} }} }}\n"
    for base in ("precision: bf16", "precision { compute: bf16 }"):
        for above, expected in (
            ("precision: fp16", {"compute": "fp16", "optimizer": "fp32"}),
            ("precision { weights: fp32 }", {"compute": "bf16", "weights": "fp32", "optimizer": "fp32"}),
        ):
            text = SPEC.replace("precision: bf16", base) + precision.format(above)
            assert tree(text, profile="p")["training"]["precision"] == expected
    settings = ("training.precision.weights=fp32", "training.precision=fp16")
    found = tree(SPEC, settings=settings)["training"]["precision"]
    assert found == {"compute": "fp16", "weights": "fp32", "optimizer": "fp32"}


# -- profile, --set


def test_a_profile_is_laid_over():
    text = (
        SPEC
        + """let n = 4
profile smoke {
  let n = 2
  model m { transformer { layers: n } }
  training.global_batch: 128
  system { chunks: 8 }
  topology { switch rail { size: 2 } }
}
"""
    )
    assert tree(text)["model"]["transformer"]["layers"] == 4
    found = tree(text, profile="smoke")
    assert found["model"]["transformer"]["layers"] == 2
    assert found["model"]["transformer"]["hidden"] == 64
    assert (found["training"]["global_batch"], found["system"]["chunks"]) == (128, 8)
    assert [block["size"] for block in found["topology"]["dimensions"]] == [8, 2]


def test_a_profile_that_is_not_there():
    text = SPEC + "profile smoke {}\n"
    (error,) = findings(text, profile="smok")
    assert (error.code, error.hints) == ("AS210", ("did you mean `smoke`?",))
    assert "the file has none" in findings(SPEC, profile="x")[0].hints


def test_an_overlay_that_could_mean_two_blocks():
    assert codes(SPEC + "profile p { topology { switch { size: 2 } } }\n", profile="p") == ["AS212"]


@pytest.mark.parametrize(
    "setting, path, expected",
    [
        ("training.micro_batch=2", "training.micro_batch", 2),
        ("topology.rail.size = 8 * 2", "topology.rail.size", 16),
        ("pod.rail.bandwidth=100 Gbps", "topology.rail.bandwidth", 12_500_000_000),
        ("model.transformer.layers=8", "model.transformer.layers", 8),
        ("parallelism.tensor.sequence_parallel=true", "parallelism.tensor.sequence_parallel", True),
        ("system.chunks=16", "system.chunks", 16),
        ("h100_sxm.efficiency=50%", "hardware.efficiency", 0.5),
    ],
)
def test_set(setting, path, expected):
    (document,) = documents(SPEC, settings=(setting,))
    node = document.tree
    for step in path.split("."):
        inner = node[step] if step in node else next(
            block for value in node.values() if isinstance(value, list) for block in value
            if step in (block.get("kind"), block.get("name"))
        )  # fmt: skip
        node = inner
    assert node == expected


@pytest.mark.parametrize(
    "setting, code, text",
    [
        ("training.micro_batch=2.5", "AS406", "2.5"),
        ("topology.rail.bandwidth=100", "AS302", "100"),
        ("topology.rail.bandwidth=100 gbps", "AS301", "gbps"),
        ("topology.rial.size=4", "AS402", "rial"),
        ("topology.switch.size=4", "AS212", "switch"),
        ("trainin.micro_batch=2", "AS211", "trainin"),
        ("rail_speed=3", "AS211", "rail_speed"),
        ("training.microbatch=2", "AS401", "microbatch"),
        ("training.micro_batch=", "AS101", ""),
    ],
)
def test_a_setting_is_checked_like_the_source(setting, code, text):
    error = findings(SPEC, settings=(setting,))[0]
    assert (error.code, error.labels[0].span.text, error.labels[0].span.source.name) == (code, text, "--set")


def test_a_let_is_set_by_its_bare_name():
    text = "let speed = 50 GB/s\n" + SPEC.replace("bandwidth: 50 GB/s", "bandwidth: speed / 2")
    found = tree(text, settings=("speed=100 Gbps",))
    assert found["topology"]["dimensions"][1]["bandwidth"] == 6_250_000_000


# -- what is in force


def test_a_library_has_nothing_in_force_and_all_its_blocks_are_checked():
    text = POD + POD.replace("pod", "other").replace("300 ns", "300")
    assert codes(text) == ["AS302"]
    (document,) = documents(POD)
    assert (document.is_spec, document.tree, len(document.library)) == (False, {}, 1)


@pytest.mark.parametrize(
    "block", ["parallelism { data {} }", "training { global_batch: 1 }", "system {}", "topology: pod"]
)
def test_an_unnamed_block_or_a_pick_makes_a_spec(block):
    assert "AS403" in codes(POD + block + "\n")


def test_a_model_with_a_collective_makes_a_spec():
    text = (
        'use "std/hardware/h100.astra"\nhardware: h100_sxm\n'
        + POD
        + "model bench { collective { kind: all_reduce, size: 1 GB } }\n"
    )
    assert tree(text)["model"]["collective"]["size"] == 10**9


def test_two_of_a_kind_need_a_pick():
    two = SPEC + POD.replace("pod", "other").replace("size: 4", "size: 2")
    (error,) = findings(two)
    assert (error.code, len(error.labels)) == ("AS214", 2)
    assert dimensions(two + "topology: other\n") == [("nvlink", 8), ("rail", 2)]
    assert placed(two + "topology: othr\n") == [("AS208", "othr")]
    assert dimensions("let which = pod\n" + two + "topology: which\n", settings=("which=other",))[1] == ("rail", 2)
    assert dimensions(two, settings=("topology=other",))[1] == ("rail", 2)
    # The one that is not in force is checked all the same.
    assert placed(two.replace("size: 2", "size: 2.5") + "topology: pod\n") == [("AS406", "2.5")]


def test_a_missing_block_names_those_in_reach():
    (error,) = findings(SPEC.replace("hardware: h100_sxm\n", ""))
    assert error.message == "the spec has no `hardware`"
    assert error.hints == ("pick one of those in reach: `hardware: h100_sxm`",)


# -- sweep


def test_a_sweep_is_a_product():
    text = "let speed = 50 GB/s\n" + SPEC.replace("bandwidth: 50 GB/s", "bandwidth: speed")
    text += "sweep {\n  speed: [200 Gbps, 400 Gbps]\n  topology.rail.size: [2, 4]\n}\n"
    points = documents(text)
    assert [point.name for point in points] == [
        "speed=200Gbps,topology.rail.size=2",
        "speed=200Gbps,topology.rail.size=4",
        "speed=400Gbps,topology.rail.size=2",
        "speed=400Gbps,topology.rail.size=4",
    ]
    assert [point.tree["topology"]["dimensions"][1]["bandwidth"] for point in points] == [25 * 10**9] * 2 + [
        50 * 10**9
    ] * 2
    assert points[1].point == (("speed", "200 Gbps"), ("topology.rail.size", "4"))
    (point,) = documents(text, point="speed=400Gbps,topology.rail.size=2")
    assert point.tree["topology"]["dimensions"][1]["size"] == 2
    assert len(documents(text, settings=("speed=1 GB/s",))) == 2
    assert codes(text, point="speed=400") == ["AS230"]


def test_where_drops_points_with_whatever_is_wrong_with_them():
    text = (
        SPEC
        + "let n = 1\nsweep {\n  n: [1, 2, 3]\n  topology.rail.size: [2, 4]\n  where: n * topology.rail.size == 4\n}\n"
    )
    assert [point.name for point in documents(text)] == ["n=1,topology.rail.size=4", "n=2,topology.rail.size=2"]
    text = "let n = 3\n" + SPEC.replace("size: 4", "size: 12 / n") + "sweep { n: [3, 5, 6], where: n != 5 }\n"
    assert len(documents(text)) == 2
    assert set(placed(text.replace("where: n != 5", "where: n"))) == {("AS304", "n"), ("AS406", "12 / n")}


def test_hardware_can_be_swept_and_paths_go_through_what_is_picked():
    text = SPEC.replace("hardware: h100_sxm", 'use "std/hardware/a100.astra"\nhardware: h100_sxm')
    text += "sweep { hardware.efficiency: [40 %], hardware: [h100_sxm, a100_sxm_80g] }\n"
    points = documents(text)
    assert [(point.tree["hardware"]["name"], float(point.tree["hardware"]["efficiency"])) for point in points] == [
        ("h100_sxm", 0.4),
        ("a100_sxm_80g", 0.4),
    ]


def test_names_of_points_are_fit_for_folders():
    text = SPEC + 'let s = 1\nsweep { s: [450 GB/s, "a/../b", (1 + 2), [1, 2], -3, "' + "x" * 200 + '"] }\n'
    names = [point.name for point in documents(text)]
    assert names == ["s=450GBps", "s=ap..pb", "s=1+2", "s=1,2", "s=-3", "point-5"]


@pytest.mark.parametrize("sweep", ["n: 3", "n: []", "training { global_batch: [1] }", "m: [1]", "a.b: [1]"])
def test_what_cannot_be_swept(sweep):
    (code,) = codes(f"let n = 1\n{SPEC}sweep {{ {sweep} }}\n")
    assert code in ("AS216", "AS211")


def test_a_thousand_million_points_are_refused_at_once():
    keys = "".join(f"let a{n} = 1\n" for n in range(10_000))
    lists = "".join(f"  a{n}: [1, 2]\n" for n in range(10_000))
    assert codes(keys + SPEC + f"sweep {{\n{lists}}}\n") == ["AS215"]


# -- assert


@pytest.mark.parametrize(
    "condition, code",
    [
        ("topology.nvlink.size * topology.rail.size == 32", None),
        ("pod.rail.size == 4 and h100_sxm.memory.capacity == 80 GB", None),
        ("system.algorithm == ring and not parallelism.tensor.sequence_parallel", None),
        ("model.transformer.kv_heads == model.transformer.heads", None),
        ("topology.rail.size > 4", "AS590"),
        ("topology.rail.size > 4 GB", "AS303"),
        ("topology.rail.sizes > 4", "AS211"),
        ("topology.switch.size > 4", "AS212"),
        ("topology.rail", "AS211"),
        ("topology.rail.size", "AS304"),
        ("nowhere > 4", "AS201"),
        ("estimate.step_time < 1 s", "AS591"),
    ],
)
def test_assertions(condition, code):
    assert codes(SPEC + f"assert {condition}\n") == ([code] if code else [])


def test_an_assertion_that_fails_shows_the_values():
    text = SPEC + 'let n = 3\nassert n > 2 and (topology.rail.size * n < 12 or n == 4) "not many"\n'
    (error,) = findings(text)
    assert error.message == "the assertion does not hold: not many"
    assert [(label.span.text, label.text) for label in error.labels[1:]] == [
        ("n", "is 3"),
        ("topology.rail.size * n", "is 12"),
        ("n", "is 3"),
    ]


def test_assertions_on_the_estimate():
    (document,) = documents(SPEC + "assert estimate.memory.total <= hardware.memory.capacity\n")
    size = dimension("B")
    assert assess(document, {"memory.total": Quantity(80 * 10**9, size)}) == ()
    (error,) = assess(document, {"memory.total": Quantity(96 * 10**9, size)})
    assert "is 96 GB" in render([error])
    assert "is 80 GB" in render([error])
    (error,) = assess(document, {"memory.totl": Quantity(1, size)})
    assert (error.code, error.hints) == ("AS211", ("did you mean `memory.totl`?",))
