"""What the topology and the system of a spec ask of simulators: what none of them runs, and what runs unlike expected.

Rules of the rows of `blocks` and `algorithms`, told when a spec is checked, before there are layers or traces. They
have the form of `training.rules`, which runs them among its own. The rows are imported when a spec names something that
they can object to: a check of a plain one shall not pay for them.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED, Kind
from astrac.training.finding import Finding
from astrac.training.plan import Communicate
from astrac.training.strategies.placement import bounds, npus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.simulators.algorithms import Named
    from astrac.source import Span
    from astrac.spec import Dimension, Spec
    from astrac.training.plan import Plan

    At = Callable[[str], Span]
    """The place of a JSON pointer of the Document: of its value, or of the nearest block around it."""


PLAIN = "ring"
"""The word of the algorithm to which nothing is objected; a test compares it with the row that stands in for others."""


def _named(word: str) -> Named | None:
    """What a word means; None for the plain one."""
    if word == PLAIN:
        return None
    from astrac.simulators.algorithms import by_word

    return by_word(word)


def _alone(spec: Spec, _at: At) -> Iterator[Finding]:
    """A network connects two at least."""
    if npus(spec.topology) == 1:
        hint = "ASTRA-sim needs two NPUs: write a `size` of 2 or more"
        yield Finding("AS545", "/topology/dimensions/0/size", "the topology has one NPU", hint)


def _algorithms(spec: Spec, _at: At) -> Iterator[Finding]:
    """Algorithms that need a power of two."""
    default = spec.system.algorithm
    for index, dimension in enumerate(spec.topology.dimensions):
        pointer = f"/topology/dimensions/{index}"
        words = {f"{pointer}/algorithm": dimension.algorithm or default}
        if dimension.algorithms is not None:
            for kind in IMPLEMENTED:
                key = kind.name.lower()
                word = getattr(dimension.algorithms, key)
                if word is not None:
                    words[f"{pointer}/algorithms/{key}"] = word
        for place_, word in words.items():
            named = _named(word)
            if named is not None and not named.row.sizes.admit(dimension.size):
                where = place_ if dimension.algorithm or "algorithms" in place_ else "/system/algorithm"
                beside = f"{pointer}/size", f"`{dimension.name}` has {dimension.size} NPUs"
                yield Finding("AS521", where, f"`{word}` needs a power of two NPUs", beside=beside)
    named = _named(default)
    if named is not None and named.whole:
        for index, dimension in enumerate(spec.topology.dimensions):
            if dimension.algorithm is not None:
                message = f"`{default}` is one ring over all NPUs: a dimension cannot have its own algorithm beside it"
                beside = "/system/algorithm", "asked for here"
                yield Finding("AS522", f"/topology/dimensions/{index}/algorithm", message, beside=beside)


def _backend(spec: Spec, _at: At) -> Iterator[Finding]:
    """The congestion-aware network takes one dimension."""
    count = len(spec.topology.dimensions)
    if spec.system.backend == "congestion_aware" and count > 1:
        message = f"`congestion_aware` takes one dimension, this spec has {count}"
        yield Finding("AS523", "/system/backend", message, beside=("/topology", "the topology is here"))
    elif spec.system.backend == "congestion_aware":
        from astrac.simulators.blocks import BLOCKS

        block = spec.topology.dimensions[0]
        if (fault := BLOCKS[block.kind].congested_fault(block.size)) is not None:
            beside = "/system/backend", "asked for here"
            hint = f"`fully_connected {block.name} {{ ... }}` is one link between the two"
            yield Finding("AS544", "/topology/dimensions/0/size", fault, hint, beside=beside)


def _crowds(word: str, block: str) -> bool:
    """Whether an algorithm sends more at once than a block has ports for."""
    if word == PLAIN:
        return False
    from astrac.simulators.algorithms.direct import DIRECT
    from astrac.simulators.blocks import BLOCKS

    return word == DIRECT.words.language and not BLOCKS[block].port_per_peer


def _switched(block: str) -> bool:
    from astrac.simulators.blocks import BLOCKS

    return BLOCKS[block].switched


def _advice(spec: Spec, at: At) -> Iterator[Finding]:
    """What runs, but not as one would think."""
    system, dimensions = spec.system, spec.topology.dimensions
    if system.active_chunks > 1 and system.backend == "congestion_unaware":
        message = f"{system.active_chunks} active chunks each get the full bandwidth: results can beat the wire"
        yield Finding("AS801", "/system/active_chunks", message)
    written = at("/system/active_chunks") != at("/system")
    if written and len(dimensions) > 1 and system.active_chunks < system.chunks:
        message = f"active_chunks {system.active_chunks} < chunks {system.chunks} can deadlock in ns-3"
        hint = f"there, use {system.chunks}; the analytical networks run either"
        yield Finding("AS802", "/system/active_chunks", message, hint)
    for index, dimension in enumerate(dimensions):
        word = dimension.algorithm or system.algorithm
        window = dimension.window or dimension.size - 1
        if system.backend == "congestion_unaware" and window > 1 and _crowds(word, dimension.kind):
            message = f"`{word}` on a {dimension.kind}: {window} messages get the full bandwidth at once"
            key = f"/topology/dimensions/{index}"
            hint = "`window: 1` sends one at a time, which is about what the wire carries"
            yield Finding("AS803", f"{key}/algorithm" if dimension.algorithm else key, message, hint)
        yield from _bits(dimension, f"/topology/dimensions/{index}/bandwidth", at)


CARDS = (100, 200, 400, 800)
"""Gb/s that network cards have. A ring of 100 GB/s is a torus' link as well."""

CARD_LATENCY = Fraction(1, 10**6)
"""Seconds that a message through network cards takes at least; links inside a node of such figures are faster."""


def _bits(dimension: Dimension, pointer: str, at: At) -> Iterator[Finding]:
    """Bytes where a network card has as many bits."""
    span = at(pointer)
    number = Fraction(dimension.bandwidth) / 10**9
    likely = number in CARDS and dimension.latency >= CARD_LATENCY and (number > CARDS[0] or _switched(dimension.kind))
    if likely and re.search(r"\bGB/s", span.source.text[span.start : span.end]):
        message = f"{number} GB/s is {8 * number} Gb/s"
        hint = f"a network card of {number} Gb/s is `{number} Gb/s`, which is {float(number / 8):g} GB/s"
        yield Finding("AS806", pointer, message, hint)


def circular(spec: Spec) -> bool:
    """Whether chunks of an all-reduce go up and down in the same queues."""
    system = spec.system
    return len(spec.topology.dimensions) > 1 and system.optimization == "local_bw_aware" and system.chunks > 1


def staggered(spec: Spec) -> bool:
    """Whether members of such an all-reduce can start or end apart, so that chunks could wait for each other."""
    blocks = spec.topology.dimensions
    words = {spec.system.algorithm, *(block.algorithm or PLAIN for block in blocks)}
    own = any(block.algorithms for block in blocks)
    return circular(spec) and bool(spec.memory_pool or spec.hardware.slow or own or words != {PLAIN})


def may_wait(plan: Plan) -> bool:
    """Whether chunks can wait for each other: of a staggered all-reduce over several dimensions."""
    if not staggered(plan.spec):
        return False
    edges = list(pairwise(bounds(plan.spec.topology)))
    actions = (step.action for program in plan.programs for step in program.steps)
    reduced = {action.axes for action in actions if isinstance(action, Communicate) and action.kind is Kind.ALL_REDUCE}
    rings = [[axis for axis in plan.axes if axis.name in axes] for axes in reduced]
    return any(
        sum(any(low < axis.stride * axis.size and high > axis.stride for axis in ring) for low, high in edges) > 1
        for ring in rings
    )


KNOWN: dict[str, tuple[str, Fraction, Fraction]] = {
    "bandwidth": ("links have 10 Gb/s to 1.8 TB/s", Fraction(1_250_000_000), Fraction(1_800_000_000_000)),
    "latency": ("links have 20 ns to 10 us", Fraction(20, 10**9), Fraction(1, 10**5)),
}
"""What links of machines have, in words and in bytes per second or seconds."""

FAR = 100
"""Times away from what is known: a slip of a unit, not another machine."""


def _units(spec: Spec, at: At) -> Iterator[Finding]:
    """AS892 for values that no machine comes near, and for a memory in bits."""
    for index, dimension in enumerate(spec.topology.dimensions):
        for key, (known, least, most) in KNOWN.items():
            value, pointer = Fraction(getattr(dimension, key)), f"/topology/dimensions/{index}/{key}"
            if value and not least / FAR <= value <= most * FAR:
                text = at(pointer).source.text[at(pointer).start : at(pointer).end]
                yield Finding(
                    "AS892", pointer, f"{key} {text} is more than {FAR} times away from every machine: {known}"
                )
    for key in ("capacity", "bandwidth"):
        span = at(f"/hardware/memory/{key}")
        text = span.source.text[span.start : span.end]
        if (bits := re.search(r"\b([kMGTP]i?)(b|bit)(/s|ps)?\b", text)) is not None:
            right = f"{bits[1]}B{'/s' if bits[3] else ''}"
            message = f"memory is given in bits: `{text}`"
            hint = f"memory comes in bytes: `{text.replace(bits[0], right)}`"
            yield Finding("AS892", f"/hardware/memory/{key}", message, hint)


RULES = (_alone, _algorithms, _backend, _advice, _units)
"""One function a rule, run in this order."""
