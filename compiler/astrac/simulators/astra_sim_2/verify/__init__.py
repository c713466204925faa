"""Job -> diagnostics: whether the simulator would run it to its end, and as what the files say.

A Job of our own is verified with `verify`: a failure is our bug. One that was read from files is verified with
`verify_read`, and every finding tells which file to mend.
"""

from __future__ import annotations

from astrac.simulators.astra_sim_2.verify.evidence import BACKENDS, Evidence
from astrac.simulators.astra_sim_2.verify.ours import verify
from astrac.simulators.astra_sim_2.verify.theirs import verify_algorithm, verify_alone, verify_read

__all__ = ["BACKENDS", "Evidence", "verify", "verify_algorithm", "verify_alone", "verify_read"]
