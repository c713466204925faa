"""What the simulators' verbs `diff` and `import` share: two values -> lines of differences, a machine -> a spec's text.

The spec builds the same network, system and memory. What the language cannot say is refused, with the nearest form;
what has no effect is left out, with a word.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnostic, Result, diagnostic, has_errors
from astrac.job import IMPLEMENTED, NETWORK_GB, Dimension, Kind, Machine, MemoryType, bytes_per_ns
from astrac.simulators.algorithms import Named, by_word_2
from astrac.simulators.algorithms.ring import RING
from astrac.simulators.blocks import by_name_2
from astrac.simulators.texts import decimal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ARROW = "->"


def changed(where: str, name: str, one: object, other: object) -> Iterator[str]:
    """The line of a value that is not the same."""
    if one != other:
        yield f"{where}: {name} {shown(one)} {ARROW} {shown(other)}"


def shown(value: object) -> str:
    """A value in the words of the files."""
    if value is None:
        return "missing"
    if isinstance(value, Enum):
        return value.name if isinstance(value, int) else str(value.value)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.17g}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)


def scalars(where: str, one: Any, other: Any, names: Mapping[str, str], apart: Sequence[str] = ()) -> Iterator[str]:
    """Attributes of two dataclasses of one kind; what is a dataclass itself is looked into."""
    for field in fields(one):
        if field.name in apart:
            continue
        before, after = getattr(one, field.name), getattr(other, field.name)
        name = names.get(field.name, field.name.replace("_", " "))
        if is_dataclass(before) and type(before) is type(after):
            yield from scalars(f"{where}: {name}", before, after, names)
        else:
            yield from changed(where, name, before, after)


def lists(where: str, one: Sequence[Any], other: Sequence[Any], names: Mapping[str, str], noun: str) -> Iterator[str]:
    """Two lists of dataclasses of one kind, entry by entry; `noun` is what an entry is."""
    if len(one) != len(other):
        yield f"{where}: {len(one)} {ARROW} {len(other)} {noun}s"
    for at, (before, after) in enumerate(zip(one, other, strict=False)):
        label = f"{where}: {noun} {getattr(before, 'name', at)}"
        yield from scalars(label, before, after, names)


# -- the text of a spec

MAX_DIMENSIONS = 16

_SHARING = {MemoryType.PER_NPU: "npu", MemoryType.PER_NODE: "node", MemoryType.POOL: "pool"}

_INSTANT = "1e24 B/s"
"""A local memory so fast that reductions take no time, as without `local-mem-bw`."""


class SpecWriter:
    """Collects the lines of a spec and what they do not say; one per import.

    Attributes:
        machine: as it was read.
        found: AS788 and AS876.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.found: list[Diagnostic] = []

    def refuse(self, message: str) -> None:
        """The spec would build another machine."""
        self.found.append(diagnostic("AS788", message))

    def leave_out(self, message: str) -> None:
        """The spec builds the same machine without it."""
        self.found.append(diagnostic("AS876", message))

    def finish(self, origin: str, model: Iterable[str], found: Iterable[Diagnostic]) -> Result[str]:
        """The spec, or what keeps it from being one.

        Args:
            origin: name of where the files lie, for a comment.
            model: its lines of the model, made when those of the other blocks are.
            found: in the files.
        """
        head = f"# Imported from {origin} by `astrac import`: the same network, system and memory."
        blocks = [*self._hardware(), "", *self._topology(), *self._pool(), "", *self._system(), "", *model]
        text = None if has_errors(self.found) else "\n".join([head, *blocks, ""])
        return Result(text, (*found, *self.found))

    def model(self, kind: Kind = Kind.ALL_REDUCE, size: int = 1 << 20, repeat: int = 1) -> Iterator[str]:
        """A model that is one collective over all NPUs, one after the other; `size` is that of a Job's `Collective`."""
        word, times = kind.name.lower(), f", repeat: {repeat}" if repeat > 1 else ""
        whole = size * (self.machine.npus if kind is Kind.ALL_GATHER else 1)
        yield f"model {word} {{"
        yield f"  collective {{ kind: {word}, size: {whole} B{times} }}"
        yield "}"

    def _hardware(self) -> Iterator[str]:
        machine = self.machine
        bandwidth = machine.local_mem_bandwidth
        if not bandwidth:
            self.leave_out("`local-mem-bw` is missing: the spec has a memory so fast that reductions take no time")
        if machine.peak_performance is not None and not machine.roofline:
            self.leave_out("`peak-perf` is not read without `roofline-enabled`")
        # A microbenchmark computes in fp32: a peak of another type switches the roofline off.
        peak = f"fp32: {_decimal(machine.peak_performance or 0)} TFLOPS" if machine.roofline else "bf16: 1 TFLOPS"
        memory = f"capacity: 1 TB, bandwidth: {_INSTANT if not bandwidth else f'{_decimal(bandwidth)} GB/s'}"
        yield "hardware npu {"
        yield f"  peak {{ {peak} }}"
        yield f"  memory {{ {memory} }}"
        yield "}"

    def _topology(self) -> Iterator[str]:
        dimensions = self.machine.dimensions
        if len(dimensions) > MAX_DIMENSIONS:
            self.refuse(f"{len(dimensions)} dimensions: a spec has at most {MAX_DIMENSIONS}")
        for kind, words in self.machine.algorithms.items():
            if words and len(words) != len(dimensions) and not self._flat():
                message = (
                    f"{len(words)} algorithm for {len(dimensions)} dimensions, for {kind.name}: the others take no part"
                )
                self.refuse(f"{message}; nearest is a word for each")
                break
        yield "topology machine {"
        for at, dimension in enumerate(dimensions):
            yield f"  {self._dimension(at, dimension)}"
        yield "}"

    def _dimension(self, at: int, dimension: Dimension) -> str:
        words = self.machine.algorithms.get(Kind.ALL_REDUCE, ())
        inner = any(_named(word).row.instead is not None for word in words[:-1])
        if inner and self.machine.optimization != "baseline" and at == 0:
            self.refuse(
                "a tree on a dimension that is not the last would run an all-reduce in place of a reduce-scatter: "
                "nearest is `baseline`, or a ring there"
            )
        if dimension.latency > 10**9:
            self.refuse(f"a latency of {dimension.latency} ns: a spec has at most 1 s")
        parts = [
            f"size: {dimension.size}",
            f"bandwidth: {_rate(dimension.bandwidth)}",
            f"latency: {_decimal(dimension.latency)} ns",
            *([] if self._flat() else self._algorithm(at)),
        ]
        return f"{by_name_2(dimension.block).word} d{at} {{ {', '.join(parts)} }}"

    def _flat(self) -> bool:
        """Whether one ring over all NPUs takes the place of the dimensions."""
        return any(words and _named(words[0]).whole for words in self.machine.algorithms.values())

    def _algorithm(self, at: int) -> Iterator[str]:
        """The algorithm of a dimension, and of the kinds that have another."""
        words = {kind: _named(listed[at]) for kind, listed in self.machine.algorithms.items() if at < len(listed)}
        missing = [kind for kind in IMPLEMENTED if kind not in words]
        if missing and at == 0:
            names = ", ".join(kind.name for kind in missing)
            self.leave_out(f"no algorithms are listed for {names}: the spec lists all four kinds")
        base = (words.get(Kind.ALL_REDUCE) or next(iter(words.values()), Named(RING))).row
        windowed = [named for named in words.values() if named.row.windowed]
        windows = {named.window for named in windowed}
        if len(windows) > 1:
            name = windowed[0].words.astra_sim_2
            self.refuse(f"dimension {at} has `{name}` with different windows, and a spec has one a dimension")
        if base is not RING:
            yield f"algorithm: {base.words.language}"
        if windows - {None}:
            yield f"window: {next(iter(windows))}"
        apart = []
        for kind, named in words.items():
            if named.row is Named(base).able(kind).row:
                continue
            if kind in named.row.kinds:
                apart.append(f"{kind.name.lower()}: {named.words.language}")
            else:
                word, other = named.words.astra_sim_2, named.row.stand_in
                self.leave_out(f"`{word}` cannot do an {kind.name}: the spec lists `{other}` for it")
        if apart:
            yield f"algorithms {{ {', '.join(apart)} }}"

    def _pool(self) -> Iterator[str]:
        memory = self.machine.memory
        if memory.type is MemoryType.NONE:
            return
        parts = [
            f"sharing: {_SHARING[memory.type]}",
            f"bandwidth: {memory.bandwidth} GB/s",
            f"latency: {memory.latency} ns",
            "holds: [optimizer_state]",
        ]
        if memory.type is MemoryType.PER_NODE:
            parts.append(f"nodes: {memory.nodes}")
            if memory.nodes * memory.npus_per_node != self.machine.npus:
                self.refuse(
                    f"{memory.nodes} nodes of {memory.npus_per_node} NPUs for {self.machine.npus} NPUs: "
                    "in a spec the nodes share all NPUs evenly"
                )
        yield ""
        yield f"memory_pool remote {{ {', '.join(parts)} }}"

    def _system(self) -> Iterator[str]:
        machine = self.machine
        if machine.endpoint_delay == 0:
            self.refuse(
                "`endpoint-delay` 0: a spec has at least 1 ns; ASTRA-sim aborts at 0 unless compute comes first"
            )
        if machine.scheduling not in {"LIFO", "FIFO"}:
            self.refuse(f"`scheduling-policy` {machine.scheduling}: a spec has LIFO or FIFO, which 2.x does not heed")
        if machine.replay_only:
            self.leave_out("`replay-only`: a spec simulates its collectives")
        if machine.queues != 1:
            self.leave_out(f"`--num-queues-per-dim {machine.queues}`: a spec has one queue a dimension")
        parts = [
            *self._whole(),
            f"chunks: {machine.splits}",
            *([] if machine.active_chunks == 1 else [f"active_chunks: {machine.active_chunks}"]),
            f"optimization: {'baseline' if machine.optimization == 'baseline' else 'local_bw_aware'}",
            f"endpoint_delay: {10 if machine.endpoint_delay is None else machine.endpoint_delay} ns",
            f"scheduling: {machine.scheduling.lower()}",
        ]
        yield "system {"
        yield from (f"  {part}" for part in parts)
        yield "}"

    def _whole(self) -> Iterator[str]:
        """The word for one ring over all NPUs."""
        if not self._flat():
            return
        words = {kind: listed[0] for kind, listed in self.machine.algorithms.items() if listed}
        base = words.get(Kind.ALL_REDUCE) or next(iter(words.values()))
        named = _named(base)
        for kind, word in words.items():
            if _named(word) != named.able(kind):
                self.refuse(f"`{word}` for {kind.name} beside `{base}`: a spec has one word for all kinds here")
        if named.window is not None:
            name = named.words.language
            self.refuse(f"`{base}`: a window of one ring over all NPUs cannot be said; `{name}` has none")
            return
        yield f"algorithm: {named.words.language}"


def _named(word: str) -> Named:
    """What a word means; readers refuse those that mean nothing."""
    named = by_word_2(word)
    assert named is not None
    return named


def _rate(bandwidth: float) -> str:
    """A bandwidth of a network file, in its GB/s of 2^30 bytes, in the unit that takes fewer digits."""
    decimal_gb = float(f"{bytes_per_ns(bandwidth):.6g}")
    same = float(Fraction(decimal_gb) * 10**9 / NETWORK_GB) == bandwidth
    shorter = len(_decimal(decimal_gb)) < len(_decimal(bandwidth))
    return f"{_decimal(decimal_gb)} GB/s" if same and shorter else f"{_decimal(bandwidth)} GiB/s"


def _decimal(number: float) -> str:
    """All the digits of a double, without an exponent."""
    return decimal(number).removesuffix(".0")
