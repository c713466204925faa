"""What the language costs: `python tests/bench/bench_language.py [cases]`.

A check as a whole process against an empty python, a thousand specs in one call, a megabyte, and a fuzzer.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "compiler"), str(ROOT / "tests")]

from astrac.render import render  # noqa: E402
from language import SPEC, findings  # noqa: E402
from language_spoilt import spoilt  # noqa: E402

CASES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000


def process(*arguments):
    """Seconds of a whole process, the best of 15."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "compiler"), "PYTHONDONTWRITEBYTECODE": ""}
    times = []
    for _ in range(15):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def timed(text):
    """Seconds of a check in process, the best of 3."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        findings(text)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    empty = process("-c", "pass")
    spec = str(ROOT / "specs" / "megatron_64.astra")
    check = process("-c", "import sys; from astrac.cli import main; sys.exit(main())", "check", spec)
    print(f"python -c pass          {empty * 1e3:8.1f} ms")
    print(f"astrac check            {check * 1e3:8.1f} ms = {check / empty:.1f} times that (at most 16)")
    comments = "".join(f"# {number}\n" for number in range(60 - SPEC.count("\n")))
    print(f"one of many specs       {timed(comments + SPEC) * 1e3:8.1f} ms (at most 15)")
    layers = "".join(f'  layer "block{number}.*" {{ freeze: true, stage: {number % 8} }}\n' for number in range(20_000))
    text = f'model m {{\n  onnx: "zoo:resnet50"\n{layers}}}\n'
    print(f"a spec of {len(text) / 1e6:.1f} MB        {timed(text):8.1f} s")
    start, slowest, codes = time.perf_counter(), (0.0, 0), {}
    for seed in range(CASES):
        before = time.perf_counter()
        found = findings(spoilt(Random(seed)).encode())
        render(found)
        slowest = max(slowest, (time.perf_counter() - before, seed))
        for finding in found:
            codes[finding.code] = codes.get(finding.code, 0) + 1
    seconds = time.perf_counter() - start
    print(f"{CASES:,} spoilt specs   {seconds:8.1f} s, slowest {slowest[0] * 1e3:.0f} ms (seed {slowest[1]})")
    print("codes met:", ", ".join(f"{code} {count}" for code, count in sorted(codes.items())))


if __name__ == "__main__":
    main()
