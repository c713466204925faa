"""Random specs of small machines and small transformers, in which every strategy meets every other."""

from __future__ import annotations

import random

BLOCKS = ("ring", "switch", "fully_connected")


def random_spec(seed: int, *, micro_batches: int = 0) -> str:
    """A spec; the same for the same number. Some break a rule, and are refused.

    Args:
        seed: its number.
        micro_batches: of one training step instead of its own; times the stages where these go in groups.
    """
    draw = random.Random(seed)
    sizes = [draw.choice((2, 2, 2, 4, 4, 8)) for _ in range(draw.randint(1, 3))]
    lines = []
    for number, size in enumerate(sizes):
        algorithm = draw.choice(("ring", "ring", "direct", "halving_doubling"))
        lines.append(
            f"  {draw.choice(BLOCKS)} d{number} {{ size: {size}, bandwidth: {draw.choice((3, 25, 100, 400))} GB/s, "
            f"latency: {draw.choice((100, 500, 2000))} ns, algorithm: {algorithm} }}"
        )
    names = ["tensor", "pipeline", "data", "expert", "context"]
    kinds = draw.sample(names[:3], len(names[:3])) if draw.random() < 0.7 else draw.sample(names, 3)
    degrees: dict[str, int] = {}
    for size in sizes:
        kind = draw.choice(kinds)
        degrees[kind] = degrees.get(kind, 1) * size
    stages, experts = degrees.get("pipeline", 1), degrees.get("expert", 0)
    schedule = draw.choice(("one_f_one_b", "one_f_one_b", "gpipe", "interleaved"))
    chunks = draw.choice((2, 3)) if schedule == "interleaved" else 1
    drawn = draw.choice((1, 2, 3, 4, 5, 8, 13, 24))
    count = (micro_batches or drawn) * (stages if schedule == "interleaved" else 1)
    options = {
        "tensor": draw.choice(("", ", sequence_parallel: true")),
        "pipeline": f", schedule: {schedule}" + (f", chunks: {chunks}" if chunks > 1 else ""),
        "data": f", shard: {draw.choice(('none', 'optimizer', 'gradients', 'parameters'))}"
        + draw.choice(("", f", buckets: {draw.choice((40, 400, 4000))} kB"))
        + draw.choice(("", ", overlap: false"))
        + draw.choice(("", ", prefetch: 1")),
        "expert": "",
        "context": draw.choice((", method: all_gather", ", method: ulysses", ", method: ring")),
    }
    order = sorted(degrees, key=lambda _: draw.random())
    axes = [f"  {kind} {{ degree: {degrees[kind]}{options[kind]} }}" for kind in order]
    layers = draw.randint(1, 4) + stages * chunks
    mixture = f" experts {{ count: {experts * 2}, active: 2 }}" if experts else ""
    tied = draw.choice(("", ", tied: true"))
    samples = count * degrees.get("data", 1) * max(1, experts)
    training = [
        f"global_batch: {samples}, micro_batch: 1, precision: bf16",
        f"optimizer: {draw.choice(('sgd', 'adam'))}",
        f"recompute: {draw.choice(('none', 'none', 'full', 'selective'))}",
        f"steps: {draw.choice((1, 1, 1, 2, 3)) if not micro_batches else 1}",
        f"pass: {draw.choice(('training',) * 7 + ('forward',))}",
    ]
    system = [
        f"chunks: {draw.choice((1, 2, 4))}",
        f"endpoint_delay: {draw.choice((1, 10, 300))} ns",
        f"scheduling: {draw.choice(('lifo', 'fifo'))}",
        f"optimization: {draw.choice(('local_bw_aware', 'baseline'))}",
    ]
    holds = draw.choice(("parameters", "gradients", "optimizer_state"))
    pool = f"memory_pool p {{ sharing: npu, bandwidth: 100 GB/s, latency: 500 ns, holds: [{holds}] }}\n"
    hidden = 16 * draw.choice((4, 8, 32))
    return (
        'use "std/hardware/a100.astra"\nhardware: a100_sxm_80g\n'
        "topology t {\n"
        + "\n".join(lines)
        + "\n}\n"
        + (pool if draw.random() < 0.1 else "")
        + "model m {\n"
        + f"  transformer {{ layers: {layers}, hidden: {hidden}, heads: 16, sequence: {16 * draw.choice((3, 8, 32))}, "
        + f"vocabulary: 1_024{tied}{',' if mixture else ''}{mixture} }}\n}}\n"
        + "parallelism {\n"
        + "\n".join(axes)
        + "\n}\n"
        + f"training {{ {', '.join(training)} }}\n"
        + f"system {{ {', '.join(system)} }}\n"
    )
