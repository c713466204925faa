"""Specs with a few random changes: they come further than random text does."""

import re
from random import Random

from language import SPEC

SEEDS = (
    SPEC + "assert topology.rail.size * 2 == 8\nsweep { topology.rail.size: [2, 4], where: topology.rail.size > 1 }\n",
    """let n = 2
topology a { ring r { size: n, bandwidth: 5 GB/s, latency: 1 us } }
topology b from a { ring q from r }
model m {
  onnx: "x.onnx", bind { s: 1, "2*s": 2 }, layer "a*" { shard: row }, tie: [["a", "b"]]
}
""",
    """use "std/hardware/h100.astra"
hardware g from h100_sxm { efficiency: 40 %, slow { ranks: [1, 2], factor: 2 } }
memory_pool p { sharing: pool, bandwidth: 64 GB/s, latency: 1 us, holds: [gradients] }
profile s { hardware.efficiency: 3 % }
system { chunks: 4 }
topology: nothing
""",
)
PIECES = (
    *'{}[](),\n:=.-+*/#\\"\0\r\ufeff',
    *(
        "<=",
        "not ",
        "and",
        "or",
        "from",
        "let x = ",
        "profile p {",
        "sweep {",
        "use",
        "assert",
        "where: ",
        "[[[[",
        "[]",
    ),
    *("{}", "1e400", "0", "-1", "1/0", "8.5", "true", "nan", "5 gb/s", "5 %", "5 us", "ring", "topology", "x", "a.b"),
    *("estimate.x", "größe", "1" * 500, "x" * 500),
)
_TOKENS = re.compile(r'"[^"]*"|\w+|\s+|.')


def spoilt(random: Random) -> str:
    """A spec of which some tokens are left out, doubled, exchanged or replaced."""
    tokens = _TOKENS.findall(random.choice(SEEDS))
    for _ in range(random.randint(1, 6)):
        at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
        match random.randrange(5):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] += tokens[other]
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = random.choice(PIECES)
            case 4:
                tokens[at:at] = tokens[min(at, other) : max(at, other)][:60]
    return "".join(tokens)
