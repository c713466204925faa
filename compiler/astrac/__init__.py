"""astrac: compiles one `.astra` spec into a consistent ASTRA-sim bundle."""

from astrac.version import __version__

__all__ = ["__version__"]
