"""Time and memory of reading models: `PYTHONPATH=compiler:tests:tests/bench python tests/bench/bench_onnx.py`.

Whole processes beside `import onnx`, 20,000 damaged models, then in one process what plain onnx needs to load and infer
the same files. Large files are made on the spot, in a folder that goes away. Exits with 1 when a limit is broken.
Times are processor time, which other load on the machine hardly changes. (A process inherits the peak memory of the one
that starts it: what plain onnx needs comes last.)
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES_IMPORT, PROCESS_MB, FUZZ_MB, FUZZ_SECONDS = 3, 120, 300, 5
LIMITS = {
    "zoo:resnet50": 30,
    "zoo:vgg16": 30,
    "vgg16, weights inside": 30,
    "7B, weights absent": 100,
    "1000 layers": 2000,
}
"""Milliseconds in process, the import of onnx not counted."""

COUNT = 20_000
broken: list[str] = []


def judge(what: str, value: float, limit: float, unit: str) -> str:
    """The value beside its limit; remembers what is over."""
    if value > limit:
        broken.append(f"{what}: {value:.0f} {unit}, the limit is {limit:.0f}")
    return f"{value:8.0f} {unit} (limit {limit:.0f})"


def process(*command: str) -> tuple[float, float]:
    """Seconds of processor time and MB of a process, the best of five."""
    seconds, peak = [], 0.0
    for _ in range(5):
        child = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds.append(usage.ru_utime + usage.ru_stime)
        assert status == 0, command
        peak = max(peak, usage.ru_maxrss / 1024)
    return min(seconds), peak


def whole(files: dict[str, tuple[str, dict[str, int]]]) -> None:
    """`astrac layers` as people call it."""
    base, _ = process("-c", "import onnx")
    print(f"python -c 'import onnx': {base * 1000:.0f} ms\n\nwhole process, astrac layers")
    for name in ("zoo:vgg16", "zoo:resnet50", "vgg16, weights inside", "7B, weights absent"):
        source, bind = files[name]
        options = [f"--bind={symbol}={value}" for symbol, value in bind.items()]
        seconds, peak = process("-m", "astrac", "layers", source, "--batch", "1", *options)
        limit = judge(f"{name}, process", seconds * 1000, TIMES_IMPORT * base * 1000, "ms")
        print(f"  {name:24}{limit}{judge(f'{name}, memory', peak, PROCESS_MB, 'MB')}")


def in_process(files: dict[str, tuple[str, dict[str, int]]]) -> None:
    """`read_model` alone, and plain onnx on the same files."""
    import onnx

    from astrac.models.onnx import read_model

    def ours(source: str, bind: dict[str, int]) -> Callable[[], object]:
        return lambda: read_model("m", source, batch=1, bind=bind).value.layers

    def plain(source: str) -> Callable[[], object]:
        return lambda: onnx.shape_inference.infer_shapes(onnx.load(source, load_external_data=False), data_prop=True)

    print("\nin process                     astrac                     onnx.load + infer_shapes")
    for name, (source, bind) in files.items():
        found = best(ours(source, bind))
        beside = "" if source.startswith("zoo:") else f"{best(plain(source), 1):10.0f} ms"
        print(f"  {name:24}{judge(name, found, LIMITS[name], 'ms')}{beside}")


def best(call: Callable[[], object], count: int = 5) -> float:
    """Milliseconds of processor time of the quickest of several calls."""
    found = []
    for _ in range(count):
        start = time.process_time()
        assert call()
        found.append((time.process_time() - start) * 1000)
    return min(found)


def fuzz() -> None:
    """Run in a process of its own, so that its memory is its own."""
    from astrac.models import table
    from astrac.models.onnx import read_model
    from onnx_mutations import damaged

    answers, slowest = 0, 0.0
    for data in damaged(seed=1, count=COUNT):
        start = time.perf_counter()
        result = read_model("m", data, batch=1)
        assert result.value is not None or result.diagnostics
        answers += result.value is not None
        if result.value is not None:
            table.render(result.value, "json", all_rows=True)
        slowest = max(slowest, time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{COUNT:,} damaged models: {answers:,} answers, {COUNT - answers:,} errors, no traceback")
    print(f"  slowest {judge('damaged models, slowest', slowest, FUZZ_SECONDS, 's')}")
    print(f"  memory  {judge('damaged models, memory', peak, FUZZ_MB, 'MB')}")


def main() -> int:
    """Everything."""
    if sys.argv[1:] == ["--fuzz"]:
        fuzz()
        return bool(broken)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = (
            "import sys, onnx_files as f; from pathlib import Path; p = Path(sys.argv[1]);"
            "f.with_weights_inside('vgg16', p / 'vgg16.onnx');"
            "f.transformer(p / 'llama.onnx', 32, 4096, 32, 11008, 32000);"
            "f.transformer(p / 'deep.onnx', 1000, 1024, 16, 2816, 32000)"
        )
        subprocess.run([sys.executable, "-c", make, str(folder)], check=True)
        files = {
            "zoo:resnet50": ("zoo:resnet50", {}),
            "zoo:vgg16": ("zoo:vgg16", {}),
            "vgg16, weights inside": (str(folder / "vgg16.onnx"), {}),
            "7B, weights absent": (str(folder / "llama.onnx"), {"seq": 2048}),
            "1000 layers": (str(folder / "deep.onnx"), {"seq": 2048}),
        }
        whole(files)
        sys.stdout.flush()
        failed = subprocess.run([sys.executable, __file__, "--fuzz"], check=False).returncode
        in_process(files)
    print(*(f"over the limit: {line}" for line in broken), sep="\n")
    return bool(broken) or failed


if __name__ == "__main__":
    sys.exit(main())
