"""Every diagnostic code with its page: one row each, one file per hundred.

`AS1xx` syntax, `AS2xx` names, `AS3xx` units, `AS4xx` schema, `AS5xx` meaning, `AS6xx` model and ONNX, `AS7xx` what a
target cannot express or accept, `AS8xx` advice (warnings), `AS9xx` compiler bugs.
"""

from __future__ import annotations

from astrac.codes import advice, bugs, meaning, model, names, schema, syntax, target, units
from astrac.codes.row import Code, Severity

CODES: dict[str, Code] = {
    row.code: row
    for module in (syntax, names, units, schema, meaning, model, target, advice, bugs)
    for row in module.ROWS
}

__all__ = ["CODES", "Code", "Severity"]
