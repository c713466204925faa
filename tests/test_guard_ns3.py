"""Inputs of ns-3 and what ns-3 did with each: what fails is an error, what runs as something else is told."""

import json
from pathlib import Path

import pytest

import guard_inputs
from astrac.api import guarding
from astrac.codes import Severity

ROWS = json.loads((Path(__file__).parent / "guard" / "ns3.json").read_text(encoding="utf-8"))
BASE = ROWS[0]["files"]
SEND = {"id": 0, "comm_src": 0, "comm_dst": 1, "comm_tag": 1}
IDLE = [{"id": 0, "type": "COMP", "duration": 1}]


def traces(row):
    """The trace of each rank: an all-reduce of 64 kB, a message of 2^31 B, or one that nobody receives."""
    if row["traces"] == "all_reduce":
        return [[{"id": 0, "type": "COLL", "comm_type": 0, "comm_size": 64000}]] * row["ranks"]
    size = 1 << 31 if row["traces"] == "p2p_2g" else 64000
    receiver = [SEND | {"type": "RECV", "comm_size": size}] if row["traces"] == "p2p_2g" else IDLE
    return [[SEND | {"type": "SEND", "comm_size": size}], receiver, IDLE, IDLE]


def check(row, folder):
    for name, text in (BASE | row["files"]).items():
        (folder / name).write_text(text)
    for rank, nodes in enumerate(traces(row)):
        (folder / f"model.{rank}.et").write_bytes(guard_inputs.trace(nodes))
    return guarding.check(str(folder)).diagnostics


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_what_ns3_did(tmp_path, row):
    found = {each.severity for each in check(row, tmp_path)}
    if row["verdict"] == "fails":
        assert Severity.ERROR in found
    elif row["verdict"] == "runs, other cycles":
        assert found & {Severity.WARNING, Severity.ERROR}
    else:
        assert Severity.ERROR not in found
