"""Traces: against bytes written by hand, and through a reader that does not know the encoder."""

from pathlib import Path

import pytest

import jobs
from astrac import emit
from astrac.job import Axis, AxisGroup, Box, Collective, Compute, Job, Kind, Program, RankClass, Receive, Send
from chakra_reader import trace

HAND = Path(__file__).parent / "traces" / "hand.hex"


def hand_made():
    ops = (
        Compute(id=0, name="a", num_ops=1000, tensor_size=300, flops=1000, bytes=300),
        Collective(
            id=1,
            name="g",
            data=(0,),
            kind=Kind.ALL_REDUCE,
            bytes=4194304,
            group=AxisGroup(("tensor",), dimensions=(True, False)),
        ),
        Send(id=2, name="s", control=(1,), axis="pipeline", offset=1, bytes=5, tag=9),
        Collective(id=3, name="r", data=(2,), kind=Kind.REDUCE_SCATTER, bytes=8, group=AxisGroup(("pipeline",))),
    )
    return Job(
        "hand",
        jobs.machine(("Ring", 2), ("Ring", 2)),
        (Axis("tensor", 1, 2), Axis("pipeline", 2, 2)),
        (Program(ops),),
        (RankClass(0, (Box((None, None)),)),),
    )


def traces(job):
    """Rank -> bytes."""
    artifacts = emit.emit({"astra-sim-2": job}).value.artifacts
    return {rank: b"".join(artifact.contents()) for artifact in artifacts for rank in artifact.ranks}


def test_a_trace_equals_bytes_written_by_hand():
    by_hand = bytes.fromhex(" ".join(line.partition("#")[0] for line in HAND.read_text().splitlines()))
    assert traces(hand_made())[1] == by_hand
    version, nodes = trace(by_hand)
    assert version == "0.0.4"
    assert [node["type"] for node in nodes] == ["COMP", "COLL", "SEND", "COLL"]


@pytest.mark.parametrize("job", jobs.ALL.values(), ids=jobs.ALL.keys())
def test_every_node_says_what_the_op_says(job):
    files = traces(job)
    assert sorted(files) == list(range(job.machine.npus))
    for members in job.classes:
        for rank in job.ranks(members):
            _, nodes = trace(files[rank])
            for op, node in zip(job.programs[members.program].ops, nodes, strict=True):
                assert (node["id"], node["name"]) == (op.id, op.name)
                assert (tuple(node["data_deps"]), tuple(node["ctrl_deps"])) == (op.data, op.control)
                assert node["is_cpu_op"] is False
                assert node.get("comm_size", op.bytes) == op.bytes
                if isinstance(op, Compute):
                    assert (node["num_ops"], node["tensor_size"]) == (op.num_ops, op.tensor_size)
                    assert node.get("flops", op.num_ops) == op.flops
                    assert node.get("bytes", op.tensor_size) == op.bytes
                if isinstance(op, Collective):
                    assert node["comm_type"] == op.kind
                    assert len(node["involved_dim"]) == len(job.machine.dimensions)


def test_sizes_are_known_before_the_bytes_are_made():
    for artifact in emit.emit({"astra-sim-2": jobs.pipeline_of_tensors()}).value.artifacts:
        assert artifact.size == sum(map(len, artifact.contents()))


def test_peers_and_groups_follow_from_coordinates():
    files = traces(jobs.pipeline_of_tensors())
    # Rank 13 = tensor 1, data 1, pipeline 1: its neighbours are 5 and 21.
    _, nodes = trace(files[13])
    received, sent = nodes[0], next(node for node in nodes if node["type"] == "SEND")
    assert (received["comm_src"], received["comm_dst"], received["comm_tag"]) == (5, 13, 1)
    assert (sent["comm_src"], sent["comm_dst"], sent["comm_tag"]) == (13, 21, 2)
    # Groups 1-8: tensor (ranks 0-3, 4-7, 8-11, 12-15, ...); 9-24: data (0 4, 1 5, 2 6, 3 7, 8 12, 9 13, ...);
    # 25-32: first and last stage; 33: everyone.
    assert [node["pg_name"] for node in nodes if node["type"] == "COLL"] == ["4", "14", "14", "33"]
    # Rank 27 = tensor 3, data 0, pipeline 3: tensor group 24-27 is the seventh, data group 27 31 the 16th, tied 3 27.
    assert [node["pg_name"] for node in trace(files[27])[1] if node["type"] == "COLL"] == ["7", "24", "24", "28", "33"]


def of_ranks(job):
    return [artifact for artifact in emit.emit({"astra-sim-2": job}).value.artifacts if artifact.ranks]


def test_ranks_without_a_difference_share_one_artifact():
    shared = [
        artifact for artifact in emit.emit({"astra-sim-2": jobs.data_parallel(64)}).value.artifacts if artifact.ranks
    ]
    assert [artifact.ranks for artifact in shared] == [tuple(range(64))]
    offload = of_ranks(jobs.offload())
    assert [artifact.ranks for artifact in offload] == [(0, 1, 2, 4, 5, 6, 7), (3,)]


@pytest.mark.parametrize("rank, longer", [(127, 1), (128, 3)])
def test_lengths_follow_what_is_filled_in(rank, longer):
    """Of the two nodes' four rank numbers, one takes a second byte for rank 127, and three for rank 128."""
    ops = (
        Send(id=0, axis="rank", offset=1, bytes=1, tag=0),
        Receive(id=1, axis="rank", offset=-1, bytes=1, tag=0),
        Compute(id=2, num_ops=1, tensor_size=1, flops=1, bytes=1, data=(1,)),
    )
    everyone = (RankClass(0, (Box((None,)),)),)
    files = traces(Job("ring", jobs.machine(("Ring", 300)), (Axis("x", 1, 300),), (Program(ops),), everyone))
    _, nodes = trace(files[rank])
    assert (nodes[0]["comm_src"], nodes[0]["comm_dst"]) == (rank, rank + 1)
    assert (nodes[1]["comm_src"], nodes[1]["comm_dst"]) == (rank - 1, rank)
    assert len(files[rank]) == len(files[1]) + longer
