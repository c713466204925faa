"""Time, memory and disk of large jobs: `PYTHONPATH=compiler:tests python tests/bench/bench_emit.py [--large]`.

The shape is that of GPT-3 on 1024 ranks (tensor 8, data 16, pipeline 8, 1F1B, 8 micro-batches): eight programs of some
thousand nodes, each rank with its own peers; and of a data-parallel model on 4096 ranks that share one program.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from astrac import bundle, emit
from astrac.job import Axis, AxisGroup, Box, Collective, Compute, Job, Kind, Program, RankClass, Receive, Send
from folders import read
from jobs import data_parallel, machine


def pipeline(micro_batches: int, nodes: int = 400) -> Job:
    """`nodes` a micro-batch and stage, of which an eighth are collectives."""
    axes = (Axis("tensor", 1, 8), Axis("data", 8, 16), Axis("pipeline", 128, 8))
    tensor = AxisGroup(("tensor",), dimensions=(True, False, False))
    data = AxisGroup(("data",), dimensions=(False, True, False))

    def stage(number: int) -> Program:
        ops = []
        for micro_batch in range(micro_batches):
            for step in range(nodes):
                fields = {"id": len(ops), "data": (len(ops) - 1,) if ops else ()}
                name = f"block{12 * number + step // 34}.mlp.up forward {micro_batch}"
                if step == 0 and number > 0:
                    ops.append(
                        Receive(**fields, name=name, axis="pipeline", offset=-1, bytes=50 << 20, tag=micro_batch)
                    )
                elif step == nodes - 1 and number < 7:
                    ops.append(Send(**fields, name=name, axis="pipeline", offset=1, bytes=50 << 20, tag=micro_batch))
                elif step % 8 == 7:
                    ops.append(Collective(**fields, name=name, kind=Kind.ALL_GATHER, bytes=6 << 20, group=tensor))
                else:
                    work = {"num_ops": 309237645312 + step, "tensor_size": 1, "flops": 154618822656, "bytes": 226492416}
                    ops.append(Compute(**fields, name=name, **work))
        ops.append(Collective(id=len(ops), data=(len(ops) - 1,), kind=Kind.ALL_REDUCE, bytes=5 << 30, group=data))
        return Program(tuple(ops))

    return Job(
        "gpt3",
        machine(("Switch", 8), ("Switch", 16), ("Switch", 8)),
        axes,
        tuple(stage(number) for number in range(8)),
        tuple(RankClass(number, (Box((None, None, (number,))),)) for number in range(8)),
    )


def main() -> None:
    shapes = {
        "data parallel, 8 ranks": lambda: data_parallel(8),
        "data parallel, 1024 ranks": lambda: data_parallel(1024),
        "data parallel, 4096 ranks": lambda: data_parallel(4096),
        "GPT-3, 1024 ranks, 8 micro-batches": lambda: pipeline(8),
    }
    if "--large" in sys.argv:
        shapes["GPT-3, 1024 ranks, 96 micro-batches"] = lambda: pipeline(96)
    for name, make in shapes.items():
        job = make()
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            result = emit.emit({"astra-sim-2": job})
            emitted = time.perf_counter()
            assert result.value is not None, result.diagnostics
            written = bundle.write(result.value, Path(folder) / "out")
            assert written.ok, written.diagnostics
            end = time.perf_counter()
            emit_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            back = read(Path(folder) / "out")
            known = time.perf_counter()
            assert back.value == job, back.diagnostics
            (Path(folder) / "out" / "manifest.json").unlink()
            start_foreign = time.perf_counter()
            assert read(Path(folder) / "out" / "astra-sim-2").ok
            foreign = time.perf_counter()
        nodes = sum(len(program.ops) for program in job.programs)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {nodes} nodes in {len(job.programs)} programs, {result.value.files} files, "
            f"{result.value.bytes / 1e6:.1f} MB; emit {emitted - start:.2f} s, write {end - emitted:.2f} s, "
            f"read {known - end:.2f} s, without a manifest {foreign - start_foreign:.2f} s; "
            f"{emit_peak} MB, {peak} MB with reading"
        )


if __name__ == "__main__":
    main()
