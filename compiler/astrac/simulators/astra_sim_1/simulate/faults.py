"""Why a job has no result: what the simulator does instead of finishing."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """What is wrong, in the words of a message; `check` gives each its diagnostic."""

    WORDS = "words and dimensions do not match"
    GROUP = "the model-parallel group does not tile the dimensions"
    KIND = "the algorithm cannot do this collective"
    INSTEAD = "the algorithm does another collective instead"
    POWER_OF_TWO = "the algorithm needs a power of two"
    ZERO_SIZE = "a collective of no bytes never finishes"
    BELOW_SPLITS = "fewer bytes than chunks"
    TOO_LARGE = "a chunk of 2^31 bytes or more"
    TOO_SLOW = "a message of 2^31 ns or more"
    TOO_LONG = "a computation of 2^53 cycles or more"
    TOO_FAST = "a message of less than 1 ns"
    BOOST = "boost-mode leaves out NPUs that are needed"
    LOST_MESSAGE = "a message overtakes another and is lost"
    CHECKPOINT = "recomputation without an earlier checkpoint"
    LINKS = "links that the simulator divides by or multiplies with are 0"
    CHOSEN_APART = "NPUs choose different chunks in the same cycle"
    SETTING = "a setting under which nothing runs"
    UNKNOWN = "not modelled"


class SimulationError(Exception):
    """Carries a fault out of the depth of a simulation to its caller; never leaves the package.

    Attributes:
        fault: which.
        reason: a line with the numbers, lower case, without a full stop.
    """

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason
