"""A small whole spec, for pages whose diagnostics need one."""

from __future__ import annotations

_BLOCKS = {
    "use": 'use "std/hardware/a100.astra"',
    "hardware": "hardware gpu from a100_sxm_80g",
    "topology": "topology ring8 { ring nvlink { size: 8, bandwidth: 50 GB/s, latency: 500 ns } }",
    "memory_pool": "",
    "model": "model tiny { transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }",
    "parallelism": "parallelism { data { degree: 8 } }",
    "training": "training { global_batch: 64, micro_batch: 1, precision: bf16 }",
    "system": "",
}


def spec(**blocks: str) -> str:
    """The spec with some of its blocks replaced, "" leaves one out."""
    return "\n".join(text for text in (_BLOCKS | blocks).values() if text) + "\n"
