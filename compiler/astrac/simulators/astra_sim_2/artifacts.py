"""What `simulators.writer` imports."""

from astrac.simulators.astra_sim_2.write import artifacts, command

__all__ = ["artifacts", "command"]
