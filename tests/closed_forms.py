"""What a GPT or a mixture of experts sends and computes, in closed form, from the literature and not from the compiler.

Shoeybi et al. 2019 (tensor), Korthikanti et al. 2022 (sequence parallelism, recomputation), Narayanan et al. 2021
(pipeline), Rajbhandari et al. 2020 (ZeRO), Lepikhin et al. 2020 (experts), Liu et al. 2023 and DeepSpeed Ulysses
(context). Totals are over one rank of each pipeline stage. Sizes are chosen such that everything divides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Case:
    """A training step, in the letters of the literature: b samples of s tokens, L blocks of h, a heads, g of keys."""

    b: int = 2
    m: int = 1
    s: int = 32
    L: int = 4
    h: int = 64
    a: int = 8
    g: int = 8
    V: int = 512
    S: int = 128  # rows of the table of positions
    E: int = 0
    k: int = 2
    cf: Fraction = Fraction(5, 4)
    tied: bool = False
    t: int = 1
    p: int = 1
    v: int = 1
    d: int = 1
    c: int = 1
    e: int = 1
    sp: bool = False
    schedule: str = "one_f_one_b"
    shard: str = "none"
    inner: int = 0  # ranks that share shards, of d
    method: str = "all_gather"
    recompute: str = "none"
    beta: int = 2
    gamma: int = 2

    @property
    def ranks(self):
        return self.t * self.p * self.d * self.c * self.e

    @property
    def tokens(self):
        """Of a micro-batch on one rank."""
        return self.b * self.s // self.c

    @property
    def stream(self):
        """A: bytes of one activation."""
        return self.beta * self.tokens * self.h

    @property
    def slots(self):
        """Tokens that a rank sends to experts."""
        return int(self.tokens * self.k * self.cf)


def parameters(case):
    """Numbers on a rank: (dense of one block, experts' of one block, embedding, head), and those that are copies.

    Copies are what sequence parallelism leaves whole and feeds with different tokens.
    """
    h, t, f = case.h, case.t, 4 * case.h
    key = h * case.g // case.a
    attention = (h * (h + 2 * key) + h + 2 * key + h * h) // t + h
    norms = 4 * h
    if case.E:
        router, mine = case.E * h, case.E // case.e
        dense, experts = attention + norms + router, mine * ((2 * h * f + f) // t + h)
        copies = case.L * (norms + h + router + mine * h) + 2 * h
    else:
        dense, experts = attention + norms + (2 * h * f + f) // t + h, 0
        copies = case.L * (norms + 2 * h) + 2 * h
    shares = case.tied and case.p == 1
    embedding, head = case.V * h // t + case.S * h, 2 * h + (0 if shares else case.V * h // t)
    return dense, experts, embedding, head, copies if case.sp else 0


def traffic(case):
    """Bytes by axis, phase, and kind."""
    found = Counter()
    for part in (_tensor, _experts, _context, _pipeline):
        for key, size in part(case).items():
            found[key] += size * case.m
    found += _once(case)
    return +found


def _tensor(case):
    found = Counter()
    if case.t == 1:
        return found
    one, t = case.stream, case.t
    block = one + (case.beta * case.slots * case.h if case.E else one)  # the pair of attention, the pair behind it
    found["tensor", "forward", "all_reduce"] += 3 * 4 * case.tokens  # the loss
    again = {"full": 1}.get(case.recompute, 0)
    if not case.sp:
        found["tensor", "forward", "all_reduce"] += case.L * block + one
        found["tensor", "recompute", "all_reduce"] += again * case.L * block
        found["tensor", "input_gradient", "all_reduce"] += case.L * block + one
        return found
    found["tensor", "forward", "all_gather"] += (case.L * block + one) // t
    found["tensor", "forward", "reduce_scatter"] += case.L * block + one
    found["tensor", "recompute", "all_gather"] += again * case.L * block // t
    found["tensor", "recompute", "reduce_scatter"] += again * case.L * block
    found["tensor", "input_gradient", "all_gather"] += (case.L * block + one) // t
    found["tensor", "input_gradient", "reduce_scatter"] += case.L * block + one
    found["tensor", "weight_gradient", "all_gather"] += (case.L * block + one) // t
    return found


def _experts(case):
    found = Counter()
    if case.e > 1:
        size = 2 * case.L * case.beta * case.slots * case.h // case.t
        found["expert", "forward", "all_to_all"] += size
        found["expert", "input_gradient", "all_to_all"] += size
        found["expert", "recompute", "all_to_all"] += size if case.recompute == "full" else 0
    return found


def _context(case):
    found = Counter()
    c, q = case.c, case.stream // case.t
    kv = q * case.g // case.a
    if c == 1:
        return found
    again = case.recompute != "none"
    match case.method:
        case "all_gather":
            found["context", "forward", "all_gather"] = case.L * 2 * kv
            found["context", "input_gradient", "reduce_scatter"] = case.L * 2 * kv * c
            found["context", "recompute", "all_gather"] = case.L * 2 * kv if case.recompute == "full" else 0
        case "ring":
            found["context", "forward", "send"] = case.L * (c - 1) * 2 * kv
            found["context", "input_gradient", "send"] = case.L * (c - 1) * 4 * kv
            found["context", "recompute", "send"] = case.L * (c - 1) * 2 * kv if again else 0
        case "ulysses":
            found["context", "forward", "all_to_all"] = case.L * (2 * q + 2 * kv)
            found["context", "input_gradient", "all_to_all"] = case.L * (2 * q + 2 * kv)
            found["context", "recompute", "all_to_all"] = case.L * (2 * q + 2 * kv) if case.recompute == "full" else 0
    return found


def _pipeline(case):
    size = (case.p * case.v - 1) * case.stream // (case.t if case.sp else 1)
    return Counter({("pipeline", phase, "send"): size for phase in ("forward", "input_gradient")})


def _once(case):
    """Once a step: what data parallelism, copies and ties reduce."""
    found = Counter()
    dense, experts, embedding, head, copies = parameters(case)
    for numbers, ranks in (
        (case.L * dense + embedding + head, case.d * case.c * case.e),
        (case.L * experts, case.d * case.c),
    ):
        if ranks > 1:
            found += _reduced(case, numbers, ranks)
    if case.t > 1:
        found["tensor", "reduction", "all_reduce"] += case.gamma * copies
    if case.tied and case.p > 1:
        shards = case.d * case.c * case.e if case.shard in ("gradients", "parameters") else 1
        found["pipeline", "reduction", "all_reduce"] += 2 * case.gamma * case.V * case.h // case.t // shards
    return found


def _reduced(case, numbers, ranks):
    found = Counter()
    shards = ranks // case.d * case.inner if case.inner else ranks
    rounds = case.m if case.shard in ("gradients", "parameters") else 1
    if case.shard == "none":
        found["data", "reduction", "all_reduce"] += case.gamma * numbers
        return found
    found["data", "reduction", "reduce_scatter"] += rounds * case.gamma * numbers
    if shards < ranks:
        found["data", "reduction", "all_reduce"] += rounds * case.gamma * numbers // shards
    if case.shard == "parameters":
        found["data", "forward", "all_gather"] += case.m * case.beta * numbers // shards
        found["data", "input_gradient", "all_gather"] += case.m * case.beta * numbers // shards
    else:
        found["data", "optimizer", "all_gather"] += case.beta * numbers // shards
    return found


def flops(case):
    """By phase: two a multiply-accumulate, and those of norms, softmax, gelu and sums.

    Norms take 7 an element, softmax 5 a score, gelu 8, a residual sum 1, combining experts 2 a slot; Adam 12 a number.
    """
    n, h, t, f = case.tokens, case.h, case.t, 4 * case.h
    whole = t if case.sp else 1  # what lies along the stream is only cut by sequence parallelism
    key = h * case.g // case.a
    attention = 2 * n * (h * (h + 2 * key) + h * h) // t
    products, softmax = 4 * n * case.s * h // t, 5 * n * case.a * case.s // t
    norms = 2 * 7 * n * h // whole
    if case.E:
        linear = attention + 4 * case.slots * h * f // t + 2 * n * case.E * h // whole
        rest = 8 * case.slots * f // t + (5 * n * case.E + n * h + 2 * case.slots * h + n * h) // whole
    else:
        linear = attention + 4 * n * h * f // t
        rest = 8 * n * f // t + 2 * n * h // whole
    block = linear + products + softmax + norms + rest
    positions, final = n * h // whole, 7 * n * h // whole
    head, loss = 2 * n * h * case.V // t, 5 * n * case.V // t
    found = {"forward": case.L * block + positions + final + head + loss}
    found["recompute"] = {"none": 0, "selective": products + softmax, "full": block}[case.recompute] * case.L
    found["input_gradient"] = found["forward"] + case.L * products
    tables = 2 * 2 * n * h  # each table adds the gradient of every token to its rows
    found["weight_gradient"] = case.L * linear + head + tables + (2 * case.L + 1) * 2 * n * h // whole
    found = {phase: case.m * count for phase, count in found.items()}
    dense, experts, embedding, last, _ = parameters(case)
    found["optimizer"] = 0
    for owned, ranks in (
        (case.L * dense + embedding + last, case.d * case.c * case.e),
        (case.L * experts, case.d * case.c),
    ):
        shards = 1 if case.shard == "none" else ranks // case.d * case.inner if case.inner else ranks
        found["optimizer"] += 12 * owned // shards
    return +Counter(found)
