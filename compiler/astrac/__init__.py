"""astrac: compiles one `.astra` spec into a consistent ASTRA-sim bundle.

import astrac

result = astrac.compile_spec("specs/resnet50_ring.astra")
for finding in result.diagnostics:
print(finding.code, finding.message)
if result.ok:
print(result.value.estimate.cycles, "ns a step")
astrac.write(result.value, "out/resnet50_ring")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astrac.version import __version__

if TYPE_CHECKING:
    from astrac.api.checking import Options
    from astrac.api.compiling import Compiled, compile_spec, write
    from astrac.diagnostics import Diagnostic, Result
    from astrac.estimate import Estimate

__all__ = ["Compiled", "Diagnostic", "Estimate", "Options", "Result", "__version__", "compile_spec", "write"]

_HOMES = {
    "Compiled": "astrac.api.compiling",
    "Diagnostic": "astrac.diagnostics",
    "Estimate": "astrac.estimate",
    "Options": "astrac.api.checking",
    "Result": "astrac.diagnostics",
    "compile_spec": "astrac.api.compiling",
    "write": "astrac.api.compiling",
}


def __getattr__(name: str) -> Any:
    """Public names, imported when they are used: `check` in a hook must start fast."""
    if name not in _HOMES:
        raise AttributeError(f"module `astrac` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - see above

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
