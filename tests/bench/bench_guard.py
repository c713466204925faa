"""Whole `astrac check` on bundles of many ranks against `python -c "import onnx"`, in one run: quote the ratios.

PYTHONPATH=compiler:tests:tests/bench python tests/bench/bench_guard.py [rounds]
"""

import statistics
import sys
import tempfile
from pathlib import Path

from bench_spine import ROOT, seconds

import guard_inputs

CHECK = ["-m", "astrac", "check"]
NETWORK = "topology: [ Switch ]\nnpus_count: [ {0} ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
MEGATRON = str(ROOT / "specs" / "megatron_64.astra")


def layer(rank, ranks, index):
    """Five nodes, of which no other rank has the same: compute, a message either way, compute, a reduction."""
    first = 5 * index
    message = {"comm_size": 65536, "comm_tag": index, "deps": [first]}
    return [
        {"id": first, "type": "COMP", "duration": 3 + rank % 3, "deps": [first - 1] if first else []},
        {"id": first + 1, "type": "SEND", "comm_src": rank, "comm_dst": (rank + 1) % ranks, **message},
        {"id": first + 2, "type": "RECV", "comm_src": (rank - 1) % ranks, "comm_dst": rank, **message},
        {"id": first + 3, "type": "COMP", "duration": 2, "deps": [first + 2]},
        {"id": first + 4, "type": "COLL", "comm_type": 0, "comm_size": 1 << 20, "deps": [first + 1, first + 3]},
    ]


def write(folder, ranks, traces):
    """A bundle; rank r has trace r, or all are links to the only one."""
    names = ("forward", "send", "receive", "backward", "gradient")
    for nodes in traces:
        for at, node in enumerate(nodes):
            node["name"] = f"layer{at // 5}.{names[at % 5]}"
    which = [(rank, 1) for rank in range(ranks)] if len(traces) > 1 else [(0, ranks)]
    guard_inputs.write({"network": NETWORK.format(ranks), "traces": traces, "ranks": which}, folder)
    return str(folder)


def distinct(folder, ranks, nodes):
    layers = range(nodes // 5)
    return write(folder, ranks, [[node for at in layers for node in layer(rank, ranks, at)] for rank in range(ranks)])


def alike(folder, ranks, nodes):
    kinds = ({"type": "COMP", "duration": 3}, {"type": "COLL", "comm_type": 0, "comm_size": 1 << 20})
    chain = [kinds[at % 2] | {"id": at, "deps": [at - 1] if at else []} for at in range(nodes)]
    return write(folder, ranks, [chain])


def ratio(rounds, base, command):
    pairs = [(seconds(*base), seconds(*command)) for _ in range(rounds)]
    return statistics.median(long / short for short, long in pairs), statistics.median(long for _, long in pairs)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds("-m", "astrac", "build", MEGATRON, "-o", str(folder / "own"))
        rows = (
            ("our own bundle, 64 ranks x 4,763 nodes", str(folder / "own")),
            ("the same, without its manifest", str(folder / "own" / "astra-sim-2")),
            ("64 ranks x 5,000 nodes, all alike", alike(folder / "alike", 64, 5000)),
            ("64 ranks x 5,000 nodes, all different", distinct(folder / "distinct", 64, 5000)),
        )
        for text, bundle in rows:
            times, long = ratio(rounds, ["-c", "import onnx"], [*CHECK, bundle])
            print(f"{text:<42} {long:7.2f} s  {times:5.1f} x python -c 'import onnx' (at most 25)")
        few, many = (alike(folder / str(ranks), ranks, 1000) for ranks in (8, 1024))
        times, long = ratio(rounds, [*CHECK, few], [*CHECK, many])
        print(f"{'1024 ranks with hard-linked traces':<42} {long:7.2f} s  {times:5.2f} x 8 ranks (at most 1.2)")


if __name__ == "__main__":
    main()
