"""Whole processes against `python -c "import onnx"` and `python -c pass`, in one run: quote the ratios.

python tests/bench/bench_spine.py [rounds]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
RING = str(ROOT / "specs" / "resnet50_ring.astra")
GPT3 = str(ROOT / "specs" / "gpt3_1024.astra")
WIDE = ["--set", "ring8.nvlink.size={0}", "--set", "parallelism.data.degree={0}", "--set", "training.global_batch={1}"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "compiler")}


def seconds(*command):
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], env=ENVIRONMENT, check=True, capture_output=True)
    return time.perf_counter() - start


def wide(ranks):
    return [text.format(ranks, 32 * ranks) for text in WIDE]


def cases(folder):
    build = ["-m", "astrac", "build"]
    yield "build resnet50, 8 ranks", [*build, RING, "-o", f"{folder}/8"], "import onnx", 4
    yield "build resnet50, 512 ranks", [*build, RING, *wide(512), "-o", f"{folder}/512"], "import onnx", 4.8
    yield "build resnet50, 4096 ranks", [*build, RING, *wide(4096), "-o", f"{folder}/4096"], "import onnx", 10
    gpt3 = [GPT3, "--set", "training.global_batch=128", "--point", "rail_speed=400Gbps"]
    yield "build gpt3, 1024 ranks, 8 micro-batches", [*build, *gpt3, "-o", f"{folder}/gpt3"], "import onnx", 40
    yield "check a 60-line spec", ["-m", "astrac", "check", GPT3], "pass", 16


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        for name, command, base, bar in cases(folder):
            pairs = [(seconds("-c", base), seconds(*command)) for _ in range(rounds)]
            ratio = statistics.median(long / short for short, long in pairs)
            time_ = statistics.median(long for _, long in pairs)
            print(f"{name:<42} {time_:7.2f} s  {ratio:5.1f} x python -c '{base}' (at most {bar})")


if __name__ == "__main__":
    main()
