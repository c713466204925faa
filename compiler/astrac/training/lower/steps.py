"""The list of steps of one rank while it grows: ids, reasons, and the order that a rank's steps need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.score import Chain
from astrac.training.plan import Action, Communicate, Computation, Phase, Remote, Step, Transfer

if TYPE_CHECKING:
    from collections.abc import Iterable


class StepBuilder:
    """Appends steps in issue order.

    Compute is a chain, as on one stream. Collectives and memory transfers are another chain: ranks that issued them in
    different orders would wait for each other for ever. Sends and receives are free: a send needs no partner to end.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.iteration = 0
        self._computed: int | None = None
        self._met: int | None = None
        self._sent: int | None = None

    @property
    def computed(self) -> tuple[int, ...]:
        """The compute step that is last in line, if there is one."""
        return () if self._computed is None else (self._computed,)

    @property
    def quiet(self) -> tuple[int, ...]:
        """What must have ended before the rank may wait for another stage: compute, and the send that is last in line.

        A collective that waits would keep the slot from a send that the other stage needs to get there.
        """
        return tuple(identity for identity in (self._computed, self._sent) if identity is not None)

    @property
    def chains(self) -> dict[Chain, int]:
        """The last step of each kind, where there is one."""
        last = {Chain.COMPUTED: self._computed, Chain.SENT: self._sent}
        return {chain: identity for chain, identity in last.items() if identity is not None}

    def add(
        self,
        action: Action,
        needs: Iterable[int],
        layer: str,
        phase: Phase,
        micro_batch: int | None = None,
        axis: str = "",
    ) -> int:
        """Appends one step and returns its id."""
        identity = len(self.steps)
        required = tuple(sorted(set(needs)))
        previous: int | None = None
        if isinstance(action, Computation):
            previous, self._computed = self._computed, identity
        elif isinstance(action, Communicate | Remote):
            previous, self._met = self._met, identity
        elif isinstance(action, Transfer) and action.send:
            self._sent = identity
        after = () if previous is None or previous in required else (previous,)
        self.steps.append(Step(identity, action, layer, phase, micro_batch, self.iteration, axis, required, after))
        return identity
