"""What a message, an endpoint and a reduction cost, in doubles (docs/simulators/astra-sim-2.md, section 2).

Times are whole ns (1 cycle = 1 ns). Nothing contends in the congestion-unaware backend, so a cost depends on the
message alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import bytes_per_ns
from astrac.simulators.blocks import by_name_2
from astrac.simulators.results import Cause, Failure, Outcome

if TYPE_CHECKING:
    from astrac.job import Machine
    from astrac.simulators.blocks import Block

GROUP_ENDPOINT_DELAY = 10
"""ns; a communicator group pays this whatever `endpoint-delay` says."""


class Broken(Exception):  # noqa: N818 - the simulator's failure, not one of this program
    """Carries out of a deep place why the simulator would crash, hang or half-finish; never leaves the package.

    Attributes:
        failure: the reason, with what is decided by it.
    """

    def __init__(
        self, reason: str, outcome: Outcome = Outcome.ABORT, *, rank: int | None = None, cause: Cause | None = None
    ) -> None:
        super().__init__(reason)
        self.failure = Failure(outcome, reason, rank, cause)

    @classmethod
    def collective(cls, reason: str) -> Broken:
        """A collective that never completes."""
        return cls(reason, Outcome.HANG, cause=Cause.COLLECTIVE)


class TooMuch(Exception):  # noqa: N818 - a finding, not an error
    """A play would cost more than it may; the answer is not known."""


FREED_PACKET = "the simulator writes to a freed packet (M1: windows of direct, slow reductions): it may abort"
FREED_REQUEST = "the simulator reads a freed memory request as a rank finishes: it may crash"
"""Defects of its memory: the figures hold if it survives them."""


def whole(time: float) -> int:
    """A time as the simulator keeps it: truncated to whole ns; raises `Broken` for one that 63 bits do not hold."""
    if not time < 1 << 63:
        raise Broken("something lasts more than 2^63 ns")
    return int(time)


class Link(NamedTuple):
    """What one message travels: the one dimension that is charged, and the hops in it."""

    dimension: int
    hops: int


@dataclass(frozen=True)
class Network:
    """A machine's costs."""

    machine: Machine

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """NPUs of each dimension."""
        return tuple(dimension.size for dimension in self.machine.dimensions)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart in rank number two neighbours of each dimension are: mixed radix, dimension 0 fastest."""
        strides = [1]
        for size in self.sizes:
            strides.append(strides[-1] * size)
        return tuple(strides)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The building block of each dimension."""
        return tuple(by_name_2(dimension.block) for dimension in self.machine.dimensions)

    @cached_property
    def npus(self) -> int:
        """All of them."""
        return self.strides[-1]

    @cached_property
    def _bytes_per_ns(self) -> tuple[float, ...]:
        return tuple(bytes_per_ns(dimension.bandwidth) for dimension in self.machine.dimensions)

    @cached_property
    def _reduction_bytes_per_second(self) -> float:
        return (self.machine.local_mem_bandwidth or 0.0) * 1_000_000_000

    def link(self, source: int, destination: int) -> Link:
        """Between two different ranks: only the first differing coordinate is charged."""
        for dimension, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=False)):
            here, there = source // stride % size, destination // stride % size
            if here != there:
                return Link(dimension, self.blocks[dimension].hops(size, here, there))
        raise Broken(f"rank {source} sends to itself", rank=source)

    def delay(self, link: Link, size: int) -> int:
        """`floor(hops x latency + size / beta)`: one truncation a message, after adding both terms."""
        latency = self.machine.dimensions[link.dimension].latency
        return whole(link.hops * latency + size / self._bytes_per_ns[link.dimension])

    def reduction(self, size: int) -> int:
        """Two reads and a write of a message, each truncated; free when local-mem-bw is absent or 0."""
        bandwidth = self._reduction_bytes_per_second
        return 3 * whole(size / bandwidth * 1e9) if bandwidth else 0

    def endpoint(self, *, group: bool) -> int:
        """Paid at the start of a phase and for each message received; hard-wired in a communicator group."""
        delay = self.machine.endpoint_delay
        return GROUP_ENDPOINT_DELAY if group or delay is None else delay
