"""The queue of a dimension: chunks wait in it, and so many at a time run a phase.

docs/simulators/astra-sim-2.md, section 3.4. The one queue of all that play chunks: one rank that stands for all
(`symmetric`), every member by formulas (`staggered`), and the system layer message by message (`streams`).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Chunk = TypeVar("Chunk")


class ChunkQueue(Generic[Chunk]):
    """First come, first served by `servers` at a time.

    Attributes:
        running: how many run.
    """

    __slots__ = ("_servers", "_waiting", "running")

    def __init__(self, servers: int) -> None:
        self._servers = servers
        self._waiting: deque[Chunk] = deque()
        self.running = 0

    def add(self, chunk: Chunk) -> None:
        """Puts a chunk at the end; `serve` starts it."""
        self._waiting.append(chunk)

    def release(self) -> None:
        """One that ran is gone."""
        self.running -= 1

    def serve(self, start: Callable[[Chunk], None]) -> None:
        """Starts what can run."""
        while self._waiting and self.running < self._servers:
            self.running += 1
            start(self._waiting.popleft())
