"""What a row costs, in processor time and as a ratio to `import onnx` in the same run.

    python tests/bench/bench_turns.py

Fresh processes for three networks of GPT-3 on 1,024 ranks with 8 to 4,096 micro-batches; in this process, warm, points
that were never asked for: networks, and splits of the ranks; GPipe and ZeRO-2 with 512 micro-batches.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import process_time

from astrac.api.checking import Options
from astrac.api.evaluating import Tasks, evaluate

SPEC = Path(__file__).parents[2] / "specs" / "gpt3_1024.astra"
FRESH = "import sys; from astrac.cli import main; main(sys.argv[1:])"


def fresh(*command: str) -> float:
    """Processor time of a process, in seconds; the least of three."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def warm(points: list[tuple[str, ...]]) -> list[float]:
    """Processor time of each point in this process."""
    seconds = []
    for settings in points:
        for task in Tasks(str(SPEC), SPEC.read_bytes(), Options(settings=settings)):
            begun = process_time()
            row = evaluate(task)
            seconds.append(process_time() - begun)
            assert row.cycles_max, row.reason
    return seconds


def told(what: str, seconds: float, measure: float) -> None:
    """A line of the result."""
    print(f"{what:<42}{1e3 * seconds:>10.1f} ms{seconds / measure:>8.3f} x import onnx")


def main() -> None:
    """Prints the figures."""
    measure = fresh("import onnx")
    told("import onnx", measure, measure)
    for count in (8, 96, 512, 4096):
        seconds = fresh(FRESH, "estimate", str(SPEC), "--set", f"training.global_batch={16 * count}")
        told(f"fresh, three networks, {count} micro-batches", seconds, measure)
    warm([("rail_speed=90 Gbps",)])
    networks = warm([(f"rail_speed={100 + 10 * number} Gbps",) for number in range(50)])
    told("network, warm, median of 50", median(networks), measure)
    splits = [
        (
            "rail_speed=400 Gbps",
            f"training.micro_batch={micro}",
            *(f"parallelism.{axis}.degree={degree}" for axis, degree in degrees.items()),
            f"topology.nvlink.size={degrees['tensor']}",
            f"topology.rail.size={degrees['data']}",
            f"topology.spine.size={degrees['pipeline']}",
            f"training.recompute={recompute}",
        )
        for tensor in (2, 4, 8)
        for pipeline in (2, 4, 8, 16)
        for micro in (1, 2)
        for recompute in ("selective", "full")
        for degrees in [{"tensor": tensor, "pipeline": pipeline, "data": 1024 // tensor // pipeline}]
    ]
    told(f"split, warm, median of {len(splits)}", median(warm(splits)), measure)
    many = ("rail_speed=400 Gbps", f"training.global_batch={16 * 512}")
    for setting in ("parallelism.pipeline.schedule=gpipe", "parallelism.data.shard=gradients"):
        told(f"{setting.rpartition('.')[2]}, 512 micro-batches", warm([(*many, setting)])[0], measure)
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
