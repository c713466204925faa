"""What is told of a whole job of ASTRA-sim 1.0, of its command line and of its texts: how often, where and how."""

import json
from dataclasses import replace

import pytest

from astrac.job import IMPLEMENTED, Kind
from astrac.simulators.astra_sim_1.check import judge
from astrac.simulators.astra_sim_1.check_files import check_network, check_workload
from astrac.simulators.astra_sim_1.job import (
    Extras,
    LayerRow,
    Policy,
    TextDimension,
    TextJob,
    TextNetwork,
    TextSystem,
    TextWorkload,
    Work,
)
from astrac.simulators.astra_sim_1.kinds import KINDS
from astrac.simulators.astra_sim_1.options import apply_options
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.simulators.astra_sim_1.write import command
from astrac.simulators.texts import Words
from astrac.source import Source
from simulator_1 import INPUTS, examine

pytestmark = pytest.mark.quick

SYSTEM = INPUTS["system"]["ring1_lifo.txt"]
NETWORK = json.dumps(INPUTS["network"]["ring4.json"])
ROW = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"


def found(workload=f"DATA\n1\n{ROW}", system=SYSTEM, network=NETWORK, **options):
    """Code, place and message of each finding."""
    return [
        (finding.code, finding.labels[0].span.text if finding.labels else "", finding.message)
        for finding in examine(workload, system, network, **options)[1]
    ]


def with_system(**pairs):
    lines = dict(line.split(": ") for line in SYSTEM.splitlines())
    lines |= {key.replace("_", "-"): value for key, value in pairs.items()}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def job(**changes):
    network = TextNetwork((TextDimension("Ring", 4, 2, 25.0, 100.0),))
    words = dict.fromkeys(IMPLEMENTED, ("ring",))
    row = LayerRow("a", weight_gradient=Work(5, Kind.ALL_REDUCE, 4096))
    return replace(
        TextJob(network, TextSystem("LIFO", words, "baseline", 4), TextWorkload(Policy.DATA, (row,))), **changes
    )


# -- the command line


def test_the_command_says_what_is_not_as_usual():
    files = ("--network-configuration=network.json", "--system-configuration=system.txt",
             "--workload-configuration=workload.txt", "--path=results/", "--run-name=astrac")  # fmt: skip
    rest = ("--total-stat-rows=1", "--stat-row=0")
    assert command(job()) == (*files, "--num-passes=1", *rest)
    other = job(passes=3, compute_scale=0.5, comm_scale=2.0, injection_scale=3.0, queues=2, rendezvous=True)
    assert command(other) == (
        *files, "--num-passes=3", *rest, "--compute-scale=0.5", "--comm-scale=2.0", "--injection-scale=3.0",
        "--num-queues-per-dim=2", "--rendezvous-protocol=true",
    )  # fmt: skip


def test_options_change_the_job():
    result = apply_options(job(), [
        "--num-passes=3", "--num-queues-per-dim", "2", "--compute-scale=0.5", "--comm-scale=2", "--injection-scale=3",
        "--rendezvous-protocol=true", "--units-count", "8", "--links-count=4", "--link-bandwidth=50",
        "--link-latency=7", "--path=x/", "--run-name", "y", "--network-configuration=n",
    ])  # fmt: skip
    (dimension,) = result.value.network.dimensions
    assert (dimension.size, dimension.links, dimension.bandwidth, dimension.latency) == (8, 4, 50.0, 7.0)
    changed = result.value
    assert (changed.passes, changed.queues, changed.rendezvous) == (3, 2, True)
    assert (changed.compute_scale, changed.comm_scale, changed.injection_scale) == (0.5, 2.0, 3.0)
    assert not apply_options(changed, ["--rendezvous-protocol=0"]).value.rendezvous


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "`x` is not an option"),
        (["--num-pases=1"], "ASTRA-sim 1.0 has no option `--num-pases`"),
        (["--num-passes=x"], "`--num-passes` cannot be `x`"),
        (["--rendezvous-protocol=maybe"], "`--rendezvous-protocol` cannot be `maybe`"),
        (["--num-passes", "1", "2"], "`--num-passes` takes one value, not 2"),
        (["--num-passes"], "`--num-passes` takes one value, not 0"),
        (["--units-count", "4", "4"], "`--units-count` has 2 values for 1 dimensions"),
    ],
)
def test_options_that_the_simulator_does_not_take(arguments, message):
    result = apply_options(job(), arguments)
    assert result.value is None
    assert [(finding.code, finding.message) for finding in result.diagnostics] == [("AS757", message)]


def test_a_misspelt_option_is_named():
    assert apply_options(job(), ["--num-pases=1"]).diagnostics[0].hints == ("did you mean `--num-passes`?",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"passes": -1}, "`--num-passes -1` is not a number from 0 on (endless)"),
        ({"queues": 0}, "`--num-queues-per-dim 0` is not a number from 1 on (exit 1)"),
        ({"compute_scale": -1.0}, "`--compute-scale -1.0` is not a number from 0 on (no result)"),
        ({"comm_scale": 1e39}, "`--comm-scale 1e+39` is not a number from 0 on (no result)"),
        ({"injection_scale": float("nan")}, "`--injection-scale nan` is not a number from 0 on (no result)"),
    ],
)
def test_numbers_of_the_command_line(changes, message):
    assert [(finding.code, finding.message) for finding in judge(job(**changes))] == [("AS757", message)]


def test_the_least_numbers_of_the_command_line_are_taken():
    assert judge(job(passes=0, compute_scale=0.0, injection_scale=0.0)) == ()


# -- words against dimensions


def test_words_that_do_not_fit_are_told_once():
    assert found(system=with_system(all_reduce_implementation="ring_ring")) == [
        ("AS734", "ring_ring", "2 words for 1 dimension")
    ]
    network = json.dumps(INPUTS["network"]["torus2d_4x4.json"])
    (first, *others) = examine(f"DATA\n1\n{ROW}", SYSTEM, network)[1]
    assert (first.code, first.message) == ("AS734", "1 word for 2 dimensions")
    assert [label.text for label in first.labels] == ["", "the dimensions"]
    # Kinds that are never issued may have too few words.
    assert [(other.code, other.message) for other in others] == [("AS851", "1 word for 2 dimensions")]
    assert [label.text for label in others[0].labels] == ["", "here too", "here too", "the dimensions"]


@pytest.mark.parametrize(
    ("words", "codes"), [("oneRing", []), ("oneRing_ring", ["AS734"]), ("ring_oneRing", ["AS734"])]
)
def test_a_flat_word_stands_alone(words, codes):
    keys = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    system = with_system(**{f"{key}_implementation": words for key in keys})
    assert [entry[0] for entry in found(system=system)] == codes


def test_a_group_is_told_at_its_number():
    rows = "a -1 1 ALLREDUCE 4096 1 NONE 0 1 NONE 0 1\n"
    told = found(f"HYBRID_TRANSFORMER g: 3\n1\n{rows}")
    assert told == [("AS750", "3", "a group of 3 NPUs is not 1 x a divisor of the 4 of dimension 0")]
    assert [entry[0] for entry in found(f"HYBRID_TRANSFORMER g: 4\n1\n{rows}")] == []


# -- collectives


def test_faults_of_one_sort_are_told_at_the_first():
    rows = "".join(f"{name} -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 3 1\n" for name in "abc")
    assert found(f"DATA\n3\n{rows}") == [("AS753", "3", "3 bytes cannot be split into 4 chunks (3 such collectives)")]
    row = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 3 1\n"
    assert found(f"DATA\n1\n{row}") == [("AS753", "3", "3 bytes cannot be split into 4 chunks")]


def test_bytes_that_are_no_multiple_of_the_chunks():
    # Told at the first that is issued, which is the last layer's.
    rows = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4097 1\nb -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4099 1\n"
    assert found(f"DATA\n2\n{rows}") == [
        ("AS842", "4099", "4099 bytes are no multiple of 4 chunks (2 such collectives): one chunk more")
    ]
    assert found() == []


def test_algorithms_that_cannot_are_told_at_their_words():
    row = "a -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4096 1\n"
    told = found(f"DATA\n1\n{row}", with_system(all_to_all_implementation="halvingDoubling"))
    assert told == [("AS735", "halvingDoubling", "halvingDoubling cannot do an all-to-all")]
    told = found(f"DATA\n1\n{row}", with_system(all_to_all_implementation="doubleBinaryTree"))
    message = "doubleBinaryTree does an all-reduce where ALL_TO_ALL should be done"
    assert told == [("AS863", "doubleBinaryTree", message)]


def test_communication_without_a_dimension():
    rows = "".join(f"{name} -1 1 ALLREDUCE 4096 1 NONE 0 1 NONE 0 1\n" for name in "ab")
    message = "the forward communication of 2 layers has no dimension of two NPUs to go over"
    assert found(f"HYBRID_MODEL_DATA\n2\n{rows}") == [("AS849", "ALLREDUCE", message)]


def test_empty_collectives_matter_where_they_are_awaited():
    rows = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 0 1\n"
    assert found(f"DATA\n1\n{rows}") == [("AS850", "0", "1 collective of 0 bytes: nothing is sent, write `NONE 0`")]
    assert found(f"DATA\n1\n{rows}", passes=2) == [("AS748", "0", "a collective of 0 bytes never finishes")]
    assert found(f"DATA\n1\n{rows}", passes=5) == [("AS748", "0", "a collective of 0 bytes never finishes")]


def test_a_computation_is_too_long_after_its_scale():
    row = f"a -1 {2**52} NONE 0 1 NONE 0 1 NONE 0 1\n"
    assert found(f"DATA\n1\n{row}") == []
    assert found(f"DATA\n1\n{row}", compute_scale=2.0) == [("AS756", str(2**52), "2^53 cycles or more")]


def test_a_message_of_no_time_is_told():
    network = json.dumps(INPUTS["network"]["ring4.json"] | {"link-latency": [0], "link-bandwidth": [1e6]})
    assert [entry[0] for entry in found(network=network)] == ["AS755"]


# -- one file by itself


@pytest.mark.parametrize(
    ("dimension", "codes"),
    [
        (("Ring", 4, 2), []),
        (("Ring", 1, 2), []),
        (("Ring", 4, 1), ["AS725"]),
        (("Ring", 4, 3), ["AS847"]),
        (("Switch", 4, 3), []),
        (("Switch", 4, 0), ["AS725"]),
        (("FullyConnected", 4, 3), []),
        (("FullyConnected", 4, 5), ["AS847"]),
        (("FullyConnected", 4, 2), ["AS725"]),
        (("FullyConnected", 1, 1), ["AS723"]),
        (("FullyConnected", 2, 1), []),
        (("Ring", 0, 2), ["AS723"]),
        (("Ring", 2**31, 2), ["AS723"]),
        (("Ring", 2**31 - 1, 2), []),
        (("Switch", 2, 2**31), ["AS723"]),
    ],
)
def test_links_and_sizes(dimension, codes):
    network = TextNetwork((TextDimension(*dimension, 25.0, 100.0),))
    assert [finding.code for finding in check_network(network)] == codes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bandwidth": 0}, "`link-bandwidth` is more than 0"),
        ({"memory_bandwidth": -1}, "`hbm-bandwidth` is more than 0"),
        ({"latency": -1}, "`link-latency` is not negative"),
        ({"nic_latency": -1}, "`nic-latency` is not negative"),
        ({"router_latency": -0.5}, "`router-latency` is not negative"),
        ({"memory_latency": -1}, "`hbm-latency` is not negative"),
        ({"memory_scale": -1}, "`hbm-scale` is not negative"),
        ({"type": "PP"}, "`PP` is for Switch only, not for Ring"),
        ({"latency": 0}, None),
        ({"type": "P"}, None),
        ({"block": "Switch", "links": 1, "type": "PP"}, None),
    ],
)
def test_rates_and_types(change, message):
    network = TextNetwork((replace(TextDimension("Ring", 4, 2, 25.0, 100.0), **change),))
    told = [(finding.code, finding.message) for finding in check_network(network)]
    assert told == ([] if message is None else [("AS723", message)])


def test_the_number_of_dimensions():
    dimension = TextDimension("Ring", 2, 2, 25.0, 100.0)
    assert check_network(TextNetwork((dimension,) * 7)) == ()
    assert [finding.code for finding in check_network(TextNetwork((dimension,) * 8))] == ["AS726"]


def workload(policy, *layers, **extras):
    told = check_workload(TextWorkload(policy, layers, Extras(**extras)))
    return [(finding.code, finding.message) for finding in told]


AR = Kind.ALL_REDUCE


def test_what_a_policy_does_not_use():
    both = LayerRow("a", Work(1, AR, 8), Work(2, AR, 8), Work(3, AR, 8))
    assert workload(Policy.DATA, both, replace(both, name="b")) == [
        ("AS840", "the forward communication of 2 layers is not used under DATA"),
        ("AS840", "the input gradient communication of 2 layers is not used under DATA"),
    ]
    assert workload(Policy.MODEL, both, replace(both, name="b")) == [
        # The first layer's input gradient is sent nowhere.
        ("AS840", "the input gradient communication of layer `a` is not used under MODEL"),
        ("AS840", "the weight gradient communication of 2 layers is not used under MODEL"),
    ]
    silent = LayerRow("a", Work(1), Work(2), Work(3, AR, 8))  # a number has to stand there: 1 is none
    assert workload(Policy.MICRO, silent) == [
        ("AS841", "the input gradient time of layer `a` is not used under MICRO"),
        ("AS841", "the weight gradient time of layer `a` is not used under MICRO"),
    ]
    bare = LayerRow("a", weight_gradient=Work(0, AR, 8))
    assert workload(Policy.MICRO, bare) == []
    assert workload(Policy.MICRO, bare, LayerRow("b")) == [("AS841", "MICRO runs the first layer only: 1 are not used")]
    assert workload(Policy.DISTRIBUTED_INFERENCE, LayerRow("a", Work(1, AR, 8), Work(2), Work(0))) == [
        ("AS841", "the input gradient time of layer `a` is not used under DISTRIBUTED_INFERENCE"),
    ]


def test_micro_without_a_collective_simulates_nothing():
    told = "nothing is simulated: MICRO runs the collective in columns 10 and 11 of the first layer"
    right = f"{told}: `a -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8 1`"
    assert workload(Policy.MICRO, LayerRow("a", forward=Work(1, AR, 8))) == [("AS749", right)]
    assert workload(Policy.MICRO, LayerRow("a", input_gradient=Work(1, AR, 8))) == [("AS749", right)]
    assert workload(Policy.MICRO, LayerRow("a")) == [("AS749", f"{told}, which has none")]


def test_layers_of_one_name():
    rows = [LayerRow(name) for name in "abab"]
    assert workload(Policy.DATA, *rows[:2]) == []
    assert workload(Policy.DATA, *rows[:3]) == [("AS853", "an earlier layer is called `a`, too")]
    assert workload(Policy.DATA, *rows) == [("AS853", "an earlier layer is called `a`, too, and so 1 other")]


def test_a_size_without_communication():
    assert workload(Policy.DATA, LayerRow("a", Work(1, None, 8))) == [
        ("AS850", "the forward communication of layer `a` is NONE, and has a size")
    ]


def test_an_update_takes_a_cycle_where_something_is_sent():
    quiet, loud = LayerRow("a", update=0), LayerRow("b", weight_gradient=Work(0, AR, 8), update=0)
    assert workload(Policy.DATA, quiet) == []
    assert workload(Policy.DATA, quiet, loud) == [
        ("AS747", "layer `b` communicates, so its update takes at least 1 cycle")
    ]


def test_many_layers():
    rows = [LayerRow(f"a{number}") for number in range(101)]
    assert workload(Policy.DATA, *rows[:100]) == []
    assert [code for code, _ in workload(Policy.DATA, *rows)] == ["AS848"]


@pytest.mark.parametrize(("last", "codes"), [(-1, ["AS852"]), (0, []), (1, []), (2, ["AS852"])])
def test_the_last_bottom_layer_is_one_of_the_layers(last, codes):
    assert [code for code, _ in workload(Policy.HYBRID_DLRM, LayerRow("a"), LayerRow("b"), last_bottom=last)] == codes


@pytest.mark.parametrize(
    ("checkpoints", "initiates", "codes"),
    [((0,), (1,), []), ((2,), (), ["AS751"]), ((-1,), (), ["AS751"]), ((0,), (2,), ["AS751"]), ((), (1,), ["AS751"]),
     ((0,), (0,), ["AS751"])],
)  # fmt: skip
def test_checkpoints_are_layers_before_those_that_need_them(checkpoints, initiates, codes):
    told = workload(
        Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD, LayerRow("a"), LayerRow("b"),
        checkpoints=checkpoints, initiates=initiates,
    )  # fmt: skip
    assert [code for code, _ in told] == codes


def test_a_group_has_an_npu():
    assert [code for code, _ in workload(Policy.HYBRID_TRANSFORMER, LayerRow("a"), group=0)] == ["AS750"]
    assert workload(Policy.HYBRID_TRANSFORMER, LayerRow("a"), group=1) == []


# -- the words of the texts


def told(read, text):
    return [
        (finding.code, ":".join(map(str, finding.labels[0].span.first)), finding.message)
        for finding in read(Source("file", text)).diagnostics
    ]


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("", "AS740", "1:1", "the workload is empty"),
        ("\ufeffDATA\n1\n", "AS740", "1:1", "a byte-order mark before the policy"),
        ("DATA", "AS741", "1:5", "the count of layers is missing"),
        ("DATA\n0\n" + ROW, "AS741", "2:1", "`0` is not a count of layers: a whole number from 1 on"),
        ("DATA x\n1\n" + ROW, "AS743", "1:6", "`DATA` takes no words before the count of layers"),
        ("DATA\n" + ROW, "AS741", "2:1", "the count of layers is missing before the first layer"),
        ("DATA 4\n1\n" + ROW, "AS743", "1:6", "this is read as the count of layers, and the count as the name of one"),
        ("DATA\n2\n" + ROW, "AS741", "2:1", "the count says 2, the file has 1 layer"),
        ("DATA\n1\n" + ROW * 3, "AS741", "2:1", "the count says 1, the file has 3 layers"),
        ("DATA\n1\n" + ROW + "and so on\n", "AS845", "4:1", "text after the last layer is not read"),
        ("DATA\n1\na,-1,1 2\n", "AS742", "3:1", "this layer has 2 columns where it needs 12"),
        ("DATA 2 " + ROW.strip() + " b -1 1", "AS742", "1:50", "layer 1 has 3 columns where it needs 12"),
        ("DATA\n1\n# layers\n" + ROW, "AS742", "3:1", "a text workload has no comments"),
        ("HYBRID_DLRM\n", "AS743", "1:12", "a whole number should stand here"),
        ("HYBRID_DLRM x\n1\n", "AS743", "1:13", "`x` is not a whole number"),
        ("HYBRID_TRANSFORMER g:4\n1\n" + ROW, "AS743", "1:20", "`g:4` is one word"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD g: 1 c: 1 0", "AS743", "1:44", "a whole number should stand here"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD g: 1 c: 3 0 1", "AS743", "1:41",
         "3 numbers should follow, the file has 2 words more"),
        ("HYBRID_CUSTOMIZED\n1\n" + ROW.strip() + " MICRO\n", "AS745", "3:43",
         "`MICRO` is not a policy of a layer: `DATA`, `MODEL`, `HYBRID_DATA_MODEL`, `HYBRID_MODEL_DATA`"),
        ("DATA\n1\na 2147483648 1 NONE 0 1 NONE 0 1 NONE 0 1", "AS746", "3:3",
         "`2147483648` is too large (a 32-bit integer)"),
        ("DATA\n1\na -1 -1 NONE 0 1 NONE 0 1 NONE 0 1", "AS746", "3:6", "`-1` is negative (cycles)"),
        ("DATA\n1\na -1 1 NONE 18446744073709551616 1 NONE 0 1 NONE 0 1", "AS746", "3:13",
         "`18446744073709551616` is too large (bytes)"),
        ("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 x", "AS746", "3:33", "`x` is not a whole number (cycles)"),
    ],
)  # fmt: skip
def test_a_broken_workload(text, code, place, message):
    assert told(read_workload, text) == [(code, place, message)]


def test_the_largest_numbers_are_read():
    text = f"DATA 1 a {-(2**31)} {2**64 - 1} NONE 0 0 NONE 0 0 NONE {2**64 - 1} 0"
    (row,) = read_workload(Source("w", text)).value.rows
    assert (row.reserved, row.forward.time, row.weight_gradient.bytes) == (-(2**31), 2**64 - 1, 2**64 - 1)


@pytest.mark.parametrize(
    ("pairs", "code", "message"),
    [
        ({"endpoint_delay": "0"}, "AS733", "`endpoint-delay:` takes a whole number from 1 on"),
        ({"endpoint_delay": str(2**31)}, "AS733", "`endpoint-delay:` takes a whole number from 1 on"),
        ({"boost_mode": "2"}, "AS846", "`boost-mode: 2` is off"),
        ({"seprate_log": "2"}, "AS846", "`seprate-log: 2` is on"),
        ({"seprate_log": "x"}, "AS846", "`seprate-log: x` is off"),
        ({"local_reduction_delay": "-1"}, "AS733", "`local-reduction-delay:` takes a whole number from 0 on"),
        ({"model_shared_bus": "1", "L": "0", "o": "0", "g": "0"}, "AS731", "the key `G:` is missing"),
        ({"G": str(2**31)}, "AS733", "`G:` takes a number from 0 on"),
    ],
)
def test_a_broken_system(pairs, code, message):
    assert [entry[::2] for entry in told(read_system, with_system(**pairs))] == [(code, message)]


def test_values_of_a_system():
    pairs = {"endpoint_delay": str(2**31 - 1), "seprate_log": "0", "boost_mode": "1", "inter_dimension_scheduling":
             "offlineGreedy", "model_shared_bus": "1", "L": "0", "o": "2", "g": "3", "G": "0.5"}  # fmt: skip
    system = read_system(Source("s", with_system(**pairs))).value
    assert (system.endpoint_delay, system.separate_log, system.boost, system.inter) == (
        2**31 - 1,
        False,
        True,
        "themis",
    )
    bus = system.shared_bus
    assert (bus.latency, bus.overhead, bus.gap, bus.gap_per_byte) == (0, 2, 3, 0.5)
    usual = read_system(Source("s", SYSTEM)).value
    assert (usual.separate_log, usual.intra, usual.inter, usual.shared_bus) == (True, "FIFO", "ascending", None)


def test_unknown_keys_are_passed_over_up_to_the_next_key():
    text = "bost-mode: 1 2 boost-mode: 1\n" + "".join(
        line + "\n" for line in SYSTEM.splitlines() if not line.startswith("boost-mode")
    )
    assert told(read_system, text) == [("AS730", "1:1", "`bost-mode:` is not a key of system.txt")]


def network(**changes):
    value = INPUTS["network"]["ring4.json"] | {key.replace("_", "-"): entry for key, entry in changes.items()}
    return [entry[::2] for entry in told(read_network, json.dumps(value))]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"units_count": [4.5]}, "AS722", "`4.5` is truncated to 4: write a whole number"),
        ({"units_count": [4.0]}, "AS846", "`4.0` reads as 4"),
        ({"units_count": ["4"]}, "AS722", "a whole number should stand here"),
        ({"units_count": [True]}, "AS722", "a whole number should stand here"),
        ({"link_latency": [True]}, "AS722", "an entry of `link-latency` is a number"),
        ({"link_latency": "100"}, "AS722", "`link-latency` is a list, one entry a dimension"),
        ({"topologies_per_dim": "Ring"}, "AS846", "`topologies-per-dim` is a text, which reads as a list of one"),
        ({"topologies_per_dim": [4]}, "AS722", "an entry of `topologies-per-dim` is a text"),
        ({"dimension_type": ["X"]}, "AS723", "`X` is not one of `N`, `P`, `PP`, `T`"),
        ({"topology_name": "Ring"}, "AS723", "`topology-name` is always `Hierarchical`"),
        ({"dimensions_count": 2}, "AS724", "`dimensions-count` is 2, and every list has 1 entry"),
        ({"links_count": [2, 2]}, "AS724", "`links-count` has 2 entries for 1 dimension"),
        ({"speed": 1}, "AS844", "ASTRA-sim 1.0 reads no key `speed`"),
    ],
)
def test_a_broken_network(changes, code, message):
    assert network(**changes) == [(code, message)]


def test_words_know_their_places():
    words = Words(Source("w", "a b\n\nc"))
    assert [(word.text, word.line) for word in words.rest()] == [("a", 1), ("b", 1), ("c", 3)]
    assert (words.next().text, words.left, words.peek().text) == ("a", 2, "b")
    words.skip_line(1)
    assert [word.text for word in words.rest()] == ["c"]
    assert words.next().text == "c"
    assert words.next() is None
    assert (words.peek(), words.left, words.end.start) == (None, 0, 6)
    assert words.at(-1).span.text == "c"


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("-7", -7), ("+7", 7), ("007", 7), ("7.0", None), ("0x7", None), ("", None)]
)
def test_words_that_are_numbers(text, number):
    assert [word.integer for word in Words(Source("w", text)).rest()] == ([number] if text else [])


def test_a_number_beyond_all_ranges_keeps_its_sign():
    large, small = Words(Source("w", "9" * 5000 + " -" + "9" * 5000)).rest()
    assert large.integer > 2**64
    assert small.integer < -(2**64)


# -- what a text is


@pytest.mark.parametrize(
    ("kind", "text", "belongs"),
    [
        ("workload-1", "DATA\n", True),
        ("workload-1", "hybrid_dlrm 2", True),
        ("workload-1", "DATAS\n", False),
        ("workload-1", f"# layers\n{ROW}", True),
        ("workload-1", f"# layers\n{ROW.strip()} DATA\n", True),
        ("workload-1", f"# layers\n{ROW.strip()} DATA 1\n", False),
        ("workload-1", ROW.replace("ALLREDUCE", "allreduce"), True),
        ("workload-1", ROW.replace("ALLREDUCE", "SUM"), False),
        ("system-1", SYSTEM, True),
        ("system-1", f"\n# a comment\n  // another\n{SYSTEM}", True),
        ("system-1", "scheduling-policy: LIFO\n", False),
        ("system-1", "scheduling-policy: LIFO\nboost-mode: 1\n", True),
        ("system-1", '{"scheduling-policy": "LIFO", "boost-mode": 1}', False),
        ("system-1", "* scheduling-policy: LIFO\nboost-mode: 1\n", False),
        ("network-1", NETWORK, True),
        ("network-1", '{"topology-name": "Hierarchical"}', False),
        ("network-1", '{"topology-name": "Hierarchical", "hbm-scale": [0], ', True),
    ],
)
def test_a_text_is_known_by_what_is_in_it(kind, text, belongs):
    assert KINDS[kind].belongs(text, "file") is belongs
