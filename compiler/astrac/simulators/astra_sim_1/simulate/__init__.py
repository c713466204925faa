"""The engine of ASTRA-sim 1.0 (analytical backend): what a text job costs, to the cycle, without its NPUs.

===========================  =====================================================
section of astra-sim-1.md    module
===========================  =====================================================
1 policies, dimensions       `loops.RULES`, `logical.boundary`
1 loops A to E               `loops`
2 message time               `network`
2 words of algorithms        `logical`
5 phases                     `phases`, `messages` (members that do not run in step), `trees`
5 chunks                     `chunks`
5 queues, priorities         `queues` (also NPUs that choose differently), `engine`
===========================  =====================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.simulators.astra_sim_1.simulate.engine import Engine, Issued
from astrac.simulators.astra_sim_1.simulate.faults import Fault, SimulationError
from astrac.simulators.astra_sim_1.simulate.survey import Surveyed, survey

if TYPE_CHECKING:
    from astrac.simulators.astra_sim_1.job import TextJob


@dataclass(frozen=True, slots=True)
class TextResult:
    """What the simulator reports; `cycles` is None when it reports nothing, or something that we cannot tell.

    Attributes:
        cycles: of `all passes finished`.
        compute: cycles of all columns that were computed.
        passes: cycles of the `pass: k finished` lines.
        collectives: all that were issued, in order.
        fails: why there is no result: the simulator crashes, hangs, or ends without one.
        unknown: why there is no figure although the simulator may have one.
    """

    cycles: int | None
    compute: int = 0
    passes: tuple[int, ...] = ()
    collectives: tuple[Issued, ...] = ()
    fails: str | None = None
    unknown: str | None = None

    @property
    def exposed(self) -> int | None:
        """Cycles that are not compute, as the simulator counts them: with its own cycle a stage and the updates."""
        return None if self.cycles is None else self.cycles - self.compute


def simulate(job: TextJob) -> TextResult:
    """Total, compute and exposed cycles of a job."""
    try:
        engine = Engine(job)
        cycles = engine.run()
    except SimulationError as error:
        if error.fault in {Fault.UNKNOWN, Fault.BOOST}:
            return TextResult(None, unknown=error.reason)
        return TextResult(None, fails=error.reason)
    return TextResult(cycles, engine.compute, tuple(engine.passes), tuple(engine.issued))


__all__ = ["Fault", "Issued", "SimulationError", "Surveyed", "TextResult", "simulate", "survey"]
