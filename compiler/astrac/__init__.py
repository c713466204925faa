"""astrac: compiles one `.astra` spec into a consistent ASTRA-sim bundle, and tells how long a training step takes.

import astrac

row = astrac.estimate("specs/gpt3_1024.astra", {"rail_speed": "800 Gbps"}, profile="smoke")
print(row.step_time, row.memory_bytes, row.ok, row.findings)

table = astrac.sweep("specs/gpt3_1024.astra", {"rail_speed": "range(100 Gbps, 800 Gbps, 2x)"}, profile="smoke")
print(table)
table.to_pandas().plot(x="rail_speed [B/s]", y="step_time_ns")

A spec is a path or a text. What is wrong with one is no exception: it is among the findings of what comes back. API.md
tells all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.version import __version__

if TYPE_CHECKING:
    from astrac.api.interface import (
        Built,
        Estimation,
        Report,
        Spec,
        build,
        check,
        estimate,
        load,
        loads,
        results,
        search,
        sweep,
    )
    from astrac.api.results import ResultsError
    from astrac.api.rows import Finding, Row, Setting
    from astrac.api.searching import Counts, Found
    from astrac.api.tables import Table
    from astrac.estimates import Estimate

__all__ = [
    "Built",
    "Counts",
    "Estimate",
    "Estimation",
    "Finding",
    "Found",
    "Report",
    "ResultsError",
    "Row",
    "Setting",
    "Spec",
    "Table",
    "__version__",
    "build",
    "check",
    "estimate",
    "load",
    "loads",
    "results",
    "search",
    "sweep",
]

_HOMES = {
    "Counts": "astrac.api.searching",
    "Estimate": "astrac.estimates",
    "Finding": "astrac.api.rows",
    "Found": "astrac.api.searching",
    "ResultsError": "astrac.api.results",
    "Row": "astrac.api.rows",
    "Setting": "astrac.api.rows",
    "Table": "astrac.api.tables",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Public names, imported when they are used: `check` in a hook must start fast."""
        if name not in __all__:
            raise AttributeError(f"module `astrac` has no attribute `{name}`")
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module(_HOMES.get(name, "astrac.api.interface")), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
